// Package npy reads arrays of numbers that numpy.save wrote: NPY files of versions 1.0 to 3.0, alone or as members of
// an archive (package npz).
//
// An NPY file is a header and the elements of the array (numpy.lib.format). The header has the magic number in bytes 0
// to 5, the version in bytes 6 and 7, the length of the dictionary in bytes 8 and 9 (version 1.0) or 8 to 11 (later
// versions), little-endian, and the dictionary as text, which gives the type and the shape of the array.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
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
			return nil, err // not r: a nil *raw.Reader would be an ingest.Reader that is not nil
		}

		return r, nil
	},
}

const magic = "\x93NUMPY"

const (
	maxChannels = 1 << 16 // each channel takes memory in addition to its samples
	maxHeader   = 1 << 20 // length of the dictionary, in bytes
	maxAxes     = 64      // limit of NumPy 2
)

// Open reads the header of an NPY file and returns a reader of its numbers.
//
// An array with one axis is one channel. If it has two axes, the longer one is time, unless the options name the axis
// of time. Integers are not scaled; integers of more than 53 bits are rounded to float64. The file states neither the
// rate nor the unit.
func Open(src ingest.Source, o ingest.Options) (*raw.Reader, error) {
	h, err := readHeader(src)
	if err != nil {
		return nil, err
	}

	kind, err := typeOf(h.descr)
	if err != nil {
		hint := "save it with numpy.save(path, array.astype('float64'))"
		if errors.Is(err, errStructured) {
			hint = "save its fields with numpy.savez(path, **{name: array[name] for name in array.dtype.names})"
		}

		return nil, src.Fault(h.begin, "an array of float32, float64 or integers", err.Error(), hint)
	}

	shape, err := h.layOut(src, o)
	if err != nil {
		return nil, err
	}

	if shape.frames == 0 || shape.channels == 0 {
		return nil, h.emptyError(src)
	}

	// In C order the last axis runs fastest, in Fortran order the first. Samples of a channel lie together, as planes, if
	// the axis of time runs fastest.
	l := raw.Layout{
		Offset: h.begin + h.length, Kind: kind.Kind, BigEndian: kind.bigEndian, Scale: 1,
		Planar: shape.timeFirst == h.fortran && shape.channels > 1,
	}

	frames, warnings, err := usable(src, l, shape, o)
	if err != nil {
		return nil, err
	}

	if shape.channels > maxChannels {
		want := fmt.Sprintf("at most %d channels", maxChannels)
		return nil, src.Fault(h.begin, want, strconv.FormatInt(shape.channels, 10), "")
	}

	l.Frames = frames
	l.Channels = int(shape.channels)

	info := ingest.Info{
		Path: src.Path, Format: "npy", Encoding: kind.name, Warnings: warnings,
		Attributes: []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(h.shape)}},
		Channels:   make([]ingest.Channel, l.Channels),
	}
	for i := range info.Channels {
		info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), RateHz: o.RateHz, Samples: frames}
	}

	return raw.New(src, info, l), nil
}

// readHeader reads the header of an array. Its errors are *fault.Error.
func readHeader(src ingest.Source) (header, error) {
	const want = "an NPY header"

	var start [12]byte
	if err := raw.ReadHeader(src, start[:10], 0, want); err != nil {
		return header{}, err
	}

	version := start[6]
	switch {
	case string(start[:6]) != magic:
		return header{}, src.Fault(0, `"\x93NUMPY"`, strconv.Quote(string(start[:6])), "this is no NPY file")
	case version < 1 || version > 3:
		return header{}, src.Fault(6, "NPY version 1, 2 or 3", strconv.Itoa(int(version)), "")
	}

	h := header{begin: 10, length: int64(binary.LittleEndian.Uint16(start[8:]))}
	if version > 1 {
		if err := raw.ReadHeader(src, start[:], 0, want); err != nil {
			return header{}, err
		}

		h.begin = 12
		h.length = int64(binary.LittleEndian.Uint32(start[8:]))
	}

	switch {
	case h.length > maxHeader:
		return header{}, src.Fault(8, "a header of at most 1 MiB", fault.Plural(h.length, "byte"), "is the file damaged?")
	case h.begin+h.length > src.Size:
		return header{}, src.Fault(src.Size, fmt.Sprintf("a header of %d bytes", h.length), "the end of the file",
			"the file is cut short")
	}

	text := make([]byte, h.length)
	if err := raw.ReadHeader(src, text, h.begin, want); err != nil {
		return header{}, err
	}

	if err := h.parse(string(text)); err != nil {
		return header{}, &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", h.begin), Want: want, Err: err}
	}

	return h, nil
}

