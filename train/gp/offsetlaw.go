package gp

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"

	"doubletake/train/kernel"
)

// offsetLaw is the law of the offsets of all levels given the data, averaged over the grid of their deviations. All
// numbers are standardised. The symbols are those of offsets.go: W = (K + D)⁻¹Z and G = ZᵀW.
type offsetLaw struct {
	labels
	whitenedIndicators []float64     // L⁻¹Z, conditions × levels
	beta               *mat.VecDense // β, by level
	points             []point
	mean               *mat.VecDense // by level
	cov                []float64     // levels × levels
	fresh              []float64     // by label: variance of the offset of a level that was not measured
}

// newOffsetLaw returns the law of the offsets given the data of a process. l are the labels of its rows.
func (m *Model) newOffsetLaw(p *process, l labels) (*offsetLaw, error) {
	columns := l.columns()
	o := &offsetLaw{labels: l, whitenedIndicators: l.indicators()}
	o.beta = transposedTimes(o.whitenedIndicators, p.weights, columns)
	p.solve(o.whitenedIndicators, columns)

	var err error
	g := gram(o.whitenedIndicators, o.whitenedIndicators, p.n, columns)
	_, o.points, err = integrate(m.grid, l.count, g, o.beta)
	if err != nil {
		return nil, err
	}

	o.setMoments()

	return o, nil
}

// setMoments sets mean, cov and fresh, which follow from points and beta.
func (o *offsetLaw) setMoments() {
	mean, second := offsetMoments(o.points, o.beta)
	second.SymRankOne(second, -1, mean)
	o.mean = mean
	o.cov = mat.DenseCopyOf(second).RawMatrix().Data
	o.fresh = make([]float64, len(o.count))
	for _, p := range o.points {
		for c, s := range p.s {
			o.fresh[c] += float64(p.weight * s * s)
		}
	}
}

// without returns the law of the offsets without some rows R of the data. Let Q be the block of (K + D)⁻¹ that belongs
// to R, α_R = ((K + D)⁻¹y)_R, and W_R the rows of W. x is chol(Q)⁻¹W_R, and less is W_RᵀQ⁻¹α_R. Without R, G becomes
// G − xᵀx and β becomes β − less. The probabilities of the grid's points stay as they are with all rows, as the
// hyperparameters do.
func (o *offsetLaw) without(x *mat.Dense, less *mat.VecDense) (*offsetLaw, error) {
	columns := less.Len()
	rest := &offsetLaw{labels: o.labels, whitenedIndicators: o.whitenedIndicators, beta: mat.NewVecDense(columns, nil)}
	rest.beta.SubVec(o.beta, less)

	var g mat.SymDense
	g.SymOuterK(-1, x.T())
	g.AddSym(&g, gram(o.whitenedIndicators, o.whitenedIndicators, len(o.whitenedIndicators)/columns, columns))

	for _, p := range o.points {
		r, err := deviations{s: p.s}.posterior(o.count, &g)
		if err != nil {
			return nil, err
		}

		rest.points = append(rest.points, point{p.weight, p.s, r})
	}

	rest.setMoments()

	return rest, nil
}

// Spread describes an uncertain variance, in units of an outcome's training variance, by its mean and the ends of its
// central 95 % interval.
type Spread struct{ Mean, Low, High float64 }

// Variances returns two variances of outcome j, in units of its training variance: from run to run, and of the noise of
// one measurement. Answers.Spreads has the variances of the offsets of each label.
func (m *Model) Variances(j int) (runs, noise float64) {
	columns := len(m.Columns)
	n := len(m.X) / columns
	for i := range n {
		noise += m.Noise[j].variance(m.X[i*columns : (i+1)*columns])
	}

	return m.Hyper[j].Nugget * m.Hyper[j].Nugget, noise / float64(n)
}

