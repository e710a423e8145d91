package stages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two writings of a propeller are one name by the key spellings, whether a table of conditions, the names of files, a
// sidecar, an attribute or a table of results states them.
func TestSpellings(t *testing.T) {
	x := npyFile(count(100, 1))
	const spelled = `things: [propeller], spellings: {apc8x6: APC 8x6, "Apc-8x6": APC 8x6}}`
	want := []string{"APC 8x6", "APC 8x6"}
	for name, c := range map[string]struct {
		files    map[string]string
		settings string
	}{
		"table": {
			map[string]string{"a.npy": x, "b.npy": x, "c.csv": "file,rpm,propeller\na,1,APC 8x6\nb,2,apc8x6\n"},
			`{files: "*.npy", conditions: c.csv, rate_hz: 1000, `,
		},
		"names": {
			map[string]string{"Apc-8x6_1.npy": x, "apc8x6_2.npy": x},
			`{files: "*.npy", pattern: "{propeller:text}_{rpm}.npy", rate_hz: 1000, `,
		},
		"sidecar": {
			map[string]string{
				"a1.npy": x, "a2.npy": x, "a1.yaml": "propeller: apc8x6\nrpm: 1\n", "a2.yaml": "propeller: APC 8x6\nrpm: 2\n",
			},
			`{files: "*.npy", sidecar: .yaml, rate_hz: 1000, `,
		},
	} {
		b := planFiles(t, c.files, c.settings+spelled, "{triplets: split-half-spectrum}")
		var names []string
		for i := range b.Recordings.Files {
			res, err := read(b, i, nil)
			require.NoError(t, err, name)
			names = append(names, res.Runs[0].Run.Recordings[0].Labels["propeller"])
		}

		assert.Equal(t, want, names, name)
	}

	b := planFiles(t, map[string]string{"t.csv": "propeller,rpm,y_1,y_2\nAPC 8x6,1,2,3\napc8x6,2,3,4\n"},
		`{table: {file: t.csv, inputs: [rpm]}, `+spelled, "{}")
	pairs, err := b.Pairs.Read()
	require.NoError(t, err)
	require.Equal(t, []string{"propeller"}, pairs.Labels)
	assert.Equal(t, want, pairs.Texts[0], "table of results")

	// The warning about two writings says how to join them.
	b = planFiles(t, map[string]string{"a.npy": x, "b.npy": x, "c.csv": "file,rpm,propeller\na,1,APC 8x6\nb,2,apc8x6\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, things: [propeller]}`, "{triplets: split-half-spectrum}")
	assert.Contains(t, warningTexts(b), `propeller has the names "APC 8x6" and "apc8x6", which are taken for two; `+
		`if they are one, ingest: {spellings: {"apc8x6": "APC 8x6"}}`)
}
