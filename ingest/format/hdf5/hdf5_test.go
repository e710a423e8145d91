package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func openBytes(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func openTruth(t testing.TB, name string) *File {
	t.Helper()

	f, err := openBytes(readMaybeZipped(t, filepath.Join("testdata", name)))
	require.NoError(t, err)

	return f
}

// dataset returns the dataset at a path.
func (f *File) dataset(path string) *Dataset {
	return f.datasets[slices.IndexFunc(f.datasets, func(d *Dataset) bool { return d.Path == path })]
}

// readFloat64 fills dst with elements from element start on, row-major. It reads along the last axis. If r is nil, it
// makes a Reader.
func readFloat64(d *Dataset, r *Reader, dst []float64, start int64) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}

	if r == nil {
		if r, err = d.NewReader(NewCache(cacheBytes)); err != nil {
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

		if err := r.ReadChannels(last, []int{int(at / row)}, at%row, [][]float64{run}); err != nil {
			return n, err
		}

		n += len(run)
	}

	return n, nil
}

// The layout of a wind tunnel has a dataset for each channel, with the sampling period as an attribute.
func Example() {
	src, err := ingest.OpenSource("testdata/windtunnel_U10_a4.h5", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Printf("%s %d %.0f Hz\n", c.Name, c.Samples, c.RateHz)
	}
	// Output:
	// /Table1/Ds01-Time 500 16384 Hz
	// /Table1/Ds02-TACHO 500 16384 Hz
	// /Table1/Ds03-MIC01 500 16384 Hz
	// /Table1/Ds04-MIC02 500 16384 Hz
}

// TestLookup3 compares with the values that driver5 of Bob Jenkins' lookup3.c prints.
func TestLookup3(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint32
	}{{"", 0xdeadbeef}, {"Four score and seven years ago", 0x17770551}} {
		assert.Equal(t, c.want, lookup3([]byte(c.text)), "lookup3(%q)", c.text)
	}
}

// TestFletcher32 compares the checksum with its definition, which folds after every word. Files by h5py show that the
// format uses this definition.
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

		require.Equal(t, s2<<16|s1, fletcher32(b), "checksum")
	})
}

// TestUnshuffle undoes a shuffle that is written by its definition.
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

		require.Equal(t, b, out, "step %d", step)
	})
}

// dump returns everything in a file as one text. It stops at the first error.
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

	for _, g := range f.groups {
		fmt.Fprintln(&s, g.Path)
		attributes(g.Attributes)

		for _, l := range g.Links {
			fmt.Fprintln(&s, " ", l.Name, l.Kind, l.Target)
		}
	}

	for _, d := range f.datasets {
		fmt.Fprintln(&s, d.Path, d.Dims, d.Type, d.Layout())
		attributes(d.Attributes)

		v := make([]float64, min(d.Elements(), 1000))
		_, readErr := readFloat64(d, nil, v, 0)
		err = errors.Join(err, readErr)

		fmt.Fprintln(&s, v)
	}

	return s.String(), err
}

// TestDamaged changes every third byte of a file, or every byte if DOUBLETAKE_LONG is set. Checksums protect all of its
// bytes: either there is an error, or the byte was padding and the values are still right.
func TestDamaged(t *testing.T) {
	b := readMaybeZipped(t, "testdata/checked.h5")
	want, err := dump(b)
	require.NoError(t, err)

	refused := 0
	changes := 0
	for i := 0; i < len(b); i += longtest.Count(3, 1) {
		for _, x := range []byte{0xff, 1}[:longtest.Count(1, 2)] {
			changes++
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

	assert.GreaterOrEqual(t, refused, changes/4, "only %d of %d changes noticed", refused, changes)
}

// TestTruncated cuts files. The superblock states their length, so each is an error.
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
	require.EqualError(t, err, fmt.Sprintf("the file is cut off: it should end at byte %d and has %d bytes", len(b),
		len(b)-7))
}

// TestMoved puts another block in front of files, as the format allows, because addresses count from the superblock.
func TestMoved(t *testing.T) {
	b := readMaybeZipped(t, "testdata/windtunnel_U10_a4.h5")
	want, err := dump(b)
	require.NoError(t, err)

	got, err := dump(append(make([]byte, 2048), b...))
	require.NoError(t, err)
	assert.Equal(t, want, got, "behind 2048 bytes")

	_, err = openBytes(append(make([]byte, 2048), oldFile(0, 200)...)) // byte 2248, and the file ends at byte 2184
	require.EqualError(t, err, "group /: 32 bytes at address 200 reach beyond the end of the file", "an address")

	_, err = openBytes(append(make([]byte, 1000), b...))
	require.EqualError(t, err, "no HDF5 signature at byte 0, 512, 1024, 2048, …", "behind 1000 bytes")
}

// oldFile returns a file of the old format by the specification: superblock 0, and a root group whose symbol table has
// its B-tree at tree and its local heap at heap.
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

// TestHostile reads structures that would never end, or would take very long. They must be errors soon.
func TestHostile(t *testing.T) {
	heap := append([]byte("HEAP\x00\x00\x00\x00"), make([]byte, 24)...)
	binary.LittleEndian.PutUint64(heap[8:], 8)
	binary.LittleEndian.PutUint64(heap[24:], 136+32)
	heap = append(heap, "x\x00\x00\x00\x00\x00\x00\x00"...)
	at := uint64(136 + len(heap))

	// There are 20 levels of nodes. All 60 children of a node are the node of the next level.
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

	// A header names itself as its next part.
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
		assert.ErrorContains(t, err, c.want, "%s", c.name)

		ingesttest.ReportBound(t, "processor time for "+c.name, ingesttest.CPU()-begin, 30*time.Second)
	}
}

