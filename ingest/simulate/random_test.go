package simulate

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: the layers of a ziggurat have equal area and close at the top of
// the density, f(0) = 1; the lowest one's area is r·f(r) plus the tail,
// √(π/2)·erfc(r/√2).
func TestZigguratTable(t *testing.T) {
	tail := math.Sqrt(math.Pi/2) * math.Erfc(zigR/math.Sqrt2)
	assert.InDelta(t, zigV, zigR*math.Exp(-zigR*zigR/2)+tail, 1e-13, "area of the lowest layer")

	for i := 1; i < zigN; i++ {
		assert.InDelta(t, zigV, zigX[i]*(zigF[i+1]-zigF[i]), 1e-11, "area of layer %d", i)
		assert.Greater(t, zigX[i], zigX[i+1], "edge %d", i)
	}
}

// kolmogorovDistance returns the largest distance between the empirical distribution of a sorted sample and a
// distribution.
func kolmogorovDistance(sorted []float64, distribution func(float64) float64) float64 {
	n := float64(len(sorted))
	distance := 0.0
	for i, v := range sorted {
		p := distribution(v)
		distance = max(distance, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}

	return distance
}

// kolmogorovBound returns the bound that the Kolmogorov distance of a large sample of size n exceeds in 0.1 % of all
// samples: λ/√n with 2·exp(−2λ²) = 0.001, so λ is 1.95.
func kolmogorovBound(n int) float64 { return 1.95 / math.Sqrt(float64(n)) }

// Expected: the moments of the standard normal distribution (0, 1, 0, 3, 0, 15), within four standard errors
// √((E x^2k − (E x^k)²)/n); the shares beyond 1, 3, the ziggurat's tail point and 4.2; and a distance to Φ below
// kolmogorovBound. The seed is fixed: the test gives the same result each time.
func TestNormal(t *testing.T) {
	const n = 1 << 20
	draw64 := func(x []float64) {
		s := newStream(1, "test")
		for i := range x {
			x[i] = s.norm()
		}
	}

	draw32 := func(x []float64) {
		f := make([]float32, len(x))
		newStream(2, "test").fill(f)

		for i := range x {
			x[i] = float64(f[i])
		}
	}

	for _, c := range []struct {
		name string
		draw func([]float64)
	}{{"norm", draw64}, {"fill", draw32}} {
		x := make([]float64, n)
		c.draw(x)

		moment := []float64{1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395}
		for k := 1; k <= 6; k++ {
			sum := 0.0
			for _, v := range x {
				power := v
				for range k - 1 {
					power *= v
				}

				sum += power
			}

			se := math.Sqrt((moment[2*k] - moment[k]*moment[k]) / n)
			assert.InDelta(t, moment[k], sum/n, 4*se, "%s: moment %d", c.name, k)
		}

		// Neighbours come from one 64-bit draw in fill: they and their squares
		// must be uncorrelated.
		for lag := 1; lag <= 3; lag++ {
			var r, r2 float64
			for i := range n - lag {
				r += x[i] * x[i+lag] / n
				r2 += (x[i]*x[i] - 1) * (x[i+lag]*x[i+lag] - 1) / n
			}

			assert.InDelta(t, 0, r, 4/math.Sqrt(n), "%s: neighbours at distance %d", c.name, lag)
			assert.InDelta(t, 0, r2, 4*2/math.Sqrt(n), "%s: squares of neighbours at distance %d", c.name, lag)
		}

		for _, edge := range []float64{1, 3, zigR, 4.2} {
			p := math.Erfc(edge / math.Sqrt2)

			count := 0.0
			for _, v := range x {
				if math.Abs(v) > edge {
					count++
				}
			}

			assert.InDelta(t, n*p, count, 4*math.Sqrt(n*p*(1-p))+1, "%s: draws beyond %g", c.name, edge)
		}

		slices.Sort(x)

		normal := func(v float64) float64 { return 0.5 * math.Erfc(-v/math.Sqrt2) }
		assert.LessOrEqual(t, kolmogorovDistance(x, normal), kolmogorovBound(n), "%s: Kolmogorov distance", c.name)
	}
}

// Expected: by contract a stream depends on seed and name only, and goes on
// seamlessly from even places.
func TestStreams(t *testing.T) {
	whole := make([]float32, 1001)
	parts := make([]float32, 1001)
	newStream(7, "a", 2).fill(whole)
	s := newStream(7, "a", 2)
	s.fill(parts[:10])
	s.fill(parts[10:400])
	s.fill(parts[400:])

	assert.Equal(t, parts, whole, "a stream filled at once, and in parts")

	for _, o := range []*stream{newStream(8, "a", 2), newStream(7, "a", 3), newStream(7, "b", 2), newStream(7, "a")} {
		o.fill(parts)

		r := 0.0
		for i := range whole {
			r += float64(whole[i]) * float64(parts[i])
		}

		assert.InDelta(t, 0, r/float64(len(whole)), 4/math.Sqrt(float64(len(whole))),
			"correlation of streams of different names")
	}

	for range 1000 {
		u := s.uniform()
		require.Greater(t, u, 0.0, "uniform")
		require.LessOrEqual(t, u, 1.0, "uniform")
	}
}

// Expected: unit variance from the first sample on, and the autocorrelations
// of an AR(1) process, a^k, and of a two-pole resonator (Yule–Walker:
// ρ1 = c/(1+r²), ρk = c·ρ(k−1) − r²·ρ(k−2)). An ensemble of short records
// gives honest standard errors.
func TestProcesses(t *testing.T) {
	const (
		rate    = 1000.0
		records = 4000
		length  = 40
	)
	a := math.Exp(-2 * math.Pi * 12 / rate)
	r2 := math.Exp(-2 * math.Pi * 52 / (8 * rate))
	c := 2 * math.Sqrt(r2) * math.Cos(2*math.Pi*52/rate)
	rho := []float64{1, c / (1 + r2)}
	for k := 2; k < length; k++ {
		rho = append(rho, c*rho[k-1]-r2*rho[k-2])
	}

	for _, p := range []struct {
		name string
		make func(*stream) interface{ next() float64 }
		want func(lag int) float64
	}{
		{
			"ar1", func(s *stream) interface{ next() float64 } { return newAR1(s, 12, rate) },
			func(k int) float64 { return math.Pow(a, float64(k)) },
		},
		{
			"resonator", func(s *stream) interface{ next() float64 } { return newResonator(s, 52, 8, rate) },
			func(k int) float64 { return rho[k] },
		},
	} {
		sum := make([]float64, length)

		last := 0.0
		for rec := range records {
			g := p.make(newStream(uint64(rec), p.name))

			first := 0.0
			for k := range sum {
				x := g.next()
				if k == 0 {
					first = x
				}

				sum[k] += first * x / records
				if k == length-1 {
					last += x * x / records
				}
			}
		}

		for k, got := range sum {
			want := p.want(k)
			assert.InDelta(t, want, got, 4.5*math.Sqrt((1+want*want)/records), "%s: covariance at lag %d", p.name, k)
		}

		assert.InDelta(t, 1, last, 4.5*math.Sqrt(2.0/records), "%s: variance after %d samples", p.name, length)
	}
}

// Expected: the mean square of a linearly interpolated process, (2+a)/3; the
// same values whatever the blocks.
func TestSlow(t *testing.T) {
	const (
		rate = 10240.0
		n    = 1 << 20
	)
	x := make([]float64, n)
	y := make([]float64, n)
	newSlow(newStream(3, "slow"), 0.05, rate).fill(x, 0, 0, 1)

	s := newSlow(newStream(3, "slow"), 0.05, rate)
	for at, k := 0, 1; at < n; k = k*7%4099 + 1 {
		end := min(at+k, n)
		s.fill(y[at:end], int64(at), 0, 1)
		at = end
	}

	assert.Equal(t, y, x, "a slow process made in blocks, and at once")

	sum := 0.0
	for _, v := range x {
		sum += v * v / n
	}

	want := slowPower(0.05)
	assert.InDelta(t, want, sum, 4*want*math.Sqrt(2*0.05/(n/rate)), "mean square")

	// The process is continuous: no step is larger than a grid interval's share.
	largest := 0.0
	for i := 1; i < n; i++ {
		largest = max(largest, math.Abs(x[i]-x[i-1]))
	}

	assert.LessOrEqual(t, largest, 8*slowRateHz/rate, "the largest step")
}
