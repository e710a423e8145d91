package score

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/train/numbers"
	"doubletake/train/triplets"
)

// Limits of docs/method.md#diagnostics. A trained network obeys no identity
// exactly; these are the sizes from which a violation changes the meaning of the
// numbers, not from which it can be detected.
const (
	LimitDelta    = 0.5  // rms δ in units of the root mean |C|
	LimitKappa    = 0.1  // mean |κ| in units of the mean σ²
	LimitNegative = 0.05 // fraction of C < 0
	LimitAbove    = 0.05 // fraction of C > σ²
)

// Flag is one identity of the theory that a model violates.
type Flag struct {
	Code  string  // one of identities
	Where string  // "at 12 % of the conditions"; "" of all
	How   string  // what is violated, and by how much, in words
	Do    string  // what to do about it
	Value float64 // the number that is compared with Limit
	Limit float64
}

// identities are a symbol and what it should be, by code.
var identities = map[string][2]string{
	"delta": {"δ", "= 0"}, "kappa": {"κ", "= 0"}, "negative-cov": {"C", "≥ 0"}, "cov-above-var": {"C", "≤ σ²"},
	"calibration": {"Σe/ΣC", "= 1"}, "coverage": {"coverage", "= 0.95"},
}

// Symbol is what the identity is about: "κ".
func (f Flag) Symbol() string { return identities[f.Code][0] }

// Identity is "κ = 0".
func (f Flag) Identity() string { return f.Symbol() + " " + identities[f.Code][1] }

// Detail is where and how the identity is violated, after a sentence that says that it is.
func (f Flag) Detail() string {
	if f.Where != "" {
		return " " + f.Where + ": " + f.How
	}
	return ": " + f.How
}

// Violated says that the identity is violated.
func (f Flag) Violated() string { return f.Identity() + " is violated" + f.Detail() }

// Diagnose checks the identities that hold where two answers are a consistent
// joint distribution: δ = 0, κ = 0, C ≥ 0 and C ≤ σ²
// (docs/method.md#diagnostics). It takes answers in one unit system, at every
// distinct condition once, and returns a flag for each identity that is violated
// beyond its limit, in this order.
func Diagnose(a triplets.Answers) []Flag {
	var flags []Flag
	add := func(code string, value, limit float64, where, how, do string) {
		if value > limit { // false for NaN
			flags = append(flags, Flag{code, where, how, do, value, limit})
		}
	}

	meanOf := func(v []float64, f func(x float64) float64) float64 {
		s := 0.0
		for _, x := range v {
			s += f(x)
		}

		return s / float64(len(v))
	}

	share := func(v float64) string { return fmt.Sprintf("at %.0f %% of the conditions", 100*v) }
	square := func(x float64) float64 { return x * x }
	if len(a.Delta) > 0 && len(a.Cov) > 0 {
		v := math.Sqrt(meanOf(a.Delta, square) / meanOf(a.Cov, math.Abs))
		add("delta", v, LimitDelta, "",
			fmt.Sprintf("given its own answers the model shifts its mean by %.2g of √C (rms), so the "+
				"paper's E|cov| = C + μδ depends on where the outcome's zero lies", v),
			"read C instead of the raw covariance; train longer, with pairs: symmetrised, or with feedback: flag")
	}

	if len(a.Kappa) > 0 && len(a.Var) > 0 {
		v := meanOf(a.Kappa, math.Abs) / meanOf(a.Var, math.Abs)
		add("kappa", v, LimitKappa, "",
			fmt.Sprintf("variance and mean of the second answer do not add up to the first answer's "+
				"variance, by %.0f %% of σ² on average", 100*v),
			"the split of the total into aleatoric and epistemic is uncertain by as much; train longer, lower beta, or "+
				"compare seeds")
	}

	if len(a.Cov) > 0 {
		v := meanOf(a.Cov, func(x float64) float64 { return indicator(x < 0, x) })
		add("negative-cov", v, LimitNegative, share(v), "no variance can be negative, and there is no interval",
			"take such conditions as \"ignorance not resolved\", not as certainty; average C over seeds, or measure more pairs")
	}

	if len(a.Cov) > 0 && len(a.Cov) == len(a.Var) {
		v := 0.0
		for k, c := range a.Cov {
			v += indicator(c > a.Var[k], c+a.Var[k]) / float64(len(a.Cov))
		}

		add("cov-above-var", v, LimitAbove, share(v), "the model claims more ignorance than total uncertainty",
			"do not read σ² − C as noise there; these conditions usually lie far outside the training data: measure there")
	}

	return flags
}

