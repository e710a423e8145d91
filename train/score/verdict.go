package score

import (
	"cmp"
	"fmt"
	"math"

	"doubletake/internal/lists"
)

// Levels are those at which coverage is stated.
var Levels = [4]float64{0.68, 0.90, 0.95, 0.98}

// Trust compares what a model claims with what pairs measure, for one outcome or
// several of one unit, in that unit. A number that is undefined is NaN.
type Trust struct {
	RMSE, RMSESE     float64    // root of the mean e, the error of the mean prediction; 0 where mean e is negative
	R2, Ceiling      float64    // of the mean prediction, and what the true mean would reach; means over outcomes
	ClaimedSigma     float64    // root mean total variance: of one new measurement
	ClaimedEpistemic float64    // root mean v̂; NaN where it is negative or not claimed
	At               [4]float64 // share of y1 and y2 inside the intervals of Levels; of normal laws the first is μ ± σ
	Level            float64    // of the intervals; that of normal laws is 0.95
	Inside           float64    // share inside the intervals
	InsideSE         float64    // its standard error, clustered by run
	Effective        float64    // independent values that all are worth, see Evidence
	Half             float64    // mean half width of the interval
	Ratio, RatioSE   float64    // rms residual over claimed σ
	// full width over that of mean ± 1.96 deviations of the training outcomes; NaN without spread
	WidthOverSpread      float64
	Claimed              bool    // the intervals are the model's own claim
	Runs, Values         int     // distinct runs; values y1 and y2
	EpistemicRatio       float64 // √(Σe/Σv̂): error over claimed epistemic deviation; NaN where undefined
	EpistemicRatioDefect string  // why it is NaN
}

// numbers are those that are averaged over trainings.
func (t *Trust) numbers() []*float64 {
	return []*float64{
		&t.RMSE, &t.RMSESE, &t.ClaimedSigma, &t.ClaimedEpistemic, &t.R2, &t.Ceiling, &t.At[0], &t.At[1], &t.At[2], &t.At[3],
		&t.Effective, &t.Inside, &t.InsideSE, &t.Half, &t.Ratio, &t.RatioSE, &t.WidthOverSpread, &t.EpistemicRatio,
	}
}

// Evidence is what the intervals showed on the runs.
func (t Trust) Evidence() Evidence {
	return Evidence{
		Level: t.Level, Units: t.Runs, Inside: t.Inside, Inside68: t.At[0], Effective: t.Effective,
		WidthOverSpread: t.WidthOverSpread, Half: t.Half, Error: t.RMSE, Claimed: t.Claimed,
	}
}

// Grade is the grade of the intervals by their runs.
func (t Trust) Grade() Grade { return t.Evidence().Grade() }

// Intervals are the half widths (N×Out) of intervals, of their level and of Levels. NaN is
// no interval: shares inside are then undefined.
type Intervals struct {
	Level float64
	Mid   []float64 // N×Out, their middles; nil: the mean
	Half  []float64
	At    [4][]float64

	claimed bool // the model's own
}

// Claimed are the intervals of a level that normal laws with the variances give, as the
// model's own claim.
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

