package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/ingesttest"
)

func openBytes(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func openTruth(t testing.TB, name string) *File {
	t.Helper()

	f, err := openBytes(readMaybeZipped(t, filepath.Join("testdata", name)))
	if err != nil {
		t.Fatal(err)
	}

	return f
}

// readFloat64 fills dst with elements from start on, the last axis running fastest, by
// runs along that axis. Without a Reader it makes one.
func readFloat64(d *Dataset, r *Reader, dst []float64, start int64) (n int, err error) {
	if r == nil {
		if r, err = d.NewReader(nil); err != nil {
			return 0, err
		}
	}

	last := len(r.st.dims) - 1
	for total := d.Elements(); n < len(dst); {
		at := start + int64(n)
		if at >= total {
			return n, io.EOF
		}

		row := int64(r.st.dims[last])
		run := dst[n:][:min(int64(len(dst)-n), row-at%row)]

		k, err := r.ReadChannels(last, []int{int(at / row)}, at%row, [][]float64{run})
		if n += k; err != nil {
			return n, err
		}
	}

	return n, nil
}

// TestLookup3: the values printed by driver5 of Bob Jenkins' lookup3.c.
func TestLookup3(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint32
	}{{"", 0xdeadbeef}, {"Four score and seven years ago", 0x17770551}} {
		if got := lookup3([]byte(c.text)); got != c.want {
			t.Errorf("lookup3(%q) = %#08x, want %#08x", c.text, got, c.want)
		}
	}
}

// TestFletcher32 holds the sum against its definition, folded at every word.
// (That the definition is the format's is shown by h5py's files.)
func TestFletcher32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300000).Draw(t, "n")
		b := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "bytes"), n/50+1)
		b = b[:min(n, len(b))]

		var s1, s2 uint32
		for i := 0; i < len(b); i += 2 {
			w := uint32(b[i]) << 8
			if i+1 < len(b) {
				w |= uint32(b[i+1])
			}

			s1 += w
			s1 = s1&0xffff + s1>>16
			s2 += s1
			s2 = s2&0xffff + s2>>16
		}

		if got, want := fletcher32(b), s2<<16|s1; got != want {
			t.Fatalf("%#08x, want %#08x", got, want)
		}
	})
}

// TestUnshuffle undoes a shuffle written as its definition reads.
func TestUnshuffle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
		step := rapid.IntRange(1, 20).Draw(t, "step")
		n := len(b) / step

		raw := append([]byte(nil), b...)
		for i := range n * step {
			raw[i%step*n+i/step] = b[i]
		}

		out := make([]byte, len(b))
		unshuffle(out, raw, step)

		if !bytes.Equal(out, b) {
			t.Fatalf("step %d: %v, want %v", step, out, b)
		}
	})
}

// dump reads everything there is into one text; any error ends it.
func dump(b []byte) (string, error) {
	f, err := openBytes(b)
	if err != nil {
		return "", err
	}

	var s strings.Builder
	attributes := func(as []Attribute) {
		for _, a := range as {
			fmt.Fprintf(&s, "  %s %v = %v\n", a.Name, a.Dims, a)
			err = errors.Join(err, a.Err)
		}
	}

	for _, g := range f.Groups() {
		fmt.Fprintln(&s, g.Path)
		attributes(g.Attributes)

		for _, l := range g.Links {
			fmt.Fprintln(&s, " ", l.Name, l.Kind, l.Target)
		}
	}

	for _, d := range f.Datasets() {
		fmt.Fprintln(&s, d.Path, d.Dims, d.Type, d.Layout())
		attributes(d.Attributes)

		v := make([]float64, min(d.Elements(), 1000))
		if _, e := readFloat64(d, nil, v, 0); e != nil {
			err = errors.Join(err, e)
		}

		fmt.Fprintln(&s, v)
	}

	return s.String(), err
}

