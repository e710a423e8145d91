package dsp

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tachoSource is a Source in memory. Its channel 0 is a tachometer, and its channel 1 is a microphone.
type tachoSource [][]float64

func (m tachoSource) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := 0
	for i, c := range channels {
		n = copy(dst[i], m[c][min(start, int64(len(m[c]))):])
	}

	if len(dst) > 0 && n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// drifting returns n samples of a shaft whose speed rises linearly, f(t) = f0 + g·t, so that its angle is 2π(f0·t +
// g·t²/2). The tachometer has the given number of pulses in each revolution. The microphone has two harmonics of 3
// blades, with the amplitudes 0.5 and 0.02, in white noise with the given standard deviation.
func drifting(rate, f0, g float64, n, pulsesPerRev int, noise float64) tachoSource {
	rng := rand.New(rand.NewPCG(1, 2))

	tacho := make([]float64, n)
	mic := make([]float64, n)
	for i := range n {
		t := float64(i) / rate
		rev := f0*t + g*t*t/2
		tacho[i] = 2.5 + 2.5*math.Tanh(20*math.Sin(2*math.Pi*float64(pulsesPerRev)*rev))
		mic[i] = 0.5*math.Cos(2*math.Pi*3*rev+0.3) + 0.02*math.Sin(2*math.Pi*6*rev) + noise*rng.NormFloat64()
	}

	return tachoSource{tacho, mic}
}

// Expected: the speed of a half is the closed form in the middle of the half. The synchronous power of a harmonic with
// amplitude a is a²/2, times 4 for the scale 2 of the microphone, although the speed drifts by 3 %. The number of
// pulses is the number of revolutions times the pulses in each, within 1.5.
func TestTachometer(t *testing.T) {
	const (
		rate = 12800.0
		f0   = 80.0
		g    = 0.3
		n    = 8 * 12800
	)
	for _, ppr := range []int{1, 4} {
		src := drifting(rate, f0, g, n, ppr, 0)
		ctx := context.Background()
		pulses, err := FindPulses(ctx, src, 0, n, Tachometer{Channel: 0, PulsesPerRev: ppr, Threshold: math.NaN()})
		require.NoError(t, err)

		assert.Nil(t, pulses.Check(), "flags")

		const revolutions = f0*8 + g*8*8/2 // in 8 s
		assert.InDelta(t, revolutions*float64(ppr), float64(len(pulses.Times)), 1.5, "pulses")

		for h := range 2 {
			begin := float64(h * n / 2)
			end := float64((h + 1) * n / 2)

			want := f0 + g*(2+4*float64(h))
			assert.InDelta(t, want, pulses.ShaftHz(rate, begin, end), 1e-4*want, "half %d: rev/s", h+1)

			p, _, err := Synchronous(ctx, src, Stretch{Begin: begin, End: end, Channel: 1, Scale: 2}, pulses, []int{3, 6, 5})
			require.NoError(t, err)

			for i, w := range []float64{4 * 0.125, 4 * 0.0002} {
				d := 10 * math.Log10(p[i]/w)
				assert.InDelta(t, 0, d, 0.02, "half %d, %d pulses: error of harmonic %d in dB", h+1, ppr, i+1)
			}

			assert.LessOrEqual(t, p[2], 1e-6, "order 5, which has no sound")
		}
	}
}

// Expected: in white noise of variance 1, the synchronous average of N samples has the mean square 2/N at each order,
// twice the variance of a Fourier coefficient. A harmonic 9 dB below the noise is measured within 0.2 dB.
func TestSynchronousNoise(t *testing.T) {
	const (
		rate = 12800.0
		n    = 8 * 12800
	)
	src := drifting(rate, 80, 0.3, n, 1, 1)
	ctx := context.Background()
	pulses, err := FindPulses(ctx, src, 0, n, Tachometer{PulsesPerRev: 1, Threshold: 2.5})
	require.NoError(t, err)

	orders := []int{3}
	for k := 7; k < 67; k++ {
		orders = append(orders, k)
	}

	p, _, err := Synchronous(ctx, src, Stretch{End: n, Channel: 1, Scale: 1}, pulses, orders)
	require.NoError(t, err)

	mean := 0.0
	for _, v := range p[1:] {
		mean += v / 60
	}

	// The mean over 60 orders has 120 degrees of freedom, so that it scatters by 13 %. Three times this is allowed.
	assert.InEpsilon(t, 2.0/n, mean, 0.4, "mean square of the noise per order")

	d := 10 * math.Log10(p[0]/0.125)
	assert.InDelta(t, 0, d, 0.2, "error of order 3 in dB")
}

