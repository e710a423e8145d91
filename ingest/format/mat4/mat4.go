// Package mat4 reads MAT-files of level 4 (MATLAB 4, scipy's format='4', Modelica's
// tools): matrices of numbers one after the other, named as MATLAB names them; the
// parts of a complex matrix z are z.real and z.imag. Sparse matrices are listed as
// not read.
package mat4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is MATLAB's level 4. It has no first bytes: a header is recognised by its
// numbers and its name.
var Format = ingest.Format{
	Name: "mat4", Title: "MATLAB 4", Attributes: true, Open: open,
	Detect: func(head []byte, src ingest.Source) bool {
		m, err := parse(head)
		return err == nil && m.name != "" && (m.rows+m.cols == 0 || m.rows <= src.Size && m.cols <= src.Size)
	},
}

const (
	maxName  = 64 // MATLAB 4 has 19
	maxTexts = 4096
	damaged  = "is the file damaged? save it again, or leave it out with exclude"
)

// kinds are the types of elements, by the header's digit P.
var kinds = []raw.Kind{raw.F64, raw.F32, raw.I32, raw.I16, raw.U16, raw.U8}

var classes = []string{"double", "single", "int32", "int16", "uint16", "uint8"}

// matrix is a header.
type matrix struct {
	big        bool
	kind       int
	text       bool
	sparse     bool
	rows, cols int64
	complex    bool
	name       string
	length     int64 // of header and name
}

