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
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func writeModel(t *testing.T, dir string, m *train.Model, card string) {
	t.Helper()

	b, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}

	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "model.json"), b, 0o644)
	}

	if err == nil && card != "" {
		err = os.WriteFile(filepath.Join(dir, "card.json"), []byte(card), 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}
}

// onnxCase is models that predict together, at rows of x.
type onnxCase struct {
	name string
	in   int
	nets []*train.Model
	rows int
}

// onnxCases are models like the toy's, the airfoil's and the drone's (1, 2 and 5
// outcomes) at 1000 conditions, and small ones of the other kinds of feedback and
// several seeds.
func onnxCases(t *testing.T) []onnxCase {
	small := func(kind string, value float64) func(*train.Config) {
		return func(c *train.Config) {
			c.Hidden, c.Feedback, c.FeedbackValue = []int{12, 9, 7}, kind, value
		}
	}

	toy := func(c *train.Config) { c.Hidden = []int{32, 32} } // its rule has 2049 points

	return []onnxCase{
		{"toy", 1, []*train.Model{trained(t, 1, 1, 1, toy)}, 1000},
		{"airfoil", 2, []*train.Model{trained(t, 1, 2, 2, nil)}, 1000},
		{"drone", 3, []*train.Model{trained(t, 1, 3, 5, nil)}, 1000},
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

// ONNX Runtime evaluates the graphs to 1e-5 of σ (means, δ) or σ² (variances, C,
// κ) of what package train does.
func TestONNXRuntime(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skip("evaluates millions of second answers; DOUBLETAKE_LONG=1 runs it")
	}

	node := runtime(t)
	dir := t.TempDir()
	var todo []evaluation

	var want []map[string][]float64
	for _, c := range onnxCases(t) {
		for i, m := range c.nets {
			writeModel(t, filepath.Join(dir, c.name, fmt.Sprint("seed-", i)), m, "")
		}

		models, err := export.OpenModels(filepath.Join(dir, c.name))
		if err != nil {
			t.Fatal(err)
		}

		paths, err := models.WriteONNX(filepath.Join(dir, "onnx", c.name))
		if err != nil {
			t.Fatal(err)
		}

		rng := rand.New(rand.NewPCG(3, 3))

		var x []float64
		for range c.rows {
			for j := range c.in {
				x = append(x, 1.5*rng.NormFloat64()*math.Pow(100, float64(j))+1000*float64(j))
			}
		}

		w, y := expectation(t, c, x)

		xs := feed{c.in, x}
		for i, path := range paths {
			e := evaluation{Model: path, Inputs: map[string]feed{"x": xs}}
			for j := range c.nets[0].Out {
				e.outcomes = append(e.outcomes, fmt.Sprint("y", j+1)) // those of a model without a card
			}

			e.ask("network", "network_var")
			if i == 1 {
				e.Inputs["y"] = feed{c.nets[0].Out, y}
			}

			if i == 2 {
				e.ask("network_cov", "network_delta", "network_kappa")
			}

			todo, want = append(todo, e), append(want, w[i])
		}
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

	b, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}

	spec := filepath.Join(t.TempDir(), "todo.json")
	if err := os.WriteFile(spec, b, 0o644); err != nil {
		t.Fatal(err)
	}

	c := exec.Command(node, "testdata/onnx/run.mjs", spec)
	if os.Getenv("DOUBLETAKE_LONG") == "" { // to optimise the runtime's code takes longer than few conditions
		c.Args = slices.Insert(c.Args, 1, "--liftoff-only")
	}

	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("run.mjs: %v\n%s", err, &stderr)
	}

	var decoded []map[string][]*float64
	if err := json.Unmarshal(out, &decoded); err != nil {
		t.Fatal(err)
	}

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
				if len(list) != len(values)/d {
					t.Fatalf("%s: %d values of %s, expected %d", graph, len(list), column, len(values)/d)
				}

				scale := sigma2[k]
				if least := todo[i].least; least != nil {
					scale = max(scale, least[k])
				}

				switch column {
				case "network_var", "network_cov", "network_kappa":
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

// expectation is what package train makes of the three graphs, and the outcomes
// that are fed back to the second.
func expectation(t *testing.T, c onnxCase, x []float64) (want [3]map[string][]float64, y []float64) {
	n, d := c.rows*c.nets[0].Out, c.nets[0].Out
	var means, variances, means2, variances2 [][]float64

	rule := map[string][]float64{
		"network_cov": make([]float64, n), "network_delta": make([]float64, n), "network_kappa": make([]float64, n),
	}
	for _, m := range c.nets {
		mu, v := m.Predict(x)
		if y == nil {
			for k := range mu {
				y = append(y, mu[k]+math.Sqrt(v[k]))
			}
		}

		mu2, v2 := m.PredictGiven(x, y)
		means, variances, means2, variances2 = append(means, mu), append(variances, v), append(means2, mu2),
			append(variances2, v2)

		e, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: 2})
		if err != nil {
			t.Fatal(err)
		}

		std := m.OutcomeScale().Std
		for k := range n {
			s := std[k%d]
			rule["network_cov"][k] += s * s * e.Cov[k] / float64(len(c.nets))
			rule["network_delta"][k] += s * e.Delta[k] / float64(len(c.nets))
			rule["network_kappa"][k] += s * s * e.Kappa[k] / float64(len(c.nets))
		}
	}

	mixture := func(means, variances [][]float64) map[string][]float64 {
		mu, v := make([]float64, n), make([]float64, n)
		for k := range n {
			for i := range means {
				mu[k] += means[i][k] / float64(len(means))
			}

			for i := range means {
				v[k] += (variances[i][k] + (means[i][k]-mu[k])*(means[i][k]-mu[k])) / float64(len(means))
			}
		}

		return map[string][]float64{"network": mu, "network_var": v}
	}

	want[0], want[1], want[2] = mixture(means, variances), mixture(means2, variances2), mixture(means, variances)
	for k, v := range rule {
		want[2][k] = v
	}

	return want, y
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
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(paths) {
		t.Fatalf("%v in %s", err, out)
	}

	return got
}

