package interval

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// Prediction holds the intervals of Out outcomes at N conditions. Lists are row-major N×Out unless stated otherwise,
// in the units of the outcomes (variances in unit²).
type Prediction struct {
	N, Out    int
	Mu        []float64 // mean
	Claim     []float64 // v̂, the base's own variance of the mean
	Epistemic []float64 // calibrated variance of the mean; NaN without a calibration
	Total     []float64 // variance of one new measurement, the square of the standard uncertainty
	Half      []float64 // half width of the interval of one new measurement; NaN without a calibration
	Half68    []float64 // half width of the 68 % interval of one new measurement; nil after PredictLevel
	Where     []Where   // by condition; nil without a calibration
	Queries   []Query   // by condition: its class; nil: the groups' law holds everywhere
}

// Query returns the class of condition i and the scale of the errors there. Without classes it returns the zero value:
// the law of the groups holds.
func (p *Prediction) Query(i int) Query {
	if p.Queries == nil {
		return Query{}
	}
	return p.Queries[i]
}

// claimOf returns the claim and the distance from which the law of value k is computed. If the errors there have a
// scale of units, the claim is multiplied by it, and is then the variance of the mean, like the claim about a known
// thing.
func (p *Prediction) claimOf(k int) (claim, distance float64) {
	i := k / p.Out
	if s := p.Query(i).Scale; s != nil {
		return p.Claim[k] * s.Factor[k%p.Out], scale.Known
	}

	return p.Claim[k], p.Where[i].Distance
}

// Column describes one number of a prediction in tables.
type Column struct {
	Suffix      string                             // what follows the outcome's name in the name of the column
	Description string                             // for people
	Value       func(p *Prediction, k int) float64 // the number at place k of the N×Out lists
}

// Columns are the numbers of a prediction, in the order that all tables have.
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

// Where says where a condition lies among the measured groups.
type Where struct {
	Distance     float64 // distance d to the measured groups
	Below, Above float64 // measured values of the groups' condition next to it; NaN if there is none
	Outside      bool    // whether it lies beyond the measured values of the groups' condition

	// Uncalibrated are the numbers of the inputs that lie outside their training range and are not functions of the group.
	// No left-out group shows the model's error in this direction. Products of inputs are numbered after the inputs.
	Uncalibrated []int
}

// lawsPerWorker is the number of laws, which take some milliseconds, for which another goroutine is worth its cost.
const lawsPerWorker = 500

// Predict returns the intervals at n conditions x (n×In, in the units of the inputs), from raw, the prediction of the
// base. z has the coordinate of the groups at each condition. For labels it has their distances, 1 for a new label and
// scale.Known for a measured one, or is nil: all are new. queries has the classes of the conditions, or is nil. Predict
// panics if the slices do not fit each other.
func (c *Calibration) Predict(x, z []float64, queries []Query, raw triplets.Prediction) *Prediction {
	p := c.positions(x, z, queries, raw)
	p.Half68 = make([]float64, len(raw.Mu))
	list, places := c.distinct(p, raw.Noise)
	predictor := c.Scale.Predictor()

	workers := min(runtime.GOMAXPROCS(0), 1+len(list)/lawsPerWorker)
	parallel.Do(workers, workers, func(w int) {
		var m scale.Mixture
		for i := w * len(list) / workers; i < (w+1)*len(list)/workers; i++ {
			list[i].setLaw(predictor, &m)
			s := list[i].deviation
			half := m.Half(c.Level) * s
			half68 := m.Half(0.68) * s
			for _, k := range places[i] {
				p.setVariances(k, &m, s)
				p.Half[k] = half
				p.Half68[k] = half68
			}
		}
	})

	return p
}

// PredictLevel returns what Predict returns, but without Half68 and with half widths to five digits (scale.Table). It
// is faster for many conditions.
func (c *Calibration) PredictLevel(x, z []float64, queries []Query, raw triplets.Prediction) *Prediction {
	p := c.positions(x, z, queries, raw)
	table, release := c.kept.use(c.Scale, c.Level)
	defer release()

	var m scale.Mixture
	for k := range raw.Mu {
		s := c.Deviation[k%p.Out]
		claim, distance := p.claimOf(k)
		claim /= s * s
		noise := raw.Noise[k] / (s * s)
		table.Moments(&m, claim, distance, noise)
		p.setVariances(k, &m, s)
		p.Half[k] = table.Half(claim, distance, noise) * s
	}

	return p
}

// KeepTable makes c keep the table of half widths that PredictLevel computes. A program that predicts often, such as a
// session, needs the same points of the table again.
func (c *Calibration) KeepTable() { c.kept = &keptTable{} }

// keptTable is the table of half widths that PredictLevel used last.
type keptTable struct {
	inUse sync.Mutex // locked while PredictLevel uses the table

	// The law and the level of the table:
	scale *scale.Scale
	level float64
	table *scale.Table
}

// use returns the kept table if it has this law and level, and keeps a new table otherwise. The caller calls release
// when it no longer uses the table. If another goroutine uses the kept table, or k is nil, use returns a table that is
// not kept.
func (k *keptTable) use(law *scale.Scale, level float64) (table *scale.Table, release func()) {
	if k == nil || !k.inUse.TryLock() {
		return law.Table(level), func() {}
	}

	if k.scale != law || k.level != level {
		k.scale = law
		k.level = level
		k.table = law.Table(level)
	}

	return k.table, k.inUse.Unlock
}

