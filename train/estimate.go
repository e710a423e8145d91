package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Values of EstimateOptions.Sampler.
const (
	Antithetic    = "antithetic" // every draw ε is used as +ε and −ε
	PlainSampling = "plain"      // independent draws, the paper's; inflates E|raw| by about (2/π)·σ/√M
)

// EstimateOptions are the settings of Model.Estimate. The zero value means the
// defaults.
type EstimateOptions struct {
	// Monte-Carlo samples of the paper's estimator
	Samples int `key:"samples"` // for CovRaw, default 1000; an odd number is raised by one for "antithetic"

	// how they are drawn: pairs of opposite noise, or independently (the paper's, biased upwards)
	Sampler string `key:"sampler" enum:"antithetic|plain"`

	Seed uint64 // of the draws for CovRaw; everything else is deterministic
}

// Limits and defaults of EstimateOptions.
const (
	maxSamples     = 100_000_000
	defaultSamples = 1000
)

// DefaultEstimateOptions returns the options that the zero value means.
func DefaultEstimateOptions() EstimateOptions {
	return EstimateOptions{Samples: defaultSamples, Sampler: Antithetic}
}

// Validate returns every setting that Estimate would refuse, joined; nil when
// there is none.
func (o EstimateOptions) Validate() error { return refused(o.Check) }

// Check calls fail for every setting that Estimate would refuse, with its name
// and a text "expected …, found …".
func (o EstimateOptions) Check(fail func(setting, text string)) {
	if o.Samples < 0 || o.Samples > maxSamples {
		fail("samples", fmt.Sprintf("expected 1 to %d samples (or 0 for %d), found %d", maxSamples, defaultSamples,
			o.Samples))
	}

	if o.Sampler != "" && o.Sampler != Antithetic && o.Sampler != PlainSampling {
		fail("sampler", fmt.Sprintf("expected %s or %s, found %q", Antithetic, PlainSampling, o.Sampler))
	}
}

// Estimates compare a model's two answers at N conditions
// (docs/method.md#what-is-reported), in standardised units (the data's own where
// the model was trained with Standardise false). Cov, Delta and Kappa come from
// Method, CovRaw from Samples draws.
type Estimates struct {
	N, Out int
	triplets.Answers

	Samples int    // M that was used
	Sampler string // that was used
	// Method that was used: "exact-1d", "tensor-5" (5-point Gauss–Hermite in each
	// dimension; -7, -15, …), "halton-1024", "halton-2048", "sampled-2048".
	Method string
}

// AbsCov is the mean over the outcomes of |CovRaw| at condition i, in deviations² of the training outcomes.
func (e *Estimates) AbsCov(i int) (mean float64) {
	for _, v := range e.CovRaw[i*e.Out : (i+1)*e.Out] {
		mean += math.Abs(v) / float64(e.Out)
	}

	return mean
}

// Estimate feeds the model its own answers at n conditions x (row-major n×In,
// own units).
//
// CovRaw draws one set of ε from Seed and uses it for every condition (common
// random numbers), so that a condition's numbers depend neither on the other
// conditions nor on their order. Cov, Delta and Kappa do not depend on the
// draws: with one outcome the second answer, piecewise linear
// in the outcome fed back, is integrated exactly in float64; with two to four by the
// tensor product of 15, 7, 5 Gauss–Hermite points; with five by 1024 and with
// more by 2048 Halton points in ± pairs of unit covariance (beyond 20 outcomes,
// where Halton points lie in planes, by as many fixed random ones).
//
// Estimate runs on the calling goroutine. It returns ctx's error when ctx is
// done, and an error for invalid options; it panics if len(x) is not a multiple
// of In.
func (m *Model) Estimate(ctx context.Context, x []float64, o EstimateOptions) (*Estimates, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("check estimate options: %w", err)
	}

	o.Samples = cmp.Or(o.Samples, defaultSamples)

	o.Sampler = cmp.Or(o.Sampler, Antithetic)

	if o.Sampler == Antithetic {
		o.Samples += o.Samples % 2
	}

	n, d := m.rows(x), m.Out
	e := newEstimator(m)
	xs := e.scaleX(x)

	r := &Estimates{N: n, Out: d, Samples: o.Samples, Sampler: o.Sampler, Method: e.method}
	for _, s := range []*[]float64{&r.Mu, &r.Var, &r.CovRaw, &r.Cov, &r.Delta, &r.Kappa, &r.ZigZag} {
		*s = make([]float64, n*d)
	}

	e.answers(xs, nil, r.Mu, r.Var)

	fed := lists.Each(r.Mu, func(v float64) float32 { return float32(v) })
	again := make([]float64, n*d)
	e.answers(xs, fed, r.ZigZag, again)

	for i, v := range r.Mu {
		r.ZigZag[i] = math.Abs(r.ZigZag[i] - v)
	}

	eps := normals(o, d)

	run := e.space
	if e.exact != nil {
		run = e.line
	}

	if err := run(ctx, xs, eps, r); err != nil {
		return nil, err
	}

	return r, nil
}

