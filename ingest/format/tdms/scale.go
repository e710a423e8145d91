package tdms

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
)

// scaling reads the NI_Scale properties, of the channel or else of its group
// or the file. Scale k takes the output of its input source: another scale, or
// the raw values (0xFFFFFFFF, none, or for DAQmx the number of a scaler). The
// last scale is the result.
func (c *channel) scaling(levels ...*props) {
	p, scalers := scaleProperties(levels), c.scalers()
	status := strings.ToLower(p.text("NI_Scaling_Status"))
	c.unless(status == "" || status == "unscaled" || status == "scaled", "unknown TDMS scaling status %q",
		p.text("NI_Scaling_Status"))

	count := 0.0
	if status != "scaled" {
		count = scaleCount(p)
	}

	if count == 0 {
		c.unless(len(scalers) <= 1, "%d DAQmx scalers and no scale that selects one", len(scalers))
		return
	}

	c.unless(count > 0 && count <= math.MaxInt32 && count == math.Trunc(count), "NI_Number_Of_Scales is %v", count)

	// Follow the inputs from the last scale to the raw values.
	k := int64(count) - 1
	for step := 0; ; step++ {
		c.unless(step <= maxScaleInputs, "the TDMS scales go in a circle")
		prefix := fmt.Sprintf("NI_Scale[%d]_", k)

		v := p.get(prefix + "Scale_Type")
		if v == nil {
			// No scale of that number: the number of a DAQmx scaler, or the raw values.
			c.unless(c.takeScaler(scalers, k) || len(scalers) == 0 && step > 0, "TDMS scale %d of %v is missing", k, count)
			return
		}

		kind, _ := v.(string)
		poly := c.polynomial(p, prefix, kind, k)
		c.chain = append([][]float64{poly}, c.chain...)
		c.scales = append([]string{fmt.Sprintf("%s %v", kind, poly)}, c.scales...)

		in, ok := p.number(prefix + kind + "_Input_Source")
		if !ok || in == math.MaxUint32 || in == -1 {
			c.unless(len(scalers) <= 1, "%d DAQmx scalers and no input that selects one", len(scalers))
			return
		}

		c.unless(in >= 0 && in == math.Trunc(in) && in < math.MaxInt32, "the input of TDMS scale %d is %v", k, in)

		if k = int64(in); c.takeScaler(scalers, k) {
			return
		}
	}
}

// unless raises an error of the channel, unless ok.
func (c *channel) unless(ok bool, format string, args ...any) {
	if !ok {
		fault.Raise(c.fail(format, args...))
	}
}

// scaleProperties returns the first of the levels that has scales, or none.
func scaleProperties(levels []*props) *props {
	for _, l := range levels {
		if l.get("NI_Number_Of_Scales") != nil ||
			slices.ContainsFunc(l.list, func(p property) bool { return strings.HasPrefix(p.name, "NI_Scale[") }) {
			return l
		}
	}

	return &props{}
}

// scaleCount is the number of scales; files of old versions do not state it.
func scaleCount(p *props) float64 {
	count, ok := p.number("NI_Number_Of_Scales")
	if !ok {
		for i := range p.list {
			var k int
			if _, err := fmt.Sscanf(p.list[i].name, "NI_Scale[%d]_Scale_Type", &k); err == nil {
				count = max(count, float64(k)+1)
			}
		}
	}

	return count
}

// takeScaler makes the DAQmx scaler of a number the channel's source, if there is one.
func (c *channel) takeScaler(scalers []scaler, number int64) bool {
	is := slices.ContainsFunc(scalers, func(s scaler) bool { return int64(s.id) == number })
	if is {
		c.source = number
	}

	return is
}

// polynomial returns the coefficients of scale k, the constant first.
func (c *channel) polynomial(p *props, prefix, kind string, k int64) (poly []float64) {
	if kind == "Linear" {
		slope, ok1 := p.number(prefix + "Linear_Slope")
		zero, ok2 := p.number(prefix + "Linear_Y_Intercept")
		c.unless(ok1 && ok2, "the linear TDMS scale %d has no slope or no intercept", k)

		return []float64{zero, slope}
	}

	c.unless(kind == "Polynomial", "unknown TDMS scale type %q (scale %d)", kind, k)

	size, ok := p.number(prefix + "Polynomial_Coefficients_Size")
	if !ok {
		size = 4
	}

	c.unless(size >= 1 && size <= 1024 && size == math.Trunc(size), "the polynomial TDMS scale %d has %v coefficients", k,
		size)

	for i := range int(size) {
		x, ok := p.number(fmt.Sprintf("%sPolynomial_Coefficients[%d]", prefix, i))
		c.unless(ok, "the polynomial TDMS scale %d has no coefficient %d", k, i)
		poly = append(poly, x)
	}

	return poly
}

// scalers returns the DAQmx scalers of the channel; the pieces must agree.
func (c *channel) scalers() []scaler {
	for _, p := range c.pieces {
		if s := p.run.lay.slots[p.slot].scalers; len(s) > 0 {
			return s
		}
	}

	return nil
}
