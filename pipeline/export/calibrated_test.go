package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/pipeline"
	"doubletake/pipeline/export"
	"doubletake/pipeline/predict"
	"doubletake/train/gp"
	"doubletake/train/honest"
)

// campaigns are configurations whose splits are calibrated: over values and blocks
// of a condition and over labels, with a rate that enters as its logarithm, with two
// outcomes, and in order form.
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
      honest: {variant: B}
      splits: {slow: {test: {u_m_s: 10}}, labels: {test: {u_m_s: 18}}}
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
	rng := rand.New(rand.NewPCG(5, 6))
	wing := "run,alpha_deg,u_m_s,lift_1,lift_2,drag_1,drag_2\n"

	rotor := "run,blades,rpm,bpf1_db_1,bpf1_db_2,bpf2_db_1,bpf2_db_2\n"
	for i := range 80 {
		a, u := float64(i%8), 10+4*float64(i/8%5)
		lift, drag := 0.01*u*u*(0.1+0.1*a), 0.01*u*u*(0.02+0.01*a*a)
		wing += fmt.Sprintf("r%d,%g,%g,%g,%g,%g,%g\n", i, a, u, lift+0.1*rng.NormFloat64(), lift+0.1*rng.NormFloat64(),
			drag+0.05*rng.NormFloat64(), drag+0.05*rng.NormFloat64())
		n, rpm := 2+float64(i%5), 3000+500*float64(i/5%7)
		level := func(m float64) float64 { return 60 + 50*math.Log10(rpm/3000) - 3*m*n + rng.NormFloat64() }
		rotor += fmt.Sprintf("r%d,%g,%g,%g,%g,%g,%g\n", i, n, rpm, level(1), level(1), level(2), level(2))
	}

	for name, text := range map[string]string{"pipeline.yaml": yaml, "wing.csv": wing, "rotor.csv": rotor} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	o := pipeline.Options{Selection: pipeline.Selection{To: "train"}}
	if _, err := p.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}

	return filepath.Join(dir, "runs")
}

// expected is what the program computes of the graphs of a split at conditions x.
func expected(t *testing.T, split string, x []float64) map[string]map[string][]float64 {
	t.Helper()
	ctx := context.Background()

	m, err := predict.Open(split)
	if err != nil {
		t.Fatal(err)
	}

	p, err := m.Predict(ctx, x, "")
	if err != nil {
		t.Fatal(err)
	}

	b, err := os.ReadFile(filepath.Join(split, "honest.json"))
	if err != nil {
		t.Fatal(err)
	}

	var h honest.Model
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatal(err)
	}

	rule := map[string][]float64{"mean": p.Mu, "variance": p.Total, "cov": p.Cov, "delta": p.Delta}
	own := map[string][]float64{}
	in, z := len(h.Inputs), append([]float64(nil), x...)

	var coordinate []float64
	for i := range z {
		if h.Orders == nil && h.Logarithm[i%in] {
			z[i] = math.Log(z[i])
		}

		if h.Inputs[i%in].Name == h.Calibration.Condition && h.Calibration.Axis != nil {
			coordinate = append(coordinate, x[i])
		}
	}

	var mu, claim, noise []float64
	if h.Orders != nil {
		mu, claim, noise, err = (&gp.OrderModel{Form: *h.Orders, Model: h.Process}).Predict(ctx, z)
	} else {
		mu, claim, noise, err = h.Process.Predict(ctx, z)
	}

	if err != nil {
		t.Fatal(err)
	}

	c := h.Calibration.Predict(x, coordinate, mu, claim, noise)
	own["mean"], own["epistemic"], own["variance"] = c.Mu, c.Epistemic, c.Total
	for k := range c.Mu {
		own["low"], own["high"] = append(own["low"], c.Mu[k]-c.Half[k]), append(own["high"], c.Mu[k]+c.Half[k])
	}

	return map[string]map[string][]float64{
		"first": {"mean": p.Mu, "variance": p.Total}, "rule": rule, "calibrated": own,
	}
}

// ONNX Runtime evaluates the graphs of calibrated splits to 1e-5 of σ, or of σ²,
// of what the program computes, at conditions within and beyond the training range.
// With DOUBLETAKE_LONG=1 these are the toy, the airfoil and the drone of the default
// run, each at 1000 random conditions.
func TestONNXCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks")
	}

	yaml, rows := campaigns, 200
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		b, err := os.ReadFile("../../pipeline.yaml")
		if err != nil {
			t.Fatal(err)
		}

		yaml, rows = string(b), 1000
	}

	node := runtime(t)

	splits, err := filepath.Glob(filepath.Join(campaign(t, yaml), "*", "splits", "*"))
	if err != nil || len(splits) < 3 {
		t.Fatalf("%v: splits %q", err, splits)
	}

	var todo []evaluation

	var want []map[string][]float64
	for _, split := range splits {
		m, err := export.OpenModels(split)
		if err != nil {
			t.Fatal(err)
		}

		if m.Uncalibrated() != "" {
			t.Fatalf("%s: %s", split, m.Uncalibrated())
		}

		paths, err := m.WriteONNX(filepath.Join(split, "onnx"))
		if err != nil {
			t.Fatal(err)
		}

		models, err := predict.Open(split)
		if err != nil {
			t.Fatal(err)
		}

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
		byGraph := expected(t, split, x)
		for _, p := range paths {
			w := byGraph[strings.TrimSuffix(filepath.Base(p), ".onnx")]
			if w == nil {
				continue
			}

			e := evaluation{Model: p, Inputs: map[string]feed{"x": {len(inputs), x}}}
			for name := range w {
				e.Outputs = append(e.Outputs, name)
			}

			todo, want = append(todo, e), append(want, w)
		}
	}

	compareGraphs(t, todo, want, evaluate(t, node, todo))
}

func ends(inputs []predict.Input) (x []float64) {
	for _, q := range inputs {
		x = append(x, q.Max)
	}
	return x
}