// TestDamaged changes every byte of a file whose every byte is under some
// checksum: either an error comes, or the values are still right (the byte was
// padding).
func TestDamaged(t *testing.T) {
	b := readMaybeZipped(t, "testdata/checked.h5")
	want, err := dump(b)
	if err != nil {
		t.Fatal(err)
	}

	changes := []byte{0xff, 1}
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		changes = changes[:1]
	}

	refused := 0
	for i := range b {
		for _, x := range changes {
			b[i] ^= x
			got, err := dump(b)

			b[i] ^= x
			if err != nil {
				refused++
			} else if got != want {
				t.Fatalf("byte %d changed by %#02x unnoticed:\n%s", i, x, got)
			}
		}
	}

	if refused < len(b)*len(changes)/4 {
		t.Errorf("only %d of %d changes noticed", refused, len(b)*len(changes))
	}
}

// TestTruncated cuts files off: the superblock states their length.
func TestTruncated(t *testing.T) {
	for _, name := range []string{
		"checked.h5", "matlab73.mat", "windtunnel_U10_a4.h5", "groups_latest.h5",
		"paged_space.h5.gz",
	} {
		b := readMaybeZipped(t, filepath.Join("testdata", name))
		for n := 0; n < len(b); n += 1 + n/50 {
			if _, err := openBytes(b[:n]); err == nil {
				t.Errorf("%s opens though cut off after %d of %d bytes", name, n, len(b))
			}
		}
	}

	b := readMaybeZipped(t, "testdata/matlab73.mat")
	_, err := openBytes(b[:len(b)-7])
	if want := fmt.Sprintf("the file is cut off: it should end at byte %d and has %d bytes", len(b),
		len(b)-7); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestMoved puts another user block in front, as the format allows: addresses
// count from the superblock.
func TestMoved(t *testing.T) {
	b := readMaybeZipped(t, "testdata/windtunnel_U10_a4.h5")
	want, err := dump(b)
	if err != nil {
		t.Fatal(err)
	}

	got, err := dump(append(make([]byte, 2048), b...))
	if err != nil || got != want {
		t.Errorf("behind 2048 bytes it reads\n%s, %v; want\n%s", got, err, want)
	}

	if _, err := openBytes(append(make([]byte, 1000), b...)); err == nil ||
		err.Error() != "no HDF5 signature at byte 0, 512, 1024, 2048, …" {
		t.Errorf("behind 1000 bytes: %v", err)
	}
}

// oldFile builds a file of the old format by the specification: superblock 0
// and a root group whose symbol table is at tree and heap.
func oldFile(tree, heap uint64, rest ...byte) []byte {
	var b bytes.Buffer
	le := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString(signature)
	b.Write([]byte{0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0})
	le(uint64(0))
	le(uint64(undefined))
	le(uint64(96 + 40 + len(rest)))
	le(uint64(undefined))
	le(uint64(0))
	le(uint64(96))
	b.Write(make([]byte, 24))
	b.Write([]byte{1, 0, 1, 0, 1, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0}) // object header
	b.Write([]byte{msgSymbolTable, 0, 16, 0, 0, 0, 0, 0})
	le(tree)
	le(heap)
	b.Write(rest)

	return b.Bytes()
}

// TestHostile: structures without end must end, and soon.
func TestHostile(t *testing.T) {
	heap := append([]byte("HEAP\x00\x00\x00\x00"), make([]byte, 24)...)
	binary.LittleEndian.PutUint64(heap[8:], 8)
	binary.LittleEndian.PutUint64(heap[24:], 136+32)
	heap = append(heap, "x\x00\x00\x00\x00\x00\x00\x00"...)
	at := uint64(136 + len(heap))

	// 20 levels of nodes, each of whose 60 children is the same next node.
	var trees []byte

	const node = 24 + 61*8 + 60*8
	for level := 20; level >= 0; level-- {
		n := append([]byte{'T', 'R', 'E', 'E', 0, byte(level), 60, 0}, make([]byte, node-8)...)
		for i := range 60 {
			binary.LittleEndian.PutUint64(n[24+8+16*i:], at+uint64(len(trees))+node)
		}

		trees = append(trees, n...)
	}

	trees = append(trees, "SNOD\x01\x00\x00\x00"...)

	// A header that continues with itself.
	circle := oldFile(0, 0)
	copy(circle[96+16:], []byte{
		msgContinuation, 0, 16, 0, 0, 0, 0, 0, 96 + 16, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0,
		0,
	})

	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"fan", oldFile(at, 136, append(heap, trees...)...), "it takes more bytes than the file can hold"},
		{"circle", circle, "it takes more bytes than the file can hold"},
		{"beyond", oldFile(1<<40, 136, heap...), "bytes at address 1099511627776 reach beyond the end of the file"},
		{"no heap", oldFile(at, 137, append(heap, trees...)...), "no local heap"},
	} {
		begin := ingesttest.CPU()

		_, err := openBytes(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}

		if d := ingesttest.CPU() - begin; d > 30*time.Second {
			t.Errorf("%s took %v", c.name, d)
		}
	}
}