// parse reads a header and the name after it.
func parse(b []byte) (matrix, error) {
	fail := func(want string, found any) (matrix, error) {
		return matrix{}, &fault.Error{Want: want, Found: fmt.Sprint(found), Hint: damaged}
	}
	if len(b) < 20 {
		return fail("a matrix's header of 20 bytes", fault.Plural(int64(len(b)), "byte"))
	}
	var order binary.ByteOrder = binary.LittleEndian
	t := order.Uint32(b)
	m := matrix{}
	if t > 9999 {
		order, m.big = binary.BigEndian, true
		t = order.Uint32(b)
	}
	machine, zero, p, kind := t/1000, t/100%10, t/10%10, t%10
	if t > 9999 || zero != 0 || int(p) >= len(kinds) || kind > 2 || machine > 1 || m.big != (machine == 1) {
		return fail("a matrix's type (numbers of IEEE 754)", t)
	}
	m.kind, m.text, m.sparse = int(p), kind == 1, kind == 2
	m.rows, m.cols = int64(order.Uint32(b[4:])), int64(order.Uint32(b[8:]))
	imaginary, n := order.Uint32(b[12:]), order.Uint32(b[16:])
	switch {
	case m.rows > math.MaxInt32 || m.cols > math.MaxInt32:
		return fail("a number of rows and columns", fmt.Sprintf("%d and %d", m.rows, m.cols))
	case imaginary > 1:
		return fail("0 or 1 for an imaginary part", imaginary)
	case n < 1 || n > maxName || int(n) > len(b)-20:
		return fail(fmt.Sprintf("a name of 1 to %d bytes", maxName), n)
	}
	m.complex, m.length = imaginary == 1, 20+int64(n)
	name, ok := strings.CutSuffix(string(b[20:20+n]), "\x00")
	for i := range len(name) {
		c := name[i]
		ok = ok && (c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9')
	}
	if !ok || name == "" {
		return fail("a name of letters, digits and _", fmt.Sprintf("%q", b[20:20+n]))
	}
	m.name = name
	return m, nil
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	own := src
	own.Closer = nil
	r := arrays.New(ingest.Info{Path: src.Path, Format: "mat4"}, src)
	order := ""
	err := func() error {
		for at := int64(0); at < src.Size; {
			place := fmt.Sprintf("byte %d", at)
			b := make([]byte, min(20+maxName, src.Size-at))
			if err := raw.ReadHeader(src, b, at, "a matrix's header"); err != nil {
				return err
			}
			m, err := parse(b)
			if err != nil {
				var e *fault.Error
				if errors.As(err, &e) {
					e.Path, e.Place = src.Path, place
				}
				return err
			}
			if order == "" {
				order = map[bool]string{false: "MATLAB level 4, little-endian", true: "MATLAB level 4, big-endian"}[m.big]
			}
			n, size := m.rows*m.cols, int64(kinds[m.kind].Bytes())
			parts := int64(1)
			if m.complex {
				parts = 2
			}
			at += m.length
			if n > (src.Size-at)/size/parts {
				found := fmt.Sprintf("%d of %d bytes", src.Size-at, n*size*parts)
				if o.Truncated != "use" || at == m.length {
					return &fault.Error{
						Path: src.Path, Place: place, Want: "the matrix " + m.name, Found: found,
						Hint: "copy the file again, or use the matrices before it with truncated: use",
					}
				}
				r.Warn("truncated", fmt.Sprintf("the matrix %s has %s: those before it are used", m.name, found))
				break
			}
			if err := add(r, own, o, m, at); err != nil {
				return err
			}
			at += n * size * parts
		}
		return r.Finish(o)
	}()
	if err != nil {
		return nil, err
	}
	return &reader{r, order}, nil
}

// reader is the arrays of a file with their byte order.
type reader struct {
	*arrays.Reader
	encoding string
}

// Info implements ingest.Reader.
func (r *reader) Info() ingest.Info {
	i := r.Reader.Info()
	i.Encoding = r.encoding
	return i
}

// add makes channels of a matrix whose elements begin at a byte, or an attribute of
// a single number or a text.
func add(r *arrays.Reader, src ingest.Source, o ingest.Options, m matrix, at int64) error {
	n := m.rows * m.cols
	switch {
	case m.sparse:
		r.Unread(m.name, true, "sparse matrices are not read: save full(…) of it")
		return nil
	case n == 0:
		r.Unread(m.name, false, "an empty matrix")
		return nil
	case m.text && n > maxTexts:
		r.Unread(m.name, false, fmt.Sprintf("a table of %d characters", n))
		return nil
	}
	names := []string{m.name}
	if m.complex {
		names = []string{m.name + ".real", m.name + ".imag"}
	}
	a := arrays.Array{Dims: []int64{m.rows, m.cols}, ColumnMajor: true, Quantum: arrays.QuantumOf(classes[m.kind])}
	var err error
	if a.Axis, err = arrays.Axes(a.Dims, o.Arrays); err != nil && !m.text {
		r.Unread(m.name, true, err.Error())
		return nil
	}
	for i, name := range names {
		size := int64(kinds[m.kind].Bytes())
		l := raw.Layout{
			Offset: at + int64(i)*n*size, Frames: m.cols, Channels: int(m.rows), Kind: kinds[m.kind], BigEndian: m.big, Scale: 1,
		}
		if a.Axis == 0 { // columns lie one after the other
			l.Frames, l.Channels, l.Planar = m.rows, int(m.cols), true
		}
		if m.text || n == 1 {
			l.Frames, l.Channels, l.Planar = n, 1, false
		} else if l.Channels > 1<<16 {
			r.Unread(name, true, fmt.Sprintf("%d by %d: more than 65536 channels", m.rows, m.cols))
			continue
		}
		plane := raw.New(src, ingest.Info{Path: src.Path, Channels: make([]ingest.Channel, l.Channels)}, l)
		if m.text || n == 1 {
			x := make([]float64, n)
			if _, err := plane.Read([]int{0}, 0, [][]float64{x}); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			value := arrays.Number(x[0])
			if m.text {
				value = text(x, m.rows)
			}
			r.Attribute(name, value)
			continue
		}
		r.Closes(plane)
		a.Name, a.Plane = name, plane
		a.Attributes = []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(a.Dims)}, {Name: "class", Value: classes[m.kind]}}
		if err := r.Add(a); err != nil {
			return err
		}
	}
	return nil
}

// text is a matrix of characters, a line for each row.
func text(x []float64, rows int64) string {
	lines := make([]strings.Builder, rows)
	for i, v := range x {
		if !(v >= 0 && v <= math.MaxUint16) {
			v = 0xFFFD
		}
		lines[int64(i)%rows].WriteRune(rune(v))
	}
	var out []string
	for i := range lines {
		out = append(out, strings.TrimRight(lines[i].String(), " \x00"))
	}
	return strings.Join(out, "\n")
}
