package dsp

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// loadOutcomeNames lists the outcomes of a balance's run (docs/method.md#unsteady-loads).
var loadOutcomeNames = []string{"mean", "rms", "bands"}

// unsteadyKeys lists the keys of the settings that a balance's run reads if Settings.Outcomes is given. s may
// be nil.
func unsteadyKeys(s *Settings) []string {
	if s == nil || len(s.Outcomes) == 0 {
		return nil
	}
	return slices.Concat([]string{"outcomes", "output"}, averagingKeys, bandKeys)
}

// OutcomeNames lists the names of the columns of all outcomes that a construction may make under those
// settings. series are the names of a balance's series; constructions for microphones do not use them.
func OutcomeNames(c Construction, s *Settings, series []string) []string {
	if h, ok := c.(halfSpectra); ok {
		return h.outcomeNames(s)
	}

	var names []string
	if len(s.Outcomes) == 0 || slices.Contains(s.Outcomes, "mean") {
		names = slices.Clone(series)
	}

	suffixes := unsteadySuffixes(s)
	for _, x := range series {
		for _, suffix := range suffixes {
			names = append(names, x+"_"+suffix)
		}
	}

	return names
}

// unsteadySuffixes lists the suffixes that turn the name of a series into the names of its unsteady outcomes.
func unsteadySuffixes(s *Settings) []string {
	var suffixes []string
	if slices.Contains(s.Outcomes, "rms") {
		suffixes = append(suffixes, "rms")
	}

	if slices.Contains(s.Outcomes, "bands") {
		suffixes = append(suffixes, bandLevels{}.names(s)...)
	}

	return suffixes
}

// Pairs of values that unsteady makes.
const (
	ofHalves  = false
	ofRepeats = true
)

// unsteady changes p, which has one row with the mean of each series, to the outcomes that Settings.Outcomes asks for.
// It appends the rms and the band levels of each series if they are asked for, and removes the means if they are not.
// If Settings.Outcomes is empty, it leaves p unchanged. With repeats, the run gives one value, which stands for both
// halves. unsteady returns a *fault.Error if the run is too short for the spectra, or if a series does not vary.
func unsteady(r *Run, series []Series, p *Pairs, repeats bool) error {
	s := r.Settings
	if len(s.Outcomes) == 0 {
		return nil
	}

	row := &p.Rows[0]
	if !slices.Contains(s.Outcomes, "mean") {
		p.Outcomes = nil
		row.Values = nil
	}

	wantRMS := slices.Contains(s.Outcomes, "rms")
	wantBands := slices.Contains(s.Outcomes, "bands")
	if !wantRMS && !wantBands {
		return nil
	}

	run, a, err := loadSeries(r, series, wantBands)
	if err != nil {
		return err
	}

	plain := *s // without the settings that are about sound
	plain.Distance = nil
	plain.Atmosphere = nil
	run.Settings = &plain
	for i, x := range series {
		m, err := newSound(run, i, a, nil, p, repeats)
		if err != nil {
			return err
		}

		if wantRMS {
			m.rms(x, repeats)
		}

		if wantBands {
			if err := (bandLevels{}).add(m); err != nil {
				return err
			}
		}

		for k := range m.outcomes {
			m.outcomes[k].Name = x.Name + "_" + m.outcomes[k].Name
		}

		p.Outcomes = append(p.Outcomes, m.outcomes...)
		row.Values = append(row.Values, m.values...)
	}

	return nil
}

// loadSeries returns a copy of the run with the series as its microphones, and an Analyser with their spectra. It
// returns an error if a series does not vary or is too short. If wantBands is true, it also returns an error if the
// spectra do not resolve the bands.
func loadSeries(r *Run, series []Series, wantBands bool) (*Run, *Analyser, error) {
	run, err := asMicrophones(r, series)
	if err != nil {
		return nil, nil, err
	}

	segments, err := run.segments(floorMinBins, "")
	if err != nil {
		return nil, nil, err
	}

	if wantBands {
		if err := (bandLevels{}).fits(r.Settings, segments.binHz(), segments.bins()); err != nil {
			return nil, nil, err
		}
	}

	a := NewAnalyser()
	if err := a.Load(context.Background(), memorySource(values(series)), segments); err != nil {
		return nil, nil, err
	}

	return run, a, nil
}

// asMicrophones returns a copy of the run with the series as its microphones, so that their spectra can
// be loaded. It returns an error if a series does not vary.
func asMicrophones(r *Run, series []Series) (*Run, error) {
	run := *r
	run.Start = 0
	run.Samples = int64(len(series[0].Values))
	run.Microphones = nil
	for i, x := range series {
		if slices.Min(x.Values) == slices.Max(x.Values) {
			return nil, wrong(x.Name, "a load that varies", fmt.Sprintf("%g throughout", x.Values[0]), "")
		}

		run.Microphones = append(run.Microphones, Microphone{Channel: i, Scale: 1, Unit: x.Unit})
	}

	return &run, nil
}

// rms appends the standard deviation of a series about its mean as an outcome, for each half or, with repeats, for the
// whole series. The predicted standard deviation of the outcome follows from the spectrum: relative to the outcome, it
// is half the relative standard deviation of the mean square.
func (m *sound) rms(x Series, repeats bool) {
	half := len(x.Values) / 2
	parts := [2][]float64{x.Values[:half], x.Values[half : 2*half]}
	if repeats {
		parts = [2][]float64{x.Values, x.Values}
	}

	var y, sd [2]float64
	for h, part := range parts {
		y[h] = stat.PopStdDev(part, nil)
		_, db := m.averages.level(m.power[h], m.binHz, overallBand(&Settings{}, m.binHz, len(m.power[h])), nil)
		sd[h] = y[h] * db * math.Ln10 / 20
	}

	// The descriptions end in a comma because loadMembers follow them.
	m.give(Outcome{
		Name: "rms", Unit: x.Unit, Description: "standard deviation of " + x.Name + " about its mean, ",
		ByProducts: []ByProduct{
			{Suffix: sufSD, Unit: x.Unit, Description: "predicted standard deviation of the rms, "},
		},
	}, Value{Y: y, ByProducts: [][2]float64{sd}})
}

// memorySource is a Source whose samples are in memory, [channel][sample].
type memorySource [][]float64

func (m memorySource) Read(channels []int, start int64, dst [][]float64) (n int, err error) {
	for i, c := range channels {
		n = copy(dst[i], m[c][min(start, int64(len(m[c]))):])
	}

	if n < len(dst[0]) {
		err = io.EOF
	}

	return n, err
}
