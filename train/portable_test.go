package train

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// Hashes of all weights after five epochs, and of all estimates, first computed on amd64. If the hash of the weights
// changes, every model of the portable kernels changes. If a hash of estimates alone changes, their predictions change.
// Such a change must be deliberate.
const (
	portableWeights   = 0x858e6e5a53aae2f7
	portableEstimate  = 0xba04af7a8be72714 // one outcome
	portableEstimate3 = 0xf2a2ff644d3f897d // three outcomes
)

// portableConfig returns settings for a training that gives the same bytes everywhere.
func portableConfig() Config {
	cfg := smallConfig()
	cfg.Kernels = "portable"
	cfg.Schedule = "cosine"
	return cfg
}

// Weights from the portable kernels have the same bytes on every machine.
func TestPortableWeights(t *testing.T) {
	m := mustFit(t, exactData(101, 2, 1), portableConfig())

	var hash uint64
	for _, w := range m.params {
		hash = hash*0x100000001b3 ^ uint64(math.Float32bits(w))
	}

	assertHash(t, portableWeights, hash, "hash of the weights")
}

// Estimates with the portable kernels have the same bytes on every machine.
func TestPortableEstimates(t *testing.T) {
	for outcomes, want := range map[int]uint64{1: portableEstimate, 3: portableEstimate3} {
		m := mustFit(t, exactData(101, 2, outcomes), portableConfig())
		e := estimated(t, m, []float64{0.5, -0.25}, EstimateOptions{Samples: 64})

		var hash uint64
		for _, figures := range [][]float64{e.Mu, e.Var, e.CovRaw, e.Cov, e.Delta, e.Kappa, e.ZigZag} {
			require.Len(t, figures, outcomes)
			for _, x := range figures {
				hash = hash*0x100000001b3 ^ math.Float64bits(x)
			}
		}

		assertHash(t, want, hash, fmt.Sprintf("hash of the estimates of %d outcomes", outcomes))
	}
}

// assertHash compares hashes in the form in which the constants of this file have them.
func assertHash(t *testing.T, want, got uint64, name string) {
	t.Helper()
	assert.Equal(t, fmt.Sprintf("%#x", want), fmt.Sprintf("%#x", got), name)
}

// exactData draws triplets whose outcomes are the sum of the inputs with noise. All numbers are multiples of a power of
// two, and no function of package math computes them, so that they are exact on every machine.
func exactData(n, in, out int) triplets.Set {
	d := triplets.Set{N: n, In: in, Out: out}
	p := newStream(8, 98)
	draw := func() float64 { return float64(p.Uint64()>>48)/(1<<15) - 1 }
	for range n {
		sum := 0.0
		for range in {
			x := draw()
			d.X = append(d.X, x)
			sum += x
		}

		for range out {
			d.Y1 = append(d.Y1, sum+draw()/8)
			d.Y2 = append(d.Y2, sum+draw()/8)
		}
	}

	return d
}
