package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/report/answer/predict"
	"doubletake/report/pairs"
	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// groups writes a table of pairs with some groups of b, and its configuration with
// networks as the base of the calibration. Input c varies in groups 2 and 3 alone. change
// edits a row's outcomes, edits are pairs of old and new text of the configuration.
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
			fmt.Fprintf(&s, "r%d-%d,%g,%d,%g,%g,%g\n", b, i, a, b, c, change(b, y+0.02*math.Cos(float64(7*i+b))),
				change(b, y+0.02*math.Cos(float64(5*i+2*b))))
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
	err := errors.Join(os.WriteFile(filepath.Join(dir, "pairs.csv"), []byte(s.String()), 0o644),
		os.WriteFile(path, []byte(config), 0o644))
	require.NoError(t, err)

	return path
}

func same(_ int, y float64) float64 { return y }

// trainings runs a configuration and returns the left-out trainings that were made.
func trainings(t *testing.T, path string) (made []string, all int) {
	t.Helper()

	p, err := Load(path)
	require.NoError(t, err)

	for _, task := range p.Plan.Tasks {
		if strings.HasPrefix(task.ID, "wing/train/on/") {
			all++
		}
	}

	_, err = p.Run(context.Background(), engine.Options{Jobs: 2, Observe: func(e engine.Event) {
		if e.Kind == "done" && e.Ran && strings.HasPrefix(e.Task.ID, "wing/train/on/") {
			made = append(made, e.Task.ID)
		}
	}})
	require.NoError(t, err)

	return made, all
}

// Four groups, each held out in turn, need 4 + 4·3/2 trainings, shared between the
// splits. A fifth needs 5 + 5·4/2, of which those without it and one more are the
// old ones with one group held out: 15 − 4 are new. A second run makes none.
func TestLeftOutTrainingsAreShared(t *testing.T) {
	longtest.Skip(t, "trains networks")

	for _, base := range []string{"ensemble"} {
		dir := t.TempDir()
		made, all := trainings(t, groups(t, dir, base, []int{1, 2, 3, 4}, same))
		require.Len(t, made, 10, "%s: made %d of %d trainings, expected 10: %q", base, len(made), all, made)
		assert.Equal(t, 10, all, "%s: made %d of %d trainings, expected 10: %q", base, len(made), all, made)

		if made, _ := trainings(t, filepath.Join(dir, "p.yaml")); len(made) != 0 {
			t.Errorf("%s: a second run made %q", base, made)
		}

		made, all = trainings(t, groups(t, dir, base, []int{1, 2, 3, 4, 5}, same))
		require.Len(t, made, 11,
			"%s: with one more group made %d of %d trainings, expected 11 of 15: %q", base, len(made), all, made)
		assert.Equal(t, 15, all,
			"%s: with one more group made %d of %d trainings, expected 11 of 15: %q", base, len(made), all, made)

		for _, id := range made {
			if !strings.Contains(id, "5") && id != "wing/train/on/b=1,2,3,4" {
				t.Errorf("%s: %s was made again", base, id)
			}
		}
	}
}

// No outcome of the held-out group enters: with its outcomes set to a million, the
// calibration and the predictions are the same to the bit; with DOUBLETAKE_LONG=1 for each base that is trained anew.
func TestNetworksSeeNothingOfTheTestGroup(t *testing.T) {
	bases := []string{"pair"}
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		bases = append(bases, "ensemble")
	}

	for _, base := range bases {
		var learned [2][]float64

		var columns [2][][]float64
		for k, change := range []func(int, float64) float64{same, func(b int, y float64) float64 {
			if b == 3 {
				return 1e6
			}
			return y
		}} {
			dir := t.TempDir()
			path := groups(t, dir, base, []int{1, 2, 3, 4}, change, "groups: {each: b}", "b3: {test: {b: 3}}")
			if made, _ := trainings(t, path); len(made) != 4 {
				t.Fatalf("%s: made %q", base, made)
			}

			folder := filepath.Join(dir, "runs", "wing", "splits", "b3")
			m, err := honest.Read(filepath.Join(folder, "honest.json"))
			require.NoError(t, err)

			c := m.Calibration
			learned[k] = append(slices.Concat(c.Scale.Weights[:]...), c.Scale.Noise.Scale, c.Conformal.Half[0])

			tab := stagetest.Read(t, filepath.Join(folder, "honest.arrow"))

			for _, name := range []string{"y", "y_low", "y_high", "y_sd", "y_sd_epistemic", "y_sd_noise", "y_sd_claimed"} {
				columns[k] = append(columns[k], stagetest.Floats(t, tab, name))
			}
		}

		if fmt.Sprint(learned[0]) != fmt.Sprint(learned[1]) || fmt.Sprint(columns[0]) != fmt.Sprint(columns[1]) {
			t.Errorf("%s: %v, %v\n%v\n%v", base, learned[0], learned[1], columns[0], columns[1])
		}
	}
}

