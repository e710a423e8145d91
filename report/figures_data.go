package report

import (
	"fmt"
	"math"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
)

func (m *maker) spectrum() {
	s := m.d.Shown
	if s == nil {
		return
	}

	p := figure.Panel{
		Title: m.d.placeOf(s.Condition), Height: 300,
		X: figure.Axis{Label: "frequency f (Hz)", Max: s.BinHz * float64(len(s.Level[0])-1)},
		Y: figure.Axis{Label: fmt.Sprintf("level L per bin of %s Hz (%s)", number6(s.BinHz), clean(s.Unit))},
	}

	if len(s.Lines[0]) > 0 {
		search := figure.Mark{Kind: figure.Span, Name: "searched for a harmonic", Class: "span"}
		for _, l := range s.Lines[0] {
			search.Lo, search.Hi = append(search.Lo, l.Search[0]-s.BinHz/2), append(search.Hi, l.Search[1]+s.BinHz/2)
		}

		p.Marks = append(p.Marks, search)
	}

	// The background lies under the halves' lines where it is one with them.
	if len(s.Background) > 0 {
		background := s.curve("background", "grey", s.Background)
		background.Dashed = true
		p.Marks = append(p.Marks, background)
	}

	p.Marks = append(p.Marks, s.halves()...)

	lo, hi := math.Inf(1), math.Inf(-1)
	for _, mk := range p.Marks {
		for _, v := range mk.Y {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}

	p.Marks = append(p.Marks, s.harmonics()...)
	p.Y.Min, p.Y.Max = lo-2, hi+6

	heading := "Spectrum"
	if len(s.Lines[1]) > 0 {
		heading += " and its lines"
	}

	m.add(plot{
		kind: "spectrum", heading: heading, caption: s.caption(),
		fig: &figure.Figure{Width: 720, Panels: []figure.Panel{p}}, page: true,
	})
}

// curve draws the levels of the bins that have power, but the first: the mean was
// taken out of every segment.
func (s *SpectrumDetail) curve(name, class string, level []float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: name, Class: class, Thin: true}
	for i, v := range level {
		if i > 0 && !math.IsInf(v, 0) {
			mk.Point(float64(i)*s.BinHz, v)
		}
	}

	return mk
}

// halves are both halves as the edges of a band, and their mean power.
func (s *SpectrumDetail) halves() []figure.Mark {
	first, second := s.curve("first half", "half", s.Level[0]), s.curve("second half", "half", s.Level[1])
	first.Quiet, second.Quiet = true, true
	band := figure.Mark{Kind: figure.Band, Name: "between the halves", Class: "total"}

	mean := figure.Mark{Kind: figure.Line, Name: "mean of both halves", Class: "mean", Thin: true}
	for i := 1; i < min(len(s.Level[0]), len(s.Level[1])); i++ {
		a, b := s.Level[0][i], s.Level[1][i]
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			continue
		}

		x := float64(i) * s.BinHz
		band.Between(x, min(a, b), max(a, b))
		mean.Point(x, 10*math.Log10((math.Pow(10, a/10)+math.Pow(10, b/10))/2))
	}

	return []figure.Mark{band, first, second, mean}
}

// harmonics are the marks of what was read off the second half; none without lines.
func (s *SpectrumDetail) harmonics() []figure.Mark {
	if len(s.Lines[1]) == 0 {
		return nil
	}

	floor := figure.Mark{Kind: figure.Steps, Name: "floor", Class: "floor"}
	used := figure.Mark{Kind: figure.Points, Name: "bins used, second half", Class: "test", Size: 2.2}

	label := figure.Mark{Kind: figure.Labels, Name: "harmonic", Quiet: true, Class: "test"}
	for _, l := range s.Lines[1] {
		w := 8 * s.BinHz
		floor.Lo, floor.Hi, floor.Y = append(floor.Lo, l.Hz-w), append(floor.Hi, l.Hz+w), append(floor.Y, l.Floor)

		top := math.Inf(-1)
		for i := int(math.Round(l.Band[0] / s.BinHz)); i <= int(math.Round(l.Band[1]/s.BinHz)) && i < len(s.Level[1]); i++ {
			used.Point(float64(i)*s.BinHz, s.Level[1][i])
			top = math.Max(top, s.Level[1][i])
		}

		if !math.IsInf(top, 0) {
			label.Point(l.Hz, top)
			label.Text = append(label.Text, number6(l.Order)+"×BPF")
		}
	}

	orders := figure.Mark{
		Kind: figure.Points, Name: "shaft orders that are no harmonic", Class: "aux", Shape: "diamond", Size: 2.2,
	}
	for _, l := range s.Orders[1] {
		orders.Point(l.Hz, l.Level)
	}

	return []figure.Mark{floor, used, orders, label}
}

func (s *SpectrumDetail) caption() string {
	from := lists.Each(s.BackgroundFrom, clean)
	hz := func(v float64) string { return number6(math.Round(v*1e3) / 1e3) }

	return text("figure-spectrum", map[string]any{
		"Recording": clean(s.Recording), "Lines": len(s.Lines[1]) > 0, "Shaft1": hz(s.Shaft[0]), "Shaft2": hz(s.Shaft[1]),
		"Background": len(s.Background) > 0, "From": strings.Join(from, ", "),
	})
}

// levels draws one-third-octave levels, where spectra are.
func (m *maker) levels() {
	d := m.d
	if d.Shown == nil || len(d.Shown.Third) == 0 {
		return
	}

	third := d.Shown.Third

	mk := figure.Mark{Kind: figure.Steps, Name: "one-third-octave level", Quiet: true, Class: "mean"}
	for _, t := range third {
		mk.Between(t.Centre, t.Lo, t.Hi)
		mk.Y = append(mk.Y, t.Level)
	}

	m.add(plot{
		kind: "levels", heading: "One-third-octave levels", page: true,
		caption: text("figure-third-octaves", d.placeOf(d.Shown.Condition)),
		fig: &figure.Figure{Width: halfWidth, Panels: []figure.Panel{{
			X: figure.Axis{Label: "frequency f (Hz)", Log: true, Min: third[0].Lo, Max: third[len(third)-1].Hi},
			Y: figure.Axis{Label: "band level L (" + clean(d.Shown.Unit) + ")"}, Height: 220, Marks: []figure.Mark{mk},
		}}},
	})
}
