package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"doubletake/train"
	"doubletake/train/triplets"
)

// GP is exact Gaussian process regression (Rasmussen & Williams 2006, alg. 2.1),
// one process per outcome. Measurements of a condition are collapsed to their
// mean; the noise of one measurement is mean ½(y1−y2)² over the pairs, the same
// everywhere, and is not fitted. Kernel: squared exponential with a length
// per input (ARD). Lengths, amplitude and, with Nugget, the run-to-run
// deviation τ maximise the marginal likelihood (L-BFGS) on at most HyperRows
// conditions drawn by the seed; the prediction uses all.
//
// Epistemic is the variance of the latent function plus τ², because a same-run
// error is measured against the mean of its run; the total adds the noise. A
// noise that varies over the conditions is beyond this method.
type GP struct {
	Nugget      bool
	Standardise bool // inputs to zero mean, unit deviation; outcomes always are
	HyperRows   int  // default 300
	MaxRows     int  // conditions above which Fit refuses, default 4000: its cost grows with the cube
}

type gpPredictor struct {
	in, out        int
	mean, std      []float64 // of the inputs
	x              []float64 // training conditions, scaled
	process        []*process
	yMean, yStd    []float64
	noise, nugget2 []float64 // variances in standardised units
}

// process is a GP conditioned on data: kernel k, Cholesky factor of K + D.
type process struct {
	k     kernelFunc
	chol  mat.Cholesky
	alpha *mat.VecDense
}

// kernelFunc is a covariance of two inputs.
type kernelFunc func(a, b []float64) float64

// rbf is s²·exp(−½ Σ (a−b)²/ℓ²).
func rbf(s float64, length []float64) kernelFunc {
	return func(a, b []float64) float64 {
		q := 0.0
		for j, l := range length {
			d := (a[j] - b[j]) / l
			q += d * d
		}
		return s * s * math.Exp(-0.5*q)
	}
}

// condition conditions a zero-mean process on y at n inputs x with noise
// variances d.
func condition(k kernelFunc, x []float64, in int, y, d []float64) (*process, error) {
	n := len(y)
	m := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			m.SetSym(i, j, k(x[i*in:(i+1)*in], x[j*in:(j+1)*in]))
		}
		m.SetSym(i, i, m.At(i, i)+d[i])
	}
	p := &process{k: k, alpha: mat.NewVecDense(n, nil)}
	if !p.chol.Factorize(m) {
		return nil, fmt.Errorf("factorise covariance of %d conditions: it is not positive definite", n)
	}
	if err := p.chol.SolveVecTo(p.alpha, mat.NewVecDense(n, y)); err != nil {
		return nil, fmt.Errorf("solve covariance of %d conditions: %w", n, err)
	}
	return p, nil
}

// at returns mean and variance of the latent function at inputs z (rows of in).
func (p *process) at(x []float64, in int, z []float64) (mean, variance []float64) {
	n, m := p.alpha.Len(), len(z)/in
	var l mat.TriDense
	p.chol.LTo(&l)
	mean, variance = make([]float64, m), make([]float64, m)
	// V = L⁻¹K*, a block of columns at a time: the variance is then a difference
	// of squares without a second solve.
	for s := 0; s < m; s += predictBlock {
		w := min(predictBlock, m-s)
		k := mat.NewDense(n, w, nil)
		for i := range n {
			for c := range w {
				k.Set(i, c, p.k(x[i*in:(i+1)*in], z[(s+c)*in:(s+c+1)*in]))
			}
		}
		for c := range w {
			mean[s+c] = mat.Dot(k.ColView(c), p.alpha)
		}
		blas64.Trsm(blas.Left, blas.NoTrans, 1, l.RawTriangular(), k.RawMatrix())
		for c := range w {
			q := z[(s+c)*in : (s+c+1)*in]
			v := k.ColView(c)
			variance[s+c] = max(0, p.k(q, q)-mat.Dot(v, v))
		}
	}
	return mean, variance
}

const predictBlock = 128

