// Package interval holds what left-out groups taught about a model's error on groups that it has not seen
// (Calibration), and turns the model's predictions into intervals (Calibration.Predict). It also compares intervals
// with measured pairs (Calibration.Judge, in record.go). It fits nothing: package honest does. Its types are stored in
// honest.json, and shown in reports and predictions.
//
// The base is the model that is calibrated. Its claim v̂ is the variance of its mean that it states itself, and σ² its
// variance of the noise of one measurement. The groups are the values of one condition, or the names of a label. They
// are called things if they are names and the base gives each name an offset. y1 and y2 are a pair of measurements at
// one condition.
package interval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"doubletake/train/form"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// Format and Version identify the JSON form of a Calibration.
const (
	Format  = "doubletake-honest"
	Version = 2
)

// GroupResult holds the results of one left-out training group. Its intervals follow from the other left-out groups.
// Three factors alone are learned from all groups, this one included: of the noise, of the claims, and of the distances
// (scale.Learn). Variances and squares are in units of the variance of the training outcomes, widths and scores in
// units of their deviation. All are means over outcomes.
type GroupResult struct {
	Name       string    `json:"group"`
	Rows       int       `json:"rows"`
	Runs       int       `json:"runs"`
	Conditions int       `json:"conditions"`
	Distance   float64   `json:"distance"`   // mean distance d of its rows to the other groups
	Farthest   float64   `json:"farthest"`   // largest d of its rows
	Outside    float64   `json:"outside"`    // share of rows beyond the other groups
	E          float64   `json:"e"`          // mean squared error, measured by the pairs
	ESE        *float64  `json:"e_se"`       // standard error of E, clustered by run; nil with one run
	Claim      float64   `json:"claim"`      // mean v̂ of the base
	Noise      float64   `json:"noise"`      // mean σ² of the base
	Pairs      float64   `json:"pairs"`      // mean ½(y1−y2)²
	EBy        []float64 `json:"e_by"`       // E of each outcome
	Inside     float64   `json:"inside"`     // share of its values inside the intervals
	Inside68   float64   `json:"inside_68"`  // share of its values inside the intervals of 68 %
	Half       float64   `json:"half_width"` // mean half width of the intervals
	Variance   float64   `json:"variance"`   // mean calibrated epistemic variance

	// Rise is E|cov| in the group over E|cov| in the training rows, by networks that were trained without the group. nil:
	// no such networks were trained.
	Rise *float64 `json:"abs_cov_rise,omitempty"`

	Score float64 `json:"interval_score"` // mean interval score, see Winkler
}

// StandardError returns the standard error of E, or NaN with one run.
func (g GroupResult) StandardError() float64 {
	if g.ESE == nil {
		return math.NaN()
	}
	return *g.ESE
}

