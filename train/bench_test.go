package train

import (
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// The three experiments' shapes (docs/method.md#model-and-training): rows, inputs, outcomes, batch.
var shapes = []struct {
	name              string
	n, in, out, batch int
}{{"airfoil", 45000, 2, 2, 256}, {"drone", 585, 3, 5, 32}, {"toy", 1000, 1, 1, 32}}

func shapeData(n, in, out int) triplets.Set {
	d := triplets.Set{N: n, In: in, Out: out}

	p := newStream(1, 99)
	for range n {
		s := 0.0
		for range in {
			x := normQuantile(uniform(p))
			d.X = append(d.X, x)
			s += math.Sin(x)
		}

		for range out {
			d.Y1 = append(d.Y1, s+0.3*normQuantile(uniform(p)))
			d.Y2 = append(d.Y2, s+0.3*normQuantile(uniform(p)))
		}
	}

	return d
}

// steps returns a training step, and the matrix products of one alone, with the
// biases, ReLU and dropout that their kernels include.
func steps(b *testing.B, data triplets.Set, cfg Config) (step, products func()) {
	k := resolved(b, cfg.Kernels)

	t := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
	t.initialise(1)
	rows := packRows[float32](data, triplets.ScaleOf(data.In, data.X), triplets.ScaleOf(data.Out, data.Y1, data.Y2))

	order := make([]int32, data.N/cfg.Batch*cfg.Batch)
	for i := range order {
		order[i] = int32(i * 7919 % data.N)
	}

	next := 0
	step = func() {
		t.gradient(rows, order[next:next+cfg.Batch], nil)
		t.step(1e-3)
		next = (next + cfg.Batch) % len(order)
	}

	return step, func() {
		for s := 0; s < cfg.Batch; s += t.tripBlock {
			n := t.rows(min(t.tripBlock, cfg.Batch-s))
			t.forward(n, t.bits)
			t.backward(n)
		}

		clear(t.g)
	}
}

// BenchmarkCost measures a training step in its own matrix products alone: the least processor
// time of short slices that alternate.
func BenchmarkCost(b *testing.B) {
	const slice = 32
	for _, s := range shapes {
		for _, name := range kernel.Names() {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				cfg := DefaultConfig()
				cfg.Batch = s.batch
				cfg.Kernels = name
				step, products := steps(b, shapeData(s.n, s.in, s.out), cfg)
				work := []func(){step, products}

				least := make([]float64, len(work))
				for i := range b.N {
					for w, f := range work {
						start := processorTime(b)

						for range slice {
							f()
						}

						if took := (processorTime(b) - start) / slice; i == 0 || took < least[w] {
							least[w] = took
						}
					}
				}

				b.ReportMetric(least[0], "µs/step")
				b.ReportMetric(least[0]/least[1], "step/products")
			})
		}
	}
}

// processorTime is the processor time of the process in µs.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))

	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}
