package score

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/ingest/fault"
	"doubletake/train/numbers"
	"doubletake/train/triplets"
)

// Limits of violations (docs/method.md#diagnostics). A trained network obeys no identity exactly. A violation beyond
// its limit changes the meaning of the numbers; much smaller ones can be detected.
const (
	LimitDelta    = 0.5  // rms δ in units of the root mean |C|
	LimitKappa    = 0.1  // mean |κ| in units of the mean σ²
	LimitNegative = 0.05 // fraction of C < 0
	LimitAbove    = 0.05 // fraction of C > σ²
)

// Flag is one identity of the theory that a model violates.
type Flag struct {
	Code  string  // a key of identities
	Where string  // words for the place, such as "at 12 % of the conditions"; "" if it concerns all
	How   string  // words for the violation and its size
	Do    string  // advice in words
	Value float64 // the size of the violation
	Limit float64 // the largest size that is not a violation
}

// identities contains, by code, a symbol and the value or range that it should have.
var identities = map[string]struct{ symbol, expected string }{
	"delta":         {"δ", "= 0"},
	"kappa":         {"κ", "= 0"},
	"negative-cov":  {"C", "≥ 0"},
	"cov-above-var": {"C", "≤ σ²"},
	"calibration":   {"Σe/ΣC", "= 1"},
	"coverage":      {"coverage", "= 0.95"},
}

// Symbol returns the symbol of the quantity that the identity is about, such as "κ".
func (f Flag) Symbol() string { return identities[f.Code].symbol }

// Identity returns the identity in symbols: "κ = 0".
func (f Flag) Identity() string { return f.Symbol() + " " + identities[f.Code].expected }

// Detail returns words for where and how the identity is violated, which follow the words that it is violated.
func (f Flag) Detail() string {
	if f.Where != "" {
		return " " + f.Where + ": " + f.How
	}
	return ": " + f.How
}

// Violated returns a sentence that says that the identity is violated, where and how.
func (f Flag) Violated() string { return f.Identity() + " is violated" + f.Detail() }

// Diagnose checks the identities that are true if the two answers of a network are a consistent joint distribution:
// δ = 0, κ = 0, C ≥ 0 and C ≤ σ² (docs/method.md#diagnostics). The answers must be in one system of units, at every
// distinct condition once. Diagnose returns a flag for each identity that is violated beyond its limit, in this order.
func Diagnose(a triplets.Answers) []Flag {
	var candidates []Flag
	if len(a.Delta) > 0 && len(a.Cov) > 0 {
		candidates = append(candidates, deltaFlag(a))
	}

	if len(a.Kappa) > 0 && len(a.Var) > 0 {
		candidates = append(candidates, kappaFlag(a))
	}

	if len(a.Cov) > 0 {
		candidates = append(candidates, negativeFlag(a))
	}

	if len(a.Cov) > 0 && len(a.Cov) == len(a.Var) {
		candidates = append(candidates, aboveFlag(a))
	}

	var flags []Flag
	for _, f := range candidates {
		if f.Value > f.Limit { // false for NaN
			flags = append(flags, f)
		}
	}

	return flags
}

// deltaFlag returns a flag with the size of the violation of δ = 0.
func deltaFlag(a triplets.Answers) Flag {
	v := math.Sqrt(plainMean(product(a.Delta, a.Delta)) / plainMean(absolute(a.Cov)))

	return Flag{
		Code: "delta", Value: v, Limit: LimitDelta,
		How: fmt.Sprintf("given its own answers the model shifts its mean by %s of √C (rms), so the "+
			"paper's E|cov| = C + μδ depends on where the outcome's zero lies", short(v)),
		Do: "read C instead of the raw covariance; train longer, with pairs: symmetrised, or with feedback: flag",
	}
}

// kappaFlag returns a flag with the size of the violation of κ = 0.
func kappaFlag(a triplets.Answers) Flag {
	v := plainMean(absolute(a.Kappa)) / plainMean(absolute(a.Var))

	return Flag{
		Code: "kappa", Value: v, Limit: LimitKappa,
		How: fmt.Sprintf("variance and mean of the second answer do not add up to the first answer's "+
			"variance, by %.0f %% of σ² on average", 100*v),
		Do: "the split of the total into aleatoric and epistemic is uncertain by as much; train longer, lower beta, or " +
			"compare seeds",
	}
}

// negativeFlag returns a flag with the share of conditions at which C is negative.
func negativeFlag(a triplets.Answers) Flag {
	sum := 0.0
	for _, c := range a.Cov {
		sum += indicator(c < 0, c)
	}

	v := sum / float64(len(a.Cov))

	return Flag{
		Code: "negative-cov", Value: v, Limit: LimitNegative, Where: atConditions(v),
		How: "no variance can be negative, and there is no interval",
		Do: "take such conditions as \"ignorance not resolved\", not as certainty; average C over seeds, or measure more " +
			"pairs",
	}
}

// aboveFlag returns a flag with the share of conditions at which C is above σ².
func aboveFlag(a triplets.Answers) Flag {
	v := 0.0
	for k, c := range a.Cov {
		v += indicator(c > a.Var[k], c+a.Var[k]) / float64(len(a.Cov))
	}

	return Flag{
		Code: "cov-above-var", Value: v, Limit: LimitAbove, Where: atConditions(v),
		How: "the model claims more ignorance than total uncertainty",
		Do: "do not read σ² − C as noise there; these conditions usually lie far outside the training data: measure " +
			"there",
	}
}

