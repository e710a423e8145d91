package interval

import "slices"

// This file finds the design and the classes of conditions after further conditions are measured. The scales that
// left-out groups and units taught stay as they are, since they depend on outcomes.

// AfterMeasuring returns the calibration with further measured conditions. x are their inputs, conditions × inputs.
// values has, for each condition, the value of each factor: the place of the name if the factor is a label. The
// calibration must have a design.
func (c *Calibration) AfterMeasuring(x []float64, values [][]float64) *Calibration {
	after := *c
	after.Inputs = slices.Clone(c.Inputs)
	for k, v := range x {
		r := &after.Inputs[k%len(c.Inputs)]
		r.Min = min(r.Min, v)
		r.Max = max(r.Max, v)
	}

	after.Design = c.Design.withConditions(values)
	after.index = after.Design.index(c.Condition)

	return &after
}

// withConditions returns the design with further conditions, which may have new values and names.
func (d *Design) withConditions(conditions [][]float64) *Design {
	after := &Design{Factors: slices.Clone(d.Factors)}
	for _, row := range d.Rows {
		after.Rows = append(after.Rows, slices.Clone(row))
	}

	for _, values := range conditions {
		row := make([]int, len(values))
		for k, v := range values {
			if d.Factors[k].Labels > 0 {
				row[k] = int(v)
				after.Factors[k].Labels = max(after.Factors[k].Labels, row[k]+1)
			} else {
				after.addValue(k, v)
				row[k] = after.Factors[k].Place(v)
			}
		}

		after.Rows = append(after.Rows, row)
	}

	return after
}

// addValue adds a value to the values of an input, unless it is one of these values or the values scatter.
func (d *Design) addValue(input int, v float64) {
	f := &d.Factors[input]
	f.Min = min(f.Min, v)
	f.Max = max(f.Max, v)
	if f.Place(v) != Unknown {
		return
	}

	place, _ := slices.BinarySearch(f.Values, v)
	f.Values = slices.Insert(slices.Clone(f.Values), place, v)
	for _, row := range d.Rows {
		if row[input] >= place {
			row[input]++
		}
	}
}

// SingleConditions returns the scale that was learned from single conditions, or nil if none was.
func (c *Calibration) SingleConditions() *UnitScale { return c.unitScale(nil) }