// onnx's own checker passes, and finds types, units and provenance.
func TestONNXChecker(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, trained(t, 1, 2, 1, func(c *train.Config) { c.Hidden = []int{6} }), onnxCard)

	models, err := export.OpenModels(filepath.Join(dir, "model.json"))
	if err != nil {
		t.Fatal(err)
	}

	paths, err := models.WriteONNX(dir)
	if err != nil {
		t.Fatal(err)
	}

	if len(paths) != 3 {
		t.Fatalf("graphs %q, expected 3", paths)
	}

	for i, g := range check(t, paths) {
		if g.Opset != 13 || fmt.Sprint(g.Kinds["x"]) != "[11 n 2]" || fmt.Sprint(g.Kinds["network_lift"]) != "[11 n]" {
			t.Errorf("%s: operator set %d, %v", paths[i], g.Opset, g.Kinds)
		}

		for k, want := range map[string]string{
			"inputs":   `[{"name":"a","unit":"deg","min":0,"max":2},{"name":"b","unit":"","min":1,"max":4}]`,
			"outcomes": `[{"name":"lift","unit":"N"}]`, "models": "1", "experiment": "wing", "held_out": "b = 3",
			"data": "measured",
		} {
			if g.Metadata[k] != want {
				t.Errorf("%s: metadata %s is %q, expected %q", paths[i], k, g.Metadata[k], want)
			}
		}

		if i == 2 && g.Metadata["integration"] != "trapezoid-2049" {
			t.Errorf("%s: integration %q", paths[i], g.Metadata["integration"])
		}

		if len(g.Metadata["model_sha256"]) != 64 {
			t.Errorf("%s: digest %q", paths[i], g.Metadata["model_sha256"])
		}
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
		models, err := export.OpenModels(dir)
		if err != nil {
			t.Fatal(err)
		}

		paths, err := models.WriteONNX(filepath.Join(dir, fmt.Sprint("out", i)))
		if err != nil {
			t.Fatal(err)
		}

		for k, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil || filepath.Base(p) != []string{"first.onnx", "given.onnx", "rule.onnx"}[k] {
				t.Fatalf("%s: %v", p, err)
			}

			bytesOf[i] = append(bytesOf[i], b...)
		}
	}

	if !slices.Equal(bytesOf[0], bytesOf[1]) {
		t.Error("two exports differ")
	}

	writeModel(t, filepath.Join(dir, "other", "seed-0"), m,
		strings.Replace(onnxCard, `"outcomes": [`, `"outcomes": [{"name": "drag", "unit": "N"}, `, 1))
	writeModel(t, filepath.Join(dir, "two", "seed-0"), m, onnxCard)
	writeModel(t, filepath.Join(dir, "two", "seed-1"), trained(t, 1, 1, 1, nil), "")

	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"format": "x"}`), 0o644); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"none":     "expected a model.json, or a folder with models, found nothing",
		"out0":     "expected model.json, or seed-*/model.json, found none in the folder",
		"bad.json": `expected a trained model, found none: decode model: expected format "doubletake-model" version 1`,
		"other":    "card.json: expected 2 inputs and 1 outcomes, as its model has, found 2 and 2",
		"two":      "expected a model of the same inputs, outcomes and held-out set as ",
	} {
		if _, err := export.OpenModels(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", path, err, want)
		}
	}
}