// What is stored predicts as the run did, constant inputs of a left-out training
// (c without groups 2 and 3) are dropped, and each base names itself.
func TestNetworksAreStored(t *testing.T) {
	longtest.Skip(t, "trains networks")

	for base, words := range map[string]string{
		"pair": "pair networks of 1", "ensemble": "ensemble of 2",
	} {
		dir := t.TempDir()
		trainings(t, groups(t, dir, base, []int{1, 2, 3, 4}, same))

		for _, split := range []string{"b=2", "b=3"} {
			folder := filepath.Join(dir, "runs", "wing", "splits", split)
			m, err := predict.Open(folder, nil)
			require.NoError(t, err)

			tab := stagetest.Read(t, filepath.Join(folder, "honest.arrow"))

			in := []string{"a", "b"}
			if base == "ensemble" {
				in = append(in, "c")
			}

			var x []float64
			for i := range 10 {
				for _, name := range in {
					x = append(x, stagetest.Floats(t, tab, name)[i])
				}
			}

			p, err := m.Recommend(context.Background(), x, 0, true, nil)
			require.NoError(t, err)

			var sd, high []float64
			for k, mu := range p.Mu {
				sd = append(sd, math.Sqrt(p.Claim[k]))
				high = append(high, mu+p.Half[k])
			}

			for name, v := range map[string][]float64{"y": p.Mu, "y_sd_claimed": sd, "y_high": high} {
				for i, want := range stagetest.Floats(t, tab, name) {
					within := 1e-9 * math.Max(1, math.Abs(want))
					if name == "y_high" {
						within += 5e-5 * p.Half[i] // half widths are interpolated: scale.Table
					}

					if math.Abs(v[i]-want) > within {
						t.Fatalf("%s %s row %d: %s %g from the file, %g in the run", base, split, i, name, v[i], want)
					}
				}
			}

			c := m.Honest.Calibration
			if c.Base != words || c.K != 3 {
				t.Errorf("%q, %d groups", c.Base, c.K)
			}

			for _, g := range c.Groups { // a scale learned from a constant gave widths of 10⁴
				if g.E > 100 {
					t.Errorf("%s %s: e %g of left-out group %s", base, split, g.E, g.Name)
				}
			}
		}
	}
}

// Where all pairs of r repeats count as r runs, they do so in the trainings without a group
// too. Expected values: the weighted mean by hand; the package, trained as the task does.
func TestLeftOutTrainingsAreWeighted(t *testing.T) {
	dir := t.TempDir()
	path := groups(t, dir, "ensemble", []int{1, 2, 3, 4}, same, "run: run}", "repeats: [y], use: all, run: run}",
		"groups: {each: b}", "b3: {test: {b: 3}}")
	var rows strings.Builder
	rows.WriteString("run,a,b,c,y\n")

	for b := 1; b <= 4; b++ {
		for i := range 6 {
			for k := range 2 + i%3 { // one, three and six pairs
				y := math.Sin(float64(i+9*b)) + 0.1*math.Cos(float64(5*k+i))
				fmt.Fprintf(&rows, "r%d-%d-%d,%d,%d,%d,%g\n", b, i, k, i, b, i%2, y)
			}
		}
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "pairs.csv"), []byte(rows.String()), 0o644))

	trainings(t, path)

	m, err := honest.Read(filepath.Join(dir, "runs", "wing", "splits", "b3", "honest.json"))
	require.NoError(t, err)

	tab := stagetest.Read(t, filepath.Join(dir, "runs", "wing", "triplets.arrow"))

	set, err := pairs.Triplets(tab, []string{"a", "b", "c"}, []string{"y"})
	require.NoError(t, err)
	require.NotNil(t, set.Weight)

	var at []int

	sum := 0.0
	mean := 0.0
	for i := range set.N {
		if set.X[3*i+1] != 3 {
			at = append(at, i)
			sum += 2 * set.Weight[i]
			mean += set.Weight[i] * (set.Y1[i] + set.Y2[i])
		}
	}

	set = set.Select(at)

	p, err := Load(path)
	require.NoError(t, err)

	train1 := p.File.Experiments[0].Train
	weighted := func(weight []float64) *honest.EnsembleModel {
		e := honest.Ensemble{Members: 2, Seed: plan.SeedOf(train1.Seed, "left-out groups", "ensemble")}
		e.Train = func(ctx context.Context, d triplets.Set, seed uint64) (honest.Network, error) {
			s := triplets.New(make([]triplets.Quantity, 3), make([]triplets.Quantity, 1), d.X, d.Y1, d.Y2)
			s.Weight = weight
			c := train1.Config
			c.Seed = seed
			c.Standardise = false
			n, _, err := train.FitSingle(ctx, s, c, nil)

			return n, err
		}

		d := triplets.Set{N: set.N, In: 3, Out: 1, X: set.X, Y1: set.Y1, Y2: set.Y2, Weight: weight}
		r, err := e.Fit(context.Background(), d)
		require.NoError(t, err)

		return r
	}

	x := []float64{1, 3, 0, 2.5, 1, 1}
	got, err := m.Predict(context.Background(), x, 0, nil)
	require.NoError(t, err)

	want, err1 := weighted(set.Weight).Predict(context.Background(), x)

	plain, err2 := weighted(nil).Predict(context.Background(), x)
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(got.Mu, want.Mu) || slices.Equal(got.Mu, plain.Mu) {
		t.Errorf("%v: predicts %v, expected %v; without weights %v", err, got.Mu, want.Mu, plain.Mu)
	}

	b, err := json.Marshal(m.Ensemble)

	var stored struct {
		Mean []float64 `json:"outcome_mean"`
	}
	if err = errors.Join(err, json.Unmarshal(b, &stored)); err != nil || math.Abs(stored.Mean[0]-mean/sum) > 1e-12 {
		t.Errorf("%v: mean of the outcomes %v, by hand %v", err, stored.Mean, mean/sum)
	}
}
