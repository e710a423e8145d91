package dsp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// goldenWindows is testdata/windows.json, which testdata/make_windows.py writes.
type goldenWindows struct {
	Rate    float64   `json:"rate"`
	X       []float64 `json:"x"`
	Windows map[string]struct {
		W         []float64 `json:"w"`
		NoiseBins float64   `json:"noise_bins"`
	} `json:"windows"`
	Cases []struct {
		Window  string       `json:"window"`
		Segment int          `json:"segment"`
		Overlap float64      `json:"overlap"`
		Halves  [2][]float64 `json:"halves"`
	} `json:"cases"`
	Bands map[string][][4]float64 `json:"bands"` // mid-frequency, edges, mean square
}

// Expected values: scipy.signal.get_window for the windows, and scipy.signal.welch for the spectra of both halves
// (testdata/make_windows.py). The file has four cases for each window.
func TestWindowsGolden(t *testing.T) {
	var g goldenWindows
	readJSON(t, "windows.json", &g)

	for name, want := range g.Windows {
		for i, v := range periodic(name, len(want.W)) {
			assert.InDelta(t, want.W[i], v, 1e-15, "%s[%d]", name, i)
		}

		assert.InDelta(t, want.NoiseBins, NoiseBins(name), 1e-12, "%s: noise bandwidth", name)
	}

	require.Len(t, g.Windows, len(windows), "windows")
	require.Len(t, g.Cases, 4*len(windows), "cases")

	for _, c := range g.Cases {
		a := NewAnalyser()
		r := microphones(memory{g.X}, g.Rate, overlapped(c.Overlap, c.Window))
		r.Settings.SegmentS = float64(c.Segment) / g.Rate
		require.NoError(t, a.Load(t.Context(), memory{g.X}, segmentsOf(t, r, 1)))

		for h, want := range c.Halves {
			got := a.Power(h, 0)
			require.Len(t, got, len(want), "%s, %d samples: bins", c.Window, c.Segment)

			for k := range want {
				assert.InDelta(t, want[k], got[k], 1e-12,
					"%s, %d samples, overlap %g, half %d, bin %d", c.Window, c.Segment, c.Overlap, h+1, k)
			}
		}
	}
}

// Nine overlapping segments a half are cut from three channels, which are read together from sample 11 on. Witness: the
// mean of Welch's powers of segments that are cut here; TestWelchGolden compares such powers with scipy's. The powers
// of single segments are stored as float32.
func TestOverlapReads(t *testing.T) {
	const n = 40_000
	src := memory{noise(n, 1), noise(n, 2), noise(n, 3)}
	for _, overlap := range []float64{0.5, 0.75, 0.4} {
		r := microphones(src, 1, overlapped(overlap, DefaultWindow))
		r.Start = 11
		r.Samples = n - 20
		r.Settings.Segments = 9
		s := segmentsOf(t, r, 5)

		a := NewAnalyser()
		require.NoError(t, a.Load(t.Context(), src, s))

		size := s.samples
		hop := s.hop
		used := size + 8*hop
		require.LessOrEqual(t, used, (n-20)/2, "overlap %g", overlap)
		assert.GreaterOrEqual(t, used, (n-20)/2-2*9, "overlap %g", overlap)

		w := NewWelch(size)
		for h := range 2 {
			for c := range src {
				want := make([]float64, w.Bins())
				start := 11 + h*(n-20)/2
				for g := range 9 {
					p := w.SegmentPower(nil, src[c][start+g*hop:start+g*hop+size])
					for k := range p {
						want[k] += p[k] / 9
					}

					assert.InDelta(t, p[3]/9, float64(a.segs[h][g][c][3]), 1e-6*p[3], "segment %d", g)
				}

				for k, p := range a.Power(h, c) {
					require.InDelta(t, want[k], p, 1e-12, "overlap %g, half %d, channel %d, bin %d", overlap, h+1, c, k)
				}
			}
		}
	}
}

