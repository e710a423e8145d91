package export

import (
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/pipeline/predict"
	"doubletake/train/gp"
	"doubletake/train/honest"
)

// calibrated is a honest.json with a Gaussian process.
type calibrated struct {
	*honest.Model
	stored gp.Data
	digest string // of the file
}

// maxFactor limits the numbers of calibrated.onnx: 256 MB. A prediction's variance
// takes the triangle of a matrix of conditions × conditions for each outcome.
const maxFactor = 32e6

// solveBlock is the number of rows of a triangular solve whose factor is inverted.
const solveBlock = 64

// readCalibrated returns the calibrated model of a split; nil where there is none, and
// absent the reason.
func readCalibrated(models *predict.Models) (m *calibrated, absent string, err error) {
	path := models.HonestFile()
	switch h := models.Honest; {
	case h == nil:
		return nil, "there is no " + path, nil
	case h.Calibration == nil:
		return nil, h.Absent, nil
	case models.Unchecked():
		return nil, "its intervals were checked on no value", nil
	case h.Process == nil:
		return nil, "the calibrated model is made of networks; pipeline predict evaluates it", nil
	}

	m = &calibrated{Model: models.Honest, stored: models.Honest.Process.Stored()}
	if a := m.Calibration.Axis; a != nil && m.coordinate() < 0 {
		return nil, fmt.Sprintf("the groups' condition %s is no input", m.Calibration.Condition), nil
	}

	n := m.Process.Conditions()
	if c := m.Process.Cells(); c != nil {
		n = c.Cells
	}

	if size := n * n / 2 * len(m.stored.Hyper); size > maxFactor {
		return nil, fmt.Sprintf("the process of %d conditions and %d outcomes would be a graph of %d MB", n,
			len(m.stored.Hyper), size*8/1e6), nil
	}

	m.digest, err = digestOf(path)
	return m, "", err
}

// coordinate is the input whose values are the groups, -1 where it is none.
func (c *calibrated) coordinate() int {
	return slices.IndexFunc(c.Inputs, func(in honest.Input) bool { return in.Name == c.Calibration.Condition })
}

func axis(g *graph, kind string, axis int64, inputs ...string) string {
	return g.node(kind, attribute("axis", axis), inputs...)
}

// columns picks columns of x.
func (g *graph) columns(x string, which ...int) string {
	name, list := "columns", make([]int64, len(which))
	for i, k := range which {
		name, list[i] = name+"_"+itoa(k), int64(k)
	}

	return axis(g, "Gather", 1, x, g.int64s(name, list...))
}

func (g *graph) scalar(v float64) string {
	return g.float64s("number_"+fmt.Sprint(math.Float64bits(v)), []float64{v})
}

// row is a constant of one row.
func (g *graph) row(name string, v []float64) string { return g.float64s(name, v, 1, len(v)) }

func (g *graph) rowSum(x string) string { return g.op("ReduceSum", x, g.int64s("axis_1", 1)) }

// graph is that of the calibrated model.
func (c *calibrated) graph(m *Models) ([]byte, error) {
	g := &graph{}
	z := c.features(g)

	var conditions []string
	if c.stored.Averages == nil {
		conditions = c.conditions(g, "conditions_", c.stored.X)
	}

	var all [3][]string // mean, variance of the latent function, noise
	for j := range c.stored.Hyper {
		if c.stored.Averages != nil {
			conditions = c.conditions(g, "cells"+itoa(j)+"_", c.stored.Averages[j].X)
		}

		a, b, s := c.outcome(g, j, z, conditions)
		all[0], all[1], all[2] = append(all[0], a), append(all[1], b), append(all[2], s)
	}

	var joint [3]string
	for i, list := range all {
		joint[i] = axis(g, "Concat", 1, list...)
		if c.Orders != nil {
			joint[i] = g.op("Reshape", joint[i], g.int64s("conditions_by_harmonics", -1, int64(c.Orders.Harmonics)))
		}
	}

	mean, claim, noise := joint[0], joint[1], joint[2]
	epistemic, variance, half := c.interval(g, claim, noise)
	half = g.op("Where", c.uncovered(g), g.scalar(math.NaN()), half)
	rest := g.op("Max", g.op("Sub", variance, epistemic), g.scalar(0))

	learned := c.Calibration
	end := fmt.Sprintf(" end of the central %.4g %% interval of one new measurement; NaN where predict gives none",
		100*learned.Level)

	one := &Models{nets: m.nets[:1], digests: []string{c.digest}, card: m.card}
	for _, o := range [][3]string{
		{"", "mean", mean},
		{"_low", "low" + end, g.op("Sub", mean, half)},
		{"_high", "high" + end, g.op("Add", mean, half)},
		{"_sd", "standard uncertainty of one new measurement", g.op("Sqrt", variance)},
		{"_sd_epistemic", "deviation of the mean, from the left-out groups", g.op("Sqrt", epistemic)},
		{"_sd_noise", "deviation of the noise", g.op("Sqrt", rest)},
	} {
		one.output(g, predict.Column{Suffix: o[0]}, o[1], o[2])
	}

	return one.document(g, "calibrated", "A Gaussian process whose intervals were calibrated on "+
		"left-out groups of "+learned.Condition+".", [2]string{"method", "hierarchical-scale"},
		[2]string{"level", fmt.Sprint(learned.Level)}, [2]string{"k", itoa(learned.K)},
		[2]string{"prior", learned.Scale.Prior.Name})
}

