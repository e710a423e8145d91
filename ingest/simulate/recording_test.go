package simulate

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/dsp/fourier"
)

// Expected: order k of a steady shaft is Re(A_k·exp(ikφ)), so that one shaft
// phase explains the complex amplitudes of all orders: the squared residuals
// over the noise in a bin follow χ² with 2·30 − 1 degrees of freedom.
func TestRotorWaveform(t *testing.T) {
	const (
		n        = 81920
		perOrder = 800
		df       = 1.0 / 8
	)
	for _, blades := range []int{2, 3, 5} {
		r := with(DefaultRotor(), func(r *Rotor) {
			r.Encoding = EncodingFloat32
			r.SpeedError = 0
			r.SpeedDrift = 0
			r.SpeedJitter = 0
			r.ToneModulation = 0
			r.Blades = []int{blades}
			r.RPM = []float64{6000}
			r.ThetaDeg = []float64{20}
		})

		z := fourier.NewFFT(n).Coefficients(nil, recordWAV(t, r, 0).x[0])
		a := r.Orders(blades, 6000, 20)

		var noise [maxOrder + 1]float64
		for k := range noise {
			noise[k] = r.NoiseDensity(blades, 6000, 20, float64(k)*100) * df
		}

		chi2 := func(phase float64) float64 {
			sum := 0.0
			for k := 1; k <= maxOrder; k++ {
				d := z[k*perOrder]*2/n - a[k]*cmplx.Rect(1, float64(k)*phase)
				sum += (real(d)*real(d) + imag(d)*imag(d)) / noise[k]
			}

			return sum
		}

		best := math.Inf(1)
		at := 0.0
		for step, reach := 1e-3, 4000; step > 1e-8; step, reach = step/10, 20 {
			centre := at
			for i := -reach; i <= reach; i++ {
				if c := chi2(centre + float64(i)*step); c < best {
					best = c
					at = centre + float64(i)*step
				}
			}
		}

		require.GreaterOrEqual(t, best, 25.0, "n=%d", blades)
		assert.LessOrEqual(t, best, 105.0, "n=%d", blades)
	}
}

// Expected: at 51.2 kHz and the lowest speed only the microphone's floor is left
// just below half the rate: 4·10⁻⁵ Pa rms, white.
func TestMicrophoneFloor(t *testing.T) {
	r := with(DefaultRotor(), func(r *Rotor) {
		r.RateHz = 51200
		r.DurationS = 2
		r.Encoding = EncodingFloat32
		r.Blades = []int{2}
		r.RPM = []float64{2000}
		r.ThetaDeg = []float64{0}
	})

	p := welch(recordWAV(t, r, 0).x[0], 1024, 51200)

	got := 0.0
	for k := 509; k < 512; k++ {
		got += p[k] / 3
	}

	floor := microphonePa * microphonePa * 2 / 51200

	want := r.NoiseDensity(2, 2000, 0, 510*50)
	assert.InDelta(t, 1, got/want, 0.35, "density at 25.5 kHz, over the expected")
	assert.LessOrEqual(t, want, 1.5*floor, "expected density at 25.5 kHz")
}

// turn runs the shaft of one recording and returns its revolutions after every
// block, the nominal ones taken off, and the mean square of the relative speed.
func turn(r Rotor, seed uint64) (late []float64, square float64) {
	r.Seed = seed
	q := newRun(r, newRig(seed, 2), 2, 6000)
	last := q.phase

	revs := 0.0
	count := 0.0
	for start := int64(0); start < q.samples; start += blockLen {
		n := int(min(blockLen, q.samples-start))
		q.tones(start, n)
		nominal := float64(n) * q.revs / q.rate

		// The nominal turn is known; the rest is far below half a turn.
		d := q.phase - last - nominal
		revs += d - math.Round(d)
		last = q.phase
		late = append(late, revs)

		for _, v := range q.relative[:n] {
			square += v * v
			count++
		}
	}

	return late, square / count
}

