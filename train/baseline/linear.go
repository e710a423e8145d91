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

// Linear is least squares on the means of conditions. Its terms are the inputs, their logarithms or both, whichever
// predicts left-out training groups best, and products of two of these. It takes one product after the other, as long
// as each lowers the squared error on left-out groups by a tenth. An input has a logarithm if it is positive and varies
// by a factor of at least 1.5.
//
// Its variances are the variances of its errors on left-out groups. For each group it is fitted again without the
// group, with the same terms. If there are more than maxFolds groups, it is fitted without several groups at a time.
type Linear struct{}

// Limits of Linear.
const (
	maxFolds    = 40    // largest number of folds; if there are more groups, a fold has several
	maxFactors  = 16    // largest number of terms whose products are tried
	maxProducts = 10    // largest number of products
	perProduct  = 4     // smallest number of cells for each product
	leastGain   = 0.1   // share by which a product must lower the squared error
	logRange    = 1.5   // ratio of the largest to the smallest value from which an input has a logarithm
	collinear   = 1e-9  // ratio to the largest singular value below which a singular value counts as zero
	stabiliser  = 1e-8  // ridge penalty of slopes while terms are chosen, over the weight of the cells
	constant    = 1e-12 // ratio of deviation to mean up to which a term counts as constant
)

// term is a function of the inputs, standardised over the cells.
type term struct {
	value func(x []float64) float64
	mean  float64 // of value over the cells
	std   float64 // of value over the cells
}

// at returns the standardised value of the term at x.
func (t term) at(x []float64) float64 { return (t.value(x) - t.mean) / t.std }

// regression is least squares with any selection of its terms.
type regression struct {
	cells
	outcomes int
	foldOf   []int // fold of each cell
	folds    int
	terms    []term
	z        [][]float64 // values of each term at the cells
	y        []float64   // cells × outcomes, standardised
	sums     []sums      // of each fold, and then of all cells
}

// sums contains sums over the cells of a fold, weighted by their numbers of measurements: the weights w, and for each
// cell the values x of the terms and the outcomes y. The constant is term 0.
type sums struct {
	weight float64       // Σ w
	xx     *mat.SymDense // Σ w·x·xᵀ, terms × terms
	xy     *mat.Dense    // Σ w·x·yᵀ, terms × outcomes
	yy     float64       // Σ w·|y|²
}

// Fit chooses the terms and solves for their slopes; the seed is not used.
func (Linear) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	scale, err := Learnable(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("fit linear: %w", err)
	}

	c := cellsOf(data)
	r := &regression{cells: c, outcomes: data.Out, y: scale.Standardise(c.y), folds: min(c.groups, maxFolds)}
	for _, g := range c.group {
		r.foldOf = append(r.foldOf, g%r.folds)
	}

	chosen, err := r.choose(ctx, data.In)
	if err != nil {
		return nil, fmt.Errorf("fit linear: %w", err)
	}

	left := make([]float64, len(r.y))
	for f := range r.folds {
		slopes := r.solve(chosen, f)
		for k, fold := range r.foldOf {
			if fold == f {
				r.predict(chosen, slopes, r.at(k), left[k*r.outcomes:(k+1)*r.outcomes])
			}
		}
	}

	slopes := r.solve(chosen, noFold)
	mean := func(x, mu []float64) {
		r.predict(chosen, slopes, x, mu)
		copy(mu, scale.Own(mu))
	}

	p := steady{name: "linear", inputs: data.In, mean: mean}
	if err := p.learn(data, c, scale.Own(left)); err != nil {
		return nil, fmt.Errorf("fit linear: %w", err)
	}

	return p, nil
}

// add adds a term unless it is constant over the cells, and reports whether it did.
func (r *regression) add(value func(x []float64) float64) bool {
	var column []float64
	for k := range r.n {
		column = append(column, value(r.at(k)))
	}

	s := triplets.ScaleOf(1, column)
	varies := s.Std[0] > constant*math.Abs(s.Mean[0]) // false for NaN
	if !varies {
		return false
	}

	r.terms = append(r.terms, term{value, s.Mean[0], s.Std[0]})
	r.z = append(r.z, s.Standardise(column))

	return true
}

