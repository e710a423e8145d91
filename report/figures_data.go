package report

import (
	"fmt"
	"math"
	"strings"

	"doubletake/report/figure"
)

// Room of the spectrum below its lowest and above its highest level, where the names of the lines are, in dB.
const (
	spectrumBelow = 2
	spectrumAbove = 6
)

// floorBins is the number of bins on either side of a line over which its floor is drawn.
const floorBins = 8

// spectrum draws the spectrum of one recording with its lines.
func (m *maker) spectrum() {
	spectrum := m.detail.Shown
	if spectrum == nil {
		return
	}

	panel := figure.Panel{
		Title: m.detail.placeOf(spectrum.Condition), Height: 300,
		X: figure.Axis{Label: "frequency f (Hz)", Max: spectrum.BinHz * float64(len(spectrum.Level[0])-1)},
		Y: figure.Axis{Label: fmt.Sprintf("level L per bin of %s Hz (%s)", number6(spectrum.BinHz), clean(spectrum.Unit))},
	}

	if len(spectrum.Lines[0]) > 0 {
		panel.Marks = append(panel.Marks, spectrum.searched())
	}

	// The background is drawn first, so that the lines of the halves cover it where they agree.
	if len(spectrum.Background) > 0 {
		background := spectrum.curve("background", "grey", spectrum.Background)
		background.Dashed = true
		panel.Marks = append(panel.Marks, background)
	}

	panel.Marks = append(panel.Marks, spectrum.halves()...)
	if lowest, highest := rangeOfMarks(panel.Marks); lowest <= highest {
		panel.Y.Min = lowest - spectrumBelow
		panel.Y.Max = highest + spectrumAbove
	}

	panel.Marks = append(panel.Marks, spectrum.harmonics()...)
	heading := "Spectrum"
	if len(spectrum.Lines[1]) > 0 {
		heading += " and its lines"
	}

	m.add(captionedFigure{
		kind: "spectrum", heading: heading, caption: spectrum.caption(),
		fig: &figure.Figure{Width: 720, Panels: []figure.Panel{panel}}, page: true,
	})
}

// searched draws the frequencies at which a harmonic was searched in the first half.
func (s *SpectrumDetail) searched() figure.Mark {
	search := figure.Mark{Kind: figure.Span, Name: "searched for a harmonic", Class: "span"}
	for _, line := range s.Lines[0] {
		search.Lo = append(search.Lo, line.Search[0]-s.BinHz/2)
		search.Hi = append(search.Hi, line.Search[1]+s.BinHz/2)
	}

	return search
}

// curve draws the levels of the bins that have power. It leaves out the first bin, which is empty: the mean was
// subtracted from every segment.
func (s *SpectrumDetail) curve(name, class string, level []float64) figure.Mark {
	mark := figure.Mark{Kind: figure.Line, Name: name, Class: class, Thin: true}
	for i, value := range level {
		if i > 0 && !math.IsInf(value, 0) {
			mark.Point(float64(i)*s.BinHz, value)
		}
	}

	return mark
}

// halves draws both halves as the edges of a band, and their mean power.
func (s *SpectrumDetail) halves() []figure.Mark {
	first := s.curve("first half", "half", s.Level[0])
	second := s.curve("second half", "half", s.Level[1])
	first.Quiet = true
	second.Quiet = true
	band := figure.Mark{Kind: figure.Band, Name: "between the halves", Class: "total"}

	mean := figure.Mark{Kind: figure.Line, Name: "mean of both halves", Class: "mean", Thin: true}
	for i := 1; i < min(len(s.Level[0]), len(s.Level[1])); i++ {
		a := s.Level[0][i]
		b := s.Level[1][i]
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			continue
		}

		x := float64(i) * s.BinHz
		band.Between(x, min(a, b), max(a, b))
		mean.Point(x, 10*math.Log10((math.Pow(10, a/10)+math.Pow(10, b/10))/2))
	}

	return []figure.Mark{band, first, second, mean}
}

// harmonics draws the lines that were found in the second half: their floors, the bins used, and their orders. It
// returns nil if there are no lines.
func (s *SpectrumDetail) harmonics() []figure.Mark {
	if len(s.Lines[1]) == 0 {
		return nil
	}

	floor := figure.Mark{Kind: figure.Steps, Name: "floor", Class: "floor"}
	used := figure.Mark{Kind: figure.Points, Name: "bins used, second half", Class: "test", Size: 2.2}
	label := figure.Mark{Kind: figure.Labels, Name: "harmonic", Quiet: true, Class: "test"}
	for _, line := range s.Lines[1] {
		floorHz := floorBins * s.BinHz
		floor.Lo = append(floor.Lo, line.Hz-floorHz)
		floor.Hi = append(floor.Hi, line.Hz+floorHz)
		floor.Y = append(floor.Y, line.Floor)

		top := math.Inf(-1)
		first := int(math.Round(line.Band[0] / s.BinHz))
		last := int(math.Round(line.Band[1] / s.BinHz))
		for i := first; i <= last && i < len(s.Level[1]); i++ {
			used.Point(float64(i)*s.BinHz, s.Level[1][i])
			top = math.Max(top, s.Level[1][i])
		}

		if !math.IsInf(top, 0) {
			label.Point(line.Hz, top)
			label.Text = append(label.Text, number6(line.Order)+"×BPF")
		}
	}

	orders := figure.Mark{
		Kind: figure.Points, Name: "shaft orders that are no harmonic", Class: "aux", Shape: "diamond", Size: 2.2,
	}
	for _, line := range s.Orders[1] {
		orders.Point(line.Hz, line.Level)
	}

	return []figure.Mark{floor, used, orders, label}
}

// caption writes the caption of the spectrum.
func (s *SpectrumDetail) caption() string {
	var recordings []string
	for _, recording := range s.BackgroundFrom {
		recordings = append(recordings, clean(recording))
	}

	return phrase("figure-spectrum", map[string]any{
		"Recording": clean(s.Recording), "Lines": len(s.Lines[1]) > 0, "Shaft1": millihertz(s.Shaft[0]),
		"Shaft2": millihertz(s.Shaft[1]), "Background": len(s.Background) > 0, "From": strings.Join(recordings, ", "),
	})
}

// millihertz writes a frequency, rounded to 1 mHz, in Hz.
func millihertz(hz float64) string { return number6(math.Round(hz*1e3) / 1e3) }

// thirdOctaves draws one-third-octave levels if there are spectra.
func (m *maker) thirdOctaves() {
	shown := m.detail.Shown
	if shown == nil || len(shown.Third) == 0 {
		return
	}

	mark := figure.Mark{Kind: figure.Steps, Name: "one-third-octave level", Quiet: true, Class: "mean"}
	for _, band := range shown.Third {
		mark.Between(band.Centre, band.Lo, band.Hi)
		mark.Y = append(mark.Y, band.Level)
	}

	first := shown.Third[0]
	last := shown.Third[len(shown.Third)-1]
	m.add(captionedFigure{
		kind: "levels", heading: "One-third-octave levels", page: true,
		caption: phrase("figure-third-octaves", m.detail.placeOf(shown.Condition)),
		fig: &figure.Figure{Width: halfWidth, Panels: []figure.Panel{{
			X: figure.Axis{Label: "frequency f (Hz)", Log: true, Min: first.Lo, Max: last.Hi},
			Y: figure.Axis{Label: "band level L (" + clean(shown.Unit) + ")"}, Height: 220, Marks: []figure.Mark{mark},
		}}},
	})
}
