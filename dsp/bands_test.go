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

	c := Find("split-half-bands", false).(OfSpectra)
	load, err := c.Spectra(r)
	if err != nil {
		return nil, nil, err
	}

	a := NewAnalyser()
	require.NoError(t, a.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, a)

	return p, a, err
}

// Expected values: white noise of variance σ² has the density 2σ²/rate, so the
// band from lo to hi the mean square 2σ²/rate·(hi − lo). Over 400 halves the mean
// level is off by no more than four standard errors (and by the mean of a
// logarithm, −sd²/8.7 dB), and the scatter is the predicted deviation within 4
// standard errors of a deviation, 1/√(2·400).
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

// Expected values: a sine of amplitude a in the middle of a band has the level
// of a²/2 there. The sum of the bands' powers is the sum of the bins between their
// outer edges, with a part of the bins that an edge cuts, to 1e-9.
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

			if o := p.Outcomes[k]; o.Name == "l_1000hz_power" && math.Abs(v.Y[h]/(a*a/2)-1) > 1e-4 {
				t.Errorf("half %d: %g, want %g", h+1, v.Y[h], a*a/2)
			} else if o.Unit != "Pa²" {
				t.Errorf("unit %s", o.Unit)
			}
		}

		list := ThirdOctaves(an.BinHz(), len(an.Power(h, 0)))
		lo := list[0].Lo
		hi := list[len(list)-1].Hi

		want := 0.0
		for k, v := range an.Power(h, 0) {
			low := max(lo, (float64(k)-0.5)*an.BinHz())
			high := min(hi, (float64(k)+0.5)*an.BinHz())
			want += v / 1.5 * max(0, high-low) / an.BinHz()
		}

		require.Len(t, list, len(p.Outcomes),
			"half %d: %d bands sum to %g, %g wanted of %d", h+1, len(p.Outcomes), sum, want, len(list))
		assert.InDelta(t, 1, sum/want, 1e-9,
			"half %d: %d bands sum to %g, %g wanted of %d", h+1, len(p.Outcomes), sum, want, len(list))
	}
}

// A microphone's background is stored with its bands, and a tachometer gives
// the shaft speed. Expected: density times width, a level 3 dB above it is near.
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
	density := 2 * 0.1 * 0.1 / rate / 2

	bg := &Background{BinHz: 4, Density: make([]float64, 1000)}
	for k := range bg.Density {
		bg.Density[k] = density
	}

	r := &Run{RateHz: rate, Samples: n, Settings: &s, Pulses: pulses, Microphones: []Microphone{{
		Channel: 1, Scale: 1, Unit: "Pa", Background: []BackgroundRecording{{"bg.wav", 10, bg}},
	}}}
	c := Find("split-half-bands", false).(OfSpectra)
	load, err := c.Spectra(r)
	require.NoError(t, err)

	a := NewAnalyser()
	require.NoError(t, a.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, a)
	require.NoError(t, err)
	require.InDelta(t, 40, p.ShaftHz[0], 0.01,
		"%g rev/s, %d of %d levels near the background", p.ShaftHz, p.Near, p.Levels)
	require.Equal(t, p.Levels, p.Near, "%g rev/s, %d of %d levels near the background", p.ShaftHz, p.Near, p.Levels)
	assert.Equal(t, 8, p.Levels, "%g rev/s, %d of %d levels near the background", p.ShaftHz, p.Near, p.Levels)

	ref, _ := Reference("Pa")

	b := ThirdOctave(27)
	got := p.Rows[0].Values[0].ByProducts[1][1]
	want := LevelDB(density*(b.Hi-b.Lo), ref)
	assert.InDelta(t, want, got, 1e-9, "background")
}

// Expected texts: which band, and what to do.
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

	require.Len(t, text, 1, "faults of %v", text)
	assert.Equal(t, "bands_hz", text[0], "faults of %v", text)
}