// TestBombs: a chunk of 24 bytes must not claim 2 GiB.
func TestBombs(t *testing.T) {
	st := &storage{
		object: "dataset /x", class: chunked, dims: []uint64{1 << 28}, max: []uint64{1 << 28}, esize: 8,
		filters: []filter{{id: filterDeflate}}, chunk: []uint64{1 << 21}, chunkSize: 1 << 24, index: indexSingle,
		addr: 0, oneKnown: true, oneSize: 24,
	}

	st.shape()
	d := &Dataset{
		Path: "/x", st: st, src: source{r: bytes.NewReader(make([]byte, 100)), size: 100, so: 8, sl: 8},
		Type: Type{Class: Float, Size: 8, conv: convWhole, stored: raw.F64},
	}

	_, err := readFloat64(d, nil, make([]float64, 1), 0)
	if want := "dataset /x, byte 0: chunk [0]: 24 bytes stored cannot hold a chunk of 16777216"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestOldLayouts reads layout messages of versions 1 and 2, which no library
// writes any more, built from the specification (IV.A.2.i).
func TestOldLayouts(t *testing.T) {
	p := &parser{source: source{size: 10000, so: 8, sl: 8}, left: 1 << 20}

	addr := []byte{0x10, 0x20, 0, 0, 0, 0, 0, 0}
	for version := byte(1); version <= 2; version++ {
		st := &storage{dims: []uint64{20, 3}, max: []uint64{20, 3}, esize: 4}
		b := append([]byte{version, 3, 2, 0, 0, 0, 0, 0}, addr...)
		b = append(b, 7, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0)
		if err := p.layout(st, b, 2); err != nil || st.class != chunked || st.addr != 0x2010 ||
			fmt.Sprint(st.chunk, st.grid, st.chunkSize) != "[7 2] [3 2] 56" {
			t.Errorf("version %d, chunked: %+v, %v", version, st, err)
		}

		st = &storage{dims: []uint64{20, 3}, max: []uint64{20, 3}, esize: 4}
		b = append([]byte{version, 2, 1, 0, 0, 0, 0, 0}, addr...)
		b = append(b, 20, 0, 0, 0, 3, 0, 0, 0)
		if err := p.layout(st, b, 2); err != nil || st.class != contiguous || st.addr != 0x2010 {
			t.Errorf("version %d, contiguous: %+v, %v", version, st, err)
		}

		st = &storage{dims: []uint64{2}, max: []uint64{2}, esize: 2}

		b = []byte{version, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4}
		if err := p.layout(st, b, 1); err != nil || st.class != compact || string(st.data) != "\x01\x02\x03\x04" {
			t.Errorf("version %d, compact: %+v, %v", version, st, err)
		}
	}
}

// TestParallel reads one File from several goroutines; the race detector
// looks on when it is there.
func TestParallel(t *testing.T) {
	f := openTruth(t, "index_latest.h5.gz")

	var paths []string
	for _, d := range f.Datasets() {
		if d.Elements() < 5000 {
			paths = append(paths, d.Path)
		}
	}

	read := func(cache *Cache, path string) ([]float64, error) {
		d, err := f.Dataset(path)
		if err != nil {
			return nil, err
		}

		r, err := d.NewReader(cache)
		if err != nil {
			return nil, err
		}

		v := make([]float64, d.Elements())
		_, err = readFloat64(d, r, v, 0)

		return v, err
	}

	want := map[string][]float64{}
	for _, p := range paths {
		v, err := read(nil, p)
		if err != nil {
			t.Fatal(err)
		}

		want[p] = v
	}

	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			cache := NewCache(3000)
			for i := range paths {
				p := paths[(i*7+g*5)%len(paths)]
				v, err := read(cache, p)
				if err != nil || fmt.Sprint(v) != fmt.Sprint(want[p]) {
					t.Errorf("%s differs: %v", p, err)
				}
			}

			if cache.used > 3000 {
				t.Errorf("the cache holds %d bytes of 3000", cache.used)
			}
		})
	}

	wg.Wait()
}