// collapsed are the distinct conditions of a set with the means of all their
// measurements, of which weighted pairs of repeats count each once.
type collapsed struct {
	n     int
	x, y  []float64 // n×In, n×Out
	count []float64 // measurements, two a pair
	noise []float64 // per outcome, variance of one measurement from the pairs
}

func collapse(d triplets.Set) collapsed {
	c := collapsed{noise: make([]float64, d.Out)}
	index, x := triplets.Index(d.X, d.In)
	c.n, c.x = len(x)/d.In, x
	c.y, c.count = make([]float64, c.n*d.Out), make([]float64, c.n)
	w, all := 1.0, float64(d.N)
	for i, weight := range d.Weight {
		if i == 0 {
			all = 0
		}
		all += weight
	}
	for i, k := range index {
		if d.Weight != nil {
			w = d.Weight[i]
		}
		for j := range d.Out {
			a, b := d.Y1[i*d.Out+j], d.Y2[i*d.Out+j]
			c.y[k*d.Out+j] += w * (a + b)
			c.noise[j] += w * (a - b) * (a - b) / 2 / all
		}
		c.count[k] += 2 * w
	}
	for k := range c.y {
		c.y[k] /= c.count[k/d.Out]
	}
	return c
}

// Fit finds the hyperparameters and factorises the covariance.
func (g GP) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	if g.HyperRows == 0 {
		g.HyperRows = 300
	}
	if g.MaxRows == 0 {
		g.MaxRows = 4000
	}
	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("fit gp: check training data: %w", err)
	}
	c := collapse(data)
	if c.n < 2 {
		return nil, fmt.Errorf("fit gp: expected at least 2 distinct conditions, found %d", c.n)
	}
	if c.n > g.MaxRows {
		return nil, fmt.Errorf("fit gp: %d distinct conditions are more than %d, for which an exact process is "+
			"affordable; leave gp out of the comparison", c.n, g.MaxRows)
	}
	p := &gpPredictor{in: data.In, out: data.Out, mean: make([]float64, data.In), std: make([]float64, data.In)}
	for j := range data.In {
		p.mean[j], p.std[j] = 0, 1
		if g.Standardise {
			p.mean[j], p.std[j] = moments(c.x, data.In, j)
			if p.std[j] == 0 {
				return nil, fmt.Errorf("fit gp: %w", &train.ConstantInputError{Column: j, Value: p.mean[j]})
			}
		}
	}
	p.x = p.scale(c.x)
	subset := rand.New(rand.NewPCG(seed, 1)).Perm(c.n)
	subset = subset[:min(len(subset), g.HyperRows)]
	for j := range data.Out {
		m, s := moments(c.y, data.Out, j)
		if s == 0 {
			return nil, fmt.Errorf("fit gp: outcome column %d is constant (%g): there is nothing to learn", j, m)
		}
		y, d := make([]float64, c.n), make([]float64, c.n)
		noise := max(c.noise[j]/(s*s), 1e-8) // the factorisation needs some
		for i := range c.n {
			y[i], d[i] = (c.y[i*data.Out+j]-m)/s, noise/c.count[i]
		}
		var xs, ys, ds []float64
		for _, i := range subset {
			xs, ys, ds = append(xs, p.x[i*p.in:(i+1)*p.in]...), append(ys, y[i]), append(ds, d[i])
		}
		h, err := fitHyper(ctx, xs, p.in, ys, ds, g.Nugget, derive(seed, j))
		if err != nil {
			return nil, fmt.Errorf("fit gp: outcome column %d: %w", j, err)
		}
		for i := range d {
			d[i] += h.nugget * h.nugget
		}
		pr, err := condition(rbf(h.amplitude, h.length), p.x, p.in, y, d)
		if err != nil {
			return nil, fmt.Errorf("fit gp: outcome column %d: %w", j, err)
		}
		p.process = append(p.process, pr)
		p.yMean, p.yStd = append(p.yMean, m), append(p.yStd, s)
		p.noise, p.nugget2 = append(p.noise, noise), append(p.nugget2, h.nugget*h.nugget)
	}
	return p, nil
}

