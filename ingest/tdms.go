package ingest

import (
	"fmt"
	"io"
	"strings"

	"doubletake/ingest/tdms"
)

// openTDMS reads a TDMS file (LabVIEW, DIAdem). Channels are named
// "Group/Name", unit and rate are those the file states.
func openTDMS(path string, src io.ReaderAt, size int64, o Options) (*arraysReader, error) {
	f, err := tdms.Open(src, size)
	if err != nil {
		return nil, foreignError(path, err)
	}
	r := &arraysReader{info: Info{Path: path, Format: "tdms", Encoding: fmt.Sprintf("TDMS %d", f.Version)}}
	if f.Truncated || f.Unclosed {
		text := "the last segment was never finished"
		if f.Truncated {
			text = "the file ends before its last segment does"
		}
		if f.Truncated && o.Truncated != "use" {
			return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", size), Found: text, Hint: "is the file complete? with truncated: use, the whole samples that are there are used"}
		}
		r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "truncated", Text: text + ": the whole samples that are there are used"})
	}
	for _, w := range f.Warnings {
		r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "extra-data", Text: w})
	}
	for _, p := range f.Properties {
		r.attribute(p.Name, p.Text())
	}
	for _, g := range f.Groups {
		for _, p := range g.Properties {
			r.attribute(g.Name+"@"+p.Name, p.Text())
		}
	}
	for i, c := range f.Channels {
		switch {
		case c.Err != nil:
			r.unread(c.Path(), true, c.Err.Error())
			continue
		case c.Samples == 0:
			r.unread(c.Path(), false, "no samples")
			continue
		}
		attrs := []Attribute{{"type", c.Type}}
		if len(c.Scales) > 0 {
			attrs = append(attrs, Attribute{"scales", strings.Join(c.Scales, "; ")})
			r.quantised(0, 0, 0)
		} else {
			r.quantised(quantumOf(c.Type))
		}
		for _, p := range c.Properties {
			attrs = append(attrs, Attribute{p.Name, p.Text()})
		}
		if err := r.add(c.Path(), []int64{c.Samples}, true, c.Unit, c.Group, attrs, tdmsPlane{f, i}); err != nil {
			return nil, err
		}
		r.info.Channels[len(r.info.Channels)-1].RateHz = c.RateHz
	}
	// One plane, so that interleaved channels are read together.
	for i := range r.at {
		r.at[i].channel = r.planes[r.at[i].plane].(tdmsPlane).channel
		r.at[i].plane = 0
	}
	if len(r.planes) > 0 {
		r.planes = r.planes[:1]
	}
	return r, r.finish(o)
}

type tdmsPlane struct {
	f       *tdms.File
	channel int
}

func (p tdmsPlane) read(channels []int, start int64, dst [][]float64) (int, error) {
	return p.f.Read(channels, start, dst)
}
