// Package netcdf reads netCDF files of the classic formats: version 3 (CDF-1), with
// 64-bit offsets (CDF-2) and with 64-bit data (CDF-5). Files of netCDF-4 are HDF5
// and read as such. Packed numbers, fill values and valid ranges follow the
// conventions of netCDF.
package netcdf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// Format is netCDF-3.
var Format = ingest.Format{
	Name: "netcdf", Title: "netCDF-3", Endings: []string{".nc", ".cdf", ".nc3"}, Attributes: true,
	Magic: []string{"CDF\x01", "CDF\x02", "CDF\x05"}, Open: open,
}

// maxTexts is the longest array of characters that is an attribute.
const maxTexts = 4096

// kinds are the types of numbers, by their number in the file; 2 is char.
var kinds = map[uint32]struct {
	kind raw.Kind
	fill float64 // of elements that were never written; NaN: a byte's are values
}{
	1: {raw.I8, math.NaN()}, 3: {raw.I16, -32767}, 4: {raw.I32, -2147483647},
	5: {raw.F32, float64(float32(9.9692099683868690e+36))}, 6: {raw.F64, 9.9692099683868690e+36},
	7: {raw.U8, math.NaN()}, 8: {raw.U16, 65535}, 9: {raw.U32, 4294967295},
	10: {raw.I64, -9223372036854775806}, 11: {raw.U64, 18446744073709551614},
}

const char = 2

// attribute is an attribute: a text or numbers.
type attribute struct {
	name    string
	text    string
	numbers arrays.Numbers
}

// String is the attribute's value as people read it.
func (a attribute) String() string {
	if a.numbers.Values == nil {
		return a.text
	}

	var b strings.Builder
	for i, v := range a.numbers.Values {
		if i == 16 {
			return b.String() + " …"
		}

		if i > 0 {
			b.WriteByte(' ')
		}

		b.WriteString(arrays.Number(v))
	}

	return b.String()
}

// variable is an array of the file.
type variable struct {
	name       string
	dims       []int64
	axes       []string // the names of dims
	record     bool     // its first axis is that of records
	attributes []attribute
	kind       uint32
	size       int64 // of an element
	begin      int64
	bytes      int64 // of the array, or of a record's part of it, without padding
}

func (v *variable) attribute(name string) (attribute, bool) {
	return lists.Find(v.attributes, func(a attribute) bool { return a.name == name })
}

func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	f := &file{src: src}
	f.header()

	names := map[byte]string{1: "netCDF classic", 2: "netCDF classic, 64-bit offsets", 5: "netCDF classic, 64-bit data"}
	r := arrays.New(ingest.Info{Path: src.Path, Format: "netcdf", Encoding: names[f.version]}, src)
	f.records(r, o)

	for _, a := range f.attributes {
		r.Attribute(a.name, a.String())
	}

	for _, v := range f.variables {
		f.add(r, v, o)
	}

	return r, r.Finish(o)
}

// records finds how many records there are and how long each is.
func (f *file) records(r *arrays.Reader, o ingest.Options) {
	var own []*variable
	for _, v := range f.variables {
		if v.record {
			own = append(own, v)
			padded := (v.bytes + 3) &^ 3
			f.src.Unless(padded <= math.MaxInt64/2-f.recordSize, v.begin, "records in a file", v.shape(), raw.Damaged)
			f.recordSize += padded
		}
	}

	if len(own) == 0 {
		return
	}

	if len(own) == 1 { // alone, its records follow each other without padding
		f.recordSize = own[0].bytes
	}

	there := int64(math.MaxInt64)
	for _, v := range own {
		n := int64(0)
		if left := f.src.Size - v.begin; v.bytes > 0 && left >= v.bytes {
			n = (left-v.bytes)/f.recordSize + 1
		}

		if v.bytes > 0 {
			there = min(there, n)
		}
	}

	if f.count > there {
		r.Warn(fault.Get(raw.Short(f.src, o, 4, fmt.Sprintf("the header claims %d records, there are %d", f.count, there),
			"whole records", there > 0))...)
	}

	if f.count < 0 || f.count > there { // written as a stream, or cut short
		f.count = there
	}

	for _, v := range own {
		v.dims[0] = f.count
	}
}

// shape describes a variable.
func (v *variable) shape() string { return fmt.Sprintf("variable %s of shape %v", v.name, v.dims) }

