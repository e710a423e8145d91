// Package npy reads arrays of numbers that numpy.save wrote: NPY files, versions
// 1.0 to 3.0, alone or as members of an archive.
package npy

import (
	"cmp"
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
	"doubletake/internal/lists"
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
func Open(src ingest.Source, o ingest.Options) (_ *raw.Reader, err error) {
	defer fault.Catch(&err)

	h, at := readHeader(src)
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
		fault.Raise(fault.In(src.Path, err))

		if frames, chans = h.shape[0], h.shape[1]; axis == 1 {
			frames, chans, timeFirst = chans, frames, false
		}
	default:
		return nil, src.Fault(at, "one or two axes", fmt.Sprintf("%d, shape %v", len(h.shape), h.shape),
			"save one file per run, with the axes time and channel")
	}

	src.Unless(frames > 0 && chans > 0, at, "samples", fmt.Sprintf("an empty array, shape %v", h.shape),
		"the file holds no samples")

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
	src.Unless(chans <= 1<<16, at, "at most 65536 channels", strconv.FormatInt(chans, 10), "")

	l.Frames, l.Channels = frames, int(chans)
	info.Attributes = []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(h.shape)}}
	info.Channels = lists.Make(int(chans), func(i int) ingest.Channel {
		return ingest.Channel{Name: strconv.Itoa(i + 1), RateHz: o.RateHz, Samples: frames}
	})

	return raw.New(src, info, l), nil
}

// readHeader reads the header of an array and returns the byte where its
// dictionary begins, or raises an error.
func readHeader(src ingest.Source) (h header, at int64) {
	get := func(n, at int64) []byte {
		b := make([]byte, n)
		fault.Raise(raw.ReadHeader(src, b, at, "an NPY header"))

		return b
	}

	pre := get(10, 0)
	src.Unless(string(pre[:6]) == magic, 0, `"\x93NUMPY"`, strconv.Quote(string(pre[:6])), "this is no NPY file")
	src.Unless(pre[6] >= 1 && pre[6] <= 3, 6, "NPY version 1, 2 or 3", strconv.Itoa(int(pre[6])), "")

	at, h.length = 10, int64(binary.LittleEndian.Uint16(pre[8:]))
	if pre[6] > 1 {
		at, h.length = 12, int64(binary.LittleEndian.Uint32(get(12, 0)[8:]))
	}

	src.Unless(h.length <= 1<<20, 8, "a header of at most 1 MiB", fault.Plural(h.length, "byte"), "is the file damaged?")
	src.Unless(at+h.length <= src.Size, src.Size, fmt.Sprintf("a header of %d bytes", h.length), "the end of the file",
		"the file is cut short")

	if err := h.parse(string(get(h.length, at))); err != nil {
		fault.Raise(&fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", at), Want: "an NPY header", Err: err})
	}

	return h, at
}

// usable returns how many samples of each channel the file holds of those the
// header claims: fewer are an error or a warning, as the options say.
func usable(src ingest.Source, l raw.Layout, frames, chans int64, o ingest.Options) (int64, []ingest.Warning, error) {
	bytes := int64(l.Kind.Bytes())
	have := (src.Size - l.Offset) / bytes

	need := int64(math.MaxInt64)
	if frames <= math.MaxInt64/bytes/chans {
		need = frames * chans
	}

	if have >= need {
		if more := src.Size - l.Offset - need*bytes; more > 0 {
			return frames, []ingest.Warning{{
				Path: src.Path, Code: "extra-data", Text: fmt.Sprintf("%d bytes after the array are not read", more),
			}}, nil
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

	warnings, err := raw.Short(src, o, src.Size, what, "whole frames", whole > 0)

	return whole, warnings, err
}

// Scalar reads an array without axes, a single number, as text; false if it is
// none.
func Scalar(src ingest.Source) (number string, ok bool) {
	err := fault.Try(func() {
		h, at := readHeader(src)
		kind, big, _, err := kindOf(h.descr)
		b := make([]byte, kind.Bytes())
		fault.Raise(cmp.Or(err, raw.ReadHeader(src, b, at+h.length, "a number")))

		number, ok = arrays.Number(raw.Value(kind, big, b)), len(h.shape) == 0
	})

	return number, ok && err == nil
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

// keys are those of the Python dictionary in a header,
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
var keys = []struct {
	name, want string
	pattern    *regexp.Regexp
}{
	{"descr", "no dtype", regexp.MustCompile(`['"]descr['"]\s*:\s*(\[|'[^']*'|"[^"]*")`)},
	{"fortran_order", "neither True nor False", regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)\b`)},
	{"shape", "no tuple of numbers", regexp.MustCompile(`['"]shape['"]\s*:\s*\(([\sL,0-9]*)\)`)}, // Python 2: 240000L
}

func (h *header) parse(s string) error {
	values := make([]string, len(keys))
	for i, k := range keys {
		m := k.pattern.FindStringSubmatch(s)
		if m == nil {
			return fmt.Errorf("the key %q is missing or %s in %q", k.name, k.want, fault.Clip(s))
		}

		if values[i] = m[1]; m[1] == "[" {
			h.descr = "[" // a structured dtype: the caller refuses it, so what follows does not matter
			return nil
		}
	}

	h.descr, h.fortran = strings.Trim(values[0], `'"`), values[1] == "True"
	for _, n := range strings.FieldsFunc(values[2], func(r rune) bool { return r < '0' || r > '9' }) {
		d, err := strconv.ParseInt(n, 10, 64)
		if err != nil || len(h.shape) == 64 {
			return fmt.Errorf("no shape of up to 64 axes, but %q", fault.Clip(values[2]))
		}

		h.shape = append(h.shape, d)
	}

	return nil
}
