package ingest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"doubletake/ingest/npz"
)

// openNPZ reads an archive of NumPy arrays (numpy.savez, savez_compressed).
// Channels are named by their array; an array without axes is an attribute.
func openNPZ(path string, src io.ReaderAt, size int64, o Options) (_ *arraysReader, err error) {
	members, err := npz.Open(src, size)
	if err != nil {
		return nil, foreignError(path, err)
	}
	r := &arraysReader{info: Info{Path: path, Format: "npz", Encoding: "NumPy archive"}}
	defer func() {
		if err != nil {
			r.Close() // the members, not the archive
		}
	}()
	arrays := 0
	for _, m := range members {
		if m.Err != nil {
			r.unread(m.Name, true, m.Err.Error())
			continue
		}
		d, err := m.Open()
		if err != nil {
			return nil, foreignError(path, err)
		}
		r.closers = append(r.closers, d)
		arrays++
		x, err := openNPY(path, d, d.Size(), Options{Truncated: "error"})
		if err != nil {
			if v, ok := npyScalar(d); ok {
				r.attribute(m.Name, v)
				continue
			}
			var de *DataError
			if errors.As(err, &de) {
				e := *de
				e.Path = m.Name
				err = &e
			}
			r.unread(m.Name, !strings.Contains(err.Error(), "an empty array"), err.Error())
			continue
		}
		attrs := append([]Attribute{{"dtype", x.info.Encoding}}, x.info.Attributes...)
		if x.frames == 1 && x.chans == 1 {
			var v [1]float64
			if _, err := x.Read([]int{0}, 0, [][]float64{v[:]}); err != nil && err != io.EOF {
				return nil, err
			}
			r.attribute(m.Name, number(v[0]))
			continue
		}
		r.quantised(x.quantum())
		if err := r.add(m.Name, []int64{x.frames, int64(x.chans)}, true, "", "", attrs, npyPlane{x}); err != nil {
			return nil, err
		}
	}
	if arrays == 0 {
		return nil, &DataError{Path: path, Want: "a NumPy archive (.npz)", Found: "a zip file without .npy files", Hint: "unpack it; a spreadsheet is to be saved as CSV"}
	}
	return r, r.finish(o)
}

// npyScalar reads an array without axes: a single number.
func npyScalar(src io.ReaderAt) (string, bool) {
	var pre [12]byte
	if n, _ := src.ReadAt(pre[:], 0); n < len(pre) {
		return "", false
	}
	at, length := int64(10), int64(pre[8])|int64(pre[9])<<8
	if pre[6] > 1 {
		at, length = 12, length|int64(pre[10])<<16|int64(pre[11])<<24
	}
	if length > 1<<16 {
		return "", false
	}
	head := make([]byte, length)
	if n, _ := src.ReadAt(head, at); n < len(head) {
		return "", false
	}
	h, err := parseNPYHeader(string(head))
	if err != nil || len(h.shape) != 0 {
		return "", false
	}
	kind, big, _, err := npyKind(h.descr)
	if err != nil {
		return "", false
	}
	b := make([]byte, kind.bytes())
	if n, _ := src.ReadAt(b, at+length); n < len(b) {
		return "", false
	}
	var v [1]float64
	decode(&rawReader{kind: kind, big: big, scale: 1}, v[:], b, len(b))
	return number(v[0]), true
}

// npyPlane is an array of the archive as channels.
type npyPlane struct{ r *rawReader }

func (p npyPlane) read(channels []int, start int64, dst [][]float64) (int, error) {
	n, err := p.r.Read(channels, start, dst)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read array: %w", err)
	}
	return n, err
}
