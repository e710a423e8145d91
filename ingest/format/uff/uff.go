// Package uff reads universal files (UFF, UNV): datasets 58 and 58b, functions at
// nodal degrees of freedom, as analysers of vibration and sound export them. Other
// datasets are skipped. Time series are channels; spectra are shown and refused
// where a time series is needed.
package uff

import (
	"bytes"
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
	headerLines = 11 // of a dataset 58, after the line with its number
	maxLine     = 4096
	delimiter   = "    -1"
	blanks      = " \t\r"
	timeAxis    = 17 // type of an abscissa
)

// functions names the types of a function.
var functions = []string{
	"general", "time response", "auto spectrum", "cross spectrum", "frequency response function", "transmissibility",
	"coherence", "auto correlation", "cross correlation", "power spectral density", "energy spectral density",
	"probability density function", "spectrum", "cumulative frequency distribution", "peaks valley", "stress/cycles",
	"strain/cycles", "orbit", "mode indicator function", "force pattern", "partial power", "partial coherence",
	"eigenvalue", "eigenvector", "shock response spectrum", "finite impulse response filter", "multiple coherence",
	"order function", "phase compensation",
}

// detect wants a delimiter, a dataset's number in its columns, and then what no table
// of numbers has that begins with lines of one: a letter, or a line of several.
func detect(head []byte, _ ingest.Source) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	second, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || strings.TrimRight(string(first), " \r") != delimiter || len(second) < 6 {
		return false
	}

	n, err := strconv.Atoi(strings.TrimSpace(string(second[:6])))

	third, _, _ := bytes.Cut(rest, []byte("\n"))

	return err == nil && n > 0 && (len(bytes.Fields(third)) > 1 || bytes.ContainsFunc(rest, func(r rune) bool {
		return r|0x20 >= 'a' && r|0x20 <= 'z' && r|0x20 != 'e'
	}))
}

// record is a dataset 58.
type record struct {
	at       int64 // byte of its number
	binary   bool
	bytes    int64 // of binary data, as stated; 0: not stated
	little   bool
	id       [5]string
	function int
	entity   string
	dof, ref string // node and direction: "12+Z"
	double   bool
	complex  bool
	even     bool
	points   int64
	inc      float64
	incText  string
	axis     int // type of the abscissa
	axisUnit string
	label    string
	unit     string

	plane arrays.Plane
}

// values is the numbers of a point: the abscissa where it is uneven, then one or two.
func (d *record) values() int {
	n := 1
	if d.complex {
		n++
	}

	if !d.even {
		n++
	}

	return n
}

// file is a UFF file while it is looked through.
type file struct {
	src     ingest.Source
	o       ingest.Options
	in      *lines.Reader
	records []*record
	skipped map[string]int
	warn    []ingest.Warning
	closers []io.Closer
}

// ends reports whether a line is a delimiter. Exporters put blanks after it.
func ends(line []byte) bool {
	line = bytes.TrimLeft(line, blanks)
	return len(line) >= 2 && line[0] == '-' && line[1] == '1' && len(bytes.TrimSpace(line[2:])) == 0
}

func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	f := &file{src: src, o: o, in: lines.New(src, maxLine, true), skipped: map[string]int{}}

	defer func() {
		for _, c := range f.closers {
			if err != nil {
				err = errors.Join(err, c.Close())
			}
		}
	}()

	defer fault.Catch(&err)

	f.scan()

	return f.reader(), nil
}

// scan finds the datasets 58.
func (f *file) scan() {
	for {
		b, _, ok := f.in.More()
		if !ok {
			return
		}

		if !ends(b) {
			continue // between datasets
		}

		b, at, ok := f.in.More()
		if !ok {
			return
		}

		number := string(bytes.TrimSpace(b[:min(6, len(b))]))
		if number == "58" {
			f.src.Unless(len(f.records) < 1<<16, at, "at most 65536 datasets 58", "more", "")
			f.function(b, at, len(b) > 6 && b[6]|0x20 == 'b')

			continue
		}

		if len(f.skipped) < 64 || f.skipped[number] > 0 {
			f.skipped[raw.Text([]byte(number))]++
		}

		if ends(b) { // a delimiter too many
			f.in.Go(at)
			continue
		}

		for ok && !ends(b) {
			b, _, ok = f.in.More()
		}
	}
}

