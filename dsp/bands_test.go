package dsp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bandsOf runs split-half-bands on the channels of src, in Pa.
func bandsOf(t testing.TB, src memory, s Settings, rate float64) (*Pairs, *Analyser, error) {
	t.Helper()

	r := &Run{RateHz: rate, Samples: int64(len(src[0])), Settings: &s}
	for c := range src {
		r.Microphones = append(r.Microphones, Microphone{Channel: c, Scale: 1, Unit: "Pa"})
	}

	c := Find("split-half-bands", Microphones).(OfSpectra)
	load, err := c.Spectra(r)
	if err != nil {
		return nil, nil, err
	}

	a := NewAnalyser()
	require.NoError(t, a.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, a)

	return p, a, err
}

// White noise of variance σ² has the density 2σ²/rate, so that the band from lo to hi has the mean square 2σ²/rate·(hi
// − lo). Expected over 400 halves: the mean level is the level of this mean square, less sd²/8.7 dB for the mean of a
// logarithm, within four standard errors. The levels scatter as predicted, within four standard errors of a standard
// deviation, 1/√(2·400) each, and 3 % more.
func TestBandsOfWhiteNoise(t *testing.T) {
	const (
		rate  = 8192.0
		sigma = 0.5
		runs  = 200
	)
	s := DefaultSettings()
	s.BandsHz = []float64{100, 2500}
	var mean, square, sd []float64
	var names []string

	rng := rand.New(rand.NewPCG(8, 1))
	for range runs {
		x := make([]float64, 16384)
		for i := range x {
			x[i] = sigma * rng.NormFloat64()
		}

		p, _, err := bandsOf(t, memory{x}, s, rate)
		require.NoError(t, err)

		if mean == nil {
			for _, o := range p.Outcomes {
				names = append(names, o.Name)
			}
			mean = make([]float64, len(names))
			square = make([]float64, len(names))
			sd = make([]float64, len(names))
		}

		for k, v := range p.Rows[0].Values {
			for h, y := range v.Y {
				mean[k] += y / (2 * runs)
				square[k] += y * y / (2 * runs)
				sd[k] += v.ByProducts[0][h] / (2 * runs)
			}
		}
	}

	got := strings.Join(names, " ")
	assert.Equal(t, "l_100hz_db l_125hz_db l_160hz_db l_200hz_db l_250hz_db l_315hz_db "+
		"l_400hz_db l_500hz_db l_630hz_db l_800hz_db l_1000hz_db l_1250hz_db l_1600hz_db l_2000hz_db l_2500hz_db", got)

	ref, _ := Reference("Pa")
	for k := range mean {
		b := ThirdOctave(20 + k)
		want := LevelDB(2*sigma*sigma/rate*(b.Hi-b.Lo), ref) - sd[k]*sd[k]/8.686
		d := mean[k] - want
		assert.InDelta(t, 0, d, 4*sd[k]/math.Sqrt(2*runs), "%s", names[k])

		got := math.Sqrt(square[k] - mean[k]*mean[k])
		ratio := got / sd[k]
		assert.InDelta(t, 1.0, ratio, 4/math.Sqrt(4*runs)+0.03, "%s", names[k])
	}
}

// Expected: a band with a sine of amplitude a in its middle has the mean square a²/2. The powers of all bands sum to
// the powers of the bins between their outer edges, including a part of the bins that an edge cuts.
func TestBandsOfATone(t *testing.T) {
	const (
		rate = 8192.0
		a    = 0.2
	)
	s := DefaultSettings()
	s.Output = "power"
	x := make([]float64, 16*4096)

	rng := rand.New(rand.NewPCG(3, 1))
	for i := range x {
		x[i] = a*math.Sin(2*math.Pi*1000*float64(i)/rate) + 1e-4*rng.NormFloat64()
	}

	p, an, err := bandsOf(t, memory{x}, s, rate)
	require.NoError(t, err)

	for h := range 2 {
		sum := 0.0
		for k, v := range p.Rows[0].Values {
			sum += v.Y[h]

			outcome := p.Outcomes[k]
			assert.Equal(t, "Pa²", outcome.Unit, "unit of %s", outcome.Name)
			if outcome.Name == "l_1000hz_power" {
				assert.InEpsilon(t, a*a/2, v.Y[h], 1e-4, "half %d: band of the sine", h+1)
			}
		}

		list := ThirdOctaves(an.BinHz(), len(an.Power(h, 0)))
		lo := list[0].Lo
		hi := list[len(list)-1].Hi

		want := 0.0
		for k, v := range an.Power(h, 0) {
			low := max(lo, (float64(k)-0.5)*an.BinHz())
			high := min(hi, (float64(k)+0.5)*an.BinHz())
			want += v / 1.5 * max(0, high-low) / an.BinHz() // 1.5 bins: the noise bandwidth of the Hann window
		}

		require.Len(t, p.Outcomes, len(list), "half %d: outcomes", h+1)
		assert.InEpsilon(t, want, sum, 1e-9, "half %d: sum of the bands", h+1)
	}
}

