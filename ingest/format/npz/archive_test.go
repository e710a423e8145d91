package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func load(t testing.TB, name string) []byte {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata/truth", name))
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func open(t testing.TB, b []byte) []*Member {
	t.Helper()

	ms, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}

	return ms
}

// TestTruth: every member of numpy's archives has the bytes numpy.save writes
// for the same array.
func TestTruth(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		ms := open(t, load(t, name))

		var names []string
		for _, m := range ms {
			names = append(names, m.Name)

			want := load(t, m.Name+".npy")
			if m.Err != nil || m.Size != int64(len(want)) || m.Compressed != (name == "deflated.npz") {
				t.Errorf("%+v", m)
				continue
			}

			d, err := m.Open()
			if err != nil {
				t.Fatal(err)
			}

			got := make([]byte, len(want)+5)
			if n, err := d.ReadAt(got, 0); n != len(want) || err != io.EOF || !bytes.Equal(got[:n], want) {
				t.Errorf("%s: %d bytes, %v", m.Name, n, err)
			}

			for at := len(want) - 1; at >= 0; at -= 7 {
				n, err := d.ReadAt(got[:9], int64(at))
				if k := min(9, len(want)-at); n != k || (err == io.EOF) != (k < 9) || !bytes.Equal(got[:n], want[at:at+k]) {
					t.Fatalf("%s at %d: %d, %v", m.Name, at, n, err)
				}
			}

			if d.Size() != m.Size || d.Close() != nil {
				t.Error("size or close")
			}
		}

		if s := strings.Join(names, " "); s != "samples counts fortran empty" {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// TestLarge reads an array larger than the part kept in memory, forward and back
// (values: the formula in make.py), and looks for leftovers on the disk.
func TestLarge(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	m := open(t, load(t, "large.npz"))[0]
	d, err := m.Open()
	if err != nil {
		t.Fatal(err)
	}

	head := m.Size - 8*786432
	at := func(i int64) float64 {
		t.Helper()

		var b [8]byte
		if n, err := d.ReadAt(b[:], head+8*i); n != 8 || err != nil {
			t.Fatalf("value %d: %d, %v", i, n, err)
		}

		return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
	}

	if at(0) != 0 || d.(*spool).have > 1<<20 {
		t.Errorf("%d bytes were decompressed for the first value", d.(*spool).have)
	}

	for _, i := range []int64{5000, 500000, 524287, 524288, 524000, 786431, 3, 600000} {
		if x := at(i); x != float64(i/1000) {
			t.Errorf("value %d is %v", i, x)
		}
	}

	if n := len(d.(*spool).head); n != inMemory {
		t.Errorf("%d bytes in memory", n)
	}

	if err := d.Close(); err != nil {
		t.Error(err)
	}

	if _, err := d.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("read after close")
	}

	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// archive writes a zip with one member by hand, so that it may lie.
func archive(name string, method, flags uint16, size uint32, sum uint32, data []byte) []byte {
	le := binary.LittleEndian
	fields := le.AppendUint16(nil, 20)
	for _, v := range []uint16{flags, method, 0, 0} {
		fields = le.AppendUint16(fields, v)
	}

	for _, v := range []uint32{sum, uint32(len(data)), size} {
		fields = le.AppendUint32(fields, v)
	}

	fields = le.AppendUint16(fields, uint16(len(name)))
	b := append([]byte("PK\x03\x04"), fields...)
	b = append(append(le.AppendUint16(b, 0), name...), data...)
	dir := len(b)
	b = append(le.AppendUint16(append(b, "PK\x01\x02"...), 20), fields...)
	b = append(b, make([]byte, 16)...)
	b = append(b, name...)
	n := len(b) - dir
	b = append(append(b, "PK\x05\x06"...), 0, 0, 0, 0, 1, 0, 1, 0)
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, uint32(dir))

	return append(b, 0, 0)
}

func deflate(t testing.TB, x []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	f, err := w.Create("x")
	if err != nil {
		t.Fatal(err)
	}

	f.Write(x)
	w.Close()

	r, err := zip.NewReader(bytes.NewReader(z.Bytes()), int64(z.Len()))
	if err != nil {
		t.Fatal(err)
	}

	raw, err := r.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}

	b, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func TestErrors(t *testing.T) {
	x := bytes.Repeat([]byte("0123456789"), 1000)
	z, sum := deflate(t, x), crc32.ChecksumIEEE(x)
	size := uint32(len(x))

	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"text", archive("readme.txt", 0, 0, 3, 0, []byte("abc")), `array "readme.txt": "readme.txt" is no .npy file`},
		{"encrypted", archive("x.npy", 0, 1, 3, 0, []byte("abc")), `array "x": it is encrypted`},
		{"bzip2", archive("x.npy", 12, 0, 3, 0, []byte("abc")), "zip compression method 12 is not read"},
		{"stored sizes", archive("x.npy", 0, 0, 7, 0, []byte("abc")), "it is stored in 3 bytes and has 7"},
		{"bomb", archive("x.npy", 8, 0, 1<<31, 0, z), "2147483648 bytes are claimed, more than"},
	} {
		ms := open(t, c.b)
		if len(ms) != 1 || ms[0].Err == nil || !strings.Contains(ms[0].Err.Error(), c.want) {
			t.Errorf("%s: %+v, want %s", c.name, ms[0], c.want)
			continue
		}

		if _, err := ms[0].Open(); err == nil {
			t.Errorf("%s was opened", c.name)
		}
	}

	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"good", archive("x.npy", 8, 0, size, sum, z), ""},
		{"checksum", archive("x.npy", 8, 0, size, sum^1, z), "decompress: zip: checksum error"},
		{"more than stated", archive("x.npy", 8, 0, size-1, sum, z), "decompress: "},
		{"less than stated", archive("x.npy", 8, 0, size+1, sum, z), "decompress: "},
		{"cut", archive("x.npy", 8, 0, size, sum, z[:len(z)/2]), "decompress: unexpected EOF"},
	} {
		d, err := open(t, c.b)[0].Open()
		if err != nil {
			t.Fatal(err)
		}

		got := make([]byte, d.Size())
		n, err := d.ReadAt(got, 0)

		var e *Error
		if c.want == "" && (err != nil || !bytes.Equal(got, x)) || c.want != "" &&
			(!errors.As(err, &e) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d, %v; want %s", c.name, n, err, c.want)
		}

		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}

	if _, err := Open(bytes.NewReader(x), int64(len(x))); err == nil ||
		!strings.HasPrefix(err.Error(), "archive: the zip directory cannot be read: ") {
		t.Error(err)
	}

	var two bytes.Buffer
	w := zip.NewWriter(&two)
	for range 2 {
		f, err := w.Create("x.npy")
		if err != nil {
			t.Fatal(err)
		}

		f.Write(x)
	}

	w.Close()

	if ms := open(t, two.Bytes()); ms[0].Err != nil || ms[1].Err == nil ||
		!strings.Contains(ms[1].Err.Error(), "two of this name") {
		t.Errorf("%v %v", ms[0].Err, ms[1].Err)
	}
}

