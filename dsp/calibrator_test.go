package dsp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/ingest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tones returns n samples of a sine with the amplitude a·level(t), of an offset of 0.01, and of noise with the standard
// deviation sigma.
func tones(rate, hz, a, sigma float64, n int, level func(t float64) float64) memory {
	rng := rand.New(rand.NewPCG(7, 11))

	x := make([]float64, n)
	for i := range x {
		t := float64(i) / rate
		x[i] = 0.01 + a*level(t)*math.Sin(2*math.Pi*hz*t+0.3) + sigma*rng.NormFloat64()
	}

	return memory{x}
}

// steady is the level of a sine that does not change.
func steady(float64) float64 { return 1 }

// Expected: closed forms. A sine has the rms a/√2, wherever its frequency lies between two bins. Noise of variance σ²
// adds σ²·B/(rate/2) to the mean square in the band of B Hz. The offset and the noise outside of the band do not count.
func TestCalibratorTone(t *testing.T) {
	for _, c := range []struct{ rate, hz, nominal, a, sigma float64 }{
		{48000, 1000, 1000, 0.25, 0},
		{48000, 1003.7, 1000, 0.25, 1e-4},
		{51200, 250.31, 250, 3.1, 0},
		{44100, 997.13, 0, 0.02, 1e-4}, // no nominal frequency: Calibrator finds it
		{10240, 250, 0, 1e-3, 1e-6},
		{51200, 1000.2, 1000, 0.05, 2e-3},
	} {
		src := tones(c.rate, c.hz, c.a, c.sigma, int(12*c.rate), steady)
		got, err := Calibrator(context.Background(), src,
			CalibratorSettings{RateHz: c.rate, Samples: int64(len(src[0])), FrequencyHz: c.nominal})
		require.NoError(t, err, "%v", c)

		band := (got.BandHz[1] - got.BandHz[0]) / (c.rate / 2) * c.sigma * c.sigma
		want := math.Sqrt(c.a*c.a/2 + band)

		// Noise in the bins of the line changes the rms by √(3/N)·σ/a, relative to it. Four times this is allowed.
		assert.InDelta(t, 1, got.RMS/want, 2e-5+4*c.sigma/c.a*math.Sqrt(3/float64(len(src[0]))),
			"%v: rms %.9g, expected %.9g", c, got.RMS, want)
		assert.InDelta(t, 1, got.FrequencyHz/c.hz, 2e-5, "%v: %.6f Hz", c, got.FrequencyHz)
		assert.Len(t, got.BlockRMS, 10, "%v: blocks", c)
		assert.GreaterOrEqual(t, got.SpreadDB, 0.0, "%v: spread of the blocks in dB", c)
		assert.LessOrEqual(t, got.SpreadDB, 0.02, "%v: spread of the blocks in dB", c)

		// The window spreads a part of the tone over the band, so that AboveDB measures noise up to 55 dB only.
		above := min(55, 10*math.Log10(c.a*c.a/2/band))
		assert.InDelta(t, above, min(55, got.AboveDB), 1, "%v: level above the noise in dB", c)
	}
}

// Expected: a level that rises by 0.5 dB over the recording rises by 9/10 of this, 0.45 dB, from the middle of the
// first of ten blocks to the middle of the last one.
func TestCalibratorSpread(t *testing.T) {
	rate := 48000.0
	seconds := 12.0
	src := tones(rate, 1000, 0.3, 1e-5, int(rate*seconds),
		func(t float64) float64 { return math.Pow(10, 0.5*t/seconds/20) })
	got, err := Calibrator(context.Background(), src,
		CalibratorSettings{RateHz: rate, Samples: int64(len(src[0])), FrequencyHz: 1000})
	require.NoError(t, err)

	// The segments of a block leave out its end, up to a seventh of the block.
	assert.InDelta(t, 0.45, got.SpreadDB, 0.003, "spread dB")
	assert.Greater(t, got.BlockRMS[9], got.BlockRMS[0], "blocks %v", got.BlockRMS)
}