// variances returns the posteriors of s² of all labels.
func (o *offsetLaw) variances() []Spread {
	var list []Spread
	for k := range o.count {
		list = append(list, o.variance(k))
	}

	return list
}

// variance returns the posterior of s², the variance of the offsets of label k.
func (o *offsetLaw) variance(k int) Spread {
	points := slices.Clone(o.points)
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.s[k], b.s[k]) })

	const tail = 0.025 // probability outside each end
	s := Spread{Mean: o.fresh[k]}
	below := 0.0 // probability of the smaller deviations
	for _, p := range points {
		v := p.s[k] * p.s[k]
		if below <= 1-tail {
			s.High = v
		}

		if below <= tail {
			s.Low = v
		}

		below += p.weight
	}

	return s
}

// shifts returns how the offsets of the levels change the means at n conditions: if the offsets are b, the means are
// Tᵀb more than without offsets. T (levels × conditions) is Z*ᵀ − Wᵀk*, with the indicators Z* of the
// conditions and their covariances k* with the data, of which u is L⁻¹k*. level are the levels of the conditions;
// nil: all conditions are of one new thing.
func (o *offsetLaw) shifts(level []int, u []float64, n int) []float64 {
	columns := o.columns()
	t := make([]float64, columns*n)
	if level != nil {
		z := labels{o.count, level}.indicators()
		for c := range columns {
			for b := range n {
				t[c*n+b] = z[b*columns+c]
			}
		}
	}

	kernel.Subtract(columns, n, len(u)/n, rowMajor(columns, o.whitenedIndicators).T(), rowMajor(n, u), rowMajor(n, t))

	return t
}

// covarianceTimes returns the covariance of the offsets times t (levels × n).
func (o *offsetLaw) covarianceTimes(t []float64, n int) []float64 {
	columns := o.columns()
	product := make([]float64, columns*n)
	kernel.Add(columns, n, columns, rowMajor(columns, o.cov), rowMajor(n, t), rowMajor(n, product))

	return product
}

// add changes mean and variance, the predictions without offsets at conditions of the given levels, to predictions with
// offsets. t are the shifts of the conditions.
func (o *offsetLaw) add(level []int, t, mean, variance []float64) {
	n := len(mean)
	product := o.covarianceTimes(t, n)
	for i, shift := range t {
		mean[i%n] += float64(shift * o.mean.AtVec(i/n))
		variance[i%n] += float64(shift * product[i])
	}

	for b := range n {
		variance[b] += o.newVariance(level, b, b)
	}
}

// newVariance returns the covariance of the offsets of conditions a and b that comes from new levels: the sum of the
// variances of the new levels that both have.
func (o *offsetLaw) newVariance(level []int, a, b int) float64 {
	labelCount := len(o.count)
	sum := 0.0
	for c, n := range o.count {
		if level == nil {
			sum += o.fresh[c]
			continue
		}

		isNew := level[a*labelCount+c] >= n
		isSame := level[a*labelCount+c] == level[b*labelCount+c]
		if isNew && isSame {
			sum += o.fresh[c]
		}
	}

	return sum
}

// addCovariances adds the covariances that come from offsets to cov, the covariances of the first rows of n conditions
// with all of them (rows × n). level are the levels of the conditions; u is L⁻¹k*, see shifts.
func (o *offsetLaw) addCovariances(level []int, u []float64, rows, n int, cov []float64) {
	o.addKnownCovariances(level, u, rows, n, cov)

	for a := range rows {
		for b := range n {
			cov[a*n+b] += o.newVariance(level, a, b)
		}
	}
}

// addKnownCovariances does what addCovariances does, but only for the offsets of the levels that the data have.
func (o *offsetLaw) addKnownCovariances(level []int, u []float64, rows, n int, cov []float64) {
	t := o.shifts(level, u, n)
	kernel.Add(rows, n, o.columns(), rowMajor(n, t).T(), rowMajor(n, o.covarianceTimes(t, n)), rowMajor(n, cov))
}
