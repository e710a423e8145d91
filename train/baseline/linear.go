package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Linear is least squares on the means of conditions. Its terms are the inputs, their
// logarithms or both, whichever predicts left-out training groups best, and products of two
// of these, taken one after the other while each lowers the squared error there by a tenth.
// Inputs have logarithms where they are positive and vary by a factor of 1.5 at least.
//
// Its variances are those of its errors on left-out groups, for which it is fitted again
// without each; the terms stay.
type Linear struct{}

// Limits of Linear.
const (
	maxFolds    = 40   // groups up to which each is left out on its own; of more, several are left out together
	maxFactors  = 16   // of more terms no products are tried
	maxProducts = 10   // that are taken
	leastGain   = 0.1  // share of the squared error that a product takes away
	logRange    = 1.5  // ratio of values below which an input and its logarithm are the same
	collinear   = 1e-9 // singular values that count as zero, over the largest
	stabiliser  = 1e-8 // of slopes, while terms are chosen
)

// term is a function of the inputs, standardised over the cells.
type term struct {
	of        func(x []float64) float64
	mean, std float64
}

func (t term) at(x []float64) float64 { return (t.of(x) - t.mean) / t.std }

// regression is least squares on any of some terms.
type regression struct {
	cells
	out   int
	fold  []int // of each cell
	folds int
	terms []term
	z     [][]float64 // of each term, at each cell
	y     []float64   // n×out, standardised
	sums  []sums      // of each fold, and of all
}

// sums are over the cells of a fold, weighted by their measurements; term 0 is the constant.
type sums struct {
	weight   float64
	terms    *mat.SymDense // products of two terms
	mixed    *mat.Dense    // products of terms and outcomes
	outcomes float64       // squares of outcomes
}

// Fit chooses the terms and solves for their slopes; the seed is not used.
func (Linear) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	scale, err := Learnable(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("fit linear: %w", err)
	}

	c := cellsOf(data)
	r := &regression{cells: c, out: data.Out, y: scale.Standardise(c.y), folds: min(c.groups, maxFolds)}
	r.fold = lists.Each(c.group, func(g int) int { return g % r.folds })

	chosen, err := r.choose(ctx, data.In)
	if err != nil {
		return nil, fmt.Errorf("fit linear: %w", err)
	}

	left := make([]float64, len(r.y))
	for f := range r.folds {
		slopes := r.solve(chosen, func(fold int) bool { return fold != f })
		for k, of := range r.fold {
			if of == f {
				r.predict(chosen, slopes, r.at(k), left[k*r.out:(k+1)*r.out])
			}
		}
	}

	slopes := r.solve(chosen, func(int) bool { return true })
	mean := func(x, mu []float64) {
		r.predict(chosen, slopes, x, mu)
		copy(mu, scale.Own(mu))
	}

	p := steady{name: "linear", in: data.In, mean: mean}
	p.learn(data, c, scale.Own(left))

	return p, nil
}

// add adds a term and reports whether it varies.
func (r *regression) add(of func(x []float64) float64) bool {
	column := lists.Make(r.n, func(k int) float64 { return of(r.at(k)) })
	s := triplets.ScaleOf(1, column)
	if !(s.Std[0] > 1e-12*math.Abs(s.Mean[0])) {
		return false
	}

	r.terms, r.z = append(r.terms, term{of, s.Mean[0], s.Std[0]}), append(r.z, s.Standardise(column))

	return true
}

// choose returns the numbers of the terms.
func (r *regression) choose(ctx context.Context, in int) ([]int, error) {
	var plain, logs, both []int // logs has the inputs without one too
	for j := range in {
		least, most := math.Inf(1), math.Inf(-1)
		for k := range r.n {
			least, most = min(least, r.at(k)[j]), max(most, r.at(k)[j])
		}

		if !r.add(func(x []float64) float64 { return x[j] }) {
			continue
		}

		n := len(r.terms) - 1
		plain, both = append(plain, n), append(both, n)

		// Below half the least value the logarithm stays.
		if least > 0 && most >= logRange*least && r.add(func(x []float64) float64 { return math.Log(max(x[j], least/2)) }) {
			n++
			both = append(both, n)
		}

		logs = append(logs, n)
	}

	r.sum()

	chosen, e := plain, r.leftOut(plain)
	for _, list := range [][]int{logs, both} {
		if l := r.leftOut(list); l < e {
			chosen, e = list, l
		}
	}

	single, first := chosen, len(r.terms)
	if len(single) > maxFactors {
		return chosen, nil
	}

	for i, a := range single {
		for _, b := range single[i:] {
			s, t := r.terms[a], r.terms[b]
			r.add(func(x []float64) float64 { return s.at(x) * t.at(x) })
		}
	}

	r.sum()

	for range min(maxProducts, r.n/4) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		best, limit := -1, (1-leastGain)*e
		for n := first; n < len(r.terms); n++ {
			if slices.Contains(chosen, n) {
				continue
			}

			if l := r.leftOut(append(slices.Clone(chosen), n)); l < limit {
				best, limit = n, l
			}
		}

		if best < 0 {
			break
		}

		chosen, e = append(slices.Clone(chosen), best), limit
	}

	return chosen, nil
}

