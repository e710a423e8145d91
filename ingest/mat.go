package ingest

import (
	"fmt"
	"io"
	"strconv"

	"doubletake/ingest/matfile"
)

// openMAT reads a MATLAB level 5 file (level 7.3 is HDF5). Channels are named
// as MATLAB names the values: x, opp.RPS_M1, f{2}, PXX{1}[3].
func openMAT(path string, src io.ReaderAt, size int64, o Options) (*arraysReader, error) {
	f, err := matfile.Open(src, size)
	if err != nil {
		return nil, foreignError(path, err)
	}
	order := "little-endian"
	if f.BigEndian {
		order = "big-endian"
	}
	r := &arraysReader{info: Info{Path: path, Format: "mat", Encoding: "MATLAB level 5, " + order}}
	r.attribute("header", f.Header)
	for _, t := range f.Texts {
		r.attribute(t.Name, t.Value())
	}
	for _, u := range f.Unread {
		r.unread(u.Name, true, u.Err.Error())
	}
	for _, v := range f.Vars {
		group := parent(v.Name)
		switch {
		case v.Len() == 0:
			r.unread(v.Name, false, "an empty array")
			continue
		case v.Len() == 1:
			var x [1]float64
			if _, err := v.ReadFloat64(x[:], 0); err != nil && err != io.EOF {
				return nil, foreignError(path, err)
			}
			r.attribute(v.Name, number(x[0]))
			continue
		}
		axis, _, _ := axes(v.Dims)
		p := &matPlane{v: v, rows: axis == 1 && len(v.Dims) == 2 && !v.Vector(), vector: v.Vector()}
		if axis > 0 && !p.rows && !p.vector {
			r.unread(v.Name, true, fmt.Sprintf("its longest axis is the %dth of shape %v: put time first", axis+1, v.Dims))
			continue
		}
		attrs := []Attribute{{"shape", fmt.Sprint(v.Dims)}, {"class", v.Class}}
		if v.Stored != v.Class {
			attrs = append(attrs, Attribute{"stored", v.Stored})
		}
		r.quantised(quantumOf(v.Class))
		if err := r.add(v.Name, v.Dims, false, "", group, attrs, p); err != nil {
			return nil, err
		}
	}
	return r, r.finish(o)
}

// parent is the struct a value belongs to, "" at the top.
func parent(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return ""
}

// number writes a number in its shortest exact form.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// quantumOf gives the range of an integer type by its usual name; zeros for
// others.
func quantumOf(name string) (step, low, high float64) {
	switch name {
	case "int8":
		return 1, -1 << 7, 1<<7 - 1
	case "int16":
		return 1, -1 << 15, 1<<15 - 1
	case "int32":
		return 1, -1 << 31, 1<<31 - 1
	case "uint8":
		return 1, 0, 1<<8 - 1
	case "uint16":
		return 1, 0, 1<<16 - 1
	case "uint32":
		return 1, 0, 1<<32 - 1
	}
	return 0, 0, 0
}

// matPlane is a MATLAB array as channels: its columns, or its rows.
type matPlane struct {
	v            *matfile.Var
	rows, vector bool
}

func (p *matPlane) read(channels []int, start int64, dst [][]float64) (n int, err error) {
	switch {
	case p.vector:
		for i := range channels {
			if n, err = p.v.ReadFloat64(dst[i], start); err != nil && err != io.EOF {
				return n, err
			}
		}
		return n, err
	case p.rows:
		rows := make([]int64, len(channels))
		for i, c := range channels {
			rows[i] = int64(c)
		}
		return p.v.ReadRows(rows, start, dst)
	}
	for i, c := range channels {
		if n, err = p.v.ReadColumn(int64(c), dst[i], start); err != nil && err != io.EOF {
			return n, err
		}
	}
	return n, err
}
