package analysis

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// The note about a run has its counts. A flag names its channel if the run has several.
func TestRunNote(t *testing.T) {
	p := &dsp.Pairs{
		Flags: []dsp.Flag{{Channel: -1, Text: "whole"}, {Channel: 1, Text: "one"}}, Levels: 4, Bounds: 2,
		Near: 1, Dropped: 3,
	}

	var n RunNote
	n.add(p, []string{"channel a", "channel b"})

	want := RunNote{
		Flags:  []dsp.Flag{{Channel: -1, Text: "whole"}, {Channel: 1, Text: "channel b: one"}},
		Levels: 4, Bounds: 2, Near: 1, Dropped: 3,
	}
	assert.Equal(t, want, n)

	var single RunNote
	single.add(&dsp.Pairs{Flags: []dsp.Flag{{Channel: 0, Text: "one"}}}, []string{"channel a"})

	assert.Equal(t, "one", single.Flags[0].Text)
}

// The condition that the analysis finds is 60 times the mean of the halves' speeds, which are in revolutions per
// second. A condition that is derived from it follows. Without a measured speed the conditions stay as they are.
func TestWithSpeed(t *testing.T) {
	given := map[string]float64{"blades": 2}
	rec := ingest.Recording{Conditions: given}

	source := &Source{DSP: &dsp.Settings{}}
	source.Settings = &setting.Campaign{}
	rows := NewRows(source)
	got, err := rows.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"blades": 2}, got, "nothing measures the speed")

	source.DSP.Track = &dsp.Track{RangeHz: []float64{40, 60}}
	got, err = rows.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"blades": 2, "rpm_tracked": 3060}, got)
	assert.Equal(t, map[string]float64{"blades": 2}, given, "the given conditions are unchanged")

	source.Derive = speedSquare(t)
	got, err = rows.withSpeed(rec, [2]float64{0.5, 0.5})
	require.NoError(t, err)
	assert.Equal(t, 900.0, got["square"], "30 a minute, squared")

	source.Settings.Tachometer = &setting.Tachometer{}
	got, err = rows.withSpeed(rec, [2]float64{50, 52})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"blades": 2, "rpm_measured": 3060}, got)

	got, err = rows.withSpeed(rec, [2]float64{})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"blades": 2}, got, "no speed was found")
}

// A construction that takes neither spectra nor series gives an error instead of no rows.
func TestUnknownConstruction(t *testing.T) {
	source := &Source{Construction: struct{ dsp.Construction }{}}
	source.Settings = &setting.Campaign{}

	err := NewRows(source).addRun(t.Context(), recording.Run{}, &RunNote{}, &FileNotes{})
	require.EqualError(t, err,
		"expected a construction of spectra or of series, found a struct { dsp.Construction }")
}

// speedSquare derives a condition from one that is found in the sound.
func speedSquare(t *testing.T) *derive.Set {
	t.Helper()

	square := []derive.Definition{{Name: "square", Text: "rpm_tracked^2"}}
	set, err := derive.New(square, nil, []string{"rpm_tracked"}, nil, nil)
	require.NoError(t, err)

	return set
}

// The error for no triplet names the reasons of the first files.
func TestNothingLeft(t *testing.T) {
	for n, want := range map[int]string{
		0: "every recording was dropped", 1: "the one file was left out: bad",
		2: "2 files were left out: bad; bad", 7: "7 files were left out: bad; bad; bad; bad; bad; and 2 more",
	} {
		skipped := FileNotes{Skipped: &recording.Skipped{Reason: "bad"}}
		notes := append(slices.Repeat([]FileNotes{skipped}, n), FileNotes{})
		assert.Equal(t, want, NothingLeft(notes), "%d files", n)
	}
}
