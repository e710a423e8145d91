package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline"
	"doubletake/pipeline/export"
	"doubletake/pipeline/pipelinetest"
	"doubletake/pipeline/predict"
	"doubletake/train/gp"
	"doubletake/train/honest"
)

// campaigns are configurations whose splits are calibrated: over values and blocks
// of a condition and over labels, on many groups, on two and on none, with a rate that
// enters as its logarithm, with two outcomes, and in order form.
const campaigns = `version: 1
workdir: runs
kernels: portable
experiments:
  wing:
    ingest: {table: {file: wing.csv, inputs: [alpha_deg, u_m_s], run: run, units: {lift: N, drag: N}}}
    train:
      inputs: [alpha_deg, u_m_s]
      model: {hidden: [8]}
      optimizer: {epochs: 3}
      seeds: 2
      honest: {prior: library, level: 0.8}
      splits: {slow: {test: {u_m_s: 10}}, two: {test: {u_m_s: {min: 17}}}}
  formed:
    ingest: {table: {file: wing.csv, inputs: [alpha_deg, u_m_s], run: run, units: {lift: N, drag: N}}}
    train:
      inputs: [alpha_deg, u_m_s]
      model: {hidden: [8]}
      optimizer: {epochs: 3}
      seeds: 1
      form: coefficient(u_m_s)-
      splits: {slow: {test: {u_m_s: 10}}}
  propellers:
    ingest: {table: {file: wing.csv, inputs: [alpha_deg, u_m_s], run: run, units: {lift: N, drag: N}}}
    train:
      inputs: [alpha_deg]
      model: {hidden: [8]}
      optimizer: {epochs: 3}
      seeds: 1
      honest: {labels: true}
      splits: {labels: {test: {u_m_s: 18}}, none: {test: {u_m_s: {min: 11}}}}
  rotor:
    ingest: {table: {file: rotor.csv, inputs: [blades, rpm], run: run, units: {bpf1: dB, bpf2: dB}}}
    train:
      inputs: [blades, rpm]
      model: {hidden: [8]}
      optimizer: {epochs: 3}
      seeds: 1
      splits: {five: {test: {blades: 5}}}
  toy: # without noise far from 0: the process is all but singular
    ingest: {simulate: {campaign: toy, seed: 1}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [8]}
      optimizer: {epochs: 3}
      seeds: 1
      splits: {gap: {test: {x: {min: 2, max: 4}}}}
`

// campaign runs a configuration in a folder of its own.
func campaign(t *testing.T, yaml string) (runs string) {
	t.Helper()
	dir := t.TempDir()
	wing, rotor := pairs(rand.New(rand.NewPCG(5, 6)))
	err := pipelinetest.Run(dir, map[string]string{"pipeline.yaml": yaml, "wing.csv": wing, "rotor.csv": rotor},
		pipeline.Options{Selection: pipeline.Selection{To: "train"}})
	must.Do(t, err)

	return filepath.Join(dir, "runs")
}

// expected is what the program computes of the graphs of a split at conditions x. The σ² of
// calibrated.onnx count as least: of a process that is all but singular and claims less,
// rounding leaves no more digits.
func expected(t *testing.T, split string, x []float64) (byGraph map[string]map[string][]float64, least []float64) {
	t.Helper()
	ctx := context.Background()

	m := must.Get(predict.Open(split))(t)

	p := must.Get(m.Predict(ctx, x))(t)

	h := must.Get(honest.Read(filepath.Join(split, "honest.json")))(t)

	c := must.Get(m.Recommend(ctx, x, 0, false, nil))(t)

	rule := map[string][]float64{
		"network": p.Mu, "network_var": p.Var, "network_cov": p.Cov, "network_delta": p.Delta,
	}
	own := map[string][]float64{"": c.Mu}
	for k, mu := range c.Mu {
		for name, v := range map[string]float64{
			"_low": mu - c.Half[k], "_high": mu + c.Half[k], "_sd": math.Sqrt(c.Total[k]),
			"_sd_epistemic": math.Sqrt(c.Epistemic[k]), "_sd_noise": math.Sqrt(c.Total[k] - c.Epistemic[k]),
		} {
			own[name] = append(own[name], v)
		}

		s := 0.1 * h.Calibration.Deviation[k%len(h.Outcomes)]
		least = append(least, s*s)
	}

	return map[string]map[string][]float64{
		"first": {"network": p.Mu, "network_var": p.Var}, "rule": rule, "calibrated": own,
	}, least
}

// onCells rewrites a stored process as one that is conditioned on cells of one condition each.
func onCells(t *testing.T, path string) {
	t.Helper()

	h := must.Get(honest.Read(path))(t)

	s := h.Process.Stored()
	n := h.Process.Conditions()
	s.Version, s.Averaged = gp.CellsVersion, &gp.Cells{Rows: n, Cells: n, Largest: 1}
	for j, hyper := range s.Hyper {
		c := gp.Averages{X: s.X}
		for i := range n {
			k := i*s.Outcomes + j
			c.Y, c.Variance = append(c.Y, s.Y[k]), append(c.Variance, s.Spread[k]+hyper.Nugget*hyper.Nugget)
		}

		s.Averages = append(s.Averages, c)
	}

	s.X, s.Y, s.Spread = nil, nil, nil
	b := must.Get(json.Marshal(s))(t)
	must.Do(t, json.Unmarshal(b, h.Process))

	b = must.Get(json.Marshal(h))(t)

	must.Do(t, errors.Join(os.Remove(path), os.WriteFile(path, b, 0o644)))
}

