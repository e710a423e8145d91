package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// randomModel returns a model with the weights at the start of a training, but with the feedback weights multiplied by
// gain: the larger gain is, the more units change sign within reach.
func randomModel(t testing.TB, in, out int, hidden []int, feedback, kernels string, gain float32) *Model {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Hidden = hidden
	cfg.Feedback = feedback
	cfg.Kernels = kernels
	cfg.Seed = uint64(in + 10*out)

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

// The rewritten network gives the same answers as the whole network, at every ε, whatever its depth, widths, outcomes
// and feedback are, and however many of its units change sign. Expected values: PredictGiven, which does not rewrite.
func TestSecondAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))

	kept := 0
	units := 0
	for _, name := range kernel.Names() {
		for _, hidden := range [][]int{{64, 64}, {7}, {40, 30}, {20, 33, 64}, {100, 5, 17, 9}} {
			for _, out := range []int{1, 2, 5, 9} {
				for _, gain := range []float32{0, 0.1, 1, 30} {
					feedback := []string{DropWeights, Constant, Flag}[rng.IntN(3)]
					c := newSecondCase(randomModel(t, 3, out, hidden, feedback, name, gain), rng)
					c.what = fmt.Sprintf("%s %v out %d gain %g", name, hidden, out, gain)
					keptHere, unitsHere := c.check(t)
					kept += keptHere
					units += unitsHere
				}
			}
		}
	}

	share := float64(kept) / float64(units)
	assert.InDelta(t, 0.5, share, 0.3, "share of the units that were kept: the test must see both sides")
}

// secondPoints is the number of ε of a secondCase: two blocks.
const secondPoints = 300

// secondCase is a model with a random condition, a random first answer and random ε.
type secondCase struct {
	what string // for messages
	m    *Model
	x    []float64 // the condition
	mu   []float64 // means of the first answer
	sd   []float32 // its standard deviations
	eps  []float32 // one row per point

	mean, variance []float64 // expected second answers, one row per point
}

// newSecondCase draws a case for a model with three inputs.
func newSecondCase(m *Model, rng *rand.Rand) *secondCase {
	c := &secondCase{m: m, x: []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}}
	for range m.Out {
		c.mu = append(c.mu, float64(float32(rng.NormFloat64())))
		c.sd = append(c.sd, float32(rng.ExpFloat64()))
	}

	var xs, ys []float64
	for i := range secondPoints * m.Out {
		e := float32(rng.NormFloat64())
		c.eps = append(c.eps, e)
		ys = append(ys, c.mu[i%m.Out]+float64(c.sd[i%m.Out])*float64(e))
	}

	for range secondPoints {
		xs = append(xs, c.x...)
	}

	c.mean, c.variance = m.PredictGiven(xs, ys)

	return c
}

// check compares the rewritten network with the expected answers. It returns how many units the plans keep, and how
// many there are. Half of the points are draws, half are nodes with distinct weights.
func (c *secondCase) check(t *testing.T) (kept, units int) {
	t.Helper()

	outcomes := c.m.Out
	e := newEvaluator(c.m)
	s := newSecond(&e.net)

	weights := make([]float64, secondPoints/2)
	for i := range weights {
		weights[i] = float64(i + 1)
	}

	p := newPoints(c.eps[:secondPoints/2*outcomes], c.eps[secondPoints/2*outcomes:], weights, outcomes, s.base)
	pre := aligned[float32](kernel.RowStep * s.pad[0])
	s.inputLayer(pre, e.scaleX(c.x), c.mu)
	s.setCondition(pre[:s.pad[0]], c.sd)

	shift := make([]float32, outcomes)
	for j := range shift {
		shift[j] = float32(c.mu[j])
	}

	seen := 0
	for g := range p.groups {
		s.rewrite(shift, p.groups[g].reach)
		for _, l := range s.plan[:len(s.plan)-1] {
			kept += l.rows
		}

		for _, h := range c.m.Config.Hidden {
			units += h
		}

		for k := range p.groups[g].blocks {
			b := &p.groups[g].blocks[k]
			answer := slices.Clone(s.evaluate(b, 2*outcomes))
			e.k.Variance(answer[outcomes*b.pad : 2*outcomes*b.pad])
			c.compare(t, b, answer)
			seen += b.n
		}
	}

	require.Equal(t, secondPoints, seen, "points with an answer")

	return kept, units
}

// compare checks the means and the variances of the points of a block.
func (c *secondCase) compare(t *testing.T, b *pointBlock, answer []float32) {
	t.Helper()

	outcomes := c.m.Out
	for column := range b.n {
		i := c.row(b, column)
		for j := range outcomes {
			wantMean := c.mean[i*outcomes+j]
			mean := c.mu[j] + float64(answer[j*b.pad+column])
			require.InDelta(t, wantMean, mean, 2e-5*(1+math.Abs(wantMean)), "%s: mean of outcome %d", c.what, j)

			wantVariance := c.variance[i*outcomes+j]
			variance := float64(answer[(outcomes+j)*b.pad+column])
			require.InDelta(t, wantVariance, variance, 2e-5*(1+wantVariance), "%s: variance of outcome %d", c.what, j)
		}
	}
}

