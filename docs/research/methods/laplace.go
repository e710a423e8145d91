package methods

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/gp"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Laplace puts a normal posterior around all weights of one network with mean and
// variance (MacKay 1992; Immer et al. 2021): mean θ̂, precision
//
//	H = Σ N_i·J_iᵀJ_i/σ²(x_i) + λI,  J = ∂μ/∂θ,
//
// over the conditions x_i with N_i measurements and the network's own noise, the
// generalised Gauss–Newton matrix of the mean. Of the Fisher information of
// mean and variance it is the part of the mean. Natural has all of it,
//
//	H = Σ N_i·(J_iᵀJ_i/σ² + K_iᵀK_i/2σ⁴) + λI,  K = ∂σ²/∂θ,
//
// which is the Gauss–Newton matrix of the likelihood in the natural parameters μ/σ² and
// −1/2σ² (Immer et al. 2023): the weights below the head must serve the noise too, and
// v̂ is smaller. v̂ = J·H⁻¹·Jᵀ, the total adds σ². λ maximises the evidence, in steps of a
// quarter of a decade. The posterior of the last layer alone is baseline.Laplace.
type Laplace struct {
	Config train.Config
	Form   string // of the posterior: Kronecker, Full, Natural
}

// Values of Laplace.Form.
const (
	Kronecker = "kronecker" // a layer's block as the product of two moments
	Full      = "full"      // in the space of the data where that is smaller
	Natural   = "natural"   // of mean and variance together
)

// maxLaplace bounds the size of the matrix that Full factorises.
const maxLaplace = 6000

// evidenceRows is the number of rows by which Full chooses λ, each counted for as
// many as it stands for.
const evidenceRows = 500

// posterior writes the epistemic variances of the conditions of t, per outcome, in
// network units. It is safe for concurrent use.
type posterior interface {
	variance(t *tangent, dst []float64)
}

type laplacePredictor struct {
	m *train.Model
	p posterior
}

// derivatives returns those of which p is a posterior.
func (p laplacePredictor) derivatives() *derivatives {
	d := derivativesOf(p.m)
	if w, ok := p.p.(*whole); ok && w.variances {
		d.withVariances()
	}

	return d
}

// Fit trains the network as a member of Ensemble, then forms the posterior.
func (l Laplace) Fit(ctx context.Context, data triplets.Set, seed uint64) (baseline.Predictor, error) {
	l.Config.Seed = seed
	m, _, err := train.FitSingle(ctx, data, l.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit laplace: %w", err)
	}

	p, err := linearise(ctx, m, data, l.Form)
	if err != nil {
		return nil, fmt.Errorf("fit laplace: %w", err)
	}

	return laplacePredictor{m, p}, nil
}

func linearise(ctx context.Context, m *train.Model, data triplets.Set, form string) (posterior, error) {
	c := collapse(data)
	switch form {
	case Kronecker:
		return kronecker(ctx, m, c)
	case Full:
		return fullPosterior(ctx, m, derivativesOf(m), m.Out, c)
	case Natural:
		return fullPosterior(ctx, m, derivativesOf(m).withVariances(), 2*m.Out, c)
	}

	return nil, fmt.Errorf("expected the form %s, %s or %s, found %q", Kronecker, Full, Natural, form)
}

// Predict evaluates mean and posterior; safe for concurrent use.
func (p laplacePredictor) Predict(ctx context.Context, x []float64) (*baseline.Prediction, error) {
	r := &baseline.Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	r.Mu, r.Total = p.m.Predict(x)
	r.Epistemic = make([]float64, len(r.Mu))

	d, scale := p.derivatives(), p.m.OutcomeScale()
	for s := 0; s <= r.N; s += predictBlock {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with laplace: %w", err)
		}

		n := min(predictBlock, r.N-s)
		if n == 0 {
			break
		}

		t := newTangent(d, n, r.Out)
		for i := range n {
			d.At(x[(s+i)*p.m.In : (s+i+1)*p.m.In])
			t.set(i, d)
		}

		p.p.variance(t, r.Epistemic[s*r.Out:(s+n)*r.Out])
	}

	for k := range r.Epistemic {
		u := scale.Std[k%r.Out]
		r.Epistemic[k] *= u * u
		r.Total[k] += r.Epistemic[k]
	}

	return r, nil
}

