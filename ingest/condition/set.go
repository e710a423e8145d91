package condition

import (
	"cmp"
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
	"doubletake/internal/lists"
)

// Roles are the columns that the configuration names: runs, things, occasions.
type Roles struct {
	Run               string // "": the one called run
	Things, Occasions []string
	Groups            []string // that splits and groups name
}

// Grouped reports whether recordings are grouped by a column of names: of things, of occasions, or one that splits or
// groups name. Other names are remarks, and the run is one of each recording.
func (r Roles) Grouped(column string) bool {
	return column != RunColumn(r.Run) && slices.Contains(slices.Concat(r.Declared(), r.Groups), column)
}

// Declared lists the things and occasions, whose cells are names.
func (r Roles) Declared() []string { return slices.Concat(r.Things, r.Occasions) }

// Names lists all columns whose cells are names.
func (r Roles) Names() []string { return append(r.Declared(), RunColumn(r.Run)) }

// RunColumn is the column that names the run: the one that is given, else run.
func RunColumn(given string) string { return cmp.Or(given, "run") }

// Reserved are the columns of the program's tables, which no condition and no outcome may be called.
var Reserved = strings.Fields("run recording set file channel format encoding unit scale calibration " +
	"calibrator_spread_db rate_hz row0 samples duration_s min max mean rms std integral_time_s clipped " +
	"longest_constant sha256 pairs half bin_hz shaft_hz power line_hz line_power floor search_lo search_hi band_lo " +
	"band_hi shaft_order shaft_order_hz shaft_order_power group outcome weight")

// MaxName bounds a name by which rows are grouped: a longer one is a comment.
const MaxName = 100

// ditto matches marks for the cell above.
var ditto = regexp.MustCompile(`(?i)^(?:[-–—,]*(?:["″”“„〃]|''|//)["″”“„〃'/]*[-–—,]*|,,|↓|ditto|dito|idem|id\.|do\.|` +
	`(?:same )?as (?:above|before)|wie oben|s\. ?o\.|同上)$`)

// CheckName reports a text that names no group.
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
}

// Origins that the rule of contradictions knows.
const (
	Configured = "the configuration"
	FileName   = "the file's name"
)

// Merge merges what the sources state of a recording, in their order. Two that state one condition must agree. A
// set point, of the file's name or the configuration, may differ from a measured value by the tolerance, and the
// measured one holds. Of a contradiction the first stays. The error, about the file at path, is the first one.
func Merge(path string, within map[string]Tolerance, list ...Condition) (v Values, first error) {
	merged := map[string]Condition{}
	for _, c := range list {
		want := ""
		old, known := merged[c.Column]
		switch {
		case !c.IsName && c.Value-c.Value != 0:
			want = "a finite number"
		case !known:
			merged[c.Column] = c
		case old.IsName != c.IsName || c.IsName && old.Name != c.Name || !c.IsName && old.Value != c.Value &&
			!within[c.Column].Equal(old.Value, c.Value):
			want = fmt.Sprintf("%s, as in %s", old.text(), old.Origin)
		case old.Value != c.Value && (c.Origin != FileName || old.Origin == Configured): // else the other was measured
			merged[c.Column] = c
		}

		if want != "" {
			what := map[bool]string{true: "label ", false: "condition "}[c.IsName]
			first = cmp.Or[error](first, fault.At(path, what+c.Column, want, fmt.Sprintf("%s in %s", c.text(), c.Origin), ""))
		}
	}

	v = Values{map[string]float64{}, map[string]string{}}
	for column, c := range merged {
		if c.IsName {
			v.Names[column] = c.Name
		} else {
			v.Numbers[column] = c.Value
		}
	}

	return v, first
}

func (c Condition) text() string {
	return map[bool]string{true: strconv.Quote(c.Name), false: fmt.Sprint(c.Value)}[c.IsName]
}

// Values are the conditions of a recording or of a row, by their columns.
type Values struct {
	Numbers map[string]float64
	Names   map[string]string
}

// Rows are the conditions of recordings as far as they are known.
type Rows []Values

// Rows returns how many there are.
func (r Rows) Rows() int { return len(r) }

// Floats returns an error where the condition of some row is not known.
func (r Rows) Floats(column string) ([]float64, error) {
	return known(r, column, func(v Values) map[string]float64 { return v.Numbers })
}

// Strings returns an error where the name of some row is not known.
func (r Rows) Strings(column string) ([]string, error) {
	return known(r, column, func(v Values) map[string]string { return v.Names })
}

func known[T any](rows Rows, column string, of func(Values) map[string]T) ([]T, error) {
	out := make([]T, len(rows))
	for i, v := range rows {
		var ok bool
		if out[i], ok = of(v)[column]; !ok {
			return nil, fmt.Errorf("%s is not known", column)
		}
	}

	return out, nil
}

// Attribute finds what a file states about itself: an attribute of the file
// or of a group ("/Table1@alpha"), a single number among its arrays
// ("opp_jprop.vInf"), or an element of one ("opp.RPS_M1[2]"), by its name or,
// where only one fits, by the end of it. It is the name of a thing or an occasion, or a number in the unit
// that the condition's name states; a run may have either.
func (r Roles) Attribute(info ingest.Info, name, condition, origin string) (c Condition, err error) {
	defer fault.Catch(&err)
	c = Condition{Column: condition, Origin: origin}
	known := lists.Each(info.Attributes, func(a ingest.Attribute) string { return a.Name })
	hits := lists.Keep(known, func(n string) bool {
		rest, ok := strings.CutSuffix(strings.ToLower(n), strings.ToLower(name))
		return ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "/.@"))
	})
	if slices.Contains(hits, name) {
		hits = []string{name}
	}

	want := fmt.Sprintf("an attribute %q", name)
	switch {
	case len(known) == 0:
		fault.Raise(fault.At(info.Path, "", want, "a file without attributes", ""))
	case len(hits) == 0:
		fault.Raise(fault.At(info.Path, "", want, "none of that name", "there is "+
			fault.Quoted(spelling.Nearest(name, known, 3))))
	case len(hits) > 1:
		fault.Raise(fault.At(info.Path, "", fmt.Sprintf("one attribute %q", name), fault.Quoted(hits), "write its full name"))
	}

	text, place := strings.TrimSpace(info.Attributes[slices.Index(known, hits[0])].Value), "attribute "+hits[0]
	named := func() (Condition, error) {
		if bad := CheckName(text); bad != nil {
			bad.Path, bad.Place = info.Path, place
			return c, bad
		}

		c.Name, c.IsName = text, true

		return c, nil
	}

	if slices.Contains(r.Declared(), condition) {
		return named()
	}

	found := strconv.Quote(fault.Clip(text))
	col, err := ReadColumn([]string{strings.Trim(text, "[]")}, ColumnOptions{})
	if err != nil {
		found = err.(*CellError).Found
	} else if to, err := units.ToName(condition, col.Unit); err == nil && col.Values != nil &&
		col.Values[0]-col.Values[0] == 0 {
		c.Value = to.Apply(col.Values[0])
		return c, nil
	}

	if condition == RunColumn(r.Run) {
		return named()
	}

	return c, fault.At(info.Path, place, "a number", found, "list it under things if it is a name")
}
