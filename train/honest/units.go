package honest

import (
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// This file learns the scale of the errors at conditions that do not belong to a new group: at measured conditions,
// between measured conditions, and at new combinations of measured values (interval.Class). For each of these classes
// it leaves out units of training conditions that are like the conditions of the class: single conditions, or all
// conditions of a combination of values of some factors. A factor is an input, or a label whose names have offsets. The
// design lists the training conditions by the values of their factors (interval.Design). Here the place of a row is its
// index in the list of training rows.

// Limits of the units that are left out to learn their scales. The cost is proportional to their product and to the
// square of the number of conditions.
const (
	maxDesign = 2000 // conditions of a design; for larger ones no scales are learned
	maxUnits  = 100  // units that are left out for each set of factors, evenly chosen
)

// leftUnits are the units of a design that are left out.
type leftUnits struct {
	design  *interval.Design // nil: no units are left out
	sets    []unitSet        // no two sets have the same units
	factors []unitFactors    // in the order of the calibration's scales
}

// unitSet holds units that are left out in turn: for each unit the places of its rows among the training rows.
type unitSet [][]int

// unitFactors are factors whose combinations of values are the units of a set. Several lists of factors can have the
// same set: a thing and its properties divide the conditions alike. The set is then left out once.
type unitFactors struct {
	numbers []int // of the factors; nil: the units are single conditions
	set     int   // place in leftUnits.sets
}

// newLeftUnits returns the units that are left out to learn their scales. There are none if the process averages
// conditions, if the groups are blocks, or if the condition of the groups is neither an input nor a label with offsets.
func newLeftUnits(t trainingGroups, m *Model) leftUnits {
	if m.Process.Cells() != nil || t.grouping.Kind == interval.Blocks {
		return leftUnits{}
	}

	design, rows := m.design(t)
	if design == nil || len(design.Rows) > maxDesign {
		return leftUnits{}
	}

	left := leftUnits{design: design}
	for _, factors := range append([][]int{nil}, design.Subsets(m.Condition)...) {
		if units := unitsLeftOut(design.Units(factors), rows); len(units) >= scale.MinGroups {
			left.add(factors, units)
		}
	}

	return left
}

// add adds factors with their units.
func (l *leftUnits) add(factors []int, units unitSet) {
	place := slices.IndexFunc(l.sets, func(known unitSet) bool { return slices.EqualFunc(known, units, slices.Equal) })
	if place < 0 {
		place = len(l.sets)
		l.sets = append(l.sets, units)
	}

	l.factors = append(l.factors, unitFactors{factors, place})
}

// learn sets the design of c and the scales of its units, from the predictions of the units of each set. Without a
// design it sets neither.
func (l leftUnits) learn(t trainingGroups, c *interval.Calibration, predictions [][]triplets.Prediction) {
	if l.design == nil {
		return
	}

	var bySet []interval.UnitScale
	for k, set := range l.sets {
		var left []LeftOut
		for u, places := range set {
			held := Held{Rows: lists.Pick(t.train, places)}
			left = append(left, newUnit(t.set, held, predictions[k][u]))
		}

		bySet = append(bySet, unitScale(left, c))
	}

	var scales []interval.UnitScale
	for _, factors := range l.factors {
		s := bySet[factors.set]
		s.Factors = l.design.Names(factors.numbers)
		scales = append(scales, s)
	}

	c.SetDesign(l.design, scales)
}

// design returns the design of the training conditions, and for each condition the places of its rows in t.train. Both
// are nil if the condition of the groups is not a factor.
func (m *Model) design(t trainingGroups) (design *interval.Design, rows [][]int) {
	labels := m.placeLabels()
	isInput := slices.ContainsFunc(m.Inputs, func(q Input) bool { return q.Name == m.Condition })
	isLabel := slices.ContainsFunc(labels, func(k int) bool { return m.Labels[k].Name == m.Condition })
	if !isInput && !isLabel {
		return nil, nil
	}

	points := t.set.AtSetPoints()
	var table []float64 // training rows × factors
	for i, row := range t.train {
		table = append(table, points[row*t.set.In:(row+1)*t.set.In]...)
		for _, k := range labels {
			table = append(table, float64(m.trained[i*len(m.Labels)+k]))
		}
	}

	columns := t.set.In + len(labels)
	index, conditions := triplets.Index(table, columns)
	design = &interval.Design{}
	for k, q := range m.Inputs {
		values := lists.Column(conditions, columns, k)
		design.Factors = append(design.Factors, interval.NewFactor(q.Name, values, q.Name == m.Condition))
	}

	for _, k := range labels {
		design.Factors = append(design.Factors, interval.Factor{Name: m.Labels[k].Name, Labels: len(m.Labels[k].Names)})
	}

	for i := 0; i < len(conditions); i += columns {
		design.Rows = append(design.Rows, m.places(design, conditions[i:i+columns]))
	}

	return design, lists.Alike(index)
}

// placeLabels returns the numbers of the labels of the process that are factors of a design: all except runs.
func (m *Model) placeLabels() []int {
	var list []int
	for k, label := range m.Labels {
		if !label.areRuns() {
			list = append(list, k)
		}
	}

	return list
}

// places returns the place of a condition among the values of each factor. values has the value of each factor: the
// inputs at their set points, and then the levels of the labels.
func (m *Model) places(d *interval.Design, values []float64) []int {
	var places []int
	for k, v := range values {
		if k < len(m.Inputs) {
			places = append(places, d.Factors[k].Place(v))
			continue
		}

		place := int(v)
		if place >= d.Factors[k].Labels {
			place = interval.Unknown
		}

		places = append(places, place)
	}

	return places
}

// queries returns the class of each condition of x (n×In). level are the levels of the labels, conditions × labels;
// nil: all are new. It returns nil if the calibration has no design.
func (m *Model) queries(x []float64, level []int) []interval.Query {
	c := m.Calibration
	if c.Design == nil {
		return nil
	}

	allNew := make([]int, len(m.Labels))
	for k, label := range m.Labels {
		allNew[k] = len(label.Names)
	}

	var list []interval.Query
	for i := 0; i < len(x); i += len(m.Inputs) {
		row := x[i : i+len(m.Inputs)]
		own := allNew
		if level != nil {
			first := i / len(m.Inputs) * len(m.Labels)
			own = level[first : first+len(m.Labels)]
		}

		list = append(list, c.Query(m.Inside(row), m.places(c.Design, m.factorValues(row, own))))
	}

	return list
}

// factorValues returns the value of each factor of a design at a condition: the inputs at their set points, and then
// the levels of the labels. level has the level of each label.
func (m *Model) factorValues(condition []float64, level []int) []float64 {
	var values []float64
	for k, v := range condition {
		if p := m.Inputs[k].setPoint(v); p != nil {
			v = p.Nominal
		}

		values = append(values, v)
	}

	for _, k := range m.placeLabels() {
		values = append(values, float64(level[k]))
	}

	return values
}

// unitsLeftOut returns the places of the rows of each unit in the list of training rows, ascending. A unit is a list of
// conditions, and rows has the places of the rows of each condition. If there are more than maxUnits units,
// unitsLeftOut chooses as many of them evenly. If there are fewer than scale.MinGroups, it returns nil: without a
// single unit no row would remain.
func unitsLeftOut(units, rows [][]int) [][]int {
	if len(units) < scale.MinGroups {
		return nil
	}

	var list [][]int
	for _, conditions := range lists.Evenly(units, maxUnits) {
		var places []int
		for _, k := range conditions {
			places = append(places, rows[k]...)
		}

		slices.Sort(places)
		list = append(list, places)
	}

	return list
}

// newUnit joins p, the predictions of the rows of a unit, with the pairs measured there.
func newUnit(s triplets.Set, h Held, p triplets.Prediction) LeftOut {
	return NewLeftOut(s, Grouping{Names: []string{""}}, h, p)
}

// unitScale learns the scale of units from the units that were left out. It also judges the intervals of each unit,
// which follow from the other units. It does not set Factors.
func unitScale(left []LeftOut, c *interval.Calibration) interval.UnitScale {
	outcomes := len(c.Deviation)
	var s interval.UnitScale
	ratios := make([][]float64, outcomes) // by outcome and unit
	for j := range outcomes {
		for _, l := range left {
			ratios[j] = append(ratios[j], l.errorOverClaim(j, outcomes))
		}

		s.Factor = append(s.Factor, interval.UnitFactor(ratios[j]))
	}

	for u, l := range left {
		var others []float64 // by outcome: λ without the unit
		for j := range outcomes {
			rest := slices.Delete(slices.Clone(ratios[j]), u, u+1)
			others = append(others, interval.UnitFactor(rest))
		}

		inside, inside68 := l.covered(c, others)
		s.Inside = append(s.Inside, inside)
		s.Inside68 = append(s.Inside68, inside68)
	}

	return s
}

// errorOverClaim returns the mean squared error of outcome j over the mean claim. It returns 0 if the measured error is
// negative, and 1 if the claim is not positive. Pairs measure the squared error by the product of their deviations. If
// the two outcomes of each row are the same value (Alone), there are no pairs: errorOverClaim then subtracts the noise
// from the squared deviations.
func (l LeftOut) errorOverClaim(j, outcomes int) float64 {
	rows := triplets.Set{N: l.N, Alone: l.Alone}.Pairs()
	hasPairs := len(rows) > 0
	if !hasPairs {
		rows = lists.Numbers(l.N)
	}

	squares := 0.0
	claim := 0.0
	for _, i := range rows {
		k := i*outcomes + j
		squares += (l.Y1[k] - l.Mu[k]) * (l.Y2[k] - l.Mu[k])
		claim += l.Claim[k]
		if !hasPairs {
			squares -= max(l.Noise[k], 0)
		}
	}

	if !(claim > 0) {
		return 1
	}

	return max(squares, 0) / claim
}

// covered returns the shares of the values of a unit inside its intervals of 95 and 68 %, if the claims are multiplied
// by the given factor of each outcome.
func (l LeftOut) covered(c *interval.Calibration, factors []float64) (inside, inside68 float64) {
	outcomes := len(factors)
	laws := newGroupLaws(c.Scale, interval.UnitLevel)
	share := 1 / float64(2*len(l.Mu))
	for k, mu := range l.Mu {
		j := k % outcomes
		variance := c.Deviation[j] * c.Deviation[j]
		law := laws.law(lawKey{l.Claim[k] * factors[j] / variance, scale.Known, l.Noise[k] / variance})
		for _, y := range [2]float64{l.Y1[k], l.Y2[k]} {
			miss := (y - mu) / c.Deviation[j]
			if -law.half <= miss && miss <= law.half {
				inside += share
			}

			if -law.half68 <= miss && miss <= law.half68 {
				inside68 += share
			}
		}
	}

	return inside, inside68
}
