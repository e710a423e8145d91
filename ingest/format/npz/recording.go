package npz

import (
	"errors"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/npy"
)

// Format is NPZ.
var Format = ingest.Format{
	Name: "npz", Title: "NPZ", Endings: []string{".npz"}, Attributes: true, Magic: []string{"PK\x03\x04"},
	Open: openRecording,
}

// openRecording names channels by their array; an array without axes is an
// attribute.
func openRecording(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	members, err := Open(src, src.Size)
	if err != nil {
		return nil, err
	}

	r := arrays.New(ingest.Info{Path: src.Path, Format: "npz", Encoding: "NumPy archive"})
	defer func() {
		if err != nil {
			r.Close() // the members, not the archive
		}
	}()

	clock := clockOf(members, src.Path)

	found := 0
	for _, m := range members {
		if m.Err != nil {
			r.Unread(m.Name, true, m.Err.Error())
			continue
		}

		d, err := m.Open()
		if err != nil {
			return nil, err
		}

		r.Closes(d)
		found++

		own := ingest.Options{Truncated: "error", Arrays: ingest.ArrayOptions{TimeAxis: o.Arrays.TimeAxis}}
		member := ingest.Source{Path: src.Path, ReaderAt: d, Size: d.Size()}

		x, err := npy.Open(member, own)
		for _, axis := range []string{"first", "last"} {
			if err == nil && o.Arrays.TimeAxis == "" && x.Frames != clock && int64(x.Channels) == clock {
				own.Arrays.TimeAxis = axis
				x, err = npy.Open(member, own)
			}
		}

		if err != nil {
			if v, ok := npy.Scalar(member); ok {
				r.Attribute(m.Name, v)
				continue
			}

			var e *fault.Error
			if errors.As(err, &e) {
				named := *e
				named.Path = m.Name
				err = &named
			}

			r.Unread(m.Name, !strings.Contains(err.Error(), "an empty array"), err.Error())
			continue
		}

		if x.Frames == 1 && x.Channels == 1 {
			if err := r.Single(m.Name, x); err != nil {
				return nil, err
			}
			continue
		}

		step, low, high := x.Quantum()
		info := x.Info()
		err = r.Add(arrays.Array{
			Name: m.Name, Dims: []int64{x.Frames, int64(x.Channels)},
			Attributes: append([]ingest.Attribute{{Name: "dtype", Value: info.Encoding}}, info.Attributes...),
			Quantum:    arrays.Quantum{Step: step, Low: low, High: high}, Plane: x,
		})
		if err != nil {
			return nil, err
		}
	}

	if found == 0 {
		return nil, &fault.Error{
			Want: "a NumPy archive (.npz)", Found: "a zip file without .npy files",
			Hint: "unpack it; a spreadsheet is to be saved as CSV",
		}
	}

	if err = r.Finish(o); err != nil {
		return nil, err
	}

	r.Closes(src)

	return r, nil
}

// clockOf returns the samples of the array that holds the time, 0 if there is none.
func clockOf(members []*Member, path string) int64 {
	for _, m := range members {
		if m.Err != nil || !arrays.IsTime(m.Name) {
			continue
		}

		d, err := m.Open()
		if err != nil {
			return 0 // the caller opens it again and returns the error
		}
		defer d.Close()

		if x, err := npy.Open(ingest.Source{Path: path, ReaderAt: d, Size: d.Size()}, ingest.Options{}); err == nil {
			return x.Frames
		}
	}

	return 0
}
