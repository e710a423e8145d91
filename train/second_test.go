package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// randomModel has weights as drawn for a training, those of the feedback times
// gain: the more, the more units change sign within reach.
func randomModel(t *testing.T, in, out int, hidden []int, feedback, kernels string, gain float32) *Model {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Hidden, cfg.Feedback, cfg.Kernels, cfg.Seed = hidden, feedback, kernels, uint64(in+10*out)

	k := resolved(t, kernels)

	tr := newTrainer(newLayout(in, out, flagInputs(feedback), hidden), k, cfg)
	tr.initialise(cfg.Seed)

	for j := range out {
		for u := range hidden[0] {
			tr.p[tr.at(0, in+j, u)] *= gain
		}
	}

	return newModel(tr, cfg, triplets.Identity(in), triplets.Identity(out), k.Name)
}

// The rewritten network answers what the whole one does, at every ε, whatever
// its depth, widths, outcomes and feedback, and however many of its units
// change sign. Expected values: PredictGiven, which knows of no rewriting.
func TestSecondAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))

	kept, units := 0, 0
	for _, name := range kernel.Names() {
		for _, hidden := range [][]int{{64, 64}, {7}, {40, 30}, {20, 33, 64}, {100, 5, 17, 9}} {
			for _, out := range []int{1, 2, 5, 9} {
				for _, gain := range []float32{0, 0.1, 1, 30} {
					feedback := []string{DropWeights, Constant, Flag}[rng.IntN(3)]
					m := randomModel(t, 3, out, hidden, feedback, name, gain)
					const n = 300 // two blocks
					x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}

					mu, sd, eps := make([]float64, out), make([]float32, out), make([]float32, n*out)
					for j := range mu {
						mu[j], sd[j] = float64(float32(rng.NormFloat64())), float32(rng.ExpFloat64())
					}

					xs, ys := []float64{}, []float64{}
					for i := range eps {
						eps[i] = float32(rng.NormFloat64())
						ys = append(ys, mu[i%out]+float64(sd[i%out])*float64(eps[i]))
					}

					for range n {
						xs = append(xs, x...)
					}

					want, wantVar := m.PredictGiven(xs, ys)

					e := newEvaluator(m)
					s := newSecond(&e.net)

					// Half of the columns as draws, half as nodes with distinct
					// weights.
					weights := make([]float64, n/2)
					for i := range weights {
						weights[i] = float64(i + 1)
					}

					p := newPoints(eps[:n/2*out], eps[n/2*out:], weights, out, s.base)
					pre := aligned[float32](kernel.RowStep * s.pad[0])
					s.first(pre, e.scaleX(x), mu)
					s.condition(pre[:s.pad[0]], sd)

					shift := make([]float32, out)
					for j := range shift {
						shift[j] = float32(mu[j])
					}

					seen := 0
					for g := range p.groups {
						s.rewrite(shift, p.groups[g].reach)

						for _, l := range s.plan[:len(s.plan)-1] {
							kept += l.rows
						}

						for _, h := range hidden {
							units += h
						}

						for k := range p.groups[g].blocks {
							b := &p.groups[g].blocks[k]
							a := slices.Clone(s.evaluate(b, 2*out))
							v := a[out*b.pad : 2*out*b.pad]
							e.k.Variance(v)

							for c := range b.n {
								i := 0 // the row of eps that column c holds
								if b.nodes {
									i = n/2 + int(b.weights[c]) - 1
								} else {
									for i = range n / 2 {
										if eps[i*out] == b.eps[c] {
											break
										}
									}
								}

								seen++

								for j := range out {
									got, size := mu[j]+float64(a[j*b.pad+c]), 1+math.Abs(want[i*out+j])
									if d := math.Abs(got - want[i*out+j]); !(d < 2e-5*size) {
										t.Fatalf("%s %v out %d gain %g: m[%d] = %g, expected %g", name, hidden, out, gain, j, got, want[i*out+j])
									}

									if d := math.Abs(float64(v[j*b.pad+c]) - wantVar[i*out+j]); !(d < 2e-5*(1+wantVar[i*out+j])) {
										t.Fatalf("%s %v out %d gain %g: v[%d] = %g, expected %g", name, hidden, out, gain, j, v[j*b.pad+c],
											wantVar[i*out+j])
									}
								}
							}
						}
					}

					must.Never(t, seen != n, "%d points came out of %d", seen, n)
				}
			}
		}
	}

	// Neither everything nor nothing was left out.
	if share := float64(kept) / float64(units); share < 0.2 || share > 0.8 {
		t.Errorf("%.2f of the units were kept: the test sees one side only", share)
	}
}

