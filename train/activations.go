package train

import "fmt"

// Activations evaluates the first answer of a Model in float64, with what methods that
// linearise a network need: the inputs of every layer. Everything is in network units; the
// inputs of outcomes fed back are left out. It is not safe for concurrent use; its slices
// are overwritten by the next call.
type Activations struct {
	m    *Model
	none float64
	a    [][]float64 // inputs of each layer
	out  []float64   // head
}

// Activations returns the activations of m. It panics if m has a binned head, whose
// numbers hold no means.
func (m *Model) Activations() *Activations {
	if m.Config.Head == Binned {
		panic("train: activations of a binned head, which has no means")
	}

	l := m.shape
	d := &Activations{m: m, out: make([]float64, l.heads)}
	if m.Config.Feedback == Constant {
		d.none = m.Config.FeedbackValue
	}

	for i := range l.depth() + 1 {
		n := m.In
		if i > 0 {
			n = l.width[i-1]
		}

		d.a = append(d.a, make([]float64, n))
	}

	return d
}

// Layers returns how many layers there are, the head the last.
func (d *Activations) Layers() int { return len(d.a) }

// At evaluates the condition x (In numbers, own units) and returns mean and total
// variance of every outcome.
func (d *Activations) At(x []float64) (mu, variance []float64) {
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
// then activations.
func (d *Activations) Input(i int) []float64 { return d.a[i] }

// Parameter returns the weight of layer i from its input k to its output o; with k the
// number of inputs, the bias. The outputs of the head begin with the means.
func (d *Activations) Parameter(i, k, o int) float64 {
	l := d.m.shape
	if k == len(d.a[i]) {
		return float64(d.m.params[l.b[i]+o])
	}

	return float64(d.m.params[l.at(i, k, o)])
}
