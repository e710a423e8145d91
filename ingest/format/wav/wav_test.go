package wav

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openFile opens a file of the truth matrix.
func openFile(t *testing.T, name string) (ingest.Reader, error) {
	t.Helper()

	src, err := ingest.OpenSource("../testdata/truth/"+name, "")
	require.NoError(t, err)

	t.Cleanup(func() { src.Close() })

	return Format.Open(src, ingest.Options{})
}

// A file with 24 bits in the lower three of 4 bytes, as arecord -f S24_LE writes them, is refused. The tests of hound
// read it as −96, 23052, 8388607, −8360672. TestConventions reads left-justified samples, pcm24in32.wav.
func TestLowerBytes(t *testing.T) {
	var b []byte
	for _, v := range []int32{-96, 23052, 8388607, -8360672} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}

	w := ingesttest.WAV{Tag: 1, Channels: 2, Align: 8, Bits: 24, Rate: 48000, Data: b, Claim: 16}
	r, err := Format.Open(ingesttest.Source(w.Bytes()), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "byte 44: expected a padding byte of 0", "found 160", "arecord -f S24_3LE")

	// If a recording begins with silence, the samples behind it decide.
	w.Data = append(make([]byte, 1<<20), bytes.Repeat(b, 1<<16)...)
	w.Claim = uint32(len(w.Data))
	r, err = Format.Open(ingesttest.Source(w.Bytes()), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "expected a padding byte of 0")
}

