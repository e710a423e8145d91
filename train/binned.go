package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"doubletake/train/kernel"
)

// Binned is a value of Config.Head. The network states, for every outcome, a table of the
// probabilities that the two outcomes of a pair fall into two bins
// (docs/method.md#binned-head). Experimental.
const Binned = "binned"

const (
	// DefaultBins is the number of bins of an outcome where Config.Bins is zero.
	DefaultBins = 16
	maxBins     = 64

	// pointsOfBin values of the training data describe where in a bin they lie.
	pointsOfBin = 16

	// ownBin is how far, in logits, an untrained component prefers the bin of its own
	// number: training would first have to separate components that begin alike.
	ownBin = 3.0
)

// Bins divides the values of one outcome into parts of equal count of the training
// values, in network units.
type Bins struct {
	Edges  []float64   `json:"edges"`    // K − 1, ascending; a value on an edge is in the upper bin
	Centre []float64   `json:"mean"`     // K, of the training values in each bin
	Within []float64   `json:"variance"` // K, of these about Centre
	Points [][]float64 `json:"points"`   // K × 16 of these, at equal shares
}

// newBins makes k bins of the values v, which it sorts. Where values are equal, bins
// may be empty; their values are their edge.
func newBins(v []float64, k int) Bins {
	slices.Sort(v)
	n := len(v)

	var b Bins
	for i := 1; i < k; i++ {
		at := n * i / k
		b.Edges = append(b.Edges, (v[max(at-1, 0)]+v[at])/2)
	}

	first := 0
	for i := range k {
		last := n
		if i < k-1 {
			last = sort.SearchFloat64s(v, b.Edges[i])
		}

		in := v[first:last]
		if len(in) == 0 {
			in = b.Edges[min(i, k-2):][:1]
		}

		c, w, points := 0.0, 0.0, make([]float64, pointsOfBin)
		for _, y := range in {
			c += (y - in[0]) / float64(len(in))
		}

		c += in[0]
		for _, y := range in {
			w += (y - c) * (y - c) / float64(len(in))
		}

		for q := range points {
			points[q] = in[(2*q+1)*len(in)/(2*pointsOfBin)]
		}

		b.Centre, b.Within, b.Points = append(b.Centre, c), append(b.Within, w), append(b.Points, points)
		first = last
	}

	return b
}

// bin returns the bin that holds a value.
func (b Bins) bin(y float64) int {
	return sort.Search(len(b.Edges), func(i int) bool { return b.Edges[i] > y })
}

// check reports bins that cannot have been written by a training.
func (b Bins) check(k int) error {
	if len(b.Edges) != k-1 || len(b.Centre) != k || len(b.Within) != k || len(b.Points) != k {
		return fmt.Errorf("expected %d bins, found %d edges, %d means, %d variances and %d lists of points", k, len(b.Edges),
			len(b.Centre), len(b.Within), len(b.Points))
	}

	for i, p := range b.Points {
		all := slices.Concat(p, []float64{b.Centre[i], b.Within[i]})
		if len(p) == 0 || b.Within[i] < 0 || slices.ContainsFunc(all, func(x float64) bool { return !finite(x) }) {
			return fmt.Errorf("bin %d: expected points, a mean and a variance of 0 or more, found %v", i, all)
		}
	}

	if !slices.IsSorted(b.Edges) || slices.ContainsFunc(b.Edges, func(x float64) bool { return !finite(x) }) {
		return fmt.Errorf("expected finite edges that ascend, found %v", b.Edges)
	}

	return nil
}

// learnBins makes the bins of a binned head from the outcomes of packed rows.
func (t *trainer[T]) learnBins(rows []T) {
	if t.binned == nil {
		return
	}

	d := t.out
	for j := range d {
		var v []float64
		for at := t.in + j; at < len(rows); at += t.in + 2*d {
			v = append(v, float64(rows[at]), float64(rows[at+d]))
		}

		t.binned.bins[j] = newBins(v, t.binned.k)
	}
}

// binned is the law of a pair at one condition by a binned head. The table of each
// outcome,
//
//	P[a, b] = Σ_m π_m·q_m[a]·q_m[b],  p = Σ_b P[·, b],
//
// is a mixture of K components. Given m, the bins a and b are independent, so that
// Σ = P − ppᵀ has no negative eigenvalue.
type binned struct {
	k    int
	bins []Bins
	law  []mixture // of the outcomes
}

// mixture is the law of one outcome: logarithms and values of π and q, the means and
// variances of the components, and those of the mixture.
type mixture struct {
	logPi, pi      []float64 // K
	logQ, q        []float64 // K×K
	mean, variance []float64 // K
	mu, c, total   float64
}