// positions returns a prediction whose intervals and variances are still to be set. It panics if the slices do not fit
// each other.
func (c *Calibration) positions(x, z []float64, queries []Query, raw triplets.Prediction) *Prediction {
	outcomes := len(c.Mean)
	inputs := len(c.Inputs)
	values := len(raw.Mu)
	n := values / outcomes

	conditionsFit := len(x) == n*inputs && values == n*outcomes
	variancesFit := len(raw.Claim) == values && len(raw.Noise) == values
	needNoCoordinates := z == nil && c.Axis == nil
	coordinatesFit := len(z) == n || needNoCoordinates
	queriesFit := queries == nil || len(queries) == n
	if !conditionsFit || !variancesFit || !coordinatesFit || !queriesFit {
		panic(fmt.Sprintf("honest: %d inputs, %d coordinates, %d means, %d and %d variances for conditions of %d inputs "+
			"and %d outcomes", len(x), len(z), values, len(raw.Claim), len(raw.Noise), inputs, outcomes))
	}

	p := &Prediction{
		N: n, Out: outcomes, Mu: raw.Mu, Claim: raw.Claim, Queries: queries,
		Epistemic: make([]float64, values), Total: make([]float64, values), Half: make([]float64, values),
	}
	p.Where = c.Places(x, z)

	return p
}

// Places returns the position of each condition of x (n×In) among the measured groups. z is as Predict takes it.
func (c *Calibration) Places(x, z []float64) []Where {
	inputs := len(c.Inputs)
	var places []Where
	for i := range len(x) / inputs {
		places = append(places, c.where(x[i*inputs:(i+1)*inputs], z, i))
	}

	return places
}

// setVariances sets the variances of value k by its law m, which is in units of the deviation.
func (p *Prediction) setVariances(k int, m *scale.Mixture, deviation float64) {
	p.Epistemic[k] = m.Epistemic() * deviation * deviation
	p.Total[k] = m.Uncertainty() * m.Uncertainty() * deviation * deviation
}

// law is the law of one value about its mean, in units of the deviation.
type law struct {
	*scale.Mixture
	deviation float64
}

// lawKey identifies a law: values with the same key have the same law. Numbers are in the unit of the outcome.
type lawKey struct {
	claim, distance, noise float64
	deviation              float64 // of the training values of the outcome
}

// setLaw sets m to the law of the key, in units of its deviation.
func (k lawKey) setLaw(p *scale.Predictor, m *scale.Mixture) {
	variance := k.deviation * k.deviation
	p.SetLaw(m, k.claim/variance, k.distance, k.noise/variance)
}

// distinct returns the distinct laws of a prediction, and for each law the places of the values that have it.
func (c *Calibration) distinct(p *Prediction, noise []float64) (list []lawKey, places [][]int) {
	all := make([]lawKey, len(p.Claim))
	for k := range p.Claim {
		claim, distance := p.claimOf(k)
		all[k] = lawKey{claim, distance, noise[k], c.Deviation[k%p.Out]}
	}

	places = lists.Alike(all)
	for _, alike := range places {
		list = append(list, all[alike[0]])
	}

	return list, places
}

// laws iterates over the distinct laws of a prediction, with the places of the values that have them. A law is valid
// until the next one.
func (c *Calibration) laws(p *Prediction, noise []float64) iter.Seq2[[]int, law] {
	list, places := c.distinct(p, noise)

	return func(yield func([]int, law) bool) {
		predictor := c.Scale.Predictor()

		var m scale.Mixture
		for i, key := range list {
			key.setLaw(predictor, &m)
			if !yield(places[i], law{&m, key.deviation}) {
				return
			}
		}
	}
}

// ClaimOnly returns the prediction of a model without a calibration: its epistemic variances and half widths are NaN.
func ClaimOnly(outcomes int, raw triplets.Prediction) *Prediction {
	p := &Prediction{N: len(raw.Mu) / outcomes, Out: outcomes, Mu: raw.Mu, Claim: raw.Claim}
	for k, claim := range raw.Claim {
		p.Epistemic = append(p.Epistemic, math.NaN())
		p.Total = append(p.Total, claim+raw.Noise[k])
		p.Half = append(p.Half, math.NaN())
		p.Half68 = append(p.Half68, math.NaN())
	}

	return p
}

// where returns the position of condition i, whose inputs are x. z is as Predict takes it.
func (c *Calibration) where(x, z []float64, i int) Where {
	w := Where{Below: math.NaN(), Above: math.NaN(), Distance: 1}
	switch {
	case c.Axis != nil:
		w.Distance, w.Outside = c.Axis.Distance(z[i])
		w.Below, w.Above = c.Axis.Bracket(z[i])
	case z != nil:
		w.Distance = z[i]
	}

	for _, r := range c.exceededRanges(x) {
		if !r.FromGroup {
			w.Uncalibrated = append(w.Uncalibrated, r.place)
		}
	}

	return w
}

// Reach returns the largest distance at which a left-out group shows the model's error.
func (c *Calibration) Reach() float64 {
	reach := 0.0
	for _, g := range c.Groups {
		reach = max(reach, g.Farthest*(1+Edge))
	}

	return reach
}

// Uncovered returns the reasons why no left-out group shows the model's error at a condition x in the position w, or
// nil if one does. Inputs that are functions of the group may lie as far outside as the farthest left-out group.
func (c *Calibration) Uncovered(x []float64, w Where) []string {
	isTooFar := c.Axis == nil || w.Distance > c.Reach()
	var reasons []string
	for _, r := range c.exceededRanges(x) {
		text := fmt.Sprintf("%s %s is outside %s to %s", r.Name, fault.Digits(r.value, 6), fault.Digits(r.Min, 6),
			fault.Digits(r.Max, 6))
		if !r.FromGroup {
			reasons = append(reasons, "not calibrated in this direction: "+text+", and no left-out group tests that")
		} else if isTooFar {
			reasons = append(reasons, text+", farther than any left-out group")
		}
	}

	return reasons
}
