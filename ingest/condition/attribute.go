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

// Attribute finds a number a file states about itself: an attribute of the file
// or of a group ("/Table1@alpha"), a single number among its arrays
// ("opp_jprop.vInf"), or an element of one ("opp.RPS_M1[2]"), by its name or,
// where only one fits, by the end of it. It is in the unit that the condition's name states.
func Attribute(info ingest.Info, name, condition string) (float64, error) {
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
		return 0, fault.At(info.Path, "", want, "a file without attributes", "")
	case len(hits) == 0:
		return 0, fault.At(info.Path, "", want, "none of that name", "there is "+
			fault.Quoted(spelling.Nearest(name, known, 3)))
	case len(hits) > 1:
		return 0, fault.At(info.Path, "", fmt.Sprintf("one attribute %q", name), fault.Quoted(hits), "write its full name")
	}

	text := info.Attributes[slices.Index(known, hits[0])].Value
	found := strconv.Quote(fault.Clip(text))
	col, err := ReadColumn([]string{strings.Trim(strings.TrimSpace(text), "[]")}, ColumnOptions{})
	if err != nil {
		found = err.(*CellError).Found
	} else if to, err := units.ToName(condition, col.Unit); err == nil && col.Values != nil &&
		col.Values[0]-col.Values[0] == 0 {
		return to.Apply(col.Values[0]), nil
	}

	return 0, fault.At(info.Path, "attribute "+hits[0], "a number", found, "")
}
