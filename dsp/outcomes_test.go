package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outcomesOf runs a construction on all channels of src, which are microphones in Pa at the given conditions. It checks
// the names of the outcomes.
func outcomesOf(t testing.TB, name string, src memory, s Settings, rate float64, conditions map[string]float64) (*Pairs,
	*Analyser, error,
) {
	t.Helper()

	r := &Run{RateHz: rate, Samples: int64(len(src[0])), Settings: &s}
	for c := range src {
		r.Microphones = append(r.Microphones, Microphone{Channel: c, Scale: 1, Unit: "Pa", Conditions: conditions})
	}

	c := Configure(Find(name, Microphones), &s).(OfSpectra)
	load, err := c.Spectra(r)
	if err != nil {
		return nil, nil, err
	}

	require.NoError(t, outcomesAnalyser.Load(t.Context(), src, load))

	p, err := c.Pairs(t.Context(), src, r, outcomesAnalyser)
	if err == nil && len(p.Rows) > 0 {
		p.requireNames(t, OutcomeNames(c, &s, nil))
	}

	return p, outcomesAnalyser, err
}

// requireNames requires that the names of all outcomes are in the list that was made without any data.
func (p *Pairs) requireNames(t testing.TB, announced []string) {
	t.Helper()

	for _, o := range p.Outcomes {
		require.Contains(t, announced, o.Name)
	}
}

// outcomesAnalyser serves all calls of outcomesOf, which saves the time for its plans.
var outcomesAnalyser = NewAnalyser()