// Each level of a band comes with the level of the microphone's background, which is the density times the width of the
// band. A level 3 dB above the background is counted as near it. A tachometer gives the shaft speed of the run,
// although no outcome needs one. The range from 500 to 1000 Hz has four bands, and each of them two levels.
func TestBandsBackground(t *testing.T) {
	const (
		rate = 8192.0
		n    = 8192 * 2
	)
	src := drifting(rate, 40, 0, n, 1, 0.1)
	pulses, err := FindPulses(t.Context(), src, 0, n, Tachometer{PulsesPerRev: 1, Threshold: 2.5})
	require.NoError(t, err)

	s := DefaultSettings()
	s.BandsHz = []float64{500, 1000}
	density := 2 * 0.1 * 0.1 / rate / 2 // half the density of the noise in the sound

	bg := &Background{BinHz: 4, Density: make([]float64, 1000)}
	for k := range bg.Density {
		bg.Density[k] = density
	}

	r := &Run{RateHz: rate, Samples: n, Settings: &s, Pulses: pulses, Microphones: []Microphone{{
		Channel: 1, Scale: 1, Unit: "Pa", Background: []BackgroundRecording{{"bg.wav", 10, bg}},
	}}}
	c := Find("split-half-bands", Microphones).(OfSpectra)
	load, err := c.Spectra(r)
	require.NoError(t, err)

	a := NewAnalyser()
	require.NoError(t, a.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, a)
	require.NoError(t, err)
	assert.InDelta(t, 40, p.ShaftHz[0], 0.01, "rev/s")
	assert.Equal(t, 8, p.Levels, "levels")
	assert.Equal(t, 8, p.Near, "levels near the background")

	ref, _ := Reference("Pa")

	b := ThirdOctave(27)
	got := p.Rows[0].Values[0].ByProducts[1][1]
	want := LevelDB(density*(b.Hi-b.Lo), ref)
	assert.InDelta(t, want, got, 1e-9, "background")
}

// An error names the band that the spectrum does not resolve, and what to do. The check of settings refuses a range
// with one frequency.
func TestBandErrors(t *testing.T) {
	x := memory{noise(8192, 1)}
	for _, c := range []struct {
		bands []float64
		want  string
	}{
		{[]float64{50, 500}, "band of 50 Hz: expected two bins or more of 16 Hz in the band, and its upper edge below 4104 " +
			"Hz, found 44.668 to 56.234 Hz (narrow bands_hz, ask for fewer segments, or record longer or faster)"},
		{[]float64{1000, 4000}, "band of 4000 Hz: expected two bins or more of 16 Hz in the band, and its upper edge below " +
			"4104 Hz, found 3548.1 to 4466.8 Hz (narrow bands_hz, ask for fewer segments, or record longer or faster)"},
		{[]float64{1010, 1020}, "expected a one-third-octave band, found none in bands_hz: [1010 1020] that bins of 16 Hz " +
			"resolve (widen bands_hz, or record longer)"},
	} {
		s := DefaultSettings()
		s.BandsHz = c.bands
		_, _, err := bandsOf(t, x, s, 8192)
		assert.EqualError(t, err, c.want)
	}

	var text []string
	s := DefaultSettings()
	s.BandsHz = []float64{5}
	CheckSettings(&s, func(key, format string, args ...any) { text = append(text, key) })

	assert.Equal(t, []string{"bands_hz"}, text, "keys with a fault")
}
