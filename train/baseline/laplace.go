package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Laplace puts a normal posterior around the last layer's weights of one network with
// mean and variance (MacKay 1992; Immer et al. 2021), per outcome: the precision is
//
//	H = Σ N_i·φ_iφ_iᵀ/σ²(x_i) + λI
//
// over the conditions x_i with N_i measurements and the network's own noise, φ the last
// activations and one. v̂ = φᵀH⁻¹φ, the total adds σ². λ maximises the evidence, in steps
// of a quarter of a decade.
type Laplace struct{ Config train.Config }

type laplacePredictor struct {
	m    *train.Model
	head []headPosterior // of each outcome
}

// headPosterior is that of the weights of one outcome: H by the eigenvalues and vectors
// of the sum.
type headPosterior struct {
	values  []float64
	vectors *mat.Dense
	lambda  float64
}

// Fit trains the network as a member of Ensemble, then forms the posterior.
func (l Laplace) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	l.Config.Seed = seed
	m, _, err := train.FitSingle(ctx, data, l.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit laplace: %w", err)
	}

	p := laplacePredictor{m: m}
	if p.head, err = lastLayer(ctx, m, collapse(data)); err != nil {
		return nil, fmt.Errorf("fit laplace: %w", err)
	}

	return p, nil
}

func lastLayer(ctx context.Context, m *train.Model, c collapsed) ([]headPosterior, error) {
	a := m.Activations()
	top := a.Layers() - 1
	n := len(a.Input(top)) + 1

	sum := make([]*mat.SymDense, m.Out)
	for j := range sum {
		sum[j] = mat.NewSymDense(n, nil)
	}

	for i := range c.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		_, v := a.At(c.x[i*m.In : (i+1)*m.In])
		phi := mat.NewVecDense(n, features(a))
		for j := range sum {
			sum[j].SymRankOne(sum[j], c.count[i]/v[j], phi)
		}
	}

	var head []headPosterior
	for j, s := range sum {
		var e mat.EigenSym
		if !e.Factorize(s, true) {
			return nil, fmt.Errorf("the eigenvalues of a matrix of %d rows do not converge", n)
		}

		h := headPosterior{values: e.Values(nil), vectors: &mat.Dense{}}
		e.VectorsTo(h.vectors)

		for i, v := range h.values {
			h.values[i] = max(v, 0)
		}

		square := math.Pow(a.Parameter(top, n-1, j), 2)
		for k := range n - 1 {
			square += math.Pow(a.Parameter(top, k, j), 2)
		}

		h.lambda = BestLambda(square, n, h.logDet)
		head = append(head, h)
	}

	return head, nil
}

// features are the last activations and one.
func features(a *train.Activations) []float64 {
	return append(slices.Clone(a.Input(a.Layers()-1)), 1)
}

// BestLambda maximises the evidence −½(λ·square + ln|H| − p·ln λ) of p weights with the
// sum of squares; logDet is ln|H| at λ.
func BestLambda(square float64, p int, logDet func(lambda float64) float64) float64 {
	best, at := math.Inf(-1), 1.0
	for e := -16; e <= 16; e++ {
		l := math.Pow(10, float64(e)/4)
		if v := -0.5 * (l*square + logDet(l) - float64(p)*math.Log(l)); v > best {
			best, at = v, l
		}
	}

	return at
}

// logDet is ln|H| at λ.
func (h headPosterior) logDet(lambda float64) (sum float64) {
	for _, v := range h.values {
		sum += math.Log(v + lambda)
	}
	return sum
}

// variance is φᵀH⁻¹φ.
func (h headPosterior) variance(phi []float64) (sum float64) {
	along := make([]float64, len(phi))
	for k, x := range phi {
		for q, c := range h.vectors.RawRowView(k) {
			along[q] += x * c
		}
	}

	for q, x := range along {
		sum += x * x / (h.values[q] + h.lambda)
	}

	return sum
}

// Predict evaluates mean and posterior; safe for concurrent use.
func (p laplacePredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	r := &Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	r.Mu, r.Total = p.m.Predict(x)
	r.Epistemic = make([]float64, len(r.Mu))

	a, scale := p.m.Activations(), p.m.OutcomeScale()
	for i := 0; i <= r.N; i++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with laplace: %w", err)
		}

		if i == r.N {
			break
		}

		a.At(x[i*p.m.In : (i+1)*p.m.In])
		phi := features(a)
		for j, h := range p.head {
			k, u := i*r.Out+j, scale.Std[j]
			r.Epistemic[k] = h.variance(phi) * (u * u)
			r.Total[k] += r.Epistemic[k]
		}
	}

	return r, nil
}
