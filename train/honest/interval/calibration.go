// Package interval holds what left-out groups teach about a model's error on groups
// that it has not seen, and turns the model's answers into intervals with it. It fits
// nothing: package honest does. Its types are those of honest.json, and what reports
// and predictions show.
package interval

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/form"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// Format and Version identify the JSON form of a Calibration.
const (
	Format  = "doubletake-honest"
	Version = 2
)

// GroupResult is what one left-out training group showed. Squares are in
// standardised units (divided by the variance of the training outcomes) and
// averaged over outcomes. The intervals of the others share with its own the noise's factor
// and what relates claims to distances.
type GroupResult struct {
	Name       string    `json:"group"`
	Rows       int       `json:"rows"`
	Runs       int       `json:"runs"`
	Conditions int       `json:"conditions"`
	Distance   float64   `json:"distance"`   // mean d to the other groups
	Farthest   float64   `json:"farthest"`   // largest d of its rows
	Outside    float64   `json:"outside"`    // share of rows beyond the other groups
	E          float64   `json:"e"`          // mean squared error, measured by the pairs
	ESE        *float64  `json:"e_se"`       // its standard error, clustered by run; absent with one run
	Claim      float64   `json:"claim"`      // mean v̂ of the base
	Noise      float64   `json:"noise"`      // mean σ² that the base states
	Pairs      float64   `json:"pairs"`      // mean ½(y1−y2)²
	EBy        []float64 `json:"e_by"`       // e per outcome
	Inside     float64   `json:"inside"`     // share of its values within the intervals that the other groups make
	Inside68   float64   `json:"inside_68"`  // the same of intervals of 68 %
	Half       float64   `json:"half_width"` // mean half width of the former, in deviations of the training outcomes
	Variance   float64   `json:"variance"`   // mean epistemic variance that the other groups make

	// Rise is E|cov| in the group over that in the training rows, of networks without both; nil where none were trained.
	Rise *float64 `json:"abs_cov_rise,omitempty"`

	Score float64 `json:"interval_score"` // mean of the intervals that the other groups make, see Winkler
}

// Error is the standard error of E, NaN with one run.
func (g GroupResult) Error() float64 {
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
	FromGroup bool    `json:"from_group"` // a function of the groups' coordinate
}

// Limits are the ends of the range, moved by what rounding makes of them.
func (r InputRange) Limits() (lo, hi float64) {
	tol := Edge * max(r.Max-r.Min, math.Abs(r.Max), math.Abs(r.Min))
	return r.Min - tol, r.Max + tol
}

func (r InputRange) outside(v float64) bool {
	lo, hi := r.Limits()
	return v < lo || v > hi
}

// Conformal is the largest left-out |y − μ| per outcome, in the outcome's unit.
// It covers a new group with a probability of about K/(K+1), whatever the distribution, if
// the new group is like the left-out ones and the base saw none of them.
type Conformal struct {
	Half      []float64 `json:"half_width"`
	Guarantee float64   `json:"guarantee"` // K/(K+1); 0 where the base saw the groups
}

// Calibration is what the left-out groups of one split taught. It can be stored
// with the model and turns the model's answers into intervals.
type Calibration struct {
	Format     string        `json:"format"`
	Version    int           `json:"version"`
	Base       string        `json:"base"`
	Asked      float64       `json:"asked"` // level that was asked for
	Level      float64       `json:"level"` // of the law whose central part the interval is
	K          int           `json:"k"`     // left-out groups
	Scale      *scale.Scale  `json:"scale"`
	Condition  string        `json:"condition"` // of the groups
	Kind       Kind          `json:"kind"`
	Axis       *Axis         `json:"axis"` // absent for labels
	Groups     []GroupResult `json:"groups"`
	NoiseRatio float64       `json:"noise_ratio"` // stated noise over the noise of the pairs; 0 where those have none
	Conformal  Conformal     `json:"conformal"`
	Inputs     []InputRange  `json:"inputs"`
	Mean       []float64     `json:"mean"`      // of the training outcomes
	Deviation  []float64     `json:"deviation"` // of the training outcomes
	Rivals     []Rival       `json:"rivals,omitempty"`
	OfThings   bool          `json:"of_things,omitempty"` // the claims have the offsets of the groups, which are things
	Things     []Thing       `json:"things,omitempty"`    // per outcome, of a process with offsets

	RunsWithout string `json:"runs_without_offsets,omitempty"` // why runs have no offsets where names have

	Representation *form.Choice `json:"-"` // honest.json has both with the model
	Hint           *form.Hint   `json:"-"`
}

