package hdf5

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Attribute is a named small value of a group or dataset.
type Attribute struct {
	Name string
	Type Type
	Dims []int64 // nil for a single value
	// One of these holds the value, none if it is empty or Err is set.
	texts  []string
	stored []byte // numbers, as in the file
	// Err is why the value could not be read.
	Err error

	order  int
	scales []uint64 // of DIMENSION_LIST: the address of each axis's first scale, 0 where there is none
}

// numbers returns the values of an attribute of numbers.
func (a *Attribute) numbers() []float64 {
	v := make([]float64, len(a.stored)/max(a.Type.Size, 1))
	a.Type.floats(v, a.stored, a.Type.Size)

	return v
}

// Text returns the value of an attribute that is one string, whether stored as
// a single value or as an array of one.
func (a *Attribute) Text() (string, bool) {
	if len(a.texts) != 1 {
		return "", false
	}
	return a.texts[0], true
}

// String returns the value for people: numbers in their shortest exact form,
// arrays in brackets.
func (a Attribute) String() string {
	if a.Err != nil {
		return "(" + a.Err.Error() + ")"
	}

	if a.texts == nil && a.stored == nil {
		return ""
	}

	s := a.elements()
	if len(s) == 1 {
		return s[0]
	}

	return "[" + strings.Join(s, " ") + "]"
}

// elements returns the texts, or the numbers as such.
func (a *Attribute) elements() []string {
	s, t := a.texts, &a.Type
	for b := a.stored; len(b) > 0; b = b[t.Size:] {
		switch {
		case t.Class == Float && t.stored == raw.F32 && t.conv == convWhole:
			s = append(s, strconv.FormatFloat(t.float(b), 'g', -1, 32))
		case t.Class == Float:
			s = append(s, arrays.Number(t.float(b)))
		case t.Signed:
			s = append(s, strconv.FormatInt(int64(t.integer(b)), 10))
		default:
			s = append(s, strconv.FormatUint(t.integer(b), 10))
		}
	}

	return s
}

func findAttribute(as []Attribute, name string) (Attribute, bool) {
	for _, a := range as {
		if a.Name == name {
			return a, true
		}
	}

	return Attribute{}, false
}

// attributes reads the attributes of an object: those of its header in their
// order there (in order of creation if it is recorded), and those stored
// densely, in order of creation if it is recorded, else by name.
func (w *walker) attributes(ms []message) ([]Attribute, error) {
	var as []Attribute
	for _, m := range ms {
		switch m.kind {
		case msgAttribute:
			b, err := w.p.body(m)
			if err != nil {
				return nil, err
			}

			a, err := w.attribute(b)
			if err != nil {
				return nil, err
			}

			a.order = m.order
			as = append(as, a)

		case msgAttrInfo:
			var err error
			if as, err = w.denseAttributes(as, m); err != nil {
				return nil, err
			}
		}
	}

	sort.SliceStable(as, func(i, j int) bool { return as[i].order < as[j].order })

	return as, nil
}

func (w *walker) denseAttributes(as []Attribute, m message) ([]Attribute, error) {
	c := w.p.cursor(m.body)
	if v := c.u8(); v != 0 {
		return nil, w.p.unsupported(fmt.Sprintf("attribute info version %d", v))
	}

	flags := c.u8()
	if flags&1 != 0 {
		c.skip(2)
	}

	heap, names := c.addr(), c.addr()

	if c.bad {
		return nil, w.p.errorf(m.addr, "an attribute info message is too short")
	}

	if heap == undefined || names == undefined {
		return as, nil
	}

	h, err := w.p.fractalHeap(heap)
	if err != nil {
		return nil, err
	}

	first := len(as)
	err = w.p.btree2(names, func(kind int, rec []byte) error {
		if kind != 8 || len(rec) < 13 {
			return w.p.errorf(names, "the index of attributes is of kind %d, not 8", kind)
		}

		if rec[8]&flagShared != 0 {
			return w.p.unsupported("an attribute in the table of shared messages")
		}

		b, err := h.get(rec[:8])
		if err != nil {
			return err
		}

		a, err := w.attribute(b)
		if err != nil {
			return err
		}

		a.order = -1
		if flags&2 != 0 {
			rc := w.p.cursor(rec[9:])
			a.order = int(rc.u32())
		}

		as = append(as, a)

		return nil
	})
	if err != nil {
		return nil, err
	}

	// The index is sorted by hash, which means nothing to people.
	dense := as[first:]
	sort.SliceStable(dense, func(i, j int) bool { return dense[i].Name < dense[j].Name })

	return as, nil
}

// attribute reads an attribute message. Damage or an unknown type within the
// value becomes its Err: the rest of the file can be read without it.
func (w *walker) attribute(b []byte) (Attribute, error) {
	var a Attribute
	if err := w.p.charge(512); err != nil {
		return a, err
	}

	c := w.p.cursor(b)
	version, flags := c.u8(), c.u8()
	if version < 1 || version > 3 {
		return a, w.p.unsupported(fmt.Sprintf("attribute version %d", version))
	}

	if version == 1 {
		flags = 0
	}

	nName, nType, nSpace := int(c.u16()), int(c.u16()), int(c.u16())

	if version == 3 {
		c.skip(1)
	}

	field := func(n int) []byte {
		v := c.take(n)

		if version == 1 {
			c.skip(-n & 7)
		}

		return v
	}

	a.Name = raw.Latin1(cut(field(nName)))
	typ, spc := field(nType), field(nSpace)

	if c.bad {
		return a, w.p.errorf(undefined, "an attribute message is too short")
	}

	data := c.b[c.off:]
	a.Err = func() error {
		var err error
		if flags&1 != 0 {
			if typ, err = w.p.shared(msgDatatype, w.p.cursor(typ)); err != nil {
				return err
			}
		}

		if flags&2 != 0 {
			if spc, err = w.p.shared(msgDataspace, w.p.cursor(spc)); err != nil {
				return err
			}
		}

		if a.Type, err = w.p.datatype(typ); err != nil {
			return err
		}

		s, err := w.p.dataspace(spc)
		if err != nil {
			return err
		}

		a.Dims = s.dimsInt()

		if s.null {
			return nil
		}

		n := s.count()
		if n > uint64(len(data)) || n*uint64(a.Type.Size) > uint64(len(data)) {
			return w.p.errorf(undefined, "the value is cut off")
		}

		if t := &a.Type; a.Name == "DIMENSION_LIST" && t.Class == Sequence && t.base != nil && t.base.objectRef {
			a.scales, err = w.p.scales(w.heaps, t, data, int(n))
			return err
		}

		if a.Type.conv != convNone {
			a.stored = bytes.Clone(data[:n*uint64(a.Type.Size)])
			return nil
		}

		if a.Type.Class != String && a.Type.Class != Sequence {
			return w.p.unsupported(a.Type.why)
		}

		if err := w.p.charge(8 * int64(n)); err != nil {
			return err
		}

		a.texts, err = w.p.strings(w.heaps, &a.Type, data, int(n))

		return err
	}()

	a.Err = about(a.Err, "attribute "+a.Name)

	return a, nil
}

// scales reads the first reference of each of n sequences.
func (p *parser) scales(h globalHeaps, t *Type, b []byte, n int) ([]uint64, error) {
	v := make([]uint64, min(n, maxRank))
	for i := range v {
		refs, err := p.variable(h, b[i*t.Size:(i+1)*t.Size], t.base.Size)
		if err != nil {
			return nil, err
		}

		if len(refs) > 0 {
			v[i] = p.cursor(refs).addr()
		}
	}

	return v, nil
}
