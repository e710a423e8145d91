package report

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// compare checks got against a file in testdata, or rewrites it with -update.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()

	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}

	want := testfile.Read(t, path)

	assert.Equal(t, want, got, "%s differs (run go test -update and read the change)\ngot:\n%s", path, got)
}

func val(mean, std float64) score.Value { return score.Value{Mean: mean, Std: std, N: 5} }
func undef(why string) score.Value {
	return score.Value{Mean: math.NaN(), Std: math.NaN(), N: 5, Undefined: why}
}

// values makes the values of metrics from pairs of a key and a value.
func values(pairs ...any) (out score.Values) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, score.Keyed{Key: pairs[i].(string), Value: pairs[i+1].(score.Value)})
	}
	return out
}

// put returns the values with that of one metric replaced.
func put(v score.Values, key string, x score.Value) score.Values {
	v = slices.Clone(v)
	v[slices.IndexFunc(v, func(k score.Keyed) bool { return k.Key == key })].Value = x
	return v
}

const biased = "biased on pairs the model was trained on"

// rotor is an invented simulated experiment of two splits.
func rotor() Experiment {
	e := Experiment{
		Name: "drone", Data: "simulated", Pairs: "same-run", Construction: "split-half-spectrum",
		Inputs: []string{"blades", "rpm", "theta_deg"}, Outcomes: []string{"bpf1_db", "bpf2_db"},
		OutcomeUnits: []string{"dB re 20 µPa", "dB re 20 µPa"},
		Recordings:   780, Runs: 60, Triplets: 780, Version: "0.1.0", ConfigDigest: "5f3a90c1",
	}

	for i, blades := range []string{"2", "3"} {
		k := 1 - 0.3*float64(i)
		s := Split{
			Name: blades + "-blades", HeldOut: "blades = " + blades, Seeds: 5, MCSamples: 1000, Sampler: "antithetic",
			CovMethod: "cubature", Kernels: "avx2",
			Train: SetMetrics{
				Values: values(
					"r2", val(0.99134, 0.00123), "abs_cov", val(0.0285, 0.0025), "abs_cov_centred", val(0.0201, 0.0012),
					"cov_centred", val(0.0185, 0.0011),
					"delta", val(0.0141, 0.0017), "mu_delta", val(0.0108, 0.0014), "kappa", val(0.043, 0.011), "zigzag",
					val(0.02, 0.003), "negative_cov", val(0.031, 0.012), "cov_above_var", val(0, 0),
					"noise_ceiling", val(0.9963, 0), "pair_mse", val(0.0087, 0.0012), "e", undef(biased), "e_se", undef(biased),
					"sum_e_ratio", undef(biased), "sum_e_ratio_se", undef(biased),
					"calibrated_fraction", undef(biased),
				),
				Rows: 585, Conditions: 585, Runs: 45,
			},
			Test: SetMetrics{
				Values: values(
					"r2", val(0.694*k+0.3*(1-k), 0.0544), "abs_cov", val(0.0765*k, 0.0081), "abs_cov_centred", val(0.031, 0.004),
					"cov_centred", val(0.0297*k, 0.0039),
					"delta", val(0.052*k, 0.006), "mu_delta", val(0.0481*k, 0.0063), "kappa", val(0.154*k, 0.021), "zigzag",
					val(0.06, 0.01), "negative_cov", val(0.11, 0.04), "cov_above_var", val(0.01, 0.01),
					"noise_ceiling", val(0.9941, 0), "pair_mse", val(0.31, 0.05), "e", val(0.302*k, 0.054), "e_se", val(0.031, 0.004),
					"sum_e_ratio", val(10.2*k, 2.1), "sum_e_ratio_se", val(1.9, 0.4),
					"calibrated_fraction", val(0.1, 0.07),
				),
				Rows: 195, Conditions: 195, Runs: 15,
			},
		}

		for j, name := range e.Outcomes {
			f := 1 + 0.1*float64(j)
			s.Train.Outcomes = append(s.Train.Outcomes,
				OutcomeMetrics{Name: name, Unit: "dB", Values: values("r2", val(0.99/f, 0.001), "abs_cov", val(0.028*f, 0.002),
					"e", undef(biased))})
			s.Test.Outcomes = append(s.Test.Outcomes, OutcomeMetrics{
				Name: name, Unit: "dB",
				Values: values("r2", val(0.7/f, 0.05), "abs_cov", val(0.07*f, 0.008), "e", val(0.3*f, 0.05)),
			})
		}

		e.Splits = append(e.Splits, s)
	}

	return e
}

