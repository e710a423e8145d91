package findings

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/dsp"
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
		f.AddRun(RunNote{Run: s.run, Flags: []dsp.Flag{{
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

// A channel 6 dB below its neighbours in every run is named with the number; a dipole's minimum between the places,
// a slope and one bad run are not. Levels are closed forms, two outcomes of 6 runs.
func TestGains(t *testing.T) {
	for _, c := range []struct {
		name  string
		level func(run, place, outcome int) float64
		want  []string
	}{
		{
			"a gain", func(_, p, _ int) float64 { return map[bool]float64{true: -6}[p == 3] },
			[]string{"channel 4: 6.0 dB below its neighbours in 12 of 12 levels of 6 recordings: its gain? calibration: " +
				"{gain_db: {4: -6.00}} takes it out"},
		},
		{
			"at an end", func(_, p, _ int) float64 { return 2*float64(p) + map[bool]float64{true: 4}[p == 6] },
			[]string{"channel 7: 4.0 dB above its neighbours in 12 of 12 levels of 6 recordings: its gain? calibration: " +
				"{gain_db: {7: 4.00}} takes it out"},
		},
		{"one run", func(r, p, _ int) float64 { return map[bool]float64{true: -6}[p == 3 && r == 2] }, nil},
		{"one outcome", func(_, p, o int) float64 { return map[bool]float64{true: -6}[p == 3 && o == 0] }, nil},
		{"a slope", func(_, p, _ int) float64 { return 5 * float64(p) }, nil},
		{"an arch", func(_, p, _ int) float64 { return -float64((p - 3) * (p - 3)) }, nil},
	} {
		var y []float64
		var runs, recordings []string
		for r := range 6 {
			for p := range 7 {
				runs = append(runs, string(rune('a'+r)))
				recordings = append(recordings, fmt.Sprintf("%s.wav#%d", runs[len(runs)-1], p+1))
				y = append(y, 60+float64(r)+c.level(r, p, 0), 50-float64(r*r)+c.level(r, p, 1))
			}
		}

		level := []triplets.Quantity{{Name: "a", Unit: "dB re 20 µPa"}, {Name: "b", Unit: "dB re 20 µPa"}}
		set := triplets.New([]triplets.Quantity{{Name: "x"}}, level, make([]float64, len(runs)), y, y)
		set.SetRuns(runs)
		set.Recording = recordings

		var f Findings
		f.addGains(set)
		assert.Equal(t, c.want, sentences(f), "%s", c.name)
	}
}
