package role

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
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

// Values that were set are round beside a few that were not. Expected: by eye.
func TestRoundValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   bool
	}{
		{"a sweep with two settings missed", []float64{
			-4, -2, 0, 2, 4, 6, 8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12, 12.5,
			13, 13.5, 14, 14.5, 15, 17.445, -0.008,
		}, true},
		{"one of ten missed", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10.02}, true},
		{"two of ten missed", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9.01, 10.02}, false},
		{"all round", []float64{-4, -2, 0, 2, 4}, false}, // set points find them
		{"halves", []float64{0.5, 1, 1.5}, false},
		{"measured", []float64{1.113, 2.241, 3.087, 4.906, 5.333}, false},
		{"measured with one decimal", []float64{749.9, 750.1, 750, 750.3}, false},
		{"speeds as measured", []float64{9.97, 10.02, 10.01, 15.03, 14.98}, false},
		{"none", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, areRound(c.values)) })
	}
}

// Numbers in steps of one, in names that have no others. Expected: people pad the numbers of runs with zeros, and write
// the zero of 0.5 because a number needs a digit before the point.
func TestIsCounter(t *testing.T) {
	for texts, want := range map[string]bool{
		"00 01 02 03":     true,
		"007 008 009 010": true,
		"01.0 02.0 03.0":  true,
		"0.0 1.0 2.0 3.0": false,
		"0.5 1.5 2.5":     false,
		"0p5 1p5 2p5":     false,
		"0,5 1,5 2,5":     false,
		"-1.0 0.0 1.0":    false,
		"0 1 2 3":         false,
	} {
		fields := strings.Fields(texts)
		s := &Sheet{Rows: len(fields)}
		column := s.ByHeadOrNew("gap")
		for i, text := range fields {
			column.Texts[i] = text
			column.Values[i], _ = condition.ParseName(text)
		}

		require.Equal(t, want, s.isCounter(column), texts)
	}
}