// Bounds hold: a unit that is called on is positive, one called off negative,
// at every ε of the group. Expected values: the layers one by one in float64.
func TestSecondBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	m := randomModel(t, 2, 4, []int{48, 40, 32}, DropWeights, "portable", 1)
	e := newEvaluator(m)
	s, l := newSecond(&e.net), m.shape

	decided := 0
	for range 20 {
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}

		mu, sd := make([]float64, 4), make([]float32, 4)
		for j := range mu {
			mu[j], sd[j] = float64(float32(rng.NormFloat64())), 0.3*float32(rng.ExpFloat64())
		}

		pre := aligned[float32](kernel.RowStep * s.pad[0])
		s.first(pre, e.scaleX(x), mu)
		s.condition(pre[:s.pad[0]], sd)
		const reach = 2.5
		s.rewrite(make([]float32, 4), reach)

		last, on := slices.Clone(s.kept), slices.Clone(s.is) // of the third layer, where bounds are loosest
		for trial := range 400 {
			eps, norm := make([]float64, 4), 0.0
			for j := range eps {
				eps[j] = rng.NormFloat64()
				norm += eps[j] * eps[j]
			}

			for j := range eps { // mostly on the sphere
				eps[j] *= reach / math.Sqrt(norm)
				if trial%4 == 0 {
					eps[j] *= rng.Float64()
				}
			}

			h := append([]float64{x[0], x[1]}, make([]float64, 4)...)
			for j := range eps {
				h[2+j] = mu[j] + float64(sd[j])*eps[j]
			}

			var z []float64
			for i := range 3 {
				z = make([]float64, l.width[i])
				for u := range z {
					z[u] = float64(l.paramsBias(m, i, u))
					for k, v := range h {
						z[u] += v * float64(m.params[l.at(i, k, u)])
					}
				}

				h = make([]float64, len(z))
				for u, v := range z {
					h[u] = max(0, v)
				}
			}

			for u, v := range z {
				switch {
				case slices.Contains(on, u):
					decided++
					must.Never(t, v < -1e-5, "unit %d is called on, and is %g", u, v)

				case !slices.Contains(last, u):
					decided++
					must.Never(t, v > 1e-5, "unit %d is called off, and is %g", u, v)
				}
			}
		}
	}

	must.Not(t, decided < 20*400*4, "only %d signs were decided", decided)
}

func (l *layout) paramsBias(m *Model, i, u int) float32 { return m.params[l.b[i]+u] }

// CovRaw of one outcome follows from sums over pieces. Expected values: the
// same draws one by one through the whole network.
func TestSampledLine(t *testing.T) {
	for _, sampler := range []string{Antithetic, PlainSampling} {
		m := randomModel(t, 2, 1, []int{30, 20}, Flag, "portable", 3)
		x := []float64{0.3, -0.7}
		o := EstimateOptions{Samples: 500, Sampler: sampler, Seed: 9}
		got := estimated(t, m, x, o)

		mu, v := m.Predict(x)
		sum := 0.0

		eps := normals(o, 1)
		for _, e := range eps {
			y := mu[0] + math.Sqrt(v[0])*float64(e)
			second, _ := m.PredictGiven(x, []float64{y})
			sum += y * second[0]
		}

		must.Near(t, got.CovRaw[0], sum/float64(len(eps))-mu[0]*mu[0], 1e-6, "%s: CovRaw", sampler)
	}
}

// The cost of cov_θ depends on how many units change sign within reach of σ:
// from a network that almost ignores the feedback to one that uses nothing else.
func BenchmarkSecond(b *testing.B) {
	for _, gain := range []float32{0.1, 1, 10} {
		b.Run(fmt.Sprintf("gain=%g", gain), func(b *testing.B) {
			k := resolved(b, "")

			cfg := DefaultConfig()
			tr := newTrainer(newLayout(3, 5, 0, cfg.Hidden), k, cfg)
			tr.initialise(1)

			for j := range 5 {
				for u := range 64 {
					tr.p[tr.at(0, 3+j, u)] *= gain
				}
			}

			m := newModel(tr, cfg, triplets.Identity(3), triplets.Identity(5), k.Name)

			x := shapeData(100, 3, 5).X
			for b.Loop() {
				if _, err := m.Estimate(b.Context(), x, EstimateOptions{}); err != nil {
					b.Fatal(err)
				}
			}

			b.ReportMetric(1000*100*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
