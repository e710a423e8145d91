package train

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Values of EstimateOptions.Sampler.
const (
	Antithetic    = "antithetic" // every draw ε is used twice, as +ε and as −ε
	PlainSampling = "plain"      // independent draws, as in the paper; raises E|CovRaw| by about (2/π)·σ/√M
)

// EstimateOptions has the settings of Model.Estimate. The zero value means the
// defaults.
type EstimateOptions struct {
	// Monte-Carlo samples of the paper's estimator
	Samples int `key:"samples"` // for CovRaw; 0: 1000; "antithetic" raises an odd number by one

	// how they are drawn: pairs of opposite noise, or independently (the paper's, biased upwards)
	Sampler string `key:"sampler" enum:"antithetic|plain"`

	Seed uint64 // of the draws for CovRaw; the other estimates do not depend on it
}

// Limits and defaults of EstimateOptions.
const (
	maxSamples     = 100_000_000
	defaultSamples = 1000
)

// DefaultEstimateOptions returns the options that the zero value stands for.
func DefaultEstimateOptions() EstimateOptions {
	return EstimateOptions{Samples: defaultSamples, Sampler: Antithetic}
}

// Validate returns the joined errors of all settings that Estimate would refuse, or nil if
// there are none.
func (o EstimateOptions) Validate() error { return joinRefused(o.Check) }

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

// Estimates compares the two answers of a model at N conditions
// (docs/method.md#what-is-reported). All numbers are in standardised units, or in the
// data's own if the model was trained without Standardise.
type Estimates struct {
	N, Out           int // numbers of conditions and of outcomes
	triplets.Answers     // N×Out each; Cov, Delta and Kappa by Method, CovRaw by Samples draws

	Samples int    // number M of draws that was used
	Sampler string // that was used
	// Method that was used: "exact-1d", "tensor-5" (5-point Gauss–Hermite in each
	// dimension; also -7 and -15), "halton-1024", "halton-2048", "sampled-2048".
	Method string
}

// Estimate feeds the model its own answers at n conditions x (row-major n×In, in
// the data's own units): outcomes y = μ + σ∘ε with the first answer μ, σ² and standard
// normal ε.
//
// For CovRaw it draws one set of ε from Seed and uses it for every condition (common
// random numbers). So the numbers of a condition do not depend on the other
// conditions. Cov, Delta and Kappa do not depend on these draws. With one outcome,
// the second answer is piecewise linear in the outcome fed back, and Estimate integrates
// it exactly in float64. With more outcomes it uses function cubature.
//
// Estimate runs on the calling goroutine. It returns the error of ctx when ctx is
// done, and an error if the options are invalid. It panics if len(x) is not a multiple
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

	n := m.rows(x)
	d := m.Out
	e := newEstimator(m)
	xs := e.scaleX(x)

	r := &Estimates{N: n, Out: d, Samples: o.Samples, Sampler: o.Sampler, Method: e.method}
	for _, s := range []*[]float64{&r.Mu, &r.Var, &r.CovRaw, &r.Cov, &r.Delta, &r.Kappa, &r.ZigZag} {
		*s = make([]float64, n*d)
	}

	e.answers(xs, nil, r.Mu, r.Var)
	e.zigzag(xs, r.Mu, r.ZigZag)

	estimate := e.estimateSeveral
	if e.exact != nil {
		estimate = e.estimateOne
	}

	if err := estimate(ctx, xs, normals(o, d), r); err != nil {
		return nil, err
	}

	return r, nil
}

// zigzag fills u with u = |m(μ) − μ|: how far the second answer is from the first one if the mean mu of the first
// answer is fed back itself. xs are the scaled conditions.
func (e *estimator) zigzag(xs []float32, mu, u []float64) {
	var fed []float32
	for _, v := range mu {
		fed = append(fed, float32(v))
	}

	second := make([]float64, len(mu))
	variances := make([]float64, len(mu)) // not used
	e.answers(xs, fed, second, variances)

	for i, v := range mu {
		u[i] = math.Abs(second[i] - v)
	}
}