// FuzzOpen: no input makes the reader panic or hang; memory stays below 8 MiB
// and 16 times the input, and the window read.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		f.Add(load(f, name))
	}

	x := []byte("\x93NUMPY\x01\x00 some header")
	f.Add(archive("x.npy", 8, 0, uint32(len(x)), crc32.ChecksumIEEE(x), deflate(f, x)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		ms, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}

		p := make([]byte, 4096)
		for i, m := range ms {
			d, err := m.Open()
			if err != nil || i > 20 {
				continue
			}

			for at := int64(0); at < min(m.Size, 1<<20); at += 4096 {
				n, err := d.ReadAt(p, at)
				if n < len(p) && err == nil || n > len(p) || at+int64(n) > m.Size {
					t.Fatalf("%d bytes at %d of %d, %v", n, at, m.Size, err)
				}

				if err != nil {
					break
				}
			}

			d.Close()
		}

		runtime.ReadMemStats(&after)

		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20+16*uint64(len(b)) {
			t.Fatalf("%d bytes of input allocated %d", len(b), grown)
		}
	})
}

func Example() {
	b, err := os.ReadFile("testdata/truth/deflated.npz")
	if err != nil {
		panic(err)
	}

	arrays, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		panic(err)
	}

	for _, m := range arrays {
		fmt.Println(m.Name, m.Size)
	}
	// Output:
	// samples 4928
	// counts 258
	// fortran 208
	// empty 128
}

func BenchmarkLarge(b *testing.B) {
	data := load(b, "large.npz")
	buf := make([]byte, 1<<16)
	b.SetBytes(8 * 786432)

	for b.Loop() {
		d, err := open(b, data)[0].Open()
		if err != nil {
			b.Fatal(err)
		}

		for at := int64(0); at < d.Size(); at += int64(len(buf)) {
			if _, err := d.ReadAt(buf, at); err != nil && err != io.EOF {
				b.Fatal(err)
			}
		}

		d.Close()
	}
}
