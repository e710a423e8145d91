// Package npy reads arrays of numbers that numpy.save wrote: NPY files, versions
// 1.0 to 3.0, alone or as members of an archive.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is NPY.
var Format = ingest.Format{
	Name: "npy", Title: "NPY", Endings: []string{".npy"}, Magic: []string{magic},
	Open: func(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
		r, err := Open(src, o)
		if err != nil {
			return nil, err // never a Reader that is not nil
		}

		return r, nil
	},
}

const magic = "\x93NUMPY"

// Open reads the header of a NumPy array file, versions 1.0 to 3.0.
//
// One axis: one channel. Two axes: the longer one is time, unless the options
// name it, in either memory order. Integers are delivered unscaled, with
// the 53 bits a float64 has; the file states neither rate nor unit.
func Open(src ingest.Source, o ingest.Options) (*raw.Reader, error) {
	h, at, err := readHeader(src)
	if err != nil {
		return nil, err
	}

	kind, big, name, err := kindOf(h.descr)
	if err != nil {
		return nil, src.Fault(at, "an array of float32, float64 or integers", err.Error(),
			"save it with numpy.save(path, array.astype('float64'))")
	}

	var frames, chans int64

	timeFirst := true
	switch len(h.shape) {
	case 1:
		frames, chans = h.shape[0], 1
	case 2:
		axis, err := arrays.Axes(h.shape, nil, 0, o.Arrays)
		if err != nil {
			return nil, fault.In(src.Path, err)
		}

		if frames, chans = h.shape[0], h.shape[1]; axis == 1 {
			frames, chans, timeFirst = chans, frames, false
		}

	default:
		return nil, src.Fault(at, "one or two axes", fmt.Sprintf("%d, shape %v", len(h.shape), h.shape),
			"save one file per run, with the axes time and channel")
	}

	if frames == 0 || chans == 0 {
		return nil, src.Fault(at, "samples", fmt.Sprintf("an empty array, shape %v", h.shape), "the file holds no samples")
	}

	// In memory the last axis runs fastest, in Fortran order the first.
	l := raw.Layout{
		Offset: at + h.length, Kind: kind, BigEndian: big, Scale: 1, Planar: timeFirst == h.fortran && chans > 1,
	}

	info := ingest.Info{Path: src.Path, Format: "npy", Encoding: name}
	if frames, info.Warnings, err = usable(src, l, frames, chans, o); err != nil {
		return nil, err
	}

	// The file holds frames·chans samples, so chans is bounded by its size; the
	// memory of a channel other than its samples must stay small too.
	if chans > 1<<16 {
		return nil, src.Fault(at, "at most 65536 channels", strconv.FormatInt(chans, 10), "")
	}

	l.Frames, l.Channels = frames, int(chans)
	info.Attributes = []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(h.shape)}}
	info.Channels = make([]ingest.Channel, chans)
	for i := range info.Channels {
		info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), RateHz: o.RateHz, Samples: frames}
	}

	return raw.New(src, info, l), nil
}

// readHeader reads the header of an array and returns the byte where its
// dictionary begins.
func readHeader(src ingest.Source) (h header, at int64, err error) {
	get := func(b []byte, at int64) error { return raw.ReadHeader(src, b, at, "an NPY header") }

	var pre [12]byte
	if err := get(pre[:10], 0); err != nil {
		return h, 0, err
	}

	if string(pre[:6]) != magic {
		return h, 0, src.Fault(0, `"\x93NUMPY"`, strconv.Quote(string(pre[:6])), "this is no NPY file")
	}

	at = 10

	length := int64(binary.LittleEndian.Uint16(pre[8:]))
	switch pre[6] {
	case 1:
	case 2, 3:
		if err := get(pre[:12], 0); err != nil {
			return h, 0, err
		}
		at, length = 12, int64(binary.LittleEndian.Uint32(pre[8:]))

	default:
		return h, 0, src.Fault(6, "NPY version 1, 2 or 3", strconv.Itoa(int(pre[6])), "")
	}

	if length > 1<<20 {
		return h, 0, src.Fault(8, "a header of at most 1 MiB", fault.Plural(length, "byte"), "is the file damaged?")
	}

	if at+length > src.Size {
		return h, 0, src.Fault(src.Size, fmt.Sprintf("a header of %d bytes", length), "the end of the file",
			"the file is cut short")
	}

	head := make([]byte, length)
	if err := get(head, at); err != nil {
		return h, 0, err
	}

	if h, err = parseHeader(string(head)); err != nil {
		return h, 0, &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", at), Want: "an NPY header", Err: err}
	}

	h.length = length

	return h, at, nil
}

// usable returns how many samples of each channel the file holds of those the
// header claims: fewer are an error or a warning, as the options say.
func usable(src ingest.Source, l raw.Layout, frames, chans int64, o ingest.Options) (int64, []ingest.Warning, error) {
	warn := func(code, text string) []ingest.Warning {
		return []ingest.Warning{{Path: src.Path, Code: code, Text: text}}
	}
	bytes := int64(l.Kind.Bytes())
	have := (src.Size - l.Offset) / bytes

	need := int64(math.MaxInt64)
	if frames <= math.MaxInt64/bytes/chans {
		need = frames * chans
	}

	if have >= need {
		if more := src.Size - l.Offset - need*bytes; more > 0 {
			return frames, warn("extra-data", fmt.Sprintf("%d bytes after the array are not read", more)), nil
		}
		return frames, nil, nil
	}

	whole := have / chans
	what := fmt.Sprintf("the header claims %d samples of %s, there are %d", frames, fault.Plural(chans, "channel"), whole)
	if l.Planar { // a sample of every channel is there only when frames lie together
		whole = 0
		what = fmt.Sprintf("the header claims %s of %d samples, the file ends before their end",
			fault.Plural(chans, "channel"), frames)
	}

	switch {
	case whole == 0:
		return 0, nil, src.Fault(src.Size, "", what, "the file is cut short")
	case o.Truncated != "use":
		return 0, nil, src.Fault(src.Size, "", what,
			"is the file complete? with truncated: use, the whole frames are used")
	}

	return whole, warn("truncated", what+": these are used"), nil
}