// InputRange is the range of an input in the training data.
type InputRange struct {
	Name      string  `json:"name"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	FromGroup bool    `json:"from_group"` // whether the input is a function of the group

	// Aside is set if the form of the model does not use the input, or only in products, so that its own range does not
	// count.
	Aside bool `json:"aside,omitempty"`
}

// ProductRange is the range of a product of inputs in the training data, such as a tip speed.
type ProductRange struct {
	InputRange
	Powers []float64 `json:"powers"` // by input: its power in the product
}

// Value returns the product at a condition. Inputs with a power must be positive. The conversion to float64 keeps the
// compiler from fusing a product and a sum, so that all machines give the same bytes.
func (r ProductRange) Value(x []float64) float64 {
	log := 0.0
	for k, p := range r.Powers {
		if p != 0 {
			log += float64(p * math.Log(x[k]))
		}
	}

	return math.Exp(log)
}

// exceeded is the range of an input or of a product of inputs, with a value that lies outside.
type exceeded struct {
	InputRange
	place int // number of the input; products are numbered after the inputs
	value float64
}

// exceededRanges returns the ranges that the inputs and the products exceed at a condition. It ignores inputs that are
// set aside.
func (c *Calibration) exceededRanges(x []float64) []exceeded {
	var list []exceeded
	for j, r := range c.Inputs {
		if !r.Aside && r.isExceeded(x[j]) {
			list = append(list, exceeded{r, j, x[j]})
		}
	}

	for k, r := range c.Products {
		if v := r.Value(x); r.isExceeded(v) {
			list = append(list, exceeded{r.InputRange, len(c.Inputs) + k, v})
		}
	}

	return list
}

// Limits returns the ends of the range, moved outwards by a tolerance for rounding.
func (r InputRange) Limits() (lo, hi float64) {
	tolerance := Edge * max(r.Max-r.Min, math.Abs(r.Max), math.Abs(r.Min))
	return r.Min - tolerance, r.Max + tolerance
}

// isExceeded reports whether a value lies outside the range.
func (r InputRange) isExceeded(v float64) bool {
	lo, hi := r.Limits()
	return v < lo || v > hi
}

// Conformal is the interval whose half width is the largest left-out |y − μ|. It covers a new group with a
// probability of about K/(K+1), whatever the distribution, if the new group is like the left-out ones and the base saw
// none of them.
type Conformal struct {
	Half      []float64 `json:"half_width"` // by outcome, in its unit
	Guarantee float64   `json:"guarantee"`  // K/(K+1); 0 if the base saw the groups
}

// Calibration holds what the left-out groups of one split taught. It can be stored with the model, and turns the
// model's predictions into intervals.
type Calibration struct {
	Format     string         `json:"format"`
	Version    int            `json:"version"`
	Base       string         `json:"base"`        // the model, in words
	Asked      float64        `json:"asked"`       // level that was asked for
	Level      float64        `json:"level"`       // level of the intervals: at least the level that was asked for
	K          int            `json:"k"`           // number of left-out groups
	Scale      *scale.Scale   `json:"scale"`       // scale of the errors on a new group
	Condition  string         `json:"condition"`   // condition or label whose values are the groups
	Kind       Kind           `json:"kind"`        // kind of the groups
	Axis       *Axis          `json:"axis"`        // measured values of the condition; nil for labels
	Groups     []GroupResult  `json:"groups"`      // left-out groups
	NoiseRatio float64        `json:"noise_ratio"` // noise of the model over noise of the pairs; 0 if the pairs have none
	Conformal  Conformal      `json:"conformal"`
	Inputs     []InputRange   `json:"inputs"`
	Products   []ProductRange `json:"products,omitempty"`  // of inputs, if the form of the model has them
	Mean       []float64      `json:"mean"`                // by outcome: mean of the training values
	Deviation  []float64      `json:"deviation"`           // by outcome: standard deviation of the training values
	Rivals     []Rival        `json:"rivals,omitempty"`    // results of simple methods on the left-out groups
	OfThings   bool           `json:"of_things,omitempty"` // whether the groups are things with offsets
	Things     []Thing        `json:"things,omitempty"`    // by outcome; nil if no label has offsets

	OwnCurves []OwnCurves `json:"own_curves,omitempty"` // labels whose names differ in more than an offset

	RunsWithout string `json:"runs_without_offsets,omitempty"` // why runs have no offsets although names have, or ""

	Design *Design     `json:"design,omitempty"`         // training conditions; nil: no units were left out
	Units  []UnitScale `json:"left_out_units,omitempty"` // scales that were learned from left-out units of the design

	index *designIndex // of Design; nil without a design, and after encoding/gob read the calibration
	kept  *keptTable   // see KeepTable; copies share it; nil: no table is kept

	Representation *form.Choice `json:"-"` // stored with the model, next to the calibration
}

// Thing holds the shares of an outcome's variance if things or occasions have offsets.
type Thing struct {
	Outcome string    `json:"outcome"`
	Between []Between `json:"between"` // by label: share between its names
	Runs    float64   `json:"runs"`    // share from run to run
	Noise   float64   `json:"noise"`   // share of the noise of a measurement
}

// Between is the share of the variance between the names of a label, with the ends of its central 95 % interval.
type Between struct {
	Label string  `json:"label"`
	Names int     `json:"names"` // number of names
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// OwnCurves says that the names of a label differ in more than an offset, and have curves of their own.
type OwnCurves struct {
	Label    string  `json:"label"`
	Names    int     `json:"names"`    // number of names
	Evidence float64 `json:"evidence"` // ln of the evidence with curves of their own, less ln with offsets alone
}

// String says in words that the names have curves of their own, and what would be better.
func (o OwnCurves) String() string {
	return fmt.Sprintf("the %d names of %s differ in more than an offset, so that each has a curve of its own (ln "+
		"evidence %+.0f): an input that tells them apart, such as a measure of their shape, would also describe a new one",
		o.Names, o.Label, o.Evidence)
}

// Levels are the levels at which a Record states the coverage.
var Levels = score.Levels

// FewGroupsLevel is the smallest level of intervals that are learned from two groups: intervals of this level,
// learned from two groups, covered 96 % of the values of 105 held-out groups. It is also the smallest level of
// intervals that are meant for nearly all groups: at this level 139 of 144 held-out groups had 90 % of their values
// inside.
const FewGroupsLevel = 0.98

// UnmarshalJSON reads what encoding/json wrote and checks that it is a complete calibration.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	type plain Calibration // without this method

	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("decode calibration: %w", err)
	}

	if p.Format != Format || p.Version != Version {
		return fmt.Errorf("decode calibration: expected format %q version %d, found %q version %d",
			Format, Version, p.Format, p.Version)
	}

	if p.Scale == nil {
		return errors.New("decode calibration: expected a scale")
	}

	if err := p.Scale.Check(); err != nil {
		return fmt.Errorf("decode calibration: %w", err)
	}

	outcomes := len(p.Mean)
	switch {
	case p.K < 0 || len(p.Groups) != p.K:
		return fmt.Errorf("decode calibration: expected a row for each of %d groups, found %d", p.K, len(p.Groups))
	case !(p.Level > 0 && p.Level < 1):
		return fmt.Errorf("decode calibration: expected a level between 0 and 1, found %g", p.Level)
	case outcomes < 1 || len(p.Deviation) != outcomes || len(p.Conformal.Half) != outcomes:
		return fmt.Errorf("decode calibration: expected numbers for each of %d outcomes", outcomes)
	case (p.Kind == Labels) != (p.Axis == nil), p.Axis != nil && !p.Axis.ascends():
		return fmt.Errorf("decode calibration: expected the measured values of %s in ascending order", p.Condition)
	}

	for j, s := range p.Deviation {
		if !(s > 0) {
			return fmt.Errorf("decode calibration: outcome column %d: expected a positive deviation, found %g", j, s)
		}
	}

	*c = Calibration(p)
	if err := c.checkErrors(); err != nil {
		return fmt.Errorf("decode calibration: %w", err)
	}

	if err := c.checkDesign(); err != nil {
		return fmt.Errorf("decode calibration: %w", err)
	}

	if c.Design != nil {
		c.index = c.Design.index(c.Condition)
	}

	return nil
}

// checkErrors returns an error if the squared errors of a group or of a rival are not one for each outcome. A rival
// whose mean is the model's has none.
func (c *Calibration) checkErrors() error {
	outcomes := len(c.Mean)
	for _, g := range c.Groups {
		if len(g.EBy) != outcomes {
			return fmt.Errorf("group %s: expected a squared error for each of %d outcomes, found %d", g.Name, outcomes,
				len(g.EBy))
		}
	}

	for _, rival := range c.Rivals {
		if rival.EBy != nil && len(rival.EBy) != outcomes {
			return fmt.Errorf("rival %s: expected a squared error for each of %d outcomes, found %d", rival.Method, outcomes,
				len(rival.EBy))
		}
	}

	return nil
}
