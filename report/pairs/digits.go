package pairs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file matches conditions that one file has with fewer digits than the other.

// fewestDigits is the smallest number of digits with which a number without decimals may be a rounded number: 1250 may
// be 1249.7 rounded, but 3 is not taken for 3.4. A number with decimals may always be rounded: 3.0 may be 3.04.
const fewestDigits = 3

// halfStep returns half a unit of the last digit of a number as it is written, and 0 if it has too few digits to be a
// rounded number.
func halfStep(text string) float64 {
	text = strings.ToLower(strings.TrimLeft(strings.TrimSpace(text), "+-−"))
	mantissa, exponent, _ := strings.Cut(text, "e")
	power := 0
	if exponent != "" {
		var err error
		power, err = strconv.Atoi(exponent)
		if err != nil {
			return 0
		}
	}

	mantissa = strings.Replace(mantissa, ",", ".", 1)
	whole, decimals, hasDecimals := strings.Cut(mantissa, ".")
	if strings.Trim(whole+decimals, "0123456789") != "" {
		return 0
	}

	if !hasDecimals && len(strings.TrimLeft(whole, "0")) < fewestDigits {
		return 0
	}

	return 0.5 * math.Pow(10, float64(power-len(decimals)))
}

// written has the numbers of a condition in one file, and how precisely the file states them.
type written struct {
	values    []float64
	halfSteps []float64 // half a unit of the last digit of each number, as halfStep returns it
}

// writtenCells returns the numbers of a column of a table as they are written. scale converts their unit.
func (c *Cells) writtenCells(name string, values []float64, scale float64) written {
	w := written{values: values, halfSteps: make([]float64, len(values))}
	for i := range values {
		w.halfSteps[i] = halfStep(c.Text(i, name)) * math.Abs(scale)
	}

	return w
}

// writtenShortest returns numbers as if they were written with the fewest digits that read back as the same float64.
// No number is written with an exponent: 1200000 as 1.2e+06 would have a half step of 50000 instead of 0.5.
func writtenShortest(values []float64) written {
	w := written{values: values, halfSteps: make([]float64, len(values))}
	for i, v := range values {
		w.halfSteps[i] = halfStep(strconv.FormatFloat(v, 'f', -1, 64))
	}

	return w
}

// toDigitsOf returns the numbers of w, some of them replaced by a number of other. A number is replaced if exactly one
// number of other equals it, as nearest compares them, and if no further number of w would be replaced by the same
// number of other.
func (w written) toDigitsOf(other written) []float64 {
	targets := map[float64]float64{} // half step by value
	for i, v := range other.values {
		targets[v] = max(targets[v], other.halfSteps[i])
	}

	chosen := map[float64]float64{} // number of other, by number
	count := map[float64]int{}      // numbers that chose a number of other
	for i, v := range w.values {
		if _, isKnown := chosen[v]; isKnown || math.IsNaN(v) {
			continue
		}

		chosen[v] = v
		near := nearest(v, w.halfSteps[i], targets)
		if len(near) == 1 {
			chosen[v] = near[0]
			count[near[0]]++
		}
	}

	replaced := slices.Clone(w.values)
	for i, v := range w.values {
		if target, isKnown := chosen[v]; isKnown && count[target] == 1 {
			replaced[i] = target
		}
	}

	return replaced
}

// nearest returns the targets that the number v may equal, because one of the two may be a rounded number: they differ
// by at most the greater of their half steps. If v itself is a target, nearest returns v alone. halfStep is the half
// step of v, and targets has the half step of each target.
func nearest(v, halfStep float64, targets map[float64]float64) []float64 {
	if _, isThere := targets[v]; isThere {
		return []float64{v}
	}

	const slack = 1 + 1e-6 // for the rounding of a half
	var near []float64
	for target, step := range targets {
		if math.Abs(v-target) <= max(step, halfStep)*slack {
			near = append(near, target)
		}
	}

	return near
}
