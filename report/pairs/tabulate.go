package pairs

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
)

// readTable reads pairs from columns NAME_1 and NAME_2, as ingest: {table: …} of a configuration does. It takes the
// columns of text whose names are in texts, or all columns of text if texts is nil. It returns the table, and notes
// about cells that may have another meaning and rows that are left out.
func readTable(path string, texts []string) (*table.Table, []string, error) {
	files := []campaign.TableFile{{Path: path, Name: path}}
	options, textColumns, err := campaign.ResolveTable(files[0], campaign.TableOptions{})
	if err != nil {
		return nil, nil, withoutKeys(err)
	}

	options.Labels = slices.DeleteFunc(textColumns, func(name string) bool {
		return name == options.Run || name == "recording" || texts != nil && !slices.Contains(texts, name)
	})

	read, err := campaign.ReadTables(files, options)
	if err != nil {
		return nil, nil, withoutKeys(err)
	}

	return Tabulate(read), notesOf(read), nil
}

// doubtCodes are the codes of warnings about numbers and rows. Other warnings are about columns of text, which need not
// be conditions.
var doubtCodes = []string{"thousands", "missing-code", "bare-number", "header-row", "truncated"}

// notesOf returns the warnings of a table about its numbers and rows, without keys of a configuration.
func notesOf(read *campaign.PairTable) []string {
	var notes []string
	for _, warning := range read.Warnings {
		text, _, _ := strings.Cut(warning.Text, ", ingest: ")
		if warning.Code == "missing-code" {
			text += ", delete its row"
		}

		if slices.Contains(doubtCodes, warning.Code) {
			notes = append(notes, warning.Path+": "+text)
		}
	}

	return notes
}

// commandHint replaces a hint that names keys of a configuration, because a command that reads a table has no such
// keys.
type commandHint struct {
	part string // of the hint that is replaced
	hint string
}

var commandHints = []commandHint{
	{campaign.PairsHint, "write the two measurements of an outcome side by side, as OUTCOME_1 and OUTCOME_2; or, if the " +
		"table has one measurement a row, run pipeline init on its folder"},
	{campaign.ThirdHint, "write each further pair of values into a row of its own, or run pipeline init on the folder " +
		"of the table"},
	{"ingest: {missing: ", "write it, or delete the row"},
	{"ingest: {things: ", "write numbers without an exponent, as 80000; begin names with a letter"},
	{"with units: {", "correct the unit in the header"},
	{"log: {decimal: ", "write numbers that can be read in one way only, as 1234.5"},
	{"truncated: use under ingest", "complete the last row, or delete it"},
}

// withoutKeys returns the error with its hint replaced as commandHints says. It returns any other error unchanged.
func withoutKeys(err error) error {
	var found *fault.Error
	if !errors.As(err, &found) {
		return err
	}

	for _, known := range commandHints {
		if strings.Contains(found.Hint, known.part) {
			changed := *found
			changed.Hint = known.hint

			return &changed
		}
	}

	return err
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
