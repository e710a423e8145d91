package dsp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: the correction K1 by the formula of ISO 3744:2010, 8.2.3, to three decimals. It is infinite for a level
// that is not above the background.
func TestHighDB(t *testing.T) {
	for above, want := range map[float64]float64{
		0.5: 9.636, 1: 6.868, 1.5: 5.345, 2: 4.329, 2.5: 3.589, 3: 3.021, 3.5: 2.570, 4: 2.205,
		4.5: 1.903, 5: 1.651, 6: 1.256, 7: 0.967, 8: 0.749, 9: 0.584, 10: 0.458, 11: 0.359,
		12: 0.283, 13: 0.223, 14: 0.176, 15: 0.140, 17: 0.088, 20: 0.044, 25: 0.014, 30: 0.004,
	} {
		assert.InDelta(t, want, HighDB(above), 0.0005, "%g dB above", above)
	}

	assert.True(t, math.IsInf(HighDB(0), 1), "at the background")
	assert.True(t, math.IsInf(HighDB(-2), 1), "below the background")
}

// By hand, the power 10 without a background of 1 is 9. Its standard deviation of 0.5 dB is 1.151, and the background's
// is 0.1, so that the difference has √(1.151² + 0.1²)/9, relative to 9. A power of less than twice the background
// leaves half of it, as an upper bound.
func TestSubtractPower(t *testing.T) {
	left, isBound := uncertainPower{10, 0.5}.subtract(1, 0.1)
	assert.InDelta(t, 9, left.power, 1e-12)
	assert.InDelta(t, 10/math.Ln10*math.Hypot(10*0.5*math.Ln10/10, 0.1)/9, left.sdDB, 1e-12)
	assert.False(t, isBound)

	left, isBound = uncertainPower{10, 0.5}.subtract(5, 0)
	assert.InDelta(t, 5, left.power, 1e-12, "exactly twice the background")
	assert.False(t, isBound)

	left, isBound = uncertainPower{10, 0.5}.subtract(5.1, 0)
	assert.InDelta(t, 5, left.power, 1e-12, "less than twice the background")
	assert.InDelta(t, 0.5, left.sdDB, 1e-12, "a bound scatters as the level")
	assert.True(t, isBound)
}

// Expected for white noise of the bandwidth B over T seconds: the relative deviation 1/√(B·T), where B is at least the
// 1.5 bins of the Hann window. For two recordings that differ more: the standard error of their mean. Without power: 0.
func TestBackgroundSD(t *testing.T) {
	white := func(density float64) *Background {
		b := &Background{BinHz: 2, Density: make([]float64, 500)}
		for k := range b.Density {
			b.Density[k] = density
		}

		return b
	}

	one := []BackgroundRecording{{"a", 10, white(1)}}
	assert.InDelta(t, 1/math.Sqrt(100*10), backgroundSD(one, 100, 200), 1e-9)
	assert.InDelta(t, 1/math.Sqrt(1.5*2*10), backgroundSD(one, 100, 101), 1e-9, "a part of a bin")

	two := []BackgroundRecording{{"a", 10, white(0.8)}, {"b", 10, white(1.2)}}
	assert.InDelta(t, 0.2, backgroundSD(two, 100, 200), 1e-9, "standard error of the mean of 0.8 and 1.2")

	silent := []BackgroundRecording{{"a", 10, white(0)}}
	assert.Zero(t, backgroundSD(silent, 100, 200))
}

// level is an outcome of both halves, with its standard deviations in dB and its bounds.
type level struct{ y, sd, bound [2]float64 }

// Values of subtract, a parameter of levelsOver.
const (
	keepBackground     = false
	subtractBackground = true
)

// levelsOver analyses the sound at a microphone near a rotor, and returns its levels by the names of the outcomes. A
// nil background is not known.
func levelsOver(t *testing.T, heard memory, rate float64, background *Background, subtract bool) (
	levels map[string]level, p *Pairs,
) {
	t.Helper()
	s := DefaultSettings()
	s.Outcomes = []string{"harmonics", "bands", "overall"}
	s.BandsHz = []float64{500, 2000}
	s.Harmonics = 2
	s.Speed = "nominal"
	r := &Run{RateHz: rate, Samples: int64(len(heard[0])), Settings: &s, Subtract: subtract, Microphones: []Microphone{{
		Scale: 1, Unit: "Pa", Conditions: map[string]float64{"rpm": 6000, "blades": 2},
	}}}
	if background != nil {
		r.Microphones[0].Background = []BackgroundRecording{{"quiet.wav", 60, background}}
	}

	p = pairsOf(t, "split-half-spectrum", heard, r)
	levels = map[string]level{}
	for k, outcome := range p.Outcomes {
		value := p.Rows[0].Values[k]
		l := level{y: value.Y}
		for i, b := range outcome.ByProducts {
			switch b.Suffix {
			case sufSD:
				l.sd = value.ByProducts[i]
			case sufBound:
				l.bound = value.ByProducts[i]
			}
		}

		levels[outcome.Name] = l
	}

	return levels, p
}

