package dsp

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// loadOutcomeNames are the outcomes of a balance's run (docs/method.md#unsteady-loads).
var loadOutcomeNames = []string{"mean", "rms", "bands"}

// unsteadyKeys lists the settings that outcomes of a balance beyond means read.
func unsteadyKeys(s *Settings) []string {
	if s == nil || len(s.Outcomes) == 0 {
		return nil
	}
	return slices.Concat([]string{"outcomes", "output"}, averagingKeys, bandKeys)
}

// OutcomeNames lists the names of all outcomes that a construction can make under
// those settings. series are the names of a balance's outcomes.
func OutcomeNames(c Construction, s *Settings, series []string) (out []string) {
	if h, ok := c.(halfSpectra); ok {
		return h.outcomeNames(s)
	}

	if len(s.Outcomes) == 0 || slices.Contains(s.Outcomes, "mean") {
		out = slices.Clone(series)
	}

	var more []string
	if slices.Contains(s.Outcomes, "rms") {
		more = append(more, "rms")
	}

	if slices.Contains(s.Outcomes, "bands") {
		more = append(more, bandLevels{}.names(s)...)
	}

	for _, x := range series {
		out = append(out, lists.Each(more, func(m string) string { return x + "_" + m })...)
	}

	return out
}

// unsteady adds the rms and the band levels of the series to the means in the one
// row of p, or leaves the means out, as Settings.Outcomes wants. With repeats both
// halves are one estimate.
func unsteady(r *Run, series []Series, p *Pairs, repeats bool) *Pairs {
	s, row := r.Settings, &p.Rows[0]
	if len(s.Outcomes) == 0 {
		return p
	}

	if !slices.Contains(s.Outcomes, "mean") {
		p.Outcomes, row.Values = nil, nil
	}

	if !slices.Contains(s.Outcomes, "rms") && !slices.Contains(s.Outcomes, "bands") {
		return p
	}

	all := *r // its series as microphones
	all.Start, all.Samples, all.Microphones = 0, int64(len(series[0].Values)), nil
	for i, x := range series {
		unless(slices.Min(x.Values) != slices.Max(x.Values), x.Name, "a load that varies",
			fmt.Sprintf("%g throughout", x.Values[0]), "")
		all.Microphones = append(all.Microphones, Microphone{Channel: i, Scale: 1, Unit: x.Unit})
	}

	load := all.segments(floorMinBins, "")

	if slices.Contains(s.Outcomes, "bands") {
		(bandLevels{}).fits(s, load.binHz(), load.bins())
	}

	a := NewAnalyser()
	fault.Raise(a.Load(context.Background(), memorySource(values(series)), load))

	plain := *s // distance and atmosphere are those of sound
	plain.Distance, plain.Atmosphere = nil, nil
	all.Settings = &plain
	for i, x := range series {
		m := newSound(&all, i, a, nil, p, repeats)

		if slices.Contains(s.Outcomes, "rms") {
			m.rms(x, repeats)
		}

		if slices.Contains(s.Outcomes, "bands") {
			(bandLevels{}).add(m)
		}

		for k := range m.outcomes {
			m.outcomes[k].Name = x.Name + "_" + m.outcomes[k].Name
		}

		p.Outcomes, row.Values = append(p.Outcomes, m.outcomes...), append(row.Values, m.values...)
	}

	return p
}

// rms appends the standard deviation of a series about its mean, whose own one
// follows from the spectrum: half the relative one of the mean square.
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

	m.outcomes = append(m.outcomes, Outcome{Name: "rms", Unit: x.Unit, Description: "standard deviation of " + x.Name +
		" about its mean, ", ByProducts: []ByProduct{
		{Suffix: sufSD, Unit: x.Unit, Description: "predicted standard deviation of the rms, "},
	}})

	m.values = append(m.values, Value{Y: y, ByProducts: [][2]float64{sd}})
}

// memorySource is a Source of samples in memory.
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
