package campaign

import (
	"math"
	"regexp"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// statement is a number that the headers of the files of a table state outside the rows: "# AoA: 5.00 deg".
type statement struct {
	name    string
	value   float64 // in the first file that states it
	text    string  // the same as written
	file    string
	differs string   // what a later file states that states another number; "": none does
	other   string   // the name of that file
	columns []string // the columns that state the same number in all rows of each file
}

// noSetting matches names of numbers that differ between files of equal settings: counters, clocks, the state of the
// air and what describes the file itself. A word anywhere in the name is enough, so that noSetting lacks the counters
// that are part of names of settings, such as tow in "tow speed". TestCountersAreNoSettings compares the lists.
var noSetting = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + vocabulary.RepeatWords + `|` +
	`runs?|tests?|lauf|versuch|messung|trials?|essai|no|nr|num|number|index|id|serial|version|` +
	`date|datum|time|zeit|start|end|duration|samples?|points?|rows?|lines?|records?|count|averages|channels?|rate|fs|` +
	`temp|temperature|` + vocabulary.GermanAirWords + `|dichte|` +
	`t(?:amb|air|room)|p(?:amb|atm)|pressure|density|rho|humidity|viscosity|baro|barometer)(?:$|[^\pL])`)

// keepStatements keeps the numbers that the header of the current file states. The columns of the file must have their
// values.
func (r *tableReader) keepStatements(info ingest.Info) {
	for _, attribute := range info.Attributes {
		c, err := condition.Roles{}.Attribute(info, attribute.Name, attribute.Name, "")
		if err != nil || noSetting.MatchString(attribute.Name) {
			continue
		}

		columns := r.columnsOf(c.Value)
		i := slices.IndexFunc(r.stated, func(s *statement) bool { return s.name == attribute.Name })
		if i < 0 {
			r.stated = append(r.stated, &statement{
				name: attribute.Name, value: c.Value, text: attribute.Value, file: info.Path, columns: columns,
			})

			continue
		}

		known := r.stated[i]
		known.columns = slices.DeleteFunc(known.columns, func(name string) bool { return !slices.Contains(columns, name) })
		if known.differs == "" && c.Value != known.value {
			known.differs = attribute.Value
			known.other = info.Path
		}
	}
}

// columnsOf returns the names of the columns of the current file that are the same number in all rows.
func (r *tableReader) columnsOf(value float64) []string {
	var names []string
	for _, column := range r.current.inputs {
		isOther := func(v float64) bool { return math.Abs(v-value) > 1e-6*math.Abs(value) }
		if !slices.ContainsFunc(column.Values, isOther) {
			names = append(names, column.name)
		}
	}

	return names
}

// warnOfStatements warns of numbers that differ between the headers of the files and that no input states.
func (r *tableReader) warnOfStatements() {
	for _, s := range r.stated {
		if s.differs == "" || len(s.columns) > 0 {
			continue
		}

		r.Warnings = append(r.Warnings, ingest.Warn(s.file, "commented", "the header states %s as %s, the header of %s "+
			"as %s, and no input has these values: rows that differ in it count as repeats; write them into a table of "+
			"ingest: conditions, with a row for each file", s.name, s.text, s.other, s.differs))
	}
}