// eigen is a symmetric matrix by its eigenvalues and vectors, not below zero.
type eigen struct {
	n       int
	values  []float64
	vectors *mat.Dense
}

func eigenOf(s *mat.SymDense) (eigen, error) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		return eigen{}, fmt.Errorf("the eigenvalues of a matrix of %d rows do not converge", s.SymmetricDim())
	}

	r := eigen{n: s.SymmetricDim(), values: e.Values(nil), vectors: &mat.Dense{}}
	e.VectorsTo(r.vectors)

	for i, v := range r.values {
		r.values[i] = max(v, 0)
	}

	return r, nil
}

// squares returns the squared coordinates of v.
func (e eigen) squares(v []float64) []float64 {
	out, raw := make([]float64, e.n), e.vectors.RawMatrix()
	for k, x := range v {
		for q, c := range raw.Data[k*raw.Stride : k*raw.Stride+e.n] {
			out[q] += x * c
		}
	}

	for q, x := range out {
		out[q] = x * x
	}

	return out
}

// addOuter adds w·vvᵀ to s; a one belongs to v if biased.
func addOuter(s *mat.SymDense, w float64, v []float64, biased bool) {
	if biased {
		v = append(append(make([]float64, 0, len(v)+1), v...), 1)
	}
	s.SymRankOne(s, w, mat.NewVecDense(len(v), v))
}

// blocks is the posterior whose precision in a layer is A⊗G + λI: A the mean of
// aaᵀ over the measurements, G the sum of ggᵀ/σ² over measurements and outcomes
// (Martens & Grosse 2015; Ritter et al. 2018).
type blocks struct {
	a, g   []eigen
	lambda float64
}

func kronecker(ctx context.Context, m *train.Model, c collapsed) (posterior, error) {
	d := derivativesOf(m)
	var a, g []*mat.SymDense

	g0 := d.gradient(0)
	for i := range d.Layers() {
		a, g = append(a, mat.NewSymDense(len(d.Input(i))+1, nil)), append(g, mat.NewSymDense(len(g0[i]), nil))
	}

	all := 0.0
	for _, n := range c.count {
		all += n
	}

	for i := range c.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		_, v := d.At(c.x[i*m.In : (i+1)*m.In])

		for k := range a {
			addOuter(a[k], c.count[i]/all, d.Input(k), true)
		}

		for j := range m.Out {
			for k, by := range d.gradient(j) {
				addOuter(g[k], c.count[i]/v[j], by, false)
			}
		}
	}

	p, size, square := blocks{}, 0, 0.0
	for k := range a {
		ea, err := eigenOf(a[k])
		if err != nil {
			return nil, err
		}

		eg, err := eigenOf(g[k])
		if err != nil {
			return nil, err
		}

		p.a, p.g = append(p.a, ea), append(p.g, eg)
		size += ea.n * eg.n
		square += d.square(k)
	}

	p.lambda = baseline.BestLambda(square, size, p.logDet)

	return p, nil
}

func (p blocks) logDet(lambda float64) (sum float64) {
	for k := range p.a {
		for _, a := range p.a[k].values {
			for _, g := range p.g[k].values {
				sum += math.Log(a*g + lambda)
			}
		}
	}

	return sum
}

func (p blocks) variance(t *tangent, dst []float64) {
	clear(dst)

	for layer := range p.a {
		var as []float64
		for k := range dst {
			if k%t.out == 0 {
				as = p.a[layer].squares(t.a[layer].RawRowView(k / t.out))
			}

			gs := p.g[layer].squares(t.g[layer].RawRowView(k))
			for q, a := range p.a[layer].values {
				sum := 0.0
				for r, g := range p.g[layer].values {
					sum += gs[r] / (a*g + p.lambda)
				}

				dst[k] += as[q] * sum
			}
		}
	}
}

