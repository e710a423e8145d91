package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train"
)

// referenceRow is a row of the table "Results to expect" of the Python
// reference: mean and sample standard deviation over five seeds.
type referenceRow struct {
	experiment, split string
	what              string
	r2Train, r2Test   [2]float64
	covTrain, covTest [2]float64 // E|cov| × 100
}

var referenceTable = []referenceRow{
	{
		"aero-0", "slow", "airfoil, U = 4.7 m/s held out",
		[2]float64{.979, .000},
		[2]float64{.919, .016},
		[2]float64{1.02, .23},
		[2]float64{5.44, 3.28},
	},
	{
		"drone-0", "two", "drone, 2 blades held out, simulation 0",
		[2]float64{.991, .001},
		[2]float64{.367, .203},
		[2]float64{2.76, .21},
		[2]float64{7.86, 1.92},
	},
	{
		"drone-0", "three", "drone, 3 blades held out, simulation 0",
		[2]float64{.991, .001},
		[2]float64{.780, .011},
		[2]float64{2.84, .25},
		[2]float64{3.92, .38},
	},
	{
		"drone-2", "two", "drone, 2 blades, simulation 2",
		[2]float64{.992, .001},
		[2]float64{.694, .054},
		[2]float64{2.85, .25},
		[2]float64{7.65, .81},
	},
	{
		"drone-2", "three", "drone, 3 blades, simulation 2",
		[2]float64{.992, .001},
		[2]float64{.834, .012},
		[2]float64{2.70, .26},
		[2]float64{3.27, .50},
	},
}

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

// Trainings on the data of the Python reference. Expected: the 20 numbers in the table of its README, and the ranges
// in its bars.json. Each number is a mean over five seeds, here and there. Two such means, with the deviations s and
// s₀ over seeds, differ by chance with the deviation √((s² + s₀²)/5). A number agrees if it differs by at most four
// of these deviations, because a deviation over five seeds is itself uncertain by a third, and by half a unit of the
// last digit.
func TestReferenceTables(t *testing.T) {
	longtest.Skip(t, "trains 25 networks")
	dir := t.TempDir()

	yaml := fmt.Sprintf(referenceYAML, referenceData(t, "data", "aero_s0.csv"), referenceData(t, "data", "drone_s0.csv"),
		referenceData(t, "data", "drone_s2.csv"))
	write(t, dir, "pipeline.yaml", yaml)

	got := runIn(t, dir)
	for name, rows := range map[string]int{"aero-0": 56250, "drone-0": 780, "drone-2": 780} {
		if e := got[name]; e.Triplets != rows {
			t.Errorf("%s: %d triplets of %d rows", name, e.Triplets, rows)
		}
	}

	var text strings.Builder
	ratio := map[string]float64{} // E|cov| test/train of the means

	r2 := map[string]number{}
	for _, row := range referenceTable {
		m := readMetrics(t, dir, row.experiment)
		for _, s := range m.Splits {
			if s.Name != row.split {
				continue
			}

			assert.Equal(t, 5, s.Seeds, "%s: seeds", row.what)

			fmt.Fprintf(&text, "\n%-40s", row.what)

			for _, c := range []struct {
				name  string
				ours  number
				scale float64
				ref   [2]float64
				digit float64
			}{
				{"R² train", s.Train.R2, 1, row.r2Train, .0005},
				{"R² test", s.Test.R2, 1, row.r2Test, .0005},
				{"E|cov| train", s.Train.AbsCov, 100, row.covTrain, .005},
				{"E|cov| test", s.Test.AbsCov, 100, row.covTest, .005},
			} {
				mean := *c.ours.Mean * c.scale
				std := *c.ours.Std * c.scale
				allowed := 4*math.Sqrt((std*std+c.ref[1]*c.ref[1])/5) + 2*c.digit // mean and deviation are both rounded
				off := (mean - c.ref[0]) / math.Sqrt((std*std+c.ref[1]*c.ref[1])/5+c.digit*c.digit)
				fmt.Fprintf(&text, "  %s %.3f ± %.3f (%.3f ± %.3f, %+.1f)", c.name, mean, std, c.ref[0], c.ref[1], off)

				assert.InDelta(t, c.ref[0], mean, allowed, "%s: %s ± %.4f, the ± %.3f", row.what, c.name, std, c.ref[1])
			}

			ratio[row.experiment+row.split] = *s.Test.AbsCov.Mean / *s.Train.AbsCov.Mean
			r2[row.experiment+row.split+" train"] = s.Train.R2
			r2[row.experiment+row.split+" test"] = s.Test.R2
			key := row.experiment + row.split
			in := func(what string, v float64, lo, hi float64) {
				if !(v >= lo && v <= hi) {
					t.Errorf("%s: %s is %.4g, bars.json has %g … %g", row.what, what, v, lo, hi)
				}
			}

			switch row.experiment {
			case "aero-0":
				in("mean R² train", *s.Train.R2.Mean, .970, .985)
				in("mean R² test", *s.Test.R2.Mean, .88, .95)
				in("mean E|cov| test/train", ratio[key], 2, math.Inf(1))

			default:
				in("mean R² train", *s.Train.R2.Mean, .97, .999)
				in("R² test less R² train", *s.Test.R2.Mean-*s.Train.R2.Mean, math.Inf(-1), -.05)
				in("mean E|cov| train × 100", 100**s.Train.AbsCov.Mean, 1.5, 5)

				if row.split == "two" {
					in("mean E|cov| test/train", ratio[key], 1.5, math.Inf(1))
				} else {
					in("mean E|cov| test/train", ratio[key], 1.02, 2.2)
				}
			}
		}
	}

	t.Logf("ours ± over seeds (the reference's ±; difference in standard errors):%s", text.String())

	for _, e := range []string{"drone-0", "drone-2"} {
		if two, three := *r2[e+"two test"].Mean, *r2[e+"three test"].Mean; three <= two {
			t.Errorf("%s: R² test %.3f with 3 blades held out, %.3f with 2", e, three, two)
		}

		if g := ratio[e+"two"] / ratio[e+"three"]; g < 1.15 {
			t.Errorf("%s: E|cov| test/train with 2 blades over that with 3 is %.3f, bars.json has 1.15 and more", e, g)
		}
	}

	airfoilSeeds(t, dir)
}

