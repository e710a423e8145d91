package stages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Recordings of the background are taken out of the files.
func TestFindBackground(t *testing.T) {
	x := npyFile(count(9, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "q.npy": x,
		"c.csv": "file,blades,rpm\na.npy,2,3000\nb.npy,2,4000\nq.npy,0,0\n",
		"d.csv": "file,blades,rpm\na.npy,2,3000\nb.npy,2,4000\n",
	}

	for _, table := range []string{"c.csv", "d.csv"} {
		b := planFiles(t, files, `{files: "*.npy", conditions: `+table+`, rate_hz: 1000, background: {files: q.npy}}`,
			`{triplets: split-half-spectrum}`)
		r := b.Recordings
		assert.Equal(t, []string{"a.npy", "b.npy"}, r.inventory.Names(), table)
		assert.Equal(t, []string{"blades", "rpm"}, b.Conditions, table)
		require.Len(t, r.Backgrounds, 1, table)
		assert.Equal(t, "q.npy", r.Backgrounds[0].Name, table)
		assert.Contains(t, ids(b), "a.npy", table)
		assert.NotContains(t, ids(b), "q.npy", "%s: the background has no task of its own", table)
	}
}
