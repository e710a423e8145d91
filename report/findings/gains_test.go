package findings

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// stepIf returns a step of a level in dB if it is there, and 0 otherwise.
func stepIf(isThere bool, stepDB float64) float64 {
	if isThere {
		return stepDB
	}
	return 0
}

// A channel 6 dB below its neighbours, or 4 dB above them at an end, in every level is named with the number. One bad
// run, one bad outcome, a slope, an arch and a dipole's minimum between two places are not. Levels are closed forms,
// two outcomes of 6 runs.
func TestGains(t *testing.T) {
	for _, c := range []struct {
		name  string
		level func(run, place, outcome int) float64
		want  []string
	}{
		{
			"a gain", func(_, p, _ int) float64 { return stepIf(p == 3, -6) },
			[]string{"channel 4: 6.0 dB below its neighbours in 12 of 12 levels of 6 recordings: its gain? calibration: " +
				"{gain_db: {4: -6.00}} takes it out"},
		},
		{
			"at an end", func(_, p, _ int) float64 { return 2*float64(p) + stepIf(p == 6, 4) },
			[]string{"channel 7: 4.0 dB above its neighbours in 12 of 12 levels of 6 recordings: its gain? calibration: " +
				"{gain_db: {7: 4.00}} takes it out"},
		},
		{"one run", func(r, p, _ int) float64 { return stepIf(p == 3 && r == 2, -6) }, nil},
		{"one outcome", func(_, p, o int) float64 { return stepIf(p == 3 && o == 0, -6) }, nil},
		{"a slope", func(_, p, _ int) float64 { return 5 * float64(p) }, nil},
		{"a dipole", func(_, p, _ int) float64 { return 20 * math.Log10(math.Abs(math.Sin(0.4*(float64(p)-2.5)))) }, nil},
		{"an arch", func(_, p, _ int) float64 { return -float64((p - 3) * (p - 3)) }, nil},
	} {
		var y []float64
		var runs, recordings []string
		for r := range 6 {
			for p := range 7 {
				runs = append(runs, string(rune('a'+r)))
				recordings = append(recordings, fmt.Sprintf("%s.wav#%d", runs[len(runs)-1], p+1))
				y = append(y, 60+float64(r)+c.level(r, p, 0), 50-float64(r*r)+c.level(r, p, 1))
			}
		}

		level := []triplets.Quantity{{Name: "a", Unit: "dB re 20 µPa"}, {Name: "b", Unit: "dB re 20 µPa"}}
		set := triplets.New([]triplets.Quantity{{Name: "x"}}, level, make([]float64, len(runs)), y, y)
		set.SetRuns(runs)
		set.Recording = recordings

		var f Findings
		f.addGains(set)
		assert.Equal(t, c.want, sentences(f), "%s", c.name)
	}
}

// levelsOfRuns returns a set of levels with the given level at each place of nine microphones. Each run is a pair of
// repeats if isPair is set: its names are joined as in tables of triplets.
func levelsOfRuns(runs int, isPair bool, level func(place int) float64) triplets.Set {
	var y []float64
	var names, recordings []string
	for r := range runs {
		for p := range 9 {
			run := fmt.Sprintf("a%d.wav", r)
			recording := fmt.Sprintf("%s#mic%d", run, p+1)
			if isPair {
				run = fmt.Sprintf("%s + b%d.wav", run, r)
				recording = fmt.Sprintf("%s + b%d.wav#mic%d", recording, r, p+1)
			}

			names = append(names, run)
			recordings = append(recordings, recording)
			y = append(y, level(p)+float64(r))
		}
	}

	outcome := []triplets.Quantity{{Name: "a", Unit: "dB re 20 µPa"}}
	set := triplets.New([]triplets.Quantity{{Name: "x"}}, outcome, make([]float64, len(names)), y, y)
	set.SetRuns(names)
	set.Recording = recordings

	return set
}

// gentle returns a level that is 60 and 60.7 dB in turn, so that each level is above both neighbours or below both.
func gentle(place int) float64 { return 60 + 0.7*float64(place%2) }

