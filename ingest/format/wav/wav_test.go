package wav

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

func openBytes(b []byte, o ingest.Options) (ingest.Reader, error) {
	return Format.Open(ingesttest.Source(b), o)
}

// openFile opens a file of the truth matrix.
func openFile(t *testing.T, name string) (ingest.Reader, error) {
	t.Helper()

	src, err := ingest.OpenSource("../testdata/truth/" + name)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { src.Close() })

	return Format.Open(src, ingest.Options{})
}

// The file that hound's tests read as −96, 23052, 8388607, −8360672: 24 bits in the
// lower three of 4 bytes, as arecord -f S24_LE writes them. Left-justified samples are
// read: pcm24in32.wav of TestConventions.
func TestLowerBytes(t *testing.T) {
	var b []byte
	for _, v := range []int32{-96, 23052, 8388607, -8360672} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}

	w := ingesttest.WAV{Tag: 1, Channels: 2, Align: 8, Bits: 24, Rate: 48000, Data: b, Claim: 16}
	r, err := openBytes(w.Bytes(), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "byte 44: expected a padding byte of 0", "found 160", "arecord -f S24_3LE")

	// Where a recording begins with silence, the samples behind it tell.
	w.Data = append(make([]byte, 1<<20), bytes.Repeat(b, 1<<16)...)
	w.Claim = uint32(len(w.Data))
	r, err = openBytes(w.Bytes(), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "expected a padding byte of 0")
}

// TestWAVRefused: expected texts follow from the bytes written here.
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
			[]string{"4294967295 bytes, the placeholder of a streaming writer; there are 3 whole frames"},
		},
		{
			"0 with data following", with(func(s *ingesttest.WAV) { s.Claim = 0 }),
			[]string{"claims no data, the placeholder", "3 whole frames"},
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
		{"less than a frame", with(func(s *ingesttest.WAV) { s.Data = s.Data[:3] }), []string{"there are 0", "no samples"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openBytes(c.b, ingest.Options{})
			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}
}

// TestWAVTruncatedUsed: with Truncated "use" the same files give the whole
// frames there are, and a warning.
func TestWAVTruncatedUsed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ingesttest.WAV)
		frames int
		text   string
	}{
		{"short", func(s *ingesttest.WAV) { s.Claim = 4000 }, 3, "claims 1000 frames, there are 3"},
		{"placeholder", func(s *ingesttest.WAV) { s.Claim = math.MaxUint32 }, 3, "placeholder of a streaming writer"},
		{"sox's placeholder", func(s *ingesttest.WAV) { s.Claim = 0x7FFFF000 }, 3, "placeholder of a streaming writer"},
		{"zero", func(s *ingesttest.WAV) { s.Claim = 0 }, 3, "placeholder of a writer that could not finish"},
		{"odd end", func(s *ingesttest.WAV) { s.Data = s.Data[:11]; s.Claim = 11 }, 2, "3 bytes more"},
		{"short and odd", func(s *ingesttest.WAV) { s.Data = s.Data[:11] }, 2, "claims 3 frames, there are 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ingesttest.PCM16(2, 1, 2, 3, 4, 5, 6)
			c.change(&s)

			r, err := openBytes(s.Bytes(), ingest.Options{Truncated: "use"})
			if err != nil {
				t.Fatal(err)
			}

			w := r.Info().Warnings
			if len(w) != 1 || w[0].Code != "truncated" || !strings.Contains(w[0].Text, c.text) {
				t.Errorf("warnings %v", w)
			}

			x := ingesttest.ReadAll(t, r)
			ingesttest.Equal(t, x[0], []float64{1. / 32768, 3. / 32768, 5. / 32768}[:c.frames])
			ingesttest.Equal(t, x[1], []float64{2. / 32768, 4. / 32768, 6. / 32768}[:c.frames])
		})
	}
}

