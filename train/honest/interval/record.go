package interval

import (
	"encoding/json"
	"fmt"
	"math"

	"doubletake/train/score"
)

// Interval judges one kind of interval on measured values. Widths and scores
// are in deviations of the training outcomes, averaged over values.
type Interval struct {
	Coverage float64 `json:"coverage"` // share of y1 and y2 within
	Width    float64 `json:"width"`    // mean full width
	Score    float64 `json:"score"`    // mean interval score, see Winkler; lower is better
}

// Claims judges an epistemic variance and the intervals made with it.
type Claims struct {
	Ratio   float64  `json:"ratio"`    // S = Σe/Σv̂ over rows and outcomes; 1 is calibrated, above is overconfident
	RatioSE float64  `json:"ratio_se"` // clustered by run; NaN with one run
	Normal  Interval `json:"normal"`   // μ ± z·√(v̂+σ²)
	Student Interval `json:"student"`  // μ ± t_K·√(v̂+σ²)
}

// Record compares the predictions for a test set with its pairs, of which the
// calibration has seen nothing. Squares, widths and scores are in standardised
// units. A number that is undefined is NaN.
type Record struct {
	R2              float64  // of the mean, averaged over outcomes
	E, ESE          float64  // mean e, with its error clustered by run
	Before, After   Claims   // the base's own variance; with C added
	ModelFree       Interval // training mean ± z·training deviation, without a model
	Conformal       Interval // ± the largest left-out residual; its Score has no meaning and is NaN
	WidthOverSpread float64  // width of the Student interval over ModelFree's; from 1 on the model knows nothing here
	Distance        float64  // mean d to the measured groups
	Added           float64  // mean variance that the calibration learned for there

	Outcomes []score.UnitTrust // the intervals as claims, for the outcomes of each unit
	Mu, Half []float64         // N×Out, own units: mean and half width of the interval
}

// Result is what the left-out groups of one split taught, and how the intervals did
// that were learned from them.
type Result struct {
	Absent      string        `json:"absent,omitempty"` // why there is no calibration; "" where there is one
	Calibration *Calibration  `json:"calibration,omitempty"`
	Record      *Record       `json:"record,omitempty"`   // on the test part
	LeftOut     []GroupResult `json:"left_out,omitempty"` // the left-out groups where they are too few for an interval
}

// storedRecord is the JSON form of a Record: what predictions are printed with.
type storedRecord struct {
	R2              *float64        `json:"r2"`
	RatioBefore     *float64        `json:"ratio_before"`
	RatioAfter      *float64        `json:"ratio_after"`
	RatioSE         *float64        `json:"ratio_se"`
	CoverageBefore  *float64        `json:"coverage_95_before"`
	CoverageAfter   *float64        `json:"coverage_95_after"`
	WidthOverSpread *float64        `json:"width_over_spread"`
	Outcomes        []storedOutcome `json:"outcomes"`
}

type storedOutcome struct {
	Outcomes []string `json:"outcomes"`
	Unit     string   `json:"unit"`
	RMSE     *float64 `json:"rmse"`
}

// MarshalJSON writes the ratios, the coverage and the errors. An undefined number is null.
func (r Record) MarshalJSON() ([]byte, error) {
	s := storedRecord{
		R2: defined(r.R2), RatioBefore: defined(r.Before.Ratio), RatioAfter: defined(r.After.Ratio),
		RatioSE: defined(r.After.RatioSE), CoverageBefore: defined(r.Before.Normal.Coverage),
		CoverageAfter: defined(r.After.Student.Coverage), WidthOverSpread: defined(r.WidthOverSpread),
	}

	for _, t := range r.Outcomes {
		s.Outcomes = append(s.Outcomes, storedOutcome{t.Outcomes, t.Unit, defined(t.RMSE)})
	}

	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote. Numbers that are not stored are zero.
func (r *Record) UnmarshalJSON(data []byte) error {
	var s storedRecord
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode record of a calibration: %w", err)
	}

	*r = Record{R2: number(s.R2), WidthOverSpread: number(s.WidthOverSpread)}
	r.Before.Ratio, r.Before.Normal.Coverage = number(s.RatioBefore), number(s.CoverageBefore)
	r.After.Ratio, r.After.RatioSE = number(s.RatioAfter), number(s.RatioSE)
	r.After.Student.Coverage = number(s.CoverageAfter)

	for _, o := range s.Outcomes {
		t := score.UnitTrust{Unit: o.Unit, Outcomes: o.Outcomes}
		t.RMSE = number(o.RMSE)
		r.Outcomes = append(r.Outcomes, t)
	}

	return nil
}