// Scalar reads an array without axes, a single number, as text; false if it is
// none.
func Scalar(src ingest.Source) (string, bool) {
	h, at, err := readHeader(src)
	if err != nil || len(h.shape) != 0 {
		return "", false
	}

	kind, big, _, err := kindOf(h.descr)
	b := make([]byte, kind.Bytes())

	if err != nil || raw.ReadHeader(src, b, at+h.length, "a number") != nil {
		return "", false
	}

	return arrays.Number(raw.Value(kind, big, b)), true
}

// kindOf reads an array-protocol type string such as "<f4".
func kindOf(descr string) (kind raw.Kind, big bool, name string, err error) {
	if strings.HasPrefix(descr, "[") {
		return 0, false, "", errors.New("a structured array")
	}

	if len(descr) < 2 {
		return 0, false, "", fmt.Errorf("dtype %q", descr)
	}

	order, typ := descr[0], descr[1:]
	switch order {
	case '<', '|', '=':
	case '>':
		big = true
	default:
		typ = descr
	}

	letters := map[byte]string{'f': "float", 'i': "int", 'u': "uint"}
	size, _ := strconv.Atoi(typ[1:])
	name = fmt.Sprintf("%s%d", letters[typ[0]], 8*size)

	kind, known := raw.Named(name)
	if !known || len(typ) != 2 {
		switch typ[0] {
		case 'O':
			return 0, false, "", errors.New("a pickled array of Python objects")
		case 'c':
			return 0, false, "", errors.New("complex numbers")
		case 'U', 'S', 'a':
			return 0, false, "", errors.New("texts")
		}

		return 0, false, "", fmt.Errorf("dtype %q", descr)
	}

	if kind.Bytes() > 1 {
		if big {
			name += " big-endian"
		} else {
			name += " little-endian"
		}
	}

	return kind, big, name, nil
}

type header struct {
	descr   string
	fortran bool
	shape   []int64
	length  int64 // of the dictionary, in bytes
}

// parseHeader reads the Python dictionary
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
func parseHeader(s string) (header, error) {
	p := &parser{s: s}
	var h header
	var have [3]bool

	if !p.accept('{') {
		return h, fmt.Errorf("no dictionary, but %q", fault.Clip(s))
	}

	for !p.accept('}') {
		key, ok := p.text()
		if !ok || !p.accept(':') {
			return h, fmt.Errorf("no key at character %d of %q", p.i, fault.Clip(s))
		}

		switch key {
		case "descr":
			p.blank()

			if p.i < len(s) && s[p.i] == '[' {
				h.descr = "[" // a structured dtype: the caller refuses it, so what follows does not matter
				return h, nil
			}

			if h.descr, ok = p.text(); !ok {
				return h, fmt.Errorf("no dtype at character %d of %q", p.i, fault.Clip(s))
			}

			have[0] = true

		case "fortran_order":
			switch p.word() {
			case "True":
				h.fortran = true
			case "False":
			default:
				return h, errors.New("fortran_order is neither True nor False")
			}

			have[1] = true

		case "shape":
			var err error
			if h.shape, err = p.tuple(); err != nil {
				return h, err
			}

			have[2] = true

		default:
			return h, fmt.Errorf("unknown key %q", key)
		}

		if !p.accept(',') {
			if p.accept('}') {
				break
			}
			return h, fmt.Errorf("no comma at character %d of %q", p.i, fault.Clip(s))
		}
	}

	for i, k := range []string{"descr", "fortran_order", "shape"} {
		if !have[i] {
			return h, fmt.Errorf("the key %q is missing", k)
		}
	}

	return h, nil
}

type parser struct {
	s string
	i int
}

func (p *parser) blank() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n' || p.s[p.i] == '\t' || p.s[p.i] == '\r') {
		p.i++
	}
}

func (p *parser) accept(c byte) bool {
	p.blank()

	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}

	return false
}

func (p *parser) text() (string, bool) {
	p.blank()

	if p.i >= len(p.s) || p.s[p.i] != '\'' && p.s[p.i] != '"' {
		return "", false
	}

	end := strings.IndexByte(p.s[p.i+1:], p.s[p.i])
	if end < 0 {
		return "", false
	}

	t := p.s[p.i+1 : p.i+1+end]
	p.i += end + 2

	return t, true
}

func (p *parser) word() string {
	p.blank()
	from := p.i

	for p.i < len(p.s) && (p.s[p.i]|0x20 >= 'a' && p.s[p.i]|0x20 <= 'z') {
		p.i++
	}

	return p.s[from:p.i]
}

func (p *parser) tuple() ([]int64, error) {
	if !p.accept('(') {
		return nil, errors.New("shape is no tuple")
	}

	shape := []int64{}
	for !p.accept(')') {
		p.blank()
		from := p.i

		for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
			p.i++
		}

		n, err := strconv.ParseInt(p.s[from:p.i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("shape holds no number at character %d", from)
		}

		p.accept('L') // Python 2 wrote long integers as 240000L

		if shape = append(shape, n); len(shape) > 64 {
			return nil, errors.New("shape has more than 64 axes")
		}

		if !p.accept(',') {
			if p.accept(')') {
				break
			}
			return nil, fmt.Errorf("shape is no tuple at character %d", p.i)
		}
	}

	return shape, nil
}
