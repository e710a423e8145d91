package score

import (
	"cmp"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
)

// Metric describes a number that models are judged by. Metrics lists all of
// them; metrics.json, metrics.arrow, the tables of every format
// and the page are made from that list.
type Metric struct {
	Key    string  // in metrics.json and metrics.arrow
	Symbol string  // in tables
	Factor float64 // tables show the number times this, 1 or 100
	Unit   string  // "1" for ratios and shares, "nat", or a power of "sd", the training outcomes' standard deviation
	What   string  // its meaning

	Of    Uses
	needs string // of a method: "total" variance, measured "error", or that and its "epistemic" variance
}

// Uses lists the inputs of a metric; several may be joined with |.
type Uses int

// What metrics are computed of.
const (
	Parts   Uses = 1 << iota // the train and the test part of a split, per outcome too
	Methods                  // the test part as each method of a comparison predicts it

	both = Parts | Methods
)

// Metrics are all metrics, in the order of metrics.json.
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

// MetricsOf returns the metrics that are computed of that, in their order.
func MetricsOf(u Uses) []Metric {
	return slices.DeleteFunc(slices.Clone(Metrics), func(m Metric) bool { return m.Of&u == 0 })
}

// MetricOf returns the metric with that key; it panics when there is none.
func MetricOf(key string) Metric {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Key == key })
	if i < 0 {
		panic("score: no metric named " + key)
	}

	return Metrics[i]
}

// keysThatNeed returns the keys of a method's metrics that rest on what.
func keysThatNeed(what string) []string {
	of := slices.DeleteFunc(MetricsOf(Methods), func(m Metric) bool { return m.needs != what })
	return lists.Each(of, func(m Metric) string { return m.Key })
}

// Number is the value of one metric. NaN is undefined.
type Number struct {
	Key       string
	Value     float64
	Undefined string // why Value is NaN, a clause for people: "one condition only"
}

// Numbers are the values of metrics, in the order of Metrics.
type Numbers []Number

// newNumbers returns zeros for the metrics computed of that.
func newNumbers(u Uses) Numbers {
	return lists.Each(MetricsOf(u), func(m Metric) Number { return Number{Key: m.Key} })
}

func (n Numbers) find(key string) *Number {
	i := slices.IndexFunc(n, func(x Number) bool { return x.Key == key })
	if i < 0 {
		panic("score: no number named " + key)
	}

	return &n[i]
}

// Get returns the number with that key; it panics when there is none.
func (n Numbers) Get(key string) float64 { return n.find(key).Value }

// Reason returns why the number with that key is undefined, "" when it is
// defined; it panics when there is none.
func (n Numbers) Reason(key string) string { return n.find(key).Undefined }

// Undefined returns the numbers that are undefined.
func (n Numbers) Undefined() Numbers {
	return slices.DeleteFunc(slices.Clone(n), func(x Number) bool { return x.Undefined == "" })
}

// set gives a number its value.
func (n Numbers) set(key string, v float64) { n.find(key).Value = v }

// undefine makes numbers NaN for a reason; the first reason stays.
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
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) {
			n.undefine("a value it is computed from is not finite", x.Key)
		}
	}
}

// Value is one metric over the seeds of a split. A NaN mean is undefined, with
// the reason in Undefined. The zero Value means "not computed".
type Value struct {
	Mean      float64
	Std       float64 // sample standard deviation over the seeds (n−1); NaN for one seed
	N         int     // seeds
	Undefined string  // why Mean has no value: "one condition only"
}

// Absent reports whether the value was never set.
func (v Value) Absent() bool { return v == Value{} }

// Defined reports whether the value has a finite mean.
func (v Value) Defined() bool {
	return !v.Absent() && v.Undefined == "" && !math.IsNaN(v.Mean) && !math.IsInf(v.Mean, 0)
}

// Reason returns why the value is undefined, "" when it is defined.
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

// UnmarshalJSON reads what MarshalJSON wrote.
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

// Get returns the value with that key, the zero Value when there is none.
func (v Values) Get(key string) Value {
	k, _ := lists.Find(v, func(k Keyed) bool { return k.Key == key })
	return k.Value
}

// OverSeeds averages the numbers of the seeds of a split. A value is undefined as soon as it is
// in one of the seeds. Without seeds there are no values.
func OverSeeds(seeds []Numbers) Values {
	if len(seeds) == 0 {
		return nil
	}

	return lists.Each(seeds[0], func(x Number) Keyed {
		k := Keyed{x.Key, Mean(lists.Each(seeds, func(n Numbers) float64 { return n.Get(x.Key) }))}
		k.Undefined = cmp.Or(lists.Each(seeds, func(n Numbers) string { return n.Reason(x.Key) })...)

		return k
	})
}

// Mean is the mean of the seeds' values with its sample standard deviation.
func Mean(v []float64) Value {
	m, std := MeanStd(v)
	return Value{Mean: m, Std: std, N: len(v)}
}
