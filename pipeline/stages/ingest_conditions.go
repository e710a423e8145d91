package stages

import (
	"slices"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/sidecar"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/plan"
)

// settleConstruction chooses the construction, reads the files next to the recordings, and stores the names of the
// experiment's conditions and of its columns of text.
func (r *Recordings) settleConstruction(exp plan.Experiment) error {
	r.Construction = dsp.Configure(dsp.Find(r.DSP.Triplets, len(r.Ingest.Columns) > 0), &r.DSP.Settings)
	if r.DSP.Track != nil && r.Construction != nil && r.Construction.Describe().Shaft {
		r.Found = append(r.Found, "rpm_tracked")
	}

	if r.Ingest.Tachometer != nil {
		r.Found = append(r.Found, "rpm_measured")
	}

	if err := r.readSidecars(exp); err != nil {
		return err
	}

	numbers, texts := r.statedColumns(r.Table)
	if run := r.Ingest.Run; run != "" {
		known := slices.Concat(numbers, texts)
		if err := exp.OneOf(known, run, "ingest.run", "is not among what names and tables state, which is"); err != nil {
			return err
		}
	}

	r.Conditions = unique(removeNames(numbers, r.isRun), r.Found)
	r.SetTexts(exp.Roles(), removeNames(texts, r.isRun))

	return nil
}

// readSidecars stores the conditions that the files next to the recordings state, if the configuration asks for them.
func (r *Recordings) readSidecars(exp plan.Experiment) error {
	if r.Ingest.Sidecar == nil {
		return nil
	}

	for i := range r.Files {
		file := &r.Files[i]
		var err error
		file.Sidecar, r.sidecar, err = sidecar.Conditions(exp.Project(), file.Name,
			r.Ingest.Sidecar.Ending, r.sidecar, r.Roles)
		if err != nil {
			return err
		}
	}

	return nil
}

// isRun reports whether a column names the run.
func (r *Recordings) isRun(name string) bool { return name == condition.RunColumn(r.Ingest.Run) }

// conditionNames lists the names of the conditions of numbers and of text that the campaign states, except the name of
// the run. The columns of the table, which may be nil, come before the others.
func (r *Recordings) conditionNames(table *campaign.Conditions) (numbers, texts []string) {
	numbers, texts = r.statedColumns(table)
	return removeNames(numbers, r.isRun), removeNames(texts, r.isRun)
}

// statedColumns lists the same names as conditionNames, and the column that names the run.
func (r *Recordings) statedColumns(table *campaign.Conditions) (numbers, texts []string) {
	if table != nil {
		numbers = slices.Clone(table.Names)
		texts = slices.Clone(table.Labels)
	}

	if r.Pattern != nil {
		numbers = append(numbers, r.Pattern.Names()...)
		texts = append(texts, r.Pattern.LabelNames()...)
	}

	for _, constant := range r.Ingest.Constants {
		numbers = append(numbers, constant.Name)
	}

	declared := r.Roles.Declared()
	attributes, namedAttributes := splitNamed(r.Ingest.Attributes, declared)
	sidecar, namedSidecar := splitNamed(r.sidecar, declared)
	numbers = append(numbers, attributes...)
	for _, column := range r.Ingest.InFile {
		numbers = append(numbers, column.Name)
	}

	numbers = append(numbers, sidecar...)
	texts = slices.Concat(texts, namedAttributes, namedSidecar)

	return unique(numbers), unique(texts)
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

// unique lists the names in order, each once.
func unique(names ...[]string) []string {
	_, distinct := lists.Index(slices.Concat(names...))
	return distinct
}

// removeNames returns a copy of names that lacks the names for which drop returns true.
func removeNames(names []string, drop func(name string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), drop)
}
