package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// A chunk's zlib stream must fit the chunk, with the right checksum, and fill it where
// no packing filter is before it; the Reader is used again after every fault. The
// streams are compress/zlib's.
func TestInflateChunk(t *testing.T) {
	pack := func(n int) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write(bytes.Repeat([]byte("measured"), n)); err != nil {
			t.Fatal(err)
		}

		if err := w.Close(); err != nil {
			t.Fatal(err)
		}

		return b.Bytes()
	}

	whole := pack(1000)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1]++

	var r Reader
	for range 2 {
		for _, c := range []struct {
			name string
			in   []byte
			want string
		}{
			{"whole", whole, ""},
			{"too short", pack(999), ""},
			{"empty", pack(0), ""},
			{"too long", pack(1001), "the data go on after 8000 bytes"},
			{"cut in the data", whole[:len(whole)/2], "the compressed data are cut off"},
			{"cut in the checksum", whole[:len(whole)-2], "the compressed data are cut off"},
			{"checksum", damaged, "checksum"},
			{"no header", []byte("measured"), "no zlib header"},
			{"nothing", nil, "the compressed data are cut off"},
		} {
			out := make([]byte, 8000)
			n, err := r.inflate(out, c.in)
			switch {
			case c.want == "" && (err != nil || string(out[:n]) != strings.Repeat("measured", n/8)):
				t.Errorf("%s: %v", c.name, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, expected %s", c.name, err, c.want)
			}
		}
	}

	_, err := (&Reader{cache: NewCache(0)}).undo([]filter{{id: filterDeflate}}, 0, pack(999), 8000, 8)
	if err == nil || err.Error() != "deflate: the data end after 7992 of 8000 bytes" {
		t.Error(err)
	}
}

// Equal elements are stored in a few bytes by scaleoffset, and these deflated: as
// h5py writes scaleoffset=0, compression="gzip". Expected: 7 in every element, the
// minimum that the chunk states.
func TestPackedAndDeflated(t *testing.T) {
	const n = 131072
	for _, width := range []uint32{0, 1} {
		params := make([]uint32, 20)
		params[0], params[2], params[4], params[5], params[7] = 2, n, 4, 1, width
		raw := make([]byte, 21)
		binary.LittleEndian.PutUint32(raw, width)
		raw[4], raw[5] = 8, 7
		raw = append(raw, make([]byte, n/8*width)...)
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, err := w.Write(raw)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}

		r := &Reader{cache: NewCache(0), p: &parser{}}
		filters := []filter{{id: 6, params: params}, {id: 1, params: []uint32{6}}}
		out, err := r.undo(filters, 0, z.Bytes(), 4*n, 4)
		if err != nil || len(out) != 4*n || binary.LittleEndian.Uint32(out[4*n-4:]) != 7 {
			t.Errorf("width %d: %d bytes, %v", width, len(out), err)
		}
	}
}