// row returns the number of the point in a column of a block. Nodes are known by their weight, draws by their ε.
func (c *secondCase) row(b *pointBlock, column int) int {
	if b.nodes {
		return secondPoints/2 + int(b.weights[column]) - 1
	}

	for i := range secondPoints / 2 {
		if c.eps[i*c.m.Out] == b.eps[column] {
			return i
		}
	}

	panic("a column of a block is not among the draws")
}

// The bounds of the units are right: at every ε of a group an active unit is positive, and a unit that is off is
// negative. The last of three layers is tested, because its bounds are the loosest. Expected values: the layers one by
// one in float64.
func TestSecondBounds(t *testing.T) {
	const outcomes = 4
	const reach = 2.5
	rng := rand.New(rand.NewPCG(7, 8))
	m := randomModel(t, 2, outcomes, []int{48, 40, 32}, DropWeights, "portable", 1)
	e := newEvaluator(m)
	s := newSecond(&e.net)

	decided := 0
	for range 20 {
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		mu := make([]float64, outcomes)
		sd := make([]float32, outcomes)
		for j := range mu {
			mu[j] = float64(float32(rng.NormFloat64()))
			sd[j] = 0.3 * float32(rng.ExpFloat64())
		}

		pre := aligned[float32](kernel.RowStep * s.pad[0])
		s.inputLayer(pre, e.scaleX(x), mu)
		s.setCondition(pre[:s.pad[0]], sd)
		s.rewrite(make([]float32, outcomes), reach)

		for trial := range 400 {
			eps := epsWithin(rng, outcomes, reach)
			if trial%4 == 0 {
				for j := range eps {
					eps[j] *= rng.Float64() // inside the sphere
				}
			}

			fed := make([]float64, outcomes)
			for j := range fed {
				fed[j] = mu[j] + float64(sd[j])*eps[j]
			}

			for u, v := range preActivations(m, append(slices.Clone(x), fed...)) {
				switch {
				case slices.Contains(s.active, u):
					decided++
					require.GreaterOrEqual(t, v, -1e-5, "active unit %d", u)

				case !slices.Contains(s.undecided, u):
					decided++
					require.LessOrEqual(t, v, 1e-5, "unit %d, which is off", u)
				}
			}
		}
	}

	assert.GreaterOrEqual(t, decided, 20*400*4, "signs that were decided")
}

// epsWithin returns a random ε of d outcomes with the length reach.
func epsWithin(rng *rand.Rand, d int, reach float64) []float64 {
	eps := make([]float64, d)
	for j := range eps {
		eps[j] = rng.NormFloat64()
	}

	floats.Scale(reach/floats.Norm(eps, 2), eps)

	return eps
}

// preActivations returns the pre-activations of the last hidden layer for the given inputs of the network, in float64.
func preActivations(m *Model, inputs []float64) []float64 {
	l := m.shape
	var z []float64
	for i := range l.depth() {
		z = make([]float64, l.width[i])
		for u := range z {
			z[u] = float64(m.params[l.b[i]+u])
			for k, v := range inputs {
				z[u] += v * float64(m.params[l.at(i, k, u)])
			}
		}

		inputs = make([]float64, len(z))
		for u, v := range z {
			inputs[u] = max(0, v)
		}
	}

	return z
}

// The raw covariance of one outcome follows from sums over pieces. Expected values: the same draws one by one through
// the whole network.
func TestSampledPieces(t *testing.T) {
	for _, sampler := range []string{Antithetic, PlainSampling} {
		m := randomModel(t, 2, 1, []int{30, 20}, Flag, "portable", 3)
		x := []float64{0.3, -0.7}
		o := EstimateOptions{Samples: 500, Sampler: sampler, Seed: 9}
		got := estimated(t, m, x, o)

		mu, v := m.Predict(x)

		var products []float64
		for _, e := range normals(o, 1) {
			y := mu[0] + math.Sqrt(v[0])*float64(e)
			second, _ := m.PredictGiven(x, []float64{y})
			products = append(products, y*second[0])
		}

		assert.InDelta(t, mean(products)-mu[0]*mu[0], got.CovRaw[0], 1e-6, sampler)
	}
}

// BenchmarkSecond measures samples of second answers. Their cost depends on how many units change sign within reach of
// σ. So the feedback weights go from a network that almost ignores the feedback to one that uses nothing else.
func BenchmarkSecond(b *testing.B) {
	const conditions = 100
	x := shapeData(conditions, 3, 5).X
	for _, gain := range []float32{0.1, 1, 10} {
		b.Run(fmt.Sprintf("gain=%g", gain), func(b *testing.B) {
			m := randomModel(b, 3, 5, DefaultConfig().Hidden, DropWeights, "auto", gain)

			samples := 0
			for b.Loop() {
				e, err := m.Estimate(b.Context(), x, EstimateOptions{})
				require.NoError(b, err)
				samples += e.Samples * conditions
			}

			b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
