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
		s: s, angle: angle, facet: m.facetInput(angle),
	}
	r.fixed = others(d.in(), angle, r.facet)

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
	fixed        []int // the other inputs

	at         []float64 // the fixed inputs
	cs         []int     // the conditions there
	onPage     bool
	all, drawn int // places
}

func (m *maker) directivity(r *radiation, outcome int) {
	d := m.d

	facets := []float64{0}
	if r.facet >= 0 {
		facets = d.values(r.facet)
	}

	av := d.values(r.angle)
	margin := 0.04 * (av[len(av)-1] - av[0]) // for marks at the ends

	interval, level := r.s.interval()
	f := &figure.Figure{Width: 720, Shared: true}
	for _, v := range facets {
		cs := slices.DeleteFunc(slices.Clone(r.cs), func(c int) bool { return r.facet >= 0 && d.x(c, r.facet) != v })
		if len(cs) == 0 {
			continue
		}

		p := figure.Panel{
			X: figure.Axis{
				Label: d.Inputs[r.angle].Axis(), Min: av[0] - margin, Max: av[len(av)-1] + margin,
				Ticks: angleTicks(av[0], av[len(av)-1]),
			},
			Y: figure.Axis{Label: d.Outcomes[outcome].Axis()}, Height: 190,
		}

		if r.facet >= 0 {
			p.Title = number6(v) + " " + d.Inputs[r.facet].Word()
			if d.Inputs[r.facet].Name != "blades" {
				p.Title = d.Inputs[r.facet].Word() + " " + number6(v) + " " + d.Inputs[r.facet].Unit
			}
		}

		var held bool
		if p.Marks, held = m.over(r.angle, r.s, d.sorted(cs, r.angle), outcome, interval, level); held {
			p.Title += ", held out"
		}

		f.Panels = append(f.Panels, p)
	}

	if len(f.Panels) == 0 {
		return
	}

	sameRange(f.Panels, 0.06)

	if f.Columns = len(f.Panels); f.Columns > 4 {
		f.Columns = 3 + f.Columns%2
	}

	if len(f.Panels) == 1 {
		f.Width = 440
	}

	where, file := "", "directivity-"+d.Outcomes[outcome].Name
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

func (r *radiation) caption(d *Detail, outcome int, where string) string {
	return text("figure-directivity", map[string]any{
		"What": d.Outcomes[outcome].Word(), "Where": where, "Calibrated": r.s.Calibrated != nil,
		"More": r.onPage && (r.all > 1 || d.dim() > 1), "Figures": r.drawn * d.dim(), "Drawn": r.drawn, "All": r.all,
	})
}