// 4000 estimates of the spectrum of white noise are simulated, two halves of 2000 recordings each. Expected:
//   - the effective number of averages, count, is the one of Welch's formula where it was worked out by hand,
//   - the relative variance of a bin is 1/count within 3 %; pooled over 17 bins, it has a standard error below 0.5 %,
//   - the relative variance of the sum of these bins is the variance that belongs to the stated deviation of the level
//     within 10 %,
//   - the sums of the two halves of a recording are not correlated, within four standard errors.
func TestEffectiveAverages(t *testing.T) {
	const (
		n         = 64
		segments  = 8
		estimates = 4000
	)
	for _, c := range []struct {
		window  string
		overlap float64
		count   float64 // expected by hand; 0: by the simulation alone
	}{
		// Welch's formula with the Hann window's ρ(1) = 1/36: 8/(1 + 2·7/8/36).
		{"hann", 0.5, 8 / (1 + 2*7./8/36)},
		{"hann", 0, 8},
		{"hann", 0.75, 0},
		{"hamming", 0.5, 0},
		{"blackman", 0.6, 0},
		{"flattop", 0.75, 0},
	}[:longtest.Count(3, 6)] {
		x := make([]float64, 2*(n+(segments-1)*(n-int(c.overlap*n))+1))
		s := segmentsOf(t, microphones(memory{x}, 1, overlapped(c.overlap, c.window)), 1)
		rng := rand.New(rand.NewPCG(5, 9))
		a := NewAnalyser()
		const (
			from = 8
			to   = 25
		)
		var mean, square [to]float64 // by bin, of the power and of its square
		sum := 0.0                   // mean over the estimates of the sum of the bins, the band
		sumSquare := 0.0             // mean of its square
		product := 0.0               // mean over the recordings of the product of the bands of the two halves
		predicted := 0.0             // mean of the stated relative variance of the band

		var halves [2]float64 // the bands of a recording
		for range estimates / 2 {
			for i := range x {
				x[i] = rng.NormFloat64()
			}

			require.NoError(t, a.Load(t.Context(), memory{x}, s))

			for h := range 2 {
				_, sd := a.averages.level(a.Power(h, 0), 1, Band{Lo: from - 0.5, Hi: to - 0.5}, nil)
				predicted += math.Pow(sd*math.Ln10/10, 2) / estimates

				band := 0.
				for k := from; k < to; k++ {
					p := a.Power(h, 0)[k]
					mean[k] += p / estimates
					square[k] += p * p / estimates
					band += p
				}

				sum += band / estimates
				sumSquare += band * band / estimates
				halves[h] = band
			}

			product += halves[0] * halves[1] / (estimates / 2)
		}

		relative := 0.
		for k := from; k < to; k++ {
			relative += (square[k]/mean[k]/mean[k] - 1) / (to - from)
		}

		count := a.averages.count()
		if c.count > 0 {
			assert.InDelta(t, c.count, count, 1e-9, "%s, overlap %g", c.window, c.overlap)
		}

		assert.InDelta(t, 1, relative*count, 0.03,
			"%s, overlap %g: variance %g, predicted %g", c.window, c.overlap, relative, 1/count)

		band := sumSquare/sum/sum - 1
		assert.InDelta(t, 1.0, band/predicted, 0.1, "%s, overlap %g", c.window, c.overlap)

		// The halves have no sample in common: the correlation of 2000 pairs is 0 ± 0.022.
		r := (product/sum/sum - 1) / band
		assert.InDelta(t, 0, r, 4*0.0224, "%s, overlap %g", c.window, c.overlap)

		t.Logf("%s, overlap %g: variance/predicted %.4f, of a sum %.4f", c.window, c.overlap, relative*count,
			band/predicted)
	}
}

// The predicted standard deviation of the level of a steady line in noise is the deviation of 3000 simulated levels,
// within four standard errors, with and without overlap.
func TestLineScatterWithOverlap(t *testing.T) {
	const (
		n         = 64
		segments  = 8
		estimates = 3000
		rho       = 10.
	)
	for _, overlap := range []float64{0, 0.5, 0.75} {
		x := make([]float64, 2*(n+(segments-1)*(n-int(overlap*n))+1))
		s := segmentsOf(t, microphones(memory{x}, 1, overlapped(overlap, DefaultWindow)), 1)
		noiseBin := NoiseBins("") * 2 / n // of unit variance, sine-calibrated
		amplitude := math.Sqrt(2 * (rho - 1) * noiseBin)
		rng := rand.New(rand.NewPCG(6, 2))
		a := NewAnalyser()

		var mean, square float64
		for range estimates / 2 {
			for i := range x {
				x[i] = rng.NormFloat64() + amplitude*math.Sin(2*math.Pi*16*float64(i)/n)
			}

			require.NoError(t, a.Load(t.Context(), memory{x}, s))

			for h := range 2 {
				p := a.Power(h, 0)[16]
				mean += p / estimates
				square += p * p / estimates
			}
		}

		// rho is (line + noise)/noise; the formula takes line/noise.
		got := 10 / math.Ln10 * math.Sqrt(square/mean/mean-1)
		want := a.averages.lineSD(rho - 1)
		assert.InDelta(t, want, got, 4/math.Sqrt(2*estimates)*want, "overlap %g: dB", overlap)
	}
}

// Under the flat-top window, the largest bin alone shows the mean square a²/2 of a sine within 0.01 dB, wherever the
// frequency lies between two bins.
func TestFlattopBetweenBins(t *testing.T) {
	const (
		n         = 512
		amplitude = 0.7
	)
	w := newWelch(n, "flattop")
	worst := 0.

	x := make([]float64, n)
	for step := range 21 {
		bins := 100 + float64(step)/20 // frequency of the sine
		for i := range x {
			x[i] = amplitude * math.Sin(2*math.Pi*bins*float64(i)/n+0.3)
		}

		p := w.SegmentPower(nil, x)
		top := max(p[100], p[101])
		worst = max(worst, math.Abs(10*math.Log10(top/(amplitude*amplitude/2))))
	}

	t.Logf("worst %.4f dB", worst)
	assert.LessOrEqual(t, worst, 0.01, "largest error in dB")
}
