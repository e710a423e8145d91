package train

import (
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// evaluator evaluates a model, block by block.
type evaluator struct {
	net[float32]
	m *Model
	v []float32 // variances of a block, rows × outcomes without padding between; run computes them in place
}

// evalBlock is the number of rows that are evaluated together.
const evalBlock = 240

// newEvaluator returns an evaluator of a model.
func newEvaluator(m *Model) *evaluator {
	e := &evaluator{net: *newNet(m.shape, m.set(), m.params, evalBlock), m: m}
	e.prepare()
	e.v = aligned[float32](kernel.PadLane(evalBlock * m.Out))

	return e
}

// scaleX returns conditions in the network's units.
func (e *evaluator) scaleX(x []float64) []float32 { return scale32(x, e.m.inputScale) }

// scaleY returns outcomes in the network's units. nil, which means no feedback, stays nil.
func (e *evaluator) scaleY(y []float64) []float32 {
	if y == nil {
		return nil
	}
	return scale32(y, e.m.outcomeScale)
}

// scale32 returns the standardised values of x, whose rows have as many numbers as s.
func scale32(x []float64, s triplets.Scale) []float32 {
	r := make([]float32, len(x))
	for i, v := range x {
		j := i % len(s.Mean)
		r[i] = float32((v - s.Mean[j]) / s.Std[j])
	}

	return r
}

// none returns the value of the feedback inputs without feedback.
func (e *evaluator) none() float32 {
	if e.m.Config.Feedback == Constant {
		return float32(e.m.Config.FeedbackValue)
	}
	return 0
}

// answers fills mu and variance with the answers at the conditions x, with the outcomes y fed back. If y is nil,
// nothing is fed back. All numbers are in the network's units.
func (e *evaluator) answers(x, y []float32, mu, variance []float64) {
	n := len(x) / e.inputs
	for s := 0; s < n; s += e.block {
		rows := min(e.block, n-s)
		for r := range rows {
			z := e.z[r*e.ldIn : (r+1)*e.ldIn]
			copy(z, x[(s+r)*e.inputs:(s+r+1)*e.inputs])

			f := z[e.inputs : e.inputs+e.outcomes]
			if y == nil {
				for j := range f {
					f[j] = e.none()
				}
			} else {
				copy(f, y[(s+r)*e.outcomes:])
			}

			if e.flag > 0 {
				z[e.inputs+e.outcomes] = 0
				if y != nil {
					z[e.inputs+e.outcomes] = 1
				}
			}
		}

		first := s * e.outcomes
		end := first + rows*e.outcomes
		e.run(rows, mu[first:end], variance[first:end])
	}
}

// run evaluates the first rows of z, and fills mu and variance, rows × outcomes.
func (e *evaluator) run(rows int, mu, variance []float64) {
	padded := kernel.PadRows(rows)
	clear(e.z[rows*e.ldIn : padded*e.ldIn])
	e.forward(padded, nil)

	d := e.outcomes
	flat := e.v[:kernel.PadLane(rows*d)]
	for r := range rows {
		o := e.o[r*e.headN : r*e.headN+2*d]
		for j := range d {
			mu[r*d+j] = float64(o[j])
			flat[r*d+j] = o[d+j]
		}
	}

	clear(flat[rows*d:])
	e.k.Variance(flat)

	for i := range variance {
		variance[i] = float64(flat[i])
	}
}