// TrustOf judges the outcomes with the given indices together; they must be of one
// unit. s, total and epistemic are as for Judge, in the outcomes' own units.
// spread holds the deviation of each of the set's outcomes in training, nil where
// it is not known. The pairs must not have been trained on and must not be couples:
// every number is undefined otherwise. TrustOf panics on slices of other lengths.
// intervals nil are those of normal laws, the model's own claim.
func TrustOf(s Set, total, epistemic, spread []float64, outcomes []int, intervals *Intervals) Trust {
	s = s.check(total, epistemic)
	if spread != nil && len(spread) != s.Out {
		panic(fmt.Sprintf("score: %d deviations for %d outcomes", len(spread), s.Out))
	}

	if intervals == nil {
		intervals = Claimed(total, 0.95)
	}

	t := Trust{Level: intervals.Level, Claimed: intervals.claimed}
	for _, p := range t.numbers() {
		*p = math.NaN()
	}

	if s.N == 0 || len(outcomes) == 0 || s.errorUndefined() != "" {
		t.EpistemicRatioDefect = "there are no pairs that the model has not seen"
		return t
	}

	var run, ofPairs []int // runs of rows and outcomes, and of those that are not alone
	var e, claim, square, variance, inside, half []float64
	var at [4][]float64

	within := func(k int, half float64) (share float64) {
		mid := s.Mu[k]
		if intervals.Mid != nil {
			mid = intervals.Mid[k]
		}

		for _, y := range [2]float64{s.Y1[k], s.Y2[k]} {
			if math.Abs(y-mid) <= half {
				share += 0.5
			}
		}

		if math.IsNaN(half) {
			return math.NaN()
		}

		return share
	}

	spreadSum := 0.0
	for i := range s.N {
		for _, j := range outcomes {
			k := i*s.Out + j
			r1, r2 := s.Y1[k]-s.Mu[k], s.Y2[k]-s.Mu[k]
			run = append(run, s.Run[i])
			if s.Alone == nil || !s.Alone[i] {
				e, ofPairs = append(e, r1*r2), append(ofPairs, run[len(run)-1])
				if epistemic != nil {
					claim = append(claim, epistemic[k])
				}
			}

			square = append(square, (r1*r1+r2*r2)/2)
			variance = append(variance, total[k])
			inside = append(inside, within(k, intervals.Half[k]))
			half = append(half, intervals.Half[k])
			for l, h := range intervals.At {
				at[l] = append(at[l], within(k, h[k]))
			}

			if spread != nil {
				spreadSum += z95 * spread[j]
			}
		}
	}

	_, t.Runs = dense(run)
	t.Values = 2 * len(square)
	meanE, seE := ClusteredMean(e, ofPairs)
	t.RMSE = math.Sqrt(math.Max(0, meanE))
	t.RMSESE = seE / (2 * t.RMSE)
	meanVar, _ := ClusteredMean(variance, run)
	t.ClaimedSigma = math.Sqrt(meanVar)
	t.Inside, t.InsideSE = ClusteredMean(inside, run)
	for l := range at {
		t.At[l], _ = ClusteredMean(at[l], run)
	}

	_, se68 := ClusteredMean(at[0], run)
	t.Effective = effective(t.Runs, float64(t.Values), t.At[0], se68)
	t.Half, _ = ClusteredMean(half, run)
	if spreadSum > 0 {
		t.WidthOverSpread = t.Half * float64(len(half)) / spreadSum
	}

	ratio, se := ClusteredRatio(square, variance, run)
	t.Ratio = math.Sqrt(ratio)
	t.RatioSE = se / (2 * t.Ratio)
	t.setEpistemic(meanE, claim, ofPairs)
	t.setFit(s, outcomes)

	return t
}

// setFit sets R² of the mean and the noise ceiling, means over the outcomes; NaN of one condition.
func (t *Trust) setFit(s Set, outcomes []int) {
	if _, conditions := dense(s.Condition); conditions < 2 {
		return
	}

	t.R2, t.Ceiling = 0, 0
	for _, j := range outcomes {
		y1, y2, mu := lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), lists.Column(s.Mu, s.Out, j)
		t.R2 += weightedR2(y1, y2, mu, s.Weight) / float64(len(outcomes))
		t.Ceiling += s.ceiling(j) / float64(len(outcomes))
	}
}

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

// HalfWidth is half the width of the interval that a normal law with the variance total
// has with the probability 1 − alpha.
func HalfWidth(total, alpha float64) float64 {
	return math.Sqrt2 * math.Erfinv(1-alpha) * math.Sqrt(total)
}

// MeanTrust averages the numbers over trainings on one test set.
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
