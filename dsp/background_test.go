package dsp

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: closed forms. White noise of variance σ² has the density 2σ²/rate, and a tone of amplitude a has the mean
// square a²/2. The noise adds no tone.
func TestBackground(t *testing.T) {
	const (
		rate   = 20480.0
		sigma  = 0.02
		toneHz = 440.6
		tone   = 0.01 * 0.01 / 2 // mean square of amplitude 0.01
	)
	src := tones(rate, toneHz, 0.01, sigma, int(30*rate), steady)
	b, err := MeasureBackground(context.Background(), src, 0, 0, int64(len(src[0])), rate)
	require.NoError(t, err)
	require.Len(t, b.Tones, 1, "tones")
	assert.InDelta(t, toneHz, b.Tones[0].Hz, 0.05, "frequency of the tone")
	assert.InEpsilon(t, tone, b.Tones[0].MeanSquare, 0.05, "mean square of the tone")

	density := 2 * sigma * sigma / rate
	assert.InEpsilon(t, density*4000, b.MeanSquare(2000, 6000), 0.03, "2 to 6 kHz")
	assert.InEpsilon(t, density, b.MeanSquare(3000, 3001), 0.6, "1 Hz, a part of one bin")
	assert.InEpsilon(t, sigma*sigma+tone, b.MeanSquare(0, rate), 0.02, "all frequencies")

	_, err = MeasureBackground(context.Background(), src, 0, 0, 500, rate)
	assert.Error(t, err, "500 samples, fewer than 8 segments of 64")
}

// Bin returns the power of a background in bins of another width. Expected: closed forms of the Hann window, which has
// a noise bandwidth of 1.5 bins, reads the mean square of a line on a bin, and reads 1.42 dB less for a line between
// two bins. The witness for measured backgrounds is Welch's spectrum of the same samples with segments of that bin
// width.
func TestBackgroundBin(t *testing.T) {
	white := &Background{BinHz: 0.5, Density: make([]float64, 8000)}
	for i := range white.Density {
		white.Density[i] = 3e-6
	}

	got := white.Bin(1000, 4)
	want := 1.5 * 4 * 3e-6
	assert.InDelta(t, 1, got/want, 1e-3, "white")

	line := &Background{BinHz: 0.5, Density: make([]float64, 8000)}
	line.Density[2000] = 0.02 / 0.5 // a mean square of 0.02 at 1 kHz
	got = line.Bin(1000, 8)
	assert.InDelta(t, 1, got/0.02, 0.005, "a line on the bin")

	assert.InDelta(t, -1.4236, 10*math.Log10(line.Bin(1004, 8)/0.02), 0.02, "a line between bins: dB")
	assert.Equal(t, 0.0, line.Bin(1032, 8), "a line four bins off")

	const (
		rate  = 20480.0
		sigma = 0.02
		a     = 0.01
	)
	src := tones(rate, 440.6, a, sigma, int(30*rate), steady)
	b, err := MeasureBackground(context.Background(), src, 0, 0, int64(len(src[0])), rate)
	require.NoError(t, err)

	for _, n := range []int{2560, 5120, 8192, 10240} { // bins of 8, 4, 2.5 and 2 Hz; the background's are 1.25 Hz wide
		bin := rate / float64(n)
		w := NewWelch(n)
		mean := make([]float64, w.Bins())
		one := make([]float64, w.Bins())

		segments := len(src[0]) / n
		for g := range segments {
			w.SegmentPower(one, src[0][g*n:(g+1)*n])
			for k, p := range one {
				mean[k] += p / float64(segments)
			}
		}

		k := int(math.Round(440.6 / bin)) // the bin of the line
		got := b.Bin(bin*float64(k), bin)
		want := mean[k]
		assert.InDelta(t, 0, 10*math.Log10(got/want), 0.5, "the line in bins of %g Hz", bin)

		sumB := 0.0
		sumW := 0.0
		for k := int(2000 / bin); k < int(8000/bin); k++ {
			sumB += b.Bin(bin*float64(k), bin)
			sumW += mean[k]
		}

		assert.InDelta(t, 1, sumB/sumW, 0.02, "noise in bins of %g Hz: %g, Welch has %g", bin, sumB, sumW)
	}
}

// Two recordings of 10 and 30 seconds have the densities 1 and 3. Expected: their mean (10·1 + 30·3)/40 = 2.5 times the
// width of 10 Hz, and the stronger of the two tones in the range, which the second recording has.
func TestBackgroundBetween(t *testing.T) {
	flat := func(density float64, tones ...Tone) *Background {
		b := &Background{BinHz: 2, Density: make([]float64, 100), Tones: tones}
		for k := range b.Density {
			b.Density[k] = density
		}

		return b
	}

	list := []BackgroundRecording{
		{"a.wav", 10, flat(1, Tone{50, 0.2}, Tone{120, 9})},
		{"b.wav", 30, flat(3, Tone{51, 0.4})},
	}

	got, tone, file := BackgroundBetween(list, 45, 55)
	require.InDelta(t, 25, got, 1e-12)
	require.NotNil(t, tone)
	assert.InDelta(t, 0.4, tone.MeanSquare, 0)
	assert.Equal(t, "b.wav", file)

	_, tone, _ = BackgroundBetween(list, 80, 90)
	assert.Nil(t, tone, "a tone")

	// White noise of density D reads 1.5·2 Hz·D in bins of 2 Hz.
	assert.InDelta(t, 1.5*2*2.5, BackgroundBin(list, 100, 2, 1.5), 1e-9, "a bin")
}