func TestWAVAttributes(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		// Written into the files by make_truth.py.
		{"odd_chunks.wav", "[{description balance run} {title rotor 3} {comment mic 5 odd}]"},
		{"rf64.wav", "[{title rotor 3} {comment mic 5 odd}]"},
	} {
		r, err := openFile(t, c.file)
		if err != nil {
			t.Fatal(err)
		}

		if got := fmt.Sprint(r.Info().Attributes); got != c.want {
			t.Errorf("%s: attributes %s, want %s", c.file, got, c.want)
		}

		r.Close()
	}

	// What sox writes into a pipe claims 2 GiB.
	r, err := openFile(t, "sox_pipe.wav")
	ingesttest.WantDataError(t, r, err, "placeholder of a streaming writer; there are 37 whole frames")

	for file, name := range map[string]string{"sox_alaw.wav": "A-law", "sox_adpcm.wav": "Microsoft ADPCM"} {
		r, err := openFile(t, file)
		ingesttest.WantDataError(t, r, err, name)
	}
}

func TestWAVRate(t *testing.T) {
	b := ingesttest.PCM16(1, 1, 2).Bytes()
	if _, err := openBytes(b, ingest.Options{RateHz: 1000}); err != nil {
		t.Error(err)
	}

	r, err := openBytes(b, ingest.Options{RateHz: 999})
	ingesttest.WantDataError(t, r, err, "expected a rate of 999 Hz as configured, found 1000 Hz")
}

// TestWAVRoundTrip: integers of any width, any channel count, any chunks
// around them come back as value/2^(bits−1).
func TestWAVRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(rt, "bytes")
		channels := rapid.IntRange(1, 9).Draw(rt, "channels")
		frames := rapid.IntRange(1, 50).Draw(rt, "frames")
		s := ingesttest.WAV{
			Tag: 1, Channels: channels, Align: channels * width, Bits: 8 * width,
			Rate: rapid.Uint32Range(1, 1<<20).Draw(rt, "rate"),
		}

		want := make([][]float64, channels)
		for range frames {
			for c := range channels {
				lim := int64(1) << (8*width - 1)
				v := rapid.Int64Range(-lim, lim-1).Draw(rt, "v")
				want[c] = append(want[c], float64(v)/float64(lim))

				u := uint32(v)
				if width == 1 {
					u = uint32(v + 128)
				}

				var b [4]byte
				binary.LittleEndian.PutUint32(b[:], u)
				s.Data = append(s.Data, b[:width]...)
			}
		}

		s.Claim = uint32(len(s.Data))
		junk := func(label string) []byte {
			var out []byte
			for range rapid.IntRange(0, 3).Draw(rt, label) {
				body := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(rt, "body")
				out = append(out, "junk"...)
				out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
				out = append(out, body...)
				out = append(out, make([]byte, len(body)&1)...)
			}

			return out
		}

		s.Before, s.After = junk("before"), junk("after")
		if len(s.Data)&1 == 1 {
			s.After = append([]byte{0}, s.After...)
		}

		r, err := openBytes(s.Bytes(), ingest.Options{})
		if err != nil {
			rt.Fatal(err)
		}

		for c, x := range ingesttest.ReadAll(t, r) {
			ingesttest.Equal(t, x, want[c])
		}

		if r.Info().Channels[0].RateHz != float64(s.Rate) {
			rt.Fatal("rate")
		}
	})
}

func TestReadMisusePanics(t *testing.T) {
	r, err := openBytes(ingesttest.PCM16(1, 1, 2, 3).Bytes(), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for name, f := range map[string]func(){
		"counts":   func() { r.Read([]int{0}, 0, nil) },
		"channel":  func() { r.Read([]int{1}, 0, [][]float64{{0}}) },
		"negative": func() { r.Read([]int{0}, -1, [][]float64{{0}}) },
		"lengths":  func() { r.Read([]int{0, 0}, 0, [][]float64{{0}, {0, 0}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()

			f()
		}()
	}
}

func FuzzWAV(f *testing.F) {
	for _, s := range []ingesttest.WAV{ingesttest.PCM16(1, 1, 2, 3), ingesttest.PCM16(2, 1, 2, 3, 4)} {
		f.Add(s.Bytes())
		s.Claim = math.MaxUint32
		f.Add(s.Bytes())
	}

	for _, n := range []string{
		"rf64.wav", "odd_chunks.wav", "sox_i24_4ch.wav", "sox_i16_rifx_4ch.wav", "scipy_f64.wav",
		"sox_pipe.wav",
	} {
		b, err := os.ReadFile("../testdata/truth/" + n)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		ingesttest.Drain(t, Format, b, ingest.Options{}, 1)
		ingesttest.Drain(t, Format, b, ingest.Options{Truncated: "use"}, 1)
	})
}
