package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// This file contains the questions that figures ask a Detail: about its inputs and conditions, and about the answers at
// them.

// data returns the kind of data by which figures name the outcomes: "measured" or "simulated".
func (d *Detail) data() string { return cmp.Or(clean(d.Experiment.Data), "measured") }

// inputCount returns the number of inputs.
func (d *Detail) inputCount() int { return len(d.Inputs) }

// outcomeCount returns the number of outcomes.
func (d *Detail) outcomeCount() int { return len(d.Outcomes) }

// conditionCount returns the number of conditions. Without inputs all triplets have the same condition.
func (d *Detail) conditionCount() int {
	if d.inputCount() == 0 {
		return min(1, len(d.Cond))
	}
	return len(d.X) / d.inputCount()
}

// x returns input k of condition c.
func (d *Detail) x(c, k int) float64 { return d.X[c*d.inputCount()+k] }

// inputsOf returns the inputs of condition c.
func (d *Detail) inputsOf(c int) []float64 { return d.X[c*d.inputCount() : (c+1)*d.inputCount()] }

// values returns the distinct values of input k, ascending.
func (d *Detail) values(k int) []float64 {
	values := lists.Column(d.X, d.inputCount(), k)
	slices.Sort(values)

	return slices.Compact(values)
}

// varies reports whether input k has several values at the conditions.
func (d *Detail) varies(conditions []int, k int) bool {
	for _, c := range conditions {
		if d.x(c, k) != d.x(conditions[0], k) {
			return true
		}
	}

	return false
}

// outcomeIndex returns the index of the outcome with the given name, or −1 if there is none.
func (d *Detail) outcomeIndex(name string) int {
	for k, outcome := range d.Outcomes {
		if outcome.Name == name {
			return k
		}
	}

	return -1
}

// spot is conditions that agree in some inputs, the fixed inputs of a figure, and differ in the others, such as the
// angle.
type spot struct {
	inputs     []float64 // all inputs of the first condition
	conditions []int
}

// spots groups conditions that agree in the fixed inputs, and orders the groups by these inputs. fixed has indices of
// inputs.
func (d *Detail) spots(conditions, fixed []int) []*spot {
	compare := func(a, b int) int {
		for _, k := range fixed {
			if order := cmp.Compare(d.x(a, k), d.x(b, k)); order != 0 {
				return order
			}
		}

		return 0
	}

	var spots []*spot
	var last *spot
	for _, c := range slices.SortedStableFunc(slices.Values(conditions), compare) {
		if last == nil || compare(last.conditions[0], c) != 0 {
			last = &spot{inputs: d.inputsOf(c)}
			spots = append(spots, last)
		}

		last.conditions = append(last.conditions, c)
	}

	return spots
}

// sorted returns conditions in ascending order of input k.
func (d *Detail) sorted(conditions []int, k int) []int {
	return slices.SortedStableFunc(slices.Values(conditions), func(a, b int) int {
		return cmp.Compare(d.x(a, k), d.x(b, k))
	})
}

// answers returns the means over seeds of μ and σ², conditions × outcomes. Both are nil if there are no seeds.
func (s *SplitDetail) answers() (mu, variance []float64) {
	for k, seed := range s.Seeds {
		if k == 0 {
			mu = make([]float64, len(seed.Mu))
			variance = make([]float64, len(seed.Mu))
		}

		for i := range seed.Mu {
			mu[i] += seed.Mu[i] / float64(len(s.Seeds))
			variance[i] += seed.Var[i] / float64(len(s.Seeds))
		}
	}

	return mu, variance
}

// covariances returns the means over seeds of C, conditions × outcomes. It returns nil if there are no seeds.
func (s *SplitDetail) covariances() []float64 {
	var mean []float64
	for k, seed := range s.Seeds {
		if k == 0 {
			mean = make([]float64, len(seed.Cov))
		}

		for i := range seed.Cov {
			mean[i] += seed.Cov[i] / float64(len(s.Seeds))
		}
	}

	return mean
}

// trainedAndHeldOut returns the first n conditions in two lists: the conditions of the training and the held-out ones.
func (s *SplitDetail) trainedAndHeldOut(n int) (trained, held []int) {
	for c := range n {
		if s.Test[c] {
			held = append(held, c)
		} else {
			trained = append(trained, c)
		}
	}

	return trained, held
}

// placeText writes the values of the inputs with the given indices: "3 blades, shaft speed 5000 1/min".
func placeText(inputs []Quantity, values []float64, indices []int) string {
	var texts []string
	for _, k := range indices {
		texts = append(texts, inputText(inputs[k], values[k]))
	}

	return strings.Join(texts, ", ")
}

// inputText writes the value of one input.
func inputText(input Quantity, value float64) string {
	if input.Name == "blades" {
		return number6(value) + " blades"
	}

	text := input.Word() + " " + number6(value)
	if input.Word() == input.Name { // there are no words for it
		text = input.Name + " = " + number6(value)
	}

	if input.Unit != "" {
		text += " " + clean(input.Unit)
	}

	return text
}

// placeOf writes all inputs of a condition.
func (d *Detail) placeOf(c int) string {
	return placeText(d.Inputs, d.inputsOf(c), indicesWithout(d.inputCount()))
}

// indicesWithout returns the numbers from 0 to n−1 that are not excepted.
func indicesWithout(n int, excepted ...int) []int {
	var indices []int
	for k := range n {
		if !slices.Contains(excepted, k) {
			indices = append(indices, k)
		}
	}

	return indices
}

// number6 writes a number with at most six digits and a true minus sign.
func number6(value float64) string {
	return strings.Replace(strconv.FormatFloat(value, 'g', 6, 64), "-", "−", 1)
}
