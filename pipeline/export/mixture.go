package export

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// minClaim is the standardised variance to which a smaller claim is raised.
const minClaim = 1e-9

// lambdas and kappas are the largest numbers of values of λ, for each shape, and of κ in the
// graph. Half widths differ by 5e-6 from those of all values, up to a level of 99.99 %.
const lambdas, kappas = 20, 7

// newtonSteps give nine digits of a half width at levels from 10 to 99.99 %.
const newtonSteps = 8

// scaledErfc is (1+2x)·exp(x²)·erfc(x) for x ≥ 0, within 5e-12 of it, as a polynomial of
// t = (x−3)/(x+3), by ascending powers. ONNX Runtime knows erf in float32 only.
var scaledErfc = [...]float64{
	1.253008058270, -0.135621106045, -0.047562294343, 0.129645154890, -0.119273663884, 0.068308081221,
	-0.023770508303, 0.002529047709, 0.001888647542, -0.000778655343, -0.000105009266, 0.000122778664,
	0.000004638048, -0.000017412213, -0.000000339417, 0.000001694670, 0.000000054902,
}

// interval returns the variance of the mean, that of one measurement and the half width of
// its interval, where the process claims a variance and states a noise.
func (c *calibrated) interval(g *graph, claim, noise string) (epistemic, variance, half string) {
	g.prefix = ""
	unit := c.Calibration.Deviation
	unit2 := g.row("deviation2", squares(unit))
	claim, noise = g.op("Div", claim, unit2), g.op("Div", noise, unit2)

	laws := reduced(c.Calibration.Scale.Predictor().Components())
	shape, lambda := make([]int64, len(laws)), make([]float64, len(laws))
	kappa, weight := make([]float64, len(laws)), make([]float64, len(laws))
	for i, k := range laws {
		shape[i], lambda[i], kappa[i], weight[i] = int64(k.Shape), k.Lambda, k.Kappa, k.Weight
	}

	weights, third := g.row("weight", weight), g.int64s("axis_2", 2)
	mean := func(v string) string {
		return g.op("Squeeze", g.op("ReduceSum", g.op("Mul", v, weights), third), third)
	}

	// The laws are along a third axis.
	shapes := axis(g, "Gather", 2, c.shapes(g, claim), g.int64s("shape", shape...))
	latent := g.op("Mul", shapes, g.row("lambda", lambda))
	variances := g.op("Add", latent, g.op("Mul", g.op("Unsqueeze", noise, third), g.row("kappa", kappa)))
	epistemic, variance = mean(latent), mean(variances)
	half = g.half(c.Calibration.Level, variances, variance, weights)

	return g.op("Mul", epistemic, unit2), g.op("Mul", variance, unit2), g.op("Mul", half, g.row("deviation", unit))
}

// shapes are the values of each scale.Shape, along a third axis.
func (c *calibrated) shapes(g *graph, claim string) string {
	s := c.Calibration.Scale
	raised := g.op("Mul", g.op("Max", claim, g.scalar(max(s.Floor, minClaim))), g.scalar(s.Factor))
	distance := g.op("Mul", c.distance(g), g.scalar(s.Ratio))
	distance = g.op("Add", g.op("Mul", claim, g.scalar(0)), distance) // a column each outcome

	list := [...]string{
		scale.Claim: raised, scale.Both: g.op("Sqrt", g.op("Mul", raised, distance)), scale.Distance: distance,
	}
	for i, q := range list {
		list[i] = g.op("Unsqueeze", q, g.int64s("axis_2", 2))
	}

	return axis(g, "Concat", 2, list[:]...)
}

// distance is that to the measured groups: a column, or 1 for labels.
func (c *calibrated) distance(g *graph) string {
	a := c.Calibration.Axis
	if a == nil {
		return g.scalar(1)
	}

	// Between measured values a < b the distance is 2(z−a)(b−z)/((b−a)·Range), which is
	// negative for all other z.
	z, n := g.columns("x", c.coordinate()), len(a.Values)
	below, above := g.op("Sub", g.scalar(a.Values[0]), z), g.op("Sub", z, g.scalar(a.Values[n-1]))
	d := g.op("Mul", g.op("Max", g.op("Max", below, above), g.scalar(0)), g.scalar(2/a.Range))
	if n > 1 {
		lengths := lists.Make(n-1, func(i int) float64 { return (a.Values[i+1] - a.Values[i]) * a.Range / 2 })
		between := g.op("Mul", g.op("Sub", z, g.row("lower_values", a.Values[:n-1])),
			g.op("Sub", g.row("upper_values", a.Values[1:]), z))
		between = g.op("Max", g.op("Div", between, g.row("lengths", lengths)), g.scalar(0))
		d = g.op("Add", d, g.rowSum(between))
	}

	return g.op("Add", d, g.scalar(interval.MinDistance))
}