// tangent holds activations and gradients of rows (condition × outcome), of which
// the products of two rows of J follow without J: Σ over layers of
// (a·a' + 1)·(g·g').
type tangent struct {
	out  int
	a, g []*mat.Dense // per layer: conditions × inputs and one, rows × outputs
}

func newTangent(d *derivatives, n, out int) *tangent {
	t := &tangent{out: out}

	g0 := d.gradient(0)
	for k := range d.Layers() {
		t.a = append(t.a, mat.NewDense(n, len(d.Input(k))+1, nil))
		t.g = append(t.g, mat.NewDense(n*out, len(g0[k]), nil))
	}

	return t
}

// set stores what d has at a condition as condition i.
func (t *tangent) set(i int, d *derivatives) {
	for k, a := range t.a {
		row := a.RawRowView(i)
		row[copy(row, d.Input(k))] = 1
	}

	for j := range t.out {
		for k, by := range d.gradient(j) {
			copy(t.g[k].RawRowView(i*t.out+j), by)
		}
	}
}

// products writes J·J'ᵀ for the rows of t and u.
func (t *tangent) products(u *tangent) *mat.Dense {
	n, m := t.g[0].RawMatrix().Rows, u.g[0].RawMatrix().Rows
	out := mat.NewDense(n, m, nil)

	var aa, gg mat.Dense
	for k := range t.a {
		aa.Reset()
		gg.Reset()
		aa.Mul(t.a[k], u.a[k].T())
		gg.Mul(t.g[k], u.g[k].T())

		for i := range n {
			to, g, a := out.RawRowView(i), gg.RawRowView(i), aa.RawRowView(i/t.out)
			for q := range to {
				to[q] += g[q] * a[q/u.out]
			}
		}
	}

	return out
}

// jacobian writes J, row by row.
func (t *tangent) jacobian() *mat.Dense {
	n, p := t.g[0].RawMatrix().Rows, 0
	for k := range t.a {
		p += t.a[k].RawMatrix().Cols * t.g[k].RawMatrix().Cols
	}

	j := mat.NewDense(n, p, nil)
	for i := range n {
		row, at := j.RawRowView(i), 0
		for k := range t.a {
			for _, a := range t.a[k].RawRowView(i / t.out) {
				for _, g := range t.g[k].RawRowView(i) {
					row[at] = a * g
					at++
				}
			}
		}
	}

	return j
}

// whole is the posterior of all weights: in the space of the data, K + λS with
// K = JJᵀ and S = σ²/N, or in that of the weights, H.
type whole struct {
	lambda    float64
	data      *tangent    // nil in the space of the weights
	n         int         // rows of the factor
	factor    kernel.View // lower Cholesky factor
	logDet    float64     // ln|H|
	variances bool        // the variances have rows of J too
}

func tooLarge(rows, weights int) string {
	if min(rows, weights) <= maxLaplace {
		return ""
	}

	return fmt.Sprintf("%d rows and %d weights are more than %d, for which a full posterior is affordable; take "+
		"laplace-kronecker", rows, weights, maxLaplace)
}

// fullPosterior is the posterior of all weights of which d has derivatives; out rows of J
// a condition: the means, and the variances where there are twice as many.
func fullPosterior(ctx context.Context, m *train.Model, d *derivatives, out int, c collapsed) (posterior, error) {
	size, square := 0, 0.0

	g0 := d.gradient(0)
	for k := range d.Layers() {
		size += (len(d.Input(k)) + 1) * len(g0[k])
		square += d.square(k)
	}

	if text := tooLarge(c.n*out, size); text != "" {
		return nil, errors.New(text)
	}

	step := (c.n*out + evidenceRows - 1) / evidenceRows
	few, noise, err := gather(ctx, m, d, out, c, step)
	if err != nil {
		return nil, err
	}

	for i := range noise {
		noise[i] *= float64(len(noise)) / float64(c.n*out) // each for as many as it stands for
	}

	k := few.products(few)
	lambda := baseline.BestLambda(square, size, func(l float64) float64 {
		var f mat.Cholesky
		if !f.Factorize(dual(k, noise, l)) {
			return math.Inf(1)
		}

		return logDetDual(f.LogDet(), noise, size, l)
	})

	t, noise, err := gather(ctx, m, d, out, c, 1)
	if err != nil {
		return nil, err
	}

	w, err := newWhole(t, noise, lambda, size)
	if err != nil {
		return nil, err
	}

	w.variances = out > m.Out

	return w, nil
}

