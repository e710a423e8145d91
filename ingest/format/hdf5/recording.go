package hdf5

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
)

// Format is HDF5. MATLAB 7.3 files are HDF5 files too.
var Format = ingest.Format{
	Name: "hdf5", Title: "HDF5", Endings: []string{".h5", ".hdf5", ".he5"}, Attributes: true,
	Detect: func(_ []byte, src ingest.Source) bool {
		_, ok, err := findSuperblock(src, src.Size)
		return ok && err == nil
	},
	Open: openRecording,
}

// openRecording opens a file as a recording. Datasets of numbers become channels with the paths of the datasets as
// names ("/Table1/Ds02-TACHO", "/mics[3]"), or in MATLAB files with MATLAB's names ("x", "opp.RPS_M1", "f{2}"). Texts,
// single numbers and attributes become attributes of the recording.
func openRecording(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	file, err := Open(src, src.Size)
	if err != nil {
		return nil, err
	}

	recording := newRecording(file, o.Arrays)

	encoding := fmt.Sprintf("HDF5, superblock %d", file.version)
	if recording.matlab {
		encoding = fmt.Sprintf("MATLAB 7.3 (HDF5, superblock %d)", file.version)
	}

	recording.r = arrays.New(ingest.Info{Path: src.Path, Format: "hdf5", Encoding: encoding}, src)
	if recording.matlab {
		if err := recording.nameAllCells(); err != nil {
			return nil, err
		}
	}

	recording.groups()

	for _, dataset := range file.datasets {
		if err := recording.dataset(dataset); err != nil {
			return nil, err
		}
	}

	if err := recording.r.Finish(o); err != nil {
		return nil, err
	}

	return recording.r, nil
}

// newRecording returns a recording without channels. It finds out which program wrote the file, and how long the
// datasets that contain the time are.
func newRecording(file *File, options ingest.ArrayOptions) *recording {
	top := file.groups[0]
	h := &recording{
		f: file, cache: NewCache(cacheBytes), options: options,
		cells: map[string]string{}, structs: map[string]bool{}, closed: map[string]bool{}, clocks: map[string]int64{},
		sofa: top.Text("Conventions") == "SOFA", netcdf: top.Has("_NCProperties") || top.Has("_nc3_strict"),
	}

	for _, dataset := range file.datasets {
		isMatlab := dataset.Has("MATLAB_class") && file.src.base >= matlabBlock
		h.matlab = h.matlab || isMatlab
		h.benchmark = h.benchmark || dataset.Path == benchmarkData

		// Old versions of netCDF's library do not mark the file, but they mark dimensions.
		h.netcdf = h.netcdf || dataset.Has("_Netcdf4Dimid") || isDimension(dataset)
		if arrays.IsTime(dataset.Path) {
			h.clocks[path.Dir(dataset.Path)] = dataset.Elements()
		}
	}

	return h
}

// groups adds the attributes of groups, and lists groups that are not read and links that are not followed.
func (h *recording) groups() {
	for _, group := range h.f.groups {
		reason := h.groupUnread(group)
		if reason != "" && !h.unread(group.Path) {
			h.r.Unread(h.name(group.Path), true, reason)
			h.closed[group.Path] = true
		}

		h.groupAttributes(group)

		for _, link := range group.Links {
			if link.Kind == ExternalLink || link.Kind == OtherLink {
				name := strings.TrimSuffix(group.Path, "/") + "/" + link.Name
				h.r.Unread(name, true, link.Kind.String()+" to "+link.Target+" is not followed")
			}
		}
	}
}

// groupAttributes adds the attributes of a group, except those that only MATLAB needs.
func (h *recording) groupAttributes(group *Group) {
	prefix := ""
	if group.Path != "/" {
		prefix = group.Path + "@"
	}

	for _, attr := range group.Attributes {
		switch {
		case h.matlab && strings.HasPrefix(attr.Name, "MATLAB_"):
		case attr.Err != nil:
			h.r.Unread(prefix+attr.Name, false, attr.Err.Error())
		default:
			h.r.Attribute(prefix+attr.Name, attr.String())
		}
	}
}