func moments(v []float64, n, j int) (mean, std float64) {
	rows := len(v) / n
	for i := range rows {
		mean += (v[i*n+j] - v[j]) / float64(rows)
	}
	mean += v[j]
	for i := range rows {
		d := v[i*n+j] - mean
		std += d * d / float64(rows)
	}
	return mean, math.Sqrt(std)
}

func (p *gpPredictor) scale(x []float64) []float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		z[i] = (v - p.mean[i%p.in]) / p.std[i%p.in]
	}
	return z
}

// Predict evaluates the processes; safe for concurrent use.
func (p *gpPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if len(x)%p.in != 0 {
		panic(fmt.Sprintf("baseline: %d numbers are not rows of %d inputs", len(x), p.in))
	}
	z := p.scale(x)
	r := newPrediction(len(x)/p.in, p.out)
	for j, pr := range p.process {
		s2 := p.yStd[j] * p.yStd[j]
		for s := 0; s < r.N; s += predictBlock {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("predict with gp: %w", err)
			}
			m, f := pr.at(p.x, p.in, z[s*p.in:min(s+predictBlock, r.N)*p.in])
			for i := range m {
				k := (s+i)*p.out + j
				r.Mu[k] = m[i]*p.yStd[j] + p.yMean[j]
				r.Epistemic[k] = (f[i] + p.nugget2[j]) * s2
				r.Total[k] = r.Epistemic[k] + p.noise[j]*s2
			}
		}
	}
	return r, nil
}

// hyper are the hyperparameters of one process, in standardised units.
type hyper struct {
	amplitude float64
	length    []float64
	nugget    float64 // 0 without
	log       float64 // marginal likelihood reached
}

// Bounds of the logarithms: lengths from a twentieth of a deviation, below
// which neighbours are independent, to a hundred, which is flat.
var (
	lengthBound    = [2]float64{math.Log(0.05), math.Log(100)}
	amplitudeBound = [2]float64{math.Log(0.01), math.Log(30)}
	nuggetBound    = [2]float64{math.Log(1e-4), math.Log(2)}
)

// evidence evaluates the log marginal likelihood and its gradient with respect
// to the logarithms of length (in), amplitude and nugget.
type evidence struct {
	in     int
	nugget bool
	y, d   []float64
	dist   [][]float64 // squared distances per input, n×n
}

func newEvidence(x []float64, in int, y, d []float64, nugget bool) *evidence {
	n := len(y)
	e := &evidence{in: in, nugget: nugget, y: y, d: d}
	for j := range in {
		q := make([]float64, n*n)
		for a := range n {
			for b := range n {
				t := x[a*in+j] - x[b*in+j]
				q[a*n+b] = t * t
			}
		}
		e.dist = append(e.dist, q)
	}
	return e
}

// value returns −∞ where the covariance cannot be factorised. grad may be nil.
func (e *evidence) value(theta, grad []float64) float64 {
	n := len(e.y)
	s2 := math.Exp(2 * theta[e.in])
	t2 := 0.0
	if e.nugget {
		t2 = math.Exp(2 * theta[e.in+1])
	}
	inv := make([]float64, e.in)
	for j := range inv {
		inv[j] = math.Exp(-2 * theta[j])
	}
	kf := make([]float64, n*n)
	m := mat.NewSymDense(n, nil)
	for a := range n {
		for b := a; b < n; b++ {
			q := 0.0
			for j, w := range inv {
				q += w * e.dist[j][a*n+b]
			}
			k := s2 * math.Exp(-0.5*q)
			kf[a*n+b], kf[b*n+a] = k, k
			m.SetSym(a, b, k)
		}
		m.SetSym(a, a, s2+e.d[a]+t2)
	}
	var chol mat.Cholesky
	if !chol.Factorize(m) {
		return math.Inf(-1)
	}
	y, alpha := mat.NewVecDense(n, e.y), mat.NewVecDense(n, nil)
	if err := chol.SolveVecTo(alpha, y); err != nil {
		return math.Inf(-1)
	}
	l := -0.5*mat.Dot(y, alpha) - 0.5*chol.LogDet() - 0.5*float64(n)*math.Log(2*math.Pi)
	if grad == nil {
		return l
	}
	var ki mat.SymDense
	if err := chol.InverseTo(&ki); err != nil {
		return math.Inf(-1)
	}
	clear(grad)
	trace := 0.0
	for a := range n {
		for b := range n {
			w := 0.5 * (alpha.AtVec(a)*alpha.AtVec(b) - ki.At(a, b))
			wk := w * kf[a*n+b]
			for j := range inv {
				grad[j] += wk * e.dist[j][a*n+b] * inv[j]
			}
			grad[e.in] += 2 * wk
			if a == b {
				trace += w
			}
		}
	}
	if e.nugget {
		grad[e.in+1] = 2 * t2 * trace
	}
	return l
}

