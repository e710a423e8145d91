package arrays

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// Packing turns stored numbers into values by the attribute conventions of netCDF
// (NetCDF Users Guide, appendix A):
//
//	value = stored·scale_factor + add_offset
//
// A stored number equal to _FillValue or missing_value, or outside of valid_range,
// valid_min and valid_max, is no sample and becomes NaN.
type Packing struct {
	scale, offset float64
	wrap          float64 // added to negative stored integers: _Unsigned
	missing       []float64
	low, high     float64
	unpacked      bool // low and high limit values, not stored numbers
}

// Stored is the type of stored numbers.
type Stored struct {
	Bits    int
	Integer bool
	Signed  bool
}

// Numbers is the value of an attribute. Text that is no number has no Values.
type Numbers struct {
	Values  []float64
	Integer bool
}

// TextNumber returns a text as Numbers; "true" (of _Unsigned) is 1.
func TextNumber(s string) Numbers {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "true") {
		s = "1"
	}

	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Numbers{}
	}

	return Numbers{Values: []float64{v}}
}

// NewPacking returns the packing that attributes state, nil where they state
// none. fill is what the format fills unwritten elements with, if that is no
// sample; _FillValue takes its place.
func NewPacking(t Stored, fill []float64, attribute func(name string) (Numbers, bool)) (*Packing, error) {
	p := &Packing{scale: 1, low: math.Inf(-1), high: math.Inf(1), missing: fill}

	packed, found := false, len(fill) > 0
	for _, a := range []struct {
		name string
		to   *float64
	}{{"scale_factor", &p.scale}, {"add_offset", &p.offset}} {
		n, ok := attribute(a.name)
		if !ok {
			continue
		}

		if len(n.Values) != 1 || !(math.Abs(n.Values[0]) < math.Inf(1)) || a.to == &p.scale && n.Values[0] == 0 {
			return nil, wrongAttribute(a.name, "one finite number", n)
		}

		*a.to, packed, found = n.Values[0], true, true
	}

	if n, ok := attribute("_Unsigned"); ok && len(n.Values) == 1 && n.Values[0] == 1 && t.Integer && t.Signed {
		p.wrap, found = math.Ldexp(1, t.Bits), true
	}

	for _, name := range []string{"_FillValue", "missing_value"} {
		n, ok := attribute(name)
		if !ok {
			continue
		}

		if name == "_FillValue" {
			p.missing = nil
		}

		for _, v := range n.Values { // no number equals a text
			p.missing, found = append(p.missing, p.as(v, t)), true
		}
	}

	for _, a := range []struct {
		name      string
		low, high bool
	}{{"valid_range", true, true}, {"valid_min", true, false}, {"valid_max", false, true}} {
		n, ok := attribute(a.name)
		if !ok {
			continue
		}

		if a.low && a.high && len(n.Values) != 2 {
			return nil, wrongAttribute(a.name, "two numbers", n)
		}

		if !(a.low && a.high) && len(n.Values) != 1 {
			return nil, wrongAttribute(a.name, "one number", n)
		}

		// Limits of another kind than the stored numbers are those of the values.
		p.unpacked = packed && t.Integer && !n.Integer
		for i, v := range n.Values {
			if !p.unpacked {
				n.Values[i] = p.as(v, t)
			}
		}

		if a.low {
			p.low = n.Values[0]
		}

		if a.high {
			p.high = n.Values[len(n.Values)-1]
		}

		found = true
	}

	if !found {
		return nil, nil
	}

	return p, nil
}

func wrongAttribute(name, want string, n Numbers) error {
	found := fmt.Sprint(n.Values)
	if n.Values == nil {
		found = "a text"
	}

	return fault.At("", "", fmt.Sprintf("%s in the attribute %s", want, name), found,
		"the samples are packed and cannot be unpacked without it")
}

// as returns a number of an attribute as one of the stored type would be read.
func (p *Packing) as(v float64, t Stored) float64 {
	switch {
	case p.wrap > 0 && v < 0:
		return v + p.wrap
	case t.Bits == 32 && !t.Integer:
		return float64(float32(v))
	}

	return v
}

// Apply turns stored numbers into values.
func (p *Packing) Apply(x []float64) {
	for i, v := range x {
		if p.wrap > 0 && v < 0 {
			v += p.wrap
		}

		y := v*p.scale + p.offset

		limited := v
		if p.unpacked {
			limited = y
		}

		if limited < p.low || limited > p.high {
			y = math.NaN()
		}

		for _, m := range p.missing {
			if v == m {
				y = math.NaN()
			}
		}

		x[i] = y
	}
}

// Quantum returns the step and the limits of values that were integers of that quantum.
func (p *Packing) Quantum(q Quantum) Quantum {
	if q.Step == 0 {
		return q
	}

	if p.wrap > 0 {
		q.Low, q.High = 0, p.wrap-1
	}

	a, b := q.Low*p.scale+p.offset, q.High*p.scale+p.offset

	return Quantum{q.Step * math.Abs(p.scale), min(a, b), max(a, b)}
}

// Unpack returns a Plane of the values of stored numbers.
func (p *Packing) Unpack(of Plane) Plane { return &unpacking{of, p} }

type unpacking struct {
	Plane
	packing *Packing
}

// Read implements Plane.
func (u *unpacking) Read(channels []int, start int64, dst [][]float64) error {
	err := u.Plane.Read(channels, start, dst)
	for _, d := range dst {
		u.packing.Apply(d)
	}

	return err
}
