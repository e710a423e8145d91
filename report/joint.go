package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/report/figure"
)

// JointFigures returns the figures that show several experiments of one report
// side by side, as files.
func JointFigures(details []*Detail) []FigureFile {
	return filesOf(joints(details, inFiles))
}

// kind is what experiments must agree in to be drawn side by side.
func (d *Detail) kind() string {
	if d.in() != 1 || d.dim() == 0 {
		return ""
	}
	var s []string
	for _, q := range append(slices.Clone(d.Inputs), d.Outcomes...) {
		s = append(s, q.Name+"\x00"+q.Unit)
	}
	return strings.Join(s, "\x01")
}

// profile is the first curve of the split of that name, nil without one.
func (d *Detail) profile(split string) (*SplitDetail, *Profile) {
	for i := range d.Splits {
		if s := &d.Splits[i]; s.Name == split && len(s.Profiles) > 0 {
			return s, &s.Profiles[0]
		}
	}
	return nil, nil
}

// joints draws experiments that ask for the same outcomes along the same single
// input side by side, a figure per split they have in common: the toy for
// several noise levels, couples against triplets.
func joints(details []*Detail, of amount) []plot {
	var out []plot
	used := map[string]bool{}
	var kinds []string
	byKind := map[string][]*Detail{}
	for _, d := range details {
		k := d.kind()
		if k == "" || len(d.Splits) == 0 {
			continue
		}
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], d)
	}
	for _, k := range kinds {
		list := byKind[k]
		if len(list) < 2 {
			continue
		}
		onPage := true
		for _, s := range list[0].Splits {
			var with []*Detail
			for _, d := range list {
				if _, p := d.profile(s.Name); p != nil {
					with = append(with, d)
				}
			}
			if len(with) < 2 {
				continue
			}
			for outcome := range list[0].Outcomes {
				m := &maker{limit: of.points, every: of.every, used: used}
				m.joint(with, s.Name, outcome, onPage && outcome == 0)
				out = append(out, m.out...)
			}
			onPage = false
		}
	}
	return out
}

// jointPanels bounds the experiments of one figure.
const jointPanels = 8

