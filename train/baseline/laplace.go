package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
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
	f    train.ModelFile // of m
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

	p := laplacePredictor{m: m, f: m.File()}
	if p.head, err = lastLayer(ctx, p.f, collapse(data)); err != nil {
		return nil, fmt.Errorf("fit laplace: %w", err)
	}

	return p, nil
}

func lastLayer(ctx context.Context, f train.ModelFile, c collapsed) ([]headPosterior, error) {
	top := f.Layers[len(f.Layers)-1]
	n := top.In + 1

	sum := lists.Make(f.Outcomes, func(int) *mat.SymDense { return mat.NewSymDense(n, nil) })

	for i := range c.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		phi, out := features(f, c.x[i*f.Inputs:(i+1)*f.Inputs])
		for j := range sum {
			v := train.Softplus(out[f.Outcomes+j]) + 1e-6
			sum[j].SymRankOne(sum[j], c.count[i]/v, mat.NewVecDense(n, phi))
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

		square := math.Pow(float64(top.Bias[j]), 2)
		for _, w := range top.Weights {
			square += math.Pow(float64(w[j]), 2)
		}

		h.lambda = BestLambda(square, n, h.logDet)
		head = append(head, h)
	}

	return head, nil
}

// features evaluates the first answer of a network that is fed nothing back at the condition x, in float64: the
// last activations and one, and the head's outputs, in network units.
func features(f train.ModelFile, x []float64) (phi, out []float64) {
	to := lists.Make(f.Inputs, func(j int) float64 { // as the network sees it
		return float64(float32((x[j] - f.InputMean[j]) / f.InputStd[j]))
	})

	for i, l := range f.Layers {
		phi, to = to, make([]float64, l.Out)
		for o := range to {
			to[o] = float64(l.Bias[o])
			for k, a := range phi {
				to[o] += float64(a * float64(l.Weights[k][o]))
			}

			if i+1 < len(f.Layers) {
				to[o] = max(to[o], 0)
			}
		}
	}

	return append(phi, 1), to
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

	for i := 0; i <= r.N; i++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with laplace: %w", err)
		}

		if i == r.N {
			break
		}

		phi, _ := features(p.f, x[i*p.m.In:(i+1)*p.m.In])
		for j, h := range p.head {
			k, u := i*r.Out+j, p.f.OutputStd[j]
			r.Epistemic[k] = h.variance(phi) * (u * u)
			r.Total[k] += r.Epistemic[k]
		}
	}

	return r, nil
}
