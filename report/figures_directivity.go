package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

// facetInput is the input whose values get a panel each: blades, or the one
// with the fewest values.
func (m *maker) facetInput(angle int) int {
	best, few := -1, 7
	for k, q := range m.d.Inputs {
		n := len(m.d.values(k))
		if k == angle || n < 2 {
			continue
		}

		if q.Name == "blades" && n <= 9 {
			return k
		}

		if n < few {
			best, few = k, n
		}
	}

	return best
}

// angle is the index of the input that is an angle of radiation, −1 without one.
func (d *Detail) angle() int {
	return slices.IndexFunc(d.Inputs, func(q Quantity) bool { return q.Name == "theta_deg" || q.Name == "phi_deg" })
}

// directivityPlaces bounds the places at which directivities are drawn as files;
// beyond, an even selection of them is.
const directivityPlaces = 60

// directivities draws one figure per outcome and place (a speed; all inputs but
// the angle and the one that has a panel per value): the outcome with the widest interval at
// the middle place for the page, all of them as files.
func (m *maker) directivities(s *SplitDetail, angle int) {
	d := m.d
	r := &radiation{
		s: s, angle: angle, facet: m.facetInput(angle), answers: s.answers(),
	}
	r.fixed = others(d.in(), angle, r.facet)
	r.rows = make([][]int, d.conditions())
	for i, c := range d.Cond {
		r.rows[c] = append(r.rows[c], i)
	}

	// Places that were measured at two angles or more.
	places := d.spots(others(d.conditions()), r.fixed)
	places = slices.DeleteFunc(places, func(p *spot) bool {
		return !slices.ContainsFunc(p.cs, func(c int) bool { return d.x(c, angle) != d.x(p.cs[0], angle) })
	})
	if len(places) == 0 {
		return
	}

	// On the page: the place in the middle of every input, or the nearest that
	// was measured.
	mid := make([]float64, d.in())
	for _, k := range r.fixed {
		v := d.values(k)
		mid[k] = v[len(v)/2]
	}

	far := func(p *spot) float64 {
		sum := 0.0
		for _, k := range r.fixed {
			sum += math.Abs(p.at[k]-mid[k]) / (1 + math.Abs(mid[k]))
		}

		return sum
	}

	shown := slices.MinFunc(places, func(a, b *spot) int { return cmp.Compare(far(a), far(b)) })

	drawn := thin(places, directivityPlaces)
	if !slices.Contains(drawn, shown) {
		drawn = append(drawn, shown)
	}

	widest, _ := d.widest(s.Name)
	for k := range d.Outcomes {
		for _, p := range drawn {
			r.at, r.cs, r.onPage = p.at, p.cs, k == widest && p == shown // the explorer shows the others
			r.all, r.drawn = len(places), len(drawn)
			m.directivity(r, k)
		}
	}
}

// radiation is what the directivities of a split share, and one place of them.
type radiation struct {
	s            *SplitDetail
	angle, facet int
	fixed        []int   // the other inputs
	rows         [][]int // per condition
	answers

	at         []float64 // the fixed inputs
	cs         []int     // the conditions there
	onPage     bool
	all, drawn int // places

	// Of the figure that is drawn: its range, and the conditions with C ≤ 0.
	lo, hi float64
	none   int
}

func (m *maker) directivity(r *radiation, outcome int) {
	d := m.d

	facets := []float64{0}
	if r.facet >= 0 {
		facets = d.values(r.facet)
	}

	av := d.values(r.angle)
	r.lo, r.hi, r.none = math.Inf(1), math.Inf(-1), 0

	f := &figure.Figure{Width: 720, Shared: true}
	for _, v := range facets {
		var cs []int
		for _, c := range r.cs {
			if r.facet < 0 || d.x(c, r.facet) == v {
				cs = append(cs, c)
			}
		}

		if len(cs) == 0 {
			continue
		}

		p := figure.Panel{
			X: figure.Axis{Label: d.Inputs[r.angle].Axis(), Min: av[0], Max: av[len(av)-1]},
			Y: figure.Axis{Label: d.Outcomes[outcome].Axis()}, Height: 190,
		}

		if m.polar {
			p.Polar, p.Half = true, av[0] >= -90 && av[len(av)-1] <= 90
		} else {
			p.X.Ticks = angleTicks(av[0], av[len(av)-1])
			p.X.Min, p.X.Max = widened(av[0], av[len(av)-1])
		}

		if r.facet >= 0 {
			p.Title = number6(v) + " " + d.Inputs[r.facet].Word()
			if d.Inputs[r.facet].Name != "blades" {
				p.Title = d.Inputs[r.facet].Word() + " " + number6(v) + " " + d.Inputs[r.facet].Unit
			}
		}

		var held bool
		if p.Marks, held = r.marks(d, d.sorted(cs, r.angle), outcome); held {
			p.Title += ", held out"
		}

		f.Panels = append(f.Panels, p)
	}

	if len(f.Panels) == 0 {
		return
	}

	level := d.Outcomes[outcome].difference() == "dB"

	a, b, ticks := radialAxis(r.lo, r.hi)
	switch {
	case !m.polar:
		w := 0.06 * (r.hi - r.lo)
		if level {
			w = max(w, 0.5)
		}

		a, b, ticks = r.lo-2*w, r.hi+w, nil // crosses lie below all levels

	case !level:
		a, b, ticks = r.lo, r.hi, nil
	}

	for i := range f.Panels {
		f.Panels[i].Y.Min, f.Panels[i].Y.Max, f.Panels[i].Y.Ticks = a, b, ticks
	}

	switch n := len(f.Panels); {
	case m.polar:
		f.Columns = min(2, n)
	case n <= 4:
		f.Columns = n
	default:
		f.Columns = 3 + n%2
	}

	if len(f.Panels) == 1 {
		f.Width = 440
	}

	where, file := "", "directivity-"+d.Outcomes[outcome].Name
	if m.polar {
		file = "polar-" + file
	}

	for _, k := range r.fixed {
		where = " at " + place(d.Inputs, r.at, r.fixed)
		file += "-" + d.Inputs[k].Name + "-" + strings.Replace(strconv.FormatFloat(r.at[k], 'g', -1, 64), "-", "minus", 1)
	}

	m.add(plot{
		kind: file, split: r.s.Name, heading: "Directivity, " + d.Outcomes[outcome].Word() + where,
		caption: r.caption(d, outcome, where), fig: f, page: r.onPage,
	})
}

