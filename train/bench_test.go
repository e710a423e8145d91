package train

import (
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// shapes are the shapes of the three experiments (docs/method.md#model-and-training).
var shapes = []struct {
	name                          string
	rows, inputs, outcomes, batch int
}{
	{"airfoil", 45000, 2, 2, 256},
	{"drone", 585, 3, 5, 32},
	{"toy", 1000, 1, 1, 32},
}

// shapeData draws n triplets. The inputs are normal, and each outcome is the sum of their sines with noise of the
// deviation 0.3.
func shapeData(n, in, out int) triplets.Set {
	d := triplets.Set{N: n, In: in, Out: out}

	p := newStream(1, 99)
	for range n {
		sum := 0.0
		for range in {
			x := normQuantile(uniform(p))
			d.X = append(d.X, x)
			sum += math.Sin(x)
		}

		for range out {
			d.Y1 = append(d.Y1, sum+0.3*normQuantile(uniform(p)))
			d.Y2 = append(d.Y2, sum+0.3*normQuantile(uniform(p)))
		}
	}

	return d
}

// steps returns two functions to measure: a training step, and the matrix products of a step alone, with the biases,
// ReLU and dropout that their kernels include.
func steps(b *testing.B, data triplets.Set, cfg Config) (step, products func()) {
	k := resolved(b, cfg.Kernels)

	t := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
	t.initialise(1)
	rows := packRows[float32](data, triplets.ScaleOf(data.In, data.X), triplets.ScaleOf(data.Out, data.Y1, data.Y2))

	order := make([]int32, data.N/cfg.Batch*cfg.Batch)
	for i := range order {
		order[i] = int32(i * 7919 % data.N) // 7919 is prime: the rows are far apart, as after a shuffle
	}

	next := 0
	step = func() {
		t.gradient(rows, order[next:next+cfg.Batch], nil)
		t.step(1e-3)
		next = (next + cfg.Batch) % len(order)
	}

	products = func() {
		for begin := 0; begin < cfg.Batch; begin += t.tripBlock {
			rows := t.rows(min(t.tripBlock, cfg.Batch-begin))
			t.forward(rows, t.bits)
			t.backward(rows)
		}

		clear(t.g)
	}

	return step, products
}

// BenchmarkCost compares the processor time of a training step with the time of its matrix products alone. Both are
// measured in short slices that alternate, and the least time counts.
func BenchmarkCost(b *testing.B) {
	const slice = 32
	for _, s := range shapes {
		for _, name := range kernel.Names() {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				cfg := DefaultConfig()
				cfg.Batch = s.batch
				cfg.Kernels = name
				step, products := steps(b, shapeData(s.rows, s.inputs, s.outcomes), cfg)

				leastStep := math.Inf(1)
				leastProducts := math.Inf(1)
				for range b.N {
					leastStep = min(leastStep, timeOf(b, slice, step))
					leastProducts = min(leastProducts, timeOf(b, slice, products))
				}

				b.ReportMetric(leastStep, "µs/step")
				b.ReportMetric(leastStep/leastProducts, "step/products")
			})
		}
	}
}

// timeOf returns the processor time of one of n calls of f, in µs.
func timeOf(b *testing.B, n int, f func()) float64 {
	start := processorTime(b)
	for range n {
		f()
	}

	return (processorTime(b) - start) / float64(n)
}

// processorTime returns the processor time of the process, in µs.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))

	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}
