package hdf5

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// samples draws bytes of the kinds compressors treat differently: noise, runs,
// few symbols, repetitions from far back.
func samples(t *rapid.T) []byte {
	n := rapid.IntRange(0, 70000).Draw(t, "n")
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	x := rapid.Uint32().Draw(t, "seed") | 1
	b := make([]byte, n)
	period := 1 + int(x%40000)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		switch {
		case kind == 0:
			b[i] = byte(x)
		case kind == 1:
			b[i] = byte(i / 300)
		case kind == 2:
			b[i] = byte(x) & 3
		case kind == 3 && i >= period:
			b[i] = b[i-period]
		case kind == 4: // codes of very different lengths
			b[i] = byte(x) & byte(x>>8) & byte(x>>16)
		default:
			b[i] = byte(x) & 15
		}
	}
	return b
}

func deflated(b []byte, level int) []byte {
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, level)
	if err != nil {
		panic(err)
	}
	w.Write(b)
	w.Close()
	return z.Bytes()
}

// TestInflate expands what compress/zlib compressed, at every level.
func TestInflate(t *testing.T) {
	var f inflater
	rapid.Check(t, func(t *rapid.T) {
		b := samples(t)
		z := deflated(b, rapid.IntRange(flate.HuffmanOnly, 9).Draw(t, "level"))
		out := make([]byte, len(b))
		if err := f.zlib(out, z); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, b) {
			t.Fatal("expanded to other bytes")
		}
		if err := f.zlib(make([]byte, len(b)+1), z); err == nil {
			t.Fatal("one byte more came out of nowhere")
		}
		if len(b) > 0 {
			if err := f.zlib(out[1:], z); err == nil {
				t.Fatal("one byte went missing")
			}
		}
		if err := f.zlib(out, z[:rapid.IntRange(0, len(z)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("expanded what is cut off")
		}
	})
}

// agree has the inflater and compress/flate expand the same bytes, which need
// not be right, and compares.
func agree(t rapid.TB, f *inflater, z []byte) {
	t.Helper()
	const most = 1 << 17
	r := bytes.NewReader(z) // a ByteReader, of which flate takes no more than it needs
	want, err := io.ReadAll(io.LimitReader(flate.NewReader(r), most+1))
	if len(want) > most {
		return
	}
	out := make([]byte, len(want))
	n, got := f.inflate(out, z)
	if err == nil {
		if got != nil || !bytes.Equal(out, want) {
			t.Fatalf("%v where compress/flate expands to %d bytes; input %x", got, len(want), z)
		}
		if n != len(z)-r.Len() {
			t.Fatalf("%d bytes taken, compress/flate took %d", n, len(z)-r.Len())
		}
	} else if got == nil {
		t.Fatalf("expanded where compress/flate says %v; input %x", err, z)
	}
}

// TestInflateDamaged changes bytes of streams; compress/flate says what they
// mean then.
func TestInflateDamaged(t *testing.T) {
	var f inflater
	rapid.Check(t, func(t *rapid.T) {
		b := samples(t)
		b = b[:min(len(b), 3000)]
		z := deflated(b, rapid.IntRange(flate.HuffmanOnly, 9).Draw(t, "level"))
		z = z[2 : len(z)-4]
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			i := rapid.IntRange(0, len(z)-1).Draw(t, "at")
			z[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		}
		agree(t, &f, z)
	})
}

// FuzzInflate holds the inflater against compress/flate on any bytes.
func FuzzInflate(f *testing.F) {
	for level := flate.HuffmanOnly; level <= 9; level++ {
		z := deflated([]byte("a short text, a short text, and an end: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), level)
		f.Add(z[2 : len(z)-4])
	}
	f.Add([]byte{0x05, 0xe0, 0x81, 0x08, 0, 0, 0, 0, 0x20, 0x7f, 0xeb, 3}) // a distance code of one symbol
	f.Fuzz(func(t *testing.T, z []byte) {
		var i inflater
		agree(t, &i, z)
	})
}

func BenchmarkInflate(b *testing.B) {
	src := make([]byte, 1<<18)
	x := uint32(1)
	for i := range src {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		src[i] = byte(x) & byte(x>>8)
	}
	z := deflated(src, 6)
	out := make([]byte, len(src))
	b.Run("own", func(b *testing.B) {
		var f inflater
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if err := f.zlib(out, z); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compress-zlib", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			r, err := zlib.NewReader(bytes.NewReader(z))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(r, out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