// reader makes channels of the records.
func (f *file) reader() ingest.Reader {
	if len(f.records) == 0 {
		found := "none"
		if others := slices.Sorted(maps.Keys(f.skipped)); len(others) > 0 {
			found = "datasets " + strings.Join(others, ", ")
		}

		fault.Raise(fault.At(f.src.Path, "", "a dataset 58 with a function", found,
			"geometry and mode shapes are not read: export time histories"))
	}

	info := ingest.Info{Path: f.src.Path, Format: "uff", Encoding: "UFF 58, text", Warnings: f.warn}
	if f.records[0].binary {
		info.Encoding = "UFF 58b, binary"
	}

	r := &reader{Reader: arrays.New(info, append(f.closers, f.src)...), spectra: map[int]string{}}
	for i, name := range names(f.records) {
		r.add(f.records[i], name)
	}

	for _, number := range slices.Sorted(maps.Keys(f.skipped)) {
		r.Unread("dataset "+number, false, "not a function (dataset 58)")
	}

	fault.Raise(r.Finish(f.o))

	return r
}

// names gives the records names: those of their entities, their degrees of freedom,
// their labels or their first lines, the first of these that differ in all records,
// else the first that a record has alone, else its number.
func names(records []*record) []string {
	var kinds [4][]string

	count := map[string]int{}
	for _, d := range records {
		dof := d.dof
		if d.ref != "" && dof != "" {
			dof += " " + d.ref
		}

		for k, s := range []string{d.entity, dof, d.label, d.id[0]} {
			kinds[k] = append(kinds[k], s)
			count[strconv.Itoa(k)+s]++
		}
	}

	alone := func(k, i int) bool { return kinds[k][i] != "" && count[strconv.Itoa(k)+kinds[k][i]] == 1 }
	for k, all := range kinds {
		if n := 0; slices.ContainsFunc(all, func(string) bool { n++; return !alone(k, n-1) }) {
			continue
		}
		return all
	}

	out, taken := make([]string, len(records)), map[string]bool{}
	for i := range records {
		out[i] = strconv.Itoa(i + 1)
		for k := range kinds {
			if alone(k, i) && !taken[kinds[k][i]] {
				out[i] = kinds[k][i]
				break
			}
		}

		taken[out[i]] = true
	}

	return out
}

// reader is the arrays of a file, and which of them are no time series.
type reader struct {
	*arrays.Reader
	spectra map[int]string // by channel
}

// add makes the channels of a record.
func (r *reader) add(d *record, name string) {
	from := len(r.Info().Channels)
	a := arrays.Array{Name: name, Dims: []int64{d.points}, Unit: d.unit, Group: name, Plane: d.plane}

	function := fmt.Sprintf("type %d", d.function)
	if d.function >= 0 && d.function < len(functions) {
		function = functions[d.function]
	}

	stated := append([]string{function, d.entity, d.dof, d.ref, d.label}, d.id[:]...)
	for k, name := range strings.Fields("function entity response reference quantity id1 id2 id3 id4 id5") {
		if stated[k] != "" {
			a.Attributes = append(a.Attributes, ingest.Attribute{Name: name, Value: stated[k]})
		}
	}

	inTime := d.axis == timeAxis || d.axis == 0 && d.function == 1
	if !d.even {
		x := a
		x.Name, x.Unit, x.Attributes, x.Plane = name+"/abscissa", d.axisUnit, nil, &first{d.plane}
		if inTime {
			x.Name = name + "/time"
			if x.Unit == "" {
				x.Unit = "s"
			}
		}

		fault.Raise(r.Add(x))

		a.First = 1
	} else if inTime {
		unit, known := clock.Seconds(d.axisUnit)
		if !known {
			unit = 1 // the abscissa is time: "T", "sec."
		}

		a.RateHz, _, _ = lines.Rate(d.inc, d.incText, unit)
	}

	parts := []string{""}
	if d.complex {
		parts = []string{".real", ".imag"}
	}

	for i, p := range parts {
		c := a
		c.Name, c.First = name+p, a.First+i
		fault.Raise(r.Add(c))
	}

	if !inTime {
		for c := from; c < len(r.Info().Channels); c++ {
			r.spectra[c] = function
		}
	}
}

// first is the first channel of a plane, by itself: a clock has a plane of its own.
type first struct{ arrays.Plane }

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

// binaryPlane makes the plane of a record whose numbers are binary from a byte on.
func (f *file) binaryPlane(d *record, at int64) {
	kind := raw.F32
	if d.double {
		kind = raw.F64
	}

	k := d.values()
	src := f.src
	src.Closer = nil
	p := raw.New(src, ingest.Info{Path: f.src.Path, Channels: make([]ingest.Channel, k)}, raw.Layout{
		Offset: at, Frames: d.points, Channels: k, Kind: kind, BigEndian: !d.little, Scale: 1,
	})
	f.closers = append(f.closers, p)
	d.plane = arrays.Of(p)
}