// value returns the pair of values of an outcome, and the pair of its by-product with that suffix. The by-product is 0
// if the outcome has none with the suffix.
func (p *Pairs) value(t testing.TB, row int, name, suffix string) (y, byProduct [2]float64) {
	t.Helper()

	for k, o := range p.Outcomes {
		if o.Name != name {
			continue
		}

		for i, b := range o.ByProducts {
			if b.Suffix == suffix {
				byProduct = p.Rows[row].Values[k].ByProducts[i]
			}
		}

		return p.Rows[row].Values[k].Y, byProduct
	}

	require.Failf(t, "no such outcome", "%s", name)

	return y, byProduct
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

// Expected values: IEC 61260-1:2014, annex E: its nominal mid-frequencies of octaves and third-octaves, and its rule of
// three or two digits for narrower bands. No two bands of a twelfth of an octave have the same nominal frequency.
func TestNominalFrequencies(t *testing.T) {
	for _, c := range []struct {
		per, x int
		hz     float64
	}{
		{1, -5, 31.5},
		{1, -4, 63},
		{1, -3, 125},
		{1, 0, 1000},
		{1, 4, 16000},
		{3, -19, 12.5},
		{3, 13, 20000},
		{3, -15, 31.5},
		{6, 0, 1060},
		{6, -1, 940}, // exactly 944 Hz: two digits from 5 on
		{6, 5, 1880},
		{12, 0, 1030},
		{12, 11, 1940},
		{12, -1, 970},
	} {
		assert.Equal(t, c.hz, nominalHz(c.per, c.x), "1/%d octave, band %d: Hz", c.per, c.x)
	}

	seen := map[float64]bool{}
	for x := -84; x <= 120; x++ {
		hz := nominalHz(12, x)
		assert.NotContains(t, seen, hz, "nominal frequencies of the bands below band %d", x)
		seen[hz] = true
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

// Expected values: the weightings A and C of IEC 61672-1:2013, table 3, at the 34 nominal frequencies from 10 Hz to
// 20 kHz, rounded to 0.1 dB. The exact frequencies are 1000·10^(n/10) Hz. Z is no weighting.
func TestWeightingTable(t *testing.T) {
	a := []float64{
		-70.4, -63.4, -56.7, -50.5, -44.7, -39.4, -34.6, -30.2, -26.2, -22.5, -19.1, -16.1, -13.4, -10.9, -8.6, -6.6, -4.8,
		-3.2, -1.9, -0.8, 0, 0.6, 1.0, 1.2, 1.3, 1.2, 1.0, 0.5, -0.1, -1.1, -2.5, -4.3, -6.6, -9.3,
	}

	c := []float64{
		-14.3, -11.2, -8.5, -6.2, -4.4, -3.0, -2.0, -1.3, -0.8, -0.5, -0.3, -0.2, -0.1, 0, 0, 0, 0,
		0, 0, 0, 0, 0, -0.1, -0.2, -0.3, -0.5, -0.8, -1.3, -2.0, -3.0, -4.4, -6.2, -8.5, -11.2,
	}

	require.Len(t, a, 34)
	require.Len(t, c, 34)

	for i := range a {
		hz := ThirdOctave(10 + i).Centre
		for w, want := range map[string]float64{"A": a[i], "C": c[i], "Z": 0} {
			// 0.05 dB is the rounding of the table.
			assert.InDelta(t, want, WeightingDB(w, hz), 0.05+1e-9, "%s at %.5g Hz: dB", w, hz)
		}
	}
}

// Expected: the overall level of a tone is the level of its mean square a²/2, plus the weighting at its frequency.
func TestOverallOfTone(t *testing.T) {
	const (
		rateHz    = 12_800.
		toneHz    = 100.
		amplitude = 0.2
	)
	s := DefaultSettings()
	s.Outcomes = []string{"overall"}
	s.Weighting = []string{"Z", "A", "C"}

	x := make([]float64, 16*1280)
	for i := range x {
		x[i] = amplitude * math.Sin(2*math.Pi*toneHz*float64(i)/rateHz)
	}

	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rateHz, nil)
	require.NoError(t, err)

	want := LevelDB(amplitude*amplitude/2, 20e-6)
	level, _ := p.value(t, 0, "oaspl_db", "sd")
	assert.InDelta(t, want, level[0], 1e-9, "dB")

	for _, weighting := range []string{"A", "C"} {
		// The window moves a part of the power into the neighbouring bins of 90 and 110 Hz, whose weightings differ.
		level, _ := p.value(t, 0, "oaspl_"+strings.ToLower(weighting)+"_db", "sd")
		assert.InDelta(t, want+WeightingDB(weighting, toneHz), level[1], 0.05, "%s: dB", weighting)
	}

	s.OverallHz = []float64{100, 7000} // beyond half the sampling rate
	_, _, err = outcomesOf(t, "split-half-spectrum", memory{x}, s, rateHz, nil)
	assert.ErrorContains(t, err, "overall_hz: expected one bin or more")
}

// Expected: the overall level of white noise is the level of the integral of its density times the weighting, here a
// sum over steps of 1 Hz. Each level may differ by four of its predicted deviations.
func TestOverallOfNoise(t *testing.T) {
	const (
		rateHz = 12_800.
		fromHz = 100
		toHz   = 6000
	)
	s := DefaultSettings()
	s.Outcomes = []string{"overall"}
	s.Weighting = []string{"Z", "A", "C"}
	s.OverallHz = []float64{fromHz, toHz}

	// Noise of unit variance has the density 2/rateHz.
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{noise(64*1280, 5)}, s, rateHz, nil)
	require.NoError(t, err)

	for weighting, name := range map[string]string{"Z": "oaspl_db", "A": "oaspl_a_db", "C": "oaspl_c_db"} {
		meanSquare := 0.0
		for hz := fromHz; hz < toHz; hz++ {
			meanSquare += 2 / rateHz * math.Pow(10, WeightingDB(weighting, float64(hz)+0.5)/10)
		}

		level, sd := p.value(t, 0, name, "sd")
		for half := range 2 {
			assert.Less(t, sd[half], 0.2, "%s: predicted deviation in dB", name)
			assert.InDelta(t, LevelDB(meanSquare, 20e-6), level[half], 4*sd[half], "%s: dB", name)
		}
	}
}

// rotorSound returns n samples of white noise with standard deviation 1, and of lines at multiples of the shaft
// frequency. amplitude contains the amplitude of each line by its multiple.
func rotorSound(n int, rate, shaft float64, amplitude map[int]float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 77))

	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		for j, a := range amplitude {
			x[i] += a * math.Sin(2*math.Pi*shaft*float64(j)*float64(i)/rate+float64(j))
		}
	}

	return x
}

