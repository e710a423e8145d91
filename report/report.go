// Package report renders what the experiments found: the paper's tables for a
// terminal, as Markdown and as LaTeX, and metrics.json for programs.
//
// It takes plain values and computes nothing but differences and roundings; it
// returns bytes or writes to a writer it is given, and neither touches files
// nor knows where its numbers come from. The same values give the same bytes.
package report

import (
	"math"
	"reflect"
	"slices"
)

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

// Numbers are what a set, or one outcome in it, is judged by (METHOD §3), in
// standardised units. The tag is the key in metrics.json, and their order is the
// order there: a number is added here and nowhere else in this package.
type Numbers struct {
	R2            Value `key:"r2"`
	AbsCov        Value `key:"abs_cov"`         // the paper's E|cov|
	AbsCovCentred Value `key:"abs_cov_centred"` // mean |C|
	CovCentred    Value `key:"cov_centred"`     // mean C
	Delta         Value `key:"delta"`           // mean |δ|
	MuDelta       Value `key:"mu_delta"`        // mean |μδ|
	Kappa         Value `key:"kappa"`           // mean |κ| over mean σ²
	ZigZag        Value `key:"zigzag"`          // mean |m(μ) − μ|
	NegativeCov   Value `key:"negative_cov"`    // fraction of inputs with C ≤ 0
	CovAboveVar   Value `key:"cov_above_var"`   // fraction of inputs with C > σ²

	NoiseCeiling       Value `key:"noise_ceiling"`       // the R² the true mean would reach
	PairMSE            Value `key:"pair_mse"`            // mean ½[(y1−μ)² + (y2−μ)²]
	E                  Value `key:"e"`                   // mean of the measured error e = (y1−μ)(y2−μ)
	ESE                Value `key:"e_se"`                // its standard error, clustered by run
	SumERatio          Value `key:"sum_e_ratio"`         // Σe/ΣC
	SumERatioSE        Value `key:"sum_e_ratio_se"`      // its standard error, clustered by run
	CalibratedFraction Value `key:"calibrated_fraction"` // fraction of bins of C whose mean e agrees
}

// SetMetrics are the numbers of the train or the test part of a split, uniform
// means over its outcomes.
type SetMetrics struct {
	Numbers
	Outcomes               []OutcomeMetrics // the same per outcome, in order
	Rows, Conditions, Runs int              // triplets, distinct conditions, runs
	Notes                  []string         // what limits the trust in these numbers, in words
}

// OutcomeMetrics are the numbers of one outcome.
type OutcomeMetrics struct {
	Name, Unit string // Unit is that of the outcome itself; the numbers are in standardised units
	Numbers
}

// keys are those of the fields of Numbers, in their order.
var keys = func() (out []string) {
	t := reflect.TypeFor[Numbers]()
	for i := range t.NumField() {
		out = append(out, t.Field(i).Tag.Get("key"))
	}
	return out
}()

// Keys returns the keys of all numbers, in the order of metrics.json.
func Keys() []string { return slices.Clone(keys) }

// Field returns the number with that key of metrics.json, to read or to set; it
// panics when there is none.
func (n *Numbers) Field(key string) *Value {
	i := slices.Index(keys, key)
	if i < 0 {
		panic("report: no number has the key " + key)
	}
	return reflect.ValueOf(n).Elem().Field(i).Addr().Interface().(*Value)
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