// A channel that does not vary, a sample that is not finite, and a channel with too few pulses are errors. If one pulse
// is missed, one revolution is too long, which is a flag with the number of such revolutions.
func TestTachometerErrors(t *testing.T) {
	ctx := context.Background()
	flat := tachoSource{make([]float64, 5000)}
	_, err := FindPulses(ctx, flat, 0, 5000, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	ingesttest.WantDataError(t, nil, err, "stuck")

	damaged := tachoSource{make([]float64, 5000)}
	damaged[0][7] = math.NaN()
	_, err = FindPulses(ctx, damaged, 0, 5000, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	ingesttest.WantDataError(t, nil, err, "tachometer, sample 7: expected a finite number, found NaN")

	one := tachoSource{make([]float64, 5000)}
	one[0][10] = 5
	_, err = FindPulses(ctx, one, 0, 5000, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	ingesttest.WantDataError(t, nil, err, "at least 3 pulses")

	missed := &Pulses{Times: []float64{0, 10, 20, 40, 50, 60, 70}, PerRev: 1} // no pulse at 30
	flags := missed.Check()
	require.Len(t, flags, 1)
	assert.Equal(t, 1.0, flags[0].Statistic)
}

// The time of a square pulse is known to a sample only, so that synchronous levels are too low. Expected: the loss that
// PulseLossDB computes for 64 samples per revolution, 0.084, 0.33 and 0.75 dB, within a tenth of it. All square pulses
// are counted as sharp, and no pulses that rise over several samples.
func TestPulseLoss(t *testing.T) {
	const (
		rate = 6400.0
		n    = 40 * 6400
	)
	src := tachoSource{make([]float64, n), make([]float64, n)}
	for i := range n {
		s := float64(i) / rate
		rev := 100*s + 0.0137*s*s
		if frac := rev - math.Floor(rev); frac < 0.3 {
			src[0][i] = 5
		}

		for _, order := range []float64{6, 12, 18} {
			src[1][i] += math.Cos(2 * math.Pi * order * rev)
		}
	}

	ctx := context.Background()
	pulses, err := FindPulses(ctx, src, 0, n, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	require.NoError(t, err)
	require.Equal(t, len(pulses.Times), pulses.Sharp, "all pulses are sharp")

	p, _, err := Synchronous(ctx, src, Stretch{End: n, Channel: 1, Scale: 1}, pulses, []int{6, 12, 18})
	require.NoError(t, err)

	for i, order := range []int{6, 12, 18} {
		got := -10 * math.Log10(p[i]/0.5)
		want := PulseLossDB(order, 64)
		assert.InDelta(t, want, got, 0.1*want, "order %d reads", order)
	}

	smooth, err := FindPulses(ctx, drifting(12800, 80, 0, n, 1, 0), 0, n,
		Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	require.NoError(t, err)
	assert.Zero(t, smooth.Sharp)
}

// Amplitude "synchronous" takes the powers of lines from the average over revolutions. Expected: a²/2 for the two
// harmonics, times 4 for the scale 2, and the shaft speeds of the closed form. Everything else about a line is the same
// as with amplitude "band". The flags of the tachometer come first. A run without a tachometer, or with too few pulses,
// is an error.
func TestRunSynchronous(t *testing.T) {
	const (
		rate = 12800.0
		f0   = 80.0
		g    = 0.3
		n    = 8 * 12800
	)
	src := drifting(rate, f0, g, n, 1, 0.01)
	pulses, err := FindPulses(t.Context(), src, 0, n, Tachometer{PulsesPerRev: 1, Threshold: 2.5})
	require.NoError(t, err)

	s := rotorAt(memory(src[1:]), rate, 3, 78, func(s *Settings) {
		s.Harmonics = 2
		s.Amplitude = "synchronous"
	})
	s.Pulses = pulses
	s.Microphones[0].Channel = 1
	s.Microphones[0].Scale = 2

	got, err := NewAnalyser().run(t.Context(), src, s)
	require.NoError(t, err)
	require.NotEmpty(t, got.Flags)
	assert.Equal(t, "speed-differs", got.Flags[0].Code, "the conditions have 78 rev/s")

	s.Settings.Amplitude = "band"
	band, err := NewAnalyser().run(t.Context(), src, s)
	require.NoError(t, err)

	for h := range 2 {
		want := f0 + g*(2+4*float64(h))
		assert.InDelta(t, want, got.ShaftHz[h], 1e-4*want, "half %d", h+1)

		for m, want := range []float64{4 * 0.125, 4 * 0.0002} {
			l := got.Channels[0].Halves[h].Lines[m]
			b := band.Channels[0].Halves[h].Lines[m]
			d := LevelDB(l.Power/want, 1)
			assert.InDelta(t, 0, d, 0.05+3*l.SDdB, "half %d, harmonic", h+1)

			l.Power = b.Power
			l.SDdB = b.SDdB
			l.UpperBound = b.UpperBound
			assert.Equal(t, b, l, "half %d, harmonic %d", h+1, m+1)
		}
	}

	s.Settings.Amplitude = "synchronous"
	s.Pulses = nil
	_, err = NewAnalyser().run(t.Context(), src, s)
	assert.ErrorContains(t, err, "tachometer")

	short := *pulses
	short.Times = short.Times[:100]
	s.Pulses = &short
	_, err = NewAnalyser().run(t.Context(), src, s)
	assert.EqualError(t, err, "tachometer: expected a whole revolution in each half, found none in half 2")
}
