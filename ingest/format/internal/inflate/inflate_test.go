package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/iotest"
)

// inputs are data that make every kind of block and copy.
func inputs() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 120_000)
	words := make([]byte, 0, 200_000)
	skew := make([]byte, 100_000)

	for i := range noise {
		noise[i] = byte(r.Uint32())
	}

	for len(words) < 190_000 {
		words = append(words, fmt.Sprintf("%d,%.3f\n", len(words), r.NormFloat64())...)
		if r.IntN(10) == 0 && len(words) > 40_000 {
			at := len(words) - 1 - r.IntN(33_000)
			words = append(words, words[at:min(at+r.IntN(300), len(words))]...)
		}
	}

	for i := range skew { // few symbols often, many rarely: long codes
		skew[i] = byte(min(255, int(r.ExpFloat64()*r.ExpFloat64()*3)))
	}

	m := map[string][]byte{
		"empty": {}, "one": {7}, "noise": noise, "words": words, "skew": skew, "zeros": make([]byte, 300_000),
		"mixed": append(append(append([]byte{}, noise[:70_000]...), words...), make([]byte, 1000)...),
	}

	for _, period := range []int{2, 3, 5, 7, 8, 9, 15, 300, 32767, 32768} {
		m[fmt.Sprint("period ", period)] = bytes.Repeat(noise[:period], 1+100_000/period)
	}

	return m
}

func compress(t testing.TB, level int, x []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, level)
	if err != nil {
		t.Fatal(err)
	}

	for i := 0; i < len(x); i += 50_000 {
		w.Write(x[i:min(len(x), i+50_000)])
		if i == 100_000 {
			w.Flush() // an empty stored block in between
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return z.Bytes()
}

// TestRoundTrip decompresses what compress/flate wrote at every level, from
// sources that give much, one byte at a time, and the end with the last bytes.
func TestRoundTrip(t *testing.T) {
	for name, x := range inputs() {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			z := compress(t, level, x)
			r := NewReader(nil)

			slow := iotest.OneByteReader(bytes.NewReader(z))
			if level != 6 {
				slow = bytes.NewReader(z)
			}

			for i, src := range []io.Reader{
				bytes.NewReader(z), slow, iotest.DataErrReader(bytes.NewReader(z)),
				bytes.NewReader(append(z[:len(z):len(z)], "something else that follows"...)),
			} {
				r.Reset(src)

				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, x) {
					t.Fatalf("%s, level %d, source %d: %d of %d bytes, %v", name, level, i, len(got), len(x), err)
				}
			}
		}
	}
}

// TestZlib: header and checksum.
func TestZlib(t *testing.T) {
	x := inputs()["words"]
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(x)
	w.Close()

	b := z.Bytes()
	if got, err := io.ReadAll(NewZlibReader(bytes.NewReader(b))); err != nil || !bytes.Equal(got, x) {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"checksum", append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1), ErrChecksum},
		{"no checksum", b[:len(b)-4], io.ErrUnexpectedEOF},
		{"cut", b[:len(b)/2], io.ErrUnexpectedEOF},
		{"empty", nil, io.ErrUnexpectedEOF},
		{"header", append([]byte{0x78, 0x9d}, b[2:]...), ErrHeader},
		{"dictionary", append([]byte{0x78, 0xbb}, b[2:]...), ErrHeader},
		{"text", []byte("1,2,3\n"), ErrHeader},
	} {
		if _, err := io.ReadAll(NewZlibReader(bytes.NewReader(c.b))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}

	if _, err := io.ReadAll(NewZlibReader(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(b))))); !errors.Is(err,
		iotest.ErrTimeout) {
		t.Errorf("an error of the source: %v", err)
	}
}

// TestCut: a stream cut anywhere gives a prefix of the data and
// io.ErrUnexpectedEOF, as compress/flate does.
func TestCut(t *testing.T) {
	x := inputs()["words"][:3000]
	for _, level := range []int{flate.HuffmanOnly, 0, 1, 9} {
		z := compress(t, level, x)
		for cut := range z {
			got, err := io.ReadAll(NewReader(bytes.NewReader(z[:cut])))
			if err != io.ErrUnexpectedEOF || !bytes.HasPrefix(x, got) {
				t.Fatalf("level %d, cut at %d of %d: %d bytes, %v", level, cut, len(z), len(got), err)
			}
		}
	}
}

// buffered is the most that may be delivered before damage is found.
const buffered = 64 << 10

// same compares with compress/flate: the same bytes where it reads the stream,
// an error where it finds one. Before damage it may have delivered up to a buffer
// more.
func same(t *testing.T, z []byte) {
	t.Helper()
	const most = 1 << 20
	peer := flate.NewReader(bytes.NewReader(z))
	want, wantErr := io.ReadAll(io.LimitReader(peer, most))

	got, err := io.ReadAll(io.LimitReader(NewReader(bytes.NewReader(z)), most))
	if err != nil && wantErr == nil && len(want) == most {
		_, wantErr = io.Copy(io.Discard, io.LimitReader(peer, buffered))
	}

	if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v; compress/flate: %d bytes, %v\n%x", len(got), err, len(want), wantErr, z)
	}

	if k := min(len(got), len(want)); !bytes.Equal(got[:k], want[:k]) {
		t.Fatalf("other bytes than compress/flate before the damage\n%x", z)
	}
}

// TestDamaged changes bits of streams and compares with compress/flate.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))

	all := inputs()
	for _, name := range []string{"words", "skew", "period 3", "mixed"} {
		for _, level := range []int{flate.HuffmanOnly, 1, 9} {
			z := compress(t, level, all[name][:5000])
			for range 300 {
				b := bytes.Clone(z)
				for range 1 + r.IntN(3) {
					b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				}

				same(t, b)
			}
		}
	}
}

// mostAllocated bounds what decompressing allocates, whatever the input: the
// state with its window, and tables of codes for each block that has its own.
const mostAllocated = 1 << 20

func FuzzInflate(f *testing.F) {
	all := inputs()
	for _, name := range []string{"words", "skew", "period 7", "noise"} {
		for _, level := range []int{flate.HuffmanOnly, 0, 1, 9} {
			f.Add(compress(f, level, all[name][:1000]))
		}
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 1<<16 {
			return
		}

		same(t, b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = io.Copy(io.Discard, io.LimitReader(NewReader(bytes.NewReader(b)), 1<<20))
		runtime.ReadMemStats(&after)

		if used := after.TotalAlloc - before.TotalAlloc; used > mostAllocated {
			t.Fatalf("%d bytes of input allocated %d", len(b), used)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	x := inputs()["words"]
	z := compress(b, 6, x)
	buf := make([]byte, 1<<16)
	b.Run("klauspost", func(b *testing.B) {
		b.SetBytes(int64(len(x)))

		r := NewReader(nil)
		for b.Loop() {
			r.Reset(bytes.NewReader(z))

			for {
				if _, err := r.Read(buf); err != nil {
					break
				}
			}
		}
	})

	b.Run("compress-flate", func(b *testing.B) {
		b.SetBytes(int64(len(x)))

		r := flate.NewReader(nil)
		for b.Loop() {
			r.(flate.Resetter).Reset(bytes.NewReader(z), nil)

			for {
				if _, err := r.Read(buf); err != nil {
					break
				}
			}
		}
	})
}
