package methods

import "doubletake/train"

// activations evaluate the first answer of a network in float64, with what methods that
// linearise it need: the inputs of every layer. Everything is in network units; the
// inputs of outcomes fed back are left out. They are not safe for concurrent use; slices
// are overwritten by the next call.
type activations struct {
	f train.ModelFile
	a [][]float64 // inputs of each layer, the head the last
}

func activationsOf(m *train.Model) *activations {
	d := &activations{f: m.File()}
	for i, l := range d.f.Layers {
		if i == 0 {
			l.In = m.In
		}

		d.a = append(d.a, make([]float64, l.In))
	}

	return d
}

// Layers returns how many layers there are, the head the last.
func (d *activations) Layers() int { return len(d.a) }

// Input returns what layer i was given at the last condition.
func (d *activations) Input(i int) []float64 { return d.a[i] }

// At evaluates the condition x, a value for each input in own units, and returns mean and total variance of
// every outcome.
func (d *activations) At(x []float64) (mu, variance []float64) {
	return d.through(x, func(int) float64 { return 1 })
}

// through evaluates x with the activations of the hidden layers, counted through all, times keep.
func (d *activations) through(x []float64, keep func(unit int) float64) (mu, variance []float64) {
	f := d.f
	for j, v := range x {
		d.a[0][j] = float64(float32((v - f.InputMean[j]) / f.InputStd[j])) // as the network sees it
	}

	unit, out := 0, make([]float64, 2*f.Outcomes)
	for i, l := range f.Layers {
		to := out
		if i+1 < len(d.a) {
			to = d.a[i+1]
		}

		for o := range to {
			s := float64(l.Bias[o])
			for j := range f.Outcomes {
				if i == 0 && f.None != 0 {
					s += float64(f.None * float64(l.Weights[f.Inputs+j][o]))
				}
			}

			for k, a := range d.a[i] {
				s += float64(a * float64(l.Weights[k][o]))
			}

			if to[o] = s; i+1 < len(d.a) {
				to[o] = max(s, 0) * keep(unit)
				unit++
			}
		}
	}

	mu, variance = out[:f.Outcomes], out[f.Outcomes:]
	for j, v := range variance {
		variance[j] = train.Variance(v)
	}

	return mu, variance
}

// Parameter returns the weight of layer i from its input k to its output o; with k the
// number of inputs, the bias. The outputs of the head begin with the means.
func (d *activations) Parameter(i, k, o int) float64 {
	if k == len(d.a[i]) {
		return float64(d.f.Layers[i].Bias[o])
	}

	return float64(d.f.Layers[i].Weights[k][o])
}
