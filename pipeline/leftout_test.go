package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table/tabletest"
	"doubletake/internal/longtest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/answer/predict"
	"doubletake/report/pairs"
	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// groups writes a table of pairs with groups of the given values of b, and its configuration with networks as the base
// of the calibration. It returns the path of the configuration. Input c varies in groups 2 and 3 alone. change edits an
// outcome of a group. edits are pairs of old and new text of the configuration.
func groups(t *testing.T, dir, base string, values []int, change func(b int, y float64) float64,
	edits ...string,
) string {
	t.Helper()
	var s strings.Builder
	s.WriteString("run,a,b,c,y_1,y_2\n")

	for _, b := range values {
		for i := range 10 {
			a := float64(i) / 3
			c := 0.0
			if b == 2 || b == 3 {
				c = float64(i % 2)
			}

			y := math.Sin(a) + 0.3*float64(b)
			first := change(b, y+0.02*math.Cos(float64(7*i+b)))
			second := change(b, y+0.02*math.Cos(float64(5*i+2*b)))
			fmt.Fprintf(&s, "r%d-%d,%g,%d,%g,%g,%g\n", b, i, a, b, c, first, second)
		}
	}

	config := fmt.Sprintf(`version: 1
experiments:
  wing:
    ingest: {table: {file: pairs.csv, inputs: [a, b, c], run: run}}
    train:
      inputs: [a, b]
      model: {hidden: [8]}
      optimizer: {epochs: 15, batch: 8}
      seeds: 1
      members: 2
      honest: {base: %s}
      splits: {groups: {each: b}}
`, base)

	if base == "ensemble" {
		config = strings.Replace(config, "inputs: [a, b]\n", "inputs: [a, b, c]\n", 1)
	}

	for i := 0; i < len(edits); i += 2 {
		config = strings.Replace(config, edits[i], edits[i+1], 1)
	}

	path := filepath.Join(dir, "p.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pairs.csv"), []byte(s.String()), 0o644))
	require.NoError(t, os.WriteFile(path, []byte(config), 0o644))

	return path
}

// unchanged leaves an outcome as it is.
func unchanged(_ int, y float64) float64 { return y }

// runLeftOut runs a configuration. It returns the trainings without groups that ran, and how many the plan has.
func runLeftOut(t *testing.T, path string) (ran []string, planned int) {
	t.Helper()

	const prefix = "wing/train/on/"
	p, err := Load(path)
	require.NoError(t, err)

	for _, task := range p.Plan.Tasks {
		if strings.HasPrefix(task.ID, prefix) {
			planned++
		}
	}

	_, err = p.Run(t.Context(), engine.Options{Jobs: 2, Observe: func(e engine.Event) {
		hasRun := e.Kind == "done" && e.Ran
		if hasRun && strings.HasPrefix(e.Task.ID, prefix) {
			ran = append(ran, e.Task.ID)
		}
	}})
	require.NoError(t, err)

	return ran, planned
}

// Four groups, each held out in turn, need 4 + 4·3/2 = 10 trainings, which the splits share. Five groups need 5 +
// 5·4/2 = 15, of which four were made before: those without the fifth group and one more. A second run makes none.
func TestLeftOutTrainingsAreShared(t *testing.T) {
	longtest.Skip(t, "trains networks")

	dir := t.TempDir()
	ran, planned := runLeftOut(t, groups(t, dir, "ensemble", []int{1, 2, 3, 4}, unchanged))
	assert.Len(t, ran, 10, "four groups")
	assert.Equal(t, 10, planned, "four groups")

	ran, _ = runLeftOut(t, filepath.Join(dir, "p.yaml"))
	assert.Empty(t, ran, "a second run")

	ran, planned = runLeftOut(t, groups(t, dir, "ensemble", []int{1, 2, 3, 4, 5}, unchanged))
	assert.Len(t, ran, 11, "five groups")
	assert.Equal(t, 15, planned, "five groups")

	for _, id := range ran {
		if id != "wing/train/on/b=1,2,3,4" {
			assert.Contains(t, id, "5", "trainings without the new group must not run again")
		}
	}
}