// Expected: set-point error, drift and jitter have the documented standard
// deviations over runs; a linear drift δ puts the shaft δ·f·T/8 behind in the
// middle and back in step at the end.
func TestShaft(t *testing.T) {
	const (
		runs  = 300
		turns = 100 * 4.0
	) // 100 rev/s, 4 s
	base := with(DefaultRotor(), func(r *Rotor) {
		r.DurationS = 4
		r.RateHz = 1024
		r.SpeedError = 0
		r.SpeedDrift = 0
		r.SpeedJitter = 0
		r.ThetaDeg = []float64{0}
	})

	var setPoint, drift, jitter float64
	for seed := range uint64(runs) {
		r := base
		r.SpeedError = DefaultRotor().SpeedError
		late, _ := turn(r, seed)
		e := late[len(late)-1] / turns
		setPoint += e * e / runs
		r = base
		r.SpeedDrift = DefaultRotor().SpeedDrift
		late, _ = turn(r, seed)
		require.Len(t, late, 2, "blocks")

		d := -8 * late[0] / turns
		drift += d * d / runs

		// In step at the end but for the sum's discreteness, half a sample's
		// worth of the drift.
		assert.InDelta(t, 0, late[1], math.Abs(late[0])/1000+1e-9, "seed %d", seed)

		r = base
		r.SpeedJitter = DefaultRotor().SpeedJitter
		_, sq := turn(r, seed)
		jitter += sq / runs
	}

	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"set-point error", math.Sqrt(setPoint), 5e-4},
		{"drift", math.Sqrt(drift), 2e-4},
		{"jitter", math.Sqrt(jitter), 3e-4 * math.Sqrt(slowPower(jitterTauS))},
	} {
		// χ² of 300 (fewer effective for none): 4 standard errors of √: 16 %.
		assert.InDelta(t, c.want, c.got, 4/math.Sqrt(2*runs)*c.want, "%s: standard deviation", c.name)
	}

	// A steady shaft keeps step exactly.
	late, sq := turn(base, 1)
	require.Equal(t, 0.0, sq, "a steady shaft is %g revolutions late", late[len(late)-1])
	assert.InDelta(t, 0, late[len(late)-1], 1e-9, "a steady shaft is %g revolutions late", late[len(late)-1])
}

// Expected: every blade tone is modulated on its own, by the documented rms.
func TestTonesAreModulatedIndependently(t *testing.T) {
	const runs = 400
	r := with(DefaultRotor(), func(r *Rotor) {
		r.RateHz = 2048
		r.DurationS = 1
		r.ThetaDeg = []float64{0}
	})

	var s11, s22, s12 float64
	for seed := range uint64(runs) {
		r.Seed = seed
		q := newRun(r, newRig(seed, 2), 2, 3000)
		q.tones(0, 1) // the first sample lies on the slow grid: unit variance
		m1 := math.Hypot(float64(q.bank[0][0]), float64(q.bank[1][0])) - 1
		m2 := math.Hypot(float64(q.bank[2][0]), float64(q.bank[3][0])) - 1
		s11 += m1 * m1 / runs
		s22 += m2 * m2 / runs
		s12 += m1 * m2 / runs
	}

	for _, v := range []float64{s11, s22} {
		assert.InDelta(t, 0.08, math.Sqrt(v), 4/math.Sqrt(2*runs)*0.08, "modulation rms")
	}

	assert.InDelta(t, 0, s12/math.Sqrt(s11*s22), 4/math.Sqrt(runs), "correlation of the modulations of two tones")
}

// Expected: a recording begins in the stationary state: the first sample's
// variance over runs is the closed form of the whole.
func TestNoiseStartsStationary(t *testing.T) {
	const runs = 800

	r := with(DefaultRotor(), func(r *Rotor) {
		r.RateHz = 10240
		r.DurationS = 1
		r.ThetaDeg = []float64{30}
	})
	for _, rpm := range []float64{2000, 9000} {
		sum := 0.0
		for seed := range uint64(runs) {
			r.Seed = seed
			q := newRun(r, newRig(seed, 3), 3, rpm)
			first := make([]float32, 2)
			q.noise[0].add(first, &q.white)
			sum += float64(first[0]) * float64(first[0]) / runs
		}

		assert.InDelta(t, 1, sum/r.noisePower(3, rpm, 30), 4*math.Sqrt(2.0/runs), "%g rpm: variance of the first sample", rpm)
	}
}
