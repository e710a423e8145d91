// Package ridge is a method to compare with: a linear regression.
package ridge

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// Info describes the method.
var Info = baseline.Info{
	Name: "ridge", Claim: "the variance of the fitted mean",
	New: func(baseline.Settings) baseline.Method { return Ridge{} },
}

// Ridge is a linear regression on the means of the pairs. Its epistemic
// variance is that of the fitted mean, its total adds the variance of the residuals.
type Ridge struct{}

type line struct {
	scale triplets.Scale
	in    int
	beta  mat.Dense    // terms × outcomes
	cov   mat.SymDense // (XᵀX)⁻¹
	noise []float64    // variance of single measurements
	mean  []float64    // … of means of pairs
}

// Fit solves the normal equations; the seed is not used.
func (Ridge) Fit(ctx context.Context, data triplets.Set, _ uint64) (baseline.Predictor, error) {
	if _, err := baseline.Learnable(ctx, data); err != nil {
		return nil, fmt.Errorf("fit ridge: %w", err)
	}

	p := line{scale: triplets.ScaleOf(data.In, data.X), in: data.In}
	x, y := mat.NewDense(data.N, data.In+1, p.terms(data.X)), mat.NewDense(data.N, data.Out, nil)
	for i := range data.N {
		for j := range data.Out {
			y.Set(i, j, (data.Y1[i*data.Out+j]+data.Y2[i*data.Out+j])/2)
		}
	}

	p.cov.SymOuterK(1, x.T())
	for k := range data.In + 1 {
		p.cov.SetSym(k, k, p.cov.At(k, k)+1e-6) // inputs that do not vary
	}
	var factor mat.Cholesky
	if !factor.Factorize(&p.cov) {
		return nil, fmt.Errorf("fit ridge: the inputs are not independent")
	}
	if err := factor.InverseTo(&p.cov); err != nil {
		return nil, fmt.Errorf("fit ridge: %w", err)
	}
	var moments, fitted mat.Dense
	moments.Mul(x.T(), y)
	p.beta.Mul(&p.cov, &moments)
	fitted.Mul(x, &p.beta)

	free := float64(max(data.N-data.In-1, 1))
	for j := range data.Out {
		var single, mean float64
		for i := range data.N {
			a, b := data.Y1[i*data.Out+j]-fitted.At(i, j), data.Y2[i*data.Out+j]-fitted.At(i, j)
			single, mean = single+(a*a+b*b)/2, mean+(a+b)*(a+b)/4
		}
		p.noise, p.mean = append(p.noise, single/free), append(p.mean, mean/free)
	}

	return p, nil
}

// terms are 1 and the standardised inputs of every row.
func (p line) terms(x []float64) (out []float64) {
	for i := 0; i < len(x); i += p.in {
		out = append(out, 1)
		for j, v := range x[i : i+p.in] {
			if s := p.scale.Std[j]; s > 0 {
				v = (v - p.scale.Mean[j]) / s
			} else {
				v = 0
			}
			out = append(out, v)
		}
	}

	return out
}

// Predict is safe for concurrent use.
func (p line) Predict(ctx context.Context, x []float64) (*baseline.Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with ridge: %w", err)
	}
	if len(x)%p.in != 0 {
		panic(fmt.Sprintf("ridge: %d numbers are not rows of %d inputs", len(x), p.in))
	}
	r := baseline.NewPrediction(len(x)/p.in, len(p.noise))
	if r.N == 0 {
		return r, nil
	}
	rows := mat.NewDense(r.N, p.in+1, p.terms(x))
	var mu mat.Dense
	mu.Mul(rows, &p.beta)
	for i := range r.N {
		lever := mat.Inner(rows.RowView(i), &p.cov, rows.RowView(i))
		for j := range r.Out {
			k := i*r.Out + j
			r.Mu[k], r.Epistemic[k] = mu.At(i, j), lever*p.mean[j]
			r.Total[k] = p.noise[j] + r.Epistemic[k]
		}
	}

	return r, nil
}
