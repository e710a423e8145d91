package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Laplace is one network with mean and variance whose last layer has a normal posterior about its weights (MacKay 1992;
// Immer et al. 2021). The precision of an outcome's weights is
//
//	H = Σ N_i·φ_iφ_iᵀ/σ²(x_i) + λI
//
// with a sum over the conditions x_i. N_i is the number of measurements, σ² the network's own noise, and φ contains the
// last activations and a 1. The epistemic variance is φᵀH⁻¹φ, and the total adds σ². λ maximises the evidence, in steps
// of a quarter of a decade.
type Laplace struct{ Config train.Config }

// laplacePredictor is a fitted Laplace.
type laplacePredictor struct {
	m    *train.Model
	f    train.ModelFile // the layers of m
	head []headPosterior // by outcome
}

// headPosterior is the posterior of the weights of one outcome. The sum in H and H itself have the same eigenvectors.
type headPosterior struct {
	values  []float64  // eigenvalues of the sum
	vectors *mat.Dense // eigenvectors of the sum
	lambda  float64
}

// Fit trains the network like a member of Ensemble, and computes the posterior.
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

// lastLayer returns the posterior of the last layer's weights for each outcome.
func lastLayer(ctx context.Context, f train.ModelFile, c collapsed) ([]headPosterior, error) {
	top := f.Layers[len(f.Layers)-1]
	n := top.In + 1

	var sum []*mat.SymDense
	for range f.Outcomes {
		sum = append(sum, mat.NewSymDense(n, nil))
	}

	for i := range c.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		phi, raw := features(f, c.x[i*f.Inputs:(i+1)*f.Inputs])
		for j := range sum {
			variance := train.Variance(raw[f.Outcomes+j])
			sum[j].SymRankOne(sum[j], c.count[i]/variance, mat.NewVecDense(n, phi))
		}
	}

	var head []headPosterior
	for j, s := range sum {
		var e mat.EigenSym
		const withVectors = true
		if !e.Factorize(s, withVectors) {
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

// features evaluates a network at the condition x in float64. It returns the last activations and a 1, and the outputs
// of the last layer in network units. Nothing is fed back.
func features(f train.ModelFile, x []float64) (phi, raw []float64) {
	var layer []float64
	for j := range f.Inputs {
		layer = append(layer, float64(float32((x[j]-f.InputMean[j])/f.InputStd[j])))
	}

	for i, l := range f.Layers {
		phi = layer
		layer = make([]float64, l.Out)
		for o := range layer {
			layer[o] = float64(l.Bias[o])
			for k, a := range phi {
				layer[o] += float64(a * float64(l.Weights[k][o]))
			}

			if i+1 < len(f.Layers) {
				layer[o] = max(layer[o], 0)
			}
		}
	}

	return append(phi, 1), layer
}

// BestLambda returns the λ that maximises the evidence −½(λ·square + ln|H| − p·ln λ), from 10⁻⁴ to 10⁴ in steps of a
// quarter of a decade. p is the number of weights, square the sum of their squares, and logDet returns ln|H| at a λ.
func BestLambda(square float64, p int, logDet func(lambda float64) float64) float64 {
	best := math.Inf(-1)
	likeliest := 1.0
	for e := -16; e <= 16; e++ {
		l := math.Pow(10, float64(e)/4)
		if v := -0.5 * (l*square + logDet(l) - float64(p)*math.Log(l)); v > best {
			best = v
			likeliest = l
		}
	}

	return likeliest
}

// logDet returns ln|H| at λ.
func (h headPosterior) logDet(lambda float64) (sum float64) {
	for _, v := range h.values {
		sum += math.Log(v + lambda)
	}
	return sum
}

// variance returns φᵀH⁻¹φ.
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

// Predict evaluates the network and the posterior. It is safe for concurrent use.
func (p laplacePredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	r := &Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	r.Mu, r.Total = p.m.Predict(x)
	r.Epistemic = make([]float64, len(r.Mu))

	if err := ctx.Err(); err != nil { // also if there are no conditions
		return nil, fmt.Errorf("predict with laplace: %w", err)
	}

	for i := range r.N {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with laplace: %w", err)
		}

		phi, _ := features(p.f, x[i*p.m.In:(i+1)*p.m.In])
		for j, h := range p.head {
			k := i*r.Out + j
			u := p.f.OutputStd[j]
			r.Epistemic[k] = h.variance(phi) * (u * u)
			r.Total[k] += r.Epistemic[k]
		}
	}

	return r, nil
}
