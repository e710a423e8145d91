package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest/table"
	"doubletake/train/triplets"
)

// sentences are the findings in words.
func sentences(f Findings) (out []string) {
	for _, m := range f.ranked() {
		out = append(out, m.String())
	}

	return append(out, f.Counts(3, false)...)
}

// Expected values: sentences of two swapped files, one with a wrong speed and a row entered twice.
func TestMistakeSentences(t *testing.T) {
	var f Findings
	for _, s := range []struct {
		run           string
		stated, found float64
	}{{"a.wav", 50, 60}, {"b.wav", 60, 50.1}, {"c.wav", 40, 50}} {
		f.addRun(analysis.RunNote{Run: s.run, Flags: []dsp.Flag{{
			Code: "speed-contradicted", Text: "its text", StatedHz: s.stated, FoundHz: s.found,
		}}})
	}

	f.addSwaps()
	x := []triplets.Quantity{{Name: "x"}}
	y := []triplets.Quantity{{Name: "y"}}
	f.addEqualRows(triplets.New(x, y, []float64{1, 2, 3, 4}, []float64{1, 5, 1, 4}, []float64{2, 6, 2, 5}))
	f.addEqualRows(triplets.New(x, y, []float64{1, 2, 3, 4, 5},
		[]float64{1, 1, 1, 2, 2}, []float64{1, 1, 1, 2, 2})) // so coarse that rows are equal by chance

	want := []string{
		"a.wav: swapped with b.wav? Stated are 3000 and 3600 rev/min, the sound of the one has 3600, of the other 3006: " +
			"exchange their conditions",
		"c.wav: its text; it is used as stated",
		"row 3: all outcomes equal those of row 1: a row entered twice is no measurement; leave one of the two out",
	}
	if got := sentences(f); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// Further rows with a double are counted, in the singular and in the plural. The rows are written by hand: rows 4 and
// 5, or rows 4 to 6, repeat the rows above.
func TestSeveralEqualRows(t *testing.T) {
	x := []triplets.Quantity{{Name: "x"}}
	y := []triplets.Quantity{{Name: "y"}}
	for more, values := range map[string][]float64{
		"(and 1 more row has a double)":   {1, 2, 3, 1, 2, 6},
		"(and 2 more rows have a double)": {1, 2, 3, 1, 2, 3},
	} {
		var f Findings
		f.addEqualRows(triplets.New(x, y, []float64{1, 2, 3, 4, 5, 6}, values, values))
		found := strings.Join(sentences(f), "\n")
		assert.Contains(t, found, more)
	}
}

// Three of 40 pairs are far. Expected: each recording is in three of them, under its whole name, although the names
// contain a plus.
func TestFarPairNames(t *testing.T) {
	const rows = 40
	y1 := make([]float64, rows)
	y2 := make([]float64, rows)
	runs := make([]string, rows)
	for i := range rows {
		y2[i] = 0.1 * float64(1+i%3)
		runs[i] = fmt.Sprintf("x%d + y%d", i, i)
	}

	for i := range 3 {
		y2[i] = 10
		runs[i] = "re=1e+06 + re=1.1e+06"
	}

	set := triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}}, y1, y1, y2)
	set.SetRuns(runs)
	tab := &table.Table{}
	tab.Make("recording", "", "").Strings = runs
	f := Findings{SplitName: func(name string) []string { return strings.Split(name, " + ") }}
	assert.Contains(t, f.FarPairs("repeat-run", tab, set), "; re=1e+06 is in 3 of them, re=1.1e+06 is in 3 of them; none")
}
