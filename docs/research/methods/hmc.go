package methods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/gp"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// HMC samples the weights of a small tanh network from their posterior by
// Hamiltonian Monte Carlo (Neal 2011), so that its v̂ is what Bayes' rule gives for
// that network and prior if the chains have converged.
//
// The network has the model's first two hidden layers, each at most MaxHMCWidth
// wide. Weights are normal with deviation 2/√fan-in, biases with 2 in the first
// layer and 1 above it, in standardised units. The noise is fixed beforehand: σ²(x) of
// ½(y1−y2)² (gp.PairNoise) plus hmcFloor. Every chain starts from the most probable
// weights near a start of its own, so that chains which find different modes
// disagree. Prediction.Doubt says where they do. Epistemic is the variance of the sampled
// means, the total adds the noise.
type HMC struct {
	Config train.Config // Hidden alone is used
	Draws  int          // a chain keeps, 4 at least, default 60
	Chains int          // default 4
}

// MaxHMCWidth is the largest width of a layer that HMC samples.
const MaxHMCWidth = 32

const (
	hmcLayers  = 2
	hmcMaxRows = 4000 // conditions above which Fit refuses: the cost grows with their number
	// hmcFloor is added to the noise, in variances of the outcome: a network as small is
	// not asked to fit closer than a fiftieth of the deviation.
	hmcFloor = 5e-4
	mapSteps = 300 // of the search for the most probable weights
)

type hmcPredictor struct {
	in, out triplets.Scale
	noise   []func(x []float64) float64 // per outcome, standardised units
	net     *tanhNet

	chain []chain
}

// Fit samples the chains one after the other.
func (h HMC) Fit(ctx context.Context, data triplets.Set, seed uint64) (baseline.Predictor, error) {
	p, err := h.fit(ctx, data, seed)
	if err != nil {
		return nil, fmt.Errorf("fit hmc: %w", err)
	}

	return p, nil
}

func (h HMC) fit(ctx context.Context, data triplets.Set, seed uint64) (*hmcPredictor, error) {
	h.Draws = cmp.Or(h.Draws, 60)

	h.Chains = cmp.Or(h.Chains, 4)

	if h.Draws < 4 || h.Chains < 2 {
		return nil, fmt.Errorf("expected at least 4 draws of 2 chains, found %d of %d", h.Draws, h.Chains)
	}

	if _, err := baseline.Learnable(ctx, data); err != nil {
		return nil, err
	}

	c := collapse(data)
	if c.n > hmcMaxRows {
		return nil, fmt.Errorf("%d distinct conditions are more than %d, for which sampling is affordable; leave hmc out of "+
			"the comparison", c.n, hmcMaxRows)
	}

	p := &hmcPredictor{in: triplets.ScaleOf(data.In, data.X), out: data.OutcomeScale()}
	for j, s := range p.in.Std {
		if !(s > 0) {
			return nil, &train.ConstantInputError{Column: j, Value: p.in.Mean[j]}
		}
	}

	rows := single(p.in.Standardise(data.X))
	for j := range data.Out {
		u := make([]float64, data.N)
		for i := range u {
			d := (data.Y1[i*data.Out+j] - data.Y2[i*data.Out+j]) / p.out.Std[j]
			u[i] = float64(float32(d * d / 2))
		}

		p.noise = append(p.noise, gp.PairNoise(rows, data.In, u))
	}

	hidden := h.Config.Hidden[:min(len(h.Config.Hidden), hmcLayers)]
	p.net = newTanhNet(data.In, data.Out, hidden)
	t := p.target(c)
	s := sampling{target: t, seed: seed, chains: h.Chains, draws: h.Draws}
	chains, err := s.run(ctx)
	if err != nil {
		return nil, err
	}

	p.chain = chains

	return p, nil
}

// single rounds v to float32: another origin of the data then changes no bit, and the
// chains, which magnify every difference, stay the same.
func single(v []float64) []float64 {
	for i, x := range v {
		v[i] = float64(float32(x))
	}
	return v
}

