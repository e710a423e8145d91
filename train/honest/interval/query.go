package interval

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/score"
)

// This file relates conditions that are asked for to the measured ones. A Design lists the training conditions by the
// values of their factors. Query finds the class of a condition in the design, and the UnitScale that was learned from
// training conditions of the same kind. Conditions of new groups have no UnitScale: there the law of the groups holds.

// Class says how a condition that is asked for relates to the measured ones.
type Class string

// Classes, each with the units that are left out to learn the scale of the errors of its conditions.
const (
	Measured        Class = "measured"    // the condition was measured; units are single conditions
	BetweenMeasured Class = "between"     // between measured conditions; units are values of an input, or conditions
	Combination     Class = "combination" // each value was measured, but not together; units are combinations
	NewValue        Class = "new value"   // a value of the groups' condition was not measured; units are the groups
	NewThing        Class = "new thing"   // a thing was not measured; units are the groups
	Outside         Class = "outside"     // the condition lies outside the measured range; no unit shows the error there
)

// Design lists the training conditions by the values of their factors.
type Design struct {
	Factors []Factor `json:"factors"`
	Rows    [][]int  `json:"rows"` // conditions × factors: place of its value or name, or Scattered
}

// Factor is an input, or a label whose names have offsets, with its measured values.
type Factor struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values,omitempty"` // of an input: measured values, ascending; nil if they scatter
	Labels int       `json:"labels,omitempty"` // of a label: number of its names; 0 for an input
	Min    float64   `json:"min"`              // of an input: smallest measured value
	Max    float64   `json:"max"`              // of an input: largest measured value
}

// Places of values that are not among the values of a factor.
const (
	Scattered = -1 // the values of the factor scatter, so that each condition has its own
	Unknown   = -2 // the value was not measured
)

// maxLevels is the largest number of distinct values of an input that count as settings, at which other inputs were
// varied. If an input has more values, they scatter.
const maxLevels = 40

// NewFactor returns the factor of an input. values has its value at each condition. Values scatter if there are more
// than maxLevels, or more than half as many as conditions. The values of the condition of the groups (ofGroups) never
// scatter.
func NewFactor(name string, values []float64, ofGroups bool) Factor {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	f := Factor{Name: name, Min: distinct[0], Max: distinct[len(distinct)-1]}
	areRarelyRepeated := 2*len(distinct) > len(values)
	scatters := len(distinct) > maxLevels || areRarelyRepeated
	if ofGroups || !scatters {
		f.Values = distinct
	}

	return f
}

// Place returns the place of v among the values of an input. It returns Scattered if they scatter, and Unknown if v was
// not measured.
func (f Factor) Place(v float64) int {
	if f.Values == nil {
		return Scattered
	}

	for k, measured := range f.Values {
		if math.Abs(v-measured) <= Edge*max(f.Max-f.Min, math.Abs(measured)) {
			return k
		}
	}

	return Unknown
}

// levels returns the number of values of an input, or of names of a label. It returns 0 if the values scatter.
func (f Factor) levels() int { return len(f.Values) + f.Labels }

// Names returns the names of some factors.
func (d *Design) Names(factors []int) []string {
	var names []string
	for _, k := range factors {
		names = append(names, d.Factors[k].Name)
	}

	return names
}

// maxFactors is the largest number of factors whose combinations are units.
const maxFactors = 3

// fewestValues is the smallest number of values of an input from which one value can be left out.
const fewestValues = 3

// Subsets returns the sets of factors whose combinations of values are units:
//
//   - each input with at least fewestValues values that do not scatter, except the condition of the groups;
//   - two to maxFactors factors of which some combinations were measured and others were not, if the measured ones have
//     two conditions or more on average.
//
// Sets of fewer factors come first. A set has the numbers of its factors, ascending.
func (d *Design) Subsets(condition string) [][]int {
	var all [][]int
	var gridded []int // factors with two values or more that do not scatter
	for k, f := range d.Factors {
		if f.levels() > 1 {
			gridded = append(gridded, k)
		}

		if f.Name != condition && len(f.Values) >= fewestValues {
			all = append(all, []int{k})
		}
	}

	for size := 2; size <= min(maxFactors, len(d.Factors)-1); size++ {
		for _, subset := range choose(gridded, size) {
			possible := 1
			for _, k := range subset {
				possible *= d.Factors[k].levels()
			}

			measured := len(d.Units(subset))
			isIncomplete := measured < possible
			isRepeated := 2*measured <= len(d.Rows)
			if isIncomplete && isRepeated {
				all = append(all, subset)
			}
		}
	}

	return all
}