// uncovered is a column that is true where no left-out group shows the model's error.
func (c *calibrated) uncovered(g *graph) string {
	all := ""
	for k, r := range c.Calibration.Inputs {
		lo, hi := r.Limits()
		x := g.columns("x", k)
		out := g.op("Or", g.op("Less", x, g.scalar(lo)), g.op("Greater", x, g.scalar(hi)))
		if r.FromGroup && c.Calibration.Axis != nil {
			out = g.op("And", out, g.op("Greater", c.distance(g), g.scalar(c.Calibration.Reach())))
		}

		if k > 0 {
			out = g.op("Or", all, out)
		}

		all = out
	}

	return all
}

// conditions are what a process is conditioned on, transposed: a row each input.
func (c *calibrated) conditions(g *graph, name string, x []float64) []string {
	in := len(c.stored.Columns)
	return lists.Make(in, func(k int) string { return g.row(name+itoa(k), lists.Column(x, in, k)) })
}

// features are the standardised inputs of the process: a row each condition, or
// each harmonic of one.
func (c *calibrated) features(g *graph) string {
	var cols []string
	if f := c.Form(); f != nil {
		for _, k := range f.Columns {
			if k.Powers == nil {
				cols = append(cols, g.columns("x", k.From))
			} else {
				cols = append(cols, g.logProduct(k.Powers))
			}
		}
	}

	for k := range c.Inputs {
		if c.Form() != nil {
			break
		}

		v := g.columns("x", k)
		if c.Orders != nil && k == c.Orders.Speed || c.Orders == nil && c.Logarithm[k] {
			v = g.op("Log", v)
		}

		cols = append(cols, v)
	}

	f := c.stored
	varying := func(rows string) string {
		v := g.columns(rows, f.Columns...)
		return g.op("Div", g.op("Sub", v, g.row("x_mean", f.InputMean)), g.row("x_std", f.InputStd))
	}

	if c.Orders == nil {
		return varying(axis(g, "Concat", 1, cols...))
	}

	// The columns of a harmonic m are those of its condition, then ln blades + ln m and m.
	h, width := c.Orders.Harmonics, c.Orders.Inputs()
	blades := g.columns("x", c.Orders.Blades)
	cols = append(cols, g.op("Log", blades), g.op("Mul", blades, g.scalar(0)))

	summand := make([]float64, h*width)
	for m := 1; m <= h; m++ {
		summand[m*width-2], summand[m*width-1] = math.Log(float64(m)), float64(m)
	}

	rows := g.op("Add", g.op("Unsqueeze", axis(g, "Concat", 1, cols...), g.int64s("axis_1", 1)),
		g.float64s("harmonics", summand, 1, h, width))

	return varying(g.op("Reshape", rows, g.int64s("rows_of_harmonics", -1, int64(width))))
}

