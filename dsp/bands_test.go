package dsp

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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
		}

		sine := slices.IndexFunc(p.Outcomes, func(o Outcome) bool { return o.Name == "l_1000hz_power" })
		require.GreaterOrEqual(t, sine, 0, "the band of the sine is not among %+v", p.Outcomes)
		assert.InEpsilon(t, a*a/2, p.Rows[0].Values[sine].Y[h], 1e-4, "half %d: band of the sine", h+1)

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

// Expected values: scipy's narrow-band density, integrated over each band (testdata/make_windows.py). The construction
// computes them from the first half, with an overlap of 50 %.
func TestFractionalOctavesGolden(t *testing.T) {
	var g goldenWindows
	readJSON(t, "windows.json", &g)

	for per, rows := range g.Bands {
		n, _ := strconv.Atoi(per)
		s := DefaultSettings()
		s.Outcomes = []string{"bands"}
		s.BandsPerOctave = n
		s.Output = "power"
		s.Overlap = 0.5
		s.SegmentS = 250 / g.Rate
		p, _, err := outcomesOf(t, "split-half-spectrum", memory{g.X}, s, g.Rate, nil)
		require.NoError(t, err)
		require.NotEmpty(t, rows, "1/%s octave", per)
		require.Len(t, p.Outcomes, len(rows), "1/%s octave", per)

		for k, want := range rows {
			assert.InDelta(t, want[3], p.Rows[0].Values[k].Y[0], 1e-9*want[3], "1/%s octave, %s", per, p.Outcomes[k].Name)
		}
	}
}

// 1000 recordings of white noise of known density are simulated, 150 in a short test. Expected: the mean level of a
// band is the level of the density times the width, less sd²/8.7 dB for the mean of a logarithm. The levels have the
// predicted deviation sd: with n levels, the sum of the squared distances from the mean, in predicted deviations, is χ²
// with n degrees of freedom, whose standard deviation is √(2n). Both numbers may be four standard deviations off.
func TestBandsOfWhiteNoiseChiSquare(t *testing.T) {
	const (
		rate  = 8192.0
		sigma = 0.5
	)

	recordings := turns(1000, 150)
	for _, c := range []struct {
		window  string
		overlap float64
		per     int
	}{{"hann", 0, 3}, {"hann", 0.5, 3}, {"blackman", 0.5, 1}} {
		s := DefaultSettings()
		s.Outcomes = []string{"bands", "overall"}
		s.BandsPerOctave = c.per
		s.BandsHz = []float64{500, 2500}
		s.Window = c.window
		s.Overlap = c.overlap
		s.Segments = 8
		s.OverallHz = []float64{300, 3000}
		rng := rand.New(rand.NewPCG(8, 11))
		var chi, mean, sd []float64

		var names []string
		for range recordings {
			x := make([]float64, 8192)
			for i := range x {
				x[i] = sigma * rng.NormFloat64()
			}

			p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, nil)
			require.NoError(t, err)

			if chi == nil {
				chi = make([]float64, len(p.Outcomes))
				mean = make([]float64, len(p.Outcomes))
				sd = make([]float64, len(p.Outcomes))
			}

			names = nil
			for k, v := range p.Rows[0].Values {
				names = append(names, p.Outcomes[k].Name)

				b := Band{300, 0, 3000}
				if k < len(p.Outcomes)-1 {
					b = FractionalOctave(c.per, k-c.per)
				}

				want := LevelDB(2*sigma*sigma/rate*(b.Hi-b.Lo), 20e-6)
				for h, y := range v.Y {
					e := v.ByProducts[0][h]
					d := (y - want + e*e/8.686) / e
					chi[k] += d * d
					mean[k] += d
					sd[k] += e / float64(2*recordings)
				}
			}
		}

		for k, v := range chi {
			n := float64(2 * recordings)
			z := (v - n) / math.Sqrt(2*n)
			assert.InDelta(t, 0, z, 4.0, "%+v, %s", c, names[k])

			z = mean[k] / math.Sqrt(n)
			assert.InDelta(t, 0, z, 4.0, "%+v, %s", c, names[k])

			t.Logf("%+v %s: χ²/n %.3f, sd %.3f dB", c, names[k], v/n, sd[k])
		}
	}
}

