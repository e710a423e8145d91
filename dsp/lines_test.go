package dsp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The median of numbers of many kinds is the middle of the sorted numbers, or the mean of the two in the middle,
// whatever the guess with which the search begins. No numbers have the median NaN.
func TestMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	kinds := []struct {
		name  string
		value func(i, n int) float64
	}{
		{"different", func(int, int) float64 { return rng.ExpFloat64() }},
		{"ties", func(int, int) float64 { return math.Round(8*rng.ExpFloat64()) / 8 }},
		{"few", func(int, int) float64 { return float64(rng.IntN(3)) }},
		{"equal", func(int, int) float64 { return 2 }},
		{"nothing", func(int, int) float64 { return 0 }},
		{"rising", func(i, _ int) float64 { return float64(i) }},
		{"falling", func(i, n int) float64 { return float64(n - i) }},
		{"zeros", func(int, int) float64 { return max(0, rng.NormFloat64()) }},
		{"infinite", func(int, int) float64 { return []float64{math.Inf(1), 1, 2}[rng.IntN(3)] }},
		{"wide", func(int, int) float64 { return math.Exp(600 * rng.NormFloat64()) }},
		{"tiny", func(int, int) float64 { return rng.ExpFloat64() * 1e-318 }},
	}

	for _, kind := range kinds {
		for _, n := range []int{1, 2, 3, 7, 8, 24, 25, 60, 201, 500} {
			x := make([]float64, n)
			for i := range x {
				x[i] = kind.value(i, n)
			}

			sorted := slices.Sorted(slices.Values(x))
			want := 0.5 * (sorted[(n-1)/2] + sorted[n/2])
			for _, guess := range []float64{
				x[0], want, sorted[0], sorted[n-1], 0, 100, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN(),
			} {
				require.Equal(t, want, median(x, guess), "%s, %d numbers guessed %g: median", kind.name, n, guess)
			}
		}
	}

	assert.True(t, math.IsNaN(median(nil, 1)), "median of no numbers")
}

// Expected: powers and frequencies are means over the halves. ρ is the sum of the peaks over the sum of the floors,
// (8 + 10)/(1 + 2). The deviation is the predicted one for the given segments at this ρ. The whole is an upper bound
// only if both halves are. Without a floor, ρ is finite.
func TestWhole(t *testing.T) {
	a := Line{Power: 2, PeakPower: 8, Floor: 1, PeakHz: 100, UpperBound: true}
	b := Line{Power: 4, PeakPower: 10, Floor: 2, PeakHz: 104}
	w := whole([2]Line{a, b}, independent(16))
	assert.InDelta(t, 3.0, w.Power, 0)
	assert.InDelta(t, 6.0, w.Rho, 0)
	assert.InDelta(t, 102.0, w.PeakHz, 0)
	assert.False(t, w.UpperBound)
	assert.InDelta(t, independent(16).lineSD(6), w.SDdB, 0)

	a.Floor = 0
	b.Floor = 0
	w = whole([2]Line{a, b}, independent(16))
	assert.InDelta(t, maxRho, w.Rho, 0, "without a floor")
	assert.True(t, finite(w.SDdB), "without a floor")
}

// By hand for bins of 2 Hz: the band of the bins 24 to 26 extends half a bin to both sides, from 47 to 53 Hz. With
// amplitude "peak", the noise bandwidth of 1.5 bins about the peak at 50 Hz is from 48.5 to 51.5 Hz.
func TestBetween(t *testing.T) {
	l := Line{PeakHz: 50, Band: [2]int{24, 26}}
	lo, hi := l.Between(2, 1.5, "band")
	assert.InDelta(t, 47.0, lo, 0, "band")
	assert.InDelta(t, 53.0, hi, 0, "band")

	lo, hi = l.Between(2, 1.5, "peak")
	assert.InDelta(t, 48.5, lo, 0, "peak")
	assert.InDelta(t, 51.5, hi, 0, "peak")
}

// Expected bins: counted by hand from docs/method.md#split-half-spectra.
func TestSearchAndFloorBins(t *testing.T) {
	lf := lineFinder{binHz: 2, tolerance: 0.03, minBins: 2}
	for _, c := range []struct {
		hz, shaft float64
		want      [2]int
	}{
		{100, 50, [2]int{48, 52}},     // ±max(3, 4) Hz
		{1000, 100, [2]int{485, 515}}, // ±30 Hz
		{1000, 40, [2]int{490, 510}},  // clipped midway, ±20 Hz
		{101, 1, [2]int{51, 51}},      // no bin within ±0.5 Hz: the nearest
	} {
		assert.Equal(t, c.want, lf.searchBins(c.hz, c.shaft, 6400), "%g Hz, shaft %g: bins", c.hz, c.shaft)
	}

	// The second harmonic of the BPF 300 Hz, of 3 blades at 100 Hz: the floor is from 525 to 675 Hz, which are the bins
	// 263 to 337. Of the shaft orders only 600 Hz is in this range: its guard leaves out the bins 296 to 304.
	bins, guard := lf.floorBins(nil, 600, 100, 300, 6400)
	assert.Equal(t, 4, guard, "guard")
	assert.Equal(t, 263, bins[0], "first bin of the floor")
	assert.Equal(t, 337, bins[len(bins)-1], "last bin of the floor")
	require.Len(t, bins, 75-9, "bins of the floor")
	assert.NotContains(t, bins, 296, "bin inside the guard of an order")
	assert.Contains(t, bins, 295, "bin next to the guard of an order")

	// The shaft orders are 8 bins apart. A guard of 4 bins leaves out all bins, and a guard of 3 bins leaves one bin
	// between two orders: 10 bins in the range.
	bins, guard = lf.floorBins(nil, 16*18, 16, 2*16*9, 6400)
	assert.Equal(t, 3, guard, "guard")
	assert.Len(t, bins, 10, "bins of the floor")

	// The shaft orders are one bin apart, so that no guard leaves any bin.
	bins, guard = lf.floorBins(nil, 200, 2, 40, 6400)
	assert.Equal(t, -1, guard, "guard")
	require.GreaterOrEqual(t, len(bins), floorMinBins, "bins of the floor")
	assert.NotContains(t, bins, 100, "bin of the line")
}