// add makes channels of a variable, or attributes of single numbers and texts.
func (f *file) add(r *arrays.Reader, v *variable, o ingest.Options) {
	n := int64(1)
	for _, d := range v.dims {
		f.src.Unless(d == 0 || n <= math.MaxInt64/8/max(1, d), v.begin, "an array in a file", v.shape(), raw.Damaged)
		n *= d
	}

	switch {
	case n == 0:
		r.Unread(v.name, false, "an empty variable")
		return
	case v.kind == char && n > maxTexts:
		r.Unread(v.name, false, "a table of texts")
		return
	}

	if end := v.begin + n*v.size; !v.record && n*v.size > f.src.Size-v.begin {
		found := fmt.Sprintf("variable %s ends at byte %d of %d", v.name, end, f.src.Size)
		f.src.Unless(o.Truncated == "use", f.src.Size, "the whole of a variable", found, raw.CutShort)
		r.Unread(v.name, true, found)

		return
	}

	f.total += n * v.size
	f.src.Unless(f.total <= f.src.Size, v.begin, "variables one after the other", v.name+" in the place of others",
		raw.Damaged)

	if v.kind == char {
		f.text(r, v, n)
		return
	}

	attrs := lists.Each(v.attributes, func(a attribute) ingest.Attribute {
		return ingest.Attribute{Name: a.name, Value: a.String()}
	})
	attrs = append(attrs, ingest.Attribute{Name: "type", Value: kinds[v.kind].kind.String()},
		ingest.Attribute{Name: "shape", Value: fmt.Sprint(v.dims)})

	p := &plane{f: f, v: v}
	a := arrays.Array{
		Name: v.name, Dims: v.dims, Attributes: attrs, Quantum: arrays.QuantumOf(kinds[v.kind].kind.String()), Plane: p,
	}
	if n == 1 {
		a.Dims = []int64{1}
	}

	packing, err := v.packing()
	if err == nil {
		a.Axis, err = arrays.Axes(a.Dims, f.axes(v), 0, o.Arrays)
	}

	if err != nil {
		r.Unread(v.name, true, err.Error())
		return
	}

	p.layout(a.Dims, a.Axis)

	if packing != nil {
		a.Plane, a.Quantum = packing.Unpack(p), packing.Quantum(a.Quantum)
	}

	if n == 1 {
		fault.Raise(r.Single(v.name, a.Plane))
	} else {
		fault.Raise(r.Add(a))
	}
}

// axes returns the names of a variable's axes, "time" of those whose coordinate has a
// unit of time.
func (f *file) axes(v *variable) []string {
	names := slices.Clone(v.axes)
	for _, c := range f.variables {
		units, _ := c.attribute("units")
		if i := slices.Index(names, c.name); i >= 0 && len(c.dims) == 1 && clock.Unit(units.text) {
			names[i] = "time"
		}
	}

	return names
}

// text makes an attribute of an array of characters, a line for each row.
func (f *file) text(r *arrays.Reader, v *variable, n int64) {
	width := n
	if len(v.dims) > 0 {
		width = max(1, v.dims[len(v.dims)-1])
	}

	if v.record {
		r.Unread(v.name, false, "a table of texts")
		return
	}

	b := make([]byte, n)
	fault.Raise(raw.ReadHeader(f.src, b, v.begin, "a text"))

	var lines []string
	for ; int64(len(b)) >= width; b = b[width:] {
		lines = append(lines, raw.Text(b[:width]))
	}

	r.Attribute(v.name, strings.Join(lines, "\n"))
}

// packing returns the packing that the attributes state, nil if none.
func (v *variable) packing() (*arrays.Packing, error) {
	k := kinds[v.kind]
	t := arrays.Stored{Bits: 8 * k.kind.Bytes(), Integer: k.kind.Integer(), Signed: k.kind.Signed()}

	var fill []float64
	if !math.IsNaN(k.fill) {
		fill = []float64{k.fill}
	}

	return arrays.NewPacking(t, fill, func(name string) (arrays.Numbers, bool) {
		a, ok := v.attribute(name)
		if ok && a.numbers.Values == nil {
			return arrays.TextNumber(a.text), true
		}

		return arrays.Numbers{Values: slices.Clone(a.numbers.Values), Integer: a.numbers.Integer}, ok
	})
}
