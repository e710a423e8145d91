package hdf5

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
)

// Format is HDF5, MATLAB 7.3 files among them.
var Format = ingest.Format{
	Name: "hdf5", Title: "HDF5", Endings: []string{".h5", ".hdf5", ".he5"}, Attributes: true,
	Detect: func(_ []byte, src ingest.Source) bool { return IsHDF5(src, src.Size) },
	Open:   openRecording,
}

// openRecording names channels by the path of their dataset
// ("/Table1/Ds02-TACHO", "/mics[3]"), in MATLAB files as MATLAB names them ("x",
// "opp.RPS_M1", "f{2}").
func openRecording(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := Open(src, src.Size)
	if err != nil {
		return nil, err
	}

	h := &recording{
		f: f, cache: NewCache(0), cells: map[string]string{}, closed: map[string]bool{}, clocks: map[string]int64{},
		options: o.Arrays,
	}

	for _, d := range f.Datasets() {
		if _, ok := d.Attribute("MATLAB_class"); ok && f.UserBlock() >= 512 {
			h.matlab = true
		}

		h.benchmark = h.benchmark || d.Path == benchmarkData

		// Files of old versions of netCDF do not name it.
		if _, ok := d.Attribute("_Netcdf4Dimid"); ok || isDimension(d) {
			h.netcdf = true
		}

		if arrays.IsTime(d.Path) {
			h.clocks[path.Dir(d.Path)] = d.Elements()
		}
	}

	if a, _ := f.root.Attribute("Conventions"); a.texts != nil {
		text, _ := a.Text()
		h.sofa = text == "SOFA"
	}

	for _, name := range []string{"_NCProperties", "_nc3_strict"} {
		if _, ok := f.root.Attribute(name); ok {
			h.netcdf = true
		}
	}

	encoding := fmt.Sprintf("HDF5, superblock %d", f.SuperblockVersion())
	if h.matlab {
		encoding = fmt.Sprintf("MATLAB 7.3 (HDF5, superblock %d)", f.SuperblockVersion())
	}

	h.r = arrays.New(ingest.Info{Path: src.Path, Format: "hdf5", Encoding: encoding}, src)
	if h.matlab {
		for _, d := range f.Datasets() {
			if strings.HasPrefix(d.Path, "/#refs#/") {
				continue
			}

			if err := h.nameCells(d, h.name(d.Path), 0); err != nil {
				return nil, err
			}
		}
	}

	h.groups()

	for _, d := range f.Datasets() {
		if err := h.dataset(d); err != nil {
			return nil, err
		}
	}

	return h.r, h.r.Finish(o)
}

const opaqueFound = "objects and function handles are not read: save numbers, texts (char) or structs"

// opaque reports whether an object of the file is a value of MATLAB's that is
// neither an array of numbers or characters nor a cell or struct.
func (h *recording) opaque(attribute func(name string) (Attribute, bool)) bool {
	if _, ok := attribute("MATLAB_object_decode"); ok {
		return true
	}

	a, ok := attribute("MATLAB_class")
	class, _ := a.Text()

	return ok && !slices.Contains([]string{
		"double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical", "char",
		"cell", "struct", "canonical empty",
	}, class)
}

// unread reports whether a path lies in a group that is listed as unread.
func (h *recording) unread(path string) bool {
	for i := range path {
		if path[i] == '/' && h.closed[path[:i]] {
			return true
		}
	}

	return false
}

// groups lists the attributes of groups, and what is no hard link.
func (h *recording) groups() {
	for _, g := range h.f.Groups() {
		if h.matlab {
			reason := ""
			if _, sparse := g.Attribute("MATLAB_sparse"); sparse {
				reason = "sparse arrays are not read: save full(…) of it"
			} else if h.opaque(g.Attribute) {
				reason = opaqueFound
			}

			if reason != "" && !h.unread(g.Path) {
				h.r.Unread(h.name(g.Path), true, reason)
				h.closed[g.Path] = true
			}
		}

		prefix := ""
		if g.Path != "/" {
			prefix = g.Path + "@"
		}

		for _, a := range g.Attributes {
			if h.matlab && strings.HasPrefix(a.Name, "MATLAB_") {
				continue
			}

			if a.Err != nil {
				h.r.Unread(prefix+a.Name, false, a.Err.Error())
				continue
			}

			h.r.Attribute(prefix+a.Name, a.String())
		}

		for _, l := range g.Links {
			if l.Kind == ExternalLink || l.Kind == OtherLink {
				h.r.Unread(strings.TrimSuffix(g.Path, "/")+"/"+l.Name, true, l.Kind.String()+" to "+l.Target+" is not followed")
			}
		}
	}
}

