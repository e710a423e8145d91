package score

import (
	"cmp"
	"fmt"
	"math"
)

// Levels lists the probabilities of the intervals whose coverage is stated.
var Levels = [4]float64{0.68, 0.90, 0.95, 0.98}

// Trust compares the predictions of a model with the pairs that were measured, for one outcome or several of one unit,
// in that unit. A number that is undefined is NaN.
type Trust struct {
	RMSE             float64    // root of the mean e, the error of the mean prediction; 0 if the mean e is negative
	RMSESE           float64    // standard error of RMSE, clustered by run
	R2               float64    // R² of the mean prediction, mean over outcomes
	Ceiling          float64    // R² that the true mean would reach, mean over outcomes
	ClaimedSigma     float64    // root of the mean total variance that the model predicts for one new measurement
	ClaimedEpistemic float64    // root of the mean v̂; NaN if it is negative or not predicted
	At               [4]float64 // shares of y1 and y2 inside the intervals of Levels; the model's own 68 % are μ ± σ
	Level            float64    // probability of the intervals
	Inside           float64    // share of y1 and y2 inside the intervals
	InsideSE         float64    // standard error of Inside, clustered by run
	Effective        float64    // number of independent values that all values are worth (Evidence)
	Half             float64    // mean half width of the intervals
	Ratio            float64    // root mean squared residual over ClaimedSigma
	RatioSE          float64    // standard error of Ratio, clustered by run

	// WidthOverSpread is the width of the intervals over the width of the mean ± 1.96 deviations of the training outcomes.
	WidthOverSpread float64

	Claimed  bool // the intervals are the model's own claim
	OneLevel bool // only the intervals of Level are stated
	Runs     int  // number of distinct runs
	Values   int  // number of values y1 and y2

	EpistemicRatio       float64 // √(Σe/Σv̂): error over predicted epistemic deviation
	EpistemicRatioDefect string  // reason why EpistemicRatio is NaN
}

// numbers returns pointers to the numbers that are averaged over trainings.
func (t *Trust) numbers() []*float64 {
	return []*float64{
		&t.RMSE, &t.RMSESE, &t.ClaimedSigma, &t.ClaimedEpistemic, &t.R2, &t.Ceiling, &t.At[0], &t.At[1], &t.At[2], &t.At[3],
		&t.Effective, &t.Inside, &t.InsideSE, &t.Half, &t.Ratio, &t.RatioSE, &t.WidthOverSpread, &t.EpistemicRatio,
	}
}

// Evidence returns the evidence of the runs about the intervals.
func (t Trust) Evidence() Evidence {
	return Evidence{
		Level: t.Level, Units: t.Runs, Inside: t.Inside, Inside68: t.At[0], Effective: t.Effective,
		WidthOverSpread: t.WidthOverSpread, Half: t.Half, Error: t.RMSE, Claimed: t.Claimed, OneLevel: t.OneLevel,
	}
}

// Residual returns the root mean squared residual of the single values y1 and y2. It contains their noise, which RMSE
// does not. It is NaN if no total variance is predicted.
func (t Trust) Residual() float64 { return t.Ratio * t.ClaimedSigma }

// Grade returns the grade of the intervals by their runs.
func (t Trust) Grade() Grade { return t.Evidence().Grade() }

// Intervals contains intervals for each row and outcome (N×Out). A half width of NaN means that there is no interval:
// shares inside are then undefined.
type Intervals struct {
	Level float64      // probability of the intervals
	Mid   []float64    // middles; nil if they are the predicted means
	Mid68 []float64    // middles of the 68 % intervals; nil if they are the same as Mid
	Half  []float64    // half widths of the intervals of Level
	At    [4][]float64 // half widths of the intervals of Levels

	// OneLevel says that only the intervals of Level are stated, and that At follows from an assumed distribution.
	OneLevel bool

	claimed bool // the intervals are the model's own claim
}

