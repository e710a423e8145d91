// Package npz reads NumPy .npz archives, which are zip files of .npy files. Package npy reads the arrays.
//
// An array that is stored (numpy.savez) is read where it lies in the archive. An array that is compressed
// (numpy.savez_compressed) is decompressed once, as far as needed, and kept by package spool. An array is refused if
// the archive states a larger size than its compressed bytes can have.
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
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/spool"
	"doubletake/ingest/format/npy"
)

// Format is NPZ.
var Format = ingest.Format{
	Name: "npz", Title: "NPZ", Endings: []string{".npz"}, Attributes: true, Magic: []string{"PK\x03\x04"}, Open: open,
}

// maxMemory bounds the bytes of arrays that are kept in memory.
const maxMemory = 64 << 20

// member is a file of the archive.
type member struct {
	name string        // without .npy, as numpy.load names it
	src  ingest.Source // the .npy file
	err  error         // why it cannot be opened; nil if it can
}

// open reads an archive. Each array becomes channels with the array's name, and an array with a single number becomes
// an attribute of the file.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	members, err := list(src)
	if err != nil {
		return nil, err
	}

	r := arrays.New(ingest.Info{Path: src.Path, Format: "npz", Encoding: "NumPy archive"})
	for _, m := range members {
		r.Closes(m.src)
	}

	if err := fill(r, members, o); err != nil {
		_ = r.Close() // the members, of which err says more; the caller closes the archive
		return nil, err
	}

	r.Closes(src)

	return r, nil
}

// fill adds the members to a reader and finishes it.
func fill(r *arrays.Reader, members []member, o ingest.Options) error {
	clock := clockOf(members)
	for _, m := range members {
		if m.err != nil {
			r.Unread(m.name, true, m.err.Error())
			continue
		}

		if err := add(r, m, clock, o); err != nil {
			return err
		}
	}

	return r.Finish(o)
}

// list opens the files of an archive, in their order. Files that cannot be opened have an err.
func list(src ingest.Source) ([]member, error) {
	z, err := zip.NewReader(src, src.Size)
	if err != nil {
		return nil, &fault.Error{
			Place: "archive", Found: "the zip directory cannot be read", Hint: "the file is cut short or no .npz", Err: err,
		}
	}

	z.RegisterDecompressor(zip.Deflate, decompressor)
	if !slices.ContainsFunc(z.File, isArray) {
		return nil, fault.At("", "", "a NumPy archive (.npz)", "a zip file without .npy files",
			"unpack it; a spreadsheet is to be saved as CSV")
	}

	var members []member

	memory := spool.Memory(maxMemory)
	seen := map[string]bool{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}

		m := member{name: strings.TrimSuffix(f.Name, ".npy")}

		m.src, err = data(src, f, &memory)
		if err == nil && seen[m.name] {
			err = errors.New("the archive holds two of this name")
		}

		if err != nil {
			m.err = &fault.Error{Place: fmt.Sprintf("array %q", m.name), Err: err}
		}

		seen[m.name] = true
		members = append(members, m)
	}

	return members, nil
}

// decompressor implements zip.Decompressor.
func decompressor(r io.Reader) io.ReadCloser { return inflate.NewReader(r) }

// isArray reports whether a file of the archive has the ending of an array.
func isArray(f *zip.File) bool { return path.Ext(f.Name) == ".npy" }

// data returns the contents of a file of the archive as a Source. The error says why they cannot be read.
func data(src ingest.Source, f *zip.File, memory *spool.Memory) (ingest.Source, error) {
	switch {
	case !isArray(f):
		return ingest.Source{}, fmt.Errorf("%q is no .npy file", f.Name)
	case f.Flags&1 != 0:
		return ingest.Source{}, errors.New("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return ingest.Source{}, fmt.Errorf("zip compression method %d is not read", f.Method)
	}

	begin, err := f.DataOffset()
	if err != nil {
		return ingest.Source{}, fmt.Errorf("find its data: %w", err)
	}

	packed := f.CompressedSize64
	size := f.UncompressedSize64
	switch {
	case begin > src.Size || packed > uint64(src.Size-begin):
		return ingest.Source{}, fmt.Errorf("%d bytes are claimed, %d are there", packed, max(0, src.Size-begin))
	case f.Method == zip.Store && packed != size:
		return ingest.Source{}, fmt.Errorf("it is stored in %d bytes and has %d", packed, size)
	case size > inflate.MaxRatio*packed+inflate.MaxRatio:
		return ingest.Source{}, fmt.Errorf("%d bytes are claimed, more than %d compressed bytes can hold", size, packed)
	}

	array := ingest.Source{Path: src.Path, Size: int64(size)}
	if f.Method == zip.Store {
		array.ReaderAt = io.NewSectionReader(src, begin, array.Size)
		return array, nil
	}

	z, err := f.Open()
	if err != nil {
		return ingest.Source{}, fmt.Errorf("open: %w", err)
	}

	unpacked := spool.New(z, array.Size, memory)
	array.ReaderAt = unpacked
	array.Closer = unpacked

	return array, nil
}

// add adds an array to a reader. clock is the number of samples of the array that contains the time, and 0 if there is
// none.
func add(r *arrays.Reader, m member, clock int64, o ingest.Options) error {
	x, err := openArray(m, clock, o)
	if err != nil {
		addOther(r, m, err)
		return nil
	}

	if x.Frames == 1 && x.Channels == 1 {
		return r.Single(m.name, arrays.PlaneOf(x))
	}

	step, low, high := x.Quantum()
	info := x.Info()

	return r.Add(arrays.Array{
		Name: m.name, Dims: []int64{x.Frames, int64(x.Channels)},
		Attributes: append([]ingest.Attribute{{Name: "dtype", Value: info.Encoding}}, info.Attributes...),
		Quantum:    arrays.Quantum{Step: step, Low: low, High: high}, Plane: arrays.PlaneOf(x),
	})
}

// openArray opens an array. Time is the axis that the options name, or the axis that is as long as the clock, or the
// longer axis.
func openArray(m member, clock int64, o ingest.Options) (*raw.Reader, error) {
	options := ingest.Options{Truncated: "error", Arrays: ingest.ArrayOptions{TimeAxis: o.Arrays.TimeAxis}}

	x, err := npy.Open(m.src, options)
	if err != nil || o.Arrays.TimeAxis != "" {
		return x, err
	}

	for _, axis := range []string{"first", "last"} {
		isOtherAxis := x.Frames != clock && int64(x.Channels) == clock // the axis of channels is as long as the clock
		if !isOtherAxis {
			break
		}

		options.Arrays.TimeAxis = axis

		x, err = npy.Open(m.src, options)
		if err != nil {
			return nil, err
		}
	}

	return x, nil
}

// addOther adds a file that package npy could not open as an array with axes. err is npy's error. A single number
// becomes an attribute of the recording. Any other file is listed as not read, with err as the reason.
func addOther(r *arrays.Reader, m member, err error) {
	if number, ok := npy.Scalar(m.src); ok {
		r.Attribute(m.name, number)
		return
	}

	if e, ok := errors.AsType[*fault.Error](err); ok {
		named := *e
		named.Path = m.name
		err = &named
	}

	isEmpty := strings.Contains(err.Error(), "an empty array") // npy.Open's words; such an array is not a recording
	r.Unread(m.name, !isEmpty, err.Error())
}

// clockOf returns the number of samples of the first array that contains the time by its name, and 0 if there is none.
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
