// Package uff reads universal files (UFF, UNV): datasets 58 and 58b, "Function at Nodal DOF", as analysers of vibration
// and sound export them (University of Cincinnati SDRL, "Universal File Formats"). Other datasets are skipped. All
// functions become channels. Functions that are not time series are refused only if a time series is needed.
//
// A file is a list of datasets. A dataset begins and ends with a line that contains "-1" in columns 5 and 6; its first
// line is its number. A dataset 58 has a header of 11 lines (record.go), and then numbers as text or, in a dataset 58b,
// as binary data (data.go). open reads the headers and finds where the numbers lie; Read parses them.
package uff

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
)

// Format is UFF.
var Format = ingest.Format{
	Name: "uff", Title: "UFF 58", Endings: []string{".uff", ".unv", ".bunv"}, Attributes: true, Detect: detect, Open: open,
}

const (
	headerLines = 11   // lines of the header of a dataset 58, behind the line with its number
	maxLine     = 4096 // bytes of a line that are looked at
	delimiter   = "    -1"
	blanks      = " \t\r"
	timeAxis    = 17 // type of an abscissa that is time

	maxRecords = 1 << 16 // datasets 58 of a file
	maxSkipped = 64      // numbers of other datasets that are counted
)

// functions has the names of the types of a function (line 6 of the header, field 1), in their order from 0 on.
var functions = []string{
	"general", "time response", "auto spectrum", "cross spectrum", "frequency response function", "transmissibility",
	"coherence", "auto correlation", "cross correlation", "power spectral density", "energy spectral density",
	"probability density function", "spectrum", "cumulative frequency distribution", "peaks valley", "stress/cycles",
	"strain/cycles", "orbit", "mode indicator function", "force pattern", "partial power", "partial coherence",
	"eigenvalue", "eigenvector", "shock response spectrum", "finite impulse response filter", "multiple coherence",
	"order function", "phase compensation",
}

// detect reports whether a file begins with a delimiter, the number of a dataset in the first six columns, and then
// something that a table of single numbers does not have: a letter, or a line of several words.
func detect(head []byte, _ ingest.Source) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	second, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || strings.TrimRight(string(first), " \r") != delimiter || len(second) < 6 {
		return false
	}

	n, err := strconv.Atoi(strings.TrimSpace(string(second[:6])))
	if err != nil || n <= 0 {
		return false
	}

	third, _, _ := bytes.Cut(rest, []byte("\n"))

	return len(bytes.Fields(third)) > 1 || bytes.ContainsFunc(rest, isLetter)
}

// isLetter reports whether a character is a letter from a to z other than the E of an exponent.
func isLetter(r rune) bool {
	lower := r | 0x20
	return lower >= 'a' && lower <= 'z' && lower != 'e'
}

// file is a UFF file.
type file struct {
	src      ingest.Source
	o        ingest.Options
	lines    *lines.Reader
	records  []*record
	skipped  map[string]int // how many other datasets there are, by their numbers
	warnings []ingest.Warning
	closers  []io.Closer // planes of binary data
}

// isDelimiter reports whether a line is a delimiter. Exporters write blanks before and behind it.
func isDelimiter(line []byte) bool {
	line = bytes.TrimLeft(line, blanks)
	return len(line) >= 2 && line[0] == '-' && line[1] == '1' && len(bytes.TrimSpace(line[2:])) == 0
}

// open finds the datasets 58 of a file.
func open(src ingest.Source, options ingest.Options) (ingest.Reader, error) {
	f := &file{src: src, o: options, lines: lines.New(src, maxLine, lines.CutLong), skipped: map[string]int{}}

	r, err := f.reader()
	if err != nil {
		for _, c := range f.closers {
			err = errors.Join(err, c.Close())
		}

		return nil, err
	}

	return r, nil
}