// ONNX Runtime evaluates the graphs of calibrated splits to 1e-5 of σ, or of σ², of what
// the program computes, and ends of intervals to 5e-5 of σ, at conditions within and
// beyond the training range.
// With DOUBLETAKE_LONG=all these are the toy, the airfoil and the drone of the default
// run, each at 1000 random conditions.
func TestONNXCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks")
	}

	yaml, rows := campaigns, 200
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		b := must.Read(t, "../../pipeline.yaml")

		yaml, rows = string(b), 1000
	}

	node := runtime(t)

	runs := campaign(t, yaml)
	must.Do(t, os.RemoveAll(filepath.Join(runs, ".cache"))) // which knows that one is changed below
	splits, err := filepath.Glob(filepath.Join(runs, "*", "splits", "*"))
	must.Never(t, err != nil || len(splits) < 3, "%v: splits %q", err, splits)

	var todo []evaluation
	var calibrated []string

	var want []map[string][]float64
	for _, split := range splits {
		if filepath.Base(split) == "two" {
			onCells(t, filepath.Join(split, "honest.json"))
		}

		m := must.Get(export.OpenModels(split))(t)

		must.Be(t, m.Uncalibrated(), "", "%s", split)

		paths := must.Get(m.WriteONNX(filepath.Join(split, "onnx")))(t)

		calibrated = append(calibrated, paths[len(paths)-1])

		models := must.Get(predict.Open(split))(t)

		inputs := models.Card.Inputs
		rng := rand.New(rand.NewPCG(1, 2))

		var x []float64
		for range rows {
			for _, q := range inputs { // a fifth of the range beyond each end, but positive where all are
				v := q.Min + (q.Max-q.Min)*(1.4*rng.Float64()-0.2)
				if q.Min > 0 {
					v = max(v, q.Min/2)
				}

				x = append(x, v)
			}
		}

		x = append(x[len(inputs):], ends(inputs)...) // measured values, where the distance has no margin
		byGraph, least := expected(t, split, x)
		for _, p := range paths {
			graph := strings.TrimSuffix(filepath.Base(p), ".onnx")
			w := byGraph[graph]
			if w == nil {
				continue
			}

			e := evaluation{Model: p, Inputs: map[string]feed{"x": {len(inputs), x}}}
			if graph == "calibrated" {
				e.least = least
			}

			for _, o := range models.Card.Outcomes {
				e.outcomes = append(e.outcomes, o.Name)
			}

			for column := range w {
				e.ask(column)
			}

			todo, want = append(todo, e), append(want, w)
		}
	}

	compareGraphs(t, todo, want, evaluate(t, node, todo))
	t.Run("description", func(t *testing.T) { describes(t, calibrated) })
}

// describes compares what graphs of calibrated splits state of their intervals.
func describes(t *testing.T, paths []string) {
	t.Helper()

	for i, g := range check(t, paths) {
		h := must.Get(honest.Read(filepath.Join(filepath.Dir(paths[i]), "..", "honest.json")))(t)

		named, c := 0, h.Calibration
		for k, want := range map[string]string{
			"method": "hierarchical-scale", "level": fmt.Sprint(c.Level), "k": fmt.Sprint(c.K), "prior": c.Scale.Prior.Name,
		} {
			must.Equal(t, g.Metadata[k], want, "%s: metadata %s is", paths[i], k)
		}

		for _, o := range h.Outcomes {
			for _, c := range predict.Columns {
				if kind := g.Kinds[c.Name(o.Name)]; kind != nil && fmt.Sprint(kind) != "[11 n]" {
					t.Errorf("%s: %s is %v", paths[i], c.Name(o.Name), kind)
				} else if kind != nil {
					named++
				}
			}
		}

		if named != 6*len(h.Outcomes) || len(g.Kinds) != named+1 {
			t.Errorf("%s: %v, expected x and six columns of predict an outcome", paths[i], g.Kinds)
		}
	}
}

func ends(inputs []predict.Input) (x []float64) {
	for _, q := range inputs {
		x = append(x, q.Max)
	}
	return x
}

// pairs simulates pairs of the forces of a wing, and of the levels of a rotor, as CSV.
func pairs(rng *rand.Rand) (wing, rotor string) {
	var w, r strings.Builder
	w.WriteString("run,alpha_deg,u_m_s,lift_1,lift_2,drag_1,drag_2\n")
	r.WriteString("run,blades,rpm,bpf1_db_1,bpf1_db_2,bpf2_db_1,bpf2_db_2\n")

	for i := range 80 {
		a, u := float64(i%8), 10+4*float64(i/8%5)
		lift, drag := 0.01*u*u*(0.1+0.1*a), 0.01*u*u*(0.02+0.01*a*a)
		fmt.Fprintf(&w, "r%d,%g,%g,%g,%g,%g,%g\n", i, a, u, lift+0.1*rng.NormFloat64(), lift+0.1*rng.NormFloat64(),
			drag+0.05*rng.NormFloat64(), drag+0.05*rng.NormFloat64())
		n, rpm := 2+float64(i%5), 3000+500*float64(i/5%7)
		level := func(m float64) float64 { return 60 + 50*math.Log10(rpm/3000) - 3*m*n + rng.NormFloat64() }
		fmt.Fprintf(&r, "r%d,%g,%g,%g,%g,%g,%g\n", i, n, rpm, level(1), level(1), level(2), level(2))
	}

	return w.String(), r.String()
}
