package pairs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file matches conditions that one file has with fewer digits than the other.

// fewestDigits is the number of digits of a number without decimals from which on it may be a rounded one: 3 is no
// rounded 3.4, 3.0 and 1250 are rounded 3.04 and 1249.7.
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

// written are the numbers of a condition with half a unit of the last digit of each.
type written struct {
	values, halfSteps []float64
}

// writtenCells returns the numbers of a column of a table as they are written. scale converts their unit.
func (c *Cells) writtenCells(name string, values []float64, scale float64) written {
	w := written{values: values, halfSteps: make([]float64, len(values))}
	for i := range values {
		w.halfSteps[i] = halfStep(c.Text(i, name)) * math.Abs(scale)
	}

	return w
}

// writtenShortest returns numbers with the fewest digits that tell them from others.
func writtenShortest(values []float64) written {
	w := written{values: values, halfSteps: make([]float64, len(values))}
	for i, v := range values {
		w.halfSteps[i] = halfStep(strconv.FormatFloat(v, 'g', -1, 64))
	}

	return w
}

// toDigitsOf returns the numbers with each replaced by the one of other that is the same to the digits that were
// written in either file. A number that is not clearly the same as one stays: one that two numbers of the other file
// might be, or one that has a neighbour which might be the same.
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

// nearest returns the targets that a number equals to the digits of either: the number itself if it is there.
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