// TestCache: chunks leave so that the limit holds, a single larger one stays.
func TestCache(t *testing.T) {
	c := NewCache(1000)

	st := &storage{}
	for i := range uint64(20) {
		c.put(chunkKey{st, i}, make([]byte, 172)) // 300 with its administration

		if c.used > 1000 || len(c.byKey) != c.order.Len() {
			t.Fatalf("%d bytes of 1000, %d and %d entries", c.used, len(c.byKey), c.order.Len())
		}

		c.get(chunkKey{st, 0})
	}

	if _, ok := c.get(chunkKey{st, 0}); !ok {
		t.Error("the entry in constant use was dropped")
	}

	if _, ok := c.get(chunkKey{st, 10}); ok {
		t.Error("the entry not used for long was kept")
	}

	c.put(chunkKey{st, 99}, make([]byte, 5000))

	if _, ok := c.get(chunkKey{st, 99}); !ok || c.order.Len() != 1 {
		t.Error("the only chunk, larger than the cache, is not held")
	}
}

// brokenReader fails beyond a byte.
type brokenReader struct {
	b  []byte
	ok int64
}

var errBroken = errors.New("disk on fire")

func (r brokenReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.ok {
		return 0, errBroken
	}
	return bytes.NewReader(r.b).ReadAt(p, off)
}

// TestReadError: errors of the medium come through.
func TestReadError(t *testing.T) {
	b := readMaybeZipped(t, "testdata/windtunnel_U10_a4.h5")
	for ok := int64(0); ok < int64(len(b)); ok += 501 {
		f, err := Open(brokenReader{b, ok}, int64(len(b)))
		if err == nil {
			for _, d := range f.Datasets() {
				if _, e := readFloat64(d, nil, make([]float64, d.Elements()), 0); e != nil {
					err = e
				}
			}
		}

		if !errors.Is(err, errBroken) {
			t.Errorf("broken beyond byte %d: %v", ok, err)
		}
	}
}

// TestPanics: shapes that do not fit are the caller's mistake.
func TestPanics(t *testing.T) {
	f := openTruth(t, "windtunnel_U10_a4.h5")
	d, err := f.Dataset("/Table1/Ds02-TACHO")
	if err != nil {
		t.Fatal(err)
	}

	r, err := d.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}

	buf := make([]float64, 3)
	for name, call := range map[string]func(){
		"start":   func() { r.ReadChannels(0, []int{0}, -1, [][]float64{buf}) },
		"axis":    func() { r.ReadChannels(1, []int{0}, 0, [][]float64{buf}) },
		"channel": func() { r.ReadChannels(0, []int{1}, 0, [][]float64{buf}) },
		"dst":     func() { r.ReadChannels(0, []int{0}, 0, [][]float64{buf, buf}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()

			call()
		}()
	}

	if n, err := r.ReadChannels(0, []int{0}, 500, [][]float64{buf}); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}

	if n, err := r.ReadChannels(0, []int{0}, 498, [][]float64{buf}); n != 2 || err != io.EOF {
		t.Errorf("across the end: %d, %v", n, err)
	}
}

// TestAttributeText: what people are shown.
func TestAttributeText(t *testing.T) {
	f := openTruth(t, "attributes_latest.h5")
	d, err := f.Dataset("/group/data")
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"zeta_f8": "2.5", "rate_f4": "0.33333334", "u8": "18446744073709551615", "array_f8": "[1.5 -2.5 1e+300]",
		"one_in_array": "48000",
		"texts":        "[mic 1  mic 3]", "bool": "1", "null": "", "text_latin1": "m/s²",
		"complex": "(attribute complex: datatype compound of 2 fields: not supported)",
	} {
		a, ok := d.Attribute(name)
		if !ok || a.String() != want {
			t.Errorf("%s: %q, want %q", name, a.String(), want)
		}
	}

	if a, _ := d.Attribute("text_fixed"); true {
		if v, ok := a.Text(); !ok || v != "V/Pa" {
			t.Errorf("text_fixed: %q, %v", v, ok)
		}
	}
}