// Expected for the sound of a rotor: the tonal and the broadband power sum to the total. Over 100 recordings, the
// broadband level is the level of the noise and the tonal level is the level of the lines: the mean error is below half
// of the predicted deviation, and the mean square error is 0.6 to 1.5 times the predicted variance. In noise without
// lines, the tonal level is an upper bound, less than a tenth of the noise.
func TestBroadbandAndTonal(t *testing.T) {
	const (
		rate  = 10_240.
		shaft = 50.3
	)
	recordings := turns(100, 20)
	s := DefaultSettings()
	s.Outcomes = []string{"overall", "broadband"}
	s.Output = "power"
	s.Weighting = []string{"Z"}
	s.Overlap = 0.5
	s.OverallHz = []float64{60, 4000}
	s.Harmonics = 3
	at := map[string]float64{"blades": 2, "rpm": 60 * shaft}
	lines := map[int]float64{2: 2, 3: 0.5, 4: 0.8, 6: 0.4}

	tones := 0.
	for _, a := range lines {
		tones += a * a / 2
	}

	noise := 2 / rate * 3940 // density times the width of overall_hz

	var mean, square [2]float64 // error of broadband and tonal levels in predicted deviations: its mean and mean square
	for i := range recordings {
		x := rotorSound(4*10_240, rate, shaft, lines, uint64(i))
		p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
		require.NoError(t, err)

		total, _ := p.value(t, 0, "oaspl_power", "sd")
		broad, sdB := p.value(t, 0, "broadband_power", "sd")
		tonal, sdT := p.value(t, 0, "tonal_power", "sd")

		_, bound := p.value(t, 0, "tonal_power", "bound")
		for h := range 2 {
			assert.InEpsilon(t, total[h], broad[h]+tonal[h], 1e-12, "sum of broadband and tonal power")
			assert.Zero(t, bound[h], "tonal power is an upper bound")

			errors := [2]float64{10 * math.Log10(broad[h]/noise) / sdB[h], 10 * math.Log10(tonal[h]/tones) / sdT[h]}
			for k, e := range errors {
				mean[k] += e / float64(2*recordings)
				square[k] += e * e / float64(2*recordings)
			}
		}
	}

	t.Logf("broadband and tonal: mean %.3f, mean square %.3f of the prediction", mean, square)

	for k, name := range []string{"broadband", "tonal"} {
		assert.InDelta(t, 0, mean[k], 0.5, "%s: mean, in predicted deviations", name)
		assert.LessOrEqual(t, square[k], 1.5, "%s: mean square, in squared predicted deviations", name)
		assert.GreaterOrEqual(t, square[k], 0.6, "%s: mean square, in squared predicted deviations", name)
	}

	s.Speed = "nominal"
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{rotorSound(4*10_240, rate, shaft, nil, 1)}, s, rate, at)
	require.NoError(t, err)

	broad, sd := p.value(t, 0, "broadband_power", "sd")

	tonal, bound := p.value(t, 0, "tonal_power", "bound")
	assert.InDelta(t, 0, 10*math.Log10(broad[0]/noise), 4*sd[0], "error of the broadband level without lines, dB")
	assert.Equal(t, [2]float64{1, 1}, bound, "upper bounds of the tonal power without lines")
	assert.Positive(t, tonal[0], "tonal power without lines")
	assert.Less(t, tonal[0], 0.1*noise, "tonal power without lines")
	assert.Equal(t, 2, p.Bounds, "number of upper bounds")
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