// CompareCalibration compares Σe/ΣC over the seeds of a split with 1: +1 where the
// ratio lies above Student's 95 % range of its standard error, clustered by so many
// runs, −1 where it lies below, 0 within; wide is half that range. ok is false where
// the ratio or its error is undefined.
func CompareCalibration(v Values, runs int) (sign int, wide float64, ok bool) {
	ratio, se := v.Get("sum_e_ratio"), v.Get("sum_e_ratio_se")
	if !ratio.Defined() || !se.Defined() || !(se.Mean > 0) || runs < 2 {
		return 0, math.NaN(), false
	}

	wide = student975(runs) * se.Mean

	return beyond(ratio.Mean, 1, wide), wide, true
}

// student975 is Student's 97.5 % of a standard error clustered by so many runs.
func student975(runs int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(runs - 1)}.Quantile(0.975)
}

// beyond is +1 of a number above the range about a middle, −1 below it, 0 within.
func beyond(v, middle, wide float64) int {
	switch {
	case v > middle+wide:
		return 1
	case v < middle-wide:
		return -1
	}

	return 0
}

// DiagnoseCalibration checks the headline of covariance calibration, Σe/ΣC = 1
// (docs/method.md#diagnostics), on pairs that the models were not trained on. It
// takes the means over the seeds that the tables show, so that table and flag state
// one number. The identity is violated where CompareCalibration is not 0.
func DiagnoseCalibration(v Values, runs int) []Flag {
	sign, wide, _ := CompareCalibration(v, runs)
	if sign == 0 {
		return nil
	}

	ratio, se := v.Get("sum_e_ratio").Mean, v.Get("sum_e_ratio_se").Mean
	f := Flag{Code: "calibration", Value: math.Abs(ratio - 1), Limit: wide}
	f.How = fmt.Sprintf("the measured squared error is %s times C (standard error %s), so "+
		"the model ", upTo(ratio, v.Get("sum_e_ratio").Std), short(se))
	if sign > 0 {
		f.How += "is overconfident"
		f.Do = "do not take √C for the error there; measure there"
	} else {
		f.How += "is underconfident"
		f.Do = "intervals from C are wider than needed there"
	}

	return []Flag{f}
}

// UncertainCalibration says that Σe/ΣC tells nothing: it is not 1 beyond chance, nor is it
// within a factor of two of 1. "" where it tells something, and where it is undefined.
func UncertainCalibration(v Values, runs int) string {
	sign, wide, ok := CompareCalibration(v, runs)

	ratio, se := v.Get("sum_e_ratio").Mean, v.Get("sum_e_ratio_se").Mean
	if !ok || sign != 0 || ratio-wide >= 0.5 && ratio+wide <= 2 {
		return ""
	}

	return fmt.Sprintf("the measured squared error is %s times C (standard error %s): too uncertain to tell whether C is "+
		"calibrated", short(ratio), short(se))
}

// CompareCoverage compares the share of held-out values inside the intervals with their level: −1
// where it lies below Student's 95 % range of its standard error, clustered by run, +1
// where it lies above, 0 within. Where every value is inside, or none, they have no
// scatter: the standard error is then that of one value a run at the level. ok is false where
// the share is undefined or there is one run.
func CompareCoverage(t Trust) (sign int, ok bool) {
	if math.IsNaN(t.Inside) || t.Runs < 2 {
		return 0, false
	}

	nominal, se := t.Level, t.InsideSE
	if !(se > 0) {
		se = math.Sqrt(nominal * (1 - nominal) / float64(t.Runs))
	}

	return beyond(t.Inside, nominal, se*student975(t.Runs)), true
}

// DiagnoseCoverage checks σ: that 95 % of the held-out values lie inside μ ± 1.96σ
// (docs/method.md#diagnostics). The identity is violated where CompareCoverage is not 0.
func DiagnoseCoverage(t Trust) []Flag {
	sign, _ := CompareCoverage(t)
	if sign == 0 {
		return nil
	}

	f := Flag{Code: "coverage", Value: t.Inside, Do: "measure there"}

	size := "small"
	if sign > 0 {
		size, f.Do = "large", "intervals from σ are wider than needed there"
	}

	f.How = fmt.Sprintf("%.0f %% of the held-out values lie inside μ ± 1.96σ (standard "+
		"error %.1g %%), so σ is too %s", 100*t.Inside, 100*t.InsideSE, size)

	return []Flag{f}
}

// upTo writes a number to the second digit of its deviation, as the tables do: with three
// digits where it has none (NaN), with four where it is 0.
func upTo(v, deviation float64) string {
	switch {
	case math.IsNaN(deviation):
		return numbers.Fixed(v, numbers.Decimals(v, 3))
	case deviation == 0:
		return numbers.Fixed(v, numbers.Decimals(v, 4))
	}

	return numbers.Fixed(v, numbers.Decimals(deviation, 2))
}

// short writes a number with two digits, or the whole part of a larger one.
func short(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
