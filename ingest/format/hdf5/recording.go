package hdf5

import (
	"cmp"
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
	Detect: func(_ []byte, src ingest.Source) bool {
		_, ok, err := findSuperblock(src, src.Size)
		return ok && err == nil
	},
	Open: openRecording,
}

// openRecording names channels by the path of their dataset
// ("/Table1/Ds02-TACHO", "/mics[3]"), in MATLAB files as MATLAB names them ("x",
// "opp.RPS_M1", "f{2}").
func openRecording(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	f := fault.Get(Open(src, src.Size))
	h := &recording{
		f: f, cache: NewCache(cacheBytes), cells: map[string]string{}, closed: map[string]bool{}, clocks: map[string]int64{},
		options: o.Arrays,
	}

	top := f.groups[0]
	h.sofa, h.netcdf = top.Text("Conventions") == "SOFA", top.Has("_NCProperties") || top.Has("_nc3_strict")
	for _, d := range f.datasets {
		h.matlab = h.matlab || d.Has("MATLAB_class") && f.src.base >= 512
		h.benchmark = h.benchmark || d.Path == benchmarkData

		// Files of old versions of netCDF do not name it.
		h.netcdf = h.netcdf || d.Has("_Netcdf4Dimid") || isDimension(d)
		if arrays.IsTime(d.Path) {
			h.clocks[path.Dir(d.Path)] = d.Elements()
		}
	}

	encoding := fmt.Sprintf("HDF5, superblock %d", f.version)
	if h.matlab {
		encoding = fmt.Sprintf("MATLAB 7.3 (HDF5, superblock %d)", f.version)
	}

	h.r = arrays.New(ingest.Info{Path: src.Path, Format: "hdf5", Encoding: encoding}, src)
	if h.matlab {
		for _, d := range f.datasets {
			if strings.HasPrefix(d.Path, "/#refs#/") {
				continue
			}

			h.nameCells(d, h.name(d.Path), 0)
		}
	}

	h.groups()

	for _, d := range f.datasets {
		h.dataset(d)
	}

	return h.r, h.r.Finish(o)
}

const opaqueFound = "objects and function handles are not read: save numbers, texts (char) or structs"

// opaque reports whether an object of the file is a value of MATLAB's that is
// neither an array of numbers or characters nor a cell or struct.
func (h *recording) opaque(as Attributes) bool {
	const known = "|double|single|int8|int16|int32|int64|uint8|uint16|uint32|uint64|logical|char|cell|struct|" +
		"canonical empty|"
	return as.Has("MATLAB_object_decode") ||
		as.Has("MATLAB_class") && !strings.Contains(known, "|"+as.Text("MATLAB_class")+"|")
}

// unread reports whether a path lies in a group that is listed as unread.
func (h *recording) unread(path string) bool {
	for p := range h.closed {
		if strings.HasPrefix(path, p+"/") {
			return true
		}
	}

	return false
}

