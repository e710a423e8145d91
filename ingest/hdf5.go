package ingest

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/hdf5"
)

// openHDF5 reads an HDF5 file, MATLAB 7.3 files among them. Channels are named
// by the path of their dataset ("/Table1/Ds02-TACHO", "/mics[3]"), in MATLAB
// files as MATLAB names them ("x", "opp.RPS_M1", "f{2}").
func openHDF5(path string, src io.ReaderAt, size int64, o Options) (*arraysReader, error) {
	f, err := hdf5.Open(src, size)
	if err != nil {
		return nil, foreignError(path, err)
	}
	h := &hdfFile{f: f, r: &arraysReader{info: Info{Path: path, Format: "hdf5", Encoding: fmt.Sprintf("HDF5, superblock %d", f.SuperblockVersion())}}, cache: hdf5.NewCache(0)}
	for _, d := range f.Datasets() {
		if _, ok := d.Attribute("MATLAB_class"); ok && f.UserBlock() >= 512 {
			h.matlab = true
		}
	}
	if h.matlab {
		h.r.info.Encoding = fmt.Sprintf("MATLAB 7.3 (HDF5, superblock %d)", f.SuperblockVersion())
	}
	h.cells = map[string]string{}
	if h.matlab {
		for _, d := range f.Datasets() {
			if strings.HasPrefix(d.Path, "/#refs#/") {
				continue
			}
			if err := h.nameCells(d, h.name(d.Path), 0); err != nil {
				return nil, foreignError(path, err)
			}
		}
	}
	for _, g := range f.Groups() {
		prefix := ""
		if g.Path != "/" {
			prefix = g.Path + "@"
		}
		for _, a := range g.Attributes {
			if h.matlab && strings.HasPrefix(a.Name, "MATLAB_") {
				continue
			}
			if a.Err != nil {
				h.r.unread(prefix+a.Name, false, a.Err.Error())
				continue
			}
			h.r.attribute(prefix+a.Name, a.String())
		}
		for _, l := range g.Links {
			if l.Kind == hdf5.ExternalLink || l.Kind == hdf5.OtherLink {
				h.r.unread(strings.TrimSuffix(g.Path, "/")+"/"+l.Name, true, l.Kind.String()+" to "+l.Target+" is not followed")
			}
		}
	}
	for _, d := range f.Datasets() {
		if err := h.dataset(d); err != nil {
			return nil, foreignError(path, err)
		}
	}
	return h.r, h.r.finish(o)
}

type hdfFile struct {
	f      *hdf5.File
	r      *arraysReader
	cache  *hdf5.Cache
	matlab bool
	cells  map[string]string // path of a dataset below #refs# → its name as a cell
}

// name is a path as the user writes it.
func (h *hdfFile) name(path string) string {
	if !h.matlab {
		return path
	}
	if n, ok := h.cells[path]; ok {
		return n
	}
	// The fields of a struct within a cell: the cell's name and the rest.
	for p := path; strings.HasPrefix(p, "/#refs#/"); {
		i := strings.LastIndexByte(p, '/')
		p = p[:i]
		if n, ok := h.cells[p]; ok {
			return n + strings.ReplaceAll(path[i:], "/", ".")
		}
		if i < len("/#refs#/") {
			break
		}
	}
	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
}

// nameCells gives what the cells of a cell array refer to the cells' names.
func (h *hdfFile) nameCells(d *hdf5.Dataset, name string, depth int) error {
	if c, ok := matlabClass(d); !ok || c != "cell" || d.Type.Class != hdf5.Reference || depth > 16 {
		return nil
	}
	refs, err := h.f.ReadReferences(d)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		cell := fmt.Sprintf("%s{%d}", name, i+1)
		switch x := ref.(type) {
		case *hdf5.Dataset:
			if _, seen := h.cells[x.Path]; !seen {
				h.cells[x.Path] = cell
				if err := h.nameCells(x, cell, depth+1); err != nil {
					return err
				}
			}
		case *hdf5.Group:
			h.cells[x.Path] = cell
		}
	}
	return nil
}

func matlabClass(d *hdf5.Dataset) (string, bool) {
	a, ok := d.Attribute("MATLAB_class")
	if !ok {
		return "", false
	}
	return a.Text()
}

// maxTexts bounds what is read of a dataset of texts.
const maxTexts = 1 << 12

