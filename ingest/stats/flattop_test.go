package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// simulatedSine returns a tone of 40,000 samples at 48 kHz, with an amplitude of 1.
func simulatedSine(hz float64) []float64 {
	x := make([]float64, 40000)
	for i := range x {
		x[i] = math.Sin(2 * math.Pi * hz * float64(i) / 48000)
	}

	return x
}

// simulatedNoise returns noise without high frequencies: the mean of 8 neighbours, with a deviation of 1.
func simulatedNoise() []float64 {
	g := rand.New(rand.NewPCG(3, 3))
	x := make([]float64, 40000)
	for i := range x {
		x[i] = g.NormFloat64()
	}

	for i := range len(x) - 8 {
		sum := 0.0
		for _, v := range x[i : i+8] {
			sum += v
		}

		x[i] = sum / math.Sqrt(8)
	}

	return x
}

// limited returns the samples cut off below low and above high.
func limited(x []float64, low, high float64) []float64 {
	for i, v := range x {
		x[i] = max(low, min(high, v))
	}

	return x
}

// withNoise returns the samples with noise of a deviation, in steps of step if it is not 0.
func withNoise(x []float64, deviation, step float64) []float64 {
	g := rand.New(rand.NewPCG(4, 4))
	for i := range x {
		x[i] += deviation * g.NormFloat64()
		if step > 0 {
			x[i] = step * math.Round(x[i]/step)
		}
	}

	return x
}

// Signals that an amplifier cut off, with its noise after that, are called clipped. Whole signals, coarse channels,
// switches and plateaus of set points are not.
func TestFlatTops(t *testing.T) {
	twice := func(x []float64) []float64 {
		for i := range x {
			x[i] += 0.5 * math.Sin(0.9*float64(i))
		}
		return x
	}

	ramp := make([]float64, 40000)
	triangle := make([]float64, 40000)
	coarse := make([]float64, 40000)
	plateaus := make([]float64, 40000)
	pulses := make([]float64, 40000)
	for i := range ramp {
		ramp[i] = float64(i) / 40000
		triangle[i] = math.Abs(float64(i%200) - 100)
		coarse[i] = math.Round(5 * math.Sin(float64(i)*0.01))
		plateaus[i] = float64(i / 10000)
		pulses[i] = float64(i / 500 % 2)
	}

	const bit = 1. / 32768
	for _, c := range []struct {
		name      string
		isClipped bool
		x         []float64
	}{
		{"a tone cut off above and below", true, withNoise(limited(simulatedSine(1000), -0.8, 0.8), 0.001, 0)},
		{"a tone cut off in 16 bits", true, withNoise(limited(simulatedSine(1000), -0.8, 0.8), 5*bit, bit)},
		{"a tone cut off above", true, withNoise(limited(simulatedSine(997), -2, 0.9), 0.0005, 0)},
		{"a tone cut off below", true, withNoise(limited(simulatedSine(997), -0.9, 2), 0.0005, 0)},
		{"a low tone cut off", true, withNoise(limited(simulatedSine(50), -0.7, 0.7), 0.001, 0)},
		{"two tones cut off", true, withNoise(limited(twice(simulatedSine(300)), -1.1, 1.1), 0.001, 0)},
		{"noise cut off at 2 deviations", true, withNoise(limited(simulatedNoise(), -2, 2), 0.001, 0)},
		{"noise cut off at 1 deviation", true, withNoise(limited(simulatedNoise(), -1, 1), 0.001, 0)},

		{"a tone", false, withNoise(simulatedSine(997), 0.001, 0)},
		{"a tone of 48 samples a period", false, withNoise(simulatedSine(1000), 0.0005, 0)},
		{"a tone of 24 samples a period", false, withNoise(simulatedSine(2000), 0.0001, 0)},
		{"a tone of 16 samples a period", false, withNoise(simulatedSine(3000), 0.0001, 0)},
		{"a tone of 8 samples a period", false, withNoise(simulatedSine(6000), 0.0001, 0)},
		{"a tone of 4 samples a period", false, withNoise(simulatedSine(12000), 0.0001, 0)},
		{"a low tone", false, withNoise(simulatedSine(20), 0.0001, 0)},
		{"a tone in 16 bits", false, withNoise(simulatedSine(440), 5*bit, bit)},
		{"two tones", false, withNoise(twice(simulatedSine(300)), 0.001, 0)},
		{"noise", false, simulatedNoise()},
		{"a tone in noise", false, withNoise(simulatedSine(1000), 0.3, 0)},
		{"a ramp", false, withNoise(ramp, 0.0001, 0)},
		{"a triangle", false, withNoise(triangle, 0.01, 0)},
		{"coarse steps", false, withNoise(coarse, 0.01, 1)},
		{"plateaus of set points", false, withNoise(plateaus, 0.001, 0)},
		{"a switch", false, withNoise(pulses, 0.0001, 0)},
	} {
		_, warnings, err := Scan(context.Background(), ingesttest.NewMemory(c.x), ingest.Run{Row1: -1})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.isClipped, ingesttest.Codes(warnings) == "clipping", "%s: %v", c.name, warnings)
	}
}
