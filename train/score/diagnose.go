package score

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Limits of the diagnostics of METHOD §4. A trained network obeys no identity
// exactly; these are the sizes from which a violation changes what the numbers
// mean, not from which it can be detected.
const (
	LimitDelta    = 0.5  // rms δ in units of the root mean |C|
	LimitKappa    = 0.1  // mean |κ| in units of the mean σ²
	LimitNegative = 0.05 // fraction of C < 0
	LimitAbove    = 0.05 // fraction of C > σ²
)

// Flag is one identity of the theory that a model violates, in words.
type Flag struct {
	Code     string  // "delta", "kappa", "negative-cov", "cov-above-var", "calibration"
	Violated string  // what, and by how much
	Do       string  // what to do about it
	Value    float64 // the number that is compared with Limit
	Limit    float64
}

func (f Flag) String() string { return f.Violated + "; " + f.Do }

// Answers are what the identities speak of, N×Out each, in one unit system; nil
// where not computed. Each distinct condition should stand once.
type Answers struct{ Var, Cov, Delta, Kappa []float64 }

// Diagnose checks the identities that hold where two answers are a consistent
// joint distribution: δ = 0, κ = 0, C ≥ 0 and C ≤ σ² (METHOD §4). It returns a
// flag for each that is violated beyond its limit, in this order.
func Diagnose(a Answers) []Flag {
	var flags []Flag
	add := func(code string, value, limit float64, violated, do string) {
		if value > limit { // false for NaN
			flags = append(flags, Flag{Code: code, Violated: violated, Do: do, Value: value, Limit: limit})
		}
	}
	meanOf := func(v []float64, f func(x float64) float64) float64 {
		s := 0.0
		for _, x := range v {
			s += f(x)
		}
		return s / float64(len(v))
	}
	square := func(x float64) float64 { return x * x }
	if len(a.Delta) > 0 && len(a.Cov) > 0 {
		v := math.Sqrt(meanOf(a.Delta, square) / meanOf(a.Cov, math.Abs))
		add("delta", v, LimitDelta,
			fmt.Sprintf("δ = 0 is violated: fed its own answers the model shifts its mean by %.2g of √C (rms), so that the paper's E|cov| = C + μδ depends on where the outcome's zero lies", v),
			"read C instead of the raw covariance; train longer, with pairs: symmetrised, or with feedback: flag")
	}
	if len(a.Kappa) > 0 && len(a.Var) > 0 {
		v := meanOf(a.Kappa, math.Abs) / meanOf(a.Var, math.Abs)
		add("kappa", v, LimitKappa,
			fmt.Sprintf("κ = 0 is violated: variance and mean of the second answer do not add up to the first answer's variance, by %.0f %% of σ² on average", 100*v),
			"the split of the total into aleatoric and epistemic is uncertain by as much; train longer, lower beta, or compare seeds")
	}
	if len(a.Cov) > 0 {
		v := meanOf(a.Cov, func(x float64) float64 { return indicator(x < 0, x) })
		add("negative-cov", v, LimitNegative,
			fmt.Sprintf("C ≥ 0 is violated at %.0f %% of the conditions: no variance can be negative, and there is no interval", 100*v),
			"take such conditions as \"ignorance not resolved\", not as certainty; average C over seeds, or measure more pairs")
	}
	if len(a.Cov) > 0 && len(a.Cov) == len(a.Var) {
		v := 0.0
		for k, c := range a.Cov {
			v += indicator(c > a.Var[k], c+a.Var[k]) / float64(len(a.Cov))
		}
		add("cov-above-var", v, LimitAbove,
			fmt.Sprintf("C ≤ σ² is violated at %.0f %% of the conditions: the model claims more ignorance than total uncertainty", 100*v),
			"do not read σ² − C as noise there; these conditions usually lie far outside the training data: measure there")
	}
	return flags
}

// DiagnoseCalibration checks the headline of covariance calibration, Σe/ΣC = 1
// (METHOD §4), in the summary of pairs the model was not trained on. It is
// violated when the ratio is farther from 1 than Student's 95 % range of its
// standard error, clustered by run; without one there is no flag.
func DiagnoseCalibration(s Summary) []Flag {
	off := math.Abs(s.SumERatio - 1)
	if !(s.SumERatioSE > 0) || s.Runs < 2 {
		return nil
	}
	limit := s.SumERatioSE * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.Runs - 1)}.Quantile(0.975)
	if !(off > limit) {
		return nil
	}
	f := Flag{Code: "calibration", Value: off, Limit: limit}
	f.Violated = fmt.Sprintf("Σe/ΣC = 1 is violated: the measured squared error is %s ± %s times what C says, so the model ", short(s.SumERatio), short(s.SumERatioSE))
	if s.SumERatio > 1 {
		f.Violated += "is surer than it may be"
		f.Do = "do not take √C for the error there: recalibrate on runs set aside (calibration: 0.2), which serves conditions like theirs, or measure there"
	} else {
		f.Violated += "claims more ignorance than it has"
		f.Do = "intervals from C are too wide there: recalibrate on runs set aside (calibration: 0.2)"
	}
	return []Flag{f}
}

// short writes a number with two digits, or the whole part of a larger one.
func short(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
