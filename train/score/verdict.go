package score

import (
	"fmt"
	"math"
)

// Grade states whether predictions can be used.
type Grade string

// Grades, from the best.
const (
	Good Grade = "good" // the errors are as large as claimed
	Care Grade = "care" // they are larger, or there are too few pairs to decide
	No   Grade = "no"   // the claims do not hold
)

// Limits of a grade. Coverage is the share of measured values inside their
// intervals, by how much it is below their level; the ratio is the rms residual over the
// claimed deviation. A limit is passed when the number is beyond it by more than two
// standard errors.
const (
	GoodMiss  = 0.05
	NoMiss    = 0.20
	GoodRatio = 1.25
	NoRatio   = 2.0
)

// WideSpread is the width of an interval over that of mean ± 1.96 deviations of the
// training outcomes from which it tells little, although it holds. From 1 on the
// model knows nothing.
const WideSpread = 0.8

// Trust compares what a model claims with what pairs measure, for one outcome or
// several of one unit, in that unit. A number that is undefined is NaN.
type Trust struct {
	RMSE, RMSESE     float64 // root of the mean e, the error of the mean prediction; 0 where mean e is negative
	ClaimedSigma     float64 // root mean total variance: of one new measurement
	ClaimedEpistemic float64 // root mean v̂; NaN where it is negative or not claimed
	Coverage68       float64 // share of y1 and y2 inside the intervals of 68 %: μ ± σ for normal laws
	Level            float64 // of the intervals; that of normal laws is 0.95
	Inside           float64 // share inside the intervals
	InsideSE         float64 // its standard error, clustered by run
	Half             float64 // mean half width of the interval
	Ratio, RatioSE   float64 // rms residual over claimed σ
	// full width over that of mean ± 1.96 deviations of the training outcomes; NaN without spread
	WidthOverSpread      float64
	Grade                Grade
	Runs, Values         int     // distinct runs; values y1 and y2
	EpistemicRatio       float64 // √(Σe/Σv̂): error over claimed epistemic deviation; NaN where undefined
	EpistemicRatioDefect string  // why it is NaN
}

// Intervals are the half widths (N×Out) of intervals about the mean, of their level and of
// 68 %.
type Intervals struct {
	Level        float64
	Half, Half68 []float64
}

