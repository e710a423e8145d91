package format

import (
	"bytes"
	"os"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// Expected texts follow from the bytes changed here; the positions are those of
// the formats' definitions. The files are as testdata/make_sound.py wrote them.
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
		{"sox.aiff", cut(20), `byte 12: expected a "COMM" chunk`},
		{"sox.aiff", cut(200), "the header claims 37 frames, there are 18"},
		{"sox.aiff", put(46, "XXXX"), `expected a "COMM" chunk`},
		{"sox.aiff", put(54, "\x00\x00"), "byte 54: expected at least one channel, found 0"},
		{"sox.aiff", put(60, "\x00\x21"), "byte 60: expected 1 to 32 bits per sample, found 33"},
		{"sox.aiff", put(62, "\x00\x00\x00\x00\x00"), "byte 62: expected a sampling rate above 0 Hz"},
		{"sox.aiff", put(56, "\x00\x00\x00\x26"), "byte 56: the header claims 38 frames, there are 37"},
		{"sox.aiff", put(80, "\x7f\x00"), "expected the first sample in a chunk of 230 bytes"},
		{"sox.aifc", put(50, "ima4"), `byte 50: expected PCM or IEEE float samples, found compression "ima4" (IMA ADPCM)`},
		{"sox_pipe.aiff", put(0, ""), "the placeholder of a streaming writer; there are 37 whole frames"},
		{"sox.au", cut(23), "byte 23: expected 24 bytes of header"},
		{"sox.au", cut(100), "byte 8: the header claims 37 frames, there are 9"},
		{"sox.au", put(4, "\x00\x01\x00\x00"), "byte 4: expected the first sample in a file of 266 bytes, found byte 65536"},
		{"sox.au", put(20, "\x00\x00\x00\x00"), "byte 20: expected 1 to 65535 channels, found 0"},
		{"ulaw.au", put(0, ""), "byte 12: expected PCM or IEEE float samples, found encoding 1 (µ-law)"},
		{"sf_pcm_16_big.caf", cut(40), "byte 40: expected 32 bytes of header"},
		{"sf_pcm_16_big.caf", cut(4200), "the header claims 37 frames, there are 17"},
		{
			"sf_pcm_16_big.caf", put(36, "\x00\x00\x00\x08"),
			"expected packets of 6 bytes and 1 frame (3 channels of 16 bits), found 8",
		},
		{"sf_pcm_16_big.caf", put(48, "\x00\x00\x00\x40"), "byte 48: expected 1 to 32 bits per sample, found 64"},
		{"sf_pcm_16_big.caf", put(8, "xxxx"), `expected a "desc" chunk`},
		{"ulaw.caf", put(0, ""), `byte 28: expected PCM or IEEE float samples, found format "ulaw" (µ-law)`},
		{"sox.w64", cut(90), `expected a "data" chunk`},
		{"sox.w64", cut(200), "the header claims 37 frames, there are"},
		{"sox_pipe.w64", put(0, ""), "expected a chunk's length, found -1"},
		{"sox.w64", put(24, "xxxx"), `byte 24: expected "WAVE"`},
	} {
		b, err := os.ReadFile("testdata/sound/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := openBytes(c.change(bytes.Clone(b)), ingest.Options{})
		t.Log(c.name, err)
		ingesttest.WantDataError(t, r, err, c.want)
	}
}

// With truncated: use the whole frames of a file that is cut short are read, and
// those of a writer into a pipe: the same as of the file that is whole.
func TestSoundTruncated(t *testing.T) {
	for _, c := range []struct {
		name, whole string
		size        int
	}{
		{"sox.aiff", "sox.aiff", 200},
		{"sox_pipe.aiff", "sox_pipe.au", 0}, // the same 16 bits
		{"sox.au", "sox.au", 100},
		{"sf_pcm_16_big.caf", "sf_pcm_16_big.caf", 4200},
		{"sox.w64", "sox.w64", 200},
	} {
		b, err := os.ReadFile("testdata/sound/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		if c.size > 0 {
			b = b[:c.size]
		}
		r, err := openBytes(b, ingest.Options{Truncated: "use"})
		if err != nil {
			t.Fatal(err)
		}
		w, err := Open("testdata/sound/"+c.whole, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, n := ingesttest.ReadAll(t, w), r.Info().Channels[0].Samples
		if ingesttest.Codes(r.Info().Warnings) != "truncated" || n < 5 || n == 37 != (c.size == 0) {
			t.Errorf("%s: %d samples, %v", c.name, n, r.Info().Warnings)
		}
		for i, x := range ingesttest.ReadAll(t, r) {
			ingesttest.Equal(t, x, want[i][:n])
		}
		_ = w.Close()
	}
}
