package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected values: the exact mid-frequencies of base ten in IEC 61260-1:2014, f_m = 10^(k/10) Hz, to five digits. The
// edges are at f_m·10^(±1/20), so that each band ends where the next one begins.
func TestThirdOctaveEdges(t *testing.T) {
	for _, c := range []struct {
		k      int
		centre float64
	}{{15, 31.623}, {21, 125.89}, {30, 1000}, {35, 3162.3}, {43, 19953}} {
		b := ThirdOctave(c.k)
		assert.InDelta(t, c.centre, b.Centre, 5e-5*c.centre, "band %d: centre", c.k)

		ratio := math.Pow(10, 0.05)
		require.InDelta(t, 1, b.Hi/b.Centre/ratio, 1e-14, "band %d: edges %g and %g of %g", c.k, b.Lo, b.Hi, b.Centre)
		assert.InDelta(t, 1, b.Centre/b.Lo/ratio, 1e-14, "band %d: edges %g and %g of %g", c.k, b.Lo, b.Hi, b.Centre)

		next := ThirdOctave(c.k + 1)
		assert.InDelta(t, 1.0, next.Lo/b.Hi, 1e-14, "band %d ends", c.k)
	}
}

// Every band is at least two bins wide and within the spectrum, and no band is left out between the first and the last.
func TestThirdOctavesResolved(t *testing.T) {
	const (
		bins  = 2049
		binHz = 5.0
	)
	list := ThirdOctaves(binHz, bins)
	for i, b := range list {
		require.GreaterOrEqual(t, b.Hi-b.Lo, 2*binHz, "band %v", b)
		require.GreaterOrEqual(t, b.Lo, binHz/2, "band %v", b)
		assert.LessOrEqual(t, b.Hi, binHz*(bins-0.5), "band %v", b)
		if i > 0 {
			assert.InEpsilon(t, list[i-1].Hi, b.Lo, 1e-14, "lower edge of %v", b)
		}
	}

	// 0.2316·f ≥ 10 Hz from 43.2 Hz on; 10^0.05·f ≤ 10242.5 Hz up to 9129 Hz.
	first := list[0].Centre
	last := list[len(list)-1].Centre
	assert.InDelta(t, 50.12, first, 0.01)
	assert.InDelta(t, 7943.0, last, 1)
}

// A bin counts with the part of its width that lies in the band. So the powers of neighbouring bands sum to the powers
// of the bins between their outer edges. Bin 0 does not count.
func TestBandPower(t *testing.T) {
	const binHz = 4.0
	rng := rand.New(rand.NewPCG(1, 3))

	p := make([]float64, 600)
	for k := range p {
		p[k] = rng.ExpFloat64()
	}

	sum := 0.0
	want := 0.0

	list := ThirdOctaves(binHz, len(p))
	for _, b := range list {
		sum += BandPower(p, binHz, b.Lo, b.Hi)
	}

	lo := list[0].Lo
	hi := list[len(list)-1].Hi
	for k := 1; k < len(p); k++ {
		a := (float64(k) - 0.5) * binHz
		b := (float64(k) + 0.5) * binHz
		want += p[k] * max(0, min(b, hi)-max(a, lo)) / binHz
	}

	assert.InDelta(t, 1, sum/want, 1e-9, "sum of the bands over the sum of the bins")

	one := make([]float64, 50)
	one[10] = 3 // from 38 to 42 Hz
	for _, c := range [][3]float64{{38, 42, 3}, {39, 100, 2.25}, {10, 39, 0.75}, {40, 41, 0.75}, {42, 100, 0}} {
		assert.InDelta(t, c[2], BandPower(one, binHz, c[0], c[1]), 1e-12, "from %g to %g Hz", c[0], c[1])
	}

	assert.Equal(t, 0.0, BandPower([]float64{5, 0, 0}, binHz, 0, 10), "power of bin 0 alone")
}

// MeanSpectrum returns the mean of the spectra of both halves, corrected for the noise bandwidth of the window.
// Expected: the mean square of white noise is its variance, here 9. PeakSpectrum returns the largest bins of the mean
// of both halves. By hand, the means of the bins 1 to 4 are 2, 2, 3 and 2. The first point has the bins 1 and 2, and
// the second point the bins 3 and 4. Bin 0 does not count.
func TestSpectraOfHalves(t *testing.T) {
	const (
		n    = 4096
		rate = 8192.0
	)
	w := NewWelch(n)
	var halves [2][]float32

	rng := rand.New(rand.NewPCG(2, 7))
	for h := range halves {
		x := make([]float64, 64*n)
		for i := range x {
			x[i] = 3 * rng.NormFloat64()
		}

		for _, v := range power(w, x, 64) {
			halves[h] = append(halves[h], float32(v))
		}
	}

	// 64·4096 independent samples a half: the variance is known to √(2/N)/√2 = 0.2 %.
	mean := MeanSpectrum(halves, 1.5)
	assert.InDelta(t, 9, BandPower(mean, rate/n, 1, rate/2+1), 0.01*9, "mean square")

	small := [2][]float32{{9, 1, 2, 5, 0}, {9, 3, 2, 1, 4}}
	got := PeakSpectrum(small, 2.5, 2)
	assert.InDelta(t, 2.0, got[0], 0, "peaks")
	assert.InDelta(t, 3.0, got[1], 0, "peaks")
}

// Band 21 is called 125 Hz. Its edges and its exact centre have other values.
func ExampleThirdOctave() {
	b := ThirdOctave(21) // "125 Hz"
	fmt.Printf("%.2f to %.2f Hz, centre %.2f Hz\n", b.Lo, b.Hi, b.Centre)
	// Output: 112.20 to 141.25 Hz, centre 125.89 Hz
}

// Expected values: IEC 61260-1:2014, annex E: its nominal mid-frequencies of octaves and third-octaves, and its rule of
// three or two digits for narrower bands. No two bands of a twelfth of an octave have the same nominal frequency.
func TestNominalFrequencies(t *testing.T) {
	for _, c := range []struct {
		per, x int
		hz     float64
	}{
		{1, -5, 31.5},
		{1, -4, 63},
		{1, -3, 125},
		{1, 0, 1000},
		{1, 4, 16000},
		{3, -19, 12.5},
		{3, 13, 20000},
		{3, -15, 31.5},
		{6, 0, 1060},
		{6, -1, 940}, // exactly 944 Hz: two digits from 5 on
		{6, 5, 1880},
		{12, 0, 1030},
		{12, 11, 1940},
		{12, -1, 970},
	} {
		assert.Equal(t, c.hz, nominalHz(c.per, c.x), "1/%d octave, band %d: Hz", c.per, c.x)
	}

	seen := map[float64]bool{}
	for x := -84; x <= 120; x++ {
		hz := nominalHz(12, x)
		assert.NotContains(t, seen, hz, "nominal frequencies of the bands below band %d", x)
		seen[hz] = true
	}
}