// groups lists the attributes of groups, and what is no hard link.
func (h *recording) groups() {
	for _, g := range h.f.groups {
		if h.matlab {
			reason := ""
			if g.Has("MATLAB_sparse") {
				reason = "sparse arrays are not read: save full(…) of it"
			} else if h.opaque(g.Attributes) {
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
func (h *recording) nameCells(d *Dataset, name string, depth int) {
	if d.Text("MATLAB_class") != "cell" || d.Type.Class != Reference || depth > 16 {
		return
	}

	for i, ref := range fault.Get(h.f.ReadReferences(d)) {
		cell := fmt.Sprintf("%s{%d}", name, i+1)
		switch x := ref.(type) {
		case *Dataset:
			if _, seen := h.cells[x.Path]; !seen {
				h.cells[x.Path] = cell
				h.nameCells(x, cell, depth+1)
			}

		case *Group:
			h.cells[x.Path] = cell
		}
	}
}

// maxTexts bounds the texts read from a dataset.
const maxTexts = 1 << 12

// dataset adds what a dataset holds, or lists it as unread.
func (h *recording) dataset(d *Dataset) {
	r, name := h.r, h.name(d.Path)
	class, n := d.Text("MATLAB_class"), d.Elements()
	reason, isFault := h.unreadable(d, class)

	switch {
	case reason != "":
		r.Unread(name, isFault, reason)
		return
	case h.matlab && (class == "cell" || strings.HasPrefix(d.Path, "/#subsystem#/") || h.unread(d.Path)):
		return // its cells are listed, or it is part of what is listed as unread
	case h.matlab && class == "char" && n <= maxTexts && d.err == nil:
		r.Attribute(name, charRows(d))
		return
	case d.Type.Class == String:
		if s, err := d.ReadStrings(); err != nil {
			r.Unread(name, true, err.Error())
		} else {
			r.Attribute(name, strings.Join(s, "\n"))
		}

		return
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

	packing, err := h.packing(d)

	switch err = cmp.Or(d.err, err); {
	case d.Type.Class == Compound:
		h.table(d, name, attrs)
	case err != nil:
		r.Unread(name, d.Type.Class != Reference, err.Error())
	default:
		h.channels(d, name, attrs, d.Path, packing)
	}
}

// unreadable returns why a dataset is not read, "" if it may be; isFault as ingest.Unread.Fault.
func (h *recording) unreadable(d *Dataset, class string) (reason string, isFault bool) {
	hidden := class == "cell" || strings.HasPrefix(d.Path, "/#subsystem#/") || h.unread(d.Path)

	switch n := d.Elements(); {
	case isDimension(d):
		return "a netCDF dimension without values", false
	case h.benchmark && (strings.HasPrefix(d.Path, "/CsmBuild/") || strings.HasPrefix(d.Path, "/CsmData/")):
		return "cross spectra of microphones, no recording", false
	case h.sofa && (d.Path == "/Data.Real" || d.Path == "/Data.Imag" || d.Path == "/Data.SOS"):
		return "transfer functions or filters, no recording", false
	case d.Null || n == 0 || h.matlab && d.Has("MATLAB_empty"):
		return "an empty dataset", false
	case h.matlab && !hidden && h.opaque(d.Attributes):
		return opaqueFound, true
	case d.Type.Class == String && n > maxTexts && !(h.matlab && hidden):
		return fmt.Sprintf("a table of %d texts", n), false
	}

	return "", false
}

// benchmarkData is the recording in files of the benchmark of array methods.
const benchmarkData = "/MicrophoneData/microphoneDataPa"

// role is what a dataset is other than a recording (ingest.Channel.Role), "" if none.
func (h *recording) role(d *Dataset) string {
	switch {
	case d.Text("CLASS") == "DIMENSION_SCALE":
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

		if clock.Unit(scale.Text("units")) || h.sofa && names[i] == "N" {
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
func (h *recording) table(d *Dataset, name string, attrs []ingest.Attribute) {
	packing, wrong := h.packing(d)
	if packing != nil {
		wrong = fault.At("", "", "scale_factor, add_offset and limits of numbers", "a table with them",
			"they hold for no field of it")
	}

	parts := map[string]string{} // of h5py's complex numbers, named as all are
	if m := d.Type.Members; len(m) == 2 && m[0].Name == "r" && m[1].Name == "i" {
		parts["r"], parts["i"] = "real", "imag"
	}

	for _, m := range d.Type.Members {
		field, part := d.inner(m), cmp.Or(parts[m.Name], m.Name)

		if err := cmp.Or(field.err, wrong); err != nil {
			h.r.Unread(name+"."+part, m.Type.numeric, err.Error())
		} else {
			h.channels(field, name+"."+part, attrs, d.Path, nil)
		}
	}
}

// charRows reads a character array of MATLAB, a line for each of its rows.
func charRows(d *Dataset) string {
	text := fault.Get(d.floats())

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

	return strings.Join(lines, "\n")
}

// isDimension reports whether a dataset holds a netCDF dimension and no variable.
func isDimension(d *Dataset) bool {
	return strings.HasPrefix(d.Text("NAME"), "This is a netCDF dimension but not a netCDF variable")
}

// packing returns the packing that a dataset's attributes state, nil if none.
func (h *recording) packing(d *Dataset) (*arrays.Packing, error) {
	t := arrays.Stored{Bits: 8 * d.Type.Size, Integer: d.Type.Class != Float, Signed: d.Type.Signed}

	var fill []float64
	if h.netcdf && d.st.fill != nil && d.Type.Size > 1 && d.Type.numeric {
		fill = []float64{d.Type.float(d.st.fill)}
	}

	return arrays.NewPacking(t, fill, func(name string) (arrays.Numbers, bool) {
		a, ok := d.Attribute(name)
		if a.stored != nil {
			return arrays.Numbers{Values: a.numbers(), Integer: a.Type.Class != Float}, true
		}

		s, _ := a.Text() // none is no number

		return arrays.TextNumber(s), ok
	})
}

// channels adds a dataset or a field of one.
func (h *recording) channels(d *Dataset, name string, attrs []ingest.Attribute, of string, packing *arrays.Packing) {
	n := d.Elements()
	if n == 1 {
		v := fault.Get(d.floats())
		if packing != nil {
			packing.Apply(v)
		}

		h.r.Attribute(name, arrays.Number(v[0]))

		return
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

	axis, err := arrays.Axes(a.Dims, axes, h.clocks[path.Dir(d.Path)], h.options)
	rd, err2 := d.NewReader(h.cache)

	if all := h.declared + n; n < 0 || all < 0 || all > maxUnwritten && all/maxPerByte > h.f.src.size {
		err2 = cmp.Or(err2, fmt.Errorf("%d samples are declared, which a file of %d bytes cannot hold: they were never "+
			"written, or are all equal", n, h.f.src.size))
	}

	if err = cmp.Or(err, err2); err != nil {
		h.r.Unread(name, true, err.Error())
		return
	}

	h.declared += n

	if t := d.Type; t.Class == Integer && t.Size <= 4 {
		a.Quantum = arrays.Integers(8*t.Size, t.Signed)
	}

	p := &plane{rd, axis}
	if h.matlab {
		p.axis = len(d.Dims) - 1 - axis
	}

	a.Axis, a.Plane = axis, p
	if packing != nil {
		a.Plane, a.Quantum = packing.Unpack(p), packing.Quantum(a.Quantum)
	}

	fault.Raise(h.r.Add(a))
}

// plane is a dataset as channels.
type plane struct {
	r    *Reader
	axis int
}

// Read implements arrays.Plane.
func (p *plane) Read(channels []int, start int64, dst [][]float64) error {
	return p.r.ReadChannels(p.axis, channels, start, dst)
}
