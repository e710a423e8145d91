package score

import "fmt"

// Event judges claimed probabilities of an event by pairs (docs/method.md#events).
// 1[y] is 1 where the event happened, else 0.
type Event struct {
	Claimed              float64 // mean p̂
	Happened, HappenedSE float64 // share of y1 and y2, with its standard error clustered by run
	Error, ErrorSE       float64 // mean (1[y1] − p̂)(1[y2] − p̂), which estimates the mean of (p − p̂)²
	V                    float64 // mean V, the model's claim of Error
	Ratio, RatioSE       float64 // Error/V: 1 is calibrated, above is overconfident; NaN where V is 0
}

// JudgeEvent judges the probabilities p and variances v of each row; in1 and in2
// report whether it happened in y1 and y2. It panics if lengths differ.
func JudgeEvent(p, v []float64, in1, in2 []bool, run []int) Event {
	if len(v) != len(p) || len(in1) != len(p) || len(in2) != len(p) || len(run) != len(p) {
		panic(fmt.Sprintf("score: an event of %d probabilities with %d variances, %d and %d outcomes, %d runs", len(p),
			len(v), len(in1), len(in2), len(run)))
	}

	one := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}

	happened, e := make([]float64, len(p)), make([]float64, len(p))
	for i := range p {
		a, b := one(in1[i]), one(in2[i])
		happened[i], e[i] = (a+b)/2, (a-p[i])*(b-p[i])
	}

	r := Event{Claimed: average(p, nil), V: average(v, nil)}
	r.Happened, r.HappenedSE = ClusteredMean(happened, run)
	r.Error, r.ErrorSE = ClusteredMean(e, run)
	r.Ratio, r.RatioSE = ClusteredRatio(e, v, run)

	return r
}
