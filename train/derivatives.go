package train

import (
	"fmt"
	"math"
)

// Derivatives evaluates the first answer of a Model in float64, with what methods
// that linearise a network need: the activations, and the derivatives of each
// outcome's mean by the parameters, layer by layer. Everything is in network
// units; the inputs of outcomes fed back are left out. It is not safe for
// concurrent use; its slices are overwritten by the next call.
type Derivatives struct {
	m    *Model
	none float64
	a    [][]float64 // inputs of each layer
	g    [][]float64 // derivatives by the pre-activations of each layer
	out  []float64   // head
}

// Derivatives returns the derivatives of m. It panics if m has a binned head, whose
// numbers hold no means.
func (m *Model) Derivatives() *Derivatives {
	if m.Config.Head == Binned {
		panic("train: derivatives of a binned head, which has no means")
	}

	l := m.shape
	d := &Derivatives{m: m, out: make([]float64, l.heads)}
	if m.Config.Feedback == Constant {
		d.none = m.Config.FeedbackValue
	}

	for i := range l.depth() + 1 {
		n := m.In
		if i > 0 {
			n = l.width[i-1]
		}

		d.a, d.g = append(d.a, make([]float64, n)), append(d.g, make([]float64, l.fanOut(i)))
	}

	d.g[l.depth()] = d.g[l.depth()][:m.Out] // means alone

	return d
}

// WithVariances lets Gradient take the outcomes Out to 2·Out-1 too, whose numbers are the
// total variances, and Square count their parameters of the head. It returns d. It panics
// if the model has a joint head.
func (d *Derivatives) WithVariances() *Derivatives {
	if d.m.Config.Head != TwoAnswers {
		panic("train: derivatives of the variances of a joint head")
	}

	d.g[len(d.g)-1] = make([]float64, 2*d.m.Out)

	return d
}

// Layers returns how many layers there are, the head the last.
func (d *Derivatives) Layers() int { return len(d.a) }

// At evaluates the condition x (In numbers, own units) and returns mean and total
// variance of every outcome.
func (d *Derivatives) At(x []float64) (mu, variance []float64) {
	m, l := d.m, d.m.shape
	if len(x) != m.In {
		panic(fmt.Sprintf("train: %d numbers are not a row of %d inputs", len(x), m.In))
	}

	for j, v := range x {
		d.a[0][j] = float64(float32((v - m.in.Mean[j]) / m.in.Std[j])) // as the network sees it
	}

	for i := range d.a {
		to := d.out
		if i < l.depth() {
			to = d.a[i+1]
		}

		for o := range to {
			s := float64(m.params[l.b[i]+o])
			if i == 0 && d.none != 0 {
				for j := range l.fed {
					s += float64(d.none * float64(m.params[l.at(0, m.In+j, o)]))
				}
			}

			for k, a := range d.a[i] {
				s += float64(a * float64(m.params[l.at(i, k, o)]))
			}

			if i < l.depth() {
				s = max(s, 0)
			}

			to[o] = s
		}
	}

	mu, variance = make([]float64, m.Out), make([]float64, m.Out)
	if m.Config.Head != TwoAnswers {
		w := newLaw(m.Config.Head, m.Out)
		readLaw(w, d.out)
		w.total(variance)
		return append(mu[:0], w.mu...), variance
	}

	copy(mu, d.out)

	for j := range variance {
		variance[j] = softplus(d.out[m.Out+j]) + 1e-6
	}

	return mu, variance
}

// Input returns what layer i was given at the last condition: standardised inputs,
// then activations. A parameter [k, o] of the layer has the derivative
// Input(i)[k]·Gradient(j)[i][o], its bias Gradient(j)[i][o].
func (d *Derivatives) Input(i int) []float64 { return d.a[i] }

// Gradient returns the derivatives of the mean of outcome j at the last condition
// by the sums of every layer before its activation; of the head those by the means.
func (d *Derivatives) Gradient(j int) [][]float64 {
	l, top := d.m.shape, len(d.a)-1
	clear(d.g[top])

	d.g[top][j] = 1
	if j >= d.m.Out {
		d.g[top][j] = 1 / (1 + math.Exp(-d.out[j])) // of softplus
	}

	for i := top - 1; i >= 0; i-- {
		for k, a := range d.a[i+1] {
			s := 0.0
			if a > 0 {
				for o, g := range d.g[i+1] {
					s += float64(g * float64(d.m.params[l.at(i+1, k, o)]))
				}
			}

			d.g[i][k] = s
		}
	}

	return d.g
}

// Square returns the sum of the squares of layer i's parameters; of the head of
// those of the means, and of the variances after WithVariances.
func (d *Derivatives) Square(i int) (sum float64) {
	l := d.m.shape
	for o := range d.g[i] {
		for k := range d.a[i] {
			w := float64(d.m.params[l.at(i, k, o)])
			sum += float64(w * w)
		}

		b := float64(d.m.params[l.b[i]+o])
		sum += float64(b * b)
	}

	return sum
}

// HeadSquare is Square of the head's parameters of one outcome's mean.
func (d *Derivatives) HeadSquare(j int) float64 {
	l, top := d.m.shape, len(d.a)-1
	sum := math.Pow(float64(d.m.params[l.b[top]+j]), 2)
	for k := range d.a[top] {
		sum += math.Pow(float64(d.m.params[l.at(top, k, j)]), 2)
	}

	return sum
}
