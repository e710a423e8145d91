package report

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/numbers"
)

// Whatever characters the names of a sheet contain, the sheet has its rows in a terminal and as LaTeX, and fits the
// width of the terminal. Expected in LaTeX: both rows of the grid, in each of the tabulars that share its columns.
func TestSheets(t *testing.T) {
	for _, name := range hostile {
		list := []Sheet{*sheetOf(name)}
		rows := checkTeX(t, string(SheetsLaTeX(list)))
		assert.NotEqual(t, 0, rows, "%q: %d rows of LaTeX", name, rows)
		assert.Zero(t, rows%2, "%q: %d rows of LaTeX", name, rows)

		for _, columns := range []int{80, 100, 200} {
			var b bytes.Buffer
			require.NoError(t, Sheets(&b, list, columns, false))

			text := b.String()
			assert.Contains(t, text, "-83.74")
			assert.False(t, strings.ContainsAny(text, "\x1b\x00\u202e"))

			for l := range strings.Lines(b.String()) {
				if textWidth(l) > columns {
					t.Errorf("%d columns in %d: %q", textWidth(l), columns, l)
				}
			}
		}
	}
}

// sheetOf returns an invented budget in which the given text is every name and every sentence.
func sheetOf(name string) *Sheet {
	return &Sheet{
		Title: "Uncertainty of a measurement", Opening: []string{name}, Closing: []string{name}, Notes: []string{name},
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

func ExampleListing() {
	l := Listing{Heads: []string{"rank", "blades", "gain", "advice"}}
	l.Add("1", "5", "12 %", "measure here: 新しい")
	l.Add("2", "10")

	l.Write(os.Stdout, 0)
	os.Stdout.WriteString("\n")
	l.Write(os.Stdout, 30)
	// Output:
	// rank  blades  gain  advice
	// 1     5       12 %  measure here: 新しい
	// 2     10
	//
	// rank  blades  gain
	// 1     5       12 %
	// 2     10
	//
	// rank  advice
	// 1     measure here: 新しい
	// 2
}

// A column that is empty in all rows is left out. A row may have fewer cells than there are columns.
func TestEmptyColumns(t *testing.T) {
	l := Listing{Heads: []string{"", "class", "gain", "advice"}}
	l.Add("1", "", "12 %", "")
	l.Add("2", "", "3 %")

	var b strings.Builder
	require.NoError(t, l.Write(&b, 0))
	assert.Equal(t, "   gain\n1  12 %\n2  3 %\n", b.String())
	assert.Len(t, l.Heads, 4, "the caller's listing is as it was")
	assert.Len(t, l.Rows[0], 4, "the caller's rows are as they were")
}

// Records become rows: members of objects are columns, floats have all digits, and no text is a formula.
func TestCSV(t *testing.T) {
	names := []string{"rpm", "a"}
	records := []numbers.Object{
		{"at", numbers.Named(names, []float64{-3000, 0.1}), "dof", math.Inf(1), "n", 3, "why", "=1+1"},
		{"at", numbers.Named(names, []float64{1e300, 1. / 3}), "dof", math.NaN(), "n", 0, "why", []string{"a", "b"}},
	}

	var b bytes.Buffer
	want := "rpm,a,dof,n,why\n-3000,0.1,inf,3,'=1+1\n1e+300,0.3333333333333333,,0,a; b\n"
	err := CSV(&b, records)
	require.NoError(t, err, "%v\n%s", err, b.String())
	assert.Equal(t, want, b.String(), "%v\n%s", err, b.String())
}

// A pointer to a number is written as in JSON: as the number. A missing number is empty.
func TestPointersInCSV(t *testing.T) {
	half := 0.5
	none := math.NaN()
	var b bytes.Buffer
	require.NoError(t, CSV(&b, []numbers.Object{{"a", &half, "b", &none, "c", (*float64)(nil)}}))
	assert.Equal(t, "a,b,c\n0.5,,\n", b.String())
}

// Sheets of one title have labels of their own in LaTeX: the tables are numbered on.
func TestLabelsOfEqualTitles(t *testing.T) {
	sheet := Sheet{Title: "Budget", Grids: []Grid{{Heads: []string{"source", "u"}, Rows: [][]string{{"chord", "0.1"}}}}}
	text := string(SheetsLaTeX([]Sheet{sheet, sheet}))
	assert.Equal(t, 1, strings.Count(text, `\label{tab:budget-1}`), text)
	assert.Equal(t, 1, strings.Count(text, `\label{tab:budget-2}`), text)
}

// The notes of a sheet stand below its last table, even if a grid behind it is empty and gives no table.
func TestNotesBelowLastTable(t *testing.T) {
	full := Grid{Heads: []string{"source", "u"}, Rows: [][]string{{"chord", "0.1"}}}
	empty := Grid{Heads: []string{"source", "u"}}
	for _, grids := range [][]Grid{{full}, {full, empty}, {empty, full}} {
		sheet := Sheet{Title: "Budget", Grids: grids, Closing: []string{"closing words"}, Notes: []string{"noted words"}}
		text := string(SheetsLaTeX([]Sheet{sheet}))
		assert.Equal(t, 1, strings.Count(text, "closing words"))
		assert.Equal(t, 1, strings.Count(text, "noted words"))
	}
}

// Numbers in full are what strconv.ParseFloat reads back; a missing one is empty.
func TestFullNumbers(t *testing.T) {
	assert.Empty(t, fullDigits(math.NaN()))
	for _, value := range []float64{0.1, -1e-300, math.Inf(1), math.Inf(-1)} {
		number, err := strconv.ParseFloat(fullDigits(value), 64)
		require.NoError(t, err)
		assert.Equal(t, value, number)
	}
	assert.Equal(t, "-inf", fullDigits(math.Inf(-1)))
}
