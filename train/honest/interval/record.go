package interval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Interval judges one kind of interval on measured values. Widths and scores
// are in deviations of the training outcomes, averaged over values.
type Interval struct {
	Coverage float64 `json:"coverage"` // share of y1 and y2 within
	Width    float64 `json:"width"`    // mean full width
	Score    float64 `json:"score"`    // mean interval score, see Winkler; lower is better
}

// Record compares the predictions for a test set with its pairs, of which the
// calibration has seen nothing. Squares, widths and scores are in standardised
// units. A number that is undefined is NaN.
type Record struct {
	R2          float64 // of the mean, averaged over outcomes
	E, ESE      float64 // mean e, with its error clustered by run
	RatioBefore float64 // S = Σe/Σv̂ by the base's own claim; 1 is calibrated, above is overconfident
	RatioAfter  float64 // Σe over the sum of the calibrated epistemic variances
	RatioSE     float64 // of RatioAfter, clustered by run; NaN with one run

	Before, After   Interval   // μ ± z·√(v̂+σ²); the calibrated intervals
	Before95        float64    // coverage by μ ± 1.96·√(v̂+σ²)
	At              [4]float64 // coverage by the calibrated intervals of Levels
	CRPS            float64    // mean continuous ranked probability score; lower is better
	ModelFree       Interval   // training mean ± z·training deviation, without a model
	Conformal       Interval   // ± the largest left-out residual; its Score has no meaning and is NaN
	WidthOverSpread float64    // width of the calibrated interval over ModelFree's; from 1 on the model knows nothing here
	Distance        float64    // mean d to the measured groups
	Epistemic       float64    // mean calibrated epistemic variance

	Outcomes         []score.OutcomeTrust // the intervals as claims, for each outcome
	Mu, Half, Half68 []float64            // N×Out, own units: mean and half widths of the intervals
	Forecast         []Forecast           // without and with some runs of the new group; nil: none was made

	widths [4][]float64 // half widths at Levels, as Half; not stored
}

// Forecast is what the intervals would be if some runs of the new group had been measured.
type Forecast struct {
	Runs int       `json:"runs"`
	Half []float64 `json:"half_width"` // mean half width at the conditions of other runs, by outcome
}

// ForecastWords says what runs of the new group would buy, "" where no forecast was made.
// amounts writes a range of differences in a unit.
func (r *Record) ForecastWords(amounts func(unit string, low, high float64) string) string {
	if r == nil || len(r.Forecast) < 2 {
		return ""
	}

	var units []string
	byUnit := lists.Alike(lists.Each(r.Outcomes, func(t score.OutcomeTrust) string { return t.Unit }))
	for _, of := range byUnit {
		unit := r.Outcomes[of[0]].Unit
		half := func(f Forecast) string {
			list := lists.Rows(f.Half, 1, of)
			return "± " + amounts(unit, slices.Min(list), slices.Max(list))
		}

		now, last := half(r.Forecast[0]), r.Forecast[len(r.Forecast)-1]
		text := fmt.Sprintf("one run of the new group would make the interval %s instead of %s", half(r.Forecast[1]), now)
		if len(r.Forecast) > 2 {
			text += ", three " + half(last)
		}

		if half(last) == now {
			text = "runs of the new group would leave the interval at " + now
		}

		if len(byUnit) > 1 {
			list := lists.Each(of, func(j int) string { return r.Outcomes[j].Outcome })
			text = strings.Join(list, ", ") + ": " + text
		}

		units = append(units, text)
	}

	return strings.Join(units, "; ") + " (forecast)"
}

// Result is what the left-out groups of one split taught, and how the intervals did
// that were learned from them.
type Result struct {
	Absent      string       `json:"absent,omitempty"` // why there is no calibration; "" where there is one
	Calibration *Calibration `json:"calibration,omitempty"`
	Record      *Record      `json:"record,omitempty"` // on the test part
}

// LeftOut are the names of the left-out groups; nil without a calibration.
func (r *Result) LeftOut() []string {
	if r.Calibration == nil {
		return nil
	}
	return lists.Each(r.Calibration.Groups, func(g GroupResult) string { return g.Name })
}

