package dsp

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
)

// The load of a weight at the angle α is a + b·cos α + c·sin α, which a harmonic polar describes exactly at any angle.
// A linear polar describes a straight line exactly, and a mean polar takes the mean at any angle. An angle outside of
// the measured range, too few angles, and an unknown method are errors.
func TestPolarClosedForms(t *testing.T) {
	var angle, zero []float64

	f := [][]float64{nil, nil}
	for a := -20.0; a <= 60; a += 0.5 {
		sin, cos := math.Sincos(a * math.Pi / 180)
		angle = append(angle, a)
		zero = append(zero, 0)
		f[0] = append(f[0], 1.5-3*cos+0.25*sin)
		f[1] = append(f[1], 2+0.1*a)
	}

	h, err := NewPolar("harmonic", angle, f[:1])
	require.NoError(t, err)

	sin, cos := math.Sincos(61.5 * math.Pi / 180)
	loads := [][]float64{{7 + 1.5 - 3*cos + 0.25*sin}}
	err = h.Subtract(loads, []float64{61.5}, 2)
	require.NoError(t, err, "harmonic")
	assert.InDelta(t, 7.0, loads[0][0], 1e-12, "harmonic")
	assert.LessOrEqual(t, h.RMS[0], 1e-12, "harmonic")

	l, err := NewPolar("linear", angle, f[1:])
	require.NoError(t, err)

	loads = [][]float64{{2 + 1.23, 0}}
	err = l.Subtract(loads, []float64{12.3, 12.3}, 0)
	require.NoError(t, err, "linear")
	assert.InDelta(t, 0, loads[0][0], 1e-12, "linear")

	m, err := NewPolar("mean", nil, [][]float64{{1, 2, 6}})
	require.NoError(t, err)

	loads = [][]float64{{5}}
	err = m.Subtract(loads, []float64{1000}, 0)
	require.NoError(t, err, "mean")
	assert.InDelta(t, 2.0, loads[0][0], 0, "mean")

	err = h.Subtract(loads, []float64{63}, 2)
	ingesttest.WantDataError(t, nil, err, "63°")

	for _, c := range []struct{ method, want string }{
		{"harmonic", "10°"},
		{"linear", "two angles"},
		{"spline", "interpolation"},
	} {
		_, err := NewPolar(c.method, zero[:3], [][]float64{{1, 2, 3}})
		require.ErrorAs(t, err, new(*fault.Error), "%s", c.method)
		assert.Contains(t, err.Error(), c.want, "%s", c.method)
	}
}

// Two samples cannot tell the three coefficients of method harmonic apart, however far apart their angles are.
func TestPolarOfTwoSamples(t *testing.T) {
	_, err := NewPolar("harmonic", []float64{0, 30}, [][]float64{{1, 2}})
	require.ErrorContains(t, err, "tare: expected at least 3 samples to separate weight and zero, found 2")
}

// An angle that is not a number is an error of each method that fits over angles.
func TestPolarOfMissingAngles(t *testing.T) {
	for _, method := range []string{"harmonic", "linear"} {
		for _, angle := range []float64{math.NaN(), math.Inf(1)} {
			_, err := NewPolar(method, []float64{-10, angle, 10}, [][]float64{{1, 2, 3}})
			require.ErrorContains(t, err, "tare: sample 1: expected a finite angle", method)
		}
	}
}

// Each load needs as many samples as the first one, and each sample an angle.
func TestPolarOfUnequalLengths(t *testing.T) {
	angle := []float64{-10, 0, 10}
	for _, method := range []string{"mean", "harmonic", "linear"} {
		_, err := NewPolar(method, angle, [][]float64{{1, 2, 3}, {1, 2}})
		require.ErrorContains(t, err, "expected 3 samples of load 1, found 2", method)
	}

	_, err := NewPolar("linear", angle[:2], [][]float64{{1, 2, 3}})
	require.ErrorContains(t, err, "an angle for each of 3 samples, found 2")
}

// Two polars without wind differ by a drift of the zero of 0.4. Expected: Moved returns 0.4, and after a quarter of the
// time the load without wind is 2 + 3·cos α + 0.1.
func TestPolarDrift(t *testing.T) {
	var angle, first, later []float64
	for a := -10.0; a <= 20; a++ {
		angle = append(angle, a)
		first = append(first, 2+3*math.Cos(a*math.Pi/180))
		later = append(later, first[len(first)-1]+0.4)
	}

	p, err1 := NewPolar("harmonic", angle, [][]float64{first})
	q, err2 := NewPolar("harmonic", angle, [][]float64{later})
	require.NoError(t, errors.Join(err1, err2))
	assert.InDelta(t, 0.4, p.Moved(q)[0], 1e-9, "moved")

	l := [][]float64{{5, 5}}
	require.NoError(t, p.Toward(q, 0.25).Subtract(l, []float64{7}, 0))
	assert.InDelta(t, 5-(2.1+3*math.Cos(7*math.Pi/180)), l[0][1], 1e-9, "load")
}

// If a polar is subtracted from the samples from which it was computed, their mean is 0, and their rms is the RMS that
// the polar states.
func TestPolarResiduals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(30, 80).Draw(rt, "n")
		angle := make([]float64, n)
		l := make([]float64, n)
		for i := range angle {
			angle[i] = -30 + 90*float64(i)/float64(n-1)
			l[i] = rapid.Float64Range(-5, 5).Draw(rt, "load")
		}

		method := rapid.SampledFrom([]string{"mean", "harmonic"}).Draw(rt, "method")
		p, err := NewPolar(method, angle, [][]float64{l})
		require.NoError(rt, err)

		err = p.Subtract([][]float64{l}, angle, 0)
		require.NoError(rt, err)

		ss := 0.0
		for _, v := range l {
			ss += v * v
		}

		m := mean(l)
		require.InDelta(rt, 0, m, 1e-9, "%s", method)
		require.InDelta(rt, p.RMS[0], math.Sqrt(ss/float64(n)), 1e-9, "%s", method)
	})
}