// target is −ln of the posterior of the weights, and its gradient.
func (p *hmcPredictor) target(c collapsed) *posteriorOf {
	in, out := p.net.size[0], len(p.noise)
	t := &posteriorOf{net: p.net, n: c.n}
	x, y := single(p.in.Standardise(c.x)), single(p.out.Standardise(c.y))
	t.x, t.y, t.precision = transposed(x, in), transposed(y, out), make([]float64, out*c.n)
	for j, noise := range p.noise {
		for i := range c.n {
			t.precision[j*c.n+i] = c.count[i] / float64(float32(noise(x[i*in:(i+1)*in])+hmcFloor))
		}
	}

	t.room = p.net.room(c.n)

	return t
}

// transposed turns rows of n numbers into n rows.
func transposed(v []float64, n int) []float64 {
	t, rows := make([]float64, len(v)), len(v)/n
	for i := range rows {
		for j := range n {
			t[j*rows+i] = v[i*n+j]
		}
	}

	return t
}

// Predict evaluates every draw; safe for concurrent use.
func (p *hmcPredictor) Predict(ctx context.Context, x []float64) (*baseline.Prediction, error) {
	r, s, err := p.predict(ctx, x)
	if err == nil && r.N > 0 {
		r.Doubt = strings.Join(s.doubts(), "; ")
	}

	return r, err
}

func (p *hmcPredictor) predict(ctx context.Context, x []float64) (*baseline.Prediction, *sampled, error) {
	in, out := p.net.size[0], len(p.noise)
	if len(x)%in != 0 {
		panic(fmt.Sprintf("methods: %d numbers are not rows of %d inputs", len(x), in))
	}

	z := single(p.in.Standardise(x))
	r := baseline.NewPrediction(len(x)/in, out)

	s := p.summary()
	for from := 0; from <= r.N; from += predictBlock {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("predict with hmc: %w", err)
		}

		n := min(predictBlock, r.N-from)
		if n == 0 {
			break
		}

		at := z[from*in : (from+n)*in]
		series := p.series(at)
		for i := range n {
			for j := range out {
				mean, variance := s.add(series[j*n+i])
				k, u := (from+i)*out+j, p.out.Std[j]
				r.Mu[k], r.Epistemic[k] = p.out.Mean[j]+u*mean, u*u*variance
				r.Total[k] = u * u * (variance + p.noise[j](at[i*in:(i+1)*in]) + hmcFloor)
			}
		}
	}

	return r, s, nil
}

// series returns the means of all draws at the conditions z: per outcome and
// condition, per chain.
func (p *hmcPredictor) series(z []float64) [][][]float64 {
	n, out := len(z)/p.net.size[0], len(p.noise)
	x, room := transposed(z, p.net.size[0]), p.net.room(n)

	v := make([][][]float64, n*out)
	for k := range v {
		v[k] = make([][]float64, len(p.chain))
	}

	weights := make([]float64, p.net.weights)
	for c, chain := range p.chain {
		draws := len(chain.Draws) / p.net.weights
		for k := range v {
			v[k][c] = make([]float64, draws)
		}

		for d := range draws {
			p.net.scaled(weights, chain.Draws[d*p.net.weights:])
			p.net.forward(room, weights, x, n)

			for k, f := range room.top() {
				v[k][c][d] = -f
			}
		}
	}

	return v
}

// tanhNet is the shape of a network whose parameters are standard normal in the prior:
// a layer's weights, an output each row, then its biases.
type tanhNet struct {
	size    []int // inputs, widths, outcomes
	weights int   // parameters
	scale   []float64
}

func newTanhNet(in, out int, hidden []int) *tanhNet {
	t := &tanhNet{size: []int{in}}
	for _, w := range hidden {
		t.size = append(t.size, min(w, MaxHMCWidth))
	}

	t.size = append(t.size, out)
	for l, from := range t.size[:len(t.size)-1] {
		bias := 1.0
		if l == 0 {
			bias = 2
		}

		for range t.size[l+1] * from {
			t.scale = append(t.scale, 2/math.Sqrt(float64(from)))
		}

		for range t.size[l+1] {
			t.scale = append(t.scale, bias)
		}
	}

	t.weights = len(t.scale)

	return t
}

