package tdms

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// scaling reads the NI_Scale properties of the channel. They are the properties of the first of the levels that has
// some; the levels are the channel, its group and the file. scaling sets the chain of polynomials, and for DAQmx data
// the scaler whose values are the input. If there are no scales, or if the file states that the values are already
// scaled, the chain stays empty.
//
// Scales are numbered from 0. A scale takes its input from the property Input_Source: the number of another scale,
// whose output is the input, or for DAQmx data the number of a scaler. If the property is missing or 0xFFFFFFFF, the
// input is the raw values. The output of the scale with the highest number is the result.
func (c *channel) scaling(levels ...*props) error {
	p := scaleProperties(levels)
	scalers := c.scalers()

	stated := p.text("NI_Scaling_Status")
	status := strings.ToLower(stated)
	switch status {
	case "", "unscaled", "scaled":
	default:
		return c.fail("unknown TDMS scaling status %q", stated)
	}

	count := 0.0
	if status != "scaled" {
		count = scaleCount(p)
	}

	if count == 0 {
		if len(scalers) > 1 {
			return c.fail("%d DAQmx scalers and no scale that selects one", len(scalers))
		}

		return nil
	}

	if !isCount(count) || count == 0 {
		return c.fail("NI_Number_Of_Scales is %v", count)
	}

	return c.followScales(p, scalers, count)
}

// isCount reports whether a number is a whole number from 0 to 2^31 − 1.
func isCount(x float64) bool { return x >= 0 && x <= math.MaxInt32 && x == math.Trunc(x) }

// followScales follows the inputs from the last of count scales back to the raw values, and puts each scale at the
// front of the chain.
func (c *channel) followScales(p *props, scalers []scaler, count float64) error {
	k := int64(count) - 1
	for step := 0; ; step++ {
		if step > maxScaleInputs {
			return c.fail("the TDMS scales go in a circle")
		}

		prefix := fmt.Sprintf("NI_Scale[%d]_", k)

		scaleType := p.get(prefix + "Scale_Type")
		if scaleType == nil {
			// There is no scale with that number: it is the number of a DAQmx scaler, or stands for the raw values.
			isRaw := len(scalers) == 0 && step > 0
			if !c.takeScaler(scalers, k) && !isRaw {
				return c.fail("TDMS scale %d of %v is missing", k, count)
			}

			return nil
		}

		kind, _ := scaleType.(string)
		poly, err := c.polynomial(p, prefix, kind, k)
		if err != nil {
			return err
		}

		c.chain = append([][]float64{poly}, c.chain...)
		c.scales = append([]string{fmt.Sprintf("%s %v", kind, poly)}, c.scales...)

		input, ok := p.number(prefix + kind + "_Input_Source")
		if !ok || input == math.MaxUint32 || input == -1 {
			if len(scalers) > 1 {
				return c.fail("%d DAQmx scalers and no input that selects one", len(scalers))
			}

			return nil
		}

		if !isCount(input) || input == math.MaxInt32 {
			return c.fail("the input of TDMS scale %d is %v", k, input)
		}

		k = int64(input)
		if c.takeScaler(scalers, k) {
			return nil
		}
	}
}

// scaleProperties returns the properties of the first level that has scales, and no properties if no level has.
func scaleProperties(levels []*props) *props {
	for _, l := range levels {
		if l.hasScales() {
			return l
		}
	}

	return &props{}
}

// hasScales reports whether there are properties of scales.
func (p *props) hasScales() bool {
	if p.get("NI_Number_Of_Scales") != nil {
		return true
	}

	for _, property := range p.list {
		if strings.HasPrefix(property.name, "NI_Scale[") {
			return true
		}
	}

	return false
}

// scaleCount returns the number of scales. If the file does not state it, as old writers do not, it is one more than
// the highest number of a scale.
func scaleCount(p *props) float64 {
	if count, ok := p.number("NI_Number_Of_Scales"); ok {
		return count
	}

	count := 0.0
	for _, property := range p.list {
		var k int
		if _, err := fmt.Sscanf(property.name, "NI_Scale[%d]_Scale_Type", &k); err == nil {
			count = max(count, float64(k)+1)
		}
	}

	return count
}

// takeScaler makes the DAQmx scaler with the given number the channel's source. It returns false if there is none.
func (c *channel) takeScaler(scalers []scaler, number int64) bool {
	found := slices.ContainsFunc(scalers, func(s scaler) bool { return int64(s.id) == number })
	if found {
		c.source = number
	}

	return found
}

// A polynomial has defaultCoefficients coefficients if the file does not state the number.
const (
	defaultCoefficients = 4
	maxCoefficients     = 1024
)

// polynomial returns the coefficients of scale k, the constant first. prefix is the beginning of the names of its
// properties, and kind its type.
func (c *channel) polynomial(p *props, prefix, kind string, k int64) ([]float64, error) {
	switch kind {
	case "Linear":
		slope, hasSlope := p.number(prefix + "Linear_Slope")
		intercept, hasIntercept := p.number(prefix + "Linear_Y_Intercept")
		if !hasSlope || !hasIntercept {
			return nil, c.fail("the linear TDMS scale %d has no slope or no intercept", k)
		}

		return []float64{intercept, slope}, nil
	case "Polynomial":
	default:
		return nil, c.fail("unknown TDMS scale type %q (scale %d)", kind, k)
	}

	size, ok := p.number(prefix + "Polynomial_Coefficients_Size")
	if !ok {
		size = defaultCoefficients
	}

	if size < 1 || size > maxCoefficients || !isCount(size) {
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

// scalers returns the DAQmx scalers of the channel in its first piece that has some, and nil if none has.
func (c *channel) scalers() []scaler {
	for _, piece := range c.pieces {
		if s := piece.run.lay.slots[piece.slot].scalers; len(s) > 0 {
			return s
		}
	}

	return nil
}
