package train

import (
	"context"
	"math"
	"syscall"
	"testing"

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

// BenchmarkFit trains networks of two answers and of heads of pairs.
func BenchmarkFit(b *testing.B) {
	for _, s := range shapes {
		for _, name := range kernel.Names() {
			for _, head := range []string{TwoAnswers, Joint, JointFull, Binned} {
				cfg := DefaultConfig()
				cfg.Batch, cfg.Kernels, cfg.Head = s.batch, name, head

				label := s.name + "/" + name
				if head != TwoAnswers {
					label += "/" + head
				}

				b.Run(label, func(b *testing.B) { benchmarkFit(b, shapeData(s.n, s.in, s.out), cfg) })
			}
		}
	}
}

func benchmarkFit(b *testing.B, data triplets.Set, cfg Config) {
	step, _ := steps(b, data, cfg)
	b.ReportAllocs()
	b.ResetTimer()

	for range b.N {
		step()
	}

	b.ReportMetric(float64(b.N*cfg.Batch)/b.Elapsed().Seconds(), "triplets/s")
}

// steps returns a training step, and the matrix products of one alone, with the
// biases, ReLU and dropout that their kernels include.
func steps(b *testing.B, data triplets.Set, cfg Config) (step, products func()) {
	k := resolved(b, cfg.Kernels)

	t := newTrainer(layoutOf(data.In, data.Out, cfg), k, cfg)
	t.initialise(1)
	rows := packRows[float32](data, triplets.ScaleOf(data.In, data.X), triplets.ScaleOf(data.Out, data.Y1, data.Y2))
	t.learnBins(rows)

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

// BenchmarkCost measures a training step of each head in those of two answers and in
// its own matrix products alone: the least processor time of short slices that
// alternate.
func BenchmarkCost(b *testing.B) {
	const slice = 32
	for _, s := range shapes {
		for _, name := range kernel.Names() {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				heads := []string{TwoAnswers, Joint, JointFull, Binned}

				var work []func()
				for _, head := range heads {
					cfg := DefaultConfig()
					cfg.Batch, cfg.Kernels, cfg.Head = s.batch, name, head
					step, products := steps(b, shapeData(s.n, s.in, s.out), cfg)
					work = append(work, step, products)
				}

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

				for h, head := range heads {
					if head == TwoAnswers {
						head = "pair"
					}

					b.ReportMetric(least[2*h], "µs/"+head)
					b.ReportMetric(least[2*h]/least[0], head+"/pair")
					b.ReportMetric(least[2*h]/least[2*h+1], head+"/products")
				}
			})
		}
	}
}

// processorTime is the processor time of the process in µs.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}

	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

func BenchmarkEstimate(b *testing.B) {
	for _, s := range shapes {
		for _, name := range kernel.Names() {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				data := shapeData(585, s.in, s.out)
				cfg := DefaultConfig()
				cfg.Epochs, cfg.Kernels = 3, name
				m, _, err := Fit(context.Background(), data, cfg, nil)
				if err != nil {
					b.Fatal(err)
				}

				x := data.X[:100*s.in]
				b.ResetTimer()

				rows := 0
				for range b.N {
					e := estimated(b, m, x, EstimateOptions{})

					rows += e.N * e.Samples
				}

				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}
