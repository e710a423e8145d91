package interval

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/train/honest/scale"
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

	var names []string
	of := map[string][]int{} // outcomes by unit
	for j, t := range r.Outcomes {
		if of[t.Unit] == nil {
			names = append(names, t.Unit)
		}

		of[t.Unit] = append(of[t.Unit], j)
	}

	var units []string
	for _, unit := range names {
		half := func(f Forecast) string {
			low, high := math.Inf(1), math.Inf(-1)
			for _, j := range of[unit] {
				low, high = min(low, f.Half[j]), max(high, f.Half[j])
			}

			return "± " + amounts(unit, low, high)
		}

		text, now := "", half(r.Forecast[0])
		for i, f := range r.Forecast[1:] {
			runs, known := map[int]string{1: "one", 3: "three"}[f.Runs]
			switch {
			case !known:
				runs = strconv.Itoa(f.Runs)
			case f.Runs == 1:
				runs += " run of the new group would make the interval"
			}

			if text += runs + " " + half(f); i == 0 {
				text += " instead of " + now
			}

			if i < len(r.Forecast)-2 {
				text += ", "
			}
		}

		if half(r.Forecast[len(r.Forecast)-1]) == now {
			text = "runs of the new group would leave the interval at " + now
		}

		if len(names) > 1 {
			var list []string
			for _, j := range of[unit] {
				list = append(list, r.Outcomes[j].Outcome)
			}

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

// storedRecord is the JSON form of a Record: what predictions are printed with.
type storedRecord struct {
	R2              *float64        `json:"r2"`
	RatioBefore     *float64        `json:"ratio_before"`
	RatioAfter      *float64        `json:"ratio_after"`
	RatioSE         *float64        `json:"ratio_se"`
	CoverageBefore  *float64        `json:"coverage_95_before"`
	Coverage68      *float64        `json:"coverage_68"`
	Coverage90      *float64        `json:"coverage_90"`
	Coverage95      *float64        `json:"coverage_95"`
	Coverage98      *float64        `json:"coverage_98"`
	Coverage        *float64        `json:"coverage"`
	WidthOverSpread *float64        `json:"width_over_spread"`
	Outcomes        []storedOutcome `json:"outcomes"`
	Forecast        []Forecast      `json:"forecast,omitempty"`
}

type storedOutcome struct {
	Outcome  string   `json:"outcome"`
	Unit     string   `json:"unit"`
	RMSE     *float64 `json:"rmse"`
	Coverage *float64 `json:"coverage"`
}

// MarshalJSON writes the ratios, the coverage and the errors. An undefined number is null.
func (r Record) MarshalJSON() ([]byte, error) {
	s := storedRecord{
		R2: defined(r.R2), RatioBefore: defined(r.RatioBefore), RatioAfter: defined(r.RatioAfter),
		RatioSE: defined(r.RatioSE), CoverageBefore: defined(r.Before.Coverage), Coverage: defined(r.After.Coverage),
		Coverage68: defined(r.At[0]), Coverage90: defined(r.At[1]), Coverage95: defined(r.At[2]),
		Coverage98: defined(r.At[3]), WidthOverSpread: defined(r.WidthOverSpread), Forecast: r.Forecast,
	}

	for _, t := range r.Outcomes {
		s.Outcomes = append(s.Outcomes, storedOutcome{t.Outcome, t.Unit, defined(t.RMSE), defined(t.Inside)})
	}

	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote. Numbers that are not stored are zero.
func (r *Record) UnmarshalJSON(data []byte) error {
	var s storedRecord
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode record of a calibration: %w", err)
	}

	*r = Record{
		R2: number(s.R2), RatioBefore: number(s.RatioBefore), RatioAfter: number(s.RatioAfter),
		RatioSE: number(s.RatioSE), WidthOverSpread: number(s.WidthOverSpread),
		At:       [4]float64{number(s.Coverage68), number(s.Coverage90), number(s.Coverage95), number(s.Coverage98)},
		Forecast: s.Forecast,
	}
	r.Before.Coverage, r.After.Coverage = number(s.CoverageBefore), number(s.Coverage)

	for _, f := range s.Forecast {
		if len(f.Half) != len(s.Outcomes) {
			return fmt.Errorf("decode record of a calibration: forecast of %d runs: expected %d half widths, found %d",
				f.Runs, len(s.Outcomes), len(f.Half))
		}
	}

	for _, o := range s.Outcomes {
		t := score.OutcomeTrust{Outcome: o.Outcome, Unit: o.Unit}
		t.RMSE, t.Inside = number(o.RMSE), number(o.Coverage)
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
	claim, epistemic, normal := make([]float64, n*out), make([]float64, n*out), make([]float64, n*out)
	mean, free, widest := make([]float64, n*out), make([]float64, n*out), make([]float64, n*out)
	z, within := scale.NormalQuantile(c.Level), [4]float64{}

	for k, mu := range p.Mu {
		j := k % out
		s := c.Deviation[j]
		s2 := s * s
		full[k] = (y1[k] - mu) * (y2[k] - mu) / s2
		e[k/out] += full[k] / float64(out)
		cluster[k] = run[k/out]
		claim[k], epistemic[k] = p.Claim[k]/s2, p.Epistemic[k]/s2
		normal[k] = z * math.Sqrt(p.Claim[k]+noise[k])
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
		r.R2 += score.R2(column(y1, out, j), column(y2, out, j), column(p.Mu, out, j)) / float64(out)
	}

	r.Before, r.After = c.Against(p.Mu, normal, y1, y2), c.Against(p.Mu, p.Half, y1, y2)
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

func column(v []float64, out, j int) []float64 {
	c := make([]float64, 0, len(v)/out)
	for i := j; i < len(v); i += out {
		c = append(c, v[i])
	}

	return c
}