// emptyError returns the error of an array without samples. Bytes behind the header are samples of a program that was
// stopped before it wrote the shape.
func (h *header) emptyError(src ingest.Source) error {
	found := fmt.Sprintf("an empty array, shape %v", h.shape)
	hint := "the file holds no samples"
	if behind := src.Size - h.begin - h.length; behind > 0 {
		found += fmt.Sprintf(", and %s behind it", fault.Plural(behind, "byte"))
		hint = "the writer was stopped before it wrote the shape: write the shape into the header, or record again"
	}

	return src.Fault(h.begin, "samples", found, hint)
}

// shape is the shape of an array as samples of channels.
type shape struct {
	frames    int64 // samples of a channel
	channels  int64
	timeFirst bool // time is the first axis; otherwise the last
}

// layOut returns the shape of the array. It returns an error if the axis that is time cannot be found.
func (h *header) layOut(src ingest.Source, o ingest.Options) (shape, error) {
	switch len(h.shape) {
	case 1:
		return shape{frames: h.shape[0], channels: 1, timeFirst: true}, nil
	case 2:
		axis, err := arrays.Axes(h.shape, nil, 0, o.Arrays)
		if err != nil {
			return shape{}, fault.In(src.Path, err)
		}

		if axis == 1 {
			return shape{frames: h.shape[1], channels: h.shape[0], timeFirst: false}, nil
		}

		return shape{frames: h.shape[0], channels: h.shape[1], timeFirst: true}, nil
	}

	return shape{}, src.Fault(h.begin, "one or two axes", fmt.Sprintf("%d, shape %v", len(h.shape), h.shape),
		"save one file per run, with the axes time and channel")
}

// usable returns the number of samples of each channel that the file contains, at most the number that the header
// states. If the file contains fewer, usable returns an error or a warning, depending on the options. If there are
// bytes behind the array, it returns a warning.
func usable(src ingest.Source, l raw.Layout, s shape, o ingest.Options) (int64, []ingest.Warning, error) {
	bytes := int64(l.Kind.Bytes())
	have := (src.Size - l.Offset) / bytes // elements in the file

	need := int64(math.MaxInt64) // elements by the header
	if s.frames <= math.MaxInt64/bytes/s.channels {
		need = s.frames * s.channels
	}

	if have >= need {
		extra := src.Size - l.Offset - need*bytes
		if extra == 0 {
			return s.frames, nil, nil
		}

		warning := ingest.Warn(src.Path, "extra-data", "%d bytes after the array are not read", extra)

		return s.frames, []ingest.Warning{warning}, nil
	}

	whole := have / s.channels
	found := fmt.Sprintf("the header claims %d samples of %s, there are %d", s.frames, fault.Plural(s.channels, "channel"),
		whole)
	if l.Planar { // the channels lie one after another: the last ones are missing
		whole = 0
		found = fmt.Sprintf("the header claims %s of %d samples, the file ends before their end",
			fault.Plural(s.channels, "channel"), s.frames)
	}

	warnings, err := raw.Short(src, o, src.Size, found, "whole frames", whole > 0)

	return whole, warnings, err
}

// Scalar returns the number in an array without axes as text. It returns false if the array has axes, cannot be read,
// or does not contain a number.
func Scalar(src ingest.Source) (number string, ok bool) {
	h, err := readHeader(src)
	if err != nil || len(h.shape) > 0 {
		return "", false
	}

	kind, err := typeOf(h.descr)
	if err != nil {
		return "", false
	}

	b := make([]byte, kind.Bytes())
	if err := raw.ReadHeader(src, b, h.begin+h.length, "a number"); err != nil {
		return "", false
	}

	return arrays.Number(raw.Value(kind.Kind, kind.bigEndian, b)), true
}