// Claimed returns the intervals of a level by normal distributions with the given variances, as the model's own claim.
func Claimed(total []float64, level float64) *Intervals {
	c := &Intervals{Level: level, claimed: true}

	half := z95
	if level != 0.95 {
		half = math.Sqrt2 * math.Erfinv(level)
	}

	for _, v := range total {
		sd := math.Sqrt(v)
		c.Half = append(c.Half, half*sd)
		for l, level := range Levels {
			z := math.Sqrt2 * math.Erfinv(level)
			if l == 0 {
				z = z68
			}

			c.At[l] = append(c.At[l], z*sd)
		}
	}

	return c
}

// TrustOf judges the outcomes with the given indices together, which must be of one unit. s, total and epistemic are as
// for Judge, in the outcomes' own units. spread contains the deviation of each of the set's outcomes in training, and
// is nil if it is not known. If intervals is nil, TrustOf judges the model's own claim: the 95 % intervals of normal
// distributions.
//
// The pairs must not have been trained on and must not be couples: otherwise every number is undefined. TrustOf panics
// if a slice has another length.
func TrustOf(s Set, total, epistemic, spread []float64, outcomes []int, intervals *Intervals) Trust {
	s = s.check(total, epistemic)
	if spread != nil && len(spread) != s.Out {
		panic(fmt.Sprintf("score: %d deviations for %d outcomes", len(spread), s.Out))
	}

	if intervals == nil {
		intervals = Claimed(total, 0.95)
	}

	t := Trust{Level: intervals.Level, Claimed: intervals.claimed, OneLevel: intervals.OneLevel}
	for _, p := range t.numbers() {
		*p = math.NaN()
	}

	if s.N == 0 || len(outcomes) == 0 || s.errorUndefined() != "" {
		t.EpistemicRatioDefect = "there are no pairs that the model has not seen"
		return t
	}

	values := collectTrust(s, total, epistemic, outcomes, intervals)
	t.setError(values)
	t.setInside(values)
	if spread != nil {
		t.setWidth(values, spread, outcomes, s.N)
	}

	t.setFit(s, outcomes)

	return t
}

// trustValues contains the values that a Trust is computed from, one for each row and outcome.
type trustValues struct {
	run      []int        // run of the row
	square   []float64    // mean of the two squared residuals
	variance []float64    // total variance that the model predicts
	half     []float64    // half width of the interval
	inside   []float64    // share of the two values inside the interval
	covered  [4][]float64 // the same for the intervals of Levels

	// These lists lack the rows that are alone, whose two values do not measure an error.
	pairRun []int
	e       []float64 // measured error
	claim   []float64 // epistemic variance that the model predicts; nil if it predicts none
}

// collectTrust collects the values of the given outcomes.
func collectTrust(s Set, total, epistemic []float64, outcomes []int, intervals *Intervals) *trustValues {
	values := &trustValues{}
	for i := range s.N {
		for _, j := range outcomes {
			k := i*s.Out + j
			r1 := s.Y1[k] - s.Mu[k]
			r2 := s.Y2[k] - s.Mu[k]
			if s.Alone == nil || !s.Alone[i] {
				values.pairRun = append(values.pairRun, s.Run[i])
				values.e = append(values.e, r1*r2)
				if epistemic != nil {
					values.claim = append(values.claim, epistemic[k])
				}
			}

			values.run = append(values.run, s.Run[i])
			values.square = append(values.square, (r1*r1+r2*r2)/2)
			values.variance = append(values.variance, total[k])
			values.half = append(values.half, intervals.Half[k])
			values.inside = append(values.inside, shareInside(s, k, intervals.Mid, intervals.Half[k]))
			for l, h := range intervals.At {
				mid := intervals.Mid
				if l == 0 && intervals.Mid68 != nil {
					mid = intervals.Mid68
				}

				values.covered[l] = append(values.covered[l], shareInside(s, k, mid, h[k]))
			}
		}
	}

	return values
}

// setError sets the numbers of runs and values, the error of the mean, and its ratios to the variances that the model
// predicts.
func (t *Trust) setError(values *trustValues) {
	t.Runs = numbered(values.run).count
	t.Values = 2 * len(values.square)
	meanE, seE := ClusteredMean(values.e, values.pairRun)
	t.RMSE = math.Sqrt(math.Max(0, meanE))
	t.RMSESE = seE / (2 * t.RMSE)
	meanVariance, _ := ClusteredMean(values.variance, values.run)
	t.ClaimedSigma = math.Sqrt(meanVariance)

	ratio, se := ClusteredRatio(values.square, values.variance, values.run)
	t.Ratio = math.Sqrt(ratio)
	t.RatioSE = se / (2 * t.Ratio)
	t.setEpistemic(meanE, values.claim, values.pairRun)
}

