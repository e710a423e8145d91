package report

import (
	"bytes"
	"strings"
	"testing"

	"doubletake/internal/must"
)

// A sheet has its rows in a terminal and as LaTeX, whatever the names hold, and in a terminal fits the
// width.
func TestSheets(t *testing.T) {
	for _, name := range hostile {
		list := []Sheet{*sheetOf(name)}
		if rows := checkTeX(t, string(SheetsLaTeX(list))); rows == 0 || rows%2 != 0 { // in parts, if wide
			t.Errorf("%q: %d rows of LaTeX", name, rows)
		}

		for _, columns := range []int{80, 100, 200} {
			var b bytes.Buffer
			must.Do(t, Sheets(&b, list, columns, false))

			if text := b.String(); !strings.Contains(text, "-83.74") || strings.ContainsAny(text, "\x1b\x00\u202e") {
				t.Errorf("%q: %s", name, text)
			}

			for l := range strings.Lines(b.String()) {
				must.Not(t, width(l) > columns, "%d columns in %d: %q", width(l), columns, l)
			}
		}
	}
}

// sheetOf is an invented budget everywhere named by the given text.
func sheetOf(name string) *Sheet {
	return &Sheet{
		Title: "Uncertainty of a measurement", After: []string{name}, Notes: []string{name},
		Grids: []Grid{{
			Title: name, Below: name + " = 2.0", Words: []string{"type", "distribution"},
			Heads: []string{"source", "type", "value", "distribution", "u", "dof", "sensitivity", "contribution", "share"},
			Rows: [][]string{
				{name, "A", "0", "normal", "0.5287", "27", "1", "0.5287", "58.5 %"},
				{"area_m2", "B", "0.867", name, "0.001001", "∞", "-83.74", "0.08384", "41.5 %"},
			},
		}},
	}
}
