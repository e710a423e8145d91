package dsp

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	godsp "github.com/mjibson/go-dsp/fft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/dsp/fourier"
	"pgregory.net/rapid"
)

// noise returns n independent normal numbers with the standard deviation 1.
func noise(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))

	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}

	return x
}

// relativeError returns the largest difference of two lists, relative to the largest expected value. If all expected
// values are 0, it returns the largest difference.
func relativeError(got, want []complex128) float64 {
	var difference, largest float64
	for k := range want {
		difference = max(difference, cmplx.Abs(got[k]-want[k]))
		largest = max(largest, cmplx.Abs(want[k]))
	}

	if largest == 0 {
		return difference
	}

	return difference / largest
}

// Expected: the sum of the definition, X_k = Σ x_j·exp(−2πijk/n), for every length up to 300. unit reduces the angles
// exactly; TestUnit tests it.
func TestFFTDefinition(t *testing.T) {
	for n := 1; n <= 300; n++ {
		x := noise(n, uint64(n))

		want := make([]complex128, n/2+1)
		for k := range want {
			for j, v := range x {
				want[k] += complex(v, 0) * unit(j*k, n)
			}
		}

		e := relativeError(NewFFT(n).Coefficients(nil, x), want)
		assert.LessOrEqual(t, e, 1e-13, "n = %d", n)
	}
}

// Three witnesses compute the same transform: gonum's dsp/fourier (FFTPACK), which is exact only for lengths without a
// large prime factor; the sum of the definition, at 20 bins; and go-dsp's fft, which has errors up to 1e-10 at these
// lengths.
func TestFFTAgainstLibraries(t *testing.T) {
	for _, n := range []int{
		2, 4, 6, 10, 12, 16, 30, 512, 1000, 1009, 1024, 2018, 3600, 4095, 4096, 6250, 9061, 13781,
		27562, 51199, 51200, 65536,
	} {
		x := noise(n, uint64(n))
		f := NewFFT(n)
		got := f.Coefficients(nil, x)
		if largestPrimeFactor(n) < 100 {
			e := relativeError(got, fourier.NewFFT(n).Coefficients(nil, x))
			assert.LessOrEqual(t, e, 1e-13, "n = %d", n)
		}

		var some, want []complex128
		for i := range 20 {
			k := i * (n / 2) / 19

			var sum complex128
			for j, v := range x {
				sum += complex(v, 0) * unit(j*k, n)
			}

			some = append(some, got[k])
			want = append(want, sum)
		}

		e := relativeError(some, want)
		assert.LessOrEqual(t, e, 1e-13, "n = %d", n)

		e = relativeError(got, godsp.FFTReal(x)[:n/2+1])
		assert.LessOrEqual(t, e, 1e-10, "n = %d", n)

		// A plan may be used again: its scratch memory does not influence the next transform.
		f.Coefficients(nil, noise(n, 99))

		again := f.Coefficients(nil, x)
		require.True(t, slices.Equal(got, again), "n = %d: the second transform has the same bits", n)
	}
}

// Expected: exp(−2πik/n), as package math/cmplx computes it, and unit(k, n)·unit(−k, n) = 1.
func TestUnit(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 12, 97, 360} {
		for k := -n; k <= 2*n; k++ {
			w := unit(k, n)
			want := cmplx.Exp(complex(0, -2*math.Pi*float64(k)/float64(n)))
			assert.LessOrEqual(t, cmplx.Abs(w-want), 4e-15, "unit(%d, %d)", k, n)
			assert.LessOrEqual(t, cmplx.Abs(w*unit(-k, n)-1), 3e-16, "unit(%d, %d) times its inverse", k, n)
		}
	}
}

// For any length, the transform obeys Parseval's identity. If x is shifted and doubled, the shift theorem and linearity
// give its transform.
func TestFFTProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		shift := rapid.IntRange(0, n-1).Draw(t, "shift")
		x := noise(n, rapid.Uint64().Draw(t, "seed"))
		f := NewFFT(n)
		c := f.Coefficients(nil, x)

		var energy, spectrum float64
		for _, v := range x {
			energy += v * v
		}

		for k, v := range c {
			p := real(v)*real(v) + imag(v)*imag(v)
			if k != 0 && 2*k != n {
				p *= 2
			}

			spectrum += p
		}

		d := math.Abs(spectrum/float64(n) - energy)
		require.LessOrEqual(t, d, 1e-12*energy, "Parseval's theorem")

		y := make([]float64, n)
		for i := range y {
			y[i] = 2 * x[(i+shift)%n]
		}

		want := make([]complex128, len(c))
		for k := range c {
			want[k] = 2 * c[k] * cmplx.Conj(unit(k*shift, n))
		}

		e := relativeError(f.Coefficients(nil, y), want)
		require.LessOrEqual(t, e, 1e-12, "error of the shift theorem")
	})
}

// A transform into given memory allocates nothing, by any of the methods: lanes (4096 and 6000 points), a chirp (2021
// and 1009 points, which have large prime factors), and gonum (7007 points).
func TestFFTAllocations(t *testing.T) {
	for _, n := range []int{4096, 6000, 2021, 7007, 1009} {
		f := NewFFT(n)
		x := noise(n, 1)
		dst := make([]complex128, n/2+1)
		assert.Equal(t, 0.0, testing.AllocsPerRun(5, func() { f.Coefficients(dst, x) }), "n = %d: allocations a transform", n)
	}
}

// Slices of a wrong length panic, as the documentation of FFT says.
func TestFFTMisusePanics(t *testing.T) {
	for name, misuse := range map[string]func(){
		"length 0":  func() { NewFFT(0) },
		"short x":   func() { NewFFT(8).Coefficients(nil, make([]float64, 7)) },
		"short dst": func() { NewFFT(8).Coefficients(make([]complex128, 4), make([]float64, 8)) },
	} {
		assert.Panics(t, misuse, name)
	}
}

// BenchmarkFFTFactor compares gonum's transform with Bluestein's at lengths of about 10 000 with different largest
// prime factors. The constant maxGonumFactor is the factor from which Bluestein's is faster.
func BenchmarkFFTFactor(b *testing.B) {
	for _, p := range []int{7, 11, 17, 23, 31, 43, 61} {
		n := 2 * p * (5000 / p)
		for largestPrimeFactor(n) != p {
			n += 2 * p
		}

		x := noise(n, 1)
		b.Run(fmt.Sprintf("factor-%d/gonum", p), func(b *testing.B) {
			f := fourier.NewFFT(n)
			dst := make([]complex128, n/2+1)
			for b.Loop() {
				f.Coefficients(dst, x)
			}
		})

		b.Run(fmt.Sprintf("factor-%d/bluestein", p), func(b *testing.B) {
			m := newBluestein(n / 2)
			a := make([]complex128, n/2)
			for b.Loop() {
				m.transform(a)
			}
		})
	}
}

// The transform of 4 real samples has 3 coefficients.
func ExampleFFT() {
	f := NewFFT(4)
	fmt.Printf("%.0f\n", f.Coefficients(nil, []float64{1, 2, 0, 0}))
	// Output: [(3+0i) (1-2i) (-1+0i)]
}
