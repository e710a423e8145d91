package tdms

import (
	"fmt"
	"math"
	"strings"
)

// scaling reads the NI_Scale properties, of the channel or else of its group
// or the file. Scale k takes the output of its input source: another scale, or
// the raw values (0xFFFFFFFF, none, or for DAQmx the number of a scaler). The
// last scale is the result.
func (c *Channel) scaling(levels ...*props) error {
	p := scaleProperties(levels)
	scalers := c.scalers()

	status := ""
	if p != nil {
		status = p.text("NI_Scaling_Status")
	}

	if status != "" && !strings.EqualFold(status, "unscaled") && !strings.EqualFold(status, "scaled") {
		return c.fail("unknown TDMS scaling status %q", status)
	}

	count := 0.0
	if p != nil && !strings.EqualFold(status, "scaled") {
		count = scaleCount(p)
	}

	if count == 0 {
		if len(scalers) > 1 {
			return c.fail("%d DAQmx scalers and no scale that selects one", len(scalers))
		}
		return nil
	}

	if count < 0 || count > math.MaxInt32 || count != math.Trunc(count) {
		return c.fail("NI_Number_Of_Scales is %v", count)
	}

	// Follow the inputs from the last scale to the raw values.
	k := int64(count) - 1
	for step := 0; ; step++ {
		if step > maxScaleInputs {
			return c.fail("the TDMS scales go in a circle")
		}

		prefix := fmt.Sprintf("NI_Scale[%d]_", k)
		v, ok := p.get(prefix + "Scale_Type")
		if !ok {
			// No scale of that number: the number of a DAQmx scaler, or the raw values.
			if c.takeScaler(scalers, k) {
				return nil
			}

			if len(scalers) > 0 || step == 0 {
				return c.fail("TDMS scale %d of %v is missing", k, count)
			}

			return nil
		}

		kind, _ := v.(string)
		poly, err := c.polynomial(p, prefix, kind, k)
		if err != nil {
			return err
		}

		c.chain = append([][]float64{poly}, c.chain...)
		c.Scales = append([]string{fmt.Sprintf("%s %v", kind, poly)}, c.Scales...)

		in, ok := p.number(prefix + kind + "_Input_Source")
		if !ok || in == math.MaxUint32 || in == -1 {
			if len(scalers) > 1 {
				return c.fail("%d DAQmx scalers and no input that selects one", len(scalers))
			}
			return nil
		}

		if in < 0 || in != math.Trunc(in) || in >= math.MaxInt32 {
			return c.fail("the input of TDMS scale %d is %v", k, in)
		}

		if k = int64(in); c.takeScaler(scalers, k) {
			return nil
		}
	}
}

// scaleProperties returns the first of the levels that has scales, or nil.
func scaleProperties(levels []*props) *props {
	for _, l := range levels {
		if _, ok := l.get("NI_Number_Of_Scales"); ok {
			return l
		}

		for i := range l.list {
			if strings.HasPrefix(l.list[i].Name, "NI_Scale[") {
				return l
			}
		}
	}

	return nil
}

// scaleCount is the number of scales; files of old versions do not state it.
func scaleCount(p *props) float64 {
	count, ok := p.number("NI_Number_Of_Scales")
	if !ok {
		for i := range p.list {
			var k int
			if _, err := fmt.Sscanf(p.list[i].Name, "NI_Scale[%d]_Scale_Type", &k); err == nil {
				count = max(count, float64(k)+1)
			}
		}
	}

	return count
}

// takeScaler makes the DAQmx scaler of a number the channel's source, if there is one.
func (c *Channel) takeScaler(scalers []scaler, number int64) bool {
	for _, s := range scalers {
		if int64(s.id) == number {
			c.source = number
			return true
		}
	}

	return false
}

// polynomial returns the coefficients of scale k, the constant first.
func (c *Channel) polynomial(p *props, prefix, kind string, k int64) ([]float64, error) {
	switch kind {
	case "Linear":
		slope, ok1 := p.number(prefix + "Linear_Slope")

		zero, ok2 := p.number(prefix + "Linear_Y_Intercept")
		if !ok1 || !ok2 {
			return nil, c.fail("the linear TDMS scale %d has no slope or no intercept", k)
		}

		return []float64{zero, slope}, nil

	case "Polynomial":
		size, ok := p.number(prefix + "Polynomial_Coefficients_Size")
		if !ok {
			size = 4
		}

		if size < 1 || size > 1024 || size != math.Trunc(size) {
			return nil, c.fail("the polynomial TDMS scale %d has %v coefficients", k, size)
		}

		var poly []float64
		for i := range int(size) {
			x, ok := p.number(fmt.Sprintf("%sPolynomial_Coefficients[%d]", prefix, i))
			if !ok {
				return nil, c.fail("the polynomial TDMS scale %d has no coefficient %d", k, i)
			}

			poly = append(poly, x)
		}

		return poly, nil
	}

	return nil, c.fail("unknown TDMS scale type %q (scale %d)", kind, k)
}

// scalers returns the DAQmx scalers of the channel; the pieces must agree.
func (c *Channel) scalers() []scaler {
	for _, p := range c.pieces {
		if s := p.run.lay.slots[p.slot].scalers; len(s) > 0 {
			return s
		}
	}

	return nil
}
