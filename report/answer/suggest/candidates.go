package suggest

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"doubletake/report/answer/predict"
	"doubletake/train/honest"
)

// Candidates are the conditions that may be measured next. Inputs that they do not state are averaged over the values
// that the models were trained on: a run of a rotor has all its microphones.
type Candidates struct {
	Inputs  []int       // numbers of the stated inputs among InputNames
	Sources []string    // stated numbers that inputs are computed from
	Labels  []string    // labels whose names some candidates state
	List    []Candidate // without repeats

	// MissingFirst reports whether combinations of measured values that were not measured come before all others.
	MissingFirst bool
}

// Candidate is one condition.
type Candidate struct {
	At     []float64         // values of the stated inputs
	Stated []float64         // values of the sources
	Things map[string]string // names by label; a label without a name belongs to a new thing
	Beyond bool              // it may be measured, but is not asked about: gains and half widths do not count it
}

// isLike reports whether two candidates are the same condition.
func (c Candidate) isLike(d Candidate) bool {
	return maps.Equal(c.Things, d.Things) && sameCondition(c.At, d.At) && sameCondition(c.Stated, d.Stated)
}

// ParseGrid reads "blades=2:5:1,rpm=2000:9000:500". A name is an input, or a number that inputs are computed from.
func ParseGrid(models *predict.Models, text string) (*Candidates, error) {
	grid, err := models.Grid(text)
	if err != nil {
		return nil, err
	}

	c := &Candidates{Inputs: grid.Inputs, Sources: grid.Sources}
	for i, row := range grid.Rows {
		c.List = append(c.List, Candidate{At: row, Stated: grid.Stated[i]})
	}

	return c, nil
}

// Read reads a table of conditions that can be measured, with columns for inputs, for numbers that inputs are computed
// from, and for labels. An input that no column gives is averaged over its trained values. Errors in the file are
// *fault.Error.
func Read(models *predict.Models, path string) (*Candidates, error) {
	table, err := models.ReadSome(path)
	if err != nil {
		return nil, err
	}

	c := &Candidates{Inputs: table.Inputs, Sources: table.Sources, Labels: table.Labels}
	width := len(table.Inputs)
	for i, things := range table.Things {
		candidate := Candidate{At: table.X[i*width : (i+1)*width], Stated: table.Stated[i], Things: things}
		if !slices.ContainsFunc(c.List, candidate.isLike) {
			c.List = append(c.List, candidate)
		}
	}

	return c, nil
}

// Limits of the candidates that are taken without a grid.
const (
	mostPoints   = 6000 // candidates
	scatteredFew = 9    // values of an input whose trained values scatter
	mostSettings = 40   // distinct trained values from which on the values of an input scatter
)

// Default returns candidates between and around what was measured. It combines, for each input that is not swept within
// runs, the trained values, the middles between neighbours, and a value half a step beyond either end. Candidates with
// a value beyond the ends are not asked about. Inputs that are properties of things are combined only as the measured
// things combine them. If there are more than mostPoints candidates, Default leaves out the values beyond the ends
// first, then the middles, and then every second value of the input with the most values.
func Default(models *predict.Models) *Candidates {
	steps := settings(models)
	for keep := beyondValue; tooMany(steps, keep) && keep > trainedValue; keep-- {
		for k := range steps {
			steps[k] = steps[k].kept(keep - 1)
		}
	}

	for tooMany(steps, beyondValue) { // steps have no value of a kind that was left out
		longest := slices.MaxFunc(steps, func(a, b setting) int { return cmp.Compare(len(a.rows), len(b.rows)) })
		k := slices.IndexFunc(steps, func(s setting) bool { return len(s.rows) == len(longest.rows) })
		steps[k] = longest.thinned()
	}

	c := &Candidates{MissingFirst: true}
	for _, s := range steps {
		c.Inputs = append(c.Inputs, s.inputs...)
	}

	c.List = combine(steps)

	return c
}

// setting is an input, or several inputs that change together, with its values. combine combines these values with the
// values of other settings.
type setting struct {
	inputs []int
	rows   []row
}

// row is one value of each input of a setting.
type row struct {
	values []float64
	kind   valueKind
}

// valueKind says how a value relates to the trained ones. If there are too many candidates, values of the larger kinds
// are left out first.
type valueKind int

const (
	trainedValue valueKind = iota // the models were trained on it
	middleValue                   // lies in the middle between two trained neighbours
	beyondValue                   // lies beyond the smallest or the largest trained value
)

// kept returns the setting with the rows up to a kind.
func (s setting) kept(most valueKind) setting {
	return setting{s.inputs, slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.kind > most })}
}

// thinned returns the setting with every second row, and the last one.
func (s setting) thinned() setting {
	var rows []row
	for k, r := range s.rows {
		if k%2 == 0 || k == len(s.rows)-1 {
			rows = append(rows, r)
		}
	}

	if len(rows) == len(s.rows) { // every second row and the last one are all of two rows
		rows = rows[:1]
	}

	return setting{s.inputs, rows}
}

// tooMany reports whether the rows up to a kind have more than mostPoints combinations.
func tooMany(steps []setting, keep valueKind) bool {
	points := 1
	for _, s := range steps {
		points *= len(s.kept(keep).rows)
		if points > mostPoints {
			return true
		}
	}

	return false
}