// TestBombs reads a chunk of 24 bytes that states 2 GiB. It must be an error.
func TestBombs(t *testing.T) {
	st := &storage{
		object: "dataset /x", class: chunked, dims: []uint64{1 << 28}, max: []uint64{1 << 28}, esize: 8,
		filters: []filter{{id: filterDeflate}}, chunk: []uint64{1 << 21}, chunkSize: 1 << 24, index: indexSingle,
		addr: 0, oneKnown: true, oneSize: 24,
	}

	st.shape()
	d := &Dataset{
		Path: "/x", st: st, src: source{r: bytes.NewReader(make([]byte, 100)), size: 100},
		Type: Type{Class: Float, Size: 8, numeric: true, stored: raw.F64},
	}

	_, err := readFloat64(d, nil, make([]float64, 1), 0)
	require.EqualError(t, err, "dataset /x, byte 0: chunk [0]: 24 bytes stored cannot hold a chunk of 16777216")
}

// brokenReader fails to read beyond an offset.
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

// TestReadError checks that errors of reading the file are returned.
func TestReadError(t *testing.T) {
	b := readMaybeZipped(t, "testdata/windtunnel_U10_a4.h5")
	for ok := int64(0); ok < int64(len(b)); ok += 501 {
		f, err := Open(brokenReader{b, ok}, int64(len(b)))
		if err == nil {
			for _, d := range f.datasets {
				if _, e := readFloat64(d, nil, make([]float64, d.Elements()), 0); e != nil {
					err = e
				}
			}
		}

		assert.ErrorIs(t, err, errBroken, "broken beyond byte %d: %v", ok, err)
	}
}

// TestAttributeText checks the texts of attributes for people. The values are the values that testdata/make.py wrote.
func TestAttributeText(t *testing.T) {
	f := openTruth(t, "attributes_latest.h5")
	d := f.dataset("/group/data")
	for name, want := range map[string]string{
		"zeta_f8": "2.5", "rate_f4": "0.33333334", "u8": "18446744073709551615", "array_f8": "[1.5 -2.5 1e+300]",
		"one_in_array": "48000",
		"texts":        "[mic 1  mic 3]", "bool": "1", "null": "", "text_latin1": "m/s²",
		"complex": "(attribute complex: datatype compound of 2 fields: not supported)",
	} {
		a, ok := d.Attribute(name)
		require.True(t, ok, "attribute %s", name)
		assert.Equal(t, want, a.String(), "attribute %s", name)
	}

	fixed, ok := d.Attribute("text_fixed")
	require.True(t, ok, "text_fixed")

	text, isText := fixed.Text()
	assert.True(t, isText, "text_fixed")
	assert.Equal(t, "V/Pa", text, "text_fixed")
}

// Attributes come in the order of creation if the file records it, also without an index of this order. h5py wrote the
// file: the i-th attribute is called by i·7 modulo 20, and its value is i.
func TestOrderOfAttributesWithoutIndex(t *testing.T) {
	b := readMaybeZipped(t, "testdata/attributes_tracked_only.h5")
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)

	i := slices.IndexFunc(f.groups, func(g *Group) bool { return g.Path == "/many" })
	require.GreaterOrEqual(t, i, 0, "the group")
	require.Len(t, f.groups[i].Attributes, 20)
	for i, attribute := range f.groups[i].Attributes {
		assert.Equal(t, fmt.Sprintf("channel %02d", i*7%20), attribute.Name)
	}
}

// A text of 2³¹ − 1 bytes that was never written takes no memory. h5py wrote the file, which has 1400 bytes.
func TestVastText(t *testing.T) {
	b := readMaybeZipped(t, "testdata/vast_text.h5")
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)

	d := f.dataset("/text")
	require.Equal(t, 1<<31-1, d.Type.Size, "bytes of an element")

	ingesttest.Bounded(t, nil, 1<<20, 0, func() {
		s, err := d.ReadStrings()
		ingesttest.WantDataError(t, s, err, "more bytes than the file can hold")
	})
}