// No outcome of the held-out group enters. If its outcomes are set to a million, the calibration and the predictions
// are the same to the bit. Pair networks are tested, and ensembles with DOUBLETAKE_LONG=1.
func TestNetworksSeeNothingOfTheTestGroup(t *testing.T) {
	bases := []string{"pair"}
	if longtest.IsLong() {
		bases = append(bases, "ensemble")
	}

	for _, base := range bases {
		million := func(b int, y float64) float64 {
			if b == 3 {
				return 1e6
			}
			return y
		}

		calibration, predictions := withoutGroup3(t, base, unchanged)
		otherCalibration, otherPredictions := withoutGroup3(t, base, million)
		assert.Equal(t, calibration, otherCalibration, "calibration by %s", base)
		assert.Equal(t, predictions, otherPredictions, "predictions by %s", base)
	}
}

// withoutGroup3 holds out group 3 of b and returns the numbers of the calibration, and the predictions of group 3 with
// their deviations. They are text, in which NaN equals NaN.
func withoutGroup3(t *testing.T, base string, change func(b int, y float64) float64) (calibration, predictions string) {
	t.Helper()

	dir := t.TempDir()
	path := groups(t, dir, base, []int{1, 2, 3, 4}, change, "groups: {each: b}", "b3: {test: {b: 3}}")
	ran, _ := runLeftOut(t, path)
	require.Len(t, ran, 4, base)

	folder := filepath.Join(dir, "runs", "wing", "splits", "b3")
	m, err := honest.Read(filepath.Join(folder, "honest.json"))
	require.NoError(t, err)

	c := m.Calibration
	calibration = fmt.Sprint(c.Scale.Weights, c.Scale.Noise.Scale, c.Conformal.Half[0])

	tab := tabletest.Read(t, filepath.Join(folder, "honest.arrow"))
	for _, name := range []string{"y", "y_low", "y_high", "y_sd", "y_sd_epistemic", "y_sd_noise", "y_sd_claimed"} {
		predictions += fmt.Sprintln(name, tabletest.Floats(t, tab, name))
	}

	return calibration, predictions
}

// What is stored predicts as the run did, the inputs that are constant in a left-out training (c without groups 2 and
// 3) are dropped, and each base names itself.
func TestNetworksAreStored(t *testing.T) {
	longtest.Skip(t, "trains networks")

	for base, words := range map[string]string{
		"pair": "pair networks of 1", "ensemble": "ensemble of 2",
	} {
		dir := t.TempDir()
		runLeftOut(t, groups(t, dir, base, []int{1, 2, 3, 4}, unchanged))

		for _, split := range []string{"b=2", "b=3"} {
			folder := filepath.Join(dir, "runs", "wing", "splits", split)
			m, err := predict.Open(folder, nil)
			require.NoError(t, err)

			tab := tabletest.Read(t, filepath.Join(folder, "honest.arrow"))

			inputs := []string{"a", "b"}
			if base == "ensemble" {
				inputs = append(inputs, "c")
			}

			var x []float64
			for row := range 10 {
				for _, name := range inputs {
					x = append(x, tabletest.Floats(t, tab, name)[row])
				}
			}

			p, err := m.Recommend(context.Background(), x, predict.Options{Extrapolate: true})
			require.NoError(t, err)

			var sd, high []float64
			for k, mu := range p.Mu {
				sd = append(sd, math.Sqrt(p.Claim[k]))
				high = append(high, mu+p.Half[k])
			}

			for name, v := range map[string][]float64{"y": p.Mu, "y_sd_claimed": sd, "y_high": high} {
				for i, want := range tabletest.Floats(t, tab, name) {
					within := 1e-9 * math.Max(1, math.Abs(want))
					if name == "y_high" {
						within += 5e-5 * p.Half[i] // half widths are interpolated: scale.Table
					}

					require.InDelta(t, want, v[i], within, "%s %s row %d: %s from the file", base, split, i, name)
				}
			}

			c := m.Honest.Calibration
			assert.Equal(t, words, c.Base)
			assert.Equal(t, 3, c.K, "groups")

			for _, g := range c.Groups { // a scale learned from a constant gave widths of 10⁴
				assert.LessOrEqual(t, g.E, 100.0, "%s %s: e of left-out group %s", base, split, g.Name)
			}
		}
	}
}