// fitHyper maximises the evidence from a plain start and one drawn by the seed.
func fitHyper(ctx context.Context, x []float64, in int, y, d []float64, nugget bool, seed uint64) (hyper, error) {
	e := newEvidence(x, in, y, d, nugget)
	bounds := make([][2]float64, in, in+2)
	for j := range bounds {
		bounds[j] = lengthBound
	}
	bounds = append(bounds, amplitudeBound)
	if nugget {
		bounds = append(bounds, nuggetBound)
	}
	dim := len(bounds)
	// θ = lo + (hi−lo)/(1+e^−t) keeps the search within the bounds.
	theta := make([]float64, dim)
	bounded := func(t []float64) []float64 {
		for i, b := range bounds {
			theta[i] = b[0] + (b[1]-b[0])/(1+math.Exp(-t[i]))
		}
		return theta
	}
	unbounded := func(v, lo, hi float64) float64 { return math.Log((v - lo) / (hi - v)) }
	var lastT []float64
	lastG, lastF := make([]float64, dim), 0.0
	eval := func(t []float64) {
		if ctx.Err() != nil {
			lastF, lastT = math.Inf(1), append(lastT[:0], t...)
			return
		}
		same := len(lastT) == dim
		for i := 0; same && i < dim; i++ {
			same = lastT[i] == t[i]
		}
		if same {
			return
		}
		lastT = append(lastT[:0], t...)
		lastF = -e.value(bounded(t), lastG)
		for i, b := range bounds {
			u := (theta[i] - b[0]) / (b[1] - b[0])
			lastG[i] *= -(b[1] - b[0]) * u * (1 - u)
		}
	}
	problem := optimize.Problem{
		Func: func(t []float64) float64 { eval(t); return lastF },
		Grad: func(g, t []float64) { eval(t); copy(g, lastG) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.RuntimeLimit, err
			}
			return optimize.NotTerminated, nil
		},
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	best := hyper{log: math.Inf(-1)}
	for start := range 2 {
		t := make([]float64, dim)
		for i, b := range bounds {
			v := 0.0 // length 1, amplitude 1
			if i == in+1 {
				v = math.Log(0.1)
			}
			if start > 0 {
				v = b[0] + (b[1]-b[0])*(0.2+0.6*rng.Float64())
			}
			t[i] = unbounded(v, b[0], b[1])
		}
		res, err := optimize.Minimize(problem, t, &optimize.Settings{MajorIterations: 60, GradientThreshold: 1e-4},
			&optimize.LBFGS{})
		if err := ctx.Err(); err != nil {
			return best, err
		}
		// A line search that cannot improve any more is an end, not a failure.
		if res == nil {
			return best, fmt.Errorf("maximise marginal likelihood: %w", err)
		}
		if l := -res.F; l > best.log {
			th := bounded(res.X)
			best = hyper{log: l, amplitude: math.Exp(th[in])}
			for j := range in {
				best.length = append(best.length, math.Exp(th[j]))
			}
			if nugget {
				best.nugget = math.Exp(th[in+1])
			}
		}
	}
	if math.IsInf(best.log, -1) {
		return best, fmt.Errorf("maximise marginal likelihood: no start could be evaluated")
	}
	return best, nil
}
