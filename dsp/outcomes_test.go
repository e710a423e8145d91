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

// outcomesOf runs a construction on the channels of src, in Pa, at conditions.
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
		p.named(t, OutcomeNames(c, &s, nil))
	}

	return p, outcomesAnalyser, err
}

// named checks that the outcomes are among those foretold without any data.
func (p *Pairs) named(t testing.TB, foretold []string) {
	t.Helper()

	for _, o := range p.Outcomes {
		assert.Contains(t, foretold, o.Name)
	}
}

// outcomesAnalyser keeps its plans from one recording to the next.
var outcomesAnalyser = NewAnalyser()

// value returns the pair of an outcome and its by-product of that suffix.
func (p *Pairs) value(t testing.TB, row int, name, suffix string) (y, by [2]float64) {
	t.Helper()

	for k, o := range p.Outcomes {
		if o.Name != name {
			continue
		}

		for i, b := range o.ByProducts {
			if b.Suffix == suffix {
				by = p.Rows[row].Values[k].ByProducts[i]
			}
		}

		return p.Rows[row].Values[k].Y, by
	}

	t.Fatalf("no outcome %s", name)

	return
}

// Expected values: scipy's narrow-band density, integrated from edge to edge
// (testdata/make_windows.py), to 1e-9. The same numbers come through the
// construction, from the first half under 50 % overlap.
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

// Expected values: IEC 61260-1:2014, annex E: mid-frequencies of octaves and
// thirds, and its rule of three and two digits for narrower bands.
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
		{6, -1, 944 - 4},
		{6, 5, 1880},
		{12, 0, 1030},
		{12, 11, 1940},
		{12, -1, 970},
	} {
		assert.Equal(t, c.hz, nominalHz(c.per, c.x), "1/%d octave, band %d: Hz", c.per, c.x)
	}

	seen := map[float64]bool{}
	for x := -84; x <= 120; x++ {
		if hz := nominalHz(12, x); seen[hz] {
			t.Errorf("%g Hz is the name of two bands", hz)
		} else {
			seen[hz] = true
		}
	}
}

// Expected: χ². 1,000 simulated recordings of white noise of known density: the
// level of every band has the mean of the density times the width (less sd²/8.7 dB,
// the mean of a logarithm), and the predicted deviation. The levels' squared
// distances from the mean over the predicted variance sum to a χ² of as many degrees
// of freedom n, with the standard deviation √(2n): each band is within 4 of these.
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

// Expected: the definition. A pure tone in the bin that an edge cuts is shared by
// the widths of the bin's parts, and its own bands' powers sum to a²/2.
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
	first, _ := p.value(t, 0, "l_500to1005hz_power", "sd")

	second, _ := p.value(t, 0, "l_1005to2000hz_power", "sd")
	for h := range 2 {
		require.InDelta(t, full*(0.25+0.75), first[h], 1e-12,
			"half %d: %g and %g, want %g and %g", h+1, first[h], second[h], full*1, full*0.5)
		assert.InDelta(t, full*(0.25+0.25), second[h], 1e-12,
			"half %d: %g and %g, want %g and %g", h+1, first[h], second[h], full*1, full*0.5)
	}
}

// Expected values: IEC 61672-1:2013, table 3: A and C at the 34 nominal frequencies
// from 10 Hz to 20 kHz, to 0.1 dB. The exact frequencies are 1000·10^(n/10).
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

// rotorSound is white noise of unit deviation with lines of that amplitude at
// multiples of shaft.
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

// Expected: total = tonal + broadband in power to rounding. Over 100 recordings the
// broadband level is the level of the noise, and the tonal level the level of the
// lines, each within the predicted deviation. If there are no lines, the tonal level
// is an upper bound, below the noise.
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

	noise := 2 / rate * 3940

	var db, square [2]float64 // of broadband and tonal over their predictions
	for i := range recordings {
		x := rotorSound(4*10_240, rate, shaft, lines, uint64(i))
		p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
		require.NoError(t, err)

		total, _ := p.value(t, 0, "oaspl_power", "sd")
		broad, sdB := p.value(t, 0, "broadband_power", "sd")
		tonal, sdT := p.value(t, 0, "tonal_power", "sd")

		_, bound := p.value(t, 0, "tonal_power", "bound")
		for h := range 2 {
			assert.InDelta(t, 1.0, total[h]/(broad[h]+tonal[h]), 1e-12, "total")
			assert.InDelta(t, 0.0, bound[h], 0, "total")

			for k, d := range []float64{10 * math.Log10(broad[h]/noise) / sdB[h], 10 * math.Log10(tonal[h]/tones) / sdT[h]} {
				db[k] += d / float64(2*recordings)
				square[k] += d * d / float64(2*recordings)
			}
		}
	}

	t.Logf("broadband and tonal: mean %.3f, mean square %.3f of the prediction", db, square)

	for k, name := range []string{"broadband", "tonal"} {
		require.InDelta(t, 0, db[k], 0.5, "%s: mean, in predicted deviations", name)
		require.LessOrEqual(t, square[k], 1.5, "%s: mean square, in squared predicted deviations", name)
		assert.GreaterOrEqual(t, square[k], 0.6, "%s: mean square, in squared predicted deviations", name)
	}

	s.Speed = "nominal"
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{rotorSound(4*10_240, rate, shaft, nil, 1)}, s, rate, at)
	require.NoError(t, err)

	broad, sd := p.value(t, 0, "broadband_power", "sd")

	tonal, bound := p.value(t, 0, "tonal_power", "bound")
	d := 10 * math.Log10(broad[0]/noise)
	assert.InDelta(t, 0, d, 4*sd[0], "dB, broadband without lines")
	assert.Equal(t, [2]float64{1, 1}, bound, "the power of no lines is a bound")
	assert.Greater(t, tonal[0], 0.0)
	assert.Less(t, tonal[0], 0.1*noise)

	assert.Equal(t, 2, p.Bounds, "bounds")
}