// half is the half width of the central interval of the laws with these variances and
// weights: the root of Σ w·erfc(√(y/2v)) = 1 − level, where y is its square. The logarithm of
// the sum is convex in y, so that Newton's steps from below cannot pass the root.
func (g *graph) half(level float64, variances, variance, weight string) string {
	z, third := scale.NormalQuantile(level), g.int64s("axis_2", 2)
	sum := func(v string) string { return g.op("ReduceSum", v, third) }
	y := g.op("Mul", g.op("Unsqueeze", variance, third), g.scalar(z*z))
	twice := g.op("Mul", variances, g.scalar(2))
	for range newtonSteps {
		x2 := g.op("Div", y, twice)
		x := g.op("Sqrt", x2)
		density := g.op("Mul", g.op("Exp", g.op("Neg", x2)), weight)

		t := g.op("Div", g.op("Sub", x, g.scalar(3)), g.op("Add", x, g.scalar(3)))
		p := g.scalar(scaledErfc[len(scaledErfc)-1])
		for _, c := range slices.Backward(scaledErfc[:len(scaledErfc)-1]) {
			p = g.op("Add", g.op("Mul", p, t), g.scalar(c))
		}

		p = g.op("Div", p, g.op("Add", g.op("Mul", x, g.scalar(2)), g.scalar(1)))
		outside := sum(g.op("Mul", density, p))
		slope := g.op("Mul", sum(g.op("Mul", density, x)), g.scalar(1/math.Sqrt(math.Pi))) // −y·d(outside)/dy
		step := g.op("Mul", g.op("Div", outside, slope), g.op("Log", g.op("Div", outside, g.scalar(1-level))))
		y = g.op("Mul", y, g.op("Max", g.op("Add", step, g.scalar(1)), g.scalar(0.1)))
	}

	return g.op("Sqrt", g.op("Squeeze", y, third))
}

// reduced returns fewer components with nearly the same law, whose weights sum to 1.
func reduced(list []scale.Component) (out []scale.Component) {
	kappa, kappaWeights := quadrature(list, kappas, func(k scale.Component) float64 { return k.Kappa })
	total := floats.Sum(kappaWeights)
	for shape := range scale.Distance + 1 {
		own := slices.DeleteFunc(slices.Clone(list), func(k scale.Component) bool { return k.Shape != shape })
		lambda, weights := quadrature(own, lambdas, func(k scale.Component) float64 { return k.Lambda })
		for i, l := range lambda {
			for j, k := range kappa {
				out = append(out, scale.Component{
					Shape: shape, Lambda: l, Kappa: k, Weight: weights[i] * kappaWeights[j] / (total * total),
				})
			}
		}
	}

	return out
}

// quadrature returns at most n values of a factor with weights that give the means of powers
// of its logarithm up to the (2n−1)th: Gauss's quadrature of the law of the factor (Golub &
// Welsch 1969), from the recurrence that Lanczos's algorithm finds.
func quadrature(list []scale.Component, n int, of func(scale.Component) float64) (values, weights []float64) {
	law := map[float64]float64{}
	for _, k := range list {
		law[of(k)] += k.Weight
	}

	values = slices.Sorted(maps.Keys(law))
	weights = lists.Each(values, func(v float64) float64 { return law[v] })
	if len(values) <= n {
		return values, weights
	}

	jacobi, next := mat.NewSymDense(n, nil), lists.Each(weights, math.Sqrt)
	var basis [][]float64
	for k := range n {
		norm := floats.Norm(next, 2)
		if k > 0 {
			jacobi.SetSym(k-1, k, norm)
		}

		floats.Scale(1/norm, next)
		basis = append(basis, slices.Clone(next))
		for i, v := range values {
			next[i] *= math.Log(v)
		}

		jacobi.SetSym(k, k, floats.Dot(next, basis[k]))
		for range 2 { // once leaves rounding
			for _, b := range basis {
				floats.AddScaled(next, -floats.Dot(next, b), b)
			}
		}
	}

	return nodes(jacobi, floats.Sum(weights))
}

// nodes are those of Gauss's quadrature with the given Jacobi matrix, as exponentials.
func nodes(jacobi *mat.SymDense, total float64) (values, weights []float64) {
	var e mat.EigenSym
	if !e.Factorize(jacobi, true) {
		panic("export: the eigenvalues of a Jacobi matrix do not converge")
	}

	var vectors mat.Dense
	e.VectorsTo(&vectors)

	for k, x := range e.Values(nil) {
		values, weights = append(values, math.Exp(x)), append(weights, total*vectors.At(0, k)*vectors.At(0, k))
	}

	return values, weights
}