// TrustOf judges the outcomes with the given indices together; they must be of one
// unit. s, total and epistemic are as for Judge, in the outcomes' own units.
// spread holds the deviation of each of the set's outcomes in training, nil where
// it is not known. The pairs must not have been trained on and must not be couples:
// every number is undefined otherwise. TrustOf panics on slices of other lengths.
// intervals nil are those of normal laws.
func TrustOf(s Set, total, epistemic, spread []float64, outcomes []int, intervals *Intervals) Trust {
	s = s.check()

	if intervals == nil {
		intervals = &Intervals{Level: 0.95}
		for _, v := range total {
			sd := math.Sqrt(v)
			intervals.Half, intervals.Half68 = append(intervals.Half, z95*sd), append(intervals.Half68, z68*sd)
		}
	}

	if len(total) != s.N*s.Out || epistemic != nil && len(epistemic) != s.N*s.Out ||
		spread != nil && len(spread) != s.Out {
		panic(fmt.Sprintf("score: %d and %d variances, %d deviations for %d rows × %d outcomes",
			len(total), len(epistemic), len(spread), s.N, s.Out))
	}

	nan := math.NaN()
	t := Trust{
		RMSE: nan, RMSESE: nan, ClaimedSigma: nan, ClaimedEpistemic: nan, Coverage68: nan, Level: intervals.Level,
		Inside: nan, InsideSE: nan, Half: nan, Ratio: nan, RatioSE: nan, WidthOverSpread: nan, EpistemicRatio: nan,
		Grade: Care,
	}

	if s.N == 0 || len(outcomes) == 0 || s.errorUndefined() != "" {
		t.EpistemicRatioDefect = "there are no pairs that the model has not seen"
		return t
	}

	var run []int // one of each is a pair: a row and outcome
	var e, claim, square, variance, in68, inside, half []float64

	within := func(r1, r2, half float64) (share float64) {
		for _, r := range [2]float64{r1, r2} {
			if math.Abs(r) <= half {
				share += 0.5
			}
		}
		return share
	}

	spreadSum := 0.0
	for i := range s.N {
		for _, j := range outcomes {
			k := i*s.Out + j
			r1, r2 := s.Y1[k]-s.Mu[k], s.Y2[k]-s.Mu[k]
			run = append(run, s.Run[i])
			e = append(e, r1*r2)

			if epistemic != nil {
				claim = append(claim, epistemic[k])
			}

			square = append(square, (r1*r1+r2*r2)/2)
			variance = append(variance, total[k])
			in68 = append(in68, within(r1, r2, intervals.Half68[k]))
			inside = append(inside, within(r1, r2, intervals.Half[k]))
			half = append(half, intervals.Half[k])

			if spread != nil {
				spreadSum += z95 * spread[j]
			}
		}
	}

	_, t.Runs = dense(run)
	t.Values = 2 * len(e)
	meanE, seE := ClusteredMean(e, run)
	t.RMSE = math.Sqrt(math.Max(0, meanE))
	t.RMSESE = seE / (2 * t.RMSE)
	meanVar, _ := ClusteredMean(variance, run)
	t.ClaimedSigma = math.Sqrt(meanVar)
	t.Coverage68, _ = ClusteredMean(in68, run)
	t.Inside, t.InsideSE = ClusteredMean(inside, run)
	t.Half, _ = ClusteredMean(half, run)
	if spreadSum > 0 {
		t.WidthOverSpread = t.Half * float64(len(half)) / spreadSum
	}

	ratio, se := ClusteredRatio(square, variance, run)
	t.Ratio = math.Sqrt(ratio)
	t.RatioSE = se / (2 * t.Ratio)
	t.setEpistemic(meanE, claim, run)
	t.Grade = t.grade()

	return t
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

// grade applies the limits. With fewer than two runs there is no standard error
// and no grade better or worse than Care.
func (t Trust) grade() Grade {
	c, r := 2*t.InsideSE, 2*t.RatioSE
	switch {
	case math.IsNaN(c) || math.IsNaN(r) || math.IsNaN(t.Ratio):
		return Care
	case t.Inside+c < t.Level-NoMiss || t.Ratio-r > NoRatio:
		return No
	case t.Inside+c < t.Level-GoodMiss || t.Ratio-r > GoodRatio || t.WidthOverSpread >= 1:
		return Care
	}

	return Good
}

// Worst returns the worst of some grades, Good without any.
func Worst(grades ...Grade) Grade {
	out := Good
	for _, g := range grades {
		if g == No || out == No {
			return No
		}

		if g == Care {
			out = Care
		}
	}

	return out
}

// MeanTrust averages the numbers over trainings on one test set, and grades the
// means with the mean standard errors.
func MeanTrust(list []Trust) Trust {
	var m Trust
	for i, t := range list {
		if i == 0 {
			m = t
			continue
		}

		for _, p := range [][2]*float64{
			{&m.RMSE, &t.RMSE},
			{&m.RMSESE, &t.RMSESE},
			{&m.ClaimedSigma, &t.ClaimedSigma},
			{&m.ClaimedEpistemic, &t.ClaimedEpistemic},
			{&m.Coverage68, &t.Coverage68},
			{&m.Inside, &t.Inside},
			{&m.InsideSE, &t.InsideSE},
			{&m.Half, &t.Half},
			{&m.Ratio, &t.Ratio},
			{&m.RatioSE, &t.RatioSE},
			{&m.WidthOverSpread, &t.WidthOverSpread},
			{&m.EpistemicRatio, &t.EpistemicRatio},
		} {
			*p[0] += (*p[1] - *p[0]) / float64(i+1)
		}

		if m.EpistemicRatioDefect == "" {
			m.EpistemicRatioDefect = t.EpistemicRatioDefect
		}
	}

	if len(list) > 0 && m.Values > 0 {
		m.Grade = m.grade()
	}

	return m
}