func newBinned(bins []Bins, k int) *binned {
	b := &binned{k: k, bins: bins, law: make([]mixture, len(bins))}
	for j := range b.law {
		l := &b.law[j]
		for _, v := range []*[]float64{&l.logPi, &l.pi, &l.mean, &l.variance} {
			*v = make([]float64, k)
		}

		l.logQ, l.q = make([]float64, k*k), make([]float64, k*k)
	}

	return b
}

// softmax writes the logarithms of the probabilities of logits to log and the
// probabilities to p.
func softmax[T kernel.Float](log, p []float64, logits []T) {
	top := float64(slices.Max(logits))

	sum := 0.0
	for i, x := range logits {
		log[i] = float64(x) - top
		p[i] = expNeg(-log[i])
		sum += p[i]
	}

	norm := logPos(sum)
	for i := range p {
		p[i] /= sum
		log[i] -= norm
	}
}

// readLogits reads π and q of outcome j from a row of the head's numbers: K logits of
// π, then K of each q, outcome by outcome.
func readLogits[T kernel.Float](b *binned, j int, o []T) *mixture {
	l, k := &b.law[j], b.k
	o = o[j*k*(k+1):]
	softmax(l.logPi, l.pi, o[:k])

	for m := range k {
		softmax(l.logQ[m*k:(m+1)*k], l.q[m*k:(m+1)*k], o[(m+1)*k:(m+2)*k])
	}

	return l
}

// read implements pairLaw.
func (b *binned) read(o []float32) {
	for j := range b.law {
		l, v := readLogits(b, j, o), b.bins[j]
		for m := range b.k {
			q := l.q[m*b.k : (m+1)*b.k]

			l.mean[m], l.variance[m] = 0, 0
			for a, p := range q {
				l.mean[m] += float64(p * v.Centre[a])
			}

			for a, p := range q {
				r := v.Centre[a] - l.mean[m]
				l.variance[m] += float64(p * (float64(r*r) + v.Within[a]))
			}
		}

		var inner float64
		l.mu, l.c, inner = l.moments(l.pi)
		l.total = l.c + inner
	}
}

// moments returns the mean, the variance of the components' means, and the mean of their
// variances, with weights w.
func (l *mixture) moments(w []float64) (mu, between, inner float64) {
	for m, p := range w {
		mu += float64(p * l.mean[m])
		inner += float64(p * l.variance[m])
	}

	for m, p := range w {
		r := l.mean[m] - mu
		between += float64(p * float64(r*r))
	}

	return mu, between, inner
}

// first implements pairLaw.
func (b *binned) first(mu, v []float64) {
	for j, l := range b.law {
		mu[j], v[j] = l.mu, l.total
	}
}

// given implements pairLaw.
func (b *binned) given(y []float32, mu, v []float64) {
	for j := range b.law {
		mu[j], v[j] = b.answer(j, b.bins[j].bin(float64(y[j])))
	}
}

// answer returns mean and variance of y2 of outcome j where y1 is in a bin: the moments
// of the components with their probabilities given that bin.
func (b *binned) answer(j, bin int) (mu, v float64) {
	l := &b.law[j]

	w := make([]float64, b.k)
	for m := range w {
		w[m] = l.logPi[m] + l.logQ[m*b.k+bin]
	}

	softmax(make([]float64, b.k), w, slices.Clone(w))
	mu, between, inner := l.moments(w)

	return mu, between + inner
}

// closedForm implements pairLaw: C is the head's own, δ = κ = 0 by the law of total
// expectation and variance. Draws for CovRaw are draws of a bin by the same normal
// numbers.
func (b *binned) closedForm(eps []float32, r *Estimates) func(i int) {
	d, n := len(b.law), len(eps)/len(b.law)
	levels := make([][]float64, d) // ascending
	for j := range levels {
		for k := j; k < len(eps); k += d {
			levels[j] = append(levels[j], normCDF(float64(eps[k])))
		}
		slices.Sort(levels[j])
	}

	return func(i int) {
		for j := range d {
			l, at := &b.law[j], i*d+j
			r.Mu[at], r.Var[at], r.Cov[at] = l.mu, l.total, l.c
			near, _ := b.answer(j, b.bins[j].bin(l.mu))
			r.ZigZag[at] = math.Abs(near - l.mu)

			raw, below, first := 0.0, 0.0, 0
			for a, p := range b.shares(j) {
				below += p
				last := sort.SearchFloat64s(levels[j], below)
				if a == b.k-1 {
					last = n
				}

				if last > first {
					mu, _ := b.answer(j, a)
					raw += float64(float64(last-first) / float64(n) * float64(b.bins[j].Centre[a]*mu))
				}

				first = last
			}

			r.CovRaw[at] = raw - float64(l.mu*l.mu)
		}
	}
}