type recording struct {
	f      *File
	r      *arrays.Reader
	cache  *Cache
	matlab bool
	netcdf bool // the file was written by netCDF's library
	// the layout is that of the benchmark of array methods (docs/method.md#layouts-of-published-files)
	benchmark bool
	cells     map[string]string // path of a dataset below #refs# → its name as a cell
	clocks    map[string]int64  // path of a group → samples of its clock
	sofa      bool              // impulse responses of the SOFA conventions (AES69): N is the axis of time

	closed map[string]bool // groups of MATLAB's that are listed as unread

	options ingest.ArrayOptions

	declared int64 // samples of all channels
}

// A file of a few bytes may declare any number of samples that were never written.
// Reading their fill values would take hours.
const (
	maxUnwritten = 1 << 25 // samples that may be declared in any file
	maxPerByte   = 64      // samples beyond that, for each byte of the file: more than any recording is compressed
)

// name is a path as the user writes it.
func (h *recording) name(path string) string {
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
func (h *recording) nameCells(d *Dataset, name string, depth int) error {
	if c, ok := matlabClass(d); !ok || c != "cell" || d.Type.Class != Reference || depth > 16 {
		return nil
	}

	refs, err := h.f.ReadReferences(d)
	if err != nil {
		return err
	}

	for i, ref := range refs {
		cell := fmt.Sprintf("%s{%d}", name, i+1)
		switch x := ref.(type) {
		case *Dataset:
			if _, seen := h.cells[x.Path]; !seen {
				h.cells[x.Path] = cell
				if err := h.nameCells(x, cell, depth+1); err != nil {
					return err
				}
			}

		case *Group:
			h.cells[x.Path] = cell
		}
	}

	return nil
}

func matlabClass(d *Dataset) (string, bool) {
	a, ok := d.Attribute("MATLAB_class")
	if !ok {
		return "", false
	}

	return a.Text()
}

// maxTexts bounds the texts read from a dataset.
const maxTexts = 1 << 12

func (h *recording) dataset(d *Dataset) error {
	r := h.r
	name := h.name(d.Path)
	class, _ := matlabClass(d)
	_, empty := d.Attribute("MATLAB_empty")

	n := d.Elements()
	switch {
	case isDimension(d):
		r.Unread(name, false, "a netCDF dimension without values")
		return nil
	case h.benchmark && (strings.HasPrefix(d.Path, "/CsmBuild/") || strings.HasPrefix(d.Path, "/CsmData/")):
		r.Unread(name, false, "cross spectra of microphones, no recording")
		return nil
	case h.sofa && (d.Path == "/Data.Real" || d.Path == "/Data.Imag" || d.Path == "/Data.SOS"):
		r.Unread(name, false, "transfer functions or filters, no recording")
		return nil
	case d.Null || n == 0 || empty && h.matlab:
		r.Unread(name, false, "an empty dataset")
		return nil
	case h.matlab && (class == "cell" || strings.HasPrefix(d.Path, "/#subsystem#/") || h.unread(d.Path)):
		return nil // its cells are listed, or it is part of what is listed as unread
	case h.matlab && h.opaque(d.Attribute):
		r.Unread(name, true, opaqueFound)
		return nil
	case h.matlab && class == "char" && n <= maxTexts && d.Err() == nil:
		text, err := charRows(d)
		r.Attribute(name, text)
		return err

	case d.Type.Class == String:
		if n > maxTexts {
			r.Unread(name, false, fmt.Sprintf("a table of %d texts", n))
			return nil
		}

		s, err := d.ReadStrings()
		if err != nil {
			r.Unread(name, true, err.Error())
			return nil
		}

		r.Attribute(name, strings.Join(s, "\n"))

		return nil
	}

	var attrs []ingest.Attribute
	for _, a := range d.Attributes {
		if h.matlab && strings.HasPrefix(a.Name, "MATLAB_") && a.Name != "MATLAB_class" ||
			a.Name == "DIMENSION_LIST" || a.Name == "REFERENCE_LIST" { // references that the library keeps
			continue
		}

		if a.Err != nil {
			r.Unread(name+"@"+a.Name, false, a.Err.Error())
			continue
		}

		attrs = append(attrs, ingest.Attribute{Name: a.Name, Value: a.String()})
	}

	attrs = append(attrs, ingest.Attribute{Name: "type", Value: d.Type.String()},
		ingest.Attribute{Name: "shape", Value: fmt.Sprint(d.Dims)}, ingest.Attribute{Name: "layout", Value: d.Layout()})
	if role := h.role(d); role != "" {
		attrs = append(attrs, ingest.Attribute{Name: "role", Value: role})
	}

	if d.Type.Class == Compound {
		return h.table(d, name, attrs)
	}

	packing, err := h.packing(d)
	if derr := d.Err(); derr != nil {
		err = derr
	}

	if err != nil {
		r.Unread(name, d.Type.Class != Reference, err.Error())
		return nil
	}

	return h.channels(d, name, attrs, d.Path, packing)
}

// benchmarkData is the recording in files of the benchmark of array methods.
const benchmarkData = "/MicrophoneData/microphoneDataPa"

// role is what a dataset is other than a recording (ingest.Channel.Role), "" if none.
func (h *recording) role(d *Dataset) string {
	a, _ := d.Attribute("CLASS")
	class, _ := a.Text()
	switch {
	case class == "DIMENSION_SCALE":
		return "coordinate"
	case h.benchmark && (strings.HasPrefix(d.Path, "/MetaData/") || strings.HasPrefix(d.Path, "/MeasurementData/")),
		h.sofa && !slices.Contains(h.axes(d), "time"):
		return "setting"
	}

	return ""
}

// axes returns the names of a dataset's axes: of the scales attached to them, or the
// labels; nil if there are none. A scale with a unit of time is named "time", as is N
// of SOFA.
func (h *recording) axes(d *Dataset) []string {
	if labels, ok := d.Attribute("DIMENSION_LABELS"); ok && labels.Dims != nil {
		if slices.ContainsFunc(labels.texts, arrays.IsTime) {
			return labels.texts
		}
	}

	list, _ := d.Attribute("DIMENSION_LIST")
	names := make([]string, len(list.scales))
	for i, addr := range list.scales {
		scale, ok := h.f.objects[addr].(*Dataset)
		if !ok {
			continue
		}

		names[i] = path.Base(scale.Path)

		units, _ := scale.Attribute("units")
		if text, _ := units.Text(); clock.Unit(text) || h.sofa && names[i] == "N" {
			names[i] = "time"
		}
	}

	if !slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		return nil
	}

	return names
}

