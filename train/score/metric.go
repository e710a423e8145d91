package score

import (
	"cmp"
	"math"
	"slices"

	"doubletake/train/numbers"
)

// Metric describes a number that models are judged by. Metrics lists all of
// them; the files of metrics, the tables of every format and the
// page are made from that list.
type Metric struct {
	Key    string  // in the files of metrics
	Symbol string  // in tables
	Factor float64 // tables show the number times this, 1 or 100
	Unit   string  // "1" for ratios and shares, "nat", or a power of "sd", the training outcomes' standard deviation
	What   string  // its meaning

	Uses Uses
	// needs is the input without which a metric of methods is undefined: "total" for the total variance, "error" for the
	// measured error, and "epistemic" for the measured error and the epistemic variance.
	needs string
}

// Uses says from which inputs a metric is computed. Several may be joined with |.
type Uses int

// Inputs of metrics.
const (
	Parts   Uses = 1 << iota // the train and the test part of a split, and each outcome of them
	Methods                  // the test part with the predictions of each method of a comparison

	both = Parts | Methods
)

// Metrics are all metrics, in the order of the files of metrics.
var Metrics = []Metric{
	{"r2", "R²", 1, "1", "coefficient of determination of μ over all y1 and y2", both, ""},
	{"abs_cov", "E|cov|", 100, "sd²", "mean |raw| over distinct inputs, the paper's measure", Parts, ""},
	{"abs_cov_centred", "E|C|", 100, "sd²", "mean |C| over distinct inputs", Parts, ""},
	{"cov_centred", "C", 100, "sd²", "mean C over distinct inputs", Parts, ""},
	{"delta", "E|δ|", 100, "sd", "mean |δ| over distinct inputs", Parts, ""},
	{"mu_delta", "E|μδ|", 100, "sd²", "mean |μδ| over distinct inputs, in raw but no covariance", Parts, ""},
	{"kappa", "E|κ|/σ²", 1, "1", "mean |κ| over mean σ², over distinct inputs; 0 for a joint law", Parts, ""},
	{"zigzag", "u", 1, "sd", "mean u = |m(μ) − μ| over distinct inputs", Parts, ""},
	{"negative_cov", "C ≤ 0", 1, "1", "share of distinct inputs with C ≤ 0", Parts, ""},
	{"cov_above_var", "C > σ²", 1, "1", "share of distinct inputs with C > σ²", Parts, ""},
	{"noise_ceiling", "noise ceiling of R²", 1, "1", "R² of the true mean, from the differences of pairs", Parts, ""},
	{"pair_mse", "pair MSE", 1, "sd²", "mean ½[(y1−μ)² + (y2−μ)²] over rows", Parts, ""},

	{"nll", "NLL", 1, "nat", "mean negative log density of y", Methods, "total"},
	{"crps", "CRPS", 1, "sd", "mean continuous ranked probability score of y", Methods, "total"},
	{"coverage68", "in 68 %", 1, "1", "share of y within μ ± σ", Methods, "total"},
	{"coverage95", "in 95 %", 1, "1", "share of y within the central 95 % interval", Methods, "total"},
	{"width95", "width 95 %", 1, "sd", "mean full width of the central 95 % interval", Methods, "total"},
	{"ence", "ENCE", 1, "1", "expected normalised calibration error of the total variance", Methods, "total"},
	{"ence_ref", "ENCE if calibrated", 1, "1", "mean ENCE of simulated data that are calibrated", Methods, "total"},
	{"ence_ref95", "95 % below", 1, "1", "95 % quantile of ENCE of such data", Methods, "total"},

	{"e", "e", 100, "sd²", "mean of e = (y1−μ)(y2−μ), the measured squared error of μ", both, "error"},
	{"e_se", "SE of e", 100, "sd²", "standard error of e, clustered by run", Parts, ""},
	{"sum_e_ratio", "Σe/ΣC", 1, "1", "Σe/Σv̂, v̂ = C: 1 if calibrated, above overconfident", both, "epistemic"},
	{"sum_e_ratio_se", "SE of Σe/ΣC", 1, "1", "its standard error, clustered by run", both, "epistemic"},
	{"calibrated_fraction", "bins that agree", 1, "1", "share of bins where mean e and mean C agree (95 %)", Parts, ""},
	{"square", "v̂²−2v̂e", 100, "sd⁴", "mean(v̂² − 2v̂e): squared error of v̂ up to a constant", Methods, "epistemic"},
	{"square_se", "SE of v̂²−2v̂e", 100, "sd⁴", "its standard error, clustered by run", Methods, "epistemic"},
	{"qlike", "QLIKE", 1, "1", "mean(ln v̂ + e/v̂), v̂ not below 1e-4·Var(y)", Methods, "epistemic"},
	{"floored", "floored", 1, "1", "share of values with v̂ below that floor", Methods, "epistemic"},
	{"nonpositive", "v̂ ≤ 0", 1, "1", "share of values with v̂ ≤ 0", Methods, "epistemic"},
	{"chebyshev95", "√(v̂/0.05)", 1, "sd", "mean half-width of the 95 % Chebyshev interval", Methods, "epistemic"},
}

// MetricsOf returns the metrics that are computed from any of the inputs u, in their order.
func MetricsOf(u Uses) []Metric {
	var list []Metric
	for _, m := range Metrics {
		if m.Uses&u != 0 {
			list = append(list, m)
		}
	}

	return list
}

