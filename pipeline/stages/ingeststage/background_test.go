package ingeststage

import (
	"slices"
	"strings"
	"testing"
)

// Recordings of the background are taken out of the files, by a condition of the
// table or of the file names, or by globs; the condition is then none.
func TestFindBackground(t *testing.T) {
	x := npy(count(9, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "q.npy": x, "c.csv": "file,blades,rpm,off\na.npy,2,3000,0\nb.npy,2,4000,0\nq.npy,0,0,1\n",
		"d.csv": "file,blades,rpm\na.npy,2,3000\nb.npy,2,4000\n",
	}

	dsp := `{triplets: split-half-spectrum}`
	for _, ingest := range []string{
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, background: {condition: off}}`,
		`{files: "*.npy", conditions: d.csv, rate_hz: 1000, background: {files: q.npy}}`,
	} {
		b := planned(t, files, ingest, dsp)
		r := b.Recordings
		if len(r.Files) != 2 || len(r.Backgrounds) != 1 || r.Backgrounds[0].Name != "q.npy" ||
			!slices.Equal(b.Conditions, []string{"blades", "rpm"}) {
			t.Errorf("%s: %d recordings, background %v, conditions %v", ingest, len(r.Files), r.Backgrounds, b.Conditions)
		}

		if got := ids(b); strings.Contains(got, "q.npy") {
			t.Errorf("%s: tasks %s", ingest, got)
		}
	}

	named := map[string]string{"r3000_o0.npy": x, "r4000_o1.npy": x}
	b := planned(t, named,
		`{files: "*.npy", pattern: "r{rpm}_o{off}.npy", constants: {blades: 2}, rate_hz: 1000, background: {condition: off}}`,
		dsp)
	r := b.Recordings
	if len(r.Files) != 1 || r.Backgrounds[0].Name != "r4000_o1.npy" {
		t.Errorf("by name: %v", r.Backgrounds)
	}

	for file, want := range map[string]string{
		"r3000_o0.npy": "background: no recording has a off that is not zero",
		"r4000_o1.npy": "background: every recording is one of the background",
	} {
		refused(t, named,
			`{files: `+file+`, pattern: "r{rpm}_o{off}.npy", constants: {blades: 2}, rate_hz: 1000, `+
				`background: {condition: off}}`, dsp, want)
	}

	for _, c := range []struct{ ingest, want string }{
		{
			`{files: "*.npy", conditions: d.csv, rate_hz: 1000, background: {condition: off}, exclude: q.npy}`,
			`background.condition: "off" is not a condition of this experiment`,
		}, {
			`{files: q.npy, conditions: c.csv, rate_hz: 1000, background: {files: q.npy}}`,
			"background.files: every recording is one of the background",
		}, {
			`{files: "*.npy", attributes: {off: OFF}, constants: {rpm: 1}, rate_hz: 1000, background: {condition: off}}`,
			"is not known before the files are read",
		},
	} {
		refused(t, files, c.ingest, dsp, c.want)
	}

	files["c.csv"] = "file,row0,row1,blades,rpm,off\na.npy,0,4,2,3000,0\na.npy,4,8,2,3000,1\nb.npy,0,8,2,1,0\n" +
		"q.npy,0,8,2,1,1\n"
	refused(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, background: {condition: off}}`, dsp,
		"c.csv: line 3: expected one off for all rows of a.npy, found 0 and 1")
}
