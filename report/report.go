// Package report renders what the experiments found: the paper's tables for a
// terminal, as Markdown and as LaTeX, and metrics.json for programs.
//
// It takes plain values and computes nothing but differences and roundings; it
// returns bytes or writes to a writer it is given, and neither touches files
// nor knows where its numbers come from. The same values give the same bytes.
package report

import "math"

// Value is one number over the seeds of a split. A NaN mean is undefined, with
// the reason in Undefined. The zero Value stands for "not computed".
type Value struct {
	Mean      float64
	Std       float64 // sample standard deviation over the seeds (n−1); NaN when there is one
	N         int     // seeds
	Undefined string  // why Mean has no value: "one condition only"
}

// defined tells whether the value has a finite mean.
func (v Value) defined() bool {
	return !v.absent() && v.Undefined == "" && !math.IsNaN(v.Mean) && !math.IsInf(v.Mean, 0)
}

// absent tells whether the value was never set.
func (v Value) absent() bool { return v == Value{} }

// reason says why a value is undefined.
func (v Value) reason() string {
	switch {
	case v.defined():
		return ""
	case v.Undefined != "":
		return v.Undefined
	case v.absent():
		return "not computed"
	}
	return "not a finite number"
}

// SetMetrics are the numbers of the train or the test part of a split, uniform
// means over its outcomes, in standardised units (METHOD §3). In brackets: the
// key in metrics.json, which Field takes too.
type SetMetrics struct {
	R2           Value // [r2]
	NoiseCeiling Value // [noise_ceiling] the R² the true mean would reach
	PairMSE      Value // [pair_mse] mean ½[(y1−μ)² + (y2−μ)²]

	AbsCov        Value // [abs_cov] the paper's E|cov|
	AbsCovCentred Value // [abs_cov_centred] mean |C|
	CovCentred    Value // [cov_centred] mean C
	Delta         Value // [delta] mean |δ|
	MuDelta       Value // [mu_delta] mean |μδ|
	Kappa         Value // [kappa] mean |κ| over mean σ²
	ZigZag        Value // [zigzag] mean |m(μ) − μ|
	NegativeCov   Value // [negative_cov] fraction of inputs with C ≤ 0
	CovAboveVar   Value // [cov_above_var] fraction of inputs with C > σ²

	E                  Value // [e] mean of the measured error e = (y1−μ)(y2−μ)
	ESE                Value // [e_se] its standard error, clustered by run
	SumERatio          Value // [sum_e_ratio] Σe/ΣC
	SumERatioSE        Value // [sum_e_ratio_se] its standard error, clustered by run
	CalibratedFraction Value // [calibrated_fraction] fraction of bins of C whose mean e agrees

	Outcomes               []OutcomeMetrics // the same per outcome, in order
	Rows, Conditions, Runs int              // triplets, distinct conditions, runs
	Notes                  []string         // what limits the trust in these numbers, in words
}

// OutcomeMetrics are the numbers of one outcome; the fields mean what they
// mean in SetMetrics.
type OutcomeMetrics struct {
	Name, Unit string // Unit is that of the outcome itself; the numbers are in standardised units

	R2, NoiseCeiling, PairMSE                          Value
	AbsCov, AbsCovCentred, CovCentred                  Value
	Delta, MuDelta, Kappa                              Value
	ZigZag, NegativeCov, CovAboveVar                   Value
	E, ESE, SumERatio, SumERatioSE, CalibratedFraction Value
}

// Keys returns the keys of all numbers, in the order of metrics.json.
func Keys() []string {
	return []string{
		"r2", "abs_cov", "abs_cov_centred", "cov_centred", "delta", "mu_delta", "kappa", "zigzag", "negative_cov", "cov_above_var",
		"noise_ceiling", "pair_mse", "e", "e_se", "sum_e_ratio", "sum_e_ratio_se", "calibrated_fraction",
	}
}