// choose adds candidate terms and returns the numbers of the terms that it chose: the inputs, their logarithms or both,
// and products of two of these. It fails only if ctx ends.
func (r *regression) choose(ctx context.Context, inputs int) ([]int, error) {
	plain, logs, both := r.addInputs(inputs)
	r.sum()

	chosen := plain
	least := r.leftOutError(plain)
	for _, list := range [][]int{logs, both} {
		if e := r.leftOutError(list); e < least {
			chosen = list
			least = e
		}
	}

	if len(chosen) > maxFactors {
		return chosen, nil
	}

	firstProduct := len(r.terms)
	r.addProducts(chosen)
	r.sum()

	for range min(maxProducts, r.n/perProduct) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		product, e := r.bestProduct(chosen, firstProduct, (1-leastGain)*least)
		if product < 0 {
			break
		}

		chosen = append(slices.Clone(chosen), product)
		least = e
	}

	return chosen, nil
}

// addInputs adds the inputs and their logarithms as terms. It returns the numbers of three lists of terms: the inputs,
// the logarithms with the inputs that have none, and the inputs with the logarithms.
func (r *regression) addInputs(inputs int) (plain, logs, both []int) {
	for j := range inputs {
		least := math.Inf(1)
		most := math.Inf(-1)
		for k := range r.n {
			least = min(least, r.at(k)[j])
			most = max(most, r.at(k)[j])
		}

		if !r.add(func(x []float64) float64 { return x[j] }) {
			continue
		}

		input := len(r.terms) - 1
		plain = append(plain, input)
		both = append(both, input)

		// Below half of the least value the logarithm is constant.
		logarithm := func(x []float64) float64 { return math.Log(max(x[j], least/2)) }
		isWide := least > 0 && most >= logRange*least
		if !isWide || !r.add(logarithm) {
			logs = append(logs, input)
			continue
		}

		logs = append(logs, input+1)
		both = append(both, input+1)
	}

	return plain, logs, both
}

// addProducts adds the products of any two of the given terms, and their squares, as terms.
func (r *regression) addProducts(factors []int) {
	for i, a := range factors {
		for _, b := range factors[i:] {
			s := r.terms[a]
			t := r.terms[b]
			r.add(func(x []float64) float64 { return s.at(x) * t.at(x) })
		}
	}
}

// bestProduct returns the number of the product that lowers the error on left-out folds most, with the error, if it is
// added to the chosen terms. Products are the terms from number first on. It returns −1 if no error is below the limit.
func (r *regression) bestProduct(chosen []int, first int, limit float64) (product int, least float64) {
	product = -1
	for n := first; n < len(r.terms); n++ {
		if slices.Contains(chosen, n) {
			continue
		}

		if e := r.leftOutError(append(slices.Clone(chosen), n)); e < limit {
			product = n
			limit = e
		}
	}

	return product, limit
}

// sum computes the sums of all terms over the cells of each fold, and over all cells.
func (r *regression) sum() {
	n := len(r.terms) + 1
	r.sums = make([]sums, r.folds+1)
	for f := range r.sums {
		r.sums[f] = sums{xx: mat.NewSymDense(n, nil), xy: mat.NewDense(n, r.outcomes, nil)}
	}

	row := make([]float64, n)
	row[0] = 1
	for k, fold := range r.foldOf {
		for t, z := range r.z {
			row[t+1] = z[k]
		}

		w := r.count[k]
		x := mat.NewVecDense(n, row)
		y := mat.NewVecDense(r.outcomes, r.y[k*r.outcomes:(k+1)*r.outcomes])
		for _, place := range [2]int{fold, r.folds} { // the cell's fold, and all cells
			s := &r.sums[place]
			s.weight += w
			s.xx.SymRankOne(s.xx, w, x)
			s.xy.RankOne(s.xy, w, x, y)
			s.yy += w * mat.Dot(y, y)
		}
	}
}

// leftOutError returns the mean squared error of the chosen terms on left-out folds. Each fold counts the same. It
// returns +Inf if the equations of a fold cannot be solved.
func (r *regression) leftOutError(chosen []int) float64 {
	columns := []int{0} // of the sums: the constant and the terms
	for _, t := range chosen {
		columns = append(columns, t+1)
	}

	all := r.sums[r.folds].selected(columns)
	total := 0.0
	for f := range r.folds {
		held := r.sums[f].selected(columns)
		trained := all.without(held)
		for a := 1; a < len(columns); a++ { // a term that is constant without the fold gets no slope
			trained.xx.SetSym(a, a, trained.xx.At(a, a)+stabiliser*trained.xx.At(0, 0))
		}

		var chol mat.Cholesky
		var slopes mat.Dense
		if !chol.Factorize(trained.xx) || chol.SolveTo(&slopes, trained.xy) != nil {
			return math.Inf(1)
		}

		total += held.squaredError(&slopes) / held.weight / float64(r.folds*r.outcomes)
	}

	return total
}

