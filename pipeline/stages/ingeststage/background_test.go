package ingeststage

import (
	"slices"
	"strings"
	"testing"
)

// Recordings of the background are taken out of the files.
func TestFindBackground(t *testing.T) {
	x := npy(count(9, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "q.npy": x,
		"c.csv": "file,blades,rpm\na.npy,2,3000\nb.npy,2,4000\nq.npy,0,0\n",
		"d.csv": "file,blades,rpm\na.npy,2,3000\nb.npy,2,4000\n",
	}

	for _, table := range []string{"c.csv", "d.csv"} {
		b := planned(t, files, `{files: "*.npy", conditions: `+table+`, rate_hz: 1000, background: {files: q.npy}}`,
			`{triplets: split-half-spectrum}`)
		r := b.Recordings
		if len(r.Files) != 2 || len(r.Backgrounds) != 1 || r.Backgrounds[0].Name != "q.npy" ||
			!slices.Equal(b.Conditions, []string{"blades", "rpm"}) {
			t.Errorf("%s: %d recordings, background %v, conditions %v", table, len(r.Files), r.Backgrounds, b.Conditions)
		}

		if got := ids(b); strings.Contains(got, "q.npy") {
			t.Errorf("%s: tasks %s", table, got)
		}
	}
}
