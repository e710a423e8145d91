package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/export"
	"doubletake/pipeline/predict"
	"doubletake/train"
	"doubletake/train/triplets"
)

// trained is a small network, with data of a scale and unit of their own.
func trained(t *testing.T, seed uint64, in, out int, change func(*train.Config)) *train.Model {
	t.Helper()
	const n = 200
	rng := rand.New(rand.NewPCG(7, 1))

	set := triplets.Set{N: n, In: in, Out: out}
	for range n {
		s := 0.0
		for j := range in {
			v := rng.NormFloat64()
			set.X = append(set.X, v*math.Pow(100, float64(j))+1000*float64(j))
			s += v
		}

		for j := range out {
			f := math.Sin(s+float64(j)) + 0.5*rng.NormFloat64() // of the condition: both outcomes have it
			set.Y1 = append(set.Y1, 80+10*(f+0.2*rng.NormFloat64()))
			set.Y2 = append(set.Y2, 80+10*(f+0.2*rng.NormFloat64()))
		}
	}

	cfg := train.DefaultConfig()
	cfg.Epochs, cfg.LearningRate, cfg.Kernels, cfg.Seed = 30, 5e-3, "portable", seed
	if change != nil {
		change(&cfg)
	}

	m, _, err := train.Fit(context.Background(), set, cfg, nil)
	must.Do(t, err)

	return m
}

// writeModel writes a model with its card, one of x1, … and y1, … where card is empty.
func writeModel(t *testing.T, dir string, m *train.Model, card string) {
	t.Helper()

	b, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}

	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "model.json"), b, 0o644)
	}

	if card == "" {
		var x, y []string
		for i := range m.In {
			x = append(x, fmt.Sprintf(`{"name": "x%d", "unit": ""}`, i+1))
		}

		for i := range m.Out {
			y = append(y, fmt.Sprintf(`{"name": "y%d", "unit": ""}`, i+1))
		}

		card = fmt.Sprintf(`{"format": "doubletake-card", "version": 1, "inputs": [%s], "outcomes": [%s]}`,
			strings.Join(x, ","), strings.Join(y, ","))
	}

	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "card.json"), []byte(card), 0o644)
	}

	must.Do(t, err)
}

// onnxCase is models that predict together, at rows of x.
type onnxCase struct {
	name string
	in   int
	nets []*train.Model
	rows int
}

// onnxCases are models like the toy's, the airfoil's and the drone's (1, 2 and 5
// outcomes), and small ones of the other kinds of feedback and several seeds.
func onnxCases(t *testing.T) []onnxCase {
	const rows = 1000
	small := func(kind string, value float64) func(*train.Config) {
		return func(c *train.Config) {
			c.Hidden, c.Feedback, c.FeedbackValue = []int{12, 9, 7}, kind, value
		}
	}

	return []onnxCase{
		{"toy", 1, []*train.Model{trained(t, 1, 1, 1, nil)}, rows},
		{"airfoil", 2, []*train.Model{trained(t, 1, 2, 2, nil)}, rows},
		{"drone", 3, []*train.Model{trained(t, 1, 3, 5, nil)}, rows},
		{"flag", 2, []*train.Model{trained(t, 1, 2, 3, small(train.Flag, 0)), trained(t, 2, 2, 3, small(train.Flag, 0))}, 60},
		{"constant", 1, []*train.Model{trained(t, 1, 1, 1, small(train.Constant, -3))}, 60},
	}
}

type feed struct {
	Width  int       `json:"width"`
	Values []float64 `json:"values"`
}

type evaluation struct {
	Model   string          `json:"model"`
	Inputs  map[string]feed `json:"inputs"`
	Outputs []string        `json:"outputs"`

	outcomes []string
	least    []float64 // σ² of each value counts as that at least; nil: 0
}

// ask adds the outputs of columns, one for each outcome.
func (e *evaluation) ask(columns ...string) {
	for _, c := range columns {
		for _, o := range e.outcomes {
			e.Outputs = append(e.Outputs, nameOf(c, o))
		}
	}
}

// nameOf is the name of a column of an outcome: the network's begin with network.
func nameOf(column, outcome string) string {
	suffix, network := strings.CutPrefix(column, "network")
	return predict.Column{Network: network, Suffix: suffix}.Name(outcome)
}