// The level of a tone in white noise is biased, because the noise adds to it and because the tone may lie between two
// bins. Expected for 8 segments a half: for strong tones between bins, the closed form of the window's main lobe, a
// mean of −0.47 dB and a deviation of 0.42 dB; for a tone as strong as the noise, twice its power, 3 dB; for ρ = 6 dB,
// the bias that docs/method.md#split-half-spectra states. The other deviations follow the formula there (1.33, 0.92,
// 0.52 and 0.069 dB) within their tolerances. The tone has the power ρ·ν, where ν is the mean power of a bin of the
// noise, 3σ²/N under the Hann window. Over 800 halves the mean has a standard error of at most 0.05 dB, and over 200
// halves, in a short test, of 0.09 dB.
func TestAmplitudeBias(t *testing.T) {
	lobe, lobeSD := mainLobeDB()

	const n = 512
	for _, c := range []struct {
		amplitude           string
		db                  float64 // ρ
		between             bool    // the frequency is random between two bins; otherwise it is on a bin
		mean, meanTolerance float64 // of the error of the level, dB
		sd, sdTolerance     float64 // of this error, dB
	}{
		{amplitude: "peak", mean: 3, meanTolerance: 0.2, sd: 1.2, sdTolerance: 0.2},
		{amplitude: "peak", db: 6, mean: 0.9, meanTolerance: 0.15, sd: 0.9, sdTolerance: 0.15},
		{amplitude: "peak", db: 40, between: true, mean: lobe, meanTolerance: 0.06, sd: lobeSD, sdTolerance: 0.03},
		{amplitude: "band", db: 30, between: true, meanTolerance: 0.02, sd: 0.08, sdTolerance: 0.02},
		{amplitude: "band", db: 30, meanTolerance: 0.02, sd: 0.08, sdTolerance: 0.02},
		{amplitude: "band", db: 12, between: true, mean: -0.1, meanTolerance: 0.15, sd: 0.55, sdTolerance: 0.15},
		{amplitude: "band", db: 12, mean: -0.1, meanTolerance: 0.15, sd: 0.55, sdTolerance: 0.15},
	} {
		r := rand.New(rand.NewPCG(1, uint64(c.db)))
		var sum, square, count float64
		a := NewAnalyser()

		x := make([]float64, 16*n)
		for range turns(400, 100) {
			f := 64.
			if c.between {
				f += r.Float64() - 0.5
			}

			p := math.Pow(10, c.db/10) * 3 / n

			phase := 2 * math.Pi * r.Float64()
			for i := range x {
				x[i] = r.NormFloat64() + math.Sqrt(2*p)*math.Sin(2*math.Pi*f*float64(i)/n+phase)
			}

			run, err := a.run(t.Context(), memory{x}, rotorAt(memory{x}, n, 4, f/4, func(s *Settings) {
				s.Harmonics = 1
				s.Speed = "nominal"
				s.Amplitude = c.amplitude
			}))
			require.NoError(t, err)

			for _, h := range run.Channels[0].Halves {
				e := LevelDB(h.Lines[0].Power/p, 1)
				sum += e
				square += e * e
				count += 1
			}
		}

		mean := sum / count
		sd := math.Sqrt(square/count - mean*mean)
		t.Logf("%s at %g dB, between bins %t: %+.2f ± %.2f dB", c.amplitude, c.db, c.between, mean, sd)

		assert.InDelta(t, c.mean, mean, c.meanTolerance, "%s at %g dB, between bins %t: mean in dB",
			c.amplitude, c.db, c.between)
		assert.InDelta(t, c.sd, sd, c.sdTolerance, "%s at %g dB, between bins %t: deviation in dB",
			c.amplitude, c.db, c.between)
	}
}

// mainLobeDB returns the mean and the standard deviation, in dB, of the power that the nearest bin of a Hann-windowed
// spectrum shows of a tone, relative to the tone's power, if every frequency between two bins is equally probable.
func mainLobeDB() (mean, sd float64) {
	const points = 10001
	square := 0.0
	for i := range points {
		distance := -0.5 + float64(i)/(points-1) // from the bin, in bins

		amplitude := 1.0
		if distance != 0 {
			amplitude = math.Sin(math.Pi*distance) / (math.Pi * distance) / (1 - distance*distance)
		}

		db := 20 * math.Log10(amplitude)
		mean += db / points
		square += db * db / points
	}

	return mean, math.Sqrt(square - mean*mean)
}
