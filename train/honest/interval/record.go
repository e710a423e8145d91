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

// This file judges intervals: Judge compares the intervals of a prediction with pairs that were measured there, and
// makes a Record. A pair is two measurements y1 and y2 at one condition. The product of their deviations from the
// predicted mean measures its squared error e, because their noise is independent.

// Interval describes how one kind of interval did on measured values. Widths and scores are in deviations of the
// training outcomes, averaged over values.
type Interval struct {
	Coverage float64 `json:"coverage"` // share of y1 and y2 inside
	Width    float64 `json:"width"`    // mean full width
	Score    float64 `json:"score"`    // mean interval score, see Winkler; lower is better
}

// Record compares the predictions of a test set with its pairs, which the calibration has not seen. Squares are in
// units of the variance of the training outcomes, widths and scores in units of their deviation. Numbers that are
// undefined are NaN.
type Record struct {
	R2          float64 // of the mean, averaged over outcomes
	E, ESE      float64 // mean of e, the squared error by the pairs, and its standard error clustered by run
	RatioBefore float64 // S = Σe/Σv̂ by the base's own claim: 1 is calibrated, above 1 is overconfident
	RatioAfter  float64 // Σe over the sum of the calibrated epistemic variances
	RatioSE     float64 // standard error of RatioAfter, clustered by run; NaN with one run

	Before          Interval   // μ ± z·√(v̂+σ²), by the base alone
	After           Interval   // the calibrated interval
	Before95        float64    // coverage of μ ± 1.96·√(v̂+σ²)
	At              [4]float64 // coverage of the calibrated intervals at Levels
	CRPS            float64    // mean continuous ranked probability score; lower is better
	ModelFree       Interval   // training mean ± z·training deviation, without a model
	Conformal       Interval   // μ ± the largest left-out residual; its Score has no meaning and is NaN
	WidthOverSpread float64    // width of After over width of ModelFree; from 1 on the model knows nothing here
	Distance        float64    // mean distance d to the measured groups
	Epistemic       float64    // mean calibrated epistemic variance

	Outcomes         []score.OutcomeTrust // by outcome: how far the intervals can be trusted
	Mu, Half, Half68 []float64            // N×Out, in the outcomes' units: means and half widths of the intervals
	ContainedAt      []float64            // N×Out×2: the level of the narrowest interval that contains y1, and y2
	Forecast         []Forecast           // without and with some measured runs of the new group; nil: none was made

	widths [4][]float64 // half widths at each of Levels, like Half; not stored
}

// Forecast describes the intervals if some runs of the new group had been measured.
type Forecast struct {
	Runs int       `json:"runs"`       // number of measured runs
	Half []float64 `json:"half_width"` // by outcome: mean half width at conditions of other runs, in its unit
}

// ForecastWords says how measured runs of the new group would change the intervals, or returns "" if no forecast was
// made. amounts writes a range of differences in a unit.
func (r *Record) ForecastWords(amounts func(unit string, low, high float64) string) string {
	if r == nil || len(r.Forecast) < 2 {
		return ""
	}

	var units []string // by outcome
	for _, t := range r.Outcomes {
		units = append(units, t.Unit)
	}

	var texts []string
	byUnit := lists.Alike(units)
	for _, outcomes := range byUnit {
		text := r.forecastOf(outcomes, amounts)
		if len(byUnit) > 1 {
			var names []string
			for _, j := range outcomes {
				names = append(names, r.Outcomes[j].Outcome)
			}

			text = strings.Join(names, ", ") + ": " + text
		}

		texts = append(texts, text)
	}

	return strings.Join(texts, "; ") + " (forecast)"
}

// forecastOf says how measured runs of the new group would change the intervals of some outcomes, which have one unit.
func (r *Record) forecastOf(outcomes []int, amounts func(unit string, low, high float64) string) string {
	var halves []string // by forecast: the range of half widths
	for _, f := range r.Forecast {
		list := lists.Pick(f.Half, outcomes)
		halves = append(halves, "± "+amounts(r.Outcomes[outcomes[0]].Unit, slices.Min(list), slices.Max(list)))
	}

	now := halves[0]
	last := halves[len(halves)-1]
	if last == now {
		return "runs of the new group would leave the interval at " + now
	}

	runs := "runs"
	if r.Forecast[1].Runs == 1 {
		runs = "run"
	}

	text := fmt.Sprintf("%s %s of the new group would make the interval %s instead of %s",
		score.Numeral(r.Forecast[1].Runs), runs, halves[1], now)
	if len(halves) > 2 {
		text += ", " + score.Numeral(r.Forecast[len(halves)-1].Runs) + " " + last
	}

	return text
}

