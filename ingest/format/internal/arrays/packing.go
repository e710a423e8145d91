package arrays

import (
	"fmt"
	"math"
	"slices"
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
// valid_min and valid_max, is not a sample and becomes NaN.
type Packing struct {
	scale, offset float64   // scale_factor and add_offset
	wrap          float64   // added to negative stored integers if _Unsigned is true: 2^bits; 0 otherwise
	missing       []float64 // stored numbers that are not samples
	stored        limits    // of valid stored numbers
	values        limits    // of valid values
}

// limits are the lowest and the highest valid number. They are −Inf and +Inf without limits.
type limits struct{ low, high float64 }

// noLimits allows all numbers.
var noLimits = limits{low: math.Inf(-1), high: math.Inf(1)}

// excludes reports whether v is outside of the limits. NaN is not.
func (l limits) excludes(v float64) bool { return v < l.low || v > l.high }

// Stored is the type of stored numbers.
type Stored struct {
	Bits    int // size of a number
	Integer bool
	Signed  bool
}

// Numbers is the value of an attribute. A text that is not a number has no Values.
type Numbers struct {
	Values  []float64
	Integer bool // the attribute is stored as integers
}

// TextNumber returns the number in a text as Numbers. The text "true", the usual value of _Unsigned, is 1.
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

// Attributes returns the value of the attribute with the given name. It returns false if there is none.
type Attributes func(name string) (Numbers, bool)

// NewPacking returns the packing that the attributes of an array state. It returns nil and no error if the stored
// numbers are the values. fill contains the stored numbers of elements that were never written, if these are not
// samples. The attribute _FillValue replaces fill.
func NewPacking(stored Stored, fill []float64, attribute Attributes) (*Packing, error) {
	p := &Packing{scale: 1, missing: fill, stored: noLimits, values: noLimits}

	scaled, err := p.readFactor(attribute, "scale_factor", &p.scale)
	if err != nil {
		return nil, err
	}

	if p.scale == 0 {
		numbers, _ := attribute("scale_factor")
		return nil, wrongAttribute("scale_factor", "one finite number", numbers)
	}

	shifted, err := p.readFactor(attribute, "add_offset", &p.offset)
	if err != nil {
		return nil, err
	}

	unsigned := p.readUnsigned(attribute, stored)
	hasMissing := p.readMissing(attribute, stored)

	limited, err := p.readLimits(attribute, stored, scaled || shifted)
	if err != nil {
		return nil, err
	}

	stated := scaled || shifted || unsigned || hasMissing || limited
	if !stated && len(fill) == 0 {
		return nil, nil
	}

	return p, nil
}

// readFactor reads an attribute that contains one finite number into factor. It returns false and leaves factor as it
// is if no such attribute exists.
func (p *Packing) readFactor(attribute Attributes, name string, factor *float64) (bool, error) {
	numbers, ok := attribute(name)
	if !ok {
		return false, nil
	}

	if len(numbers.Values) != 1 || !(math.Abs(numbers.Values[0]) < math.Inf(1)) {
		return false, wrongAttribute(name, "one finite number", numbers)
	}

	*factor = numbers.Values[0]

	return true, nil
}

// readUnsigned reports whether the attribute _Unsigned is true, so that signed integers are read as unsigned ones. It
// sets wrap if so.
func (p *Packing) readUnsigned(attribute Attributes, stored Stored) bool {
	numbers, ok := attribute("_Unsigned")
	isTrue := ok && len(numbers.Values) == 1 && numbers.Values[0] == 1
	if !isTrue || !stored.Integer || !stored.Signed {
		return false
	}

	p.wrap = math.Ldexp(1, stored.Bits)

	return true
}

// readMissing reads the stored numbers that are not samples into missing. It reports whether attributes state any.
func (p *Packing) readMissing(attribute Attributes, stored Stored) bool {
	stated := false
	for _, name := range []string{"_FillValue", "missing_value"} {
		numbers, ok := attribute(name)
		if !ok {
			continue
		}

		if name == "_FillValue" {
			p.missing = nil
		}

		for _, v := range numbers.Values { // a text has no values: no number equals it
			p.missing = append(p.missing, p.asStored(v, stored))
			stated = true
		}
	}

	return stated
}

// readLimits reads the limits of valid numbers. It reports whether attributes state any. packed says whether there is a
// scale or an offset. Each attribute limits the stored numbers, or if it is a float beside packed integers, the values.
func (p *Packing) readLimits(attribute Attributes, stored Stored, packed bool) (bool, error) {
	stated := false
	for _, name := range []string{"valid_range", "valid_min", "valid_max"} {
		numbers, ok := attribute(name)
		if !ok {
			continue
		}

		isRange := name == "valid_range"
		if isRange && len(numbers.Values) != 2 {
			return false, wrongAttribute(name, "two numbers", numbers)
		}

		if !isRange && len(numbers.Values) != 1 {
			return false, wrongAttribute(name, "one number", numbers)
		}

		limited := &p.stored
		ends := slices.Clone(numbers.Values)
		if packed && stored.Integer && !numbers.Integer {
			limited = &p.values
		} else {
			for i, v := range ends {
				ends[i] = p.asStored(v, stored)
			}
		}

		if name != "valid_max" {
			limited.low = ends[0]
		}

		if name != "valid_min" {
			limited.high = ends[len(ends)-1]
		}

		stated = true
	}

	return stated, nil
}

// wrongAttribute returns the error of an attribute that does not contain the wanted numbers.
func wrongAttribute(name, want string, numbers Numbers) error {
	found := fmt.Sprint(numbers.Values)
	if numbers.Values == nil {
		found = "a text"
	}

	return fault.At("", "", fmt.Sprintf("%s in the attribute %s", want, name), found,
		"the samples are packed and cannot be unpacked without it")
}

// asStored returns the number of an attribute as the array would store and read it: wrapped if it is a negative integer
// that is read as unsigned, and rounded if the array contains floats of 32 bits.
func (p *Packing) asStored(v float64, stored Stored) float64 {
	switch {
	case p.wrap > 0 && v < 0:
		return v + p.wrap
	case stored.Bits == 32 && !stored.Integer:
		return float64(float32(v))
	}

	return v
}

// Apply replaces the stored numbers in x by their values.
func (p *Packing) Apply(x []float64) {
	for i, v := range x {
		if p.wrap > 0 && v < 0 {
			v += p.wrap
		}

		y := float64(v*p.scale) + p.offset // the product is rounded, so that no machine fuses it with the sum

		if p.stored.excludes(v) || p.values.excludes(y) || slices.Contains(p.missing, v) {
			y = math.NaN()
		}

		x[i] = y
	}
}

// Quantum returns the quantum of the values of stored integers with quantum q. It returns zeros if q is zero.
func (p *Packing) Quantum(q Quantum) Quantum {
	if q.Step == 0 {
		return q
	}

	if p.wrap > 0 {
		q.Low = 0
		q.High = p.wrap - 1
	}

	low := float64(q.Low*p.scale) + p.offset
	high := float64(q.High*p.scale) + p.offset

	return Quantum{Step: q.Step * math.Abs(p.scale), Low: min(low, high), High: max(low, high)}
}

// Unpack returns a Plane of values that reads a Plane of stored numbers.
func (p *Packing) Unpack(stored Plane) Plane { return &unpacking{Plane: stored, packing: p} }

// unpacking is the Plane that Unpack returns.
type unpacking struct {
	Plane   // of stored numbers
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
