package campaign

import (
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/sidecar"
	"doubletake/internal/lists"
)

// Columns reads the files next to the recordings, if the settings name some. It lists the names of the conditions of
// numbers and of text that the campaign states, except the name of the run. It returns an error if no source states the
// column that the settings name as the run's.
func (v *Inventory) Columns() (numbers, texts []string, err error) {
	if err := v.readSidecars(); err != nil {
		return nil, nil, err
	}

	if run := v.Settings.Run; run != "" {
		numbers, texts := v.statedColumns(v.Table)
		known := slices.Concat(numbers, texts)
		if err := setting.CheckOneOf(known, run, "run", "is not among what names and tables state, which is"); err != nil {
			return nil, nil, err
		}
	}

	numbers, texts = v.ColumnsBeside(v.Table)

	return numbers, texts, nil
}

// readSidecars stores the conditions that the files next to the recordings state, if the settings ask for them. If the
// settings do not name the conditions, all files must have the conditions of the first file, and readSidecars warns of
// the first file that has more.
func (v *Inventory) readSidecars() error {
	if v.Settings.Sidecar == nil {
		return nil
	}

	areNamed := len(v.Settings.Sidecar.Values) > 0
	var more []string // conditions that only a later file has
	for i := range v.Files {
		file := &v.Files[i]
		var top []setting.NamedString
		var err error
		file.Sidecar, top, err = sidecar.Conditions(v.Project, file.Name, v.Settings.Sidecar.Ending, v.sidecar, v.Roles)
		if err != nil {
			return err
		}

		if len(v.sidecar) == 0 {
			v.sidecar = top
		}

		if areNamed || len(more) > 0 {
			continue
		}

		for _, value := range top {
			if !slices.Contains(v.sidecar, value) {
				more = append(more, value.Name)
			}
		}

		if len(more) > 0 {
			v.Warnings = append(v.Warnings, ingest.Warn(file.Name, "sidecar-values", "the file next to it states %s, and the "+
				"file of %s does not: left out, so that runs that differ in nothing else are repeats; state %[1]s for all "+
				"recordings, or name the conditions with sidecar: {values: …}", strings.Join(more, ", "), v.Files[0].Name))
		}
	}

	return nil
}

// isRun reports whether a column names the run.
func (v *Inventory) isRun(name string) bool { return name == condition.RunColumn(v.Settings.Run) }

// ColumnsBeside lists the names of the conditions of numbers and of text that the table, which may be nil, and other
// sources state, except the name of the run. The columns of the table come before the others.
func (v *Inventory) ColumnsBeside(table *Conditions) (numbers, texts []string) {
	numbers, texts = v.statedColumns(table)
	return slices.DeleteFunc(numbers, v.isRun), slices.DeleteFunc(texts, v.isRun)
}

// statedColumns lists the same names as ColumnsBeside, and the column that names the run.
func (v *Inventory) statedColumns(table *Conditions) (numbers, texts []string) {
	if table != nil {
		numbers = slices.Clone(table.Names)
		texts = slices.Clone(table.Labels)
	}

	if v.Pattern != nil {
		numbers = append(numbers, v.Pattern.Names()...)
		texts = append(texts, v.Pattern.LabelNames()...)
	}

	for _, constant := range v.Settings.Constants {
		numbers = append(numbers, constant.Name)
	}

	declared := v.Roles.Declared()
	attributes, namedAttributes := splitNamed(v.Settings.Attributes, declared)
	sidecar, namedSidecar := splitNamed(v.sidecar, declared)
	numbers = append(numbers, attributes...)
	for _, column := range v.Settings.InFile {
		numbers = append(numbers, column.Name)
	}

	numbers = append(numbers, sidecar...)
	texts = slices.Concat(texts, namedAttributes, namedSidecar)

	return lists.Names(numbers), lists.Names(texts)
}

// splitNamed splits columns into the ones that are numbers and the ones that are declared as names.
func splitNamed(columns []setting.NamedString, declared []string) (numbers, names []string) {
	for _, column := range columns {
		if slices.Contains(declared, column.Name) {
			names = append(names, column.Name)
		} else {
			numbers = append(numbers, column.Name)
		}
	}

	return numbers, names
}