// writeRepeats writes a table of single measurements to path. Each of four groups of b has six conditions, which have
// 2, 3 or 4 repeats: one, three or six pairs.
func writeRepeats(t *testing.T, path string) {
	t.Helper()

	var rows strings.Builder
	rows.WriteString("run,a,b,c,y\n")
	for b := 1; b <= 4; b++ {
		for i := range 6 {
			for k := range 2 + i%3 {
				y := math.Sin(float64(i+9*b)) + 0.1*math.Cos(float64(5*k+i))
				fmt.Fprintf(&rows, "r%d-%d-%d,%d,%d,%d,%g\n", b, i, k, i, b, i%2, y)
			}
		}
	}

	require.NoError(t, os.WriteFile(path, []byte(rows.String()), 0o644))
}

// withoutB3 returns the triplets of a table without the group 3 of b.
func withoutB3(t *testing.T, path string) triplets.Set {
	t.Helper()

	set, err := pairs.Triplets(tabletest.Read(t, path), []string{"a", "b", "c"}, []string{"y"})
	require.NoError(t, err)
	require.NotNil(t, set.Weight)

	var others []int
	for i := range set.N {
		if b := set.X[3*i+1]; b != 3 { // the second of the inputs a, b and c
			others = append(others, i)
		}
	}

	return set.Select(others)
}

// weightedMean returns the mean of the outcomes, both of which have the weight of their row.
func weightedMean(set triplets.Set) float64 {
	total := 0.0
	sum := 0.0
	for i := range set.N {
		total += 2 * set.Weight[i]
		sum += set.Weight[i] * (set.Y1[i] + set.Y2[i])
	}

	return sum / total
}

// trainEnsemble trains the ensemble of the configuration on a set with these weights, without the pipeline.
func trainEnsemble(t *testing.T, settings config.Train, set triplets.Set, weights []float64) *honest.EnsembleModel {
	t.Helper()

	ensemble := honest.Ensemble{Members: 2, Seed: plan.SeedOf(settings.Seed, "left-out groups", "ensemble")}
	ensemble.Train = func(ctx context.Context, d triplets.Set, seed uint64) (honest.Network, error) {
		standardised := triplets.New(make([]triplets.Quantity, 3), make([]triplets.Quantity, 1), d.X, d.Y1, d.Y2)
		standardised.Weight = weights
		c := settings.Config
		c.Seed = seed
		c.Standardise = false
		network, _, err := train.FitSingle(ctx, standardised, c, nil)

		return network, err
	}

	model, err := ensemble.Fit(t.Context(), triplets.Set{
		N: set.N, In: 3, Out: 1, X: set.X, Y1: set.Y1, Y2: set.Y2, Weight: weights,
	})
	require.NoError(t, err)

	return model
}

// If all pairs of r repeats count as r runs, they do so in the trainings without a group too. The expected predictions
// are those of an ensemble that is trained here with the weights, and the expected mean of the outcomes is the weighted
// one. Without the weights the predictions would be others.
func TestLeftOutTrainingsAreWeighted(t *testing.T) {
	dir := t.TempDir()
	path := groups(t, dir, "ensemble", []int{1, 2, 3, 4}, unchanged, "run: run}", "repeats: [y], use: all, run: run}",
		"groups: {each: b}", "b3: {test: {b: 3}}")
	writeRepeats(t, filepath.Join(dir, "pairs.csv"))
	runLeftOut(t, path)

	stored, err := honest.Read(filepath.Join(dir, "runs", "wing", "splits", "b3", "honest.json"))
	require.NoError(t, err)

	p, err := Load(path)
	require.NoError(t, err)
	settings := p.File.Experiments[0].Train
	set := withoutB3(t, filepath.Join(dir, "runs", "wing", "triplets.arrow"))

	t.Run("predictions", func(t *testing.T) {
		x := []float64{1, 3, 0, 2.5, 1, 1} // two rows of the inputs a, b and c
		got, err := stored.Predict(t.Context(), x, 0, nil)
		require.NoError(t, err)

		weighted, err := trainEnsemble(t, settings, set, set.Weight).Predict(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, weighted.Mu, got.Mu)

		plain, err := trainEnsemble(t, settings, set, nil).Predict(t.Context(), x)
		require.NoError(t, err)
		assert.NotEqual(t, plain.Mu, got.Mu)
	})

	t.Run("mean of the outcomes", func(t *testing.T) {
		data, err := json.Marshal(stored.Ensemble)
		require.NoError(t, err)

		var ensemble struct {
			Mean []float64 `json:"outcome_mean"`
		}
		require.NoError(t, json.Unmarshal(data, &ensemble))
		assert.InDelta(t, weightedMean(set), ensemble.Mean[0], 1e-12)
	})
}