// outcome returns mean, variance of the latent function and noise of outcome j at
// rows z, in own units: columns.
func (c *calibrated) outcome(g *graph, j int, z string, conditions []string) (mean, claim, noise string) {
	h, f, id := c.stored.Hyper[j], c.stored, "outcome"+itoa(j)+"_"
	g.prefix = id
	in := len(f.Columns)
	kernel := func(lengths []float64, use func(i int) int) string {
		q := ""
		for i, length := range lengths {
			d := g.op("Div", g.op("Sub", g.columns(z, use(i)), conditions[use(i)]), g.scalar(length))
			if d = g.op("Mul", d, d); q != "" {
				d = g.op("Add", q, d)
			}

			q = d
		}

		r := g.op("Sqrt", g.op("Mul", g.op("Add", q, g.scalar(gp.Tiny)), g.scalar(5)))
		sum := g.op("Add", g.op("Add", g.scalar(1), r), g.op("Div", g.op("Mul", r, r), g.scalar(3)))

		return g.op("Mul", sum, g.op("Exp", g.op("Neg", r)))
	}

	linear := g.op("Mul", z, g.row(id+"linear", squares(h.Linear)))

	k := g.scalar(h.Constant * h.Constant)
	for i, x := range conditions { // onnxruntime-web 1.30 multiplies vectors, unlike matrices, with float32's digits
		k = g.op("Add", g.op("Mul", g.columns(linear, i), x), k)
	}

	own := g.op("Add", g.rowSum(g.op("Mul", linear, z)), g.scalar(h.Constant*h.Constant)) // of a row with itself
	at0 := math.Sqrt(5 * gp.Tiny)
	at0 = (1 + at0 + at0*at0/3) * math.Exp(-at0)
	add := func(amplitude float64, correlation string) {
		v := amplitude * amplitude
		k = g.op("Add", k, g.op("Mul", correlation, g.scalar(v)))
		own = g.op("Add", own, g.scalar(v*at0))
	}

	add(h.Amplitude, kernel(h.Length, func(i int) int { return i }))

	if h.Shared > 0 {
		add(h.Shared, kernel(h.Lengths, func(i int) int { return f.Others[i] }))
	}

	weights, lower := c.Process.Factor(j)
	n := len(weights)
	solved := g.solve(k, id, lower, n)
	variance := g.op("Sub", own, g.rowSum(g.op("Mul", solved, solved)))
	if white, cov, fresh := c.Process.Offsets(j); white != nil { // of a new thing
		w := len(white) / n
		u := g.op("MatMul", solved, g.float64s(id+"offsets", white, n, w))
		added := g.rowSum(g.op("Mul", u, g.op("MatMul", u, g.float64s(id+"offsets2", cov, w, w))))
		variance = g.op("Add", variance, g.op("Add", added, g.scalar(fresh)))
	}

	variance = g.op("Add", g.op("Max", variance, g.scalar(gp.MinVariance)), g.scalar(h.Nugget*h.Nugget))

	// ln σ² = coefficients of 1, x_i, and x_i·x_j for i ≤ j.
	b := f.Noise[j].Coefficients

	square, at := make([]float64, in*in), 1+in
	for i := range in {
		at += copy(square[i*in+i:(i+1)*in], b[at:])
	}

	eta := g.op("Add", g.rowSum(g.op("Mul", z, g.row(id+"noise", b[1:1+in]))), g.scalar(b[0]))
	eta = g.op("Add", eta, g.rowSum(g.op("Mul", g.op("MatMul", z, g.float64s(id+"noise2", square, in, in)), z)))
	level := g.op("Exp", g.op("Clip", eta, g.scalar(gp.NoiseLowest), g.scalar(gp.NoiseHighest)))
	level = g.op("Clip", level, g.scalar(f.Noise[j].Min), g.scalar(f.Noise[j].Max))

	std := f.OutputStd[j]
	mean = g.rowSum(g.op("Mul", k, g.row(id+"weights", weights)))
	mean = g.op("Add", g.op("Mul", mean, g.scalar(std)), g.scalar(f.OutputMean[j]))

	variance, noise = g.op("Mul", variance, g.scalar(std*std)), g.op("Mul", level, g.scalar(std*std))
	if m := c.Form(); m != nil && m.Powers[j] != nil {
		factor := g.op("Exp", g.logProduct(m.Powers[j]))
		square := g.op("Mul", factor, factor)
		mean, variance, noise = g.op("Mul", mean, factor), g.op("Mul", variance, square), g.op("Mul", noise, square)
	}

	return mean, variance, noise
}

// logProduct is the column Σ powers·ln x.
func (g *graph) logProduct(powers []float64) (sum string) {
	for k, p := range powers {
		if p == 0 {
			continue
		}

		term := g.op("Mul", g.op("Log", g.columns("x", k)), g.scalar(p))
		if sum != "" {
			term = g.op("Add", sum, term)
		}

		sum = term
	}

	return sum
}

// solve returns L⁻¹k of each row k, for the lower triangle of L (n×n), by forward
// substitution in blocks: the inverse of L as a whole would lose digits.
func (g *graph) solve(k, id string, lower []float64, n int) string {
	done := ""
	for s := 0; s < n; s += solveBlock {
		e := min(s+solveBlock, n)
		x := g.op("Slice", k, g.int64s("from_"+itoa(s), int64(s)), g.int64s("to_"+itoa(e), int64(e)), g.int64s("axis_1", 1))
		if s > 0 {
			left := make([]float64, s*(e-s)) // transposed
			for i := s; i < e; i++ {
				for b := range s {
					left[b*(e-s)+i-s] = lower[i*n+b]
				}
			}

			x = g.op("Sub", x, g.op("MatMul", done, g.float64s(id+"left_"+itoa(s), left, s, e-s)))
		}

		x = g.op("MatMul", x, g.float64s(id+"inverse_"+itoa(s), inverseOf(lower, n, s, e), e-s, e-s))
		if done == "" {
			done = x
		} else {
			done = axis(g, "Concat", 1, done, x)
		}
	}

	return done
}

// inverseOf is the transposed inverse of the rows and columns from s to e of a lower
// triangle.
func inverseOf(lower []float64, n, s, e int) []float64 {
	w := e - s
	inv := make([]float64, w*w) // inv[b*w+i] is row i, column b
	for b := range w {
		for i := b; i < w; i++ {
			sum := 0.0
			if i == b {
				sum = 1
			}

			for k := b; k < i; k++ {
				sum -= lower[(s+i)*n+s+k] * inv[b*w+k]
			}

			inv[b*w+i] = sum / lower[(s+i)*n+s+i]
		}
	}

	return inv
}
