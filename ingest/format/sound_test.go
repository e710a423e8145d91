package format

import (
	"bytes"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Errors follow from the bytes that the test changes, at positions by the definitions of the formats.
// testdata/make_sound.py wrote the files.
func TestSoundRefused(t *testing.T) {
	put := func(at int, s string) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[at:], s); return b }
	}

	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"sox.w64", cut(90), `expected a "data" chunk`},
		{"sox.w64", cut(200), "the header claims 37 frames, there are"},
		{"sox_pipe.w64", put(0, ""), "byte 96: expected a length of a chunk, which is at least 24 bytes, found 23"},
		{"sox.w64", put(24, "xxxx"), `byte 24: expected "WAVE"`},
	} {
		b := testfile.Read(t, "testdata/sound/"+c.name)

		r, err := openBytes(c.change(bytes.Clone(b)), ingest.Options{})
		t.Log(c.name, err)
		ingesttest.WantDataError(t, r, err, c.want)
	}
}

// With truncated: use, the whole frames of a file that is cut short are read. They are those of the whole file.
func TestSoundTruncated(t *testing.T) {
	for _, c := range []struct {
		name, whole string
		size        int
	}{
		{"sox.w64", "sox.w64", 200},
	} {
		b := testfile.Read(t, "testdata/sound/"+c.name)

		if c.size > 0 {
			b = b[:c.size]
		}

		r, err := openBytes(b, ingest.Options{Truncated: "use"})
		require.NoError(t, err)

		w, err := Open("testdata/sound/"+c.whole, ingest.Options{})
		require.NoError(t, err)

		want := ingesttest.ReadAll(t, w)
		n := r.Info().Channels[0].Samples
		assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings), "%s: warnings", c.name)
		assert.GreaterOrEqual(t, n, int64(5), "%s: samples", c.name)
		assert.Equal(t, c.size == 0, n == 37, "%s: all 37 samples are there", c.name)

		for i, x := range ingesttest.ReadAll(t, r) {
			ingesttest.Equal(t, x, want[i][:n])
		}

		_ = w.Close()
	}
}
