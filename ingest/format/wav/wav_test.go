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

// openFile opens a file of the folder truth, which make_truth.py describes.
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

// rf64 returns a WAV file as RF64 (EBU Tech 3306): the length of the data is in a chunk ds64, and the data chunk has
// 0xFFFFFFFF there. The number in the ds64 chunk is at byte 28.
func rf64(w ingesttest.WAV, dataBytes uint64) []byte {
	w.Claim = math.MaxUint32
	riff := w.Bytes()

	b := append([]byte("RF64\xff\xff\xff\xffWAVEds64"), 28, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(riff)+36-8))
	b = binary.LittleEndian.AppendUint64(b, dataBytes)
	b = append(b, make([]byte, 12)...)

	return append(b, riff[12:]...)
}

// wave64File returns the samples of a WAV file as Wave64. number is in the field for the length of the data chunk, at
// byte 96: the length of the samples and 24.
func wave64File(w ingesttest.WAV, number uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte(wave64), uint64(104+len(w.Data)))
	b = append(b, "wave"+wave64Tail+"fmt "+wave64Tail...)
	b = le.AppendUint64(b, 24+16)
	b = append(b, w.Bytes()[20:36]...)
	b = append(b, "data"+wave64Tail...)
	b = le.AppendUint64(b, number)

	return append(b, w.Data...)
}

