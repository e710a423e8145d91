package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wavSpec builds a WAV file by the format's definition, right or wrong.
type wavSpec struct {
	tag, channels, align, bits int
	rate                       uint32
	data                       []byte
	claim                      uint32 // size in the data chunk's header
	riff                       uint32
	before, after              []byte // chunks around the data
}

func pcm16(channels int, x ...int16) wavSpec {
	var b bytes.Buffer
	for _, v := range x {
		binary.Write(&b, binary.LittleEndian, v)
	}
	return wavSpec{tag: 1, channels: channels, align: 2 * channels, bits: 16, rate: 1000, data: b.Bytes(), claim: uint32(b.Len())}
}

func (s wavSpec) bytes() []byte {
	var b bytes.Buffer
	le := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("RIFF")
	le(s.riff)
	b.WriteString("WAVEfmt ")
	le(uint32(16))
	le(uint16(s.tag))
	le(uint16(s.channels))
	le(s.rate)
	le(s.rate * uint32(s.align))
	le(uint16(s.align))
	le(uint16(s.bits))
	b.Write(s.before)
	b.WriteString("data")
	le(s.claim)
	b.Write(s.data)
	b.Write(s.after)
	return b.Bytes()
}

func openBytes(b []byte, o Options) (Reader, error) {
	return openReader("x", bytes.NewReader(b), int64(len(b)), nil, o)
}

// TestWAVRefused: expected texts follow from the bytes written here.
func TestWAVRefused(t *testing.T) {
	ok := pcm16(2, 1, 2, 3, 4, 5, 6)
	with := func(f func(*wavSpec)) []byte {
		s := ok
		f(&s)
		return s.bytes()
	}
	whole := ok.bytes()
	for _, c := range []struct {
		name string
		b    []byte
		want []string
	}{
		{"empty file", nil, []string{"x: expected a recording, found an empty file"}},
		{"truncated RIFF header", whole[:7], []string{"byte 7", "the end of the file"}},
		{"truncated fmt", whole[:30], []string{"byte 20", "cut short"}},
		{"no fmt", append(append([]byte(nil), whole[:12]...), whole[36:]...), []string{`expected a "fmt " chunk`}},
		{"no data", whole[:36], []string{"byte 36", `expected a "data" chunk`}},
		{"only RIFF", whole[:12], []string{`expected a "fmt " chunk`}},
		{"RIFF of another kind", []byte("RIFF\x04\x00\x00\x00AVI LIST"), []string{"byte 8", `"AVI "`}},
		{"zero channels", with(func(s *wavSpec) { s.channels = 0 }), []string{"byte 22", "at least one channel", "0"}},
		{"zero rate", with(func(s *wavSpec) { s.rate = 0 }), []string{"byte 24", "sampling rate"}},
		{"block align contradicts", with(func(s *wavSpec) { s.align = 3 }), []string{"byte 32", "expected 4 bytes per frame (2 channels of 16 bits), found 3"}},
		{"zero bits", with(func(s *wavSpec) { s.bits = 0 }), []string{"byte 34", "1 to 32 bits"}},
		{"A-law", with(func(s *wavSpec) { s.tag = 6 }), []string{"byte 20", "A-law", "convert"}},
		{"ADPCM", with(func(s *wavSpec) { s.tag = 2 }), []string{"Microsoft ADPCM"}},
		{"unknown tag", with(func(s *wavSpec) { s.tag = 0x4242 }), []string{"0x4242 (unknown)"}},
		{"float of 16 bits", with(func(s *wavSpec) { s.tag = 3 }), []string{"32 or 64 bits per float sample, found 16"}},
		{"data shorter than claimed", with(func(s *wavSpec) { s.claim = 4000 }), []string{"byte 40", "claims 1000 frames, there are 3", "truncated: use"}},
		{"2^32-1", with(func(s *wavSpec) { s.claim = math.MaxUint32 }), []string{"4294967295 bytes, the placeholder of a streaming writer; there are 3 whole frames"}},
		{"0 with data following", with(func(s *wavSpec) { s.claim = 0 }), []string{"claims no data, the placeholder", "3 whole frames"}},
		{"not whole frames", with(func(s *wavSpec) { s.data = s.data[:11]; s.claim = 11 }), []string{"11 bytes of data are 2 frames of 4 bytes and 3 bytes more"}},
		{"empty data", with(func(s *wavSpec) { s.data = nil; s.claim = 0 }), []string{"no samples"}},
		{"empty data and a chunk", with(func(s *wavSpec) { s.data = nil; s.claim = 0; s.after = []byte("LIST\x04\x00\x00\x00INFO") }), []string{"no samples"}},
		{"less than a frame", with(func(s *wavSpec) { s.data = s.data[:3] }), []string{"there are 0", "no samples"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openBytes(c.b, Options{Format: map[bool]string{true: "wav"}[len(c.b) > 0]})
			wantDataError(t, r, err, c.want...)
		})
	}
}

