package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/predict"
	"doubletake/train"
)

func itoa(i int) string { return strconv.Itoa(i) }

// network is a model.json. train.Model checks its contents.
type network struct {
	In         int       `json:"inputs"`
	Out        int       `json:"outcomes"`
	InputMean  []float64 `json:"input_mean"`
	InputStd   []float64 `json:"input_std"`
	OutputMean []float64 `json:"outcome_mean"`
	OutputStd  []float64 `json:"outcome_std"`
	Feedback   string    `json:"feedback"`
	Config     struct {
		Head string `json:"head"`
	} `json:"config"`
	None   float64 `json:"feedback_when_none"`
	Layers []struct {
		In      int         `json:"in"`
		Out     int         `json:"out"`
		Weights [][]float32 `json:"weights"`
		Bias    []float32   `json:"bias"`
	} `json:"layers"`
}

// quantity is an input or an outcome as a graph's description has it.
type quantity struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"`
	Min  *float64 `json:"min,omitempty"` // of the training set
	Max  *float64 `json:"max,omitempty"`
}

// Models are networks of the same inputs and outcomes, which predict together.
type Models struct {
	nets       []network
	digests    []string
	card       predict.Card
	calibrated *calibrated // nil where the split has none
	absent     string      // why there is none
}

// OpenModels reads a model.json, the folder of one, or the folder of a split
// with several (seed-0, seed-1, …). An error is a *fault.Error.
func OpenModels(path string) (*Models, error) {
	models, err := predict.Open(path)
	if err != nil {
		return nil, err
	}

	m := &Models{card: models.Card}
	for _, f := range models.Paths {
		var n network

		b, err := fault.ReadFile(f, train.MaxModelFile, "a trained model")
		if err == nil {
			err = json.Unmarshal(b, &n)
		}

		if err != nil {
			return nil, fault.In(f, err)
		}

		if n.Config.Head != train.TwoAnswers {
			return nil, &fault.Error{
				Path: f, Want: "a network of two answers", Found: "head: " + n.Config.Head,
				Hint: "its tables can be exported (--format csv), and model.json describes how to evaluate it",
			}
		}

		sum := sha256.Sum256(b)
		m.nets, m.digests = append(m.nets, n), append(m.digests, hex.EncodeToString(sum[:]))
	}

	m.calibrated, m.absent, err = readCalibrated(models)

	return m, err
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

func (m *Models) outcomes() (out []quantity) {
	for _, o := range m.card.Outcomes {
		out = append(out, quantity{Name: o.Name, Unit: o.Unit})
	}
	return out
}

// Uncalibrated returns why WriteONNX writes no calibrated.onnx, "" where it does.
func (m *Models) Uncalibrated() string { return m.absent }

// WriteONNX writes three graphs to dir and returns their paths: first.onnx (mean and variance
// at x), given.onnx (those at x with y fed back) and rule.onnx (those at x, C, δ and κ); of a split
// with a calibrated model a fourth, calibrated.onnx. Each outcome has outputs of its own, with the
// names of predict.Columns. Inputs and outputs are float64, n rows in own units, variances in
// unit²; the network itself is float32 as in training. Several models predict
// together.
//
// cov, delta and kappa are C, δ and κ by the rule that train.Cubature gives. With
// one outcome it is the trapezoidal rule on 2049 points from −7σ to 7σ, which
// leaves 1e-5 of σ² of the exact integral.
func (m *Models) WriteONNX(dir string) ([]string, error) {
	type file struct {
		file  string
		build func() ([]byte, error)
	}

	files := []file{{"first.onnx", m.first}, {"given.onnx", m.given}, {"rule.onnx", m.rule}}
	if m.calibrated != nil {
		files = append(files, file{"calibrated.onnx", func() ([]byte, error) { return m.calibrated.graph(m) }})
	}

	var paths []string
	for _, w := range files {
		b, err := w.build()
		if err != nil {
			return nil, err
		}

		path := filepath.Join(dir, w.file)
		if err := WriteFile(path, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return nil, err
		}

		paths = append(paths, path)
	}

	return paths, nil
}

func (m *Models) first() ([]byte, error) {
	g := m.answer(func(p *part) string { return p.firstSums(p.scaleX("x")) })
	return m.document(g, "first", "The first answer: mean and variance of one measurement at conditions x.",
		[]value{m.x()})
}

func (m *Models) given() ([]byte, error) {
	g := m.answer(func(p *part) string {
		own := p.op("Sub", "y", p.double("y_mean", p.net.OutputMean))
		y := p.cast(p.op("Div", own, p.double("y_std", p.net.OutputStd)), onnxFloat)
		return p.op("Add", p.againSums(p.scaleX("x")), p.op("MatMul", y, p.feedback()))
	})

	y := value{"y", "outcomes that are fed back: " + list(m.outcomes()), m.nets[0].Out}

	return m.document(g, "given", "The second answer: mean and variance of a measurement at conditions x when outcomes "+
		"y are fed back.",
		[]value{m.x(), y})
}

// answer is the graph of mean and variance after the sums of the first layer.
func (m *Models) answer(sums func(p *part) string) *graph {
	g := &graph{}

	var mean, variance []string
	for i := range m.nets {
		p := g.begin(i, &m.nets[i])
		mu, v := p.head(p.layers(sums(p)))
		a, b := p.own(p.cast(mu, onnxDouble), p.variance(v))
		mean, variance = append(mean, a), append(variance, b)
	}

	m.mixture(g, mean, variance)

	return g
}

func (m *Models) rule() ([]byte, error) {
	g := &graph{}
	d := m.nets[0].Out
	name, nodes, weights := rule(d)
	points := len(weights)
	eps := g.float32s("points", nodes, 1, points, d)
	eps64 := g.cast(eps, onnxDouble)
	w := g.float64s("weights", weights, 1, points)
	one := g.int64s("axis_1", 1)

	var all [5][]string
	for i := range m.nets {
		p := g.begin(i, &m.nets[i])
		x := p.scaleX("x")
		mu32, raw := p.head(p.layers(p.firstSums(x)))
		mu, variance := p.cast(mu32, onnxDouble), p.variance(raw)
		sd := p.op("Sqrt", variance)

		// n × points × …: the second answers.
		fixed := p.op("Add", p.againSums(x), p.op("MatMul", mu32, p.feedback()))
		moved := p.op("Mul", p.op("Unsqueeze", p.cast(sd, onnxFloat), one), eps)
		sums := p.op("Add", p.op("Unsqueeze", fixed, one), p.op("MatMul", moved, p.feedback()))
		m32, rawAgain := p.head(p.layers(sums))
		c := p.cast(p.op("Sub", m32, p.op("Unsqueeze", mu32, one)), onnxDouble)
		sum := func(v string) string { return p.op("Squeeze", p.op("MatMul", w, v), one) }
		delta := sum(c)
		cov := p.op("Mul", sd, sum(p.op("Mul", eps64, c)))
		scatter := p.op("Sub", sum(p.op("Mul", c, c)), p.op("Mul", delta, delta))
		kappa := p.op("Sub", p.op("Add", sum(p.variance(rawAgain)), scatter), variance)

		std := p.double("y_std", p.net.OutputStd)
		square := p.double("y_std2", squares(p.net.OutputStd))

		mean, v := p.own(mu, variance)
		for k, s := range []string{mean, v, p.op("Mul", cov, square), p.op("Mul", delta, std), p.op("Mul", kappa, square)} {
			all[k] = append(all[k], s)
		}
	}

	m.mixture(g, all[0], all[1])

	for k, o := range [][2]string{
		{"_cov", "C, the covariance of the two answers, in unit²"},
		{"_delta", "δ, the mean shift of the second answer"},
		{"_kappa", "κ = (variance of the second answer + variance of its mean) − σ², in unit²"},
	} {
		m.output(g, predict.Column{Network: true, Suffix: o[0]}, o[1], g.mean(all[2+k]))
	}

	return m.document(g, "rule", "Mean and variance of one measurement, and what the two answers differ by: C, δ and κ.",
		[]value{m.x()}, [2]string{"integration", name})
}

// rule returns the points and weights of the integration over d outcomes.
func rule(d int) (name string, points []float32, weights []float64) {
	if d > 1 {
		return train.Cubature(d)
	}

	const n, reach = 2049, 7.0

	sum := 0.0
	for i := range n {
		// Symmetric also when rounded to float32.
		e := float64(float32(reach * float64(2*i-(n-1)) / (n - 1)))
		points = append(points, float32(e))
		weights = append(weights, math.Exp(-0.5*e*e))
		sum += weights[i]
	}

	for i := range weights {
		weights[i] /= sum
	}

	return "trapezoid-" + itoa(n), points, weights
}

// part is the graph of one network.
type part struct {
	*graph
	net *network
	id  string
}

func (g *graph) begin(i int, n *network) *part {
	g.prefix = "model" + itoa(i) + "_"
	return &part{g, n, g.prefix}
}

// double is a constant of one row.
func (p *part) double(name string, v []float64) string { return p.float64s(p.id+name, v, 1, len(v)) }

func (p *part) scaleX(x string) string {
	return p.cast(p.op("Div", p.op("Sub", x, p.double("x_mean", p.net.InputMean)), p.double("x_std", p.net.InputStd)),
		onnxFloat)
}

// weights returns rows of the first layer as a constant.
func (p *part) weights(name string, rows [][]float32) string {
	return p.float32s(p.id+name, slices.Concat(rows...), len(rows), p.net.Layers[0].Out)
}

func (p *part) feedback() string {
	return p.weights("w_y", p.net.Layers[0].Weights[p.net.In:p.net.In+p.net.Out])
}

// firstSums are the sums of the first layer with nothing fed back.
func (p *part) firstSums(x string) string {
	l := p.net.Layers[0]
	bias := make([]float32, l.Out)
	for u, b := range l.Bias {
		s := float64(b)
		for _, row := range l.Weights[p.net.In : p.net.In+p.net.Out] {
			s += float64(p.net.None * float64(row[u]))
		}

		bias[u] = float32(s)
	}

	return p.inputSums(x, "b_first", bias)
}

// againSums are the sums of the first layer when something is fed back, without
// its part.
func (p *part) againSums(x string) string {
	l := p.net.Layers[0]
	bias := slices.Clone(l.Bias)
	if p.net.Feedback == train.Flag {
		for u, w := range l.Weights[p.net.In+p.net.Out] {
			bias[u] += w
		}
	}

	return p.inputSums(x, "b_again", bias)
}

func (p *part) inputSums(x, name string, bias []float32) string {
	product := p.op("MatMul", x, p.weights("w_x", p.net.Layers[0].Weights[:p.net.In]))
	return p.op("Add", product, p.float32s(p.id+name, bias, len(bias)))
}

// layers goes from the sums of the first hidden layer to the last one's
// activations.
func (p *part) layers(sums string) string {
	last := len(p.net.Layers) - 1

	z := p.op("Relu", sums)
	for i, l := range p.net.Layers[1:last] {
		w := p.float32s(p.id+"w_"+itoa(i+1), slices.Concat(l.Weights...), l.In, l.Out)
		z = p.op("Relu", p.op("Add", p.op("MatMul", z, w), p.float32s(p.id+"b_"+itoa(i+1), l.Bias, l.Out)))
	}

	return z
}

// head returns means and raw variances, standardised, float32.
func (p *part) head(z string) (mean, raw string) {
	l, d := p.net.Layers[len(p.net.Layers)-1], p.net.Out
	side := func(name string, from, to int) string {
		var w []float32
		for _, row := range l.Weights {
			w = append(w, row[from:to]...)
		}

		product := p.op("MatMul", z, p.float32s(p.id+"w_"+name, w, l.In, d))

		return p.op("Add", product, p.float32s(p.id+"b_"+name, l.Bias[from:to], d))
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

func squares(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * x
	}

	return out
}

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
		var squares []string
		for _, m := range mean {
			e := g.op("Sub", m, mu)
			squares = append(squares, g.op("Mul", e, e))
		}

		v = g.op("Add", v, g.mean(squares))
	}

	m.output(g, predict.Column{Network: true}, "mean", mu)
	m.output(g, predict.Column{Network: true, Suffix: "_var"}, "variance of one measurement, in unit²", v)
}

func (m *Models) x() value { return value{"x", "conditions: " + list(m.inputs()), m.nets[0].In} }

// output adds the columns of a matrix, one for each outcome, to the outputs.
func (m *Models) output(g *graph, c predict.Column, doc, matrix string) {
	for j, o := range m.outcomes() {
		name := c.Name(o.Name)
		column := g.tensor("column_"+itoa(j), onnxInt64, littleEndian([]int64{int64(j)}))
		g.name(name, "Gather", axisOf(1), matrix, column)
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
func (m *Models) document(g *graph, name, doc string, inputs []value, more ...[2]string) ([]byte, error) {
	for _, o := range g.outputs {
		if o.name == inputs[0].name || g.made[o.name] {
			return nil, fmt.Errorf("an outcome is called %s, as a part of the graph is: rename it", o.name)
		}
	}

	in, err := json.Marshal(m.inputs())
	if err != nil {
		return nil, err
	}

	out, err := json.Marshal(m.outcomes())
	if err != nil {
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

	return g.model(name, m.card.Program, doc, inputs, pairs), nil
}