// Expected values: the attenuation of sound in air in dB/km at 101.325 kPa, in octaves from 63 Hz to 8 kHz. The first
// two rows are from ISO 9613-1:1993, table 1, which has three digits. The other rows are from ISO 9613-2:1996, table 2,
// which is rounded to 0.1 dB/km.
func TestAbsorptionTable(t *testing.T) {
	for _, c := range []struct {
		temperature, humidity, absolute, relative float64
		want                                      [8]float64
	}{
		{10, 70, 0, 0.005, [8]float64{0.122, 0.411, 1.04, 1.93, 3.66, 9.66, 32.8, 117}},
		{20, 70, 0, 0.005, [8]float64{0.0899, 0.339, 1.13, 2.80, 4.98, 9.02, 22.9, 76.6}},
		{10, 70, 0.055, 0.005, [8]float64{0.1, 0.4, 1.0, 1.9, 3.7, 9.7, 32.8, 117}},
		{20, 70, 0.055, 0.005, [8]float64{0.1, 0.3, 1.1, 2.8, 5.0, 9.0, 22.9, 76.6}},
		{30, 70, 0.055, 0.005, [8]float64{0.1, 0.3, 1.0, 3.1, 7.4, 12.7, 23.1, 59.3}},
		{15, 20, 0.055, 0.005, [8]float64{0.3, 0.6, 1.2, 2.7, 8.2, 28.2, 88.8, 202}},
		{15, 50, 0.055, 0.005, [8]float64{0.1, 0.5, 1.2, 2.2, 4.2, 10.8, 36.2, 129}},
		{15, 80, 0.055, 0.005, [8]float64{0.1, 0.3, 1.1, 2.4, 4.1, 8.3, 23.7, 82.8}},
	} {
		for i, want := range c.want {
			hz := 1000 * math.Pow(10, 0.3*float64(i-4)) // the tables' exact mid-frequencies
			got := 1000 * Absorption(hz, c.temperature, c.humidity, 101325)
			assert.InDelta(t, want, got, max(c.absolute, c.relative*want),
				"%g °C, %g %%, %.4g Hz: dB/km", c.temperature, c.humidity, hz)
		}
	}
}

// Levels are corrected to another atmosphere and another distance. Expected: the correction for the air is the
// absorption on the measured path minus the absorption on the reference path. It is the by-product "air" of each
// outcome, and its level contains it. Without the condition of humidity, the run is refused.
func TestAtmosphere(t *testing.T) {
	const rate = 40_960.
	s := DefaultSettings()
	s.Outcomes = []string{"harmonics", "bands", "overall", "broadband"}
	s.BandsHz = []float64{8000, 16000}
	s.Harmonics = 1
	x := rotorSound(8*4096, rate, 500, map[int]float64{2: 3}, 9)
	at := map[string]float64{"blades": 2, "rpm": 30_000, "temperature_c": 5, "humidity_pct": 30}
	plain, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
	require.NoError(t, err)

	s.Distance = &Distance{FromM: 20, ToM: 10}
	s.Atmosphere = &Atmosphere{}
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
	require.NoError(t, err)

	for _, o := range p.Outcomes {
		y, air := p.value(t, 0, o.Name, "air")

		before, _ := plain.value(t, 0, o.Name, "air")
		for h := range 2 {
			got := y[h] - before[h] - 20*math.Log10(2)
			if o.Name != "tonal_db" { // the noise decides whether the lines emerge
				assert.InDelta(t, air[h], got, 1e-9, "%s, half %d", o.Name, h+1)
			}

			assert.Positive(t, air[h], "%s, half %d", o.Name, h+1)
		}
	}

	_, air := p.value(t, 0, "bpf1_db", "air")

	_, hz := p.value(t, 0, "bpf1_db", "hz")
	assert.InDelta(t, 20*Absorption(hz[0], 5, 30, 101325)-10*Absorption(hz[0], 20, 70, 101325), air[0], 1e-12, "dB")

	_, air = p.value(t, 0, "l_16000hz_db", "air")
	lo := ThirdOctave(42).Lo
	hi := ThirdOctave(42).Hi

	correction := func(hz float64) float64 {
		return 20*Absorption(hz, 5, 30, 101325) - 10*Absorption(hz, 20, 70, 101325)
	}
	assert.LessOrEqual(t, min(correction(lo), correction(hi)), air[0], "correction of a band")
	assert.LessOrEqual(t, air[0], max(correction(lo), correction(hi)), "correction of a band")

	delete(at, "humidity_pct")

	_, _, err = outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
	assert.ErrorContains(t, err, "a condition humidity_pct from 0 to 100")
}