// MetricOf returns the metric with that key. It panics if there is none.
func MetricOf(key string) Metric {
	for _, m := range Metrics {
		if m.Key == key {
			return m
		}
	}

	panic("score: no metric named " + key)
}

// keysThatNeed returns the keys of a method's metrics with the given need: "total", "error" or "epistemic".
func keysThatNeed(what string) []string {
	var keys []string
	for _, m := range MetricsOf(Methods) {
		if m.needs == what {
			keys = append(keys, m.Key)
		}
	}

	return keys
}

// Number is the value of one metric.
type Number struct {
	Key       string
	Value     float64 // NaN if it is undefined
	Undefined string  // reason why Value is NaN, in words: "one condition only"
}

// Numbers are the values of metrics, in the order of Metrics.
type Numbers []Number

// newNumbers returns zeros for the metrics that are computed from any of the inputs u.
func newNumbers(u Uses) Numbers {
	var list []Number
	for _, m := range MetricsOf(u) {
		list = append(list, Number{Key: m.Key})
	}

	return list
}

// find returns the number with a key. It panics if there is none.
func (n Numbers) find(key string) *Number {
	for i := range n {
		if n[i].Key == key {
			return &n[i]
		}
	}

	panic("score: no number named " + key)
}

// Get returns the value of the number with a key. It panics if there is none.
func (n Numbers) Get(key string) float64 { return n.find(key).Value }

// Reason returns the reason why the number with a key is undefined, and "" if it is defined. It panics if there is no
// such number.
func (n Numbers) Reason(key string) string { return n.find(key).Undefined }

// Undefined returns the numbers that are undefined.
func (n Numbers) Undefined() Numbers {
	return slices.DeleteFunc(slices.Clone(n), func(x Number) bool { return x.Undefined == "" })
}

// set stores the value of a number.
func (n Numbers) set(key string, v float64) { n.find(key).Value = v }

// undefine makes numbers NaN for a reason. A number that is undefined already keeps its reason.
func (n Numbers) undefine(why string, keys ...string) {
	for _, k := range keys {
		x := n.find(k)
		x.Value = math.NaN()
		x.Undefined = cmp.Or(x.Undefined, why)
	}
}

// undefineAll makes all numbers undefined.
func (n Numbers) undefineAll(why string) {
	for i := range n {
		n.undefine(why, n[i].Key)
	}
}

// undefineRest gives every number that is not finite a reason.
func (n Numbers) undefineRest() {
	for _, x := range n {
		if !isFinite(x.Value) {
			n.undefine("a value it is computed from is not finite", x.Key)
		}
	}
}

// Value is one metric over the seeds of a split. The zero Value means that it was not computed.
type Value struct {
	Mean      float64 // NaN if it is undefined
	Std       float64 // sample standard deviation over the seeds (with n−1); NaN for one seed
	N         int     // number of seeds
	Undefined string  // reason why Mean is NaN, in words: "one condition only"
}

// Absent reports whether the value was never set.
func (v Value) Absent() bool { return v == Value{} }

// Defined reports whether the value has a finite mean.
func (v Value) Defined() bool {
	return !v.Absent() && v.Undefined == "" && isFinite(v.Mean)
}

// Reason returns the reason why the value is undefined, and "" if it is defined.
func (v Value) Reason() string {
	switch {
	case v.Defined():
		return ""
	case v.Undefined != "":
		return v.Undefined
	case v.Absent():
		return "not computed"
	}

	return "not a finite number"
}

// MarshalJSON writes an undefined value as null, with the reason.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Defined() {
		return numbers.Object{"mean", nil, "std", nil, "n", v.N, "undefined", v.Reason()}.MarshalJSON()
	}
	return numbers.Object{"mean", v.Mean, "std", v.Std, "n", v.N}.MarshalJSON()
}

// UnmarshalJSON reads an object that MarshalJSON wrote.
func (v *Value) UnmarshalJSON(b []byte) error {
	return numbers.Object{"mean", &v.Mean, "std", &v.Std, "n", &v.N, "undefined", &v.Undefined}.UnmarshalJSON(b)
}

// Keyed is a value with the key of its metric.
type Keyed struct {
	Key string
	Value
}

// Values are metrics over the seeds of a split, in the order of Metrics.
type Values []Keyed

// Get returns the value with a key, or the zero Value if there is none.
func (v Values) Get(key string) Value {
	for _, k := range v {
		if k.Key == key {
			return k.Value
		}
	}

	return Value{}
}

// OverSeeds averages the numbers of the seeds of a split. A value is undefined if the number of any seed is undefined.
// OverSeeds returns nil without seeds.
func OverSeeds(seeds []Numbers) Values {
	if len(seeds) == 0 {
		return nil
	}

	var list []Keyed
	for _, x := range seeds[0] {
		values := make([]float64, len(seeds))
		reasons := make([]string, len(seeds))
		for i, n := range seeds {
			values[i] = n.Get(x.Key)
			reasons[i] = n.Reason(x.Key)
		}

		k := Keyed{x.Key, Mean(values)}
		k.Undefined = cmp.Or(reasons...)

		list = append(list, k)
	}

	return list
}

// Mean returns the mean of the seeds' values with its sample standard deviation.
func Mean(v []float64) Value {
	m, std := MeanStd(v)
	return Value{Mean: m, Std: std, N: len(v)}
}