// scaled writes the weights and biases: the standard normal z times their deviations.
func (t *tanhNet) scaled(dst, z []float64) {
	for i, s := range t.scale {
		dst[i] = s * z[i]
	}
}

// room holds the numbers of a pass through the network, layer by layer, a row for each
// unit: the activations a, of the head the means with opposite sign, and derivatives d.
type room struct{ a, d [][]float64 }

func (r *room) top() []float64 { return r.a[len(r.a)-1] }

func (t *tanhNet) room(n int) *room {
	r := &room{}
	for _, w := range t.size[1:] {
		r.a, r.d = append(r.a, make([]float64, w*n)), append(r.d, make([]float64, w*n))
	}

	return r
}

// forward evaluates n conditions; x has a row for each input.
func (t *tanhNet) forward(r *room, w, x []float64, n int) {
	for l, a := range r.a {
		from, to := t.size[l], t.size[l+1]
		for o, b := range w[to*from : to*from+to] {
			row := a[o*n : (o+1)*n]
			for i := range row {
				row[i] = -b
			}
		}

		kernel.Subtract(to, n, from, kernel.View{Data: w, Row: from, Col: 1}, kernel.View{Data: x, Row: n, Col: 1},
			kernel.View{Data: a, Row: n, Col: 1})

		if l < len(r.a)-1 {
			for i, v := range a {
				a[i] = tanh(-v)
			}
		}

		x, w = a, w[to*from+to:]
	}
}

// backward writes to g the derivatives by the weights of a function whose derivatives by
// the means are minus the last rows of r.d. It follows forward.
func (t *tanhNet) backward(r *room, g, w, x []float64, n int) {
	end := t.weights
	for l := len(r.a) - 1; l >= 0; l-- {
		from, to := t.size[l], t.size[l+1]
		begin := end - to*from - to

		below := x
		if l > 0 {
			below = r.a[l-1]
		}

		for o := range to {
			d := r.d[l][o*n : (o+1)*n]
			for k := range from {
				g[begin+o*from+k] = -blas64.Dot(vector(d), vector(below[k*n:(k+1)*n]))
			}

			sum := 0.0
			for _, v := range d {
				sum += v
			}

			g[begin+to*from+o] = -sum
		}

		if l > 0 {
			t.down(r, w[begin:], l, n)
		}

		end = begin
	}
}

// down passes derivatives from layer l to the one below it.
func (t *tanhNet) down(r *room, w []float64, l, n int) {
	from, to := t.size[l], t.size[l+1]
	e := r.d[l-1]
	clear(e)
	kernel.Subtract(from, n, to, kernel.View{Data: w, Row: 1, Col: from}, kernel.View{Data: r.d[l], Row: n, Col: 1},
		kernel.View{Data: e, Row: n, Col: 1})

	for i, a := range r.a[l-1] {
		e[i] = -e[i] * (1 - float64(a*a))
	}
}

// jacobian writes the derivatives, a row each parameter, of a function of one condition
// each whose derivatives by the means are the last rows of r.d.
func (t *tanhNet) jacobian(r *room, j, w, x []float64, n int) {
	end := t.weights
	for l := len(r.a) - 1; l >= 0; l-- {
		from, to := t.size[l], t.size[l+1]
		begin := end - to*from - to

		below := x
		if l > 0 {
			below = r.a[l-1]
			t.down(r, w[begin:], l, n)
		}

		for o := range to {
			d := r.d[l][o*n : (o+1)*n]
			for k := range from {
				row := j[(begin+o*from+k)*n:][:n]
				for i, a := range below[k*n : (k+1)*n] {
					row[i] = a * d[i]
				}
			}

			copy(j[(begin+to*from+o)*n:][:n], d)
		}

		end = begin
	}
}

