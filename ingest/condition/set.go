package condition

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
)

// Roles are the columns that the configuration names: runs, things, occasions.
type Roles struct {
	Run       string   // the column that names the run; "": the one called run
	Things    []string // columns that name what was measured, such as a propeller
	Occasions []string // columns that name what was measured together, such as a day
	Groups    []string // columns named in the settings splits and groups
	Spellings Spellings
}

// Spellings are writings of names, with the name that each means.
type Spellings map[string]string

// NameOf returns the name that a writing means: the writing itself, unless the spellings contain it.
func (s Spellings) NameOf(writing string) string {
	if name, isOther := s[strings.TrimSpace(writing)]; isOther {
		return name
	}

	return writing
}

// Rename gives conditions that are names the names that they mean.
func (s Spellings) Rename(conditions []Condition) {
	for i, c := range conditions {
		if c.IsName {
			conditions[i].Name = s.NameOf(c.Name)
		}
	}
}

// Grouped reports whether recordings are grouped by a column of names: of things, of occasions, or a column named in
// the settings splits and groups. Other columns of names are remarks, and the names of runs differ from recording to
// recording.
func (r Roles) Grouped(column string) bool {
	return column != RunColumn(r.Run) && slices.Contains(slices.Concat(r.Declared(), r.Groups), column)
}

// GroupedAmong lists the columns among texts by which recordings are grouped.
func (r Roles) GroupedAmong(texts []string) []string {
	var grouped []string
	for _, name := range texts {
		if r.Grouped(name) {
			grouped = append(grouped, name)
		}
	}

	return grouped
}

// Declared lists the things and occasions, whose cells are names.
func (r Roles) Declared() []string { return slices.Concat(r.Things, r.Occasions) }

// Names lists all columns whose cells are names.
func (r Roles) Names() []string { return append(r.Declared(), RunColumn(r.Run)) }

// RunColumn returns the column that names the run: the given one, or run.
func RunColumn(given string) string { return cmp.Or(given, "run") }

// Reserved lists the columns of the program's tables. No condition and no outcome may have such a name.
var Reserved = strings.Fields("run recording set file channel format encoding unit scale calibration " +
	"calibrator_spread_db rate_hz row0 samples duration_s min max mean rms std integral_time_s clipped " +
	"longest_constant sha256 pairs half bin_hz shaft_hz power line_hz line_power floor search_lo search_hi band_lo " +
	"band_hi shaft_order shaft_order_hz shaft_order_power group outcome weight")

// MaxName bounds a name by which rows are grouped: a longer one is a comment.
const MaxName = 100

// ditto matches marks for the cell above.
var ditto = regexp.MustCompile(`(?i)^(?:[-–—,]*(?:["″”“„〃]|''|//)["″”“„〃'/]*[-–—,]*|,,|↓|ditto|dito|idem|id\.|do\.|` +
	`(?:same )?as (?:above|before)|wie oben|s\. ?o\.|同上)$`)

// CheckName returns an error if a text cannot be the name of a group, and nil otherwise.
func CheckName(s string) *fault.Error {
	found := ""
	switch {
	case s == "":
		found = "an empty cell"
	case len(s) > MaxName:
		found = strconv.Quote(fault.Clip(s))
	case !utf8.ValidString(s):
		found = "bytes that are not UTF-8"
	case ditto.MatchString(s):
		found = strconv.Quote(s) + ", a mark for the cell above"
	default:
		return nil
	}

	return fault.At("", "", fmt.Sprintf("a name of at most %d bytes, by which rows are grouped", MaxName), found, "")
}

// Condition is what one source states of a recording.
type Condition struct {
	Column string
	Value  float64 // of a number
	Name   string  // of a name
	IsName bool
	Origin string // file, row, column or attribute, for messages
	Unit   string // beside the number of an attribute, which Value is converted from; "": none is stated
}

// Origins of set points, by which Condition.replaces decides.
const (
	Configured = "the configuration"
	FileName   = "the file's name"
)

// Merge combines the conditions that several sources state about a recording, in their order. Sources that state the
// same condition must agree. A set point, which is from the file's name or the configuration, may differ from a
// measured value by the tolerance, and the measured value wins. If two sources contradict each other, the earlier value
// stays, and Merge returns the first such error beside the values. path is the path of the file.
func Merge(path string, tolerances map[string]Tolerance, list ...Condition) (Values, error) {
	var first error
	merged := map[string]Condition{}
	for _, c := range list {
		known, ok := merged[c.Column]
		want := ""
		switch {
		case !c.IsName && !ingest.Finite(c.Value):
			want = "a finite number"
		case ok && !known.agrees(c, tolerances[c.Column]):
			want = fmt.Sprintf("%s, as in %s", known.text(), known.Origin)
		case !ok || c.replaces(known):
			merged[c.Column] = c
		}

		if want != "" && first == nil {
			place := "condition " + c.Column
			if c.IsName {
				place = "label " + c.Column
			}

			first = fault.At(path, place, want, fmt.Sprintf("%s in %s", c.text(), c.Origin), "")
		}
	}

	v := Values{map[string]float64{}, map[string]string{}}
	for column, c := range merged {
		if c.IsName {
			v.Names[column] = c.Name
		} else {
			v.Numbers[column] = c.Value
		}
	}

	return v, first
}

// agrees reports whether two statements of one condition agree.
func (c Condition) agrees(other Condition, t Tolerance) bool {
	if c.IsName != other.IsName {
		return false
	}

	if c.IsName {
		return c.Name == other.Name
	}

	return c.Value == other.Value || t.Equal(c.Value, other.Value)
}