// pairsOf returns the pairs that a construction makes from a run.
func pairsOf(t *testing.T, construction string, heard memory, r *Run) *Pairs {
	t.Helper()
	c := Find(construction, Microphones).(OfSpectra)
	load, err := c.Spectra(r)
	require.NoError(t, err)

	a := NewAnalyser()
	require.NoError(t, a.Load(t.Context(), heard, load))

	p, err := c.Pairs(t.Context(), heard, r, a)
	require.NoError(t, err)

	return p
}

// With the construction "repeats" a run has one value of each level, which stands for both halves until runs are
// paired. Expected: its level, and its flag about a tone of the background, count once. With two halves they count
// twice.
func TestLevelsOfRepeatsCountOnce(t *testing.T) {
	const rate = 16384.0
	n := int(rate * 8)
	heard := tones(rate, 200, 0.1, 0.02, n, steady)
	background := &Background{
		BinHz: 1, Density: slices.Repeat([]float64{1e-3}, 8192), Tones: []Tone{{Hz: 200, MeanSquare: 0.004}},
	}
	s := DefaultSettings()
	s.Harmonics = 1
	s.Speed = "nominal"
	r := &Run{RateHz: rate, Samples: int64(n), Settings: &s, Microphones: []Microphone{{
		Scale: 1, Unit: "Pa", Conditions: map[string]float64{"rpm": 6000, "blades": 2},
		Background: []BackgroundRecording{{"quiet.wav", 60, background}},
	}}}

	flags := func(p *Pairs) (texts []string) {
		for _, f := range p.Flags {
			if f.Code == "background-tone" {
				texts = append(texts, f.Text)
			}
		}

		return texts
	}

	halves := pairsOf(t, "split-half-spectrum", heard, r)
	assert.Equal(t, 2, halves.Levels)
	require.Len(t, flags(halves), 2)
	assert.Contains(t, flags(halves)[0], "harmonic 1 at 200 Hz, first half has a tone")
	assert.Contains(t, flags(halves)[1], "harmonic 1 at 200 Hz, second half has a tone")

	repeats := pairsOf(t, "repeats", heard, r)
	assert.Equal(t, 1, repeats.Levels)
	require.Len(t, flags(repeats), 1)
	assert.Contains(t, flags(repeats)[0], "harmonic 1 at 200 Hz has a tone", "the flag names neither a half nor a run")
}

// A source and a room are simulated. Expected: if the background of the room is subtracted, the levels are the levels
// of the source alone, within three of the standard deviations that the outcomes state. If it is not subtracted, the
// level of a band is too high by the correction K1. If the background is four times as strong, the level is an upper
// bound, from which 3 dB were subtracted.
func TestSubtractBackground(t *testing.T) {
	const rate, seconds = 16384.0, 20
	n := int(rate * seconds)
	source := tones(rate, 200, 0.1, 0.02, n, steady) // 6000 rpm of 2 blades: 200 Hz
	room := memory{make([]float64, n)}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range room[0] {
		room[0][i] = 0.015 * random.NormFloat64()
	}

	sum := make([]float64, n)
	for i := range sum {
		sum[i] = source[0][i] + room[0][i]
	}

	background, err := MeasureBackground(t.Context(), room, 0, 0, int64(n), rate)
	require.NoError(t, err)

	own, _ := levelsOver(t, source, rate, nil, keepBackground)
	high, _ := levelsOver(t, memory{sum}, rate, background, keepBackground)
	clean, p := levelsOver(t, memory{sum}, rate, background, subtractBackground)
	const band = "l_1000hz_db"
	k1 := 10 * math.Log10(1+0.015*0.015/(0.02*0.02))
	for h := range 2 {
		assert.InDelta(t, k1, high[band].y[h]-own[band].y[h], 0.5, "not subtracted, the band reads high")
		for name := range own {
			assert.InDelta(t, own[name].y[h], clean[name].y[h], 3*clean[name].sd[h]+0.01, "%s, subtracted", name)
			assert.GreaterOrEqual(t, clean[name].sd[h], own[name].sd[h]*0.9, "%s: subtraction adds uncertainty", name)
		}

		assert.Zero(t, clean[band].bound[h], "%s is 4 dB above the background", band)
	}

	for k := range background.Density {
		background.Density[k] *= 4
	}

	loud, p2 := levelsOver(t, memory{sum}, rate, background, subtractBackground)
	assert.Equal(t, [2]float64{1, 1}, loud[band].bound, "less than 3 dB above the background")
	assert.InDelta(t, high[band].y[0]-10*math.Log10(2), loud[band].y[0], 1e-9, "3 dB are subtracted")
	assert.Greater(t, p2.Bounds, p.Bounds, "bounds are counted")
}