// tanh is the hyperbolic tangent to 5e-7: Eigen's rational function, whose loop the
// processor overlaps. Its products are rounded, so that the bytes are the same on every
// machine.
func tanh(x float64) float64 {
	x = min(max(x, -7.90531110763549805), 7.90531110763549805)
	q := float64(x * x)
	p := -2.76076847742355e-16
	p = float64(p*q) + 2.00018790482477e-13
	p = float64(p*q) - 8.60467152213735e-11
	p = float64(p*q) + 5.12229709037114e-08
	p = float64(p*q) + 1.48572235717979e-05
	p = float64(p*q) + 6.37261928875436e-04
	p = float64(p*q) + 4.89352455891786e-03
	d := float64(1.19825839466702e-06*q) + 1.18534705686654e-04
	d = float64(d*q) + 2.26843463243900e-03
	d = float64(d*q) + 4.89352518554385e-03

	return float64(x*p) / d
}

// posteriorOf is −ln of the posterior of a network's standard normal parameters, up to a
// constant: ½Σ N(ȳ − f)²/σ² + ½Σ z².
type posteriorOf struct {
	net             *tanhNet
	n               int
	x, y, precision []float64 // a row each input, each outcome
	room            *room
	w               []float64
}

func (t *posteriorOf) value(z, grad []float64) float64 {
	if t.w == nil {
		t.w = make([]float64, t.net.weights)
	}

	t.net.scaled(t.w, z)
	t.net.forward(t.room, t.w, t.x, t.n)

	sum, d := 0.0, t.room.d[len(t.room.d)-1]
	for i, f := range t.room.top() {
		r := t.y[i] + f
		d[i] = r * t.precision[i]
		sum += float64(r * d[i])
	}

	t.net.backward(t.room, grad, t.w, t.x, t.n)

	for i, s := range t.net.scale {
		grad[i] = float64(grad[i]*s) + z[i]
		sum += float64(z[i] * z[i])
	}

	return sum / 2
}

// metric is the mean Gauss–Newton matrix of places, the precision of a Laplace posterior.
func (t *posteriorOf) metric(places []float64) (blas64.Triangular, error) {
	p := t.net.weights
	j := make([]float64, p*t.n) // of one outcome, a row each parameter
	h := mat.NewSymDense(p, nil)
	raw := h.RawSymmetric()
	for at := 0; at < len(places); at += p {
		t.net.scaled(t.w, places[at:])
		t.net.forward(t.room, t.w, t.x, t.n)

		for o := range len(t.y) / t.n {
			d := t.room.d[len(t.room.d)-1]
			clear(d)

			for i := range t.n {
				d[o*t.n+i] = math.Sqrt(t.precision[o*t.n+i] * float64(p) / float64(len(places)))
			}

			t.net.jacobian(t.room, j, t.w, t.x, t.n)
			kernel.Subtract(p, p, t.n, kernel.View{Data: j, Row: t.n, Col: 1}, kernel.View{Data: j, Row: 1, Col: t.n},
				kernel.View{Data: raw.Data, Row: raw.Stride, Col: 1})
		}
	}

	for i, a := range t.net.scale {
		for k, b := range t.net.scale[i:] {
			h.SetSym(i, i+k, -a*b*h.At(i, i+k))
		}
		h.SetSym(i, i, h.At(i, i)+1)
	}

	var f mat.Cholesky
	if !f.Factorize(h) {
		return blas64.Triangular{}, errors.New("the precision of the weights is not positive definite")
	}

	var u mat.TriDense
	f.UTo(&u)

	return u.RawTriangular(), nil
}

// start returns the most probable weights near a draw of half the prior's deviation.
func (t *posteriorOf) start(ctx context.Context, r *rand.Rand) ([]float64, error) {
	z := make([]float64, t.net.weights)
	for i := range z {
		z[i] = r.NormFloat64() / 2
	}

	g := make([]float64, len(z))
	res, err := optimize.Minimize(optimize.Problem{
		Func: func(z []float64) float64 { return t.value(z, g) },
		Grad: func(grad, z []float64) { t.value(z, grad) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.RuntimeLimit, err
			}
			return optimize.NotTerminated, nil
		},
	}, z, &optimize.Settings{MajorIterations: mapSteps, GradientThreshold: 1e-3}, &optimize.LBFGS{})

	if err := ctx.Err(); err != nil {
		return nil, err
	}

	if res == nil {
		return nil, fmt.Errorf("find the most probable weights: %w", err)
	}

	return res.X, nil // a line search that cannot improve any more is an end, not a failure
}