// replaces reports whether the value of c replaces another value that agrees with it. It does not if c is the set point
// of a file's name and the other value was measured.
func (c Condition) replaces(other Condition) bool {
	return c.Value != other.Value && (c.Origin != FileName || other.Origin == Configured)
}

// text writes the value for messages.
func (c Condition) text() string {
	if c.IsName {
		return strconv.Quote(c.Name)
	}
	return fmt.Sprint(c.Value)
}

// Values are the conditions of a recording or of a row, by their columns. A column that no source states is in neither
// map.
type Values struct {
	Numbers map[string]float64
	Names   map[string]string
}

// Rows are the conditions of recordings as far as they are known.
type Rows []Values

// Rows returns the number of rows.
func (r Rows) Rows() int { return len(r) }

// Floats returns the condition of each row, or an error if it is not known for some row.
func (r Rows) Floats(column string) ([]float64, error) {
	numbers := make([]float64, len(r))
	for i, v := range r {
		number, ok := v.Numbers[column]
		if !ok {
			return nil, unknown(column)
		}

		numbers[i] = number
	}

	return numbers, nil
}

// Strings returns the name in each row, or an error if it is not known for some row.
func (r Rows) Strings(column string) ([]string, error) {
	names := make([]string, len(r))
	for i, v := range r {
		name, ok := v.Names[column]
		if !ok {
			return nil, unknown(column)
		}

		names[i] = name
	}

	return names, nil
}

func unknown(column string) error { return fmt.Errorf("%s is not known", column) }

// Attribute returns the condition that an attribute of a file states: an attribute of the file or of a group
// ("/Table1@alpha"), a single number among its arrays ("opp_jprop.vInf"), or an element of an array
// ("opp.RPS_M1[2]"). name is the name of the attribute, or the end of its name if only one attribute fits. The value is
// a name if the condition is a thing or an occasion, and otherwise a number, which Attribute converts to the unit in
// the condition's name. A run may have a name or a number.
func (r Roles) Attribute(info ingest.Info, name, condition, origin string) (Condition, error) {
	attribute, err := findAttribute(info, name)
	if err != nil {
		return Condition{Column: condition, Origin: origin}, err
	}

	c := Condition{Column: condition, Origin: origin}
	text := strings.TrimSpace(attribute.Value)
	place := "attribute " + attribute.Name
	if slices.Contains(r.Declared(), condition) {
		return c.named(r.Spellings.NameOf(text), info.Path, place)
	}

	col, err := ReadColumn([]string{strings.Trim(text, "[]")}, ColumnOptions{})
	if number, ok := numberOf(col, condition); ok && err == nil {
		c.Value = number
		c.Unit = col.Unit
		return c, nil
	}

	if condition == RunColumn(r.Run) {
		return c.named(text, info.Path, place)
	}

	if unit, hasUnit := units.OfName(condition); hasUnit && hasNumber(col) && err == nil {
		return c, fault.At(info.Path, place, "a number in "+unit.Text, cmp.Or(col.Unit, strconv.Quote(fault.Clip(text))),
			"choose another attribute, or end the name of the condition with its unit")
	}

	found := strconv.Quote(fault.Clip(text))
	if cell, ok := errors.AsType[*CellError](err); ok {
		found = cell.Found
	}

	return c, fault.At(info.Path, place, "a number", found, "list it under things if it is a name")
}

// named returns c with a name for its value.
func (c Condition) named(name, path, place string) (Condition, error) {
	if fail := CheckName(name); fail != nil {
		fail.Path = path
		fail.Place = place

		return c, fail
	}

	c.Name = name
	c.IsName = true

	return c, nil
}

// hasNumber reports whether a column has a finite number.
func hasNumber(col Column) bool { return len(col.Values) > 0 && ingest.Finite(col.Values[0]) }

// numberOf returns the only number of a column, in the unit that the name of a condition states.
func numberOf(col Column, condition string) (float64, bool) {
	if !hasNumber(col) {
		return 0, false
	}

	conversion, err := units.ToName(condition, col.Unit)
	if err != nil {
		return 0, false
	}

	return conversion.Apply(col.Values[0]), true
}

// HasAttribute reports whether Attribute finds an attribute by a name, or several.
func HasAttribute(info ingest.Info, name string) bool { return len(matchAttributes(info, name)) > 0 }

// matchAttributes returns the attribute of a file that has a name. If there is none, it returns all attributes whose
// names end with it.
func matchAttributes(info ingest.Info, name string) []ingest.Attribute {
	var hits []ingest.Attribute
	for _, a := range info.Attributes {
		if a.Name == name {
			return []ingest.Attribute{a}
		}

		rest, ok := strings.CutSuffix(strings.ToLower(a.Name), strings.ToLower(name))
		if ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "/.@")) {
			hits = append(hits, a)
		}
	}

	return hits
}

// findAttribute finds an attribute of a file by its name or, if only one fits, by the end of it.
func findAttribute(info ingest.Info, name string) (ingest.Attribute, error) {
	hits := matchAttributes(info, name)
	if len(hits) == 1 {
		return hits[0], nil
	}

	want := fmt.Sprintf("an attribute %q", name)
	switch {
	case len(info.Attributes) == 0:
		return ingest.Attribute{}, fault.At(info.Path, "", want, "a file without attributes", "")
	case len(hits) == 0:
		var known []string
		for _, a := range info.Attributes {
			known = append(known, a.Name)
		}

		return ingest.Attribute{}, fault.At(info.Path, "", want, "none of that name",
			"there is "+fault.Quoted(spelling.Nearest(name, known, 3)))
	}

	var names []string
	for _, a := range hits {
		names = append(names, a.Name)
	}

	return ingest.Attribute{}, fault.At(info.Path, "", fmt.Sprintf("one attribute %q", name), fault.Quoted(names),
		"write its full name")
}