// choose returns the subsets of a list that have the given size, in lexicographic order.
func choose(list []int, size int) [][]int {
	if size == 0 {
		return [][]int{nil}
	}

	var all [][]int
	for i, first := range list {
		for _, rest := range choose(list[i+1:], size-1) {
			all = append(all, append([]int{first}, rest...))
		}
	}

	return all
}

// Units returns the conditions of each measured combination of values of some factors, in order of first appearance.
// Without factors each condition is a unit.
func (d *Design) Units(factors []int) [][]int {
	var units [][]int
	if len(factors) == 0 {
		for i := range d.Rows {
			units = append(units, []int{i})
		}

		return units
	}

	var keys []string
	for _, row := range d.Rows {
		keys = append(keys, key(row, factors))
	}

	return lists.Alike(keys)
}

// key returns a text that two rows have in common if and only if they have the same places of some factors.
func key(row, factors []int) string {
	var text []byte
	for _, k := range factors {
		text = binary.AppendUvarint(text, uint64(row[k]-Unknown)) // Unknown, the smallest place, becomes 0
	}

	return string(text)
}

// designIndex finds combinations of values in a design without a search: a prediction may have many conditions.
type designIndex struct {
	subsets  [][]int           // see Design.Subsets
	measured []map[string]bool // by subset: keys of the combinations that were measured
	all      []int             // numbers of all factors
	rows     map[string]bool   // keys of the conditions
}

// index returns the index of a design whose groups are values of a condition.
func (d *Design) index(condition string) *designIndex {
	x := &designIndex{subsets: d.Subsets(condition)}
	for k := range d.Factors {
		x.all = append(x.all, k)
	}

	for _, subset := range x.subsets {
		x.measured = append(x.measured, d.keys(subset))
	}

	x.rows = d.keys(x.all)

	return x
}

// keys returns the keys of the measured combinations of values of some factors.
func (d *Design) keys(factors []int) map[string]bool {
	found := map[string]bool{}
	for _, row := range d.Rows {
		found[key(row, factors)] = true
	}

	return found
}

// missing returns the first set of factors whose values in row were all measured, but not together. It returns nil if
// there is none.
func (x *designIndex) missing(row []int) []int {
	for k, subset := range x.subsets {
		isKnown := !slices.ContainsFunc(subset, func(factor int) bool { return row[factor] == Unknown })
		if isKnown && !x.measured[k][key(row, subset)] {
			return subset
		}
	}

	return nil
}

// has reports whether a condition with the places in row was measured. It must not be called if a factor scatters,
// since all values of that factor have the same place.
func (x *designIndex) has(row []int) bool { return x.rows[key(row, x.all)] }

// UnitScale is the scale of the errors at conditions that look like some units of training conditions, learned by
// leaving out each unit in turn.
type UnitScale struct {
	Factors []string  `json:"factors,omitempty"` // factors whose combinations are the units; nil: single conditions
	Factor  []float64 `json:"factor"`            // by outcome: λ, squared errors over the model's claims

	// By unit: share of its values inside the intervals of 95 and 68 % that the other units give.
	Inside   []float64 `json:"inside"`
	Inside68 []float64 `json:"inside_68"`
}

// UnitLevel is the level of the intervals by which left-out units are judged.
const UnitLevel = 0.95

// Evidence returns the evidence of the units about the intervals of a condition that looks like one of them.
func (s *UnitScale) Evidence() score.Evidence { return score.Pool(UnitLevel, s.Inside, s.Inside68) }

// name returns the name of the units in the plural, for people.
func (s *UnitScale) name() string {
	switch len(s.Factors) {
	case 0:
		return "conditions"
	case 1:
		return "values of " + s.Factors[0]
	default:
		return "combinations of " + strings.Join(s.Factors, ", ")
	}
}

// Record says in words which shares of the values of the units were inside their intervals.
func (s *UnitScale) Record() string {
	e := s.Evidence()

	return fmt.Sprintf("%d %s left out: %.0f %% inside 68 %%, %.0f %% inside 95 %%", e.Units, s.name(), 100*e.Inside68,
		100*e.Inside)
}

// unitPrior is the number of units with the ratio 1 that are added to the left-out units: it is the weight of the
// prior that λ is 1.
const unitPrior = 4

// UnitFactor returns λ: the mean of the units' ratios of squared error and claim, and of unitPrior more ratios of 1.
func UnitFactor(ratios []float64) float64 {
	sum := float64(unitPrior)
	for _, r := range ratios {
		sum += r
	}

	return sum / float64(unitPrior+len(ratios))
}

