package tdms

import (
	"bytes"
	"fmt"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
)

// Format is TDMS.
var Format = ingest.Format{
	Name: "tdms", Title: "TDMS", Endings: []string{".tdms"}, Attributes: true,
	Detect: func(head []byte, _ ingest.Source) bool {
		return bytes.HasPrefix(head, []byte("TDSm")) && ingest.Binary(head)
	},
	Open: openRecording,
}

// openRecording names channels "Group/Name"; unit and rate are those the file
// states.
func openRecording(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := Open(src, src.Size)
	if err != nil {
		return nil, err
	}

	r := arrays.New(ingest.Info{Path: src.Path, Format: "tdms", Encoding: fmt.Sprintf("TDMS %d", f.Version)}, src)
	if f.Truncated || f.Unclosed {
		text := "the last segment was never finished"
		if f.Truncated {
			text = "the file ends before its last segment does"
		}

		if f.Truncated && o.Truncated != "use" {
			return nil, &fault.Error{
				Place: fmt.Sprintf("byte %d", src.Size), Found: text,
				Hint: "is the file complete? with truncated: use, the whole samples that are there are used",
			}
		}

		r.Warn("truncated", text+": the whole samples that are there are used")
	}

	for _, w := range f.Warnings {
		r.Warn("extra-data", w)
	}

	for _, p := range f.Properties {
		r.Attribute(p.Name, p.Text())
	}

	for _, g := range f.Groups {
		for _, p := range g.Properties {
			r.Attribute(g.Name+"@"+p.Name, p.Text())
		}
	}

	for i, c := range f.Channels {
		switch {
		case c.Err != nil:
			r.Unread(c.Path(), true, c.Err.Error())
			continue
		case c.Samples == 0:
			r.Unread(c.Path(), false, "no samples")
			continue
		}

		attrs := []ingest.Attribute{{Name: "type", Value: c.Type}}

		quantum := arrays.QuantumOf(c.Type)
		if len(c.Scales) > 0 {
			attrs = append(attrs, ingest.Attribute{Name: "scales", Value: strings.Join(c.Scales, "; ")})
			quantum = arrays.Quantum{}
		}

		for _, p := range c.Properties {
			attrs = append(attrs, ingest.Attribute{Name: p.Name, Value: p.Text()})
		}

		// One plane for all: interleaved channels are read together.
		err := r.Add(arrays.Array{
			Name: c.Path(), Dims: []int64{c.Samples}, Unit: c.Unit, Group: c.Group, RateHz: c.RateHz, Attributes: attrs,
			Quantum: quantum, Plane: f, First: i,
		})
		if err != nil {
			return nil, err
		}
	}

	return r, r.Finish(o)
}
