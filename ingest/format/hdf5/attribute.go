package hdf5

import (
	"bytes"
	"errors"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
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
		case t.Class == Float && t.stored == raw.F32:
			s = append(s, strconv.FormatFloat(t.float(b), 'g', -1, 32))
		case t.Class == Float:
			s = append(s, arrays.Number(t.float(b)))
		default:
			s = append(s, t.integer(b))
		}
	}

	return s
}

// Attributes are those of a group or dataset.
type Attributes []Attribute

// Attribute returns the attribute of that name.
func (as Attributes) Attribute(name string) (Attribute, bool) {
	return lists.Find(as, func(a Attribute) bool { return a.Name == name })
}

// Has reports whether there is an attribute of that name.
func (as Attributes) Has(name string) bool { _, ok := as.Attribute(name); return ok }

// Text returns the value of the attribute of that name if it is one string, else "".
func (as Attributes) Text(name string) string {
	a, _ := as.Attribute(name)
	text, _ := a.Text()

	return text
}

// attributes reads the attributes of an object: those of its header in their
// order there (in order of creation if it is recorded), and those stored
// densely, in order of creation if it is recorded, else by name.
func (w *walker) attributes(ms []message) (as []Attribute) {
	for _, m := range ms {
		switch m.kind {
		case msgAttribute:
			a := w.attribute(w.p.body(m))
			a.order = m.order
			as = append(as, a)
		case msgAttrInfo:
			as = append(as, w.denseAttributes(m)...)
		}
	}

	sort.SliceStable(as, func(i, j int) bool { return as[i].order < as[j].order })

	return as
}

func (w *walker) denseAttributes(m message) (as []Attribute) {
	w.p.dense(m, "attribute", 8, func(rec []byte, h *fractalHeap) {
		c := w.p.cursor(rec[8:], m.addr, "a record of the index of attributes is too short")
		supported(c.u8()&flagShared == 0, "an attribute in the table of shared messages")

		a := Attribute{Name: "?"} // the name is where the value is

		var b []byte
		if a.Err = fault.Try(func() { b = h.get(rec[:8]) }); a.Err == nil {
			a = w.attribute(b)
		} else if !errors.Is(a.Err, errUnsupported) {
			fault.Raise(a.Err)
		}

		if a.order = -1; m.body[1]&2 != 0 {
			a.order = int(c.u32())
		}

		as = append(as, a)
	})

	// The index is sorted by hash, which means nothing to people.
	sort.SliceStable(as, func(i, j int) bool { return as[i].Name < as[j].Name })

	return as
}

// attribute reads an attribute message. Damage or an unknown type within the
// value becomes its Err: the rest of the file can be read without it.
func (w *walker) attribute(b []byte) (a Attribute) {
	p := w.p
	p.charge(512)

	c := p.message(b, "attribute")
	version, flags := c.u8(), c.u8()

	supported(version >= 1 && version <= 3, "attribute version %d", version)

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
	data := c.b[c.off:]

	a.Err = about(fault.Try(func() {
		if flags&1 != 0 {
			typ = p.shared(msgDatatype, p.message(typ, "shared"))
		}

		if flags&2 != 0 {
			spc = p.shared(msgDataspace, p.message(spc, "shared"))
		}

		a.Type = p.datatype(typ)
		w.value(&a, p.dataspace(spc), data)
	}), "attribute "+a.Name)

	return a
}

// value reads the value of an attribute.
func (w *walker) value(a *Attribute, s space, data []byte) {
	p, t := w.p, &a.Type
	a.Dims = s.dimsInt()

	if s.null {
		return
	}

	n := s.count()
	p.unless(n <= uint64(len(data)) && n*uint64(t.Size) <= uint64(len(data)), undefined, "the value is cut off")

	switch {
	case a.Name == "DIMENSION_LIST" && t.Class == Sequence && t.base != nil && t.base.objectRef:
		a.scales = p.scales(w.heaps, t, data, int(n))
	case t.numeric:
		a.stored = bytes.Clone(data[:n*uint64(t.Size)])
	case t.Class == String:
		p.charge(8 * int64(n))
		a.texts = p.strings(w.heaps, t, data, int(n))
	default:
		unsupported("%s", t.why)
	}
}

// scales reads the first reference of each of n sequences.
func (p *parser) scales(h globalHeaps, t *Type, b []byte, n int) []uint64 {
	v := make([]uint64, min(n, maxRank))
	for i := range v {
		if refs := p.variable(h, b[i*t.Size:(i+1)*t.Size], t.base.Size); len(refs) > 0 {
			v[i] = p.cursor(refs, undefined, "a reference is too short").u64()
		}
	}

	return v
}