// Query is the class of a condition that is asked for, and the scale of the errors there.
type Query struct {
	Class Class
	Scale *UnitScale // nil: the law of the groups holds
}

// Words says how the condition relates to the training conditions, or returns "" if the law of the groups holds. origin
// says how the training conditions were found: measured or simulated.
func (q Query) Words(origin string) string {
	switch {
	case q.Scale == nil:
		return ""
	case q.Class == Measured:
		return "measured: this condition was " + origin
	case q.Class == BetweenMeasured:
		return "between: it lies between conditions that were " + origin
	case q.Scale.Factors == nil:
		return "combination: each value was " + origin + ", but not all of them together"
	default:
		return fmt.Sprintf("combination: these values of %s were %s, but not together",
			strings.Join(q.Scale.Factors, " and "), origin)
	}
}

// Query returns the class of a condition with the inputs x, and the scale of the errors there. The scale is nil if the
// law of the groups holds, and if no scale was learned for the units of the class. places has the place of the
// condition's value of each factor; it may be nil if the calibration has no design.
func (c *Calibration) Query(x []float64, places []int) Query {
	if c.exceededRanges(x) != nil {
		return Query{Class: Outside}
	}

	d := c.Design
	if d == nil {
		return Query{Class: c.newGroup()}
	}

	const none = -1
	scatters := false
	between := none // a factor whose value was not measured, but lies between measured ones
	for k, place := range places {
		isThing := d.Factors[k].Labels > 0
		switch {
		case place == Scattered:
			scatters = true
		case place == Unknown && d.Factors[k].Name == c.Condition:
			return Query{Class: c.newGroup()}
		case place == Unknown && isThing:
			return Query{Class: NewThing}
		case place == Unknown:
			between = k
		}
	}

	index := c.index
	if index == nil { // encoding/gob read the calibration, without the index
		index = d.index(c.Condition)
	}

	missing := index.missing(places)
	unitScale := c.unitScale(d.Names(missing)) // if no combination is missing, the scale of single conditions
	switch {
	case missing != nil:
		return Query{Class: Combination, Scale: unitScale}
	case between != none:
		return Query{Class: BetweenMeasured, Scale: c.unitScale(d.Names([]int{between}))}
	case scatters:
		return Query{Class: BetweenMeasured, Scale: unitScale}
	case index.has(places):
		return Query{Class: Measured, Scale: unitScale}
	default: // the combination has more factors than units have
		return Query{Class: Combination, Scale: unitScale}
	}
}

// newGroup returns the class of the conditions of a group that was not measured.
func (c *Calibration) newGroup() Class {
	if c.Axis == nil {
		return NewThing
	}
	return NewValue
}

// unitScale returns the scale of the units of some factors (none: of single conditions), or nil if none was learned.
func (c *Calibration) unitScale(factors []string) *UnitScale {
	k := slices.IndexFunc(c.Units, func(s UnitScale) bool { return slices.Equal(s.Factors, factors) })
	if k < 0 {
		return nil
	}
	return &c.Units[k]
}

// SetDesign sets the design and the scales of its units.
func (c *Calibration) SetDesign(d *Design, units []UnitScale) {
	c.Design = d
	c.Units = units
	c.index = d.index(c.Condition)
}

// checkDesign returns an error if the design is damaged, or if the scales of units do not fit it.
func (c *Calibration) checkDesign() error {
	if c.Design == nil {
		if len(c.Units) > 0 {
			return errors.New("expected a design of the training conditions, found scales of its units alone")
		}
		return nil
	}

	factors := len(c.Design.Factors)
	for i, row := range c.Design.Rows {
		if len(row) != factors {
			return fmt.Errorf("design, condition %d: expected a place for each of %d factors, found %d", i, factors, len(row))
		}

		for k, place := range row {
			levels := c.Design.Factors[k].levels()
			isPlace := place >= 0 && place < levels
			isScattered := place == Scattered && levels == 0
			if !isPlace && !isScattered {
				return fmt.Errorf("design, condition %d: expected a place below %d, found %d", i, levels, place)
			}
		}
	}

	for _, s := range c.Units {
		if len(s.Factor) != len(c.Mean) {
			return fmt.Errorf("scale of left-out units: expected a factor for each of %d outcomes, found %d",
				len(c.Mean), len(s.Factor))
		}

		for _, f := range s.Factor {
			if !(f > 0) || math.IsInf(f, 0) {
				return fmt.Errorf("scale of left-out units: expected a positive factor, found %g", f)
			}
		}
	}

	return nil
}