// scan reads all datasets.
func (f *file) scan() error {
	for {
		line, _, err := f.lines.Next()
		if err == nil && !isDelimiter(line) {
			continue // a line between datasets
		}

		if err == nil { // the delimiter that begins a dataset
			err = f.dataset()
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// dataset reads a dataset 58, or skips another dataset and counts it. At the end of the file it returns io.EOF.
func (f *file) dataset() error {
	line, begin, err := f.lines.Next()
	if err != nil {
		return err
	}

	number := string(bytes.TrimSpace(line[:min(6, len(line))]))
	if number == "58" {
		if len(f.records) >= maxRecords {
			return f.src.Fault(begin, fmt.Sprintf("at most %d datasets 58", maxRecords), "more", "")
		}

		return f.function(line, begin)
	}

	if len(f.skipped) < maxSkipped || f.skipped[number] > 0 {
		f.skipped[raw.Text([]byte(number))]++
	}

	if isDelimiter(line) { // two delimiters: the second begins the dataset
		f.lines.GoTo(begin)
		return nil
	}

	for err == nil && !isDelimiter(line) {
		line, _, err = f.lines.Next()
	}

	return err
}

// reader reads the file and returns a reader whose channels are the functions of the records.
func (f *file) reader() (ingest.Reader, error) {
	if err := f.scan(); err != nil {
		return nil, err
	}

	if len(f.records) == 0 {
		found := "none"
		if others := slices.Sorted(maps.Keys(f.skipped)); len(others) > 0 {
			found = "datasets " + strings.Join(others, ", ")
		}

		return nil, fault.At(f.src.Path, "", "a dataset 58 with a function", found,
			"geometry and mode shapes are not read: export time histories")
	}

	info := ingest.Info{Path: f.src.Path, Format: "uff", Encoding: "UFF 58, text", Warnings: f.warnings}
	if f.records[0].binary {
		info.Encoding = "UFF 58b, binary"
	}

	r := &reader{Reader: arrays.New(info, append(f.closers, f.src)...), spectra: map[int]string{}}
	for i, name := range names(f.records) {
		if err := r.add(f.records[i], name); err != nil {
			return nil, err
		}
	}

	for _, number := range slices.Sorted(maps.Keys(f.skipped)) {
		r.Unread("dataset "+number, false, "not a function (dataset 58)")
	}

	if err := r.Finish(f.o); err != nil {
		return nil, err
	}

	return r, nil
}

// names returns a name for each record. There are four kinds of names: entities, degrees of freedom, labels and first
// lines. If the names of a kind differ in all records, names returns the first such kind. Otherwise each record gets
// the first of its four names that no other record has, or else its number, from 1.
func names(records []*record) []string {
	var kinds [4][]string        // the names of each kind, by record
	var counts [4]map[string]int // how many records have a name of each kind
	for k := range counts {
		counts[k] = map[string]int{}
	}

	for _, record := range records {
		dof := record.dof
		if record.ref != "" && dof != "" {
			dof += " " + record.ref
		}

		for k, name := range []string{record.entity, dof, record.label, record.id[0]} {
			kinds[k] = append(kinds[k], name)
			counts[k][name]++
		}
	}

	for k, names := range kinds {
		if len(counts[k]) == len(names) && counts[k][""] == 0 {
			return names
		}
	}

	names := make([]string, len(records)) // "" until a record has a name
	taken := map[string]bool{"": true}
	for i := range records {
		for k := range kinds {
			name := kinds[k][i]
			if counts[k][name] == 1 && !taken[name] {
				names[i] = name
				taken[name] = true

				break
			}
		}
	}

	for i := range names {
		if names[i] == "" {
			names[i] = unlike(taken, strconv.Itoa(i+1))
		}
	}

	return names
}

// unlike returns the number of a record as its name, with # before it if the name is taken: a label may be a number,
// too. It adds the name to taken.
func unlike(taken map[string]bool, number string) string {
	name := number
	for taken[name] {
		name = "#" + name
	}

	taken[name] = true

	return name
}

// reader is a reader of named arrays that knows which channels are not time series.
type reader struct {
	*arrays.Reader
	spectra map[int]string // name of the type of function, by channel, for functions over another axis than time
}

// add adds the channels of a record: the abscissa if its steps are uneven, and the ordinate, as real and imaginary
// parts if it is complex.
func (r *reader) add(d *record, name string) error {
	firstChannel := len(r.Info().Channels)
	function := functionName(d.function)
	a := arrays.Array{
		Name: name, Dims: []int64{d.points}, Unit: d.unit, Group: name, Plane: d.plane, Attributes: d.attributes(function),
	}

	const timeResponse = 1 // of functions
	isUnknownAxis := d.axis == 0
	inTime := d.axis == timeAxis || isUnknownAxis && d.function == timeResponse

	switch {
	case !d.even:
		if err := r.Add(d.abscissa(name, inTime)); err != nil {
			return err
		}

		a.First = 1
	case inTime:
		unit, known := clock.Seconds(d.axisUnit)
		if !known {
			unit = 1 // such as "T"; the abscissa is time, so it is in s
		}

		a.RateHz, _, _ = lines.Rate(d.inc, d.incText, unit)
	}

	parts := []string{""}
	if d.complex {
		parts = []string{".real", ".imag"}
	}

	for i, part := range parts {
		c := a
		c.Name += part
		c.First += i
		if err := r.Add(c); err != nil {
			return err
		}
	}

	if !inTime {
		for c := firstChannel; c < len(r.Info().Channels); c++ {
			r.spectra[c] = function
		}
	}

	return nil
}

// functionName returns the name of a type of function, and "type N" for unknown types.
func functionName(function int) string {
	if function >= 0 && function < len(functions) {
		return functions[function]
	}

	return fmt.Sprintf("type %d", function)
}

// attributes returns what the header of a record states about it, without empty values.
func (d *record) attributes(function string) []ingest.Attribute {
	stated := []ingest.Attribute{
		{Name: "function", Value: function},
		{Name: "entity", Value: d.entity},
		{Name: "response", Value: d.dof},
		{Name: "reference", Value: d.ref},
		{Name: "quantity", Value: d.label},
	}
	for i, id := range d.id {
		stated = append(stated, ingest.Attribute{Name: "id" + strconv.Itoa(i+1), Value: id})
	}

	return slices.DeleteFunc(stated, func(a ingest.Attribute) bool { return a.Value == "" })
}

// abscissa returns the abscissa of a record with uneven steps as an array.
func (d *record) abscissa(name string, inTime bool) arrays.Array {
	x := arrays.Array{
		Name: name + "/abscissa", Dims: []int64{d.points}, Unit: d.axisUnit, Group: name,
		Plane: &abscissaPlane{d.plane},
	}
	if inTime {
		x.Name = name + "/time"
		x.Unit = cmp.Or(x.Unit, "s")
	}

	return x
}

// abscissaPlane is a plane of its own for the abscissa of a record. The ordinate has the record's plane, and
// arrays.Reader recognises a clock only if its plane has one channel.
type abscissaPlane struct{ arrays.Plane }

// TimeSeries implements ingest.Spectral.
func (r *reader) TimeSeries(channels []int) error {
	for _, c := range channels {
		if function := r.spectra[c]; function != "" {
			return fault.At(r.Info().Path, "channel "+r.Info().Channels[c].Name, "a time series",
				"a function over another axis ("+function+")", "pipeline inspect shows it; two halves of a recording cannot be "+
					"had from one spectrum: export the time history it was made of")
		}
	}

	return r.Reader.TimeSeries(channels)
}
