// Package netcdf reads netCDF files of the classic formats: version 3 (CDF-1), with 64-bit offsets (CDF-2) and with
// 64-bit data (CDF-5). Files of netCDF-4 are HDF5 files, which package hdf5 reads. Packed numbers, fill values and
// valid ranges follow the conventions of netCDF.
//
// A file is a header (header.go) and the data of the variables. A variable is an array of fixed size, or an array with
// an element for each record. The fixed arrays lie one after the other; then come the records, each with the elements
// of all record variables.
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
)

// Format is netCDF-3.
var Format = ingest.Format{
	Name: "netcdf", Title: "netCDF-3", Endings: []string{".nc", ".cdf", ".nc3"}, Attributes: true,
	Magic: []string{"CDF\x01", "CDF\x02", "CDF\x05"}, Open: open,
}

// maxTexts is the number of characters up to which an array of characters becomes an attribute.
const maxTexts = 4096

// kinds has the types of numbers, by their number in the file (netcdf.h: NC_BYTE to NC_UINT64, NC_FILL_SHORT to
// NC_FILL_UINT64).
var kinds = map[uint32]struct {
	kind raw.Kind
	fill float64 // value of elements that were never written; NaN for bytes, whose fill value is a valid value
}{
	1:  {raw.I8, math.NaN()},
	3:  {raw.I16, -32767},
	4:  {raw.I32, -2147483647},
	5:  {raw.F32, float64(float32(9.9692099683868690e+36))},
	6:  {raw.F64, 9.9692099683868690e+36},
	7:  {raw.U8, math.NaN()},
	8:  {raw.U16, 65535},
	9:  {raw.U32, 4294967295},
	10: {raw.I64, -9223372036854775806},
	11: {raw.U64, 18446744073709551614},
}

// char is the type of characters, by its number in the file.
const char = 2

// attribute is an attribute of the file or of a variable: a text or numbers.
type attribute struct {
	name    string
	text    string
	numbers arrays.Numbers // without Values for a text
}

// maxShown is the number of an attribute's numbers that String writes.
const maxShown = 16