// benchmarkUnit is the unit that the name of a recording states in files of the
// benchmark of array methods.
func benchmarkUnit(path string) string {
	switch path {
	case benchmarkData:
		return "Pa"
	case "/TachoData/tachoDataV":
		return "V"
	}

	return ""
}

// table adds each field of numbers of a dataset of compounds.
func (h *recording) table(d *Dataset, name string, attrs []ingest.Attribute) error {
	packing, wrong := h.packing(d)
	if packing != nil {
		wrong = &fault.Error{
			Want: "scale_factor, add_offset and limits of numbers", Found: "a table with them",
			Hint: "they hold for no field of it",
		}
	}

	for _, m := range d.Type.Members {
		field, err := d.Field(m.Name)
		if err == nil {
			err = field.Err()
		}

		switch {
		case err != nil:
		case !m.Type.Numeric():
			h.r.Unread(name+"."+m.Name, false, "a field of "+m.Type.String())
			continue
		default:
			err = wrong
		}

		if err != nil {
			h.r.Unread(name+"."+m.Name, m.Type.Numeric(), err.Error())
			continue
		}

		if err := h.channels(field, name+"."+m.Name, attrs, d.Path, nil); err != nil {
			return err
		}
	}

	return nil
}

// charRows reads a character array of MATLAB, a line for each of its rows.
func charRows(d *Dataset) (string, error) {
	text, err := d.floats()
	if err != nil {
		return "", err
	}

	rows := 1
	if len(d.Dims) > 1 {
		rows = int(d.Dims[len(d.Dims)-1])
	}

	lines := make([]string, 0, rows)
	for r := range rows {
		var units []uint16
		for i := r; i < len(text); i += rows {
			units = append(units, uint16(text[i]))
		}

		lines = append(lines, string(utf16.Decode(units)))
	}

	return strings.Join(lines, "\n"), nil
}