// line is the estimate of one outcome, exact along the line of its values.
func (e *estimator) line(ctx context.Context, xs, eps []float32, r *Estimates) error {
	draws := newDraws(eps)
	for i := range r.N {
		if err := ctx.Err(); err != nil {
			return stoppedAt(i, r.N, err)
		}

		x := xs[i*e.in : (i+1)*e.in]
		r.Cov[i], r.Delta[i], r.Kappa[i] = e.exact.integrate(x, float64(e.none()))
		r.CovRaw[i] = e.exact.sampled(draws)
	}

	return nil
}

// space is the estimate of several outcomes: sampled, and by cubature.
func (e *estimator) space(ctx context.Context, xs, eps []float32, r *Estimates) error {
	d, second := e.out, newSecond(&e.net)
	points := newPoints(eps, e.nodes, e.weights, d, second.base)
	drawn, cubed := newMoments(d), newMoments(d)
	w := e.pad[0]
	pre := aligned[float32](kernel.PadRows(e.block) * w)

	mu32, sd32 := make([]float32, d), make([]float32, d)
	for i := range r.N {
		if i%e.block == 0 {
			to := min(i+e.block, r.N)
			second.first(pre, xs[i*e.in:to*e.in], r.Mu[i*d:to*d])
		}

		mu, v := r.Mu[i*d:(i+1)*d], r.Var[i*d:(i+1)*d]
		for j := range d {
			mu32[j], sd32[j] = float32(mu[j]), float32(math.Sqrt(v[j]))
		}

		second.condition(pre[i%e.block*w:][:w], sd32)
		drawn.clear()
		cubed.clear()

		for g := range points.groups {
			second.rewrite(mu32, points.groups[g].reach)

			for k := range points.groups[g].blocks {
				if err := ctx.Err(); err != nil {
					return stoppedAt(i, r.N, err)
				}

				b := &points.groups[g].blocks[k]
				if !b.nodes {
					drawn.add(e.k, b, second.evaluate(b, d))
					continue
				}

				answer := second.evaluate(b, 2*d)
				e.k.Variance(answer[d*b.pad : 2*d*b.pad])
				cubed.add(e.k, b, answer)
			}
		}

		m := float64(r.Samples)
		for j := range d {
			k, sd := i*d+j, float64(sd32[j])

			// (1/M) Σ (μ+σε)(μ+c) − μ², the terms without c first.
			raw := float64(float64(mu[j]*sd) * (points.sum[j] / m))
			raw += float64(mu[j] * (drawn.c[j] / m))
			r.CovRaw[k] = raw + float64(sd*(drawn.ec[j]/m))
			r.Cov[k] = sd * cubed.ec[j]
			r.Delta[k] = cubed.c[j]
			r.Kappa[k] = cubed.v[j] + (cubed.cc[j] - float64(cubed.c[j]*cubed.c[j])) - v[j]
		}
	}

	return nil
}

func stoppedAt(i, n int, err error) error {
	return fmt.Errorf("estimate: stopped at condition %d of %d: %w", i+1, n, err)
}