// The wind-tunnel layout: one dataset per channel, the sampling period as its
// attribute.
func ExampleFile() {
	r, err := os.Open("testdata/windtunnel_U10_a4.h5")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	st, _ := r.Stat()
	f, err := Open(r, st.Size())
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, d := range f.Datasets() {
		fmt.Print(d.Path, " ", d.Dims, " ", d.Type, ", ", d.Layout())

		if a, ok := d.Attribute("ChannelInformationSamplingPeriod"); ok {
			fmt.Printf(", a sample in %s s", a)
		}

		fmt.Println()
	}
	// Output:
	// /Table1/Ds01-Time [500] float64 little-endian, contiguous
	// /Table1/Ds02-TACHO [500] float32 little-endian, chunked 256, deflate, a sample in 6.103515625e-05 s
	// /Table1/Ds03-MIC01 [500] float32 little-endian, chunked 256, deflate, a sample in 6.103515625e-05 s
	// /Table1/Ds04-MIC02 [500] float32 little-endian, chunked 256, deflate, a sample in 6.103515625e-05 s
}

// Reading a block of two channels of an array (N, C).
func ExampleReader_ReadChannels() {
	b, err := os.ReadFile("testdata/matlab73.mat")
	if err != nil {
		fmt.Println(err)
		return
	}

	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		fmt.Println(err)
		return
	}

	d, err := f.Dataset("/counts")
	if err != nil {
		fmt.Println(err)
		return
	}

	r, err := d.NewReader(nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	block := [][]float64{make([]float64, 4), make([]float64, 4)}
	n, err := r.ReadChannels(0, []int{0, 2}, 36, block)
	fmt.Println(d.Dims, n, err)

	// Element i is (7919·i + 34) mod 251 − 125; here i = 108, 111, … and 110, 113, …
	fmt.Println(block)
	// Output:
	// [40 3] 4 <nil>
	// [[4 -84 79 -9] [29 -59 104 16]]
}

// TestSharedCache has Readers that share a small cache take turns: what one
// pushes out must not change under another.
func TestSharedCache(t *testing.T) {
	f := openTruth(t, "matrix_latest.h5.gz")

	var ds []*Dataset
	for _, d := range f.Datasets() {
		if strings.Contains(d.Path, "/gzip_") && strings.HasSuffix(d.Path, "_n") {
			ds = append(ds, d)
		}
	}

	for _, limit := range []int{1, 300, 1000, 5000} {
		cache := NewCache(limit)

		var rs []*Reader
		for _, d := range ds {
			r, err := d.NewReader(cache)
			if err != nil {
				t.Fatal(err)
			}

			rs = append(rs, r)
		}

		for at := range int64(37) {
			for i, r := range rs {
				var got, want [1]float64
				if _, err := readFloat64(ds[i], r, got[:], at); err != nil {
					t.Fatal(err)
				}

				if _, err := readFloat64(ds[i], nil, want[:], at); err != nil {
					t.Fatal(err)
				}

				if !same(got[0], want[0]) {
					t.Fatalf("cache of %d bytes: %s[%d] is %v, want %v", limit, ds[i].Path, at, got[0], want[0])
				}
			}
		}
	}
}

// A text of 2³¹ − 1 bytes that was never written takes no memory: the file has 1400 bytes. h5py wrote it.
func TestVastText(t *testing.T) {
	b := readMaybeZipped(t, "testdata/vast_text.h5")
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}

	d, _ := f.Dataset("/text")
	if d == nil || d.Type.Size != 1<<31-1 {
		t.Fatalf("the dataset is %+v", d)
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := d.ReadStrings()
	runtime.ReadMemStats(&after)

	if err == nil || !strings.Contains(err.Error(), "more bytes than the file can hold") {
		t.Errorf("%d texts, %v", len(s), err)
	}

	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("it took %d bytes", used)
	}
}
