package role

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first rule that fits decides on a column of eight rows, beside angles of attack. "-" is an empty cell.
func TestWordRules(t *testing.T) {
	for _, c := range []struct{ head, texts, rule string }{
		{"T_C", "- - - - - - - -", "empty"},
		{"clock", "1 2 3 4 5 6 7 8", "clock"},
		{"Bemerkung", "a b a b a b a b", "remark"},
		{"date", "1 2 3 4 5 6 7 8", "day of one row"},
		{"date", "1 1 2 2 3 3 4 4", "day"},
		{"block", "Mon Mon Tue Tue Wed Wed Mon Tue", "day"},
		{"tripped", "x - x - x - x -", "cross in some rows"},
		{"U", "10 10 10 10 10 10 10 10", "constant"},
		{"Uhrzeit", "1 2 1 2 1 2 1 2", "time of day"},
		{"u_alpha", "1 2 1 2 1 2 1 2", "uncertainty"},
		{"serial no", "817 817 904 904 817 817 904 904", "serial number of several rows"},
		{"serial no", "817 818 819 904 910 911 950 960", "serial number"},
		{"Run_nr", "11 12 13 14 21 22 23 24", "number of a run, by its words"},
		{"position", "1 2 3 4 5 6 7 9", ""},
		{"zeile", "1 2 3 4 5 6 7 8", "number of a row"},
		{"Prop ID", "11 11 17 17 11 11 17 17", "number of a thing"},
		{"profile", "4412 4412 0012 0012 4412 4412 NACA NACA", "thing whose name begins with a number"},
		{"profile", "APC APC GWS GWS APC APC GWS GWS", "thing"},
		{"Aufbau", "a b c d e f g h", "text"},
		{"rpm", "1 2 1 2 1 2 1 2", ""},
	} {
		texts := strings.Fields(c.texts)
		s := &Sheet{Rows: len(texts), FileOf: make([]int, len(texts)), Clock: "clock"}
		angles := s.ByHeadOrNew("alpha")
		for i := range texts {
			angles.Values[i] = float64(5 * (i / 2))
		}

		f := s.ByHeadOrNew(c.head)
		for i, text := range texts {
			f.Texts[i] = strings.Trim(text, "-")
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				f.Values[i] = value
			}
		}

		stated := len(f.stated())
		hasSomeNumbers := stated > 0 && stated < len(texts)
		hasOnlyTexts := stated == 0 && c.rule != "empty"
		if hasSomeNumbers || hasOnlyTexts {
			f.Values = nil
		}

		name := ""
		if r := firstFit(wordRules, s.candidate(f)); r != nil {
			name = r.name
			r.apply(f, s.candidate(f))
			require.Equal(t, r.role, f.Role, c.head)
		}

		require.Equal(t, c.rule, name, "%s: %s", c.head, c.texts)
	}
}

// Names of rules are for people who read the tables: each is used once, and each rule has a role.
func TestRulesAreNamed(t *testing.T) {
	for _, rules := range [][]rule{wordRules, valueRules, resultRules} {
		seen := map[string]bool{}
		for _, r := range rules {
			require.NotEmpty(t, r.name)
			require.False(t, seen[r.name], r.name)
			require.NotEqual(t, Open, r.role, r.name)
			seen[r.name] = true
		}
	}
}