// gather returns every step-th condition's rows of J, and S: the variance with which its
// measurements tell each number.
func gather(ctx context.Context, m *train.Model, d *derivatives, out int, c collapsed, step int) (*tangent,
	[]float64, error,
) {
	n := (c.n + step - 1) / step
	t, s := newTangent(d, n, out), make([]float64, 0, n*out)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}

		at := i * step
		_, v := d.At(c.x[at*m.In : (at+1)*m.In])
		t.set(i, d)

		for j := range out {
			of := v[j%m.Out]
			if j >= m.Out {
				of *= 2 * of // one measurement tells σ² with the variance 2σ⁴
			}

			s = append(s, of/c.count[at])
		}
	}

	return t, s, nil
}

// dual is K + λS.
func dual(k *mat.Dense, noise []float64, lambda float64) *mat.SymDense {
	n := len(noise)
	s := mat.NewSymDense(n, nil)
	for i := range n {
		copy(s.RawSymmetric().Data[i*n+i:(i+1)*n], k.RawRowView(i)[i:])
		s.SetSym(i, i, k.At(i, i)+lambda*noise[i])
	}

	return s
}

// logDetDual is ln|H| = ln|K + λS| − ln|S| + (p − n)·ln λ (Sylvester) from ln|K + λS|.
func logDetDual(of float64, noise []float64, p int, lambda float64) float64 {
	for _, v := range noise {
		of -= math.Log(v)
	}
	return of + float64(p-len(noise))*math.Log(lambda)
}

func newWhole(t *tangent, noise []float64, lambda float64, size int) (*whole, error) {
	w := &whole{lambda: lambda, n: min(size, len(noise))}
	if len(noise) < size {
		w.data = t

		k := t.products(t)
		for i, v := range noise {
			k.Set(i, i, k.At(i, i)+lambda*v)
		}

		w.factor = view(k)
	} else {
		j := t.jacobian()
		for i, v := range noise {
			blas64.Scal(1/math.Sqrt(v), vector(j.RawRowView(i)))
		}

		h := mat.NewDense(size, size, nil)
		w.factor = view(h)
		kernel.Subtract(size, size, len(noise), view(j).T(), view(j), w.factor)
		h.Scale(-1, h)

		for i := range size {
			h.Set(i, i, h.At(i, i)+lambda)
		}
	}

	if err := gp.Factorise(w.factor, w.n); err != nil {
		return nil, fmt.Errorf("factorise the precision of %d weights: %w", size, err)
	}

	for i := range w.n {
		w.logDet += 2 * math.Log(w.factor.From(i, i).Data[0])
	}

	if w.data != nil {
		w.logDet = logDetDual(w.logDet, noise, size, lambda)
	}

	return w, nil
}

func view(m *mat.Dense) kernel.View {
	raw := m.RawMatrix()
	return kernel.View{Data: raw.Data, Row: raw.Stride, Col: 1}
}

func (w *whole) variance(t *tangent, dst []float64) {
	var b *mat.Dense
	if w.data != nil {
		b = w.data.products(t)
	} else {
		b = mat.DenseCopyOf(t.jacobian().T())
	}

	gp.SolveLeft(w.factor, view(b), w.n, len(dst))
	clear(dst)

	for i := range b.RawMatrix().Rows {
		for k, v := range b.RawRowView(i) {
			dst[k] += v * v
		}
	}

	if w.data == nil {
		return
	}

	for k, less := range dst {
		dst[k] = max(t.square(k)-less, 0) / w.lambda
	}
}

// square is the length of row k of J, squared.
func (t *tangent) square(k int) (sum float64) {
	for layer := range t.a {
		a, g := t.a[layer].RawRowView(k/t.out), t.g[layer].RawRowView(k)
		sum += blas64.Dot(vector(a), vector(a)) * blas64.Dot(vector(g), vector(g))
	}

	return sum
}