// combine returns all combinations of the rows of settings.
func combine(steps []setting) []Candidate {
	points := []Candidate{{}}
	for _, s := range steps {
		var longer []Candidate
		for _, p := range points {
			for _, r := range s.rows {
				longer = append(longer, Candidate{
					At: slices.Concat(p.At, r.values), Beyond: p.Beyond || r.kind == beyondValue,
				})
			}
		}

		points = longer
	}

	return points
}

// settings returns what can be set for a measurement, with the values of Default.
func settings(models *predict.Models) []setting {
	inputs := models.Card.Inputs
	isProperty := properties(models)
	areAllSwept := !slices.ContainsFunc(inputs, func(q predict.Input) bool { return !q.Swept })
	var steps []setting
	things := setting{}
	for k, q := range inputs {
		switch {
		case isProperty[k]:
			things.inputs = append(things.inputs, k)
		case areAllSwept || !q.Swept:
			steps = append(steps, setting{[]int{k}, valuesAround(trainedValues(models, k), q.Unit)})
		}
	}

	if things.inputs == nil {
		return steps
	}

	for _, c := range models.Card.Conditions {
		own := row{kind: trainedValue}
		for _, k := range things.inputs {
			own.values = append(own.values, c[k])
		}

		if !slices.ContainsFunc(things.rows, func(r row) bool { return sameCondition(r.values, own.values) }) {
			things.rows = append(things.rows, own)
		}
	}

	return append([]setting{things}, steps...)
}

// properties reports which inputs are properties of the things that are the groups of the calibrated model.
func properties(models *predict.Models) []bool {
	list := make([]bool, len(models.Card.Inputs))
	if models.Honest == nil || models.Honest.Calibration == nil || !models.Honest.Calibration.OfThings {
		return list
	}

	for k, r := range models.Honest.Calibration.Inputs {
		list[k] = r.FromGroup
	}

	return list
}

// trainedValues returns the set points of an input, or its trained values, ascending. If they scatter, it returns a few
// values from the smallest to the largest.
func trainedValues(models *predict.Models, input int) []float64 {
	q := models.Card.Inputs[input]
	values := q.Values
	if len(q.Points) > 0 {
		values = nil
		for _, p := range q.Points {
			values = append(values, p.Nominal)
		}
	}

	areMany := len(values) > mostSettings || 2*len(values) > len(models.Card.Conditions)
	isUnlisted := len(values) == 0
	scatter := areMany && len(values) > scatteredFew
	if !scatter && !isUnlisted {
		return values
	}

	var even []float64
	for k := range scatteredFew {
		even = append(even, rounded(q.Min+(q.Max-q.Min)*float64(k)/(scatteredFew-1)))
	}

	return even
}

// mostCount is the largest value of an input that may be a number of things, such as blades.
const mostCount = 100

// valuesAround returns the values of an input (ascending), the middles between them, and half a step beyond the ends. A
// single value has neither middles nor ends. Values beyond the ends have the sign of the value at the end, and are not
// zero. If an input without a unit has whole numbers alone, up to mostCount, it counts something: its new values are
// whole numbers too, and one is the smallest step.
func valuesAround(values []float64, unit string) []row {
	counts := unit == "" && !slices.ContainsFunc(values, func(v float64) bool {
		return v != math.Trunc(v) || math.Abs(v) > mostCount
	})
	half := func(step float64) float64 {
		if counts {
			return max(1, math.Floor(step/2))
		}
		return step / 2
	}

	last := len(values) - 1
	if last < 1 {
		return []row{{values, trainedValue}}
	}

	first := values[0]
	end := values[last]
	var rows []row
	below := first - half(values[1]-first)
	isZero := math.Abs(below) <= 1e-9*math.Abs(first) // but for rounding
	if first < 0 || below > 0 && !isZero {
		rows = append(rows, row{[]float64{rounded(below)}, beyondValue})
	}

	for k, v := range values {
		rows = append(rows, row{[]float64{v}, trainedValue})
		if k == last {
			break
		}

		if middle := rounded(v + half(values[k+1]-v)); middle < values[k+1] {
			rows = append(rows, row{[]float64{middle}, middleValue})
		}
	}

	above := end + half(end-values[last-1])
	isZero = math.Abs(above) <= 1e-9*math.Abs(end)
	if end > 0 || above < 0 && !isZero {
		rows = append(rows, row{[]float64{rounded(above)}, beyondValue})
	}

	return rows
}

// rounded returns a value with 14 significant digits: sums of decimal numbers have wrong digits behind these.
func rounded(v float64) float64 {
	text := strconv.FormatFloat(v, 'g', 14, 64)
	r, err := strconv.ParseFloat(text, 64)
	if err != nil { // cannot happen: the text is a formatted number
		return v
	}

	return r
}

// sessionLabel returns the label for which a session opens a new thing, because the candidates do not name one: the
// condition of the groups if it is such a label, and otherwise the first such label. It returns "" if there is no
// calibrated model, or if the candidates name a thing for each of its labels.
func (c *Candidates) sessionLabel(models *predict.Models) string {
	if models.Honest == nil {
		return ""
	}

	label := ""
	for _, n := range models.Honest.Labels {
		if n.Name == honest.Runs || slices.Contains(c.Labels, n.Name) {
			continue
		}

		if label == "" || n.Name == models.Honest.Condition {
			label = n.Name
		}
	}

	return label
}
