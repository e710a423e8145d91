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

// tachoSource is a Source in memory.
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

// drifting makes a shaft whose speed rises linearly, f(t) = f0 + g·t, so that its
// angle is 2π(f0·t + g·t²/2) in closed form; a pulse train and a sound of two
// harmonics of 3 blades with amplitudes 0.5 and 0.02, in white noise.
func drifting(rate, f0, g float64, n, ppr int, noise float64) tachoSource {
	rng := rand.New(rand.NewPCG(1, 2))

	tacho := make([]float64, n)
	mic := make([]float64, n)
	for i := range n {
		t := float64(i) / rate
		rev := f0*t + g*t*t/2
		tacho[i] = 2.5 + 2.5*math.Tanh(20*math.Sin(2*math.Pi*float64(ppr)*rev))
		mic[i] = 0.5*math.Cos(2*math.Pi*3*rev+0.3) + 0.02*math.Sin(2*math.Pi*6*rev) + noise*rng.NormFloat64()
	}

	return tachoSource{tacho, mic}
}

// Speeds of the halves: the closed form's mean over the half, f0 + g·t_mid. The
// synchronous powers are a²/2 whatever the drift (3 % here, over which a bin of the
// spectrum smears), where a nominal speed off by 3·10⁻⁴ loses dB (docs/method.md#split-half-spectra).
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

		f := pulses.Check()
		assert.Nil(t, f, "flags")

		want := (f0*8 + g*32) * float64(ppr)
		assert.InDelta(t, want, float64(len(pulses.Times)), 1.5)

		for h := range 2 {
			begin := float64(h * n / 2)
			end := float64((h + 1) * n / 2)

			want := f0 + g*(2+4*float64(h))
			assert.InDelta(t, want, pulses.ShaftHz(rate, begin, end), 1e-4*want, "half %d: rev/s", h+1)

			p, _, err := Synchronous(ctx, src, 0, 1, 2, pulses, begin, end, []int{3, 6, 5})
			require.NoError(t, err)

			for i, w := range []float64{4 * 0.125, 4 * 0.0002} {
				d := 10 * math.Log10(p[i]/w)
				assert.InDelta(t, 0, d, 0.02, "half %d, %d pulses", h+1, ppr)
			}

			assert.LessOrEqual(t, p[2], 1e-6, "order 5")
		}
	}
}

// In white noise of variance s² the synchronous average of N samples holds
// noise of mean square s²·2/(2N)·2 = 2s²/N per order (the variance of a Fourier
// coefficient): a line 20 dB below the noise comes out within its scatter.
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

	p, _, err := Synchronous(ctx, src, 0, 1, 1, pulses, 0, n, orders)
	require.NoError(t, err)

	mean := 0.0
	for _, v := range p[1:] {
		mean += v / 60
	}

	// χ² of 120 degrees of freedom: 13 % scatter.
	want := 2.0 / n
	require.GreaterOrEqual(t, mean, 0.6*want, "noise per order")
	assert.LessOrEqual(t, mean, 1.4*want, "noise per order")

	d := 10 * math.Log10(p[0]/0.125)
	assert.InDelta(t, 0, d, 0.2, "error of order 3 in dB")
}

// A channel that is stuck and a channel with too few pulses are errors. One missed pulse of seven makes one revolution
// too long, which is a flag.
func TestTachometerErrors(t *testing.T) {
	ctx := context.Background()
	flat := tachoSource{make([]float64, 5000)}
	_, err := FindPulses(ctx, flat, 0, 5000, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	ingesttest.WantDataError(t, nil, err, "stuck")

	one := tachoSource{make([]float64, 5000)}
	one[0][10] = 5
	_, err = FindPulses(ctx, one, 0, 5000, Tachometer{PulsesPerRev: 1, Threshold: math.NaN()})
	ingesttest.WantDataError(t, nil, err, "at least 3 pulses")

	missed := &Pulses{Times: []float64{0, 10, 20, 40, 50, 60, 70}, PerRev: 1}
	f := missed.Check()
	require.Len(t, f, 1, "a missed pulse")
	assert.InDelta(t, 1.0, f[0].Statistic, 0, "a missed pulse")
}

// Square pulses are known to a sample. Expected: PulseLossDB's closed form, here
// 0.084, 0.33 and 0.75 dB at 64 samples a revolution; pulses that rise over
// several samples are not sharp.
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

	p, _, err := Synchronous(ctx, src, 0, 1, 1, pulses, 0, n, []int{6, 12, 18})
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

// Amplitude "synchronous" replaces what "band" finds by the average over the
// revolutions, and nothing else. Expected: a²/2 of the two harmonics, the shaft
// speeds of the closed form, the flags of the tachometer before the others.
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