// isDimension reports whether a dataset holds a netCDF dimension and no variable.
func isDimension(d *Dataset) bool {
	a, _ := d.Attribute("NAME")
	s, _ := a.Text()
	return strings.HasPrefix(s, "This is a netCDF dimension but not a netCDF variable")
}

// packing returns the packing that a dataset's attributes state, nil if none.
func (h *recording) packing(d *Dataset) (*arrays.Packing, error) {
	t := arrays.Stored{Bits: 8 * d.Type.Size, Integer: d.Type.Class != Float, Signed: d.Type.Signed}

	var fill []float64
	if h.netcdf && d.st != nil && d.st.fill != nil && d.Type.Size > 1 && d.Type.Numeric() {
		fill = []float64{d.Type.float(d.st.fill)}
	}

	return arrays.NewPacking(t, fill, func(name string) (arrays.Numbers, bool) {
		a, ok := d.Attribute(name)
		if !ok {
			return arrays.Numbers{}, false
		}

		if a.stored != nil {
			return arrays.Numbers{Values: a.numbers(), Integer: a.Type.Class != Float}, true
		}

		if s, ok := a.Text(); ok {
			return arrays.TextNumber(s), true
		}

		return arrays.Numbers{}, true
	})
}

// channels adds a dataset or a field of one.
func (h *recording) channels(d *Dataset, name string, attrs []ingest.Attribute, of string, packing *arrays.Packing,
) error {
	if d.Elements() == 1 {
		v, err := d.floats()
		if err != nil {
			return err
		}

		if packing != nil {
			packing.Apply(v)
		}

		h.r.Attribute(name, arrays.Number(v[0]))

		return nil
	}

	// MATLAB's axes lie reversed in the file. Its channels, of which the first axis
	// runs fastest, are then those of the file, of which the last does.
	a := arrays.Array{
		Name: name, Dims: d.Dims, Group: of[:strings.LastIndexByte(of, '/')], Attributes: attrs, ColumnMajor: h.matlab,
	}
	if h.benchmark {
		a.Unit = benchmarkUnit(of)
	}

	axes := h.axes(d)
	if h.matlab {
		a.Group = arrays.Parent(name)
		a.Dims = slices.Clone(d.Dims)
		slices.Reverse(a.Dims)
		slices.Reverse(axes)
	}

	var err error
	if a.Axis, err = arrays.Axes(a.Dims, axes, h.clocks[path.Dir(d.Path)], h.options); err != nil {
		h.r.Unread(name, true, err.Error())
		return nil
	}

	rd, err := d.NewReader(h.cache)
	if err != nil {
		h.r.Unread(name, true, err.Error())
		return nil
	}

	n := d.Elements()
	if all := h.declared + n; n < 0 || all < 0 || all > maxUnwritten && all/maxPerByte > h.f.src.size {
		h.r.Unread(name, true, fmt.Sprintf("%d samples are declared, which a file of %d bytes cannot hold: they were never "+
			"written, or are all equal", n, h.f.src.size))
		return nil
	}

	h.declared += n

	if t := d.Type; t.Class == Integer && t.Size <= 4 {
		a.Quantum = arrays.Integers(8*t.Size, t.Signed)
	}

	p := &plane{rd, a.Axis}
	if h.matlab {
		p.axis = len(d.Dims) - 1 - a.Axis
	}

	a.Plane = p
	if packing != nil {
		a.Plane, a.Quantum = packing.Unpack(p), packing.Quantum(a.Quantum)
	}

	return h.r.Add(a)
}

// plane is a dataset as channels.
type plane struct {
	r    *Reader
	axis int
}

// Read implements arrays.Plane.
func (p *plane) Read(channels []int, start int64, dst [][]float64) (int, error) {
	return p.r.ReadChannels(p.axis, channels, start, dst)
}
