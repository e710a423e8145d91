// Package interval holds what left-out groups teach about a model's error on groups
// that it has not seen, and turns the model's answers into intervals with it. It fits
// nothing: package honest does. Its types are those of honest.json, and what reports
// and predictions show.
package interval

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// MinGroups is the smallest number of left-out training groups from which an
// interval is given.
const MinGroups = 3

// Format and Version identify the JSON form of a Calibration.
const (
	Format  = "doubletake-honest"
	Version = 1
)

// GroupResult is what one left-out training group showed. Squares are in
// standardised units (divided by the variance of the training outcomes) and
// averaged over outcomes.
type GroupResult struct {
	Name     string    `json:"group"`
	Rows     int       `json:"rows"`
	Runs     int       `json:"runs"`
	Distance float64   `json:"distance"` // mean d to the other groups
	Outside  float64   `json:"outside"`  // share of rows beyond the other groups
	E        float64   `json:"e"`        // mean squared error, measured by the pairs
	ESE      *float64  `json:"e_se"`     // its standard error, clustered by run; absent with one run
	Claim    float64   `json:"claim"`    // mean v̂ of the base
	Fitted   float64   `json:"fitted"`   // mean of the fitted covariance there; 0 without a fit
	Share    float64   `json:"share"`    // of Σ e/d over the groups, negative e counting as 0
	Noise    float64   `json:"noise"`    // mean σ² that the base states
	Pairs    float64   `json:"pairs"`    // mean ½(y1−y2)²
	EBy      []float64 `json:"e_by"`     // e per outcome
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
	Level      float64       `json:"level"`
	K          int           `json:"k"` // left-out groups: the degrees of freedom
	Covariance Covariance    `json:"covariance"`
	Condition  string        `json:"condition"` // of the groups
	Kind       Kind          `json:"kind"`
	Axis       *Axis         `json:"axis"` // absent for labels
	Groups     []GroupResult `json:"groups"`
	Scatter    float64       `json:"scatter"`       // exp of the deviation of ln(e/fitted) between groups, e at least 1e-4
	Largest    int           `json:"largest_group"` // index of the group with the largest share
	Vanishes   bool          `json:"vanishes"`      // the fitted covariance is below 1e-4 of the outcomes' variance
	NoiseRatio float64       `json:"noise_ratio"`   // stated noise over the noise of the pairs; 0 where those have none
	Conformal  Conformal     `json:"conformal"`
	Inputs     []InputRange  `json:"inputs"`
	Mean       []float64     `json:"mean"` // of the training outcomes; their deviation is Covariance.Scale
}

// Notes are the warnings that belong to the calibration, in words.
func (c *Calibration) Notes() []string {
	var notes []string
	add := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if c.K <= 4 {
		add("learnt from %d groups", c.K)
	}

	if c.Vanishes {
		g := c.Groups[c.worst()]
		add("the left-out groups show no error beyond the noise: nothing is added to the model's own variance; "+
			"the largest left-out error over it is %.3g (%s)", g.E/max(g.Claim, MinClaim), g.Name)
	}

	if l := c.Groups[c.Largest]; l.Share >= 0.5 {
		add("one left-out group (%s) supplies %.0f %% of the errors per distance", l.Name, 100*l.Share)
	}

	if c.Scatter >= 2 {
		add("left-out errors differ from the fitted covariance by a factor of %.2g: "+
			"the variance of a single new group may be wrong by as much", c.Scatter)
	}

	if c.NoiseRatio > 3 {
		add("the model states %.3g times the noise of the pairs: misfit counts as noise", c.NoiseRatio)
	}

	return notes
}

// worst is the group with the largest e/v̂.
func (c *Calibration) worst() int {
	w := 0
	for i, g := range c.Groups {
		if g.E*max(c.Groups[w].Claim, MinClaim) > c.Groups[w].E*max(g.Claim, MinClaim) {
			w = i
		}
	}

	return w
}

// Quantile returns the factor t_K that multiplies √(variance) for the interval's
// half width.
func (c *Calibration) Quantile() float64 { return StudentQuantile(c.Level, c.K) }

// StudentQuantile returns the factor of the deviation whose interval has the probability
// level under Student's t with k degrees of freedom.
func StudentQuantile(level float64, k int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(k)}.Quantile((1 + level) / 2)
}

func normalQuantile(level float64) float64 { return distuv.UnitNormal.Quantile((1 + level) / 2) }