// recording adds the datasets of a file to a reader.
type recording struct {
	f       *File
	r       *arrays.Reader
	cache   *Cache
	options ingest.ArrayOptions

	// Who wrote the file.
	matlab    bool
	netcdf    bool // netCDF's library
	benchmark bool // the layout of the benchmark of array methods (docs/method.md#layouts-of-published-files)
	sofa      bool // impulse responses by the SOFA conventions (AES69), whose axis of time is N

	clocks   map[string]int64  // by the path of a group, the number of samples of the dataset that contains the time
	cells    map[string]string // by the path of an object below matlabCells, its name as a cell or a field
	structs  map[string]bool   // by the path of a group, whether it is a struct of MATLAB
	closed   map[string]bool   // paths of groups of a MATLAB file that are listed as not read
	declared int64             // number of samples of all channels that were added
}

// A file of a few bytes may declare any number of samples that were never written. Reading their fill values would take
// hours.
const (
	maxUnwritten = 1 << 25 // samples that any file may declare
	maxPerByte   = 64      // samples for each byte of a larger file; no recording can be compressed more than this
)

// maxTexts is the number of texts, or of characters in a MATLAB file, up to which a dataset becomes an attribute.
const maxTexts = 1 << 12

// dataset adds the channels or the attribute of a dataset, or lists the dataset as not read.
func (h *recording) dataset(dataset *Dataset) error {
	name := h.name(dataset.Path)
	if reason, isFault := h.unreadable(dataset); reason != "" {
		h.r.Unread(name, isFault, reason)
		return nil
	}

	class := dataset.Text("MATLAB_class")
	isShort := dataset.Elements() <= maxTexts

	switch {
	case h.matlab && h.hidden(dataset):
		return nil
	case h.matlab && class == "char" && isShort && dataset.err == nil:
		text, err := charRows(dataset)
		if err != nil {
			return err
		}

		h.r.Attribute(name, text)

		return nil
	case dataset.Type.Class == String:
		texts, err := dataset.ReadStrings()
		if err != nil {
			h.r.Unread(name, true, err.Error())
		} else {
			h.r.Attribute(name, strings.Join(texts, "\n"))
		}

		return nil
	}

	attrs := h.attributes(dataset, name)
	if dataset.Type.Class == Compound {
		return h.table(dataset, name, attrs)
	}

	packing, packingErr := h.packing(dataset)
	if err := cmp.Or(dataset.err, packingErr); err != nil {
		h.r.Unread(name, dataset.Type.Class != Reference, err.Error())
		return nil
	}

	return h.channels(dataset, name, attrs, dataset.Path, packing)
}

// attributes returns the attributes of the channels of a dataset. It lists attributes that cannot be read.
func (h *recording) attributes(dataset *Dataset, name string) []ingest.Attribute {
	var attrs []ingest.Attribute
	for _, attr := range dataset.Attributes {
		isMatlab := h.matlab && strings.HasPrefix(attr.Name, "MATLAB_") && attr.Name != "MATLAB_class"
		isLibrary := attr.Name == "DIMENSION_LIST" || attr.Name == "REFERENCE_LIST" // references of the library
		if isMatlab || isLibrary {
			continue
		}

		if attr.Err != nil {
			h.r.Unread(name+"@"+attr.Name, false, attr.Err.Error())
			continue
		}

		attrs = append(attrs, ingest.Attribute{Name: attr.Name, Value: attr.String()})
	}

	attrs = append(attrs,
		ingest.Attribute{Name: "type", Value: dataset.Type.String()},
		ingest.Attribute{Name: "shape", Value: fmt.Sprint(dataset.Dims)},
		ingest.Attribute{Name: "layout", Value: dataset.Layout()})
	if role := h.role(dataset); role != "" {
		attrs = append(attrs, ingest.Attribute{Name: "role", Value: role})
	}

	return attrs
}