// A short recording has fewer blocks, of one segment each. By hand, 5 s at 48 kHz contain 7 segments of 32 768 samples,
// the length for 250 Hz, and 1 s contains 5 segments of 8192 samples, the length for 1000 Hz. The rms is a/√2.
func TestCalibratorShort(t *testing.T) {
	for _, c := range []struct {
		hz, seconds float64
		blocks      int
	}{{250, 5, 7}, {1000, 1, 5}, {250, 2.8, 4}, {250, 7, 10}} {
		src := tones(48000, c.hz, 0.3, 1e-5, int(48000*c.seconds), steady)
		got, err := Calibrator(context.Background(), src,
			CalibratorSettings{RateHz: 48000, Samples: int64(len(src[0])), FrequencyHz: c.hz})
		require.NoError(t, err)
		assert.InDelta(t, 0.3/math.Sqrt2, got.RMS, 1e-5, "rms")
		assert.Len(t, got.BlockRMS, c.blocks, "%v: blocks", c)
		assert.LessOrEqual(t, got.SpreadDB, 0.01, "%v: spread of the blocks in dB", c)
	}
}

// The error about a short recording states the length that is enough. By hand, a segment for 1000 Hz at 48 kHz has 8192
// samples, and one for a search has 16 384.
func TestCalibratorTooShort(t *testing.T) {
	src := tones(48000, 1000, 1, 0, 8191, steady)
	for _, c := range []struct {
		hz     float64
		blocks int
		want   string
	}{
		{1000, 0, "expected at least 32768 samples (0.683 s) for 4 blocks, found 8191"},
		{1000, 2, "expected at least 16384 samples (0.341 s) for 2 blocks, found 8191"},
		{0, 0, "expected at least 16384 samples (0.341 s), found 8191"},
	} {
		_, err := Calibrator(context.Background(), src,
			CalibratorSettings{RateHz: 48000, Samples: 8191, FrequencyHz: c.hz, Blocks: c.blocks})
		assert.ErrorContains(t, err, c.want)
	}
}

// A recording without the calibrator's tone, or too short for its blocks, is an error about the data, which says so.
// The frequency 0 stands for the strongest line: hum of the mains at 50 Hz, in a channel without the calibrator.
func TestCalibratorErrors(t *testing.T) {
	const rate = 48000.0
	silence := memory{make([]float64, 480000)}
	constant := memory{slices.Repeat([]float64{0.25}, 480000)}
	const tooWeak = "expected a calibrator's tone near 1000 Hz, 20 dB and more above the noise"
	for name, c := range map[string]struct {
		src  memory
		hz   float64
		want string
	}{
		"noise alone":            {tones(rate, 1000, 0, 0.1, 480000, steady), 1000, tooWeak},
		"another tone":           {tones(rate, 250, 1, 0.001, 480000, steady), 1000, tooWeak},
		"silence":                {silence, 1000, "found silence (is it this channel, and this frequency?)"},
		"silence, any frequency": {silence, 0, "expected a calibrator's tone, found silence (is it this channel?)"},
		"an offset alone":        {constant, 0, "expected a calibrator's tone, found silence (is it this channel?)"},
		"hum": {
			tones(rate, 50, 1, 0.001, 480000, steady), 0, "for 4 blocks, found 480000 (record longer; or, if the strongest " +
				"line, at 49.8 Hz, is not the calibrator's tone: is it this channel?)",
		},
		"too short":      {tones(rate, 1000, 1, 0, 30000, steady), 1000, "found 30000 (record longer)"},
		"too short, 250": {tones(rate, 250, 1, 0, 130000, steady), 250, "found 130000 (record longer)"},
		"above Nyquist": {
			tones(rate, 1000, 1, 0, 480000, steady), 22000, "expected a tone below half of the sampling rate of 48000 Hz",
		},
	} {
		_, err := Calibrator(context.Background(), c.src,
			CalibratorSettings{RateHz: rate, Samples: int64(len(c.src[0])), FrequencyHz: c.hz})

		var e *fault.Error
		require.ErrorAs(t, err, &e, name)
		assert.ErrorContains(t, err, c.want, name)
	}
}
