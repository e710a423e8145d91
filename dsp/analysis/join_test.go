package analysis_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp/analysis"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
)

// Rows of files are joined in the order in which they are added, and a file without rows adds nothing. A file with
// another unit is refused, and the error names the first file with rows.
func TestJoined(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		_, err := tabletest.MustParse(t, text).WriteFile(path)
		require.NoError(t, err)

		return path
	}

	empty := filepath.Join(t.TempDir(), "empty.arrow")
	_, err := (&table.Table{}).WriteFile(empty)
	require.NoError(t, err)

	joined := analysis.NewJoined()
	require.NoError(t, joined.AddTriplets(empty, "empty.wav"))
	require.NoError(t, joined.AddTriplets(write("a.arrow", "run y_1[dB] y_2[dB]\na 1 2\na 3 4"), "a.wav"))
	require.NoError(t, joined.AddTriplets(write("b.arrow", "run y_1[dB] y_2[dB]\nb 5 6"), "b.wav"))
	assert.Equal(t, []string{"a", "a", "b"}, joined.Triplets.Column("run").Strings)
	assert.Equal(t, []float64{1, 3, 5}, joined.Triplets.Column("y_1").Floats)

	err = joined.AddTriplets(write("c.arrow", "run y_1[Pa] y_2[Pa]\nc 7 8"), "c.wav")
	assert.ErrorContains(t, err, "c.wav: outcome y: expected the unit dB, as of a.wav, found Pa")
}

// Spectra of files are joined in order. The expected digest is the output of sha256sum for the digests "one" and "two",
// each followed by a line end.
func TestJoinedSpectra(t *testing.T) {
	joined := analysis.NewJoined()
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(t.TempDir(), name)
		_, err := tabletest.MustParse(t, "recording\n"+name).WriteFile(path)
		require.NoError(t, err)

		joined.AddSpectra(path, name)
	}

	path := filepath.Join(t.TempDir(), "spectra.arrow")
	digest, err := joined.WriteSpectra(path, nil)
	require.NoError(t, err)
	assert.Equal(t, "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8", digest)

	all, err := table.Read(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, all.Column("recording").Strings)
}
