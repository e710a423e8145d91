package dsp

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Both outcomes of a pair come from one run, except in the construction that pairs repeats.
func TestPairKind(t *testing.T) {
	assert.Equal(t, "same-run", Find("split-halves", Balance).Describe().PairKind())
	assert.Equal(t, "repeat-run", Find("repeats", Balance).Describe().PairKind())
	assert.Equal(t, "repeat-run", Find("repeats", Microphones).Describe().PairKind())
}

// Every construction has a name by which Find returns it, and describes itself by settings that exist. It takes either
// spectra or series. The default settings pass all checks, and each outcome of microphones is one that
// split-half-spectrum makes.
func TestConstructions(t *testing.T) {
	var keys []string

	st := reflect.TypeFor[Settings]()
	for i := range st.NumField() {
		keys = append(keys, st.Field(i).Tag.Get("key"))
	}

	s := DefaultSettings()
	CheckSettings(&s, func(key, format string, args ...any) {
		t.Errorf("the default of %s is refused: "+format, append([]any{key}, args...)...)
	})

	for _, c := range constructions {
		d := c.Describe()

		_, series := c.(OfSeries)
		_, spectra := c.(OfSpectra)
		assert.NotEqual(t, series, spectra)

		instrument := Microphones
		if series {
			instrument = Balance
		}

		require.Equal(t, c, Find(d.Name, instrument), "%s: %+v", d.Name, d)
		require.NotEmpty(t, d.Name, "%s: %+v", d.Name, d)
		assert.True(t, strings.HasPrefix(d.Doc, "y1 and y2 "), "%s: %+v", d.Name, d)

		for _, k := range d.Settings {
			assert.Contains(t, keys, k, "%s reads", d.Name)
		}
	}

	for _, name := range Outcomes()[:len(spectralOutcomes)] {
		s.Outcomes = []string{name}
		CheckOutcomes("split-half-spectrum", Microphones, &s, func(key, format string, args ...any) {
			t.Errorf("%s is refused: "+format, append([]any{name}, args...)...)
		})

		for _, k := range Configure(Find("split-half-spectrum", Microphones), &s).Describe().Settings {
			assert.Contains(t, keys, k, "outcome %s reads", name)
		}
	}

	assert.Nil(t, Find("none", Balance), "a name of no construction")
	assert.NotNil(t, Find("split-halves", Microphones))
}

// Another program can register an outcome or a construction by a name that is not taken yet. The version of the outcome
// becomes part of the construction's version. An outcome whose value is not finite or missing is an error that names
// the half.
func TestRegister(t *testing.T) {
	defer func(all []spectralOutcome, c []Construction) {
		spectralOutcomes = all
		constructions = c
	}(slices.Clone(spectralOutcomes), slices.Clone(constructions))

	peak := SpectralOutcome{
		Name: "largest", Column: "largest_hz", Unit: "Hz", Description: "frequency of the largest bin", Version: 2,
		Value: func(HalfSpectrum) (float64, error) { return math.NaN(), nil },
	}
	require.NoError(t, RegisterOutcomes(peak))

	s := DefaultSettings()
	before := Configure(Find("split-half-spectrum", Microphones), &s).Describe().Version
	s.Outcomes = []string{"largest"}
	d := Configure(Find("split-half-spectrum", Microphones), &s).Describe()
	assert.Contains(t, Outcomes(), "largest")
	assert.Equal(t, before+2000, d.Version)
	assert.Contains(t, d.Doc, peak.Description)

	m := &sound{mic: &Microphone{Channel: 1}, power: [2][]float64{{1}, {1}}}
	assert.ErrorContains(t, ownOutcome{&peak}.add(m), "channel 2, first half")

	failing := peak
	failing.Value = func(HalfSpectrum) (float64, error) { return 0, errors.New("no line") }
	assert.ErrorContains(t, ownOutcome{&failing}.add(m), "outcome largest, channel 2, first half: no line")

	known := peak
	none := peak
	known.Name = "overall"
	none.Value = nil
	for _, o := range []SpectralOutcome{peak, known, none} {
		assert.ErrorContains(t, RegisterOutcomes(o), "register outcome")
	}

	assert.ErrorContains(t, RegisterConstructions(splitHalves{}), "split-halves")

	own := halfSpectra{name: "split-half-own", standard: "largest", version: 1}
	err := RegisterConstructions(own)
	require.NoError(t, err)
	assert.NotNil(t, Find("split-half-own", Microphones))
}