// atConditions returns words for the share of conditions at which an identity is violated.
func atConditions(share float64) string {
	return fmt.Sprintf("at %.0f %% of the conditions", 100*share)
}

// plainMean returns Σv/n. Numbers in documents have the rounding of this sum, which differs from the rounding of
// average.
func plainMean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}

	return sum / float64(len(v))
}

// absolute returns the absolute values of v, or nil if v is nil.
func absolute(v []float64) []float64 {
	var list []float64
	for _, x := range v {
		list = append(list, math.Abs(x))
	}

	return list
}

// CompareCalibration compares Σe/ΣC over the seeds of a split with 1. sign is 1 if the ratio is above the range of 1
// that chance gives, −1 if it is below, and 0 if it is inside. wide is the half width of this 95 % range, by Student's
// t and the standard error clustered by runs. ok is false if the ratio or its standard error is undefined.
func CompareCalibration(v Values, runs int) (sign int, wide float64, ok bool) {
	ratio := v.Get("sum_e_ratio")
	se := v.Get("sum_e_ratio_se")
	areDefined := ratio.Defined() && se.Defined()
	if !areDefined || !(se.Mean > 0) || runs < 2 {
		return 0, math.NaN(), false
	}

	wide = student975(runs) * se.Mean

	return beyond(ratio.Mean, 1, wide), wide, true
}

// student975 returns the 97.5 % quantile of Student's t for a standard error that is clustered by the given number of
// runs.
func student975(runs int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(runs - 1)}.Quantile(0.975)
}

// beyond returns 1 if a number is above the range middle ± wide, −1 if it is below, and 0 if it is inside.
func beyond(v, middle, wide float64) int {
	switch {
	case v > middle+wide:
		return 1
	case v < middle-wide:
		return -1
	}

	return 0
}

// DiagnoseCalibration checks whether the covariances are calibrated, Σe/ΣC = 1 (docs/method.md#diagnostics), on pairs
// that the models were not trained on. It judges the means over the seeds, so that tables and flag show the same
// number. The identity is violated if CompareCalibration is not 0. DiagnoseCalibration returns one flag or nil.
func DiagnoseCalibration(v Values, runs int) []Flag {
	sign, wide, _ := CompareCalibration(v, runs)
	if sign == 0 {
		return nil
	}

	ratio := v.Get("sum_e_ratio").Mean
	se := v.Get("sum_e_ratio_se").Mean
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

// UncertainCalibration returns a note if Σe/ΣC is too uncertain to mean anything: if its range contains 1 and also a
// value that differs from 1 by more than a factor of two. Otherwise, and if Σe/ΣC is undefined, it returns "".
func UncertainCalibration(v Values, runs int) string {
	sign, wide, ok := CompareCalibration(v, runs)

	ratio := v.Get("sum_e_ratio").Mean
	se := v.Get("sum_e_ratio_se").Mean
	isNarrow := ratio-wide >= 0.5 && ratio+wide <= 2
	if !ok || sign != 0 || isNarrow {
		return ""
	}

	return fmt.Sprintf("the measured squared error is %s times C (standard error %s): too uncertain to tell whether C is "+
		"calibrated", short(ratio), short(se))
}

// CompareCoverage compares the share of held-out values inside the intervals with their level. sign is 1 if the share
// is above the range that chance gives, −1 if it is below, and 0 if it is inside. The range is the 95 % range by
// Student's t and the standard error se, clustered by runs. If all runs have the same share, such as 1, they have no
// scatter: se is then the standard error of a share of one value from each run. If the share is undefined or there is
// one run, sign is 0 and se is NaN.
func CompareCoverage(t Trust) (sign int, se float64) {
	if math.IsNaN(t.Inside) || t.Runs < 2 {
		return 0, math.NaN()
	}

	nominal := t.Level
	se = t.InsideSE
	if !(se > 0) {
		se = math.Sqrt(nominal * (1 - nominal) / float64(t.Runs))
	}

	return beyond(t.Inside, nominal, se*student975(t.Runs)), se
}

// DiagnoseCoverage checks whether 95 % of the held-out values are inside μ ± 1.96σ (docs/method.md#diagnostics). This
// is violated if CompareCoverage is not 0. DiagnoseCoverage returns one flag or nil.
func DiagnoseCoverage(t Trust) []Flag {
	sign, se := CompareCoverage(t)
	if sign == 0 {
		return nil
	}

	f := Flag{Code: "coverage", Value: t.Inside, Do: "measure there"}

	size := "small"
	if sign > 0 {
		size = "large"
		f.Do = "intervals from σ are wider than needed there"
	}

	f.How = fmt.Sprintf("%.0f %% of the held-out values lie inside μ ± 1.96σ (standard "+
		"error %s %%), so σ is too %s", 100*t.Inside, fault.Digits(100*se, 1), size)

	return []Flag{f}
}

// upTo writes a number to the second digit of its deviation, as the tables do. It writes three digits if the deviation
// is unknown (NaN), and four if it is 0.
func upTo(v, deviation float64) string {
	switch {
	case math.IsNaN(deviation):
		return numbers.Fixed(v, numbers.Decimals(v, 3))
	case deviation == 0:
		return numbers.Fixed(v, numbers.Decimals(v, 4))
	}

	return numbers.Fixed(v, numbers.Decimals(deviation, 2))
}

// short writes a number with two digits, or all digits of its whole part.
func short(v float64) string {
	return fault.Digits(v, 2)
}