// normals returns Samples × d draws, the second half the negative of the first
// when antithetic.
func normals(o EstimateOptions, d int) []float32 {
	eps := make([]float32, o.Samples*d)
	p := newStream(o.Seed, streamSample)

	drawn := len(eps)
	if o.Sampler == Antithetic {
		drawn /= 2
	}

	for i := range drawn {
		eps[i] = float32(normQuantile(uniform(p)))
	}

	for i := drawn; i < len(eps); i++ {
		eps[i] = -eps[i-drawn]
	}

	return eps
}

// estimator evaluates second answers at many fed-back outcomes.
type estimator struct {
	*evaluator
	method  string
	exact   *piecewise // one outcome
	nodes   []float32  // otherwise: ε of the cubature, P × d
	weights []float64  // P
}

func newEstimator(m *Model) *estimator {
	d := m.Out

	e := &estimator{evaluator: newEvaluator(m)}
	if d > 1 {
		e.method, e.nodes, e.weights = cubature(d)
		return e
	}

	p := lists.Each(m.params, func(w float32) float64 { return float64(w) })
	e.method, e.exact = "exact-1d", newPiecewise(m.shape, p)

	return e
}

// cubature returns the rule by which Estimate integrates the second answers of
// models with 2 and more outcomes: its name, P points of the standard normal
// distribution (row-major P×outcomes, as the network reads them) and their P
// weights, which sum to one. It panics with fewer outcomes.
func cubature(outcomes int) (method string, points []float32, weights []float64) {
	if outcomes < 2 {
		panic(fmt.Sprintf("train: a cubature of %d outcomes", outcomes))
	}

	switch {
	case outcomes <= 4:
		q := tensorOrder(outcomes)
		points, weights = tensor(outcomes, q)
		return "tensor-" + strconv.Itoa(q), points, weights

	case outcomes <= maxHalton:
		pairs := 1024
		if outcomes == 5 {
			pairs = 512
		}

		points, weights = pairSet(haltonNormal(outcomes, pairs), outcomes)

		return "halton-" + strconv.Itoa(2*pairs), points, weights
	}

	points, weights = pairSet(normalPoints(outcomes, 1024), outcomes)

	return "sampled-2048", points, weights
}

// tensorOrder is the number of Gauss–Hermite points per dimension that keeps C
// within 1 % of σ²; with 5 outcomes no tensor of bearable size does. A kink in one
// direction is seen by as many points as the rule has along it, not by all q^d.
// Worst and rms errors in % of σ² (docs/method.md#how-c-is-integrated), against
// 400 000 Halton points on networks trained on the drone's levels and on
// couples of other data, 370 to 1400 values of C each:
//
//	outcomes  3 points    this rule           5 points    halton-1024
//	2         9.7, 1.06   0.83, 0.09 (15)     2.8, 0.45   0.45, 0.09
//	3         2.7, 0.60   0.73, 0.14 (7)      1.5, 0.23   0.41, 0.09
//	4         2.3, 0.43   0.86, 0.16 (5)      0.86, 0.16  0.75, 0.13
//	5         2.8, 0.36   0.84, 0.15 (Halton) 1.5, 0.14   0.84, 0.15
func tensorOrder(d int) int { return [...]int{2: 15, 3: 7, 4: 5}[d] }

// tensor is the product of the q-point Gauss–Hermite rule for N(0,1).
func tensor(d, q int) (nodes []float32, weights []float64) {
	x, w := gaussHermite(q)

	n := 1
	for range d {
		n *= q
	}

	for i := range n {
		p := 1.0
		for j, k := 0, i; j < d; j, k = j+1, k/q {
			nodes = append(nodes, float32(x[k%q]))
			p *= w[k%q]
		}

		weights = append(weights, p)
	}

	return nodes, weights
}