// String returns the attribute's value for people.
func (a attribute) String() string {
	if a.numbers.Values == nil {
		return a.text
	}

	var b strings.Builder
	for i, v := range a.numbers.Values {
		if i == maxShown {
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
	dims       []int64  // lengths of the axes
	axes       []string // names of the axes
	record     bool     // the first axis counts the records
	attributes []attribute
	kind       uint32 // type of the elements: a key of kinds, or char
	size       int64  // bytes of an element
	begin      int64  // offset of the data in the file
	bytes      int64  // bytes of the array, or of its elements in one record, without padding
}

// attribute returns the attribute with a name. It returns false if there is none.
func (v *variable) attribute(name string) (attribute, bool) {
	for _, attr := range v.attributes {
		if attr.name == name {
			return attr, true
		}
	}

	return attribute{}, false
}

// open reads the header of a file. Each variable becomes channels with its name. Single numbers and short texts become
// attributes.
func open(src ingest.Source, options ingest.Options) (ingest.Reader, error) {
	f, err := parse(src)
	if err != nil {
		return nil, err
	}

	names := map[byte]string{1: "netCDF classic", 2: "netCDF classic, 64-bit offsets", 5: "netCDF classic, 64-bit data"}
	reader := arrays.New(ingest.Info{Path: src.Path, Format: "netcdf", Encoding: names[f.version]}, src)

	if err := f.layRecords(reader, options); err != nil {
		return nil, err
	}

	for _, attr := range f.attributes {
		reader.Attribute(attr.name, attr.String())
	}

	for _, variable := range f.variables {
		if err := f.add(reader, variable, options); err != nil {
			return nil, err
		}
	}

	if err := reader.Finish(options); err != nil {
		return nil, err
	}

	return reader, nil
}

// layRecords sets the number of bytes of a record, the number of records that are read, and the lengths of the
// variables of records. If the file has another number of records than the header states, layRecords adds a warning or
// returns an error, depending on the options.
func (f *file) layRecords(reader *arrays.Reader, options ingest.Options) error {
	var variables []*variable
	for _, variable := range f.variables {
		if !variable.record {
			continue
		}

		padded := (variable.bytes + 3) &^ 3
		if padded > math.MaxInt64/2-f.recordSize {
			return f.src.Fault(variable.begin, "records in a file", variable.shape(), raw.Damaged)
		}

		f.recordSize += padded
		variables = append(variables, variable)
	}

	if len(variables) == 0 {
		return nil
	}

	if len(variables) == 1 { // the elements of a single record variable are not padded
		f.recordSize = variables[0].bytes
	}

	present := f.wholeRecords(variables)
	warnings, err := f.checkCount(present, options)
	if err != nil {
		return err
	}

	reader.Warn(warnings...)

	isStated := f.count > 0 && f.count <= present
	if !isStated {
		f.count = present
	}

	for _, variable := range variables {
		variable.dims[0] = f.count
	}

	return nil
}

// checkCount compares the number of records that the header states with the number of whole records that are present
// in the file. It returns an error or warnings if they differ, depending on the options.
func (f *file) checkCount(present int64, options ingest.Options) ([]ingest.Warning, error) {
	const countAt = 4 // offset of the number in the file

	switch {
	case f.count > present:
		found := fmt.Sprintf("the header claims %d records, there are %d", f.count, present)
		return raw.Short(f.src, options, countAt, found, "whole records", present > 0)
	case f.count == 0 && present > 0: // a program writes the number when it closes the file
		found := fmt.Sprintf("the header does not know the number of records (0, as programs write that are stopped); "+
			"the file has %s", fault.Plural(present, "whole record"))
		return raw.Partial(f.src, options, countAt, found, "to read them, set truncated: use under ingest", true)
	case f.count > 0 && f.count < present:
		return []ingest.Warning{ingest.Warn(f.src.Path, "extra-data", "the file has %s, and the header states %d: "+
			"the others are not read", fault.Plural(present, "whole record"), f.count)}, nil
	}

	return nil, nil
}

// wholeRecords returns the number of records that are in the file as a whole.
func (f *file) wholeRecords(variables []*variable) int64 {
	least := int64(math.MaxInt64)
	for _, variable := range variables {
		if variable.bytes <= 0 {
			continue
		}

		n := int64(0)
		if left := f.src.Size - variable.begin; left >= variable.bytes {
			n = (left-variable.bytes)/f.recordSize + 1
		}

		least = min(least, n)
	}

	return least
}

// shape describes a variable for messages.
func (v *variable) shape() string { return fmt.Sprintf("variable %s of shape %v", v.name, v.dims) }

// elements returns the number of elements of a variable. It returns an error if the number is too large for a file.
func (f *file) elements(v *variable) (int64, error) {
	n := int64(1)
	for _, length := range v.dims {
		if length != 0 && n > math.MaxInt64/8/max(1, length) {
			return 0, f.src.Fault(v.begin, "an array in a file", v.shape(), raw.Damaged)
		}

		n *= length
	}

	return n, nil
}

// add adds the channels of a variable, or an attribute for a single number or a text. Other variables are listed as not
// read.
func (f *file) add(reader *arrays.Reader, v *variable, options ingest.Options) error {
	n, err := f.elements(v)
	if err != nil {
		return err
	}

	switch {
	case n == 0:
		reader.Unread(v.name, false, "an empty variable")
		return nil
	case v.kind == char && n > maxTexts:
		reader.Unread(v.name, false, "a table of texts")
		return nil
	}

	if !v.record && n*v.size > f.src.Size-v.begin {
		found := fmt.Sprintf("variable %s ends at byte %d of %d", v.name, v.begin+n*v.size, f.src.Size)
		if options.Truncated != "use" {
			return f.src.Fault(f.src.Size, "the whole of a variable", found, raw.CutShort)
		}

		reader.Unread(v.name, true, found)

		return nil
	}

	f.total += n * v.size
	if f.total > f.src.Size {
		return f.src.Fault(v.begin, "variables one after the other", v.name+" in the place of others", raw.Damaged)
	}

	if v.kind == char {
		return f.text(reader, v, n)
	}

	return f.numbers(reader, v, n, options)
}

// numbers adds the channels of a variable with n numbers, or an attribute if n is 1.
func (f *file) numbers(reader *arrays.Reader, v *variable, n int64, options ingest.Options) error {
	var attrs []ingest.Attribute
	for _, attr := range v.attributes {
		attrs = append(attrs, ingest.Attribute{Name: attr.name, Value: attr.String()})
	}

	kind := kinds[v.kind].kind.String()
	attrs = append(attrs, ingest.Attribute{Name: "type", Value: kind},
		ingest.Attribute{Name: "shape", Value: fmt.Sprint(v.dims)})

	p := &plane{f: f, v: v}
	a := arrays.Array{Name: v.name, Dims: v.dims, Attributes: attrs, Quantum: arrays.QuantumOf(kind), Plane: p}
	if n == 1 {
		a.Dims = []int64{1}
	}

	packing, err := v.packing()
	if err != nil {
		reader.Unread(v.name, true, err.Error())
		return nil
	}

	a.Axis, err = arrays.Axes(a.Dims, f.axes(v), 0, options.Arrays)
	if err != nil {
		reader.Unread(v.name, true, err.Error())
		return nil
	}

	p.layout(a.Dims, a.Axis)

	if packing != nil {
		a.Plane = packing.Unpack(p)
		a.Quantum = packing.Quantum(a.Quantum)
	}

	if n == 1 {
		return reader.Single(v.name, a.Plane)
	}

	return reader.Add(a)
}

// axes returns the names of a variable's axes. The name is "time" if the coordinate of the axis, which is the variable
// with the name of the axis, has a unit of time.
func (f *file) axes(v *variable) []string {
	names := slices.Clone(v.axes)
	for _, c := range f.variables {
		units, _ := c.attribute("units")
		if i := slices.Index(names, c.name); i >= 0 && len(c.dims) == 1 && clock.IsUnit(units.text) {
			names[i] = "time"
		}
	}

	return names
}

// text adds an attribute with the text of an array of n characters. Each row of the array becomes a line.
func (f *file) text(reader *arrays.Reader, v *variable, n int64) error {
	width := n // characters of a row
	if len(v.dims) > 0 {
		width = max(1, v.dims[len(v.dims)-1])
	}

	if v.record {
		reader.Unread(v.name, false, "a table of texts")
		return nil
	}

	b := make([]byte, n)
	if err := raw.ReadHeader(f.src, b, v.begin, "a text"); err != nil {
		return err
	}

	var lines []string
	for ; int64(len(b)) >= width; b = b[width:] {
		lines = append(lines, raw.Text(b[:width]))
	}

	reader.Attribute(v.name, strings.Join(lines, "\n"))

	return nil
}

// packing returns the packing of the numbers that the attributes of a variable state. It returns nil and no error if
// the stored numbers are the values.
func (v *variable) packing() (*arrays.Packing, error) {
	k := kinds[v.kind]
	t := arrays.Stored{Bits: 8 * k.kind.Bytes(), Integer: k.kind.Integer(), Signed: k.kind.Signed()}

	var fill []float64
	if !math.IsNaN(k.fill) {
		fill = []float64{k.fill}
	}

	return arrays.NewPacking(t, fill, func(name string) (arrays.Numbers, bool) {
		attr, ok := v.attribute(name)
		if ok && attr.numbers.Values == nil {
			return arrays.TextNumber(attr.text), true
		}

		return arrays.Numbers{Values: slices.Clone(attr.numbers.Values), Integer: attr.numbers.Integer}, ok
	})
}