// Expected: 1 Pa is 20·log10(1/20e-6) = 93.979 dB re 20 µPa. A full-scale sine has the mean square ½ and reads 0
// dBFS (AES17). At twice the distance the level is 20·log10(2) = 6.0206 dB lower.
func TestReference(t *testing.T) {
	for _, c := range []struct {
		unit, level    string
		meanSquare, db float64
	}{
		{"Pa", "dB re 20 µPa", 1, 93.97940008672037},
		{"full-scale", "dBFS", 0.5, 0},
		{"V", "dB re 1 V", 100, 20},
	} {
		ref, unit := Reference(c.unit)
		assert.Equal(t, c.level, unit, "%s", c.unit)
		assert.InDelta(t, c.db, LevelDB(c.meanSquare, ref), 1e-12, "%s", c.unit)
	}

	assert.InDelta(t, -6.020599913279624, DistanceDB(1, 2), 1e-12, "from 1 m to 2 m")
}

// A sound pressure of 1 Pa has a level of 94 dB.
func ExampleReference() {
	rms, unit := Reference("Pa")
	fmt.Printf("%.1f %s\n", LevelDB(1, rms), unit)
	// Output: 94.0 dB re 20 µPa
}

// Two outcomes of one column would fill the column twice.
func TestRegisterColumnTwice(t *testing.T) {
	defer func(all []spectralOutcome) { spectralOutcomes = all }(slices.Clone(spectralOutcomes))

	one := SpectralOutcome{
		Name: "largest", Column: "largest_hz", Value: func(HalfSpectrum) (float64, error) { return 1, nil },
	}
	other := one
	other.Name = "strongest"
	err := RegisterOutcomes(one, other)
	assert.EqualError(t, err, `register outcome "strongest": another outcome has the column largest_hz`)
}

// A band that is named twice would have two columns of one name.
func TestBandNamedTwice(t *testing.T) {
	s := DefaultSettings()
	s.Bands = [][]float64{{100, 200}, {200, 400}, {100, 200}}

	var faults []string
	CheckSettings(&s, func(key, format string, args ...any) {
		faults = append(faults, key+": "+fmt.Sprintf(format, args...))
	})
	assert.Equal(t, []string{"bands: [100 200] is named twice"}, faults)
}

// CheckOutcomes accepts the outcomes that a construction makes. The error about another outcome lists them.
func TestCheckOutcomes(t *testing.T) {
	for _, c := range []struct {
		name       string
		instrument Instrument
		outcomes   []string
		want       string
	}{
		{"split-half-spectrum", Microphones, []string{"bands", "overall"}, ""},
		{
			"split-half-spectrum", Microphones,
			[]string{"rms"},
			`outcomes: expected harmonics, bands, overall, broadband of split-half-spectrum, found "rms"`,
		},
		{"repeats", Microphones, []string{"broadband", "broadband"}, "outcomes: broadband is named twice"},
		{"repeats", Balance, []string{"rms", "mean"}, ""},
		{"repeats", Balance, []string{"overall"}, `outcomes: expected mean, rms, bands of repeats, found "overall"`},
		{"random-samples", Balance, []string{"mean"}, "outcomes: random-samples has its own; leave the key out"},
		{"random-samples", Balance, nil, ""},
		{
			"table", Microphones,
			[]string{"bands"},
			"outcomes: belongs to recordings; the columns of a table are its outcomes",
		},
	} {
		s := DefaultSettings()
		s.Outcomes = c.outcomes
		got := ""
		CheckOutcomes(c.name, c.instrument, &s, func(key, format string, args ...any) {
			got = key + ": " + fmt.Sprintf(format, args...)
		})

		assert.Equal(t, c.want, got, "%s %v", c.name, c.outcomes)
	}
}