// dtype is the type of the elements of an array.
type dtype struct {
	raw.Kind
	bigEndian bool
	name      string // "float32 little-endian"
}

// errStructured is the error of an array whose elements have fields.
var errStructured = errors.New("a structured array")

// typeOf returns the type that a string of the array protocol describes: "<f4" is a byte order (< little-endian, >
// big-endian, | none), a letter for the kind of type and the size in bytes. The error says what the elements are if
// they are not read.
func typeOf(descr string) (dtype, error) {
	if strings.HasPrefix(descr, "[") {
		return dtype{}, errStructured
	}

	if len(descr) < 2 {
		return dtype{}, fmt.Errorf("dtype %q", descr)
	}

	code := descr[1:] // kind and size
	big := false
	switch descr[0] {
	case '<', '|', '=':
	case '>':
		big = true
	default: // no byte order
		code = descr
	}

	kind, known := raw.Named(elementName(code))
	if !known || len(code) != 2 {
		return dtype{}, unknownType(descr, code)
	}

	t := dtype{Kind: kind, bigEndian: big, name: kind.String()}
	if kind.Bytes() > 1 {
		if big {
			t.name += " big-endian"
		} else {
			t.name += " little-endian"
		}
	}

	return t, nil
}

// elementName returns the name of a type such as "f4" as package raw knows it: "float32". It returns a name that
// package raw does not know for other types.
func elementName(code string) string {
	size, _ := strconv.Atoi(code[1:]) // 0 for other texts, which gives an unknown name
	switch code[0] {
	case 'f':
		return fmt.Sprintf("float%d", 8*size)
	case 'i':
		return fmt.Sprintf("int%d", 8*size)
	case 'u':
		return fmt.Sprintf("uint%d", 8*size)
	}

	return ""
}

// unknownType returns the error of a type that is not read. descr is the whole string and code the part behind the byte
// order.
func unknownType(descr, code string) error {
	switch code[0] {
	case 'O':
		return errors.New("a pickled array of Python objects")
	case 'c':
		return errors.New("complex numbers")
	case 'U', 'S', 'a':
		return errors.New("texts")
	}

	return fmt.Errorf("dtype %q", descr)
}

// header is the header of an array: a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
type header struct {
	descr   string  // type of the elements; begins with "[" for a structured type
	fortran bool    // the first axis runs fastest; otherwise the last
	shape   []int64 // lengths of the axes
	begin   int64   // offset of the dictionary in the file
	length  int64   // of the dictionary, in bytes
}

// keys lists the keys of the dictionary, in the order in which parse reads them.
var keys = []struct {
	name, problem string // problem completes "the key is missing or"
	pattern       *regexp.Regexp
}{
	{"descr", "no dtype", regexp.MustCompile(`['"]descr['"]\s*:\s*(\[|'[^']*'|"[^"]*")`)},
	{"fortran_order", "neither True nor False", regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)\b`)},
	{"shape", "no tuple of numbers", regexp.MustCompile(`['"]shape['"]\s*:\s*\(([\sL,0-9]*)\)`)}, // Python 2: 240000L
}

// parse reads the dictionary into h. If the type is structured, parse reads nothing else, because the caller refuses
// such arrays.
func (h *header) parse(text string) error {
	values := make([]string, len(keys))
	for i, k := range keys {
		m := k.pattern.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("the key %q is missing or %s in %q", k.name, k.problem, fault.Clip(text))
		}

		values[i] = m[1]
		if m[1] == "[" {
			h.descr = "["
			return nil
		}
	}

	h.descr = strings.Trim(values[0], `'"`)
	h.fortran = values[1] == "True"
	for _, axis := range strings.FieldsFunc(values[2], isNoDigit) {
		length, err := strconv.ParseInt(axis, 10, 64)
		if err != nil || len(h.shape) == maxAxes {
			return fmt.Errorf("no shape of up to %d axes, but %q", maxAxes, fault.Clip(values[2]))
		}

		h.shape = append(h.shape, length)
	}

	return nil
}

// isNoDigit reports whether a character is not a decimal digit.
func isNoDigit(r rune) bool { return r < '0' || r > '9' }
