package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/predict"
	"doubletake/train"
)

func itoa(i int) string { return strconv.Itoa(i) }

// quantity is an input or an outcome as a graph's description has it.
type quantity struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"`
	Min  *float64 `json:"min,omitempty"` // of the training set
	Max  *float64 `json:"max,omitempty"`
}

// Models are networks of the same inputs and outcomes, which predict together.
type Models struct {
	nets       []train.ModelFile
	digests    []string
	card       predict.Card
	calibrated *calibrated // nil where the split has none
	absent     string      // why there is none
}

// OpenModels reads a model.json, the folder of one, or the folder of a split
// with several (seed-0, seed-1, …). An error is a *fault.Error.
func OpenModels(path string) (_ *Models, err error) {
	defer fault.Catch(&err)
	models := fault.Get(predict.Open(path))
	m := &Models{card: models.Card}
	for i, net := range models.Networks() {
		digest := fault.Get(digestOf(models.Paths[i]))
		m.nets, m.digests = append(m.nets, net.File()), append(m.digests, digest)
	}

	m.calibrated, m.absent, err = readCalibrated(models)

	return m, err
}

// digestOf is the SHA-256 of a file.
func digestOf(path string) (string, error) {
	b, err := os.ReadFile(path)
	sum := sha256.Sum256(b)

	return hex.EncodeToString(sum[:]), fault.In(path, err)
}

// inputs and outcomes are those of the card, as a graph's description has them.
func (m *Models) inputs() (out []quantity) {
	for _, in := range m.card.Inputs {
		q := quantity{Name: in.Name, Unit: in.Unit}
		if !math.IsInf(in.Min, 0) { // not known without a card
			q.Min, q.Max = &in.Min, &in.Max
		}

		out = append(out, q)
	}

	return out
}

func (m *Models) outcomes() []quantity {
	return lists.Each(m.card.Outcomes, func(o predict.Outcome) quantity { return quantity{Name: o.Name, Unit: o.Unit} })
}

// Uncalibrated returns why WriteONNX writes no calibrated.onnx, "" where it does.
func (m *Models) Uncalibrated() string { return m.absent }

// WriteONNX writes a graph to dir, first.onnx (mean and variance of the networks at x), of a split
// with a calibrated model a second, calibrated.onnx, and returns their paths. Each outcome has
// outputs of its own, with the names of predict.Columns. Inputs and outputs are float64, n rows in
// own units, variances in unit²; the network itself is float32 as in training. Several models
// predict together.
func (m *Models) WriteONNX(dir string) (paths []string, err error) {
	defer fault.Catch(&err)
	files, graphs := []string{"first.onnx"}, []func() ([]byte, error){m.first}
	if m.calibrated != nil {
		files = append(files, "calibrated.onnx")
		graphs = append(graphs, func() ([]byte, error) { return m.calibrated.graph(m) })
	}

	for i, build := range graphs {
		b, path := fault.Get(build()), filepath.Join(dir, files[i])
		fault.Raise(WriteFile(path, func(w io.Writer) error { _, err := w.Write(b); return err }))
		paths = append(paths, path)
	}

	return paths, nil
}

func (m *Models) first() ([]byte, error) {
	g := &graph{}

	var mean, variance []string
	for i := range m.nets {
		p := g.begin(i, &m.nets[i])
		mu, v := p.head(p.layers(p.firstSums(p.scaleX("x"))))
		a, b := p.own(p.cast(mu, onnxDouble), p.variance(v))
		mean, variance = append(mean, a), append(variance, b)
	}

	m.mixture(g, mean, variance)

	return m.document(g, "first", "The first answer: mean and variance of one measurement at conditions x.")
}

// part is the graph of one network.
type part struct {
	*graph
	net *train.ModelFile
}

func (g *graph) begin(i int, n *train.ModelFile) *part {
	g.prefix = "model" + itoa(i) + "_"
	return &part{g, n}
}

// double is a constant of one row.
func (p *part) double(name string, v []float64) string {
	return p.float64s(p.prefix+name, v, 1, len(v))
}

func (p *part) scaleX(x string) string {
	return p.cast(p.op("Div", p.op("Sub", x, p.double("x_mean", p.net.InputMean)), p.double("x_std", p.net.InputStd)),
		onnxFloat)
}

// firstSums are the sums of the first layer with nothing fed back.
func (p *part) firstSums(x string) string {
	l := p.net.Layers[0]
	bias := make([]float32, l.Out)
	for u, b := range l.Bias {
		s := float64(b)
		for _, row := range l.Weights[p.net.Inputs : p.net.Inputs+p.net.Outcomes] {
			s += float64(p.net.None * float64(row[u]))
		}

		bias[u] = float32(s)
	}

	w := slices.Concat(l.Weights[:p.net.Inputs]...)
	product := p.op("MatMul", x, p.float32s(p.prefix+"w_x", w, p.net.Inputs, l.Out))

	return p.op("Add", product, p.float32s(p.prefix+"b_first", bias, len(bias)))
}