// table adds the channels of each field of a dataset of compounds.
func (h *recording) table(dataset *Dataset, name string, attrs []ingest.Attribute) error {
	packing, packingErr := h.packing(dataset)
	if packing != nil {
		packingErr = fault.At("", "", "scale_factor, add_offset and limits at a dataset of numbers", "a table with them",
			"it is not known which field they concern: write each field as a dataset")
	}

	parts := map[string]string{} // usual names of the parts of complex numbers, which h5py names r and i
	if m := dataset.Type.Members; len(m) == 2 && m[0].Name == "r" && m[1].Name == "i" {
		parts["r"] = "real"
		parts["i"] = "imag"
	}

	for _, member := range dataset.Type.Members {
		field := dataset.inner(member)
		part := name + "." + cmp.Or(parts[member.Name], member.Name)

		if err := cmp.Or(field.err, packingErr); err != nil {
			h.r.Unread(part, member.Type.numeric, err.Error())
			continue
		}

		if err := h.channels(field, part, attrs, dataset.Path, nil); err != nil {
			return err
		}
	}

	return nil
}

// channels adds the channels of a dataset, or of a field of the dataset at datasetPath. A single number becomes an
// attribute. attrs are the attributes of the channels. packing may be nil.
func (h *recording) channels(
	dataset *Dataset, name string, attrs []ingest.Attribute, datasetPath string, packing *arrays.Packing,
) error {
	n := dataset.Elements()
	if n == 1 {
		return h.single(dataset, name, packing)
	}

	a, axes := h.array(dataset, name, datasetPath)
	a.Attributes = attrs

	axis, err := arrays.Axes(a.Dims, axes, h.clocks[path.Dir(dataset.Path)], h.options)
	if err != nil {
		h.r.Unread(name, true, err.Error())
		return nil
	}

	reader, err := dataset.NewReader(h.cache)
	if err != nil {
		h.r.Unread(name, true, err.Error())
		return nil
	}

	if !h.plausible(n) {
		h.r.Unread(name, true, fmt.Sprintf("%d samples are declared, which a file of %d bytes cannot hold: they were never "+
			"written, or are all equal", n, h.f.src.size))
		return nil
	}

	h.declared += n

	if t := dataset.Type; t.Class == Integer && t.Size <= 4 {
		a.Quantum = arrays.Integers(8*t.Size, t.Signed)
	}

	p := &plane{r: reader, axis: axis}
	if h.matlab {
		p.axis = len(dataset.Dims) - 1 - axis // in the order of the file
	}

	a.Axis = axis
	a.Plane = p
	if packing != nil {
		a.Plane = packing.Unpack(p)
		a.Quantum = packing.Quantum(a.Quantum)
	}

	return h.r.Add(a)
}

// array returns the description of an array, without its samples, and the names of its axes. The array is a dataset, or
// a field of the dataset at datasetPath.
//
// MATLAB writes its axes in reverse order: the first axis runs fastest in MATLAB, and the last axis runs fastest in a
// file. So array reverses the axes of MATLAB files. Counted with the first axis running fastest, the channels of the
// array are then the channels of the dataset.
func (h *recording) array(dataset *Dataset, name, datasetPath string) (a arrays.Array, axes []string) {
	a = arrays.Array{Name: name, Dims: dataset.Dims, ColumnMajor: h.matlab}
	a.Group = datasetPath[:strings.LastIndexByte(datasetPath, '/')]
	if h.benchmark {
		a.Unit = benchmarkUnit(datasetPath)
	}

	axes = h.axes(dataset)
	if h.matlab {
		a.Group = arrays.Parent(name)
		a.Dims = slices.Clone(dataset.Dims)
		axes = slices.Clone(axes)
		slices.Reverse(a.Dims)
		slices.Reverse(axes)
	}

	return a, axes
}

// single adds an attribute with the number of a dataset of one element.
func (h *recording) single(dataset *Dataset, name string, packing *arrays.Packing) error {
	v, err := dataset.floats()
	if err != nil {
		return err
	}

	if packing != nil {
		packing.Apply(v)
	}

	h.r.Attribute(name, arrays.Number(v[0]))

	return nil
}

// plausible reports whether the file may contain n more samples.
func (h *recording) plausible(n int64) bool {
	all := h.declared + n
	if n < 0 || all < 0 {
		return false
	}

	return all <= maxUnwritten || all/maxPerByte <= h.f.src.size
}

// plane gives access to a dataset as channels.
type plane struct {
	r    *Reader
	axis int // the axis of the dataset that is time
}

// Read implements arrays.Plane.
func (p *plane) Read(channels []int, start int64, dst [][]float64) error {
	return p.r.ReadChannels(p.axis, channels, start, dst)
}