// gaussHermite returns the nodes, ascending and exactly symmetric, and weights
// of the rule for the standard normal density: roots of He_n by bisection
// between those of He_{n−1}, weights 1/Σ h_k² with the orthonormal h_k.
func gaussHermite(n int) (x, w []float64) {
	// h returns h_n(t) and Σ_{k<n} h_k(t)².
	h := func(n int, t float64) (last, sum float64) {
		prev := 0.0

		last = 1
		for k := range n {
			sum += float64(last * last)
			prev, last = last, (float64(t*last)-float64(math.Sqrt(float64(k))*prev))/math.Sqrt(float64(k+1))
		}

		return last, sum
	}

	roots := []float64{}
	for m := 1; m <= n; m++ {
		edge := 2*math.Sqrt(float64(m)) + 1
		bounds := append(append([]float64{-edge}, roots...), edge)

		next := make([]float64, m)
		for i := range next {
			a, b := bounds[i], bounds[i+1]
			fa, _ := h(m, a)
			for {
				mid := 0.5 * (a + b)
				if mid <= a || mid >= b {
					break // neighbouring numbers
				}

				if fm, _ := h(m, mid); fm*fa > 0 {
					a = mid
				} else {
					b = mid
				}
			}

			next[i] = 0.5 * (a + b)
		}

		for i := range m / 2 {
			next[i] = -next[m-1-i]
		}

		if m%2 == 1 {
			next[m/2] = 0
		}

		roots = next
	}

	for _, t := range roots {
		_, sum := h(n, t)
		w = append(w, 1/sum)
	}

	return roots, w
}

// maxHalton is the number of outcomes up to which Halton points are used: the
// later their prime, the longer their first points lie on lines.
const maxHalton = 20

// haltonNormal maps the first points of the Halton sequence with reversed digits
// (Vandewoestyne & Cools 2006) to normals: pairs × d.
func haltonNormal(d, pairs int) []float64 {
	x := make([]float64, pairs*d)

	prime := 1
	for j := range d {
		prime = nextPrime(prime)
		for i := range pairs {
			f, u := 1.0, 0.0
			for k := i + 1; k > 0; k /= prime {
				f /= float64(prime)

				digit := k % prime
				if digit > 0 {
					digit = prime - digit
				}

				u += float64(f * float64(digit))
			}

			x[i*d+j] = normQuantile(u)
		}
	}

	return x
}

// normalPoints are pairs × d independent normals, the same ones always.
func normalPoints(d, pairs int) []float64 {
	p := newStream(0, streamNodes)
	return lists.Make(pairs*d, func(int) float64 { return normQuantile(uniform(p)) })
}

// pairSet adds to points (rows of d) their negatives, which centres the set
// exactly. A linear map first makes its covariance the identity, so that the part
// of a second answer that is linear in ε, mostly the greater one, is integrated
// exactly: without it the errors of C are two to five times as large.
func pairSet(x []float64, d int) (nodes []float32, weights []float64) {
	n := len(x) / d
	if d < n/8 { // a covariance of as many numbers as points would be arbitrary
		whiten(x, d)
	}

	nodes = make([]float32, 2*n*d)
	for k, v := range x {
		nodes[k], nodes[n*d+k] = float32(v), -float32(v)
	}

	return nodes, slices.Repeat([]float64{1 / float64(2*n)}, 2*n)
}

// cholesky replaces the lower triangle of l, d×d, by its Cholesky factor.
func cholesky(l []float64, d int) {
	for a := range d {
		for b := range a + 1 {
			s := l[a*d+b]
			for k := range b {
				s -= float64(l[a*d+k] * l[b*d+k])
			}

			if a == b {
				l[a*d+a] = math.Sqrt(s)
			} else {
				l[a*d+b] = s / l[b*d+b]
			}
		}
	}
}

// whiten replaces the rows of x (d each) by L⁻¹x, L Lᵀ = (1/n) Σ x xᵀ.
func whiten(x []float64, d int) {
	n := len(x) / d

	l := make([]float64, d*d)
	for i := range n {
		r := x[i*d : (i+1)*d]
		for a := range d {
			for b := range a + 1 {
				l[a*d+b] += float64(r[a]*r[b]) / float64(n)
			}
		}
	}

	cholesky(l, d)

	for i := range n {
		r := x[i*d : (i+1)*d]
		for a := range d {
			for k := range a {
				r[a] -= float64(l[a*d+k] * r[k])
			}
			r[a] /= l[a*d+a]
		}
	}
}

func nextPrime(n int) int {
	for n++; ; n++ {
		prime := n > 1
		for f := 2; f*f <= n && prime; f++ {
			prime = n%f != 0
		}

		if prime {
			return n
		}
	}
}