// The unsteady outcomes of a balance are the rms and the power of a band. Expected over 300 simulated runs of white
// noise: both scatter about their true values as predicted. A sine of amplitude 2 has the rms √2. A load that does not
// vary is an error.
func TestUnsteadyLoads(t *testing.T) {
	const (
		rate = 1000.
		runs = 300
	)
	s := DefaultSettings()
	s.Outcomes = []string{"mean", "rms", "bands"}
	s.Output = "power"
	s.Bands = [][]float64{{50, 150}}
	s.Overlap = 0.5
	rng := rand.New(rand.NewPCG(3, 3))

	chi := [2]float64{} // mean squared error of rms and band, in predicted variances
	for range runs {
		x := make([]float64, 2000)
		for i := range x {
			x[i] = 7 + 0.3*rng.NormFloat64()
		}

		r := &Run{RateHz: rate, Samples: 2000, Settings: &s}
		c := Configure(Find("split-halves", Balance), &s).(OfSeries)
		p, err := c.Pairs(r, []Series{{Name: "lift_n", Unit: "N", Values: x}, {Name: "drag_n", Unit: "N", Values: x}})
		require.NoError(t, err)

		var names []string
		for _, o := range p.Outcomes {
			names = append(names, o.Name+" in "+o.Unit)
		}

		p.requireNames(t, OutcomeNames(c, &s, []string{"lift_n", "drag_n"}))

		got := strings.Join(names, ", ")
		require.Equal(t, "lift_n in N, drag_n in N, lift_n_rms in N, lift_n_l_50to150hz_power in "+
			"N², drag_n_rms in N, drag_n_l_50to150hz_power in N²", got)

		y, sd := p.value(t, 0, "lift_n_rms", "sd")

		band, sdBand := p.value(t, 0, "drag_n_l_50to150hz_power", "sd")
		for h := range 2 {
			chi[0] += math.Pow((y[h]-0.3)/sd[h], 2) / (2 * runs)
			d := 10*math.Log10(band[h]/(2*0.09/rate*100)) + sdBand[h]*sdBand[h]/8.686
			chi[1] += math.Pow(d/sdBand[h], 2) / (2 * runs)
		}
	}

	// The standard error is √(2/600) = 0.06. Four times this is allowed.
	assert.InDelta(t, 1, chi[0], 0.25, "rms: χ²/n")
	assert.InDelta(t, 1, chi[1], 0.25, "band: χ²/n")

	s.Outcomes = []string{"rms"}
	c := Configure(Find("repeats", Balance), &s).(OfSeries)

	x := []float64{}
	for i := range 2000 {
		x = append(x, 5+2*math.Sin(2*math.Pi*float64(i)/20))
	}

	p, err := c.Pairs(&Run{RateHz: rate, Settings: &s}, []Series{{Name: "cl", Values: x}})
	require.NoError(t, err)

	y, _ := p.value(t, 0, "cl_rms", "sd")
	assert.Len(t, p.Outcomes, 1)
	assert.InDelta(t, math.Sqrt2, y[0], 1e-9, "rms of the sine")
	assert.Equal(t, y[0], y[1], "both values of a run of repeats")

	still := []Series{{Name: "cl", Values: make([]float64, 500)}}
	_, err = c.Pairs(&Run{RateHz: rate, Settings: &s}, still)
	assert.EqualError(t, err, "cl: expected a load that varies, found 0 throughout")
}

// CheckOutcomes accepts the outcomes that a construction makes. The error about another outcome lists them.
func TestCheckOutcomes(t *testing.T) {
	for _, c := range []struct {
		name     string
		series   bool
		outcomes []string
		want     string
	}{
		{"split-half-spectrum", false, []string{"bands", "overall"}, ""},
		{
			"split-half-spectrum", false,
			[]string{"rms"},
			`outcomes: expected harmonics, bands, overall, broadband of split-half-spectrum, found "rms"`,
		},
		{"repeats", false, []string{"broadband", "broadband"}, "outcomes: broadband is named twice"},
		{"repeats", true, []string{"rms", "mean"}, ""},
		{"repeats", true, []string{"overall"}, `outcomes: expected mean, rms, bands of repeats, found "overall"`},
		{"random-samples", true, []string{"mean"}, "outcomes: random-samples has its own; leave the key out"},
		{"random-samples", true, nil, ""},
		{
			"table", false,
			[]string{"bands"},
			"outcomes: belongs to recordings; the columns of a table are its outcomes",
		},
	} {
		s := DefaultSettings()
		s.Outcomes = c.outcomes
		got := ""
		CheckOutcomes(c.name, c.series, &s, func(key, format string, args ...any) {
			got = key + ": " + fmt.Sprintf(format, args...)
		})

		assert.Equal(t, c.want, got, "%s %v", c.name, c.outcomes)
	}
}