// ONNX Runtime evaluates the graphs to 1e-5 of σ (means) or σ² (variances) of what package train does.
func TestONNXRuntime(t *testing.T) {
	must.BeLong(t, "starts ONNX Runtime")

	node := runtime(t)
	dir := t.TempDir()
	var todo []evaluation

	var want []map[string][]float64
	for _, c := range onnxCases(t) {
		for i, m := range c.nets {
			writeModel(t, filepath.Join(dir, c.name, fmt.Sprint("seed-", i)), m, "")
		}

		models := must.Get(export.OpenModels(filepath.Join(dir, c.name)))(t)

		paths := must.Get(models.WriteONNX(filepath.Join(dir, "onnx", c.name)))(t)

		rng := rand.New(rand.NewPCG(3, 3))

		var x []float64
		for range c.rows {
			for j := range c.in {
				x = append(x, 1.5*rng.NormFloat64()*math.Pow(100, float64(j))+1000*float64(j))
			}
		}

		e := evaluation{Model: paths[0], Inputs: map[string]feed{"x": {c.in, x}}}
		for j := range c.nets[0].Out {
			e.outcomes = append(e.outcomes, fmt.Sprint("y", j+1))
		}

		e.ask("network", "network_var")
		todo, want = append(todo, e), append(want, expectation(c, x))
	}

	compareGraphs(t, todo, want, evaluate(t, node, todo))
}

// runtime finds node with ONNX Runtime.
func runtime(t *testing.T) string {
	t.Helper()

	node, err := exec.LookPath("node")
	if err != nil {
		absent(t, "DOUBLETAKE_REQUIRE_NODE", "node is not installed")
	}

	if _, err := os.Stat("testdata/onnx/node_modules/onnxruntime-web/package.json"); err != nil {
		absent(t, "DOUBLETAKE_REQUIRE_NODE", "npm onnxruntime-web is not installed (npm ci in pipeline/export/testdata/onnx)")
	}

	return node
}

// evaluate runs graphs in ONNX Runtime.
func evaluate(t *testing.T, node string, todo []evaluation) (got []map[string][]float64) {
	t.Helper()

	b := must.Get(json.Marshal(todo))(t)

	spec := filepath.Join(t.TempDir(), "todo.json")
	must.Do(t, os.WriteFile(spec, b, 0o644))

	c := exec.Command(node, "testdata/onnx/run.mjs", spec)
	if os.Getenv("DOUBLETAKE_LONG") != "all" { // to optimise the runtime's code takes longer than few conditions
		c.Args = slices.Insert(c.Args, 1, "--liftoff-only")
	}

	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	must.Never(t, err != nil, "run.mjs: %v\n%s", err, &stderr)

	var decoded []map[string][]*float64
	must.Do(t, json.Unmarshal(out, &decoded))

	for _, columns := range decoded {
		list := map[string][]float64{}
		for name, values := range columns {
			for _, v := range values {
				if v == nil { // JSON has no NaN
					v = new(float64)
					*v = math.NaN()
				}

				list[name] = append(list[name], *v)
			}
		}

		got = append(got, list)
	}

	return got
}

// compareGraphs compares columns with expected ones, all outcomes of a condition after one another:
// means, δ and deviations to 1e-5 of σ, ends of intervals to 5e-5 of σ, for which the program merges
// laws of nearly equal variances, the others to 1e-5 of σ².
func compareGraphs(t *testing.T, todo []evaluation, want, got []map[string][]float64) {
	t.Helper()

	for i, w := range want {
		model := strings.Split(filepath.ToSlash(todo[i].Model), "/")
		graph := strings.Join(model[max(0, len(model)-5):], "/")
		sigma2, d := w["network_var"], len(todo[i].outcomes)
		if sigma2 == nil {
			sigma2 = squares(w["_sd"])
		}

		for column, values := range w {
			worst, limit := 0.0, 1e-5
			if column == "_low" || column == "_high" {
				limit = 5e-5
			}

			for k, v := range values {
				list := got[i][nameOf(column, todo[i].outcomes[k%d])]
				must.Be(t, len(list), len(values)/d, "%s: values of %s", graph, column)

				scale := sigma2[k]
				if least := todo[i].least; least != nil {
					scale = max(scale, least[k])
				}

				switch column {
				case "network_var":
				default:
					scale = math.Sqrt(scale)
				}

				if off := list[k/d] - v; !(math.IsNaN(list[k/d]) && math.IsNaN(v)) {
					worst = math.Max(worst, math.Abs(off)/scale)
				}
			}

			t.Logf("%s: %s within %.1e", graph, nameOf(column, "outcome"), worst)

			if !(worst <= limit) {
				t.Errorf("%s: %s is off by %.2e of σ or σ², expected at most %g", graph, nameOf(column, "outcome"), worst, limit)
			}
		}
	}
}

func squares(v []float64) (out []float64) {
	for _, x := range v {
		out = append(out, x*x)
	}
	return out
}

// expectation is what package train makes of the graph: mean and variance of the networks' mixture.
func expectation(c onnxCase, x []float64) map[string][]float64 {
	n, k := c.rows*c.nets[0].Out, float64(len(c.nets))
	mean, square := make([]float64, n), make([]float64, n)
	for _, m := range c.nets {
		mu, v := m.Predict(x)
		for i := range mu {
			mean[i] += mu[i] / k
			square[i] += (v[i] + mu[i]*mu[i]) / k
		}
	}

	for i, mu := range mean {
		square[i] -= mu * mu
	}

	return map[string][]float64{"network": mean, "network_var": square}
}