// shares returns the probabilities p of the bins of an outcome.
func (b *binned) shares(j int) []float64 {
	p := make([]float64, b.k)
	for m, w := range b.law[j].pi {
		for a := range p {
			p[a] += float64(w * b.law[j].q[m*b.k+a])
		}
	}

	return p
}

// binnedLoss returns the loss of n rows of o, −ln P[b1, b2], a mean over outcomes, and
// writes its gradient to do.
func (t *trainer[T]) binnedLoss(n int) float64 {
	d, ld, b, k := t.out, t.headN, t.binned, t.binned.k
	loss, r := 0.0, make([]float64, k)
	for row := range n {
		g := t.do[row*ld : row*ld+d*k*(k+1)]
		for j := range d {
			at := row*d + j
			l := readLogits(b, j, t.o[row*ld:row*ld+len(g)])

			b1, b2 := b.bins[j].bin(float64(t.t1[at])), b.bins[j].bin(float64(t.t2[at]))
			for m := range r {
				r[m] = l.logPi[m] + l.logQ[m*k+b1] + l.logQ[m*k+b2]
			}

			top := slices.Max(r)

			sum := 0.0
			for m, x := range r {
				r[m] = expNeg(top - x)
				sum += r[m]
			}

			w := float64(t.c[at])
			loss -= float64(w * (top + logPos(sum)))

			to := g[j*k*(k+1):]
			for m, x := range r {
				x /= sum // probability of the component given the pair
				to[m] = T(w * (l.pi[m] - x))
				by := to[(m+1)*k:][:k]
				for a, q := range l.q[m*k : (m+1)*k] {
					by[a] = T(2 * w * float64(x*q))
				}

				by[b1] -= T(w * x)
				by[b2] -= T(w * x)
			}
		}
	}

	return loss
}

// decimal is y in own units, y·std + mean, rounded to the decimal digits that survive
// network units, which are float32: a threshold may be a value that was measured.
func decimal(y, mean, std float64) float64 {
	v := float64(y*std) + mean
	lost := float64(0x1p-24*math.Abs(float64(y*std))) + float64(0x1p-50*math.Abs(mean))
	digits := math.Floor(-math.Log10(2 * lost)) // half a unit of the last one is more than what was lost
	switch {
	case digits < 0:
		unit := math.Pow10(int(-digits))
		return math.Round(v/unit) * unit
	case digits < 300:
		unit := math.Pow10(int(digits))
		return math.Round(v*unit) / unit
	}

	return v // lost is 0 or next to it
}

// Event returns, at n conditions x (row-major n×In, own units), the probability p̂ by a
// binned head that inside holds for one measurement of an outcome, and the epistemic
// variance
//
//	V = Σ_{a,b} f_a f_b (P − ppᵀ)[a, b],
//
// f_a the share of bin a's training values for which inside holds. If the head's law
// is right, the probability p of a condition differs from p̂ by √(V/β) or more with
// probability β at most. inside is given values in own units. Event panics if m has
// another head.
func (m *Model) Event(ctx context.Context, x []float64, outcome int, inside func(y float64) bool) (p, v []float64,
	err error,
) {
	e := newEvaluator(m)
	b, ok := e.l.(*binned)
	if !ok {
		panic("train: the event of a model without a binned head")
	}

	f := make([]float64, b.k)
	for a, points := range m.bins[outcome].Points {
		n := 0
		for _, y := range points {
			if inside(decimal(y, m.out.Mean[outcome], m.out.Std[outcome])) {
				n++
			}
		}

		f[a] = float64(n) / float64(len(points))
	}

	n := m.rows(x)
	p, v = make([]float64, n), make([]float64, n)
	err = e.laws(ctx, e.scaleX(x), func(i int) {
		l := &b.law[outcome]

		of := make([]float64, b.k) // the components' probabilities
		for c, w := range l.pi {
			for a, share := range f {
				of[c] += float64(l.q[c*b.k+a] * share)
			}
			p[i] += float64(w * of[c])
		}

		for c, w := range l.pi {
			v[i] += float64(w * float64((of[c]-p[i])*(of[c]-p[i])))
		}
	})

	return p, v, err
}
