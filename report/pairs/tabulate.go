package pairs

import (
	"cmp"
	"errors"
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
)

// readTable reads pairs from columns NAME_1 and NAME_2, as ingest: {table: …} of a configuration does. It takes the
// columns of text whose names are in texts, or all columns of text if texts is nil.
func readTable(path string, texts []string) (*table.Table, error) {
	files := []campaign.TableFile{{Path: path, Name: path}}
	options, known, err := campaign.ResolveTable(files[0], campaign.TableOptions{Run: "run"})
	if err != nil {
		return nil, withoutKeys(err)
	}

	const noRows = 0 // the names of the columns are enough
	head, err := campaign.ReadCells(path, noRows)
	if err != nil || !slices.Contains(head.Columns, "run") { // ReadTables reports a table that cannot be read
		options.Run = ""
	}

	options.Labels = slices.DeleteFunc(known, func(name string) bool {
		return name == "run" || name == "recording" || texts != nil && !slices.Contains(texts, name)
	})

	read, err := campaign.ReadTables(files, options)
	if err != nil {
		return nil, err
	}

	return Tabulate(read), nil
}

// commandHints say what can be done about a table of a command, by hints that name keys of a configuration. A command
// has no such keys.
var commandHints = map[string]string{
	campaign.PairsHint: "write the two measurements of an outcome side by side, as OUTCOME_1 and OUTCOME_2; or, if the " +
		"table has one measurement a row, run pipeline init on its folder",
	campaign.ThirdHint: "write each further pair of values into a row of its own, or run pipeline init on the folder of " +
		"the table",
}

// withoutKeys returns an error with a hint of commandHints in the place of a hint that names keys.
func withoutKeys(err error) error {
	var found *fault.Error
	if !errors.As(err, &found) || commandHints[found.Hint] == "" {
		return err
	}

	changed := *found
	changed.Hint = commandHints[found.Hint]

	return &changed
}

// Tabulate returns the table of triplets of pairs that were read. Its columns are run, recording, conditions, labels
// and outcomes.
func Tabulate(read *campaign.PairTable) *table.Table {
	t := &table.Table{}

	// The unit and the description of a column of numbers come from the column source of the file.
	addNumbers := func(name, source, unit, doc string, v []float64) {
		if how := read.Converted[source]; how != "" {
			doc += "; " + how
		}

		t.Make(name, cmp.Or(read.Units[source], unit), doc).Floats = v
	}

	recording := read.Recording
	if recording == nil {
		recording = read.Run
	}

	t.Make("run", "", "one acquisition at one condition").Strings = read.Run
	t.Make("recording", "", "one channel of a run, or the group that makes one outcome vector").Strings = recording
	for k, name := range read.Inputs {
		unit, about := UnitOf(name)
		addNumbers(name, name, unit, about, read.X[k])
	}

	for k, name := range read.Labels {
		t.Make(name, "", LabelText).Strings = read.Texts[k]
	}

	for k, name := range read.Outcomes {
		addNumbers(name+"_1", name, "", "first outcome", read.Y1[k])
		addNumbers(name+"_2", name, "", "second outcome, independent of the first given the run", read.Y2[k])
	}

	if read.Weight != nil {
		t.Make("weight", "", "weight of the pair, by which r repeats count as r runs").Floats = read.Weight
	}

	return t
}