// One of nine microphones is dead at a time: 40 dB lower. Expected: no gain of a good microphone. The warning
// level-apart names the dead one.
func TestGainsBesideDeadMicrophone(t *testing.T) {
	for dead := range 9 {
		var f Findings
		f.addGains(levelsOfRuns(8, false, func(place int) float64 {
			if place == dead {
				return gentle(place) - 40
			}

			return gentle(place)
		}))
		assert.Empty(t, sentences(f), "microphone %d is dead", dead+1)
	}
}

// Microphone 3 of nine is 6 dB low in eight pairs of repeats. Expected: one warning, and its rows concern the mistake.
func TestGainsOfPairs(t *testing.T) {
	f := Findings{SplitName: func(name string) []string { return strings.Split(name, " + ") }}
	f.addGains(levelsOfRuns(8, true, func(place int) float64 {
		if place == 2 {
			return 54
		}

		return 60
	}))
	assert.Equal(t, []string{"channel mic3: 6.0 dB below its neighbours in 8 of 8 levels of 8 recordings: its gain? " +
		"calibration: {gain_db: {mic3: -6.00}} takes it out"}, sentences(f))

	m := f.ranked()[0]
	assert.True(t, m.concerns([]string{"a", "b"}, f.splitName("a.wav#mic3 + b.wav#mic3")), "a pair of microphone 3")
	assert.False(t, m.concerns([]string{"a", "b"}, f.splitName("a.wav#mic2 + b.wav#mic2")), "a pair of microphone 2")
}

// In eight pairs of repeats, microphone 7 is 4 dB low. The row at place 3 joins two microphones, and is off by some dB.
// Expected: the warning about microphone 7, as with a row at place 3 that is not off; none about the row of two.
func TestGainsBesideRowsOfTwo(t *testing.T) {
	for _, off := range []float64{0, -3, -6, -10, 6, -30} {
		set := levelsOfRuns(8, true, func(place int) float64 {
			switch place {
			case 2:
				return gentle(place) + off
			case 6:
				return gentle(place) - 4
			}

			return gentle(place)
		})
		for i, recording := range set.Recording {
			run, isThird := strings.CutSuffix(recording, "#mic3")
			if isThird {
				first, second, _ := strings.Cut(run, " + ")
				set.Recording[i] = first + "#mic3 + " + second + "#x3"
			}
		}

		f := Findings{SplitName: func(name string) []string { return strings.Split(name, " + ") }}
		f.addGains(set)
		require.Len(t, sentences(f), 1, "%g dB", off)
		assert.Contains(t, sentences(f)[0], "channel mic7: 4", "%g dB", off)
	}
}

// Beside a dead microphone at place 4, microphone 5 is 6 dB low. Expected: its gain is found, because the microphones
// beside the dead one are neighbours of each other. p[5] is not a plain word: the advice has it in quotes.
func TestGainsNextToDeadMicrophone(t *testing.T) {
	set := levelsOfRuns(8, false, func(place int) float64 {
		switch place {
		case 3:
			return 20
		case 4:
			return 54
		}

		return 60
	})
	for i, recording := range set.Recording {
		set.Recording[i] = strings.Replace(recording, "#mic5", "#p[5]", 1)
	}

	var f Findings
	f.addGains(set)
	require.Len(t, sentences(f), 1)
	assert.Contains(t, sentences(f)[0], `channel p[5]: 6.0 dB below its neighbours in 8 of 8 levels of 8 recordings`)
	assert.Contains(t, sentences(f)[0], `calibration: {gain_db: {"p[5]": -6.00}} takes it out`)
}

// Files whose names contain "#", with microphone 3 of nine 6 dB low. Expected: the warning names the microphone.
func TestGainsOfFilesWithHash(t *testing.T) {
	set := levelsOfRuns(8, false, func(place int) float64 {
		if place == 2 {
			return 54
		}

		return 60
	})
	for i := range set.Recording {
		set.Recording[i] = "take#" + set.Recording[i]
	}

	for i := range set.Runs {
		set.Runs[i] = "take#" + set.Runs[i]
	}

	var f Findings
	f.addGains(set)
	require.Len(t, sentences(f), 1)
	assert.Contains(t, sentences(f)[0], "channel mic3: 6.0 dB below")
	assert.True(t, f.ranked()[0].concerns([]string{"take#a0.wav"}, []string{"take#a0.wav#mic3"}))
}