const onnxCard = `{"format": "doubletake-card", "version": 1, "program": "doubletake test", "experiment": "wing",
"data": "measured", "split": "b3", "held_out": "b = 3",
"config_digest": "abc", "inputs": [{"name": "a", "unit": "deg", "min": 0, "max": 2},
{"name": "b", "unit": "", "min": 1, "max": 4}], "outcomes": [{"name": "lift", "unit": "N"}]}`

// description is what onnx's own checker reads of a graph.
type description struct {
	Metadata map[string]string `json:"metadata"`
	Kinds    map[string][]any  `json:"kinds"`
	Opset    int               `json:"opset"`
}

// check runs onnx's own checker.
func check(t *testing.T, paths []string) (got []description) {
	t.Helper()

	var p string
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import onnx").Run() == nil {
			p = name
		}
	}

	if p == "" {
		absent(t, "DOUBLETAKE_REQUIRE_ONNX", "no python3 has onnx (apt-get install python3-onnx)")
	}

	out, err := exec.Command(p, append([]string{"testdata/check.py"}, paths...)...).CombinedOutput()
	must.Never(t, err != nil, "%v\n%s", err, out)

	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(paths) {
		t.Fatalf("%v in %s", err, out)
	}

	return got
}

// onnx's own checker passes, and finds types, units and provenance.
func TestONNXChecker(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, trained(t, 1, 2, 1, func(c *train.Config) { c.Hidden = []int{6} }), onnxCard)

	models := must.Get(export.OpenModels(filepath.Join(dir, "model.json")))(t)

	paths := must.Get(models.WriteONNX(dir))(t)

	must.Be(t, len(paths), 1, "graphs")

	for i, g := range check(t, paths) {
		if g.Opset != 13 || fmt.Sprint(g.Kinds["x"]) != "[11 n 2]" || fmt.Sprint(g.Kinds["network_lift"]) != "[11 n]" {
			t.Errorf("%s: operator set %d, %v", paths[i], g.Opset, g.Kinds)
		}

		for k, want := range map[string]string{
			"inputs":   `[{"name":"a","unit":"deg","min":0,"max":2},{"name":"b","unit":"","min":1,"max":4}]`,
			"outcomes": `[{"name":"lift","unit":"N"}]`, "models": "1", "experiment": "wing", "held_out": "b = 3",
			"data": "measured",
		} {
			must.Equal(t, g.Metadata[k], want, "%s: metadata %s is", paths[i], k)
		}

		must.Not(t, len(g.Metadata["model_sha256"]) != 64, "%s: digest %q", paths[i], g.Metadata["model_sha256"])
	}
}

// Equal models give equal graphs; a file that is no model is an error that names it.
func TestONNXFiles(t *testing.T) {
	dir := t.TempDir()
	m := trained(t, 1, 2, 1, func(c *train.Config) { c.Hidden = []int{6} })
	writeModel(t, filepath.Join(dir, "seed-0"), m, onnxCard)
	writeModel(t, filepath.Join(dir, "seed-10"), m, onnxCard)
	writeModel(t, filepath.Join(dir, "seed-2"), trained(t, 2, 2, 1, nil), onnxCard)

	var bytesOf [2][]byte
	for i := range bytesOf {
		models := must.Get(export.OpenModels(dir))(t)

		paths := must.Get(models.WriteONNX(filepath.Join(dir, fmt.Sprint("out", i))))(t)

		for _, p := range paths {
			b, err := os.ReadFile(p)
			must.Never(t, err != nil || filepath.Base(p) != "first.onnx", "%s: %v", p, err)

			bytesOf[i] = append(bytesOf[i], b...)
		}
	}

	must.Not(t, !slices.Equal(bytesOf[0], bytesOf[1]), "two exports differ")

	writeModel(t, filepath.Join(dir, "other", "seed-0"), m,
		strings.Replace(onnxCard, `"outcomes": [`, `"outcomes": [{"name": "drag", "unit": "N"}, `, 1))
	writeModel(t, filepath.Join(dir, "two", "seed-0"), m, onnxCard)
	writeModel(t, filepath.Join(dir, "two", "seed-1"), trained(t, 1, 1, 1, nil), "")

	must.Do(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"format": "x"}`), 0o644))

	for path, want := range map[string]string{
		"none":     "expected an experiment, EXPERIMENT/SPLIT, a folder with models or a model.json, found nothing",
		"out0":     "expected model.json, or seed-*/model.json, found none in the folder",
		"bad.json": `expected a trained model, found none: decode model: expected format "doubletake-model" version 1`,
		"other":    "card.json: expected 2 inputs and 1 outcomes, as its model has, found 2 and 2",
		"two":      "expected a model of the same inputs, outcomes and held-out set as ",
	} {
		_, err := export.OpenModels(filepath.Join(dir, path))
		must.Refuse(t, err, want)
	}
}
