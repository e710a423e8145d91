package predict

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// A record is printed beside a condition only if its values are of the class of the condition, and at least as far from
// the training conditions. The groups are b = 0, 1, 2 and 4, and b = 3 is held out, between two groups: it shows the
// error between groups. Of the left-out groups, 0 and 4 lay outside the others, at distances of 2·1/4 and 2·2/4 of the
// range of all groups. No group and no held-out value shows the error at an a outside its range.
func TestRecordOfTheClass(t *testing.T) {
	m := opened(t, split(t))
	const noRecordLine = "no record: no held-out value"
	for _, c := range []struct {
		name, at string
		record   string // in both rows
		says     bool   // whether a line says that there is no record
	}{
		{"the held-out value", "a=1,b=3", "b = 3: error", false},
		{"nearer than it", "a=1,b=2.5", "b = 3: error", false},
		{"between other groups", "a=1,b=0.5", "b = 3: error", false},
		{"outside, as two groups were", "a=1,b=4.5", "left-out groups beyond others: 2 of 2 covered", false},
		{"outside, as one group was", "a=1,b=5.8", "left-out groups beyond others: 1 of 1 covered", false},
		{"outside, farther than any group", "a=1,b=7", "none", true},
		{"outside in another direction", "a=9,b=3", "none", true},
		{"measured", "a=1,b=2", "left out:", false},
	} {
		x, things, err := m.ParseAt(c.at)
		require.NoError(t, err)

		answer, err := m.Answer(context.Background(), x, Options{Extrapolate: true, Things: things})
		require.NoError(t, err)

		var text strings.Builder
		require.NoError(t, answer.Table(&text))

		rows := 0
		for line := range strings.Lines(text.String()) {
			if strings.HasPrefix(line, "lift") || strings.HasPrefix(line, "drag") {
				assert.Contains(t, line, c.record, "%s: %s", c.name, c.at)
				rows++
			}
		}

		assert.Equal(t, 2, rows, "%s: rows of outcomes", c.name)
		assert.Equal(t, c.says, strings.Contains(text.String(), noRecordLine), "%s: %s", c.name, &text)
	}
}

// The legend explains the distance if, and only if, the words of a position state one. Expected: a distance if b lies
// between the measured groups 0, 1, 2 and 4 or beyond them, and none if b is one of them.
func TestLegendOfDistances(t *testing.T) {
	m := opened(t, split(t))
	for _, c := range []struct {
		at   string
		want bool
	}{
		{"a=1,b=3", true},
		{"a=1,b=4.5", true},
		{"a=1,b=-1", true},
		{"a=9,b=3", true},
		{"a=1,b=2", false},
		{"a=9,b=2", false},
		{"a=0.9,b=1", false},
	} {
		x, things, err := m.ParseAt(c.at)
		require.NoError(t, err)

		answer, err := m.Answer(context.Background(), x, Options{Extrapolate: true, Things: things})
		require.NoError(t, err)

		var text strings.Builder
		require.NoError(t, answer.Table(&text))

		assert.Equal(t, c.want, strings.Contains(text.String(), "(distance "), "%s: words of the position", c.at)
		assert.Equal(t, c.want, strings.Contains(text.String(), " Distance: "), "%s: legend", c.at)
	}
}

// A missing table of the held-out conditions leaves them unknown. A damaged table is an error that names it, unless the
// split has no calibrated model: the table is then of no use, and is not read.
func TestHeldOutTable(t *testing.T) {
	damaged := []byte("not a table")
	for _, c := range []struct {
		name     string
		table    []byte // nil: the table is removed
		hasModel bool
		want     string // of the error; "": none
	}{
		{"missing", nil, true, ""},
		{"damaged", damaged, true, heldOutFile},
		{"damaged, without a calibrated model", damaged, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "splits", "b3")
			require.NoError(t, os.CopyFS(dir, os.DirFS(split(t))))
			require.NoError(t, os.Remove(filepath.Join(dir, heldOutFile)))
			if c.table != nil {
				require.NoError(t, os.WriteFile(filepath.Join(dir, heldOutFile), c.table, 0o600))
			}

			if !c.hasModel {
				require.NoError(t, os.Remove(filepath.Join(dir, honest.File)))
			}

			m, err := Open(dir, nil)
			if c.want != "" {
				require.ErrorContains(t, err, filepath.Join(dir, c.want))
				return
			}

			require.NoError(t, err)
			for _, part := range m.tests {
				assert.Nil(t, part.places, "places of the held-out conditions")
			}
		})
	}
}

// Held-out values show the error at conditions of their class and up to their distance. Beyond the range of an input
// that is not a function of the group, they show it only between the held-out values of this input.
func TestHeldOutPartShows(t *testing.T) {
	placeOf := func(class interval.Class, distance float64, uncalibrated ...int) place {
		return place{class, interval.Where{Distance: distance, Uncalibrated: uncalibrated}}
	}
	between := heldOutPart{x: []float64{1, 3}, places: []place{placeOf(interval.NewValue, 0.25)}}
	beyond := heldOutPart{
		x:      []float64{8, 3, 9, 3},
		places: []place{placeOf(interval.Outside, 0.25, 0), placeOf(interval.Outside, 0.25, 0)},
	}
	unknown := heldOutPart{}
	x := []float64{8.5, 3}

	assert.True(t, between.shows(x, placeOf(interval.NewValue, 0.25)), "as far")
	assert.True(t, between.shows(x, placeOf(interval.NewValue, 0.1)), "nearer")
	assert.False(t, between.shows(x, placeOf(interval.NewValue, 0.3)), "farther")
	assert.False(t, between.shows(x, placeOf(interval.Outside, 0.1)), "another class")
	assert.True(t, beyond.shows(x, placeOf(interval.Outside, 0.25, 0)), "between held-out values beyond the range")
	assert.False(t, beyond.shows([]float64{9.5, 3}, placeOf(interval.Outside, 0.25, 0)), "beyond them")
	assert.False(t, beyond.shows(x, placeOf(interval.Outside, 0.25)), "in the direction of the groups")
	assert.False(t, unknown.shows(x, placeOf(interval.NewValue, 0.1)), "conditions that are not known")
}
