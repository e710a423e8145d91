package matfile

import (
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
)

// Format is MATLAB's level 5. Level 7.3 is HDF5.
var Format = ingest.Format{
	Name: "mat", Title: "MAT", Endings: []string{".mat"}, Attributes: true,
	Magic: []string{"MATLAB 5.0 MAT-file"},
	Detect: func(head []byte, _ ingest.Source) bool {
		return len(head) >= 128 && (string(head[124:128]) == "\x00\x01IM" || string(head[124:128]) == "\x01\x00MI")
	},
	Open: openRecording,
}

// openRecording names channels as MATLAB names the values: x, opp.RPS_M1, f{2},
// PXX{1}[3].
func openRecording(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := Open(src, src.Size, o.Truncated == "use")
	if err != nil {
		return nil, err
	}

	order := "little-endian"
	if f.BigEndian {
		order = "big-endian"
	}

	r := arrays.New(ingest.Info{Path: src.Path, Format: "mat", Encoding: "MATLAB level 5, " + order}, src)
	r.Attribute("header", f.Header)

	if f.Missing > 0 {
		r.Warn("truncated", fmt.Sprintf(
			"the last element claims %d bytes more than there are: the arrays that are whole are used", f.Missing))
	}

	for _, t := range f.Texts {
		r.Attribute(t.Name, t.Value())
	}

	for _, u := range f.Unread {
		r.Unread(u.Name, true, u.Err.Error())
	}

	clocks := map[string]int64{}
	for _, v := range f.Vars {
		if arrays.IsTime(v.Name) {
			clocks[arrays.Parent(v.Name)] = int64(v.Len())
		}
	}

	for _, v := range f.Vars {
		switch {
		case v.Len() == 0:
			r.Unread(v.Name, false, "an empty array")
			continue

		case v.Len() == 1:
			if err := r.Single(v.Name, &plane{v, 0}); err != nil {
				return nil, err
			}
			continue
		}

		axis, err := arrays.Axes(v.Dims, nil, clocks[arrays.Parent(v.Name)], o.Arrays)
		if err != nil {
			r.Unread(v.Name, true, err.Error())
			continue
		}

		attrs := []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(v.Dims)}, {Name: "class", Value: v.Class}}
		if v.Stored != v.Class {
			attrs = append(attrs, ingest.Attribute{Name: "stored", Value: v.Stored})
		}

		err = r.Add(arrays.Array{
			Name: v.Name, Dims: v.Dims, Axis: axis, ColumnMajor: true, Group: arrays.Parent(v.Name), Attributes: attrs,
			Quantum: arrays.QuantumOf(v.Class), Plane: &plane{v, axis},
		})
		if err != nil {
			return nil, err
		}
	}

	return r, r.Finish(o)
}

// plane is an array as channels.
type plane struct {
	v    *Var
	axis int
}

// Read implements arrays.Plane.
func (p *plane) Read(channels []int, start int64, dst [][]float64) (int, error) {
	return p.v.ReadChannels(p.axis, channels, start, dst)
}
