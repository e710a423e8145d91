package score

import (
	"cmp"
	"math"
	"slices"

	"doubletake/train/numbers"
)

// Metric describes a number that models are judged by. Metrics lists all of
// them; metrics.json, metrics.arrow, methods.arrow, the tables of every format
// and the page are made from that list.
type Metric struct {
	Key    string  // in metrics.json, metrics.arrow and methods.arrow
	Symbol string  // in tables
	Factor float64 // tables show the number times this, 1 or 100
	Unit   string  // "1" for ratios and shares, "nat", or a power of "sd", the training outcomes' standard deviation
	What   string  // its meaning
	Over   Average // how it is averaged over the seeds of a split

	Of    Uses
	needs string // of a method: "total" variance, measured "error", or that and its "epistemic" variance
}

// Uses lists the inputs of a metric; several may be joined with |.
type Uses int

// What metrics are computed of.
const (
	Parts   Uses = 1 << iota // the train and the test part of a split, per outcome too
	Methods                  // the test part as each method of a comparison predicts it
)

// Average is a way to combine the values of several seeds.
type Average struct {
	What string // in words
	of   func(v []float64) (mean, std float64)
}

var (
	mean   = Average{"mean over seeds ± sample standard deviation (n−1)", MeanStd}
	meanSE = Average{"mean of the seeds' standard errors ± their sample standard deviation", MeanStd}
)

// Metrics are all metrics, in the order of metrics.json. Where a line states nothing else, the
// number is a ratio, shown as it is, and the mean over the seeds.
var Metrics = complete([]Metric{
	{
		Key: "r2", Symbol: "R²", Of: Parts | Methods,
		What: "coefficient of determination of μ over all y1 and y2",
	},
	{
		Key: "abs_cov", Symbol: "E|cov|", Factor: 100, Unit: "sd²", Of: Parts,
		What: "mean |raw| over distinct inputs, the paper's measure",
	},
	{
		Key: "abs_cov_centred", Symbol: "E|C|", Factor: 100, Unit: "sd²", Of: Parts,
		What: "mean |C| over distinct inputs",
	},
	{
		Key: "cov_centred", Symbol: "C", Factor: 100, Unit: "sd²", Of: Parts,
		What: "mean C over distinct inputs",
	},
	{Key: "delta", Symbol: "E|δ|", Factor: 100, Unit: "sd", Of: Parts, What: "mean |δ| over distinct inputs"},
	{
		Key: "mu_delta", Symbol: "E|μδ|", Factor: 100, Unit: "sd²", Of: Parts,
		What: "mean |μδ| over distinct inputs, in raw but no covariance",
	},
	{
		Key: "kappa", Symbol: "E|κ|/σ²", Of: Parts,
		What: "mean |κ| over mean σ², over distinct inputs; 0 for a joint law",
	},
	{Key: "zigzag", Symbol: "u", Unit: "sd", Of: Parts, What: "mean u = |m(μ) − μ| over distinct inputs"},
	{Key: "negative_cov", Symbol: "C ≤ 0", Of: Parts, What: "share of distinct inputs with C ≤ 0"},
	{Key: "cov_above_var", Symbol: "C > σ²", Of: Parts, What: "share of distinct inputs with C > σ²"},
	{
		Key: "noise_ceiling", Symbol: "noise ceiling of R²", Of: Parts,
		What: "R² of the true mean, from the differences of pairs",
	},
	{Key: "pair_mse", Symbol: "pair MSE", Unit: "sd²", Of: Parts, What: "mean ½[(y1−μ)² + (y2−μ)²] over rows"},

	{
		Key: "nll", Symbol: "NLL", Unit: "nat", Of: Methods, needs: "total",
		What: "mean negative log density of y",
	},
	{
		Key: "crps", Symbol: "CRPS", Unit: "sd", Of: Methods, needs: "total",
		What: "mean continuous ranked probability score of y",
	},
	{Key: "coverage68", Symbol: "in 68 %", Of: Methods, needs: "total", What: "share of y within μ ± σ"},
	{
		Key: "coverage95", Symbol: "in 95 %", Of: Methods, needs: "total",
		What: "share of y within the central 95 % interval",
	},
	{
		Key: "width95", Symbol: "width 95 %", Unit: "sd", Of: Methods, needs: "total",
		What: "mean full width of the central 95 % interval",
	},
	{
		Key: "ence", Symbol: "ENCE", Of: Methods, needs: "total",
		What: "expected normalised calibration error of the total variance",
	},
	{
		Key: "ence_ref", Symbol: "ENCE if calibrated", Of: Methods, needs: "total",
		What: "mean ENCE of simulated data that are calibrated",
	},
	{
		Key: "ence_ref95", Symbol: "95 % below", Of: Methods, needs: "total",
		What: "95 % quantile of ENCE of such data",
	},

	{
		Key: "e", Symbol: "e", Factor: 100, Unit: "sd²", Of: Parts | Methods, needs: "error",
		What: "mean of e = (y1−μ)(y2−μ), the measured squared error of μ",
	},
	{
		Key: "e_se", Symbol: "SE of e", Factor: 100, Unit: "sd²", Over: meanSE, Of: Parts,
		What: "standard error of e, clustered by run",
	},
	{
		Key: "sum_e_ratio", Symbol: "Σe/ΣC", Of: Parts | Methods, needs: "epistemic",
		What: "Σe/Σv̂, v̂ = C: 1 if calibrated, above overconfident",
	},
	{
		Key: "sum_e_ratio_se", Symbol: "SE of Σe/ΣC", Over: meanSE, Of: Parts | Methods, needs: "epistemic",
		What: "its standard error, clustered by run",
	},
	{
		Key: "calibrated_fraction", Symbol: "bins that agree", Of: Parts,
		What: "share of bins where mean e and mean C agree (95 %)",
	},
	{
		Key: "square", Symbol: "v̂²−2v̂e", Factor: 100, Unit: "sd⁴", Of: Methods, needs: "epistemic",
		What: "mean(v̂² − 2v̂e): squared error of v̂ up to a constant",
	},
	{
		Key: "square_se", Symbol: "SE of v̂²−2v̂e", Factor: 100, Unit: "sd⁴", Over: meanSE, Of: Methods, needs: "epistemic",
		What: "its standard error, clustered by run",
	},
	{
		Key: "qlike", Symbol: "QLIKE", Of: Methods, needs: "epistemic",
		What: "mean(ln v̂ + e/v̂), v̂ not below 1e-4·Var(y)",
	},
	{
		Key: "floored", Symbol: "floored", Of: Methods, needs: "epistemic",
		What: "share of values with v̂ below that floor",
	},
	{
		Key: "nonpositive", Symbol: "v̂ ≤ 0", Of: Methods, needs: "epistemic",
		What: "share of values with v̂ ≤ 0",
	},
	{
		Key: "chebyshev95", Symbol: "√(v̂/0.05)", Unit: "sd", Of: Methods, needs: "epistemic",
		What: "mean half-width of the 95 % Chebyshev interval",
	},
})

