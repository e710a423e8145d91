package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train"
)

// figure is a number of the Python reference: mean and sample standard deviation over five seeds.
type figure struct{ mean, std float64 }

// referenceRow is a row of the table "Results to expect" of the Python reference.
type referenceRow struct {
	experiment, split string
	name              string
	r2Train, r2Test   figure
	covTrain, covTest figure // E|cov| × 100
}

var referenceTable = []referenceRow{
	{
		"aero-0", "slow", "airfoil, U = 4.7 m/s held out",
		figure{.979, .000},
		figure{.919, .016},
		figure{1.02, .23},
		figure{5.44, 3.28},
	},
	{
		"drone-0", "two", "drone, 2 blades held out, simulation 0",
		figure{.991, .001},
		figure{.367, .203},
		figure{2.76, .21},
		figure{7.86, 1.92},
	},
	{
		"drone-0", "three", "drone, 3 blades held out, simulation 0",
		figure{.991, .001},
		figure{.780, .011},
		figure{2.84, .25},
		figure{3.92, .38},
	},
	{
		"drone-2", "two", "drone, 2 blades, simulation 2",
		figure{.992, .001},
		figure{.694, .054},
		figure{2.85, .25},
		figure{7.65, .81},
	},
	{
		"drone-2", "three", "drone, 3 blades, simulation 2",
		figure{.992, .001},
		figure{.834, .012},
		figure{2.70, .26},
		figure{3.27, .50},
	},
}

// referenceSeeds is the number of seeds of all means, here and in the reference.
const referenceSeeds = 5

// referenceYAML trains on the reference's own triplets as the reference did
// (its README and bars.json): no seed but the default one is ever named here.
const referenceYAML = `version: 1
workdir: runs
experiments:
  aero-0:
    ingest: {table: {file: %q, inputs: [alpha_deg, U], outcomes: [cl, cd]}, data: simulated}
    train:
      inputs: [alpha_deg, U]
      honest: {base: none}
      optimizer: {learning_rate: 1e-3, batch: 256, epochs: 40, schedule: cosine}
      splits: {slow: {test: {U: 4.7}}}
  drone-0: &drone
    ingest: {table: {file: %q, outcomes: [bpf1_db, bpf2_db, bpf3_db, bpf4_db, bpf5_db]}, data: simulated}
    train: &train
      inputs: [n, rpm, theta_deg]
      honest: {base: none} # the reference has no calibration on left-out groups
      optimizer: {learning_rate: 1e-3, batch: 32, epochs: 500}
      splits: {two: {test: {n: 2}}, three: {test: {n: 3}}}
  drone-2:
    ingest: {table: {file: %q, outcomes: [bpf1_db, bpf2_db, bpf3_db, bpf4_db, bpf5_db]}, data: simulated}
    train: *train
`

// Trainings on the data of the Python reference give its results: the 20 numbers in the table of its README, and the
// ranges in its bars.json.
func TestReferenceTables(t *testing.T) {
	longtest.Skip(t, "trains 25 networks")

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", fmt.Sprintf(referenceYAML, referenceData(t, "data", "aero_s0.csv"),
		referenceData(t, "data", "drone_s0.csv"), referenceData(t, "data", "drone_s2.csv")))

	rows := map[string]int{"aero-0": 56250, "drone-0": 780, "drone-2": 780} // of the files
	for name, experiment := range runIn(t, dir) {
		assert.Equal(t, rows[name], experiment.Triplets, "%s: triplets", name)
	}

	for _, row := range referenceTable {
		t.Run(row.name, func(t *testing.T) {
			train, test := splitMetrics(t, dir, row.experiment, row.split)
			assertAgrees(t, "R² train", row.r2Train, scaled(train.R2, 1), 0.0005)
			assertAgrees(t, "R² test", row.r2Test, scaled(test.R2, 1), 0.0005)
			assertAgrees(t, "E|cov| train × 100", row.covTrain, scaled(train.AbsCov, 100), 0.005)
			assertAgrees(t, "E|cov| test × 100", row.covTest, scaled(test.AbsCov, 100), 0.005)
		})
	}

	t.Run("bars of the airfoil", func(t *testing.T) { assertAirfoilBars(t, dir) })
	t.Run("bars of drone-0", func(t *testing.T) { assertDroneBars(t, dir, "drone-0") })
	t.Run("bars of drone-2", func(t *testing.T) { assertDroneBars(t, dir, "drone-2") })
	t.Run("bars of the airfoil's seeds", func(t *testing.T) { assertAirfoilSeeds(t, dir) })
}

// splitMetrics returns the metrics of a split.
func splitMetrics(t *testing.T, dir, experiment, split string) (train, test setMetrics) {
	t.Helper()

	for _, s := range readMetrics(t, dir, experiment).Splits {
		if s.Name == split {
			require.Equal(t, referenceSeeds, s.Seeds, "seeds of %s %s", experiment, split)
			return s.Train, s.Test
		}
	}

	t.Fatalf("%s has no split %s", experiment, split)

	return setMetrics{}, setMetrics{}
}

// scaled returns a metric times a factor.
func scaled(m overSeeds, factor float64) figure { return figure{*m.Mean * factor, *m.Std * factor} }

// assertAgrees asserts that a number agrees with the reference. Both are means over five seeds. Two such means, with
// the deviations s and s₀ over seeds, differ by chance with the deviation √((s² + s₀²)/5). They agree if they differ by
// at most four of these deviations, because a deviation over five seeds is itself uncertain by a third, and by two
// roundings, as the reference rounds mean and deviation to a digit: rounding is half a unit of it.
func assertAgrees(t *testing.T, name string, reference, ours figure, rounding float64) {
	t.Helper()

	variance := (ours.std*ours.std + reference.std*reference.std) / referenceSeeds
	t.Logf("%s: %.3f ± %.3f over seeds, the reference %.3f ± %.3f: %+.1f standard errors apart", name, ours.mean, ours.std,
		reference.mean, reference.std, (ours.mean-reference.mean)/math.Sqrt(variance+rounding*rounding))
	assert.InDelta(t, reference.mean, ours.mean, 4*math.Sqrt(variance)+2*rounding, name)
}