// estimateOne fills CovRaw, Cov, Delta and Kappa of r for a model with one outcome. xs are the scaled conditions, and
// eps the draws for CovRaw.
func (e *estimator) estimateOne(ctx context.Context, xs, eps []float32, r *Estimates) error {
	draws := newDraws(eps)
	for i := range r.N {
		if err := ctx.Err(); err != nil {
			return stoppedAt(i, r.N, err)
		}

		x := xs[i*e.inputs : (i+1)*e.inputs]
		second := e.exact.integrate(x, float64(e.none()))
		r.Cov[i] = second.cov
		r.Delta[i] = second.delta
		r.Kappa[i] = second.kappa
		r.CovRaw[i] = second.sampled(draws)
	}

	return nil
}

// estimateSeveral fills CovRaw, Cov, Delta and Kappa of r for a model with several outcomes, from Mu and Var, which are
// filled in already. xs are the scaled conditions, and eps the draws for CovRaw. It evaluates the second answers of a
// condition at all draws and at all nodes of the cubature.
func (e *estimator) estimateSeveral(ctx context.Context, xs, eps []float32, r *Estimates) error {
	d := e.outcomes
	second := newSecond(&e.net)
	points := newPoints(eps, e.nodes, e.weights, d, second.base)
	drawn := newMoments(d) // sums over the draws
	cubed := newMoments(d) // sums over the nodes
	w := e.pad[0]
	pre := aligned[float32](kernel.PadRows(e.block) * w) // first pre-activations of e.block conditions

	mu32 := make([]float32, d)
	sd32 := make([]float32, d)
	for i := range r.N {
		if i%e.block == 0 {
			end := min(i+e.block, r.N)
			second.inputLayer(pre, xs[i*e.inputs:end*e.inputs], r.Mu[i*d:end*d])
		}

		mu := r.Mu[i*d : (i+1)*d]
		v := r.Var[i*d : (i+1)*d]
		for j := range d {
			mu32[j] = float32(mu[j])
			sd32[j] = float32(math.Sqrt(v[j]))
		}

		second.setCondition(pre[i%e.block*w:][:w], sd32)
		if err := e.sumAnswers(ctx, second, points, mu32, drawn, cubed); err != nil {
			return stoppedAt(i, r.N, err)
		}

		m := float64(r.Samples)
		for j := range d {
			k := i*d + j
			sd := float64(sd32[j])

			// CovRaw is (1/M) Σ (μ+σε)(μ+c) − μ² with c = m(y) − μ. The sum starts with the term without c.
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

// sumAnswers sets drawn and cubed to the sums over the draws and over the nodes, for the condition that second is set
// to. mu is its first answer.
func (e *estimator) sumAnswers(
	ctx context.Context, second *second, points *points, mu []float32, drawn, cubed *moments,
) error {
	d := e.outcomes
	drawn.clear()
	cubed.clear()
	for g := range points.groups {
		second.rewrite(mu, points.groups[g].reach)

		for k := range points.groups[g].blocks {
			if err := ctx.Err(); err != nil {
				return err
			}

			b := &points.groups[g].blocks[k]
			if !b.nodes { // draws need the means alone
				drawn.add(e.k, b, second.evaluate(b, d))
				continue
			}

			answer := second.evaluate(b, 2*d)
			e.k.Variance(answer[d*b.pad : 2*d*b.pad])
			cubed.add(e.k, b, answer)
		}
	}

	return nil
}

// stoppedAt returns the error that the estimate was stopped at condition i of n.
func stoppedAt(i, n int, err error) error {
	return fmt.Errorf("estimate: stopped at condition %d of %d: %w", i+1, n, err)
}

// normals returns o.Samples × d normal draws. With Antithetic, the second half is the negative of the first
// half.
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

// estimator compares the answers of a model.
type estimator struct {
	*evaluator
	method  string     // Estimates.Method
	exact   *piecewise // for one outcome; otherwise nil
	nodes   []float32  // of the cubature for several outcomes: ε, one row per node
	weights []float64  // of the nodes
}

// newEstimator returns the estimator of a model.
func newEstimator(m *Model) *estimator {
	d := m.Out

	e := &estimator{evaluator: newEvaluator(m)}
	if d > 1 {
		e.method, e.nodes, e.weights = cubature(d)
		return e
	}

	var p []float64
	for _, w := range m.params {
		p = append(p, float64(w))
	}

	e.method = "exact-1d"
	e.exact = newPiecewise(m.shape, p)

	return e
}