// The edge between two bands cuts the bin of a tone at three quarters of the bin. Expected: each band takes the part of
// the bin's power that is the band's part of the width, and all power of the neighbouring bin on its side.
func TestToneAtAnEdge(t *testing.T) {
	const (
		rate = 8000.
		n    = 400
		a    = 0.3
	)
	binHz := rate / n // 20 Hz
	s := DefaultSettings()
	s.Outcomes = []string{"bands"}
	s.Output = "power"
	s.SegmentS = n / rate
	s.Bands = [][]float64{{500, 1000 + 0.25*binHz}, {1000 + 0.25*binHz, 2000}}

	x := make([]float64, 20*n)
	for i := range x {
		x[i] = a * math.Sin(2*math.Pi*1000*float64(i)/rate)
	}

	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, nil)
	require.NoError(t, err)

	// Under a Hann window, the bin of the tone has a²/2 and its neighbours a quarter of that, over a bandwidth of
	// 1.5 bins.
	full := a * a / 2 / 1.5
	lower, _ := p.value(t, 0, "l_500to1005hz_power", "sd")
	upper, _ := p.value(t, 0, "l_1005to2000hz_power", "sd")
	for h := range 2 {
		assert.InDelta(t, full*(0.25+0.75), lower[h], 1e-12, "half %d: band below the edge", h+1)
		assert.InDelta(t, full*(0.25+0.25), upper[h], 1e-12, "half %d: band above the edge", h+1)
	}
}

// The frequencies of bands in shaft orders follow the speed of the run. Expected: the band about order 2 has the power
// a²/2 of the line there, and the power of the noise in its width of one order. A construction with such bands needs a
// shaft speed, and with bands in Hz it does not.
func TestBandsInOrders(t *testing.T) {
	const (
		rate  = 10_240.
		shaft = 61.
	)
	s := DefaultSettings()
	s.Outcomes = []string{"harmonics", "bands"}
	s.Output = "power"
	s.Bands = [][]float64{{1.5, 2.5}}
	s.BandsUnit = "orders"
	s.Harmonics = 2
	x := rotorSound(4*10_240, rate, shaft, map[int]float64{2: 3, 4: 2}, 5)
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, map[string]float64{"blades": 2, "rpm": 3600})
	require.NoError(t, err)

	y, sd := p.value(t, 0, "l_1_5to2_5so_power", "sd")
	want := 3.*3/2 + 2/rate*shaft
	assert.InDelta(t, 0, 10*math.Log10(y[0]/want), 4*sd[0], "error in dB")

	require.Len(t, p.Outcomes, 3, "two harmonics and a band")
	assert.Equal(t, "bpf1_power", p.Outcomes[0].Name)

	d := Configure(Find("split-half-spectrum", Microphones), &s).Describe()
	assert.True(t, d.Shaft, "bands in orders need a shaft speed")
	assert.Contains(t, d.Doc, "levels of bands")
	assert.Contains(t, d.Settings, "track")

	s.BandsUnit = ""
	s.Outcomes = []string{"bands", "overall"}
	d = Configure(Find("split-half-spectrum", Microphones), &s).Describe()
	assert.False(t, d.Shaft, "bands in Hz need a shaft speed")
	assert.NotContains(t, d.Settings, "track")
}

// With the construction "repeats", both halves give one value: the mean of the powers of the halves. Expected: it has
// 16 averages, twice the number of a half, and its deviation is about 1/√2 of the deviation of the halves.
func TestBandsOfRepeats(t *testing.T) {
	const rate = 8192.
	s := DefaultSettings()
	s.Outcomes = []string{"bands", "overall"}
	s.Output = "power"
	src := memory{noise(8192, 4)}
	halves, _, err := outcomesOf(t, "split-half-spectrum", src, s, rate, nil)
	require.NoError(t, err)

	both, _, err := outcomesOf(t, "repeats", src, s, rate, nil)
	require.NoError(t, err)

	for k, v := range both.Rows[0].Values {
		h := halves.Rows[0].Values[k]
		name := both.Outcomes[k].Name
		assert.InDelta(t, (h.Y[0]+h.Y[1])/2, v.Y[0], 1e-12, "%s: mean of the halves", name)
		assert.Equal(t, v.Y[0], v.Y[1], "%s: both values", name)

		// The deviation follows from the spectrum, so that it differs from half to half.
		assert.InEpsilon(t, h.ByProducts[0][0]/math.Sqrt2, v.ByProducts[0][0], 0.5, "%s: deviation", name)
		assert.Equal(t, 16.0, v.ByProducts[1][0], "%s: averages", name)
	}
}