// sum adds up all terms over the cells of each fold, and over all.
func (r *regression) sum() {
	n := len(r.terms) + 1
	r.sums = make([]sums, r.folds+1)
	for f := range r.sums {
		r.sums[f] = sums{terms: mat.NewSymDense(n, nil), mixed: mat.NewDense(n, r.out, nil)}
	}

	row := make([]float64, n)
	row[0] = 1
	for k, f := range r.fold {
		for t, z := range r.z {
			row[t+1] = z[k]
		}

		w, x, y := r.count[k], mat.NewVecDense(n, row), mat.NewVecDense(r.out, r.y[k*r.out:(k+1)*r.out])
		for _, f := range [2]int{f, r.folds} {
			s := &r.sums[f]
			s.weight += w
			s.terms.SymRankOne(s.terms, w, x)
			s.mixed.RankOne(s.mixed, w, x, y)
			s.outcomes += w * mat.Dot(y, y)
		}
	}
}

// leftOut returns the mean squared error on folds that are left out, each counting the same.
func (r *regression) leftOut(chosen []int) float64 {
	at := append([]int{-1}, chosen...) // the constant, and terms
	n, total := len(at), 0.0

	for _, s := range r.sums[:r.folds] {
		all := r.sums[r.folds]
		rest, own := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
		mixed, ownMixed := mat.NewDense(n, r.out, nil), mat.NewDense(n, r.out, nil)
		for a, i := range at {
			for b, j := range at[:a+1] {
				v := s.terms.At(i+1, j+1)
				own.SetSym(a, b, v)
				rest.SetSym(a, b, all.terms.At(i+1, j+1)-v)
			}

			for j := range r.out {
				v := s.mixed.At(i+1, j)
				ownMixed.Set(a, j, v)
				mixed.Set(a, j, all.mixed.At(i+1, j)-v)
			}
		}

		for a := 1; a < n; a++ { // a term that is constant without the fold gets no slope
			rest.SetSym(a, a, rest.At(a, a)+stabiliser*rest.At(0, 0))
		}

		var chol mat.Cholesky

		var slopes, fitted mat.Dense
		if !chol.Factorize(rest) || chol.SolveTo(&slopes, mixed) != nil {
			return math.Inf(1)
		}

		fitted.Mul(own, &slopes)

		e := s.outcomes
		for a := range n {
			for j := range r.out {
				e += slopes.At(a, j) * (fitted.At(a, j) - 2*ownMixed.At(a, j))
			}
		}

		total += e / s.weight / float64(r.folds*r.out)
	}

	return total
}

// solve returns the constant and the slopes of the chosen terms, for each outcome, by least
// squares over the cells of some folds; of several solutions, that of least norm.
func (r *regression) solve(chosen []int, use func(fold int) bool) *mat.Dense {
	var at []int
	var weight float64
	for k, f := range r.fold {
		if use(f) {
			at, weight = append(at, k), weight+r.count[k]
		}
	}

	// Without their means terms that are constant here get no slope.
	column := func(value func(k int) float64) (mean float64, about []float64) {
		for _, k := range at {
			mean += r.count[k] / weight * value(k)
		}

		return mean, lists.Each(at, func(k int) float64 { return math.Sqrt(r.count[k]) * (value(k) - mean) })
	}

	slopes := mat.NewDense(len(chosen)+1, r.out, nil)
	x, y := mat.NewDense(len(at), max(len(chosen), 1), nil), mat.NewDense(len(at), r.out, nil)
	means := make([]float64, len(chosen))
	for a, t := range chosen {
		var v []float64
		means[a], v = column(func(k int) float64 { return r.z[t][k] })
		x.SetCol(a, v)
	}

	for j := range r.out {
		mean, v := column(func(k int) float64 { return r.y[k*r.out+j] })
		slopes.Set(0, j, mean)
		y.SetCol(j, v)
	}

	var svd mat.SVD

	var beta mat.Dense
	if !svd.Factorize(x, mat.SVDThin) {
		return slopes // numbers that are not finite were refused
	}

	rank := svd.Rank(collinear)
	if rank == 0 {
		return slopes
	}

	svd.SolveTo(&beta, y, rank)

	for a, m := range means {
		for j := range r.out {
			b := beta.At(a, j)
			slopes.Set(a+1, j, b)
			slopes.Set(0, j, slopes.At(0, j)-b*m)
		}
	}

	return slopes
}

// predict sets mu to the standardised outcomes at x.
func (r *regression) predict(chosen []int, slopes *mat.Dense, x, mu []float64) {
	for j := range mu {
		mu[j] = slopes.At(0, j)
	}

	for a, t := range chosen {
		z := r.terms[t].at(x)
		for j := range mu {
			mu[j] += float64(z * slopes.At(a+1, j))
		}
	}
}
