package analysis

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
)

// saw is a source of one channel that repeats 0 … 6.
type saw struct{}

func (saw) Read(_ []int, start int64, dst [][]float64) (int, error) {
	for i := range dst {
		for k := range dst[i] {
			dst[i][k] = float64((start + int64(k)) % 7)
		}
	}

	return len(dst[0]), io.EOF
}

// A Kept gives its spectra only to a caller that asks for equal segments. It gives its analyser back at most once.
func TestKeptSpectra(t *testing.T) {
	segments := func(change func(r *dsp.Run)) *dsp.Segments {
		settings := dsp.DefaultSettings()
		r := &dsp.Run{
			RateHz: 1000, Samples: 8192, Settings: &settings,
			Microphones: []dsp.Microphone{{Scale: 1, Conditions: map[string]float64{"blades": 2, "rps": 20}}},
		}
		change(r)

		s, err := dsp.Find("split-half-spectrum", dsp.Microphones).(dsp.OfSpectra).Spectra(r)
		require.NoError(t, err)

		return s
	}

	s := segments(func(*dsp.Run) {})

	r := NewKept()
	assert.Nil(t, r.Spectra(s), "spectra of nothing")

	a := BorrowAnalyser()
	require.NoError(t, a.Load(context.Background(), saw{}, s))

	r.SetSpectra(a)

	assert.Same(t, a, r.Spectra(s), "spectra")

	for name, change := range map[string]func(*dsp.Run){
		"interval": func(r *dsp.Run) { r.Samples = 8000 },
		"channels": func(r *dsp.Run) { r.Microphones[0].Channel = 1 },
		"scale":    func(r *dsp.Run) { r.Microphones[0].Scale = 2 },
		"segments": func(r *dsp.Run) { r.Settings.Segments = 4 },
		"bins":     func(r *dsp.Run) { r.Settings.Harmonics = 6 },
	} {
		assert.Nil(t, r.Spectra(segments(change)), "other %s: the same spectra", name)
	}

	r.Free()

	assert.Nil(t, r.Spectra(s), "the Kept holds an analyser that it gave back")

	r.Free()

	if first, second := BorrowAnalyser(), BorrowAnalyser(); first == second {
		t.Error("the analyser was given back twice")
	}

	var none *Kept
	none.Free()
	none.SetSeries("a", [][]float64{{1}})

	require.Nil(t, none.Spectra(s), "a nil Kept holds something")
	assert.Empty(t, none.Series("a"), "a nil Kept holds something")
}

// Series are found by run, up to maxKept samples.
func TestKeptSeries(t *testing.T) {
	r := NewKept()
	x := [][]float64{{1, 2}, {3, 4}}
	r.SetSeries("a", x)

	series := r.Series("a")
	require.Equal(t, x, series)
	assert.Same(t, &x[0][0], &series[0][0], "the series must not be copied")

	assert.Empty(t, r.Series("b"), "another run's series")

	r.SetSeries("none", nil)
	r.SetSeries("long", [][]float64{make([]float64, maxKept)})

	assert.Empty(t, r.Series("long"), "more than maxKept samples are held")

	r.Free() // nothing to give back
}