// setInside sets the shares of values inside the intervals, and how many independent values they are worth.
func (t *Trust) setInside(values *trustValues) {
	t.Inside, t.InsideSE = ClusteredMean(values.inside, values.run)
	for l, covered := range values.covered {
		t.At[l], _ = ClusteredMean(covered, values.run)
	}

	_, se68 := ClusteredMean(values.covered[0], values.run)
	t.Effective = effective(t.Runs, float64(t.Values), t.At[0], se68)
	t.Half, _ = ClusteredMean(values.half, values.run)
}

// setWidth sets the ratio of the intervals' width to the width of the mean ± 1.96 deviations of the training outcomes.
func (t *Trust) setWidth(values *trustValues, spread []float64, outcomes []int, rows int) {
	sum := 0.0 // of the half widths by the deviations
	for range rows {
		for _, j := range outcomes {
			sum += z95 * spread[j]
		}
	}

	if sum > 0 {
		t.WidthOverSpread = t.Half * float64(len(values.half)) / sum
	}
}

// shareInside returns the share of the two values at place k of s that are inside the interval with a half width. The
// middles of intervals are the predicted means if mid is nil. It returns NaN if the half width is NaN.
func shareInside(s Set, k int, mid []float64, half float64) float64 {
	if math.IsNaN(half) {
		return math.NaN()
	}

	if mid == nil {
		mid = s.Mu
	}

	share := 0.0
	for _, y := range [2]float64{s.Y1[k], s.Y2[k]} {
		if math.Abs(y-mid[k]) <= half {
			share += 0.5
		}
	}

	return share
}

// setFit sets R² of the mean and the noise ceiling, both means over the outcomes. They stay NaN for a single condition.
func (t *Trust) setFit(s Set, outcomes []int) {
	if numbered(s.Condition).count < 2 {
		return
	}

	t.R2 = 0
	t.Ceiling = 0
	for _, j := range outcomes {
		y1, y2, mu := s.outcome(j)
		t.R2 += weightedR2(y1, y2, mu, s.Weight) / float64(len(outcomes))
		t.Ceiling += s.ceiling(j) / float64(len(outcomes))
	}
}

// setEpistemic sets the predicted epistemic deviation and the ratio of the error to it, or the reason why the ratio is
// undefined. meanE is the mean measured error, claim the predicted epistemic variances, and run their runs.
func (t *Trust) setEpistemic(meanE float64, claim []float64, run []int) {
	if claim == nil {
		t.EpistemicRatioDefect = "the method claims no epistemic variance"
		return
	}

	mean, _ := ClusteredMean(claim, run)
	switch {
	case !(mean > 0):
		t.EpistemicRatioDefect = "the claimed epistemic variances do not sum to a positive value"
		return
	case meanE <= 0:
		t.EpistemicRatioDefect = "the measured errors do not sum to a positive value: they are smaller than the noise of " +
			"the pairs"
	default:
		t.EpistemicRatio = math.Sqrt(meanE / mean)
	}

	t.ClaimedEpistemic = math.Sqrt(mean)
}

// HalfWidth returns the half width of the central interval that has the probability 1 − alpha, by a normal distribution
// with the variance total.
func HalfWidth(total, alpha float64) float64 {
	return math.Sqrt2 * math.Erfinv(1-alpha) * math.Sqrt(total)
}

// MeanTrust averages the numbers of several trainings on one test set. A number that is undefined in one training is
// undefined in the mean. MeanTrust returns the zero Trust without trainings.
func MeanTrust(list []Trust) Trust {
	var m Trust
	for i, t := range list {
		if i == 0 {
			m = t
			continue
		}

		mean := m.numbers()
		for k, p := range t.numbers() {
			*mean[k] += (*p - *mean[k]) / float64(i+1)
		}

		m.EpistemicRatioDefect = cmp.Or(m.EpistemicRatioDefect, t.EpistemicRatioDefect)
	}

	return m
}