// Result holds what the left-out groups of one split taught, and how the intervals did that follow from it.
type Result struct {
	Absent      string       `json:"absent,omitempty"` // why there is no calibration; "" if there is one
	Calibration *Calibration `json:"calibration,omitempty"`
	Record      *Record      `json:"record,omitempty"` // of the test part; nil without one
}

// LeftOut returns the names of the left-out groups, or nil without a calibration.
func (r *Result) LeftOut() []string {
	if r.Calibration == nil {
		return nil
	}

	var names []string
	for _, g := range r.Calibration.Groups {
		names = append(names, g.Name)
	}

	return names
}

// members returns the keys of a record in documents, each with a pointer to its number. The numbers can be written
// from the record or read into it.
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

// document returns the members of a record for writing. A missing forecast is written as an empty list, not as null.
func (r Record) document() numbers.Object {
	r.Forecast = append([]Forecast{}, r.Forecast...)
	return r.members()
}

// MarshalJSON writes the numbers that documents hold. It writes undefined numbers as null.
func (r Record) MarshalJSON() ([]byte, error) { return r.document().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote, alone or among the members of Result.Document. Numbers that are not
// stored become zero.
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

// Document returns the part of a report's metrics and of predictions that describes a calibration and, if a part was
// held out, its record there. r must have a calibration.
func (r *Result) Document() numbers.Object {
	c := r.Calibration
	left := numbers.Objects(c.Groups, func(g GroupResult) numbers.Object {
		return numbers.Object{
			"group", g.Name, "distance", g.Distance, "claim", g.Claim, "e", g.E, "e_se", g.StandardError(), "inside", g.Inside,
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

// scale returns the part of a document that describes the scale of a new group.
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

// Intervals returns the intervals that Judge has compared, with their level.
func (r *Record) Intervals(level float64) *score.Intervals {
	return &score.Intervals{Level: level, Half: r.Half, At: r.widths}
}

// judged holds numbers of each value that Judge compares, N×Out. Variances are in units of the variance of the training
// outcomes, half widths and means in the unit of the outcome.
type judged struct {
	squares   []float64 // squared errors by the pairs
	run       []int     // run of the value
	claim     []float64 // v̂
	epistemic []float64 // calibrated variance of the mean
	half      []float64 // half width by the base's own claim, at the level of the calibration
	half95    []float64 // half width by the base's own claim, at 95 %
	mean      []float64 // mean of the model-free interval
	spread    []float64 // half width of the model-free interval
	conformal []float64 // largest left-out residual
}

// Judge compares a prediction with the pairs y1, y2 (N×Out) measured there. noise are the noise variances of the base
// that the prediction was made with, run is the run of each row. Judge panics if a slice has another length.
func (c *Calibration) Judge(p *Prediction, noise, y1, y2 []float64, run []int) Record {
	values := p.N * p.Out
	if len(noise) != values || len(y1) != values || len(y2) != values || len(run) != p.N {
		panic(fmt.Sprintf("honest: judge %d rows of %d outcomes by slices of %d, %d, %d and %d",
			p.N, p.Out, len(noise), len(y1), len(y2), len(run)))
	}

	r := Record{Mu: p.Mu, Half: p.Half, Half68: p.Half68}
	v := c.judged(p, noise, y1, y2, run)
	e := make([]float64, p.N) // by row, mean over outcomes
	for k, square := range v.squares {
		e[k/p.Out] += square / float64(p.Out)
		r.Epistemic += v.epistemic[k] / float64(values)
	}

	c.judgeLaws(&r, p, noise, y1, y2)
	r.E, r.ESE = score.ClusteredMean(e, run)
	r.RatioBefore, _ = score.ClusteredRatio(v.squares, v.claim, v.run)
	r.RatioAfter, r.RatioSE = score.ClusteredRatio(v.squares, v.epistemic, v.run)
	for j := range p.Out {
		first := lists.Column(y1, p.Out, j)
		second := lists.Column(y2, p.Out, j)
		r.R2 += score.R2(first, second, lists.Column(p.Mu, p.Out, j)) / float64(p.Out)
	}

	r.Before = c.JudgeIntervals(p.Mu, v.half, y1, y2)
	r.After = c.JudgeIntervals(p.Mu, p.Half, y1, y2)
	r.Before95 = c.JudgeIntervals(p.Mu, v.half95, y1, y2).Coverage
	r.ModelFree = c.JudgeIntervals(v.mean, v.spread, y1, y2)
	r.Conformal = c.JudgeIntervals(p.Mu, v.conformal, y1, y2)
	r.Conformal.Score = math.NaN()
	r.WidthOverSpread = r.After.Width / r.ModelFree.Width
	for _, w := range p.Where {
		r.Distance += w.Distance / float64(p.N)
	}

	return r
}

// judged returns the numbers of each value of a prediction. It takes the arguments of Judge.
func (c *Calibration) judged(p *Prediction, noise, y1, y2 []float64, run []int) judged {
	var v judged
	z := scale.NormalQuantile(c.Level)
	z95 := scale.NormalQuantile(0.95)
	for k, mu := range p.Mu {
		j := k % p.Out
		s := c.Deviation[j]
		variance := s * s
		v.squares = append(v.squares, (y1[k]-mu)*(y2[k]-mu)/variance)
		v.run = append(v.run, run[k/p.Out])
		v.claim = append(v.claim, p.Claim[k]/variance)
		v.epistemic = append(v.epistemic, p.Epistemic[k]/variance)
		v.half = append(v.half, z*math.Sqrt(p.Claim[k]+noise[k]))
		v.half95 = append(v.half95, z95*math.Sqrt(p.Claim[k]+noise[k]))
		v.mean = append(v.mean, c.Mean[j])
		v.spread = append(v.spread, z*s)
		v.conformal = append(v.conformal, c.Conformal.Half[j])
	}

	return v
}

// judgeLaws sets the numbers of r that compare the laws of a prediction with the pairs: the half widths at Levels,
// their coverage, and the CRPS.
func (c *Calibration) judgeLaws(r *Record, p *Prediction, noise, y1, y2 []float64) {
	for l := range r.widths {
		r.widths[l] = make([]float64, len(p.Mu))
	}

	r.ContainedAt = make([]float64, 2*len(p.Mu))
	n := float64(2 * len(p.Mu))
	var inside [4]float64 // by level
	for places, law := range c.laws(p, noise) {
		dispersion := law.Dispersion()

		var half [4]float64 // by level, in deviations
		for l, level := range Levels {
			half[l] = law.Half(level)
		}

		for _, k := range places {
			for l, h := range half {
				r.widths[l][k] = h * law.deviation
			}

			for i, y := range [2]float64{y1[k], y2[k]} {
				miss := math.Abs(y-p.Mu[k]) / law.deviation
				r.ContainedAt[2*k+i] = law.Inside(miss)
				r.CRPS += law.CRPS(miss, dispersion) / n
				for l, h := range half {
					if miss <= h {
						inside[l]++
					}
				}
			}
		}
	}

	for l, count := range inside {
		r.At[l] = count / n
	}
}

// JudgeIntervals compares intervals mu ± half with the pairs y1, y2 (N×Out each). Of c it uses only the level and the
// deviations.
func (c *Calibration) JudgeIntervals(mu, half, y1, y2 []float64) Interval {
	var r Interval
	n := 2 * float64(len(mu))
	count := 0
	for k, m := range mu {
		s := c.Deviation[k%len(c.Deviation)]
		for _, y := range [2]float64{y1[k], y2[k]} {
			w, inside := Winkler(y, m, half[k], c.Level)
			r.Score += w / s / n
			r.Width += 2 * half[k] / s / n

			if inside {
				count++
			}
		}
	}

	r.Coverage = float64(count) / n

	return r
}

// Winkler returns the interval score of the central interval mu ± half of the given level for the value y, and whether
// y lies inside. The score is the width, plus 2/(1−level) times the distance of a value outside from the interval
// (Gneiting & Raftery 2007, equation 43). If a number is NaN, y is not inside.
func Winkler(y, mu, half, level float64) (s float64, inside bool) {
	miss := math.Abs(y-mu) - half
	if miss > 0 {
		return 2*half + 2/(1-level)*miss, false
	}

	return 2 * half, miss <= 0
}

// mostlyNoise is the share of the variance that is not noise below which noise dominates.
const mostlyNoise = 0.5

// Advice says how to narrow an interval at a condition: by a longer measurement if noise dominates, and by a
// measurement there if lack of data dominates. epistemic is the share of the variance that is not noise, from 0 to 1.
// measured is true if the model was trained on the condition.
func Advice(epistemic float64, measured bool) string {
	switch {
	case epistemic < mostlyNoise && measured:
		return fmt.Sprintf("measure longer here: %.0f %% of the uncertainty is noise", 100*(1-epistemic))
	case epistemic < mostlyNoise:
		return fmt.Sprintf("measure there, and long: %.0f %% of the uncertainty is noise", 100*(1-epistemic))
	case measured:
		return fmt.Sprintf("repeat the run: it was measured, but %.0f %% of the uncertainty is lack of data", 100*epistemic)
	}

	return fmt.Sprintf("measure a new condition there: %.0f %% of the uncertainty is lack of data", 100*epistemic)
}