// Thing is what an outcome's variance consists of where things or occasions have offsets: shares of their sum.
type Thing struct {
	Outcome string    `json:"outcome"`
	Between []Between `json:"between"` // the names of a label
	Runs    float64   `json:"runs"`    // from run to run
	Noise   float64   `json:"noise"`
}

// Between is the share of the variance between the names of a label, with the ends of its central 95 %.
type Between struct {
	Label string  `json:"label"`
	Names int     `json:"names"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// String states the shares in words.
func (t Thing) String() string {
	text := "variance of " + t.Outcome
	for _, b := range t.Between {
		text += fmt.Sprintf(", between %d of %s %.0f %% (%.0f to %.0f %%)", b.Names, b.Label, 100*b.Share, 100*b.Low,
			100*b.High)
	}

	if t.Runs > 0 {
		text += fmt.Sprintf(", from run to run %.0f %%", 100*t.Runs)
	}

	return text + fmt.Sprintf(", noise %.0f %%", 100*t.Noise)
}

// More says how many more things it takes to measure how much they differ, and from then on what one more would buy
// against as many measurements of those that were measured; "" where the groups are no things.
//
// The error of the mean between things goes with their number over that of their properties and one, as of least
// squares. Measurements of known things lower the rest of the error alone.
func (c *Calibration) More() string {
	n, of := float64(max(c.K, 1)), float64(c.properties()+1)
	if missing := max(scale.MinGroups, c.properties()+1) + 1 - int(n); c.OfThings && missing > 0 {
		return fmt.Sprintf("%d more of %s would measure how much they differ", missing, c.Condition)
	}

	conditions, another, again, outcomes := 0.0, 0.0, 0.0, 0.0
	for _, g := range c.Groups {
		conditions += float64(g.Conditions)
	}

	for _, t := range c.Things {
		k := slices.IndexFunc(t.Between, func(b Between) bool { return b.Label == c.Condition })
		if k < 0 {
			continue // of other names
		}

		variance := func(things, measured float64) float64 {
			mean := (t.Runs + t.Noise/2) / conditions
			return t.Between[k].Share*(1+of/things) + t.Runs + t.Noise + mean*n/measured
		}

		now := variance(n, n)
		another += 1 - math.Sqrt(variance(n+1, n+1)/now)
		again += 1 - math.Sqrt(variance(n, n+1)/now)
		outcomes++
	}

	if outcomes == 0 {
		return ""
	}

	return fmt.Sprintf("one more %s would narrow intervals for a new one by %.2g %%, as many measurements of those that "+
		"were measured by %.2g %% (forecast)", c.Condition, 100*another/outcomes, 100*again/outcomes)
}

// properties counts the inputs that are functions of the groups.
func (c *Calibration) properties() int {
	return len(lists.Keep(c.Inputs, func(in InputRange) bool { return in.FromGroup }))
}

// Levels are those at which a Record states the coverage.
var Levels = score.Levels

// FewGroupsLevel is the least level of intervals that are learned from two groups: there,
// the law at this level covered 96 % of the values of 105 held-out groups. It is also that of
// intervals for nearly all groups: 139 of 144 held-out groups had 90 % of their values inside.
const FewGroupsLevel = 0.98

// Learned says what the intervals rest on, in words.
func (c *Calibration) Learned() string {
	switch {
	case c.OfThings && c.K < scale.MinGroups:
		return fmt.Sprintf("assumed: how much one %s differs from another was not measured", c.Condition)
	case c.OfThings && c.K == scale.MinGroups:
		return fmt.Sprintf("as much assumed as measured: checked on two groups of %s", c.Condition)
	case c.K == 0:
		return "learned elsewhere, not checked here: no group could be left out"
	case c.K < scale.MinGroups:
		return fmt.Sprintf("learned elsewhere, not checked here: one group of %s alone could be left out", c.Condition)
	case c.K == 2:
		return fmt.Sprintf("learned elsewhere, checked on two groups of %s, and therefore taken at the level of %.3g %%",
			c.Condition, 100*c.Level)
	}

	return fmt.Sprintf("checked on %d groups of %s left out", c.K, c.Condition)
}

// LeftOutInside counts the left-out groups of which at least 90 % of the values were within
// the intervals that the other groups make.
func (c *Calibration) LeftOutInside() int {
	return len(lists.Keep(c.Groups, func(g GroupResult) bool { return g.Inside >= 0.9 }))
}

// Notes are the warnings that belong to the calibration, in words.
func (c *Calibration) Notes() []string {
	var notes []string
	add := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if c.K != 2 && c.Level > c.Asked {
		add("the level is %.3g %%, so that nearly all groups have 90 %% of their values inside", 100*c.Level)
	}

	properties := c.properties()
	if n := max(c.K, 1); c.OfThings && properties > 0 && n <= properties+1 {
		add("%d of %s were measured, fewer than their %d properties among the inputs need: the level holds, the width "+
			"says little", n, c.Condition, properties)
	}

	isInput := func(in InputRange) bool { return in.Name == c.Condition }
	if c.OfThings && slices.ContainsFunc(c.Inputs, isInput) {
		add("each %s is taken for one thing, which may differ from others by more than its inputs say; as a setting: "+
			"honest: {groups: %s}", c.Condition, c.Condition)
	}

	if c.RunsWithout != "" {
		add("runs have no offsets of their own (%s): beyond its own settings, 95 %% intervals of a measured thing covered "+
			"81 %%", c.RunsWithout)
	}

	for _, t := range c.Things {
		add("%v", t)
	}

	several := func(g GroupResult) bool { return g.Conditions != 1 }
	if c.K > 0 && !slices.ContainsFunc(c.Groups, several) { // with the share that docs/honest.md has under Limits
		add("every left-out group is a single condition: on such groups, intervals of 95 %% covered 92 %%")
	}

	if s := c.Scale.Noise.Scale; s > 1.3 {
		add("pairs scatter by %.2g times the noise that the model states: the intervals count with that", s)
	}

	if c.NoiseRatio > 3 {
		add("the model states %.3g times the noise of the pairs: the intervals count with the noise of the pairs",
			c.NoiseRatio)
	}

	return notes
}

// Prediction holds the intervals at N conditions, row-major N×Out, in the
// outcomes' units (variances in unit²).
type Prediction struct {
	N, Out    int
	Mu        []float64
	Claim     []float64 // v̂, the base's own
	Epistemic []float64 // variance of the mean
	Total     []float64 // of one new measurement: the square of the standard uncertainty
	Half      []float64 // half width of the interval of one new measurement
	Half68    []float64 // that of the level 0.68; nil from PredictLevel
	Where     []Where   // N
}

// Column is a number of a prediction, in a column named after the outcome.
type Column struct {
	Suffix, Description string // Suffix comes after the outcome's name
	Of                  func(p *Prediction, k int) float64
}

// Columns lists the numbers of a prediction, in the order of all tables.
var Columns = []Column{
	{"", "mean", func(p *Prediction, k int) float64 { return p.Mu[k] }},
	{"_low", "low end of the interval of one new measurement", func(p *Prediction, k int) float64 {
		return p.Mu[k] - p.Half[k]
	}},
	{"_high", "high end of the interval of one new measurement", func(p *Prediction, k int) float64 {
		return p.Mu[k] + p.Half[k]
	}},
	{"_sd", "standard uncertainty of one new measurement", func(p *Prediction, k int) float64 {
		return math.Sqrt(p.Total[k])
	}},
	{"_sd_epistemic", "standard uncertainty of the mean by the left-out groups", func(p *Prediction, k int) float64 {
		return math.Sqrt(p.Epistemic[k])
	}},
	{"_sd_noise", "standard uncertainty by the noise", func(p *Prediction, k int) float64 {
		return math.Sqrt(max(p.Total[k]-p.Epistemic[k], 0))
	}},
	{"_sd_claimed", "standard uncertainty of the mean that the model claims itself", func(p *Prediction, k int) float64 {
		return math.Sqrt(p.Claim[k])
	}},
}

// Where is the position of a condition relative to the measured ones.
type Where struct {
	Distance     float64 // d
	Below, Above float64 // the measured values of the groups' condition next to it, NaN where there is none
	Outside      bool    // beyond the measured values of the groups' condition
	// Uncalibrated are the inputs, by index, that lie outside the training range
	// and are no function of the groups' coordinate: no left-out group shows the
	// model's error in this direction.
	Uncalibrated []int
}

// Predict returns the intervals at n conditions x (n×In, in the inputs' own
// units) where the base predicts the mean mu, its own variance claim and the
// noise (n×Out each). z are the groups' coordinates of the conditions; for labels their distances, 1 of a new
// one and scale.Known of one that the claim is about, or nil: all are new. Predict panics
// when the slices do not fit each other.
func (c *Calibration) Predict(x, z, mu, claim, noise []float64) *Prediction {
	p := c.positions(x, z, mu, claim, noise)
	p.Half68 = make([]float64, len(mu))
	list, cells := c.distinct(p, noise)
	predictor := c.Scale.Predictor()
	set := func(from, to int) {
		var m scale.Mixture
		for i := from; i < to; i++ {
			s := list[i].set(predictor, &m)
			half, half68 := m.Half(c.Level)*s, m.Half(0.68)*s
			for _, k := range cells[i] {
				p.variances(k, &m, s)
				p.Half[k], p.Half68[k] = half, half68
			}
		}
	}

	const share = 500 // laws, some milliseconds
	workers := min(runtime.GOMAXPROCS(0), 1+len(list)/share)
	parallel.Do(workers, workers, func(w int) { set(w*len(list)/workers, (w+1)*len(list)/workers) })

	return p
}

// PredictLevel is Predict without Half68, and with half widths to five digits (scale.Table): for many conditions.
func (c *Calibration) PredictLevel(x, z, mu, claim, noise []float64) *Prediction {
	p, table := c.positions(x, z, mu, claim, noise), c.Scale.Table(c.Level)
	var m scale.Mixture
	for k := range mu {
		s, d := c.Deviation[k%p.Out], p.Where[k/p.Out].Distance
		s2 := s * s
		table.Moments(&m, claim[k]/s2, d, noise[k]/s2)
		p.variances(k, &m, s)
		p.Half[k] = table.Half(claim[k]/s2, d, noise[k]/s2) * s
	}

	return p
}

// positions is a prediction without its intervals.
func (c *Calibration) positions(x, z, mu, claim, noise []float64) *Prediction {
	out, in := len(c.Mean), len(c.Inputs)
	n := len(mu) / out
	if len(x) != n*in || len(mu) != n*out || len(claim) != n*out || len(noise) != n*out ||
		c.Axis != nil && z == nil || z != nil && len(z) != n {
		panic(fmt.Sprintf("honest: %d inputs, %d coordinates, %d means, %d and %d variances "+
			"for conditions of %d inputs and %d outcomes", len(x), len(z), len(mu), len(claim), len(noise), in, out))
	}

	p := &Prediction{N: n, Out: out, Mu: mu, Claim: claim}
	p.Where = lists.Make(n, func(i int) Where { return c.where(x[i*in:(i+1)*in], z, i) })
	for _, v := range []*[]float64{&p.Epistemic, &p.Total, &p.Half} {
		*v = make([]float64, n*out)
	}

	return p
}

// variances sets those of value k by its law, in units of the deviation.
func (p *Prediction) variances(k int, m *scale.Mixture, deviation float64) {
	p.Epistemic[k], p.Total[k] = m.Epistemic()*deviation*deviation, m.Uncertainty()*m.Uncertainty()*deviation*deviation
}

// law is the law of one value about its mean, in units of the deviation.
type law struct {
	*scale.Mixture
	deviation float64
}

// known is what a law depends on.
type known struct{ claim, distance, noise, deviation float64 }

// set makes m the law, in units of the deviation that it returns.
func (at known) set(p *scale.Predictor, m *scale.Mixture) float64 {
	s2 := at.deviation * at.deviation
	p.At(m, at.claim/s2, at.distance, at.noise/s2)

	return at.deviation
}

// distinct lists the laws of the predictions, each once, with the places that have them.
func (c *Calibration) distinct(p *Prediction, noise []float64) (list []known, cells [][]int) {
	all := lists.Make(len(p.Claim), func(k int) known {
		return known{p.Claim[k], p.Where[k/p.Out].Distance, noise[k], c.Deviation[k%p.Out]}
	})
	cells = lists.Alike(all)

	return lists.Each(cells, func(at []int) known { return all[at[0]] }), cells
}

// laws goes through the distinct laws, with the places that have them; each is valid until the next.
func (c *Calibration) laws(p *Prediction, noise []float64) iter.Seq2[[]int, law] {
	list, cells := c.distinct(p, noise)

	return func(yield func([]int, law) bool) {
		predictor := c.Scale.Predictor()

		var m scale.Mixture
		for i, at := range list {
			if !yield(cells[i], law{&m, at.set(predictor, &m)}) {
				return
			}
		}
	}
}

// ClaimOnly is a prediction of a model without a calibration.
func ClaimOnly(out int, mu, claim, noise []float64) *Prediction {
	p := &Prediction{N: len(mu) / out, Out: out, Mu: mu, Claim: claim}
	for k := range mu {
		p.Epistemic, p.Total = append(p.Epistemic, math.NaN()), append(p.Total, claim[k]+noise[k])
		p.Half, p.Half68 = append(p.Half, math.NaN()), append(p.Half68, math.NaN())
	}

	return p
}

func (c *Calibration) where(x, z []float64, i int) Where {
	w := Where{Below: math.NaN(), Above: math.NaN(), Distance: 1}
	switch {
	case c.Axis != nil:
		w.Distance, w.Outside = c.Axis.Distance(z[i])
		w.Below, w.Above = c.Axis.Bracket(z[i])
	case z != nil:
		w.Distance = z[i]
	}

	w.Uncalibrated = lists.Where(len(c.Inputs), func(j int) bool {
		return !c.Inputs[j].FromGroup && c.Inputs[j].outside(x[j])
	})

	return w
}

// Reach is the distance up to which a left-out group shows the model's error.
func (c *Calibration) Reach() (d float64) {
	for _, g := range c.Groups {
		d = max(d, g.Farthest*(1+Edge))
	}
	return d
}

// Uncovered says why no left-out group shows the model's error at a condition x; nil where
// one does. Inputs that the groups' condition determines may be as far outside as the
// farthest group that was left out.
func (c *Calibration) Uncovered(x []float64, w Where) []string {
	var s []string
	for j, r := range c.Inputs {
		text := fmt.Sprintf("%s %.6g is outside %.6g to %.6g", r.Name, x[j], r.Min, r.Max)
		switch {
		case !r.outside(x[j]):
		case !r.FromGroup:
			s = append(s, "not calibrated in this direction: "+text+", and no left-out group tests that")
		case c.Axis == nil || w.Distance > c.Reach():
			s = append(s, text+", farther than any left-out group")
		}
	}

	return s
}

// UnmarshalJSON reads what encoding/json wrote and checks that it is a complete
// calibration.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	type plain Calibration

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

	err := p.Scale.Check()

	out := len(p.Mean)
	switch {
	case err != nil:
		return fmt.Errorf("decode calibration: %w", err)
	case p.K < 0 || len(p.Groups) != p.K:
		return fmt.Errorf("decode calibration: expected a row for each of %d groups, found %d", p.K, len(p.Groups))
	case !(p.Level > 0 && p.Level < 1):
		return fmt.Errorf("decode calibration: expected a level between 0 and 1, found %g", p.Level)
	case out < 1 || len(p.Deviation) != out || len(p.Conformal.Half) != out:
		return fmt.Errorf("decode calibration: expected numbers for each of %d outcomes", out)
	case (p.Kind == Labels) != (p.Axis == nil),
		p.Axis != nil && (len(p.Axis.Values) == 0 || !(p.Axis.Range > 0) || !slices.IsSorted(p.Axis.Values)):
		return fmt.Errorf("decode calibration: expected the measured values of %s in ascending order", p.Condition)
	}

	for j, s := range p.Deviation {
		if !(s > 0) {
			return fmt.Errorf("decode calibration: outcome column %d: expected a positive deviation, found %g", j, s)
		}
	}

	*c = Calibration(p)

	return nil
}