// assertWithin asserts that a number is in a range of bars.json.
func assertWithin(t *testing.T, name string, low, high, value float64) {
	t.Helper()
	assert.GreaterOrEqual(t, value, low, "%s: bars.json has %g to %g", name, low, high)
	assert.LessOrEqual(t, value, high, "%s: bars.json has %g to %g", name, low, high)
}

// covRise returns E|cov| held out over E|cov| in training, of the means over seeds.
func covRise(train, test setMetrics) float64 { return *test.AbsCov.Mean / *train.AbsCov.Mean }

// assertAirfoilBars asserts that the airfoil's means over seeds are in the ranges of bars.json.
func assertAirfoilBars(t *testing.T, dir string) {
	t.Helper()

	train, test := splitMetrics(t, dir, "aero-0", "slow")
	assertWithin(t, "R² train", 0.970, 0.985, *train.R2.Mean)
	assertWithin(t, "R² test", 0.88, 0.95, *test.R2.Mean)
	assertWithin(t, "E|cov| test/train", 2, math.Inf(1), covRise(train, test))
}

// assertDroneBars asserts that a drone's means over seeds are in the ranges of bars.json. Two blades are extrapolated
// to, so that they are predicted worse than three, and with more covariance.
func assertDroneBars(t *testing.T, dir, experiment string) {
	t.Helper()

	train2, test2 := splitMetrics(t, dir, experiment, "two")
	train3, test3 := splitMetrics(t, dir, experiment, "three")

	assertWithin(t, "R² train, 2 blades held out", 0.97, 0.999, *train2.R2.Mean)
	assertWithin(t, "R² train, 3 blades held out", 0.97, 0.999, *train3.R2.Mean)
	assertWithin(t, "R² test less R² train, 2 blades held out", math.Inf(-1), -0.05, *test2.R2.Mean-*train2.R2.Mean)
	assertWithin(t, "R² test less R² train, 3 blades held out", math.Inf(-1), -0.05, *test3.R2.Mean-*train3.R2.Mean)
	assert.Greater(t, *test3.R2.Mean, *test2.R2.Mean, "R² test, 3 blades held out against 2")

	assertWithin(t, "E|cov| train × 100, 2 blades held out", 1.5, 5, 100**train2.AbsCov.Mean)
	assertWithin(t, "E|cov| train × 100, 3 blades held out", 1.5, 5, 100**train3.AbsCov.Mean)

	rise2 := covRise(train2, test2)
	rise3 := covRise(train3, test3)
	assertWithin(t, "E|cov| test/train, 2 blades held out", 1.5, math.Inf(1), rise2)
	assertWithin(t, "E|cov| test/train, 3 blades held out", 1.02, 2.2, rise3)
	assertWithin(t, "E|cov| test/train, 2 blades over 3", 1.15, math.Inf(1), rise2/rise3)
}

// conditionsOf returns the inputs of the airfoil's network for all angles from low to high in steps of 0.5°, at each of
// the given speeds.
func conditionsOf(low, high float64, speeds ...float64) []float64 {
	var inputs []float64
	for alpha := low; alpha <= high; alpha += 0.5 {
		for _, speed := range speeds {
			inputs = append(inputs, alpha, speed)
		}
	}

	return inputs
}

// assertAirfoilSeeds asserts what bars.json asks of each seed of the airfoil: E|cov| is at least 1.3 times as large at
// the held-out speed as in training, and at least 5 times at angles of 13 to 17°, which are up to five degrees beyond
// any measurement, on both sides.
func assertAirfoilSeeds(t *testing.T, dir string) {
	t.Helper()

	trained := conditionsOf(-11, 11, 7.3, 9.1, 11.9, 14.1)
	heldOut := conditionsOf(-11, 11, 4.7)
	beyond := append(conditionsOf(13, 17, 14.1), conditionsOf(-17, -13, 14.1)...)

	for seed := range referenceSeeds {
		folder := filepath.Join(dir, "runs", "aero-0", "splits", "slow", fmt.Sprintf("seed-%d", seed))
		var model train.Model
		require.NoError(t, json.Unmarshal(testfile.Read(t, filepath.Join(folder, "model.json")), &model))

		inTraining := meanAbsCov(t, &model, trained)
		risesHeldOut := meanAbsCov(t, &model, heldOut) / inTraining
		risesBeyond := meanAbsCov(t, &model, beyond) / inTraining
		t.Logf("seed %d: E|cov| over that in training: held out %.2f, beyond the angles %.1f", seed, risesHeldOut,
			risesBeyond)
		assert.GreaterOrEqual(t, risesHeldOut, 1.3, "seed %d: E|cov| held out over training", seed)
		assert.GreaterOrEqual(t, risesBeyond, 5.0, "seed %d: E|cov| beyond the angles over training", seed)
	}
}

// meanAbsCov returns E|cov| of a model over the given inputs.
func meanAbsCov(t *testing.T, m *train.Model, inputs []float64) float64 {
	t.Helper()

	e, err := m.Estimate(t.Context(), inputs, train.EstimateOptions{Samples: 1000, Seed: 1})
	require.NoError(t, err)

	sum := 0.0
	for _, c := range e.CovRaw {
		sum += math.Abs(c)
	}

	return sum / float64(len(e.CovRaw))
}