// TestWAVRefused checks the errors about wrong headers.
func TestWAVRefused(t *testing.T) {
	ok := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
	with := func(f func(*ingesttest.WAV)) []byte {
		s := ok
		f(&s)
		return s.Bytes()
	}

	whole := ok.Bytes()
	for _, c := range []struct {
		name string
		b    []byte
		want []string
	}{
		{"truncated RIFF header", whole[:7], []string{"byte 7", "the end of the file"}},
		{"truncated fmt", whole[:30], []string{"byte 20", "cut short"}},
		{"no fmt", append(append([]byte(nil), whole[:12]...), whole[36:]...), []string{`expected a "fmt " chunk`}},
		{"no data", whole[:36], []string{"byte 36", `expected a "data" chunk`}},
		{"only RIFF", whole[:12], []string{`expected a "fmt " chunk`}},
		{"RIFF of another kind", []byte("RIFF\x04\x00\x00\x00AVI LIST"), []string{"byte 8", `"AVI "`}},
		{"zero channels", with(func(s *ingesttest.WAV) { s.Channels = 0 }), []string{"byte 22", "at least one channel", "0"}},
		{"zero rate", with(func(s *ingesttest.WAV) { s.Rate = 0 }), []string{"byte 24", "sampling rate"}},
		{
			"block align contradicts", with(func(s *ingesttest.WAV) { s.Align = 3 }),
			[]string{"byte 32", "expected 4 bytes per frame (2 channels of 16 bits), found 3"},
		},
		{"zero bits", with(func(s *ingesttest.WAV) { s.Bits = 0 }), []string{"byte 34", "1 to 32 bits"}},
		{"A-law", with(func(s *ingesttest.WAV) { s.Tag = 6 }), []string{"byte 20", "A-law", "convert"}},
		{"ADPCM", with(func(s *ingesttest.WAV) { s.Tag = 2 }), []string{"Microsoft ADPCM"}},
		{"unknown tag", with(func(s *ingesttest.WAV) { s.Tag = 0x4242 }), []string{"0x4242 (unknown)"}},
		{
			"float of 16 bits", with(func(s *ingesttest.WAV) { s.Tag = 3 }),
			[]string{"32 or 64 bits per float sample, found 16"},
		},
		{
			"data shorter than claimed", with(func(s *ingesttest.WAV) { s.Claim = 4000 }),
			[]string{"byte 40", "claims 1000 frames, there are 3", "truncated: use"},
		},
		{
			"2^32-1", with(func(s *ingesttest.WAV) { s.Claim = math.MaxUint32 }),
			[]string{
				"does not know the length (4294967295 bytes, as programs write that stream", "3 whole frames (to read",
			},
		},
		{
			"0 with data following", with(func(s *ingesttest.WAV) { s.Claim = 0 }),
			[]string{"does not know the length (0 bytes, ", "3 whole frames"},
		},
		{
			"not whole frames", with(func(s *ingesttest.WAV) { s.Data = s.Data[:11]; s.Claim = 11 }),
			[]string{"11 bytes of data are 2 frames of 4 bytes and 3 bytes more"},
		},
		{"empty data", with(func(s *ingesttest.WAV) { s.Data = nil; s.Claim = 0 }), []string{"no samples"}},
		{
			"empty data and a chunk",
			with(func(s *ingesttest.WAV) { s.Data = nil; s.Claim = 0; s.After = []byte("LIST\x04\x00\x00\x00INFO") }),
			[]string{"no samples"},
		},
		{"less than a frame", with(func(s *ingesttest.WAV) { s.Data = s.Data[:3] }), []string{"there are 0", "cut short"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Format.Open(ingesttest.Source(c.b), ingest.Options{})
			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}
}

// TestWAVTruncatedUsed reads files that are cut short with Truncated "use": they give their whole frames and a warning.
func TestWAVTruncatedUsed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ingesttest.WAV)
		frames int
		text   string
	}{
		{"short", func(s *ingesttest.WAV) { s.Claim = 4000 }, 3, "claims 1000 frames, there are 3"},
		{"placeholder", func(s *ingesttest.WAV) { s.Claim = math.MaxUint32 }, 3, "not know the length (4294967295 bytes"},
		{"placeholder of sox", func(s *ingesttest.WAV) { s.Claim = 0x7FFFF000 }, 3, "not know the length (2147479552 bytes"},
		{"zero", func(s *ingesttest.WAV) { s.Claim = 0 }, 3, "not know the length (0 bytes"},
		{"odd end", func(s *ingesttest.WAV) { s.Data = s.Data[:11]; s.Claim = 11 }, 2, "3 bytes more"},
		{"short and odd", func(s *ingesttest.WAV) { s.Data = s.Data[:11] }, 2, "claims 3 frames, there are 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
			c.change(&s)

			r := ingesttest.Open(t, Format, s.Bytes(), ingest.Options{Truncated: "use"})

			w := r.Info().Warnings
			require.Len(t, w, 1, "warnings %v", w)
			require.Equal(t, "truncated", w[0].Code, "warnings %v", w)
			assert.Contains(t, w[0].Text, c.text, "warnings %v", w)

			x := ingesttest.ReadAll(t, r)
			ingesttest.Equal(t, x[0], []float64{1. / 32768, 3. / 32768, 5. / 32768}[:c.frames])
			ingesttest.Equal(t, x[1], []float64{2. / 32768, 4. / 32768, 6. / 32768}[:c.frames])
		})
	}
}

func TestWAVAttributes(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		// make_truth.py wrote these texts into the files.
		{"odd_chunks.wav", "[{description balance run} {title rotor 3} {comment mic 5 odd}]"},
		{"rf64.wav", "[{title rotor 3} {comment mic 5 odd}]"},
	} {
		r, err := openFile(t, c.file)
		require.NoError(t, err)
		assert.Equal(t, c.want, fmt.Sprint(r.Info().Attributes), "%s: attributes", c.file)

		r.Close()
	}

	// A file that sox writes into a pipe states 2 GiB.
	r, err := openFile(t, "sox_pipe.wav")
	ingesttest.WantDataError(t, r, err, "does not know the length (2147479552 bytes")

	for file, name := range map[string]string{"sox_alaw.wav": "A-law", "sox_adpcm.wav": "Microsoft ADPCM"} {
		r, err := openFile(t, file)
		ingesttest.WantDataError(t, r, err, name)
	}
}

func TestWAVRate(t *testing.T) {
	b := ingesttest.PCM16(1, 1, 2).Bytes()
	_, err := Format.Open(ingesttest.Source(b), ingest.Options{RateHz: 1000})
	require.NoError(t, err)

	r, err := Format.Open(ingesttest.Source(b), ingest.Options{RateHz: 999})
	ingesttest.WantDataError(t, r, err, "expected a rate of 999 Hz as configured, found 1000 Hz")
}
