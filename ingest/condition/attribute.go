package condition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// Attribute finds a number a file states about itself, in the unit that the condition's name states.
func Attribute(info ingest.Info, name, condition string) (float64, error) {
	c, err := Roles{}.Attribute(info, name, condition, "")
	return c.Value, err
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