// Prediction holds the intervals at N conditions, row-major N×Out, in the
// outcomes' units (variances in unit²).
type Prediction struct {
	N, Out    int
	Mu        []float64
	Claim     []float64 // v̂, the base's own
	Added     []float64 // C
	Epistemic []float64 // v̂ + C
	Total     []float64 // v̂ + C + σ²: of one new measurement
	Half      []float64 // half width of the interval of one new measurement: t_K·√Total
	Where     []Where   // N
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
// noise (n×Out each). z are the groups' coordinates of the conditions; nil for
// labels. A label that was trained on is treated like a new one. Predict panics
// when the slices do not fit each other.
func (c *Calibration) Predict(x, z, mu, claim, noise []float64) *Prediction {
	out, in := len(c.Mean), len(c.Inputs)
	n := len(mu) / out
	if len(x) != n*in || len(mu) != n*out || len(claim) != n*out || len(noise) != n*out ||
		(c.Axis != nil) != (z != nil) || z != nil && len(z) != n {
		panic(fmt.Sprintf("honest: %d inputs, %d coordinates, %d means, %d and %d variances "+
			"for conditions of %d inputs and %d outcomes", len(x), len(z), len(mu), len(claim), len(noise), in, out))
	}

	p := &Prediction{N: n, Out: out, Mu: mu, Claim: claim}
	for _, v := range []*[]float64{&p.Added, &p.Epistemic, &p.Total, &p.Half} {
		*v = make([]float64, n*out)
	}

	t := c.Quantile()
	for i := range n {
		w := c.where(x[i*in:(i+1)*in], z, i)
		p.Where = append(p.Where, w)
		row := p.Added[i*out : (i+1)*out]
		c.Covariance.At(row, claim[i*out:(i+1)*out], w.Distance, w.Outside)

		for j, v := range row {
			k := i*out + j
			p.Epistemic[k] = claim[k] + v
			p.Total[k] = p.Epistemic[k] + noise[k]
			p.Half[k] = t * math.Sqrt(p.Total[k])
		}
	}

	return p
}

// ClaimOnly is a prediction of a model without a calibration.
func ClaimOnly(out int, mu, claim, noise []float64) *Prediction {
	p := &Prediction{N: len(mu) / out, Out: out, Mu: mu, Claim: claim}
	for k := range mu {
		p.Added, p.Epistemic = append(p.Added, math.NaN()), append(p.Epistemic, math.NaN())
		p.Total, p.Half = append(p.Total, claim[k]+noise[k]), append(p.Half, math.NaN())
	}

	return p
}

func (c *Calibration) where(x, z []float64, i int) Where {
	w := Where{Below: math.NaN(), Above: math.NaN(), Distance: 1}
	if c.Axis != nil {
		w.Distance, w.Outside = c.Axis.Distance(z[i])
		w.Below, w.Above = c.Axis.Bracket(z[i])
	}

	for j, r := range c.Inputs {
		tol := Edge * max(r.Max-r.Min, math.Abs(r.Max), math.Abs(r.Min))
		if !r.FromGroup && (x[j] < r.Min-tol || x[j] > r.Max+tol) {
			w.Uncalibrated = append(w.Uncalibrated, j)
		}
	}

	return w
}

// Words describes why the condition is not covered by the calibration; ""
// where it is.
func (c *Calibration) Words(w Where) string {
	var s []string
	for _, j := range w.Uncalibrated {
		r := c.Inputs[j]
		s = append(s, fmt.Sprintf("not calibrated in this direction: %s outside %.4g to %.4g", r.Name, r.Min, r.Max))
	}

	if w.Outside {
		v := c.Axis.Values
		s = append(s, fmt.Sprintf("%s outside the measured %.4g to %.4g", c.Condition, v[0], v[len(v)-1]))
	}

	return strings.Join(s, "; ")
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

	err := p.Covariance.Variant.Check()

	out := len(p.Mean)
	switch {
	case err != nil:
		return fmt.Errorf("decode calibration: %w", err)
	case p.K < MinGroups || len(p.Groups) != p.K || p.Largest < 0 || p.Largest >= p.K:
		return fmt.Errorf("decode calibration: expected at least %d groups, each with a row, "+
			"found k %d, %d rows, largest %d", MinGroups, p.K, len(p.Groups), p.Largest)
	case !(p.Level > 0 && p.Level < 1):
		return fmt.Errorf("decode calibration: expected a level between 0 and 1, found %g", p.Level)
	case out < 1 || len(p.Covariance.LnBeta) != out || len(p.Covariance.Scale) != out || len(p.Conformal.Half) != out:
		return fmt.Errorf("decode calibration: expected numbers for each of %d outcomes", out)
	case (p.Kind == Labels) != (p.Axis == nil),
		p.Axis != nil && (len(p.Axis.Values) == 0 || !(p.Axis.Range > 0) || !slices.IsSorted(p.Axis.Values)):
		return fmt.Errorf("decode calibration: expected the measured values of %s in ascending order", p.Condition)
	}

	for j, s := range p.Covariance.Scale {
		if !(s > 0) {
			return fmt.Errorf("decode calibration: outcome column %d: expected a positive scale, found %g", j, s)
		}
	}

	*c = Calibration(p)

	return nil
}
