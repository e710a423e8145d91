package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const npyMagic = "\x93NUMPY"

// openNPY reads the header of a NumPy array file, versions 1.0 to 3.0.
//
// One axis: one channel. Two axes: the longer one is time (of equal ones the
// first), in either memory order. Integers are delivered as they stand, with
// the 53 bits a float64 has; the file states neither rate nor unit.
func openNPY(path string, src io.ReaderAt, size int64, o Options) (*rawReader, error) {
	fail := func(at int64, want, found, hint string) error {
		return &DataError{Path: path, Place: fmt.Sprintf("byte %d", at), Want: want, Found: found, Hint: hint}
	}
	get := func(b []byte, at int64) error { return readHeader(path, src, b, at, "an NPY header") }
	var pre [12]byte
	if err := get(pre[:10], 0); err != nil {
		return nil, err
	}
	if string(pre[:6]) != npyMagic {
		return nil, fail(0, `"\x93NUMPY"`, strconv.Quote(string(pre[:6])), "this is no NPY file")
	}
	at := int64(10)
	length := int64(binary.LittleEndian.Uint16(pre[8:]))
	switch pre[6] {
	case 1:
	case 2, 3:
		if err := get(pre[:12], 0); err != nil {
			return nil, err
		}
		at, length = 12, int64(binary.LittleEndian.Uint32(pre[8:]))
	default:
		return nil, fail(6, "NPY version 1, 2 or 3", strconv.Itoa(int(pre[6])), "")
	}
	if length > 1<<20 {
		return nil, fail(8, "a header of at most 1 MiB", plural(length, "byte"), "is the file damaged?")
	}
	if at+length > size {
		return nil, fail(size, fmt.Sprintf("a header of %d bytes", length), "the end of the file", "the file is cut short")
	}
	head := make([]byte, length)
	if err := get(head, at); err != nil {
		return nil, err
	}
	h, err := parseNPYHeader(string(head))
	if err != nil {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", at), Want: "an NPY header", Err: err}
	}
	kind, big, name, err := npyKind(h.descr)
	if err != nil {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", at), Want: "an array of float32, float64 or integers", Found: err.Error(), Hint: "save it with numpy.save(path, array.astype('float64'))"}
	}
	var frames, chans int64
	timeFirst := true
	switch len(h.shape) {
	case 1:
		frames, chans = h.shape[0], 1
	case 2:
		frames, chans = h.shape[0], h.shape[1]
		if chans > frames {
			frames, chans, timeFirst = chans, frames, false
		}
	default:
		return nil, fail(at, "one or two axes", fmt.Sprintf("%d, shape %v", len(h.shape), h.shape), "save one file per run, with the axes time and channel")
	}
	if frames == 0 || chans == 0 {
		return nil, fail(at, "samples", fmt.Sprintf("an empty array, shape %v", h.shape), "the file holds no samples")
	}
	r := &rawReader{src: src, off: at + length, kind: kind, big: big, scale: 1}
	// In memory the last axis runs fastest, in Fortran order the first.
	r.planar = timeFirst == h.fortran && chans > 1
	r.info = Info{Path: path, Format: "npy", Encoding: name}
	bytes := int64(kind.bytes())
	have := (size - r.off) / bytes
	need := int64(math.MaxInt64)
	if frames <= math.MaxInt64/bytes/chans {
		need = frames * chans
	}
	if have < need {
		// A frame of every channel is complete only when frames lie together.
		usable := have / chans
		if r.planar {
			usable = 0
		}
		what := fmt.Sprintf("the header claims %d samples of %s, there are %d", frames, plural(chans, "channel"), usable)
		if r.planar {
			what = fmt.Sprintf("the header claims %s of %d samples, the file ends inside them", plural(chans, "channel"), frames)
		}
		if o.Truncated != "use" || usable == 0 {
			hint := "is the file complete? with truncated: use, the whole frames are used"
			if usable == 0 {
				hint = "the file is cut short"
			}
			return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", size), Found: what, Hint: hint}
		}
		frames = usable
		r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "truncated", Text: what + ": these are used"})
	} else if size-r.off > need*bytes {
		r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "extra-data", Text: fmt.Sprintf("%d bytes after the array are not read", size-r.off-need*bytes)})
	}
	// have ≥ frames·chans, so chans is bounded by the size of the file; what is
	// kept per channel is not sample data, yet must stay small too.
	if chans > 1<<16 {
		return nil, fail(at, "at most 65536 channels", strconv.FormatInt(chans, 10), "")
	}
	r.frames, r.chans = frames, int(chans)
	r.info.Attributes = []Attribute{{Name: "shape", Value: fmt.Sprint(h.shape)}}
	r.info.Channels = make([]Channel, chans)
	for i := range r.info.Channels {
		r.info.Channels[i] = Channel{Name: strconv.Itoa(i + 1), RateHz: o.RateHz, Samples: frames}
	}
	return r, nil
}