// wantDataError fails unless err is a *DataError that says all of want.
func wantDataError(t *testing.T, got any, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, but %v", got)
	}
	var de *DataError
	if !errors.As(err, &de) {
		t.Fatalf("%T is no *DataError: %v", err, err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is missing in: %v", w, err)
		}
	}
}

// TestWAVTruncatedUsed: with Truncated "use" the same files give the whole
// frames there are, and a warning.
func TestWAVTruncatedUsed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*wavSpec)
		frames int
		text   string
	}{
		{"short", func(s *wavSpec) { s.claim = 4000 }, 3, "claims 1000 frames, there are 3"},
		{"placeholder", func(s *wavSpec) { s.claim = math.MaxUint32 }, 3, "placeholder of a streaming writer"},
		{"sox's placeholder", func(s *wavSpec) { s.claim = 0x7FFFF000 }, 3, "placeholder of a streaming writer"},
		{"zero", func(s *wavSpec) { s.claim = 0 }, 3, "placeholder of a writer that could not finish"},
		{"odd end", func(s *wavSpec) { s.data = s.data[:11]; s.claim = 11 }, 2, "3 bytes more"},
		{"short and odd", func(s *wavSpec) { s.data = s.data[:11] }, 2, "claims 3 frames, there are 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pcm16(2, 1, 2, 3, 4, 5, 6)
			c.change(&s)
			r, err := openBytes(s.bytes(), Options{Truncated: "use"})
			if err != nil {
				t.Fatal(err)
			}
			w := r.Info().Warnings
			if len(w) != 1 || w[0].Code != "truncated" || !strings.Contains(w[0].Text, c.text) {
				t.Errorf("warnings %v", w)
			}
			x := readAll(t, r)
			equal(t, x[0], []float64{1. / 32768, 3. / 32768, 5. / 32768}[:c.frames])
			equal(t, x[1], []float64{2. / 32768, 4. / 32768, 6. / 32768}[:c.frames])
		})
	}
}

func TestWAVAttributes(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		// Written into the files by make_truth.py.
		{"odd_chunks.wav", "[{description balance run} {title rotor 3} {comment mic 5 odd}]"},
		{"rf64.wav", "[{title rotor 3} {comment mic 5 odd}]"},
	} {
		r, err := Open("testdata/truth/"+c.file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Info().Attributes); got != c.want {
			t.Errorf("%s: attributes %s, want %s", c.file, got, c.want)
		}
		r.Close()
	}
	// What sox writes into a pipe claims 2 GiB.
	r, err := Open("testdata/truth/sox_pipe.wav", Options{})
	wantDataError(t, r, err, "placeholder of a streaming writer; there are 37 whole frames")
	for file, name := range map[string]string{"sox_alaw.wav": "A-law", "sox_adpcm.wav": "Microsoft ADPCM"} {
		r, err := Open("testdata/truth/"+file, Options{})
		wantDataError(t, r, err, name)
	}
}

func TestWAVRate(t *testing.T) {
	b := pcm16(1, 1, 2).bytes()
	if _, err := openBytes(b, Options{RateHz: 1000}); err != nil {
		t.Error(err)
	}
	r, err := openBytes(b, Options{RateHz: 999})
	wantDataError(t, r, err, "expected a rate of 999 Hz as configured, found 1000 Hz")
}

// TestWAVRoundTrip: integers of any width, any channel count, any chunks
// around them come back as value/2^(bits−1).
func TestWAVRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(rt, "bytes")
		channels := rapid.IntRange(1, 9).Draw(rt, "channels")
		frames := rapid.IntRange(1, 50).Draw(rt, "frames")
		s := wavSpec{tag: 1, channels: channels, align: channels * width, bits: 8 * width, rate: rapid.Uint32Range(1, 1<<20).Draw(rt, "rate")}
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
				s.data = append(s.data, b[:width]...)
			}
		}
		s.claim = uint32(len(s.data))
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
		s.before, s.after = junk("before"), junk("after")
		if len(s.data)&1 == 1 {
			s.after = append([]byte{0}, s.after...)
		}
		r, err := openBytes(s.bytes(), Options{})
		if err != nil {
			rt.Fatal(err)
		}
		for c, x := range readAll(t, r) {
			equal(t, x, want[c])
		}
		if r.Info().Channels[0].RateHz != float64(s.rate) {
			rt.Fatal("rate")
		}
	})
}