// TestWAVRefused checks the errors about wrong headers.
func TestWAVRefused(t *testing.T) {
	ok := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
	with := func(f func(*ingesttest.WAV)) []byte {
		s := ok
		f(&s)
		return s.Bytes()
	}

	wrongGUID := wave64File(ok, 36)
	wrongGUID[5]++

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
		{
			"zero channels", with(func(s *ingesttest.WAV) { s.Channels = 0 }),
			[]string{"byte 22: expected at least one channel, found 0"},
		},
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
		{"RIFX of another kind", []byte("RIFX\x00\x00\x00\x04AVI LIST"), []string{"byte 8", `"AVI "`}},
		{
			"RF64 without a length", rf64(ok, 0),
			[]string{"byte 28: the header does not know the length (0 bytes, ", "3 whole frames (to read"},
		},
		{"RF64 cut short", rf64(ok, 4000), []string{"byte 28: the header claims 1000 frames, there are 3", "truncated: use"}},
		{
			"RF64 with an impossible length", rf64(ok, 1<<63),
			[]string{"byte 28: expected a data size, found 9223372036854775808 bytes"},
		},
		{
			"Wave64 of another kind", bytes.Replace(wave64File(ok, 36), []byte("wave"), []byte("wavy"), 1),
			[]string{"byte 24", `"WAVY"`},
		},
		{"Wave64 with another GUID", wrongGUID, []string{"byte 0: expected the GUID of Wave64, found GUID 72696666"}},
		{
			"Wave64 without a length", wave64File(ok, 0),
			[]string{"byte 96: the header does not know the length (0 bytes, ", "3 whole frames (to read"},
		},
		{
			"Wave64 with less than a header", wave64File(ok, 23),
			[]string{"byte 96: expected a length of a chunk, which is at least 24 bytes, found 23"},
		},
		{"Wave64 cut short", wave64File(ok, 4024), []string{"byte 96: the header claims 1000 frames, there are 3"}},
		{"less than a frame", with(func(s *ingesttest.WAV) { s.Data = s.Data[:3] }), []string{"there are 0", "cut short"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Format.Open(ingesttest.Source(c.b), ingest.Options{})
			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}
}

// TestWAVTruncatedUsed reads files that are cut short, or whose writer stopped before it wrote the length, with
// Truncated "use": they give their whole frames and a warning.
func TestWAVTruncatedUsed(t *testing.T) {
	ok := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
	with := func(claim uint32, dataBytes int) []byte {
		s := ok
		s.Data = s.Data[:dataBytes]
		s.Claim = claim
		return s.Bytes()
	}

	for _, c := range []struct {
		name   string
		file   []byte
		frames int
		text   string
	}{
		{"short", with(4000, 12), 3, "claims 1000 frames, there are 3"},
		{"largest number", with(math.MaxUint32, 12), 3, "not know the length (4294967295 bytes"},
		{"largest number less a header", with(math.MaxUint32-36, 12), 3, "not know the length (4294967259 bytes"},
		{"sox", with(0x7FFFF000, 12), 3, "not know the length (2147479552 bytes"},
		{"arecord", with(0x7FFFFF00, 12), 3, "not know the length (2147483392 bytes"},
		{"3 GB cut short", with(3e9, 12), 3, "claims 750000000 frames, there are 3"},
		{"zero", with(0, 12), 3, "not know the length (0 bytes"},
		{"odd end", with(11, 11), 2, "3 bytes more"},
		{"short and odd", with(12, 11), 2, "claims 3 frames, there are 2"},
		{"RF64, zero", rf64(ok, 0), 3, "not know the length (0 bytes"},
		{"RF64, largest number", rf64(ok, math.MaxUint64), 3, "not know the length (18446744073709551615 bytes"},
		{"RF64, short", rf64(ok, 4000), 3, "claims 1000 frames, there are 3"},
		{"Wave64, zero", wave64File(ok, 0), 3, "not know the length (0 bytes"},
		{"Wave64, only the header", wave64File(ok, 24), 3, "not know the length (24 bytes"},
		{"Wave64, largest number", wave64File(ok, math.MaxInt64), 3, "not know the length (9223372036854775807 bytes"},
		{"Wave64, largest without a sign", wave64File(ok, math.MaxUint64), 3, "not know the length (18446744073709551615"},
		{"Wave64, short", wave64File(ok, 4024), 3, "claims 1000 frames, there are 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ingesttest.Open(t, Format, c.file, ingest.Options{Truncated: "use"})

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

// A recording without a length may begin with silence, which looks like many empty chunks.
func TestWAVSilenceWithoutLength(t *testing.T) {
	w := ingesttest.PCM16(1, make([]int16, 100000)...)
	w.Claim = 0

	for name, file := range map[string][]byte{"RIFF": w.Bytes(), "RF64": rf64(w, 0), "Wave64": wave64File(w, 0)} {
		r := ingesttest.Open(t, Format, file, ingest.Options{Truncated: "use"})
		assert.Equal(t, int64(100000), r.Info().Channels[0].Samples, "%s: samples", name)
	}
}

// Bytes behind the samples are chunks, or a warning names them: they may be samples whose length was not written.
func TestWAVBytesBehindSamples(t *testing.T) {
	list := "LIST\x04\x00\x00\x00INFO"
	for _, c := range []struct {
		name, after string
		warning     string // "": none
	}{
		{"nothing", "", ""},
		{"a chunk", list, ""},
		{"a chunk and a byte", list + "\x00", ""},
		{"silence", string(make([]byte, 100000)), "100000 bytes behind the samples, from byte 56 on, are not read"},
		{"samples", "\x07\x00\x08\x00\x09\x00\x0a\x00", "8 bytes behind the samples, from byte 56 on, are not read"},
		{"a chunk and samples", list + "\x07\x00\x08\x00\x09\x00\x0a\x00", "8 bytes behind the samples, from byte 68 on"},
	} {
		w := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
		w.After = []byte(c.after)

		info := ingesttest.Open(t, Format, w.Bytes(), ingest.Options{}).Info()
		assert.Equal(t, int64(3), info.Channels[0].Samples, "%s: samples", c.name)

		if c.warning == "" {
			assert.Empty(t, info.Warnings, c.name)
			continue
		}

		require.Len(t, info.Warnings, 1, c.name)
		assert.Equal(t, "extra-data", info.Warnings[0].Code, c.name)
		assert.Contains(t, info.Warnings[0].Text, c.warning, c.name)
	}
}

// Encodings that are not read, and a file that sox wrote into a pipe, which states 2 GiB.
func TestWAVFilesRefused(t *testing.T) {
	for file, want := range map[string]string{
		"sox_pipe.wav":  "does not know the length (2147479552 bytes",
		"sox_alaw.wav":  "A-law",
		"sox_adpcm.wav": "Microsoft ADPCM",
	} {
		r, err := openFile(t, file)
		ingesttest.WantDataError(t, r, err, want)
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
}

func TestWAVRate(t *testing.T) {
	b := ingesttest.PCM16(1, 1, 2).Bytes()
	r := ingesttest.Open(t, Format, b, ingest.Options{RateHz: 1000})
	assert.Equal(t, 1000.0, r.Info().Channels[0].RateHz)

	r, err := Format.Open(ingesttest.Source(b), ingest.Options{RateHz: 999})
	ingesttest.WantDataError(t, r, err, "expected a rate of 999 Hz as configured, found 1000 Hz")
}