// npyKind reads an array-protocol type string such as "<f4".
func npyKind(descr string) (kind sampleKind, big bool, name string, err error) {
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
	switch typ {
	case "f4":
		kind, name = kindF32, "float32"
	case "f8":
		kind, name = kindF64, "float64"
	case "i1":
		kind, name = kindI8, "int8"
	case "i2":
		kind, name = kindI16, "int16"
	case "i4":
		kind, name = kindI32, "int32"
	case "i8":
		kind, name = kindI64, "int64"
	case "u1":
		kind, name = kindU8, "uint8"
	case "u2":
		kind, name = kindU16, "uint16"
	case "u4":
		kind, name = kindU32, "uint32"
	case "u8":
		kind, name = kindU64, "uint64"
	default:
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
	if kind.bytes() > 1 {
		if big {
			name += " big-endian"
		} else {
			name += " little-endian"
		}
	}
	return kind, big, name, nil
}

type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
}

// parseNPYHeader reads the Python dictionary
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
func parseNPYHeader(s string) (npyHeader, error) {
	p := &npyParser{s: s}
	var h npyHeader
	var have [3]bool
	if !p.take('{') {
		return h, fmt.Errorf("no dictionary, but %q", clip(s))
	}
	for !p.take('}') {
		key, ok := p.text()
		if !ok || !p.take(':') {
			return h, fmt.Errorf("no key at character %d of %q", p.i, clip(s))
		}
		switch key {
		case "descr":
			p.blank()
			if p.i < len(s) && s[p.i] == '[' {
				h.descr = "[" // a structured dtype: the caller refuses it, so what follows does not matter
				return h, nil
			}
			if h.descr, ok = p.text(); !ok {
				return h, fmt.Errorf("no dtype at character %d of %q", p.i, clip(s))
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
		if !p.take(',') {
			if p.take('}') {
				break
			}
			return h, fmt.Errorf("no comma at character %d of %q", p.i, clip(s))
		}
	}
	for i, k := range []string{"descr", "fortran_order", "shape"} {
		if !have[i] {
			return h, fmt.Errorf("the key %q is missing", k)
		}
	}
	return h, nil
}

type npyParser struct {
	s string
	i int
}

func (p *npyParser) blank() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n' || p.s[p.i] == '\t' || p.s[p.i] == '\r') {
		p.i++
	}
}

func (p *npyParser) take(c byte) bool {
	p.blank()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *npyParser) text() (string, bool) {
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

func (p *npyParser) word() string {
	p.blank()
	from := p.i
	for p.i < len(p.s) && (p.s[p.i]|0x20 >= 'a' && p.s[p.i]|0x20 <= 'z') {
		p.i++
	}
	return p.s[from:p.i]
}

func (p *npyParser) tuple() ([]int64, error) {
	if !p.take('(') {
		return nil, errors.New("shape is no tuple")
	}
	shape := []int64{}
	for !p.take(')') {
		p.blank()
		from := p.i
		for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
			p.i++
		}
		n, err := strconv.ParseInt(p.s[from:p.i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("shape holds no number at character %d", from)
		}
		p.take('L') // Python 2 wrote long integers as 240000L
		if shape = append(shape, n); len(shape) > 64 {
			return nil, errors.New("shape has more than 64 axes")
		}
		if !p.take(',') {
			if p.take(')') {
				break
			}
			return nil, fmt.Errorf("shape is no tuple at character %d", p.i)
		}
	}
	return shape, nil
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