// Field returns the number with that key of metrics.json, to read or to set; it
// panics when there is none.
func (m *SetMetrics) Field(key string) *Value {
	switch key {
	case "r2":
		return &m.R2
	case "noise_ceiling":
		return &m.NoiseCeiling
	case "pair_mse":
		return &m.PairMSE
	case "abs_cov":
		return &m.AbsCov
	case "abs_cov_centred":
		return &m.AbsCovCentred
	case "cov_centred":
		return &m.CovCentred
	case "delta":
		return &m.Delta
	case "mu_delta":
		return &m.MuDelta
	case "kappa":
		return &m.Kappa
	case "zigzag":
		return &m.ZigZag
	case "negative_cov":
		return &m.NegativeCov
	case "cov_above_var":
		return &m.CovAboveVar
	case "e":
		return &m.E
	case "e_se":
		return &m.ESE
	case "sum_e_ratio":
		return &m.SumERatio
	case "sum_e_ratio_se":
		return &m.SumERatioSE
	case "calibrated_fraction":
		return &m.CalibratedFraction
	}
	panic("report: no number has the key " + key)
}

// Field is SetMetrics.Field of one outcome.
func (m *OutcomeMetrics) Field(key string) *Value {
	switch key {
	case "r2":
		return &m.R2
	case "noise_ceiling":
		return &m.NoiseCeiling
	case "pair_mse":
		return &m.PairMSE
	case "abs_cov":
		return &m.AbsCov
	case "abs_cov_centred":
		return &m.AbsCovCentred
	case "cov_centred":
		return &m.CovCentred
	case "delta":
		return &m.Delta
	case "mu_delta":
		return &m.MuDelta
	case "kappa":
		return &m.Kappa
	case "zigzag":
		return &m.ZigZag
	case "negative_cov":
		return &m.NegativeCov
	case "cov_above_var":
		return &m.CovAboveVar
	case "e":
		return &m.E
	case "e_se":
		return &m.ESE
	case "sum_e_ratio":
		return &m.SumERatio
	case "sum_e_ratio_se":
		return &m.SumERatioSE
	case "calibrated_fraction":
		return &m.CalibratedFraction
	}
	panic("report: no number has the key " + key)
}

// Split is what one train/test rule gave.
type Split struct {
	Name      string
	HeldOut   string // what the test part is, in words: "blades = 2"
	Reach     string // whether that lies inside of what was trained on: "interpolation in blades"; "" when not known
	Seeds     int
	MCSamples int    // Monte-Carlo samples of E|cov| per input
	Sampler   string // "antithetic" or "plain"
	CovMethod string // how C was computed: "exact", "cubature", …
	Kernels   string // the set of numeric kernels that ran
	Train     SetMetrics
	Test      SetMetrics
	Methods   []Compared  // scores of methods on the test part; empty when none were compared
	Flags     []Violation // identities of the theory that the models violate
}

// Experiment is everything the report says of one entry of pipeline.yaml.
type Experiment struct {
	Name         string
	Data         string // "simulated" or "measured"
	Pairs        string // "same-run", "repeat-run" or "synthetic"
	Construction string // "split-half-spectrum", "random-samples", …
	Couples      bool   // y2 is y1, one draw used twice
	Inputs       []string
	Outcomes     []string
	OutcomeUnits []string // one for each outcome, "" when it has none; or nil
	Splits       []Split
	Warnings     []string
	Skipped      []string // recordings left out, with the reason

	Recordings, Runs, Triplets int
	ConfigDigest, Version      string // provenance: of the configuration, of the program
}

// difference returns (test − train)/train in percent of the means, and why it
// is undefined.
func difference(train, test Value) (pct float64, undefined string) {
	switch {
	case !train.defined():
		return math.NaN(), "train: " + train.reason()
	case !test.defined():
		return math.NaN(), "test: " + test.reason()
	case train.Mean <= 0:
		return math.NaN(), "the train mean is not positive"
	}
	pct = 100 * (test.Mean - train.Mean) / train.Mean
	if math.IsInf(pct, 0) || math.IsNaN(pct) {
		return math.NaN(), "not a finite number"
	}
	return pct, ""
}
