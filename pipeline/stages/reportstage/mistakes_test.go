package reportstage

import (
	"slices"
	"testing"

	"doubletake/dsp"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/train/triplets"
)

// Expected values: sentences of two swapped files, one with a wrong speed and a row entered twice.
func TestMistakeSentences(t *testing.T) {
	var f findings
	for _, s := range []struct {
		run           string
		stated, found float64
	}{{"a.wav", 50, 60}, {"b.wav", 60, 50.1}, {"c.wav", 40, 50}} {
		var n dspstage.FileNotes
		n.Notes = append(n.Notes, dspstage.RunNote{Run: s.run, Flags: []dsp.Flag{{
			Code: "speed-contradicted", Text: "its text", StatedHz: s.stated, FoundHz: s.found,
		}}})
		f.note(n)
	}

	f.swaps()
	f.equalRows(triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}}, []float64{1, 2, 3, 4},
		[]float64{1, 5, 1, 4}, []float64{2, 6, 2, 5}))
	f.equalRows(triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}}, []float64{1, 2, 3, 4, 5},
		[]float64{1, 1, 1, 2, 2}, []float64{1, 1, 1, 2, 2})) // coarse: equal by chance

	want := []string{
		"a.wav: swapped with b.wav? Stated are 3000 and 3600 rev/min, the sound of the one has 3600, of the other 3006: " +
			"exchange their conditions",
		"c.wav: its text; it is used as stated",
		"row 3: all outcomes equal those of row 1: a row entered twice is no measurement; leave one of the two out",
	}
	if got := f.warnings(6); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