// airfoilSeeds checks what bars.json asks of each seed of the airfoil: E|cov|
// held out over E|cov| in training, and its growth beyond the angles measured.
func airfoilSeeds(t *testing.T, dir string) {
	t.Helper()

	var probe []float64 // 13 … 17° and back at 14.1 m/s: five degrees past any measurement
	for a := 13.0; a <= 17; a += 0.5 {
		probe = append(probe, a, 14.1, -a, 14.1)
	}

	var ratios, beyond []string
	for k := range 5 {
		folder := filepath.Join(dir, "runs", "aero-0", "splits", "slow", fmt.Sprintf("seed-%d", k))
		b := testfile.Read(t, filepath.Join(folder, "model.json"))

		var m train.Model
		require.NoError(t, json.Unmarshal(b, &m))

		size := func(x []float64) float64 {
			e, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: 1000, Seed: 1})
			require.NoError(t, err)

			sum := 0.0
			for _, c := range e.CovRaw {
				sum += math.Abs(c) / float64(len(e.CovRaw))
			}

			return sum
		}

		var known, slow []float64
		for a := -11.0; a <= 11; a += 0.5 {
			slow = append(slow, a, 4.7)
			for _, u := range []float64{7.3, 9.1, 11.9, 14.1} {
				known = append(known, a, u)
			}
		}

		in := size(known)
		te := size(slow) / in
		far := size(probe) / in
		ratios = append(ratios, fmt.Sprintf("%.2f", te))
		beyond = append(beyond, fmt.Sprintf("%.1f", far))

		if te < 1.3 || far < 5 {
			t.Errorf("airfoil, seed %d: E|cov| held out %.2f and at 13 … 17° %.2f times that in training; bars.json has 1.3 "+
				"and 5", k, te, far)
		}
	}

	t.Logf("airfoil, by seed: E|cov| held out over training %s; at 13 … 17° and 14.1 m/s over training %s",
		strings.Join(ratios, ", "), strings.Join(beyond, ", "))
}