// layers goes from the sums of the first hidden layer to the last one's
// activations.
func (p *part) layers(sums string) string {
	last := len(p.net.Layers) - 1

	z := p.op("Relu", sums)
	for i, l := range p.net.Layers[1:last] {
		w := p.float32s(p.prefix+"w_"+itoa(i+1), slices.Concat(l.Weights...), l.In, l.Out)
		z = p.op("Relu", p.op("Add", p.op("MatMul", z, w), p.float32s(p.prefix+"b_"+itoa(i+1), l.Bias, l.Out)))
	}

	return z
}

// head returns means and raw variances, standardised, float32.
func (p *part) head(z string) (mean, raw string) {
	l, d := p.net.Layers[len(p.net.Layers)-1], p.net.Outcomes
	side := func(name string, from, to int) string {
		w := slices.Concat(lists.Each(l.Weights, func(row []float32) []float32 { return row[from:to] })...)
		product := p.op("MatMul", z, p.float32s(p.prefix+"w_"+name, w, l.In, d))

		return p.op("Add", product, p.float32s(p.prefix+"b_"+name, l.Bias[from:to], d))
	}

	return side("mean", 0, d), side("variance", d, 2*d)
}

// variance is log(1 + e^raw) + 1e-6, float64.
func (p *part) variance(raw string) string {
	r := p.cast(raw, onnxDouble)
	one, least := p.float64s("one", []float64{1}), p.float64s("least_variance", []float64{1e-6})
	tail := p.op("Log", p.op("Add", p.op("Exp", p.op("Neg", p.op("Abs", r))), one))
	return p.op("Add", p.op("Add", p.op("Relu", r), tail), least)
}

// own brings standardised means and variances to own units.
func (p *part) own(mean, variance string) (a, b string) {
	a = p.op("Add", p.op("Mul", mean, p.double("y_std", p.net.OutputStd)), p.double("y_mean", p.net.OutputMean))
	return a, p.op("Mul", variance, p.double("y_std2", squares(p.net.OutputStd)))
}

func squares(v []float64) []float64 { return lists.Each(v, func(x float64) float64 { return x * x }) }

// mean is the mean over the models.
func (g *graph) mean(list []string) string {
	sum := list[0]
	for _, s := range list[1:] {
		sum = g.op("Add", sum, s)
	}

	if len(list) == 1 {
		return sum
	}

	return g.op("Div", sum, g.float64s("models", []float64{float64(len(list))}))
}

// mixture adds mean and variance of the models' mixture in equal parts to the outputs.
func (m *Models) mixture(g *graph, mean, variance []string) {
	g.prefix = ""
	mu, v := g.mean(mean), g.mean(variance)
	if len(mean) > 1 {
		v = g.op("Add", v, g.mean(lists.Each(mean, func(m string) string {
			e := g.op("Sub", m, mu)
			return g.op("Mul", e, e)
		})))
	}

	m.output(g, predict.Column{Network: true}, "mean", mu)
	m.output(g, predict.Column{Network: true, Suffix: "_var"}, "variance of one measurement, in unit²", v)
}

// output adds the columns of a matrix, one for each outcome, to the outputs.
func (m *Models) output(g *graph, c predict.Column, doc, matrix string) {
	for j, o := range m.outcomes() {
		name := c.Name(o.Name)
		column := g.tensor("column_"+itoa(j), onnxInt64, littleEndian([]int64{int64(j)}))
		g.name(name, "Gather", attribute("axis", 1), matrix, column)
		g.outputs = append(g.outputs, value{name, doc + ": " + list([]quantity{o}), 0})
	}
}

// list names quantities with their units.
func list(q []quantity) string {
	var s []string
	for _, x := range q {
		if x.Unit != "" {
			x.Name += " [" + x.Unit + "]"
		}
		s = append(s, x.Name)
	}

	return strings.Join(s, ", ")
}

// document is the model with its description: units, training conditions, the
// digests of the model files, and more pairs of a key and a value.
func (m *Models) document(g *graph, name, doc string, more ...[2]string) ([]byte, error) {
	x := value{"x", "conditions: " + list(m.inputs()), m.nets[0].Inputs}
	for _, o := range g.outputs {
		if o.name == x.name || g.made[o.name] {
			return nil, fmt.Errorf("an outcome is called %s, as a part of the graph is: rename it", o.name)
		}
	}

	in, err1 := json.Marshal(m.inputs())
	out, err2 := json.Marshal(m.outcomes())
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}

	pairs := [][2]string{
		{"inputs", string(in)},
		{"outcomes", string(out)},
		{"models", itoa(len(m.nets))},
		{"model_sha256", strings.Join(m.digests, " ")},
		{"experiment", m.card.Experiment},
		{"data", m.card.Data},
		{"split", m.card.Split},
		{"held_out", m.card.HeldOut},
		{"config_digest", m.card.Config},
	}

	pairs = slices.DeleteFunc(append(pairs, more...), func(kv [2]string) bool { return kv[1] == "" })

	return g.model(name, m.card.Program, doc, []value{x}, pairs), nil
}