func defined(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Judge compares a prediction with the pairs y1, y2 (N×Out) measured there. run
// holds the run of each row. It panics when a slice has another length.
func (c *Calibration) Judge(p *Prediction, y1, y2 []float64, run []int) Record {
	out, n := p.Out, p.N
	if len(y1) != n*out || len(y2) != n*out || len(run) != n {
		panic(fmt.Sprintf("honest: judge %d rows of %d outcomes by slices of %d, %d and %d",
			n, out, len(y1), len(y2), len(run)))
	}

	var r Record
	scale := c.Covariance.Scale
	e := make([]float64, n)
	full := make([]float64, n*out)

	cluster := make([]int, n*out)
	for k, mu := range p.Mu {
		s2 := scale[k%out] * scale[k%out]
		full[k] = (y1[k] - mu) * (y2[k] - mu) / s2
		e[k/out] += full[k] / float64(out)
		cluster[k] = run[k/out]
	}

	r.E, r.ESE = score.ClusteredMean(e, run)
	for j := range out {
		r.R2 += score.R2(column(y1, out, j), column(y2, out, j), column(p.Mu, out, j)) / float64(out)
	}

	z, t := normalQuantile(c.Level), c.Quantile()
	claims := func(v []float64) (q Claims) {
		std, normal, student := make([]float64, n*out), make([]float64, n*out), make([]float64, n*out)
		for k, w := range v {
			s2 := scale[k%out] * scale[k%out]
			std[k] = w / s2
			sd := math.Sqrt(p.Total[k] - p.Epistemic[k] + w)
			normal[k], student[k] = z*sd, t*sd
		}

		q.Ratio, q.RatioSE = score.ClusteredRatio(full, std, cluster)
		q.Normal, q.Student = c.interval(p.Mu, normal, y1, y2), c.interval(p.Mu, student, y1, y2)

		return q
	}

	r.Before, r.After = claims(p.Claim), claims(p.Epistemic)

	mean, free, half := make([]float64, n*out), make([]float64, n*out), make([]float64, n*out)
	for k := range mean {
		mean[k], free[k], half[k] = c.Mean[k%out], z*scale[k%out], c.Conformal.Half[k%out]
	}

	r.ModelFree, r.Conformal = c.interval(mean, free, y1, y2), c.interval(p.Mu, half, y1, y2)
	r.Conformal.Score = math.NaN()
	r.WidthOverSpread = r.After.Student.Width / r.ModelFree.Width
	r.Mu, r.Half = p.Mu, p.Half
	c.learned(&r, p)

	return r
}

// learned sets the mean distance and the mean variance that was learned: for a
// covariance on top of the base's claim their sum, as in the left-out groups.
func (c *Calibration) learned(r *Record, p *Prediction) {
	for _, w := range p.Where {
		r.Distance += w.Distance / float64(p.N)
	}

	learned := p.Added
	if c.Covariance.Variant.OnTop() {
		learned = p.Epistemic
	}

	for k, v := range learned {
		scale := c.Covariance.Scale[k%p.Out]
		r.Added += v / (scale * scale) / float64(len(learned))
	}
}

// interval judges mu ± half.
func (c *Calibration) interval(mu, half, y1, y2 []float64) (r Interval) {
	n, within := 2*float64(len(mu)), 0
	for k, m := range mu {
		s := c.Covariance.Scale[k%len(c.Mean)]
		for _, y := range [2]float64{y1[k], y2[k]} {
			w, in := Winkler(y, m, half[k], c.Level)
			r.Score += w / s / n
			r.Width += 2 * half[k] / s / n

			if in {
				within++
			}
		}
	}

	r.Coverage = float64(within) / n

	return r
}

// Winkler returns the interval score of the central interval mu ± half of the
// given level for the value y, and whether y lies within: the width, plus
// 2/(1−level) times the distance of a value outside (Gneiting & Raftery 2007,
// eq. 43).
func Winkler(y, mu, half, level float64) (s float64, in bool) {
	miss := math.Abs(y-mu) - half
	if !(miss > 0) {
		return 2 * half, true
	}

	return 2*half + 2/(1-level)*miss, false
}

func column(v []float64, out, j int) []float64 {
	c := make([]float64, 0, len(v)/out)
	for i := j; i < len(v); i += out {
		c = append(c, v[i])
	}

	return c
}