func TestForeignFormats(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"fLaC\x00\x00\x00\x22", "FLAC not supported yet"},
		{"OggS\x00\x02", "Ogg not supported yet"},
		{"ID3\x04\x00", "MP3 not supported yet"},
		{"\xff\xfb\x90\x44", "MP3 not supported yet"},
		{"FORM\x00\x00\x00\x2eAIFF", "AIFF not supported yet"},
		{"\xff\xfe1\x00,\x002\x00", "UTF-16"},
		{"\x01\x02\x03\x04", "binary data of unknown format"},
	} {
		r, err := openBytes([]byte(c.head), Options{})
		wantDataError(t, r, err, c.want)
	}
	// Letters that begin a magic may begin a text as well.
	for _, s := range []string{"PAR1,PAR2\n1,2\n", "FORM,b\n1,2\n", "ID3,b\n1,2\n"} {
		if _, err := openBytes([]byte(s), Options{}); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run_12.wav"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open(filepath.Join(dir, "run_21.wav"), Options{})
	wantDataError(t, r, err, "no such file", `there is "run_12.wav"`)
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("not fs.ErrNotExist")
	}
	r, err = Open(dir, Options{})
	wantDataError(t, r, err, "a directory")
	empty := filepath.Join(dir, "empty.wav")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = Open(empty, Options{})
	wantDataError(t, r, err, "empty")
	for _, o := range []Options{{Format: "flac"}, {Truncated: "yes"}, {RateHz: -1}, {RateHz: math.NaN()}, {Text: TextOptions{Delimiter: "|"}}} {
		if _, err := Open(empty, o); err == nil || errors.As(err, new(*DataError)) {
			t.Errorf("%+v: %v is to be an error of the configuration", o, err)
		}
	}
}

func TestReadMisusePanics(t *testing.T) {
	r, err := openBytes(pcm16(1, 1, 2, 3).bytes(), Options{})
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

// drain reads a file a fuzz test made: no panic, no hang, and never more
// samples than bytes.
func drain(t *testing.T, b []byte, o Options) {
	r, err := openReader("x", bytes.NewReader(b), int64(len(b)), nil, o)
	if err != nil {
		var de *DataError
		if !errors.As(err, &de) {
			t.Fatalf("%T is no *DataError: %v", err, err)
		}
		return
	}
	info := r.Info()
	if len(info.Channels) == 0 {
		t.Fatal("no channels and no error")
	}
	total := int64(0)
	for _, c := range info.Channels {
		if c.Samples <= 0 {
			t.Fatalf("%d samples", c.Samples)
		}
		total += c.Samples
	}
	if total > int64(len(b)) {
		t.Fatalf("%d samples in %d bytes", total, len(b))
	}
	chans := make([]int, len(info.Channels))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c], dst[c] = c, make([]float64, info.Channels[0].Samples)
	}
	n, err := r.Read(chans, 0, dst)
	if err != nil {
		return
	}
	if int64(n) != info.Channels[0].Samples {
		t.Fatalf("%d samples read of %d", n, info.Channels[0].Samples)
	}
	// Any part read again is the same.
	k := n / 2
	again := [][]float64{make([]float64, n-k)}
	if _, err := r.Read([]int{0}, int64(k), again); err != nil {
		t.Fatal(err)
	}
	equal(t, again[0], dst[0][k:])
}

// bounded fails the test if do allocates more, given back or not, than base bytes
// and times the length of its input.
func bounded(t *testing.T, input []byte, base, times int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(base+times*len(input)) {
		t.Fatalf("%d bytes of input allocated %d, expected at most %d and %d times as much", len(input), used, base, times)
	}
}

// drainBase and drainTimes bound what opening and reading all of a WAV, NPY or
// text file allocates, 8 bytes of each sample by the test among it.
const (
	drainBase  = 1 << 20
	drainTimes = 64
)

func FuzzWAV(f *testing.F) {
	for _, s := range []wavSpec{pcm16(1, 1, 2, 3), pcm16(2, 1, 2, 3, 4)} {
		f.Add(s.bytes())
		s.claim = math.MaxUint32
		f.Add(s.bytes())
	}
	for _, n := range []string{"rf64.wav", "odd_chunks.wav", "sox_i24_4ch.wav", "sox_i16_rifx_4ch.wav", "scipy_f64.wav", "sox_pipe.wav"} {
		b, err := os.ReadFile("testdata/truth/" + n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bounded(t, b, drainBase, drainTimes, func() { drain(t, b, Options{Format: "wav"}) })
		bounded(t, b, drainBase, drainTimes, func() { drain(t, b, Options{Format: "wav", Truncated: "use"}) })
	})
}
