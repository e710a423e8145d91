// Package npz reads NumPy .npz archives, zips of .npy files: package npy reads the arrays.
//
// A stored array (numpy.savez) is read where it lies. A deflated one
// (numpy.savez_compressed) is decompressed as far as needed, once, and kept (package
// spool). Its size is what the archive states, and is refused where the compressed bytes
// cannot hold it.
package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/spool"
	"doubletake/ingest/format/npy"
)

// Format is NPZ.
var Format = ingest.Format{
	Name: "npz", Title: "NPZ", Endings: []string{".npz"}, Attributes: true, Magic: []string{"PK\x03\x04"}, Open: open,
}

// maxMemory is what is kept in memory of all arrays.
const maxMemory = 64 << 20

// member is a file of the archive.
type member struct {
	name string        // without .npy, as numpy.load names it
	src  ingest.Source // the .npy file
	err  error         // why it cannot be opened
}

// open names channels by their array; an array without axes is an attribute.
func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	r := arrays.New(ingest.Info{Path: src.Path, Format: "npz", Encoding: "NumPy archive"})
	defer func() {
		if err != nil {
			r.Close() // the members, not the archive
		}
	}()

	defer fault.Catch(&err)

	members := list(src)
	for _, m := range members {
		r.Closes(m.src)
	}

	clock := clockOf(members)
	for _, m := range members {
		if m.err != nil {
			r.Unread(m.name, true, m.err.Error())
		} else {
			add(r, m, clock, o)
		}
	}

	fault.Raise(r.Finish(o))
	r.Closes(src)

	return r, nil
}

// list opens the files of an archive, in their order.
func list(src ingest.Source) []member {
	z, err := zip.NewReader(src, src.Size)
	if err != nil {
		e := fault.At("", "archive", "", "the zip directory cannot be read", "the file is cut short or no .npz")
		e.Err = err

		fault.Raise(e)
	}

	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return inflate.NewReader(r) })
	fault.Unless(slices.ContainsFunc(z.File, func(f *zip.File) bool { return path.Ext(f.Name) == ".npy" }),
		fault.At("", "", "a NumPy archive (.npz)", "a zip file without .npy files",
			"unpack it; a spreadsheet is to be saved as CSV"))

	var ms []member

	memory := spool.Memory(maxMemory)
	seen := map[string]bool{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}

		m := member{name: strings.TrimSuffix(f.Name, ".npy")}
		if m.src, err = data(src, f, &memory); err == nil && seen[m.name] {
			err = errors.New("the archive holds two of this name")
		}

		if err != nil {
			m.err = &fault.Error{Place: fmt.Sprintf("array %q", m.name), Err: err}
		}

		seen[m.name] = true
		ms = append(ms, m)
	}

	return ms
}

// data returns the bytes of a file of the archive.
func data(src ingest.Source, f *zip.File, memory *spool.Memory) (of ingest.Source, err error) {
	switch {
	case path.Ext(f.Name) != ".npy":
		return of, fmt.Errorf("%q is no .npy file", f.Name)
	case f.Flags&1 != 0:
		return of, errors.New("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return of, fmt.Errorf("zip compression method %d is not read", f.Method)
	}

	off, err := f.DataOffset()
	if err != nil {
		return of, fmt.Errorf("find its data: %w", err)
	}

	packed, size := f.CompressedSize64, f.UncompressedSize64
	switch {
	case off > src.Size || packed > uint64(src.Size-off):
		return of, fmt.Errorf("%d bytes are claimed, %d are there", packed, max(0, src.Size-off))
	case f.Method == zip.Store && packed != size:
		return of, fmt.Errorf("it is stored in %d bytes and has %d", packed, size)
	case size > inflate.MaxRatio*packed+inflate.MaxRatio:
		return of, fmt.Errorf("%d bytes are claimed, more than %d compressed bytes can hold", size, packed)
	}

	of = ingest.Source{Path: src.Path, Size: int64(size)}
	if f.Method == zip.Store {
		of.ReaderAt = io.NewSectionReader(src, off, of.Size)
		return of, nil
	}

	z, err := f.Open()
	if err != nil {
		return of, fmt.Errorf("open: %w", err)
	}

	s := spool.New(z, of.Size, memory)
	of.ReaderAt, of.Closer = s, s

	return of, nil
}

// add adds an array; clock is the samples of the array that holds the time.
func add(r *arrays.Reader, m member, clock int64, o ingest.Options) {
	own := ingest.Options{Truncated: "error", Arrays: ingest.ArrayOptions{TimeAxis: o.Arrays.TimeAxis}}

	x, err := npy.Open(m.src, own)
	for _, axis := range []string{"first", "last"} {
		if err == nil && o.Arrays.TimeAxis == "" && x.Frames != clock && int64(x.Channels) == clock {
			own.Arrays.TimeAxis = axis
			x, err = npy.Open(m.src, own)
		}
	}

	switch {
	case err != nil:
		if v, ok := npy.Scalar(m.src); ok {
			r.Attribute(m.name, v)
			return
		}

		if e, is := errors.AsType[*fault.Error](err); is {
			named := *e
			named.Path = m.name
			err = &named
		}

		r.Unread(m.name, !strings.Contains(err.Error(), "an empty array"), err.Error())

		return

	case x.Frames == 1 && x.Channels == 1:
		fault.Raise(r.Single(m.name, arrays.Of(x)))
		return
	}

	step, low, high := x.Quantum()
	info := x.Info()

	fault.Raise(r.Add(arrays.Array{
		Name: m.name, Dims: []int64{x.Frames, int64(x.Channels)},
		Attributes: append([]ingest.Attribute{{Name: "dtype", Value: info.Encoding}}, info.Attributes...),
		Quantum:    arrays.Quantum{Step: step, Low: low, High: high}, Plane: arrays.Of(x),
	}))
}

// clockOf returns the samples of the array that holds the time, 0 if there is none.
func clockOf(members []member) int64 {
	for _, m := range members {
		if m.err != nil || !arrays.IsTime(m.name) {
			continue
		}

		if x, err := npy.Open(m.src, ingest.Options{}); err == nil {
			return x.Frames
		}
	}

	return 0
}