func complete(metrics []Metric) []Metric {
	for i := range metrics {
		m := &metrics[i]
		m.Factor, m.Unit = cmp.Or(m.Factor, 1), cmp.Or(m.Unit, "1")
		if m.Over.of == nil {
			m.Over = mean
		}
	}

	return metrics
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
	var out []string
	for _, m := range MetricsOf(Methods) {
		if m.needs == what {
			out = append(out, m.Key)
		}
	}

	return out
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
	var out Numbers
	for _, m := range MetricsOf(u) {
		out = append(out, Number{Key: m.Key})
	}

	return out
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
	for _, k := range v {
		if k.Key == key {
			return k.Value
		}
	}

	return Value{}
}

// OverSeeds averages the numbers of the seeds of a split, each metric in its
// way. A value is undefined as soon as it is in one of the seeds. Without seeds
// there are no values.
func OverSeeds(seeds []Numbers) Values {
	var out Values

	if len(seeds) == 0 {
		return nil
	}

	for _, x := range seeds[0] {
		v := make([]float64, len(seeds))

		k := Keyed{Key: x.Key, Value: Value{N: len(seeds)}}
		for i, n := range seeds {
			v[i] = n.Get(x.Key)
			k.Undefined = cmp.Or(k.Undefined, n.Reason(x.Key))
		}

		k.Mean, k.Std = MetricOf(x.Key).Over.of(v)
		out = append(out, k)
	}

	return out
}

// Mean is the mean of the seeds' values with its sample standard deviation.
func Mean(v []float64) Value {
	m, std := MeanStd(v)
	return Value{Mean: m, Std: std, N: len(v)}
}
