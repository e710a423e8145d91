package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

	tones := s.tones()

	// The background lies under the halves' lines where it is one with them.
	if len(s.Background) > 0 {
		background := s.curve("background", "grey", s.Background)
		background.Dashed = true
		p.Marks = append(p.Marks, background)
	}

	p.Marks = append(p.Marks, s.halves()...)

	lo, hi := math.Inf(1), math.Inf(-1)
	for _, mk := range append(p.Marks, tones) {
		for _, v := range mk.Y {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}

	read, names := s.harmonics()
	p.Marks = append(p.Marks, read...)
	p.Marks = append(append(p.Marks, known(tones)...), names...)
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

// tones are those of the background.
func (s *SpectrumDetail) tones() figure.Mark {
	mk := figure.Mark{Kind: figure.Points, Name: "tones of the background", Class: "train", Shape: "cross", Size: 3.5}
	if len(s.Background) == 0 {
		return mk
	}

	for _, l := range s.BackgroundTones {
		mk.Point(l.Hz, l.Level)
	}

	return mk
}

// harmonics are the marks of what was read off the second half, and the names of
// its lines; none without lines.
func (s *SpectrumDetail) harmonics() (read, names []figure.Mark) {
	if len(s.Lines[1]) == 0 {
		return nil, nil
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

	return []figure.Mark{floor, used, orders}, []figure.Mark{label}
}

func (s *SpectrumDetail) caption() string {
	var from []string
	for _, f := range s.BackgroundFrom {
		from = append(from, clean(f))
	}

	hz := func(v float64) string { return number6(math.Round(v*1e3) / 1e3) }

	return text("figure-spectrum", map[string]any{
		"Recording": clean(s.Recording), "Lines": len(s.Lines[1]) > 0, "Shaft1": hz(s.Shaft[0]), "Shaft2": hz(s.Shaft[1]),
		"Background": len(s.Background) > 0, "From": strings.Join(from, ", "), "Tones": len(s.BackgroundTones) > 0,
	})
}

// levels draws overall levels and one-third-octave levels, where spectra are.
func (m *maker) levels() {
	d := m.d
	if d.Shown == nil || d.Level == nil {
		return
	}

	f := &figure.Figure{Width: 720}

	caption := ""
	if angle := d.angle(); angle >= 0 {
		facet := m.facetInput(angle)

		at := make([]float64, d.in())
		for k := range at {
			v := d.values(k)
			at[k] = v[len(v)/2]
		}

		f.Panels = append(f.Panels, m.overall(angle, facet, at))

		caption = "Left: overall level of all bins above 0 Hz, mean of both halves"
		if o := others(d.in(), angle, facet); len(o) > 0 {
			caption += ", at " + place(d.Inputs, at, o)
		}

		caption += ". "
	}

	if n := len(d.Shown.Third); n > 0 {
		mk := figure.Mark{Kind: figure.Steps, Name: "one-third-octave level", Quiet: true, Class: "mean"}
		for _, t := range d.Shown.Third {
			mk.Between(t.Centre, t.Lo, t.Hi)
			mk.Y = append(mk.Y, t.Level)
		}

		f.Panels = append(f.Panels, figure.Panel{
			Title: "One-third-octave bands",
			X:     figure.Axis{Label: "frequency f (Hz)", Log: true, Min: d.Shown.Third[0].Lo, Max: d.Shown.Third[n-1].Hi},
			Y:     figure.Axis{Label: "band level L (" + clean(d.Shown.Unit) + ")"}, Height: 220, Marks: []figure.Mark{mk},
		})

		caption += text("figure-third-octaves", d.placeOf(d.Shown.Condition))
	}

	if f.Columns = len(f.Panels); f.Columns > 0 {
		m.add(plot{kind: "levels", heading: "Overall and band levels", caption: caption, fig: f, page: true})
	}
}

// overall draws the overall levels over the angle at a place, a line for each value of
// the facet's input.
func (m *maker) overall(angle, facet int, at []float64) figure.Panel {
	d := m.d
	p := figure.Panel{
		Title: "Overall level", X: figure.Axis{Label: d.Inputs[angle].Axis()},
		Y: figure.Axis{Label: "overall level L (" + clean(d.Shown.Unit) + ")"}, Height: 220,
	}

	groups := []float64{0}
	if facet >= 0 {
		groups = d.values(facet)
	}

	classes := []string{"mean", "test", "floor", "aux", "epi", "train"}

	shapes := []string{"", "square", "diamond", "ring", "cross", "ring"}
	for g, v := range groups[:min(len(groups), len(classes))] {
		mk := figure.Mark{Kind: figure.Points, Class: classes[g], Shape: shapes[g], Size: 2.6, Name: d.data()}
		if facet >= 0 {
			mk.Name = number6(v) + " " + d.Inputs[facet].Word()
		}

		var points [][2]float64
		for i, c := range d.Cond {
			if (facet < 0 || d.x(c, facet) == v) && d.at(c, at, angle, facet) && !math.IsNaN(d.Level[i]) {
				points = append(points, [2]float64{d.x(c, angle), d.Level[i]})
			}
		}

		slices.SortFunc(points, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })

		for _, q := range points {
			mk.Point(q[0], q[1])
		}

		line := mk
		line.Kind, line.Thin, line.Quiet = figure.Line, true, true
		p.Marks = append(p.Marks, known(line, mk)...)
	}

	return p
}

func (m *maker) drift() {
	d := m.d
	if len(d.Drift) == 0 {
		return
	}

	f := &figure.Figure{Columns: min(3, len(d.Drift)), Width: 720}
	for _, dr := range d.Drift[:min(6, len(d.Drift))] {
		mk := figure.Mark{
			Kind: figure.Bars, Name: "y2 − y1, mean of a run's recordings ± SE", Class: "mean", Size: 1.6,
		}
		for i, v := range dr.Mean {
			mk.Bar(dr.Run[i], v, dr.SE[i])
		}

		q := d.Outcomes[dr.Outcome]
		f.Panels = append(f.Panels, figure.Panel{
			Title: q.Word(), X: figure.Axis{Label: "run, in order of the table"},
			Y: figure.Axis{Label: in("change", q.difference())}, Height: 140, Marks: []figure.Mark{zero(), mk},
		})
	}

	sameRange(f.Panels, 0.05, 0.05)
	m.add(plot{kind: "drift", heading: "Half-to-half drift", caption: text("figure-drift", nil), fig: f, page: true})
}
