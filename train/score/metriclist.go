package score

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