// judged adds what the models claim, to the first split with a calibration.
func judged(e Experiment) Experiment {
	for i := range e.Splits {
		s := &e.Splits[i]
		s.Network = nil
		for _, o := range e.Outcomes {
			s.Network = append(s.Network, score.OutcomeTrust{Outcome: o, Unit: "dB re 20 µPa", Trust: score.Trust{
				RMSE: 7.23, RMSESE: 0.47, R2: 0.45, Ceiling: 0.98, ClaimedSigma: 0.914, ClaimedEpistemic: 0.042,
				At: [4]float64{0.07}, Level: 0.95, Inside: 0.134, InsideSE: 0.021, Runs: 15, Effective: 60, Half: 1.79, Ratio: 8,
				RatioSE: 0.4, Claimed: true,
			}})
		}

		if i == 0 {
			se := 0.02
			s.Honest = &interval.Result{
				Calibration: &interval.Calibration{
					Base: "additive GP", Condition: "blades", Kind: interval.Values, K: 3, Asked: 0.95, Level: 0.95,
					Deviation: []float64{6, 4},
					Scale: &scale.Scale{
						Prior: scale.Prior{Name: "wide"}, K: 3, Ratio: 1, Factor: 1, M: 0.4, Tau: 0.7, LogEvidence: 3.5,
						Noise: scale.Noise{Scale: 1.1, Freedom: 40}, Evidence: [3][]float64{{0.5, 0.1}, {0.3}, {0.1}},
					},
					Groups: []interval.GroupResult{
						{Name: "3", Distance: 0.5, E: 0.14, ESE: &se, Inside: 0.97, Inside68: 0.7, Half: 0.8, Variance: 0.15},
						{Name: "4", Distance: 0.4, E: 0.2, ESE: &se, Inside: 0.88, Inside68: 0.6, Half: 0.7, Variance: 0.12},
						{Name: "5", Distance: 0.5, E: 0.1, Inside: 1, Inside68: 0.8, Half: 0.9, Variance: 0.2},
					},
				},
				Record: &interval.Record{
					R2: 0.935, E: 0.06, ESE: 0.01, WidthOverSpread: 0.6, ModelFree: interval.Interval{Score: 3.9},
					RatioBefore: 0.96, RatioAfter: 0.71, RatioSE: 0.02, Before: interval.Interval{Coverage: 0.85},
					Before95: 0.85,
					After:    interval.Interval{Coverage: 0.96, Width: 1.4, Score: 1.6}, At: [4]float64{0.75, 0.92, 0.96, 0.99},
					CRPS: 0.14,
					Forecast: []interval.Forecast{
						{Half: []float64{24.8, 7.1}}, {Runs: 1, Half: []float64{11.2, 4.8}}, {Runs: 3, Half: []float64{7.9, 4.1}},
					},
				},
			}

			for k, o := range e.Outcomes { // the first interval says no more than the data's spread
				s.Honest.Record.Outcomes = append(s.Honest.Record.Outcomes, score.OutcomeTrust{
					Outcome: o, Unit: "dB re 20 µPa", Trust: score.Trust{
						RMSE: 2.48, RMSESE: 0.11, R2: 0.94, Ceiling: 0.99, ClaimedSigma: 7, ClaimedEpistemic: 4.6,
						At: [4]float64{0.75, 0.92, 0.96, 0.99}, Level: 0.95, Inside: 0.96, InsideSE: 0.012, Runs: 15, Effective: 80,
						Half: []float64{24.8, 7.1}[k], WidthOverSpread: []float64{0.99, 0.4}[k],
					},
				})
			}
		}
	}

	return e
}

// propeller is an invented measured experiment of seven conditions, one seed.
func propeller() Experiment {
	e := Experiment{
		Name: "crazyflie", Data: "measured", Pairs: "same-run", Construction: "split-half-spectrum",
		Inputs: []string{"command"}, Outcomes: []string{"bpf1_db"}, OutcomeUnits: []string{"dBFS"},
		Recordings: 7, Runs: 7, Triplets: 7, Version: "0.1.0", ConfigDigest: "00c0ffee",
		Warnings: []string{"no calibration is stated: levels are re full scale"},
		Skipped:  []string{"propellers/64000.wav: expected 5 s, found 0.2 s"},
	}

	one := func(v float64) score.Value { return score.Value{Mean: v, Std: math.NaN(), N: 1} }
	for _, c := range []string{"40000", "44000"} {
		s := Split{
			Name: c, HeldOut: "command = " + c, Seeds: 1, MCSamples: 1000, Sampler: "antithetic", CovMethod: "exact",
			Kernels: "portable",
		}

		s.Train = SetMetrics{
			Values: values(
				"r2", one(0.87), "abs_cov", one(0.031), "cov_centred", one(0.0291), "delta", one(0.0042), "noise_ceiling",
				one(0.912), "pair_mse", one(0.13), "e", score.Value{Mean: math.NaN(), Std: math.NaN(), N: 1, Undefined: biased},
			),
			Rows: 6, Conditions: 6, Runs: 6, Notes: []string{"six distinct conditions are too few for R²: sampling alone " +
				"moves 1 − R² by a factor of 6.4 either way (95 %)"},
		}

		s.Test = SetMetrics{
			Values: values(
				"r2", score.Value{Mean: math.NaN(), Std: math.NaN(), N: 1, Undefined: "one condition only"}, "abs_cov",
				one(0.0987), "cov_centred", one(-0.0021), "delta", one(0.1),
				"noise_ceiling", score.Value{Mean: math.NaN(), Std: math.NaN(), N: 1, Undefined: "one condition only"}, "pair_mse",
				one(1.2), "e", one(1.1), "e_se", score.Value{Mean: math.NaN(), Std: math.NaN(), N: 1, Undefined: "one run only"},
				"sum_e_ratio", score.Value{Mean: math.NaN(), Std: math.NaN(), N: 1, Undefined: "the covariances do not sum to a " +
					"positive value"},
			),
			Rows: 1, Conditions: 1, Runs: 1,
		}

		e.Splits = append(e.Splits, s)
	}

	return e
}

// The files of metrics are read by programs: their form is a promise.
func TestMetricsFiles(t *testing.T) {
	for _, e := range []Experiment{judged(rotor()), propeller(), {Name: "empty", Data: "measured"}} {
		raw, err := e.MetricsJSON()
		require.NoError(t, err)

		compare(t, e.Name+".json", raw)
	}
}