// members are the numbers of a record that documents state.
func (r *Record) members() numbers.Object {
	return numbers.Object{
		"r2", &r.R2, "e", &r.E, "e_se", &r.ESE, "ratio_before", &r.RatioBefore, "ratio_after", &r.RatioAfter,
		"ratio_se", &r.RatioSE, "coverage_95_before", &r.Before95, "coverage", &r.After.Coverage,
		"coverage_68", &r.At[0], "coverage_90", &r.At[1], "coverage_95", &r.At[2], "coverage_98", &r.At[3],
		"width", &r.After.Width, "width_over_spread", &r.WidthOverSpread, "interval_score_before", &r.Before.Score,
		"interval_score", &r.After.Score, "interval_score_model_free", &r.ModelFree.Score, "crps", &r.CRPS,
		"forecast", &r.Forecast, "outcomes", &r.Outcomes,
	}
}

// document is members to be written: a list is never null.
func (r Record) document() numbers.Object {
	r.Forecast = append([]Forecast{}, r.Forecast...)
	return r.members()
}

// MarshalJSON writes the numbers that documents state; an undefined one is null.
func (r Record) MarshalJSON() ([]byte, error) { return r.document().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote, alone or among the members of Document. Numbers that
// are not stored are zero.
func (r *Record) UnmarshalJSON(data []byte) error {
	*r = Record{}
	if err := r.members().UnmarshalJSON(data); err != nil {
		return fmt.Errorf("decode record of a calibration: %w", err)
	}

	for _, f := range r.Forecast {
		if len(f.Half) != len(r.Outcomes) {
			return fmt.Errorf("decode record of a calibration: forecast of %d runs: expected %d half widths, found %d",
				f.Runs, len(r.Outcomes), len(f.Half))
		}
	}

	return nil
}

// Document is what metrics.json and predictions state of a calibration and, where a part was held
// out, of its record there.
func (r *Result) Document() numbers.Object {
	c := r.Calibration
	left := numbers.Objects(c.Groups, func(g GroupResult) numbers.Object {
		return numbers.Object{
			"group", g.Name, "distance", g.Distance, "claim", g.Claim, "e", g.E, "e_se", g.Error(), "inside", g.Inside,
			"half_width", g.Half,
		}
	})

	o := numbers.Object{
		"base", c.Base, "method", "hierarchical-scale", "condition", c.Condition, "kind", c.Kind,
		"groups", append([]string{}, r.LeftOut()...), "k", c.K, "level", c.Level, "scale", c.scale(),
	}

	var conformal numbers.Object
	if r.Record != nil {
		o = append(o, r.Record.document()...)
		conformal = numbers.Object{"coverage", r.Record.Conformal.Coverage, "width", r.Record.Conformal.Width}
	}

	o = append(o,
		"noise_ratio", c.NoiseRatio, "conformal", append(conformal, "guarantee", c.Conformal.Guarantee),
		"left_out", left, "before_measuring", c.beforeMeasuring(), "notes", append([]string{}, c.Notes()...),
	)
	if len(c.Things) > 0 {
		o = append(o, "things", c.Things)
	}

	if c.Representation != nil {
		o = append(o, "representation", c.Representation)
	}

	return o
}

// scale is what the left-out groups taught of the scale of a new one.
func (c *Calibration) scale() numbers.Object {
	s := c.Scale

	var shapes numbers.Object
	for k, name := range [...]string{"claim", "both", "distance"} {
		sum := 0.0
		for _, v := range s.Evidence[k] {
			sum += v
		}

		shapes = append(shapes, name, sum)
	}

	return numbers.Object{
		"prior", s.Prior.Name, "m", s.M, "tau", s.Tau, "claim_factor", s.Factor, "log_evidence", s.LogEvidence,
		"noise", s.Noise.Scale, "noise_freedom", s.Noise.Freedom, "shapes", shapes,
	}
}

// Intervals are the intervals that Judge has judged, of the level.
func (r *Record) Intervals(level float64) *score.Intervals {
	return &score.Intervals{Level: level, Half: r.Half, At: r.widths}
}

// Judge compares a prediction, made with the given noise, with the pairs y1, y2 (N×Out)
// measured there. run holds the run of each row. It panics when a slice has another length.
func (c *Calibration) Judge(p *Prediction, noise, y1, y2 []float64, run []int) Record {
	out, n := p.Out, p.N
	if len(noise) != n*out || len(y1) != n*out || len(y2) != n*out || len(run) != n {
		panic(fmt.Sprintf("honest: judge %d rows of %d outcomes by slices of %d, %d, %d and %d",
			n, out, len(noise), len(y1), len(y2), len(run)))
	}

	r := Record{Mu: p.Mu, Half: p.Half, Half68: p.Half68}
	for l := range r.widths {
		r.widths[l] = make([]float64, n*out)
	}

	values := float64(n * out)
	e, full, cluster := make([]float64, n), make([]float64, n*out), make([]int, n*out)
	claim, epistemic := make([]float64, n*out), make([]float64, n*out)
	normal, normal95 := make([]float64, n*out), make([]float64, n*out)
	mean, free, widest := make([]float64, n*out), make([]float64, n*out), make([]float64, n*out)
	z, z95, within := scale.NormalQuantile(c.Level), scale.NormalQuantile(0.95), [4]float64{}

	for k, mu := range p.Mu {
		j := k % out
		s := c.Deviation[j]
		s2 := s * s
		full[k] = (y1[k] - mu) * (y2[k] - mu) / s2
		e[k/out] += full[k] / float64(out)
		cluster[k] = run[k/out]
		claim[k], epistemic[k] = p.Claim[k]/s2, p.Epistemic[k]/s2
		normal[k], normal95[k] = z*math.Sqrt(p.Claim[k]+noise[k]), z95*math.Sqrt(p.Claim[k]+noise[k])
		mean[k], free[k], widest[k] = c.Mean[j], z*s, c.Conformal.Half[j]
		r.Epistemic += epistemic[k] / values
	}

	for cells, m := range c.laws(p, noise) {
		dispersion := m.Dispersion()

		var half [4]float64
		for l, level := range Levels {
			half[l] = m.Half(level)
		}

		for _, k := range cells {
			for l, h := range half {
				r.widths[l][k] = h * m.deviation
			}

			for _, y := range [2]float64{y1[k], y2[k]} {
				miss := math.Abs(y-p.Mu[k]) / m.deviation
				r.CRPS += m.CRPS(miss, dispersion) / (2 * values)
				for l, h := range half {
					if miss <= h {
						within[l]++
					}
				}
			}
		}
	}

	for l, w := range within {
		r.At[l] = w / (2 * values)
	}

	r.E, r.ESE = score.ClusteredMean(e, run)
	r.RatioBefore, _ = score.ClusteredRatio(full, claim, cluster)
	r.RatioAfter, r.RatioSE = score.ClusteredRatio(full, epistemic, cluster)
	for j := range out {
		r.R2 += score.R2(lists.Column(y1, out, j), lists.Column(y2, out, j), lists.Column(p.Mu, out, j)) / float64(out)
	}

	r.Before, r.After = c.Against(p.Mu, normal, y1, y2), c.Against(p.Mu, p.Half, y1, y2)
	r.Before95 = c.Against(p.Mu, normal95, y1, y2).Coverage
	r.ModelFree, r.Conformal = c.Against(mean, free, y1, y2), c.Against(p.Mu, widest, y1, y2)
	r.Conformal.Score = math.NaN()
	r.WidthOverSpread = r.After.Width / r.ModelFree.Width
	for _, w := range p.Where {
		r.Distance += w.Distance / float64(n)
	}

	return r
}

// Against compares intervals mu ± half with the pairs y1, y2 (N×Out each). It takes only the
// level and the deviations of c.
func (c *Calibration) Against(mu, half, y1, y2 []float64) (r Interval) {
	n, within := 2*float64(len(mu)), 0
	for k, m := range mu {
		s := c.Deviation[k%len(c.Deviation)]
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

// Advice says what narrows an interval at a condition: a longer measurement where noise
// dominates, a measurement there where ignorance does. epistemic is the share of the variance
// that is not noise; measured is whether the model was trained on the condition.
func Advice(epistemic float64, measured bool) string {
	switch {
	case epistemic < 0.5 && measured:
		return fmt.Sprintf("measure longer here: noise is %.0f %% of the uncertainty", 100*(1-epistemic))
	case epistemic < 0.5:
		return fmt.Sprintf("measure there, and long: noise is %.0f %% of the uncertainty", 100*(1-epistemic))
	case measured:
		return fmt.Sprintf("repeat the run: measured, and yet ignorance is %.0f %% of the uncertainty", 100*epistemic)
	}

	return fmt.Sprintf("measure a new condition there: ignorance is %.0f %% of the uncertainty", 100*epistemic)
}