// angleTicks are multiples of 30° where the angles span 60° or more.
func angleTicks(lo, hi float64) []float64 {
	if hi-lo < 60 {
		return nil
	}

	var out []float64
	for t := math.Ceil(lo/30) * 30; t <= hi; t += 30 {
		out = append(out, t)
	}

	return out
}

// widened is a range with room for marks at its ends.
func widened(lo, hi float64) (a, b float64) {
	w := 0.04 * (hi - lo)
	return lo - w, hi + w
}

// marks are mean, bands and pairs at the conditions cs, which are in order of the
// angle, and whether some of them are held out. It takes them into the range of r.
func (r *radiation) marks(d *Detail, cs []int, outcome int) (list []figure.Mark, held bool) {
	total := figure.Mark{Kind: figure.Band, Name: "mean ± 2σ, total", Class: "total"}
	epi := figure.Mark{Kind: figure.Band, Name: "mean ± 2√C, epistemic", Class: "epi"}
	none := figure.Mark{Kind: figure.Edge, Name: "C ≤ 0: no band", Class: "grey", Shape: "cross", Size: 3}
	mean := figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean"}
	train := figure.Mark{Kind: figure.Points, Name: "pairs, trained on", Class: "train", Shape: "ring", Size: 2.3}

	test := figure.Mark{Kind: figure.Points, Name: "pairs, held out", Class: "test", Shape: "ring", Size: 2.3}
	for _, c := range cs {
		t, k := d.x(c, r.angle), c*d.dim()+outcome
		y, sd, e := r.mu[k], 2*root(r.va[k]), 2*epistemic(r.co[k])

		if r.co[k] <= 0 {
			r.none++
			none.X = append(none.X, t)
		}

		total.Between(t, y-sd, y+sd)
		epi.Between(t, y-e, y+e)
		mean.Point(t, y)

		pts := &train
		if r.s.Test[c] {
			pts, held = &test, true
		}

		for _, i := range thin(r.rows[c], 8) {
			j := i*d.dim() + outcome
			pts.Point(t, d.Y1[j])
			pts.Point(t, d.Y2[j])
			r.lo, r.hi = min(r.lo, d.Y1[j], d.Y2[j]), max(r.hi, d.Y1[j], d.Y2[j])
		}

		r.lo, r.hi = min(r.lo, y-sd), max(r.hi, y+sd)
	}

	return append([]figure.Mark{total, epi, mean}, known(train, test, none)...), held
}

// radialAxis rounds a range of levels to whole steps of 5 dB or more.
func radialAxis(lo, hi float64) (a, b float64, ticks []float64) {
	step := 10.0
	for (hi-lo)/step > 6 {
		step *= 2
	}

	if hi-lo < 15 {
		step = 5
	}

	a, b = math.Floor(lo/step)*step, math.Ceil(hi/step)*step
	for v := a; v <= b+step/2; v += step {
		ticks = append(ticks, v)
	}

	return a, b, ticks
}

func (r *radiation) caption(d *Detail, outcome int, where string) string {
	return text("figure-directivity", map[string]any{
		"What": d.Outcomes[outcome].Word(), "Where": where, "Seeds": len(r.s.Seeds), "None": r.none,
		"More": r.onPage && (r.all > 1 || d.dim() > 1), "Figures": r.drawn * d.dim(), "Drawn": r.drawn, "All": r.all,
	})
}