func (h *hdfFile) dataset(d *hdf5.Dataset) error {
	r := h.r
	name := h.name(d.Path)
	class, _ := matlabClass(d)
	_, empty := d.Attribute("MATLAB_empty")
	n := d.Elements()
	switch {
	case d.Null || n == 0 || empty && h.matlab:
		r.unread(name, false, "an empty dataset")
		return nil
	case h.matlab && class == "cell":
		return nil // its cells are listed
	case h.matlab && class == "char" && n <= maxTexts && d.Err() == nil:
		text := make([]float64, n)
		if _, err := d.ReadFloat64(text, 0); err != nil && err != io.EOF {
			return err
		}
		var b strings.Builder
		for _, c := range text {
			b.WriteRune(rune(c))
		}
		r.attribute(name, b.String())
		return nil
	case d.Type.Class == hdf5.String:
		if n > maxTexts {
			r.unread(name, false, fmt.Sprintf("a table of %d texts", n))
			return nil
		}
		s, err := d.ReadStrings()
		if err != nil {
			r.unread(name, true, err.Error())
			return nil
		}
		r.attribute(name, strings.Join(s, "\n"))
		return nil
	}
	var attrs []Attribute
	unit := ""
	for _, a := range d.Attributes {
		if h.matlab && strings.HasPrefix(a.Name, "MATLAB_") && a.Name != "MATLAB_class" {
			continue
		}
		if a.Err != nil {
			r.unread(name+"@"+a.Name, false, a.Err.Error())
			continue
		}
		attrs = append(attrs, Attribute{a.Name, a.String()})
	}
	attrs = append(attrs, Attribute{"type", d.Type.String()}, Attribute{"shape", fmt.Sprint(d.Dims)}, Attribute{"layout", d.Layout()})
	if d.Type.Class == hdf5.Compound {
		// A table: each field of numbers is a channel.
		for _, m := range d.Type.Members {
			field, err := d.Field(m.Name)
			if err != nil || field.Err() != nil || !m.Type.Numeric() {
				if err == nil {
					err = field.Err()
				}
				reason := "a field of " + m.Type.String()
				if err != nil {
					reason = err.Error()
				}
				r.unread(name+"."+m.Name, m.Type.Numeric(), reason)
				continue
			}
			if err := h.channels(field, name+"."+m.Name, unit, attrs, d.Path); err != nil {
				return err
			}
		}
		return nil
	}
	if err := d.Err(); err != nil {
		r.unread(name, d.Type.Class != hdf5.Reference, err.Error())
		return nil
	}
	return h.channels(d, name, unit, attrs, d.Path)
}

func (h *hdfFile) channels(d *hdf5.Dataset, name, unit string, attrs []Attribute, path string) error {
	if d.Elements() == 1 {
		var v [1]float64
		if _, err := d.ReadFloat64(v[:], 0); err != nil && err != io.EOF {
			return err
		}
		h.r.attribute(name, number(v[0]))
		return nil
	}
	group := path[:strings.LastIndexByte(path, '/')]
	if h.matlab {
		group = parent(name)
	}
	axis, _, _ := axes(d.Dims)
	rd, err := d.NewReader(h.cache)
	if err != nil {
		h.r.unread(name, true, err.Error())
		return nil
	}
	if t := d.Type; t.Class == hdf5.Integer && t.Size <= 4 {
		bits := 8 * t.Size
		if t.Signed {
			h.r.quantised(1, -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1)
		} else {
			h.r.quantised(1, 0, math.Ldexp(1, bits)-1)
		}
	} else {
		h.r.quantised(0, 0, 0)
	}
	return h.r.add(name, d.Dims, true, unit, group, attrs, hdfPlane{rd, axis})
}

type hdfPlane struct {
	r    *hdf5.Reader
	axis int
}

func (p hdfPlane) read(channels []int, start int64, dst [][]float64) (int, error) {
	return p.r.ReadChannels(p.axis, channels, start, dst)
}

// AttributeNumber finds a number a file states about itself: an attribute of the file
// or of a group ("/Table1@alpha"), a single number among its arrays
// ("opp_jprop.vInf"), or an element of one ("opp.RPS_M1[2]"), by its name or,
// where only one fits, by the end of it.
func AttributeNumber(info Info, name string) (float64, error) {
	var hits []Attribute
	for _, a := range info.Attributes {
		if a.Name == name {
			hits = []Attribute{a}
			break
		}
		if rest, ok := strings.CutSuffix(strings.ToLower(a.Name), strings.ToLower(name)); ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "/.@")) {
			hits = append(hits, a)
		}
	}
	if len(hits) == 0 {
		known := make([]string, 0, len(info.Attributes))
		for _, a := range info.Attributes {
			known = append(known, a.Name)
		}
		e := &DataError{Path: info.Path, Want: fmt.Sprintf("an attribute %q", name), Found: "none of that name"}
		if len(known) == 0 {
			e.Found = "a file without attributes"
		} else if near := nearest(name, known, 3); len(near) > 0 {
			e.Hint = "there is " + quoteList(near)
		}
		return 0, e
	}
	if len(hits) > 1 {
		var found []string
		for _, a := range hits {
			found = append(found, a.Name)
		}
		return 0, &DataError{Path: info.Path, Want: fmt.Sprintf("one attribute %q", name), Found: quoteList(found), Hint: "write its full name"}
	}
	v, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(hits[0].Value), "[]"), 64)
	if err != nil || !finite(v) {
		return 0, &DataError{Path: info.Path, Place: "attribute " + hits[0].Name, Want: "a number", Found: strconv.Quote(clip(hits[0].Value))}
	}
	return v, nil
}
