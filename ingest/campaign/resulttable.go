package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
	"doubletake/internal/lists"
)

// ResultTable is a table of results, in one file or several, before its rows are read.
type ResultTable struct {
	Files   []TableFile  // the files, with conditions that their names and the table of conditions state
	Options TableOptions // roles of the columns

	Conditions []string // conditions that the names of the files and the table of conditions state
	Labels     []string // labels that they state
	Texts      []string // all columns of text that they state or the files have

	Toy *simulate.Toy // the simulated campaign that writes the table; nil for the user's table

	conditions, pairs float64 // their numbers, once they are known or estimated
}

// StoreRoles stores the roles of the columns in the table's settings.
func (t *ResultTable) StoreRoles(settings *setting.Table) {
	settings.Inputs = t.Options.Inputs
	settings.Y1 = t.Options.Y1
	settings.Y2 = t.Options.Y2
	settings.Repeats = t.Options.Repeats
	settings.Run = t.Options.Run
}

// StatedInputs lists the inputs that other settings name as conditions, by which rows of repeats are compared. It
// returns nil if the rows are not repeats.
func (t *ResultTable) StatedInputs() []string {
	if len(t.Options.Repeats) == 0 {
		return nil
	}

	isOther := func(name string) bool { return !slices.Contains(t.Options.Stated, name) }

	return slices.DeleteFunc(slices.Clone(t.Options.Inputs), isOther)
}

// NewTableOptions returns the roles that settings give to the columns of their table. stated are the conditions that
// other settings name.
func NewTableOptions(settings *setting.Campaign, roles condition.Roles, stated []string) TableOptions {
	t := settings.Table
	options := TableOptions{
		Inputs: t.Inputs, Y1: t.Y1, Y2: t.Y2, Repeats: t.Repeats, Outcomes: t.Outcomes, Run: cmp.Or(t.Run, settings.Run),
		Across: t.Across, Occasions: roles.Occasions, Names: roles.Declared(),
		Decimal: DecimalSigns[settings.Log.Decimal], AllPairs: t.Use == "all", Text: settings.Text, Stated: stated,
		Units: setting.ByName(t.Units), Within: setting.Tolerances(t.Tolerances), Spellings: roles.Spellings,
		SetPoints: setting.Tolerances(settings.Tolerances), Correct: map[string]Law{}, Missing: settings.Missing,
	}

	for _, exclusion := range settings.Exclude.Where() {
		isName := func(c string) bool { return slices.Contains(exclusion.Where.Labels(), c) }
		options.Exclude = append(options.Exclude, Exclusion{
			Text: exclusion.String(), Names: exclusion.Where.Labels(),
			Numbers: slices.DeleteFunc(exclusion.Where.Conditions(), isName), Holds: exclusion.Holds,
		})
	}

	for _, column := range t.Correct {
		options.Correct[column.Name], _ = ParseLaw(column.Value) // checked where the settings are decoded
	}

	return options
}

// ResultTable finds the conditions that the names of the files or the table of conditions state, and the roles of the
// columns. FindFiles must have found the files. stated are the conditions that other settings name.
//
// ResultTable removes the constants from the settings of the inventory for good: in a table only derived columns read
// constants, so that they are not conditions beside the columns of the files.
func (v *Inventory) ResultTable(stated []string) (*ResultTable, error) {
	v.Settings.Constants = nil
	conditions, texts := v.ColumnsBeside(v.Table)
	t := &ResultTable{Conditions: conditions, Labels: v.Roles.GroupedAmong(texts)}
	given := slices.Concat(t.Conditions, t.Labels)
	var err error
	t.Files, err = v.tableFiles(given)
	if err != nil {
		return nil, err
	}

	// The labels of names and of the table of conditions are needed to resolve the columns of the files, whose own texts
	// are added afterwards.
	request := NewTableOptions(&v.Settings, v.Roles, stated)
	request.Given = t.Conditions
	request.Labels = t.Labels
	options, columns, err := ResolveTable(t.Files[0], request)
	if err != nil {
		return nil, fault.Named(err, t.Files[0].Name)
	}

	if err := v.Table.CheckLabels(t.Labels); err != nil {
		return nil, err
	}

	_, t.Texts = lists.Index(slices.Concat(texts, columns))
	options.Given = given
	options.Labels = v.Roles.GroupedAmong(t.Texts)
	isLabel := func(name string) bool { return slices.Contains(options.Labels, name) }
	options.Inputs = slices.DeleteFunc(slices.Clone(options.Inputs), isLabel)
	t.Options = options

	return t, nil
}

// tableFiles returns the files with the conditions and labels of the given names, which their names or the table of
// conditions state, in the units of the conditions' names.
func (v *Inventory) tableFiles(names []string) ([]TableFile, error) {
	if err := v.matchRows(); err != nil {
		return nil, err
	}

	var own []setting.NamedString // units of the given conditions that are not converted yet
	for _, unit := range v.Settings.Table.Units {
		if slices.Contains(names, unit.Name) && v.Converted[unit.Name] == "" {
			own = append(own, unit)
		}
	}

	conversions, err := v.conversionsOf("table.units.", own, names)
	if err != nil {
		return nil, err
	}

	source := &Source{Settings: &v.Settings, Roles: v.Roles, Convert: conversions}
	var files []TableFile
	for i := range v.Files {
		f := &v.Files[i]
		file := TableFile{Path: v.Project.Resolve(f.Name), Name: f.Name}
		if len(names) > 0 {
			file.Values, err = source.tableValues(f)
			if err != nil {
				return nil, err
			}
		}

		files = append(files, file)
	}

	return files, nil
}

// tableValues returns the conditions and labels that the name of a table or the table of conditions state for the whole
// table. It returns an error if the table of conditions has several rows for it.
func (s *Source) tableValues(f *File) (condition.Values, error) {
	known, err := s.Known(f.Name, &f.Facts)
	if err != nil {
		return condition.Values{}, err
	}

	if len(known) > 1 {
		rows := f.Rows.Rows
		return condition.Values{}, fault.At(f.Rows.Path, fmt.Sprintf("line %d", rows[1].Line), "one row for each table",
			fmt.Sprintf("a second one for %s (the first is in line %d)", f.Name, rows[0].Line), "")
	}

	return known[0], nil
}

// Read reads the pairs of the table. If there is only one file, an error names it.
func (t *ResultTable) Read() (*PairTable, error) {
	pairTable, err := ReadTables(t.Files, t.Options)
	if err != nil && len(t.Files) == 1 {
		return nil, fault.Named(err, t.Files[0].Name)
	}

	return pairTable, err
}

// CheckPairing returns a *setting.Error if a tolerance or a law of correction names a column that the table does not
// have. outcomes are the measured and the derived outcomes.
func (t *ResultTable) CheckPairing(settings *setting.Table, outcomes []string) error {
	const isInput = "is not an input of the table, which has"
	for _, tolerance := range settings.Tolerances {
		key := "table.within." + tolerance.Name
		if err := setting.CheckOneOf(t.Options.Inputs, tolerance.Name, key, isInput); err != nil {
			return err
		}
	}

	for _, column := range settings.Correct {
		key := "table.correct." + column.Name
		const isOutcome = "is not an outcome of the table, which has"
		if err := setting.CheckOneOf(outcomes, column.Name, key, isOutcome); err != nil {
			return err
		}

		input := t.Options.Correct[column.Name].Condition
		if err := setting.CheckOneOf(t.Options.Inputs, input, key, isInput); err != nil {
			return err
		}
	}

	return nil
}