// Expected: bands in shaft orders follow the speed of the run: the second order's
// line of amplitude a has a²/2, and the noise of the band's width.
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
	want := 4.5 + 2/rate*shaft
	assert.InDelta(t, 0, 10*math.Log10(y[0]/want), 4*sd[0])

	require.Equal(t, "bpf1_power", p.Outcomes[0].Name, "%d outcomes", len(p.Outcomes))
	assert.Len(t, p.Outcomes, 3, "%d outcomes", len(p.Outcomes))

	d := Configure(Find("split-half-spectrum", Microphones), &s).Describe()
	require.True(t, d.Shaft, "%+v", d)
	assert.Contains(t, d.Doc, "levels of bands", "%+v", d)

	s.BandsUnit = ""
	s.Outcomes = []string{"bands", "overall"}
	d = Configure(Find("split-half-spectrum", Microphones), &s).Describe()
	assert.False(t, d.Shaft)
	assert.NotContains(t, d.Settings, "track")
}

// With repeats both halves are one estimate: the mean of their powers, of twice the
// averages.
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
		require.InDelta(t, (h.Y[0]+h.Y[1])/2, v.Y[0], 1e-12, "%s: %g of %g", both.Outcomes[k].Name, v.Y, h.Y)
		assert.Equal(t, v.Y[1], v.Y[0], "%s: %g of %g", both.Outcomes[k].Name, v.Y, h.Y)

		sd := v.ByProducts[0][0] * math.Sqrt2
		assert.InDelta(t, 1.0, sd/h.ByProducts[0][0], 0.5, "%s", both.Outcomes[k].Name)
		assert.InDelta(t, 16.0, v.ByProducts[1][0], 0, "%s", both.Outcomes[k].Name)
	}
}

// Expected values: attenuation in dB/km at 101.325 kPa, in octaves from 63 Hz on:
// ISO 9613-1:1993, table 1, of three digits, and ISO 9613-2:1996, table 2, its
// excerpt of six atmospheres rounded to 0.1 dB/km.
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

// Expected: the correction to another atmosphere is the difference of the
// absorptions, with a distance on the two paths, recorded with each outcome and
// contained in its level. Without the conditions it is refused.
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

	of := func(hz float64) float64 { return 20*Absorption(hz, 5, 30, 101325) - 10*Absorption(hz, 20, 70, 101325) }
	require.LessOrEqual(t, min(of(lo), of(hi)), air[0], "band")
	assert.LessOrEqual(t, air[0], max(of(lo), of(hi)), "band")

	delete(at, "humidity_pct")

	_, _, err = outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, at)
	assert.ErrorContains(t, err, "a condition humidity_pct from 0 to 100")
}

// Expected: an rms of a·/√2 of a sine, its predicted deviation in noise over 300
// simulated runs, and the band's power of the same definition as of sound.
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

	chi := [2]float64{}
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

		p.named(t, OutcomeNames(c, &s, []string{"lift_n", "drag_n"}))

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

	for k, v := range chi { // standard error √(2/600) = 0.06
		assert.InDelta(t, 1, v, 0.25, "%s: χ²/n", []string{"rms", "band"}[k])
	}

	s.Outcomes = []string{"rms"}
	c := Configure(Find("repeats", Balance), &s).(OfSeries)

	x := []float64{}
	for i := range 2000 {
		x = append(x, 5+2*math.Sin(2*math.Pi*float64(i)/20))
	}

	p, err := c.Pairs(&Run{RateHz: rate, Settings: &s}, []Series{{Name: "cl", Values: x}})
	require.NoError(t, err)

	y, _ := p.value(t, 0, "cl_rms", "sd")
	require.Len(t, p.Outcomes, 1, "%g", y)
	require.InDelta(t, math.Sqrt2, y[0], 1e-9, "%g", y)
	assert.InDelta(t, y[1], y[0], 0, "%g", y)

	still := []Series{{Name: "cl", Values: make([]float64, 500)}}
	_, err = c.Pairs(&Run{RateHz: rate, Settings: &s}, still)
	assert.EqualError(t, err, "cl: expected a load that varies, found 0 throughout")
}

// Expected texts: what each construction can make.
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
