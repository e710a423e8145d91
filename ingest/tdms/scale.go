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
	var p *props
	for _, l := range levels {
		if _, ok := l.get("NI_Number_Of_Scales"); ok {
			p = l
			break
		}
		for i := range l.list {
			if strings.HasPrefix(l.list[i].Name, "NI_Scale[") {
				p = l
				break
			}
		}
		if p != nil {
			break
		}
	}
	scalers := c.scalers()
	status := ""
	if p != nil {
		status = p.text("NI_Scaling_Status")
	}
	if p == nil || strings.EqualFold(status, "scaled") {
		if len(scalers) > 1 {
			return c.fail("%d DAQmx scalers and no scale that says which", len(scalers))
		}
		return nil
	}
	if status != "" && !strings.EqualFold(status, "unscaled") {
		return c.fail("unknown TDMS scaling status %q", status)
	}
	count, ok := p.number("NI_Number_Of_Scales")
	if !ok { // files of old versions: the highest number there is
		for i := range p.list {
			var k int
			if _, err := fmt.Sscanf(p.list[i].Name, "NI_Scale[%d]_Scale_Type", &k); err == nil {
				count = max(count, float64(k)+1)
			}
		}
	}
	if count == 0 {
		if len(scalers) > 1 {
			return c.fail("%d DAQmx scalers and no scale that says which", len(scalers))
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
			for _, s := range scalers {
				if int64(s.id) == k {
					c.source = k
					return nil
				}
			}
			if len(scalers) > 0 || step == 0 {
				return c.fail("TDMS scale %d of %v is missing", k, count)
			}
			return nil
		}
		kind, _ := v.(string)
		var poly []float64
		switch kind {
		case "Linear":
			slope, ok1 := p.number(prefix + "Linear_Slope")
			zero, ok2 := p.number(prefix + "Linear_Y_Intercept")
			if !ok1 || !ok2 {
				return c.fail("the linear TDMS scale %d has no slope or no intercept", k)
			}
			poly = []float64{zero, slope}
		case "Polynomial":
			size, ok := p.number(prefix + "Polynomial_Coefficients_Size")
			if !ok {
				size = 4
			}
			if size < 1 || size > 1024 || size != math.Trunc(size) {
				return c.fail("the polynomial TDMS scale %d has %v coefficients", k, size)
			}
			for i := range int(size) {
				x, ok := p.number(fmt.Sprintf("%sPolynomial_Coefficients[%d]", prefix, i))
				if !ok {
					return c.fail("the polynomial TDMS scale %d has no coefficient %d", k, i)
				}
				poly = append(poly, x)
			}
		default:
			return c.fail("unknown TDMS scale type %q (scale %d)", kind, k)
		}
		c.chain = append([][]float64{poly}, c.chain...)
		c.Scales = append([]string{fmt.Sprintf("%s %v", kind, poly)}, c.Scales...)
		in, ok := p.number(prefix + kind + "_Input_Source")
		if !ok || in == math.MaxUint32 || in == -1 {
			if len(scalers) > 1 {
				return c.fail("%d DAQmx scalers and no input that says which", len(scalers))
			}
			return nil
		}
		if in < 0 || in != math.Trunc(in) || in >= math.MaxInt32 {
			return c.fail("the input of TDMS scale %d is %v", k, in)
		}
		if len(scalers) > 0 {
			for _, s := range scalers {
				if int64(s.id) == int64(in) {
					c.source = int64(in)
					return nil
				}
			}
		}
		k = int64(in)
	}
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
