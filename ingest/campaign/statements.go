package campaign

import (
	"cmp"
	"math"
	"regexp"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
)

// statement is a number that the headers of the files of a table state outside the rows: "# AoA: 5.00 deg".
type statement struct {
	name    string
	value   float64 // in the first file that states it, in the usual unit
	text    string  // the same as written
	file    string
	differs string   // what a later file states that states another number; "": none does
	other   string   // the name of that file
	columns []string // the columns that state the same number in all rows of each file
}

// A number of a header that differs between files of equal settings is a counter, a clock, the state of the air or a
// property of the file itself. A word anywhere in its name is enough.
var (
	// recorded matches names of numbers that are never set.
	recorded = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` +
		`serial|version|date|datum|time|zeit|duration|sampl(?:es?|ing)|averages|fs|` +
		`(?:scan|data|frame|acquisition|update|bit|baud)[^\pL]*rate|` +
		`temp|temperature|` + vocabulary.GermanAirWords + `|dichte|` +
		`t(?:amb|air|room)|p(?:amb|atm)|pressure|density|rho|humidity|viscosity|baro|barometer)(?:$|[^\pL])`)

	// counted matches names of numbers that are not set, unless another word names a setting: test section speed. The
	// counters that begin names of settings are left out: "tow speed". TestCountersAreNoSettings compares the lists.
	counted = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + vocabulary.RepeatWords + `|` +
		`runs?|tests?|lauf|versuch|messung|trials?|essai|no|nr|num|number|index|id|start|end|points?|rows?|lines?|` +
		`records?|count|channels?)(?:$|[^\pL])|^rate[^\pL]*(?:$|[\[(])`)

	word = regexp.MustCompile(`\pL{2,}`)
)

// isSetting reports whether a number with this name may be set.
func isSetting(name string) bool {
	switch {
	case recorded.MatchString(name):
		return false
	case !counted.MatchString(name):
		return true
	}

	return slices.ContainsFunc(word.FindAllString(name, -1), func(word string) bool {
		return vocabulary.Settings.MatchString(word) && !vocabulary.Nominal.MatchString(word)
	})
}

// keepStatements keeps the numbers that the header of the current file states. The columns of the file must have their
// values, in the units of their names.
func (r *tableReader) keepStatements(info ingest.Info) {
	for _, attribute := range info.Attributes {
		value, ok := statedNumber(info, attribute)
		if !ok || !isSetting(attribute.Name) {
			continue
		}

		columns := r.columnsOf(info, attribute)
		i := slices.IndexFunc(r.stated, func(s *statement) bool { return s.name == attribute.Name })
		if i < 0 {
			r.stated = append(r.stated, &statement{
				name: attribute.Name, value: value, text: attribute.Value, file: info.Path, columns: columns,
			})

			continue
		}

		known := r.stated[i]
		known.columns = slices.DeleteFunc(known.columns, func(name string) bool { return !slices.Contains(columns, name) })
		if known.differs == "" && !isNear(value, known.value) {
			known.differs = attribute.Value
			known.other = info.Path
		}
	}
}

// statedNumber returns the number that an attribute states, in the usual unit of its dimension. It returns false if the
// attribute does not state one number.
func statedNumber(info ingest.Info, attribute ingest.Attribute) (value float64, ok bool) {
	name := attribute.Name
	column, err := condition.ReadColumn([]string{attribute.Value}, condition.ColumnOptions{})
	if err == nil {
		name = cmp.Or(units.NameWith(name, column.Unit), name)
	}

	c, err := condition.Roles{}.Attribute(info, attribute.Name, name, "")

	return c.Value, err == nil && !c.IsName
}

// columnsOf returns the names of the columns of the current file that have the number of an attribute in all rows. It
// compares numbers in the unit of the column's name. Rows without a value do not count, because they are left out.
func (r *tableReader) columnsOf(info ingest.Info, attribute ingest.Attribute) []string {
	var names []string
	for _, column := range r.current.inputs {
		c, err := condition.Roles{}.Attribute(info, attribute.Name, column.name, "")
		if err != nil {
			continue // a number of another dimension
		}

		isOther := func(v float64) bool { return !isNear(v, c.Value) && !math.IsNaN(v) }
		if !slices.ContainsFunc(column.Values, isOther) {
			names = append(names, column.name)
		}
	}

	return names
}

// isNear reports whether two numbers are equal except for their rounding.
func isNear(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

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