// squaredError returns Σ w·|y − bᵀx|² for the slopes b (terms × outcomes), from the sums alone:
// Σ w·|y|² + Σ_aj b_aj·((Σ w·x·xᵀ b)_aj − 2·(Σ w·x·yᵀ)_aj).
func (s sums) squaredError(slopes *mat.Dense) float64 {
	var fitted mat.Dense
	fitted.Mul(s.xx, slopes)

	e := s.yy
	terms, outcomes := slopes.Dims()
	for a := range terms {
		for j := range outcomes {
			e += slopes.At(a, j) * (fitted.At(a, j) - 2*s.xy.At(a, j))
		}
	}

	return e
}

// selected returns the sums with the given terms alone. columns are the numbers of the terms in s.
func (s sums) selected(columns []int) sums {
	n := len(columns)
	_, outcomes := s.xy.Dims()
	some := sums{weight: s.weight, xx: mat.NewSymDense(n, nil), xy: mat.NewDense(n, outcomes, nil), yy: s.yy}
	for a, i := range columns {
		for b, j := range columns[:a+1] {
			some.xx.SetSym(a, b, s.xx.At(i, j))
		}

		for j := range outcomes {
			some.xy.Set(a, j, s.xy.At(i, j))
		}
	}

	return some
}

// without returns s minus the sums of a fold that s contains, with the same terms.
func (s sums) without(fold sums) sums {
	n, outcomes := s.xy.Dims()
	rest := sums{
		weight: s.weight - fold.weight, xx: mat.NewSymDense(n, nil), xy: mat.NewDense(n, outcomes, nil), yy: s.yy - fold.yy,
	}

	for a := range n {
		for b := range a + 1 {
			rest.xx.SetSym(a, b, s.xx.At(a, b)-fold.xx.At(a, b))
		}

		for j := range outcomes {
			rest.xy.Set(a, j, s.xy.At(a, j)-fold.xy.At(a, j))
		}
	}

	return rest
}

// noFold is the number of a fold without cells, for a fit that leaves no fold out.
const noFold = -1

// solve returns the constant and the slopes of the chosen terms for each outcome, by least squares over the cells of
// all folds except leftOut. If there are several solutions, it returns the one with the smallest norm.
func (r *regression) solve(chosen []int, leftOut int) *mat.Dense {
	var used []int
	var weight float64
	for k, f := range r.foldOf {
		if f != leftOut {
			used = append(used, k)
			weight += r.count[k]
		}
	}

	slopes := mat.NewDense(len(chosen)+1, r.outcomes, nil)
	x := mat.NewDense(len(used), max(len(chosen), 1), nil)
	y := mat.NewDense(len(used), r.outcomes, nil)
	means := make([]float64, len(chosen))
	for a, t := range chosen {
		var centred []float64
		means[a], centred = r.centre(used, weight, r.z[t])
		x.SetCol(a, centred)
	}

	for j := range r.outcomes {
		mean, centred := r.centre(used, weight, lists.Column(r.y, r.outcomes, j))
		slopes.Set(0, j, mean)
		y.SetCol(j, centred)
	}

	var svd mat.SVD
	var beta mat.Dense
	if !svd.Factorize(x, mat.SVDThin) {
		return slopes // cannot happen: Fit refuses numbers that are not finite
	}

	rank := svd.Rank(collinear)
	if rank == 0 {
		return slopes
	}

	svd.SolveTo(&beta, y, rank)

	for a, m := range means {
		for j := range r.outcomes {
			b := beta.At(a, j)
			slopes.Set(a+1, j, b)
			slopes.Set(0, j, slopes.At(0, j)-b*m)
		}
	}

	return slopes
}

// centre returns the weighted mean of values over the used cells, and the differences from it times the root of each
// cell's weight. Terms that are constant in these cells then have no slope.
func (r *regression) centre(used []int, weight float64, values []float64) (mean float64, centred []float64) {
	for _, k := range used {
		mean += r.count[k] / weight * values[k]
	}

	for _, k := range used {
		centred = append(centred, math.Sqrt(r.count[k])*(values[k]-mean))
	}

	return mean, centred
}

// predict sets mu to the standardised outcomes at x. CONTRIBUTING.md says why the product is converted.
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