func (m *maker) joint(list []*Detail, split string, outcome int, onPage bool) {
	all := len(list)
	list = list[:min(all, jointPanels)]
	var named []string
	simulated := 0
	for _, d := range list {
		named = append(named, clean(d.Experiment.Name))
		if d.Experiment.Data == "simulated" {
			simulated++
		}
	}
	first := list[0]
	m.d = &Detail{Experiment: Experiment{Name: strings.Join(named, ", "), Data: first.Experiment.Data}, Inputs: first.Inputs, Outcomes: first.Outcomes}
	if simulated > 0 && simulated < len(list) {
		m.d.Experiment.Data = "partly simulated"
	}
	q, along := first.Outcomes[outcome], first.Inputs[0]
	f := &figure.Figure{Columns: 2, Width: 720}
	lo, hi, most := math.Inf(1), math.Inf(-1), 0.0
	none, couples, known := 0, false, false
	for _, d := range list {
		s, p := d.profile(split)
		dim := d.dim()
		p = p.thin(m.every, dim)
		mu, va, co := p.overSeeds(outcome, dim)
		// The range is that of what was measured and of the answers near it; what
		// leaves it far outside of the data is cut off.
		data := (&maker{d: d, limit: m.limit}).pairs(s, p, outcome)
		near := [2]float64{math.Inf(1), math.Inf(-1)}
		for _, mk := range data {
			for i, y := range mk.Y {
				lo, hi = math.Min(lo, y), math.Max(hi, y)
				near[0], near[1] = math.Min(near[0], mk.X[i]), math.Max(near[1], mk.X[i])
			}
		}
		title := d.Variant
		if title == "" {
			title = d.Experiment.Name
		}
		if m.d.Experiment.Data == "partly simulated" {
			title += " (" + clean(d.Experiment.Data) + ")"
		}
		x := figure.Axis{Label: along.Label(), Min: p.Grid[0], Max: p.Grid[len(p.Grid)-1]}
		left := figure.Panel{Title: clean(title), X: x, Y: figure.Axis{Label: q.Label()}, Height: 150}
		right := figure.Panel{Title: clean(title) + ", deviations", X: x, Y: figure.Axis{Label: in("deviation", q.difference())}, Height: 150}
		span := figure.Mark{Kind: figure.Span, Name: "range trained on", Class: "span"}
		for _, t := range p.Trained {
			span.Lo, span.Hi = append(span.Lo, t[0]), append(span.Hi, t[1])
		}
		if len(span.Lo) > 0 {
			left.Marks, right.Marks = append(left.Marks, span), append(right.Marks, span)
		}
		band := func(name, class string, w func(i int) float64) {
			b := figure.Mark{Kind: figure.Band, Name: name, Class: class, X: p.Grid}
			for i := range p.Grid {
				b.Lo, b.Hi = append(b.Lo, mu[i]-2*w(i)), append(b.Hi, mu[i]+2*w(i))
			}
			left.Marks = append(left.Marks, b)
		}
		noise := func(i int) float64 { return aleatoric(va[i], co[i]) }
		know := func(i int) float64 { return epistemic(co[i]) }
		band("mean ± 2√(σ² − C), aleatoric", "total", noise)
		band("mean ± 2√C, epistemic", "epi", know)
		left.Marks = append(left.Marks, data...)
		left.Marks = append(left.Marks, figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean", X: p.Grid, Y: mu})
		line := func(name, class string, dashed bool, w func(i int) float64) {
			mk := figure.Mark{Kind: figure.Line, Name: name, Class: class, Dashed: dashed, X: p.Grid}
			for i := range p.Grid {
				mk.Y = append(mk.Y, w(i))
			}
			right.Marks = append(right.Marks, mk)
		}
		line("σ, total", "mean", false, func(i int) float64 { return root(va[i]) })
		line("√(σ² − C), aleatoric", "floor", true, noise)
		line("√C, epistemic", "epi", false, know)
		if mean := law(p.TrueMean, outcome, dim); mean != nil {
			known = true
			left.Marks = append(left.Marks, figure.Mark{Kind: figure.Line, Name: "mean the data were made with", Class: "aux", Dashed: true, Thin: true, X: p.Grid, Y: mean})
		}
		if sd := law(p.TrueSigma, outcome, dim); sd != nil {
			known = true
			line("noise the data were made with", "aux", true, func(i int) float64 { return sd[i] })
		}
		for i, v := range p.Grid {
			if co[i] <= 0 {
				none++
			}
			if v < near[0] || v > near[1] {
				continue
			}
			w := 2 * math.Max(noise(i), math.Max(know(i), 0))
			if !math.IsNaN(w) {
				lo, hi = math.Min(lo, mu[i]-w), math.Max(hi, mu[i]+w)
			}
			most = math.Max(most, root(va[i]))
		}
		couples = couples || d.Experiment.Couples
		f.Panels = append(f.Panels, left, right)
	}
	if !(hi > lo) {
		return
	}
	for i := range f.Panels {
		if i%2 == 0 {
			f.Panels[i].Y.Min, f.Panels[i].Y.Max = lo-0.04*(hi-lo), hi+0.04*(hi-lo)
		} else {
			f.Panels[i].Y.Max = 1.1 * most
		}
	}
	caption := fmt.Sprintf("%s along %s for %d experiments, on the same scales. Left: outcomes, mean, and bands of two aleatoric and two epistemic standard deviations. Right: the deviations themselves; σ² = aleatoric + epistemic.", sentence(q.Word()), along.Word(), len(list))
	if known {
		caption += " Dashed, thin or violet: the law the data were made with, which no model saw."
	}
	if couples {
		caption += " Couples: y2 is y1, one draw used twice; the covariance then takes in the noise, and nothing is left to be aleatoric. With triplets it does not."
	}
	if none > 0 {
		caption += " Where C ≤ 0 there is no epistemic band, and all of σ² stands as aleatoric."
	}
	if all > len(list) {
		caption += fmt.Sprintf(" The first %d of %d experiments of this kind.", len(list), all)
	}
	caption += seedsText(&SplitDetail{Seeds: first.Splits[0].Seeds})
	m.add(plot{file: "joint-" + q.Name + "-along-" + along.Name, split: split, heading: "Side by side: " + q.Word() + " along " + along.Word(), caption: caption, fig: f, page: onPage})
}
