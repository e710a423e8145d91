package report

import (
	"math"

	"doubletake/report/figure"
)

// maps draws, for every pair of inputs, what the models claim over them and the error
// of their mean where pairs were measured: side by side, on one scale per outcome.
func (m *maker) maps(s *SplitDetail) {
	d := m.d

	if len(s.Maps) == 0 {
		return
	}

	mu := s.answers().mu
	f := &figure.Figure{Columns: 2, Width: 720}
	blank := 0

	most := map[int]float64{} // of each outcome
	for i := range s.Maps {
		g := &s.Maps[i]
		claimed := figure.Mark{
			Kind: figure.Cells, Name: "√C", Quiet: true, None: "C ≤ 0: nothing claimed", DX: stepOf(g.X), DY: stepOf(g.Y),
		}
		for k, v := range g.Cov {
			e := epistemic(v)
			if math.IsNaN(e) {
				blank++
			} else {
				most[g.Outcome] = math.Max(most[g.Outcome], e)
			}

			claimed.Point(g.X[k%len(g.X)], g.Y[k/len(g.X)])
			claimed.Z = append(claimed.Z, e)
		}

		at := m.mapPlaces(s, g, mu)
		for _, e := range at.errors.Z {
			most[g.Outcome] = math.Max(most[g.Outcome], e)
		}

		place := place(d.Inputs, g.At, others(d.in(), g.XInput, g.YInput))
		if place != "" {
			place = ", " + place
		}

		p := figure.Panel{
			X: mapAxis(d.Inputs[g.XInput], g.X), Y: mapAxis(d.Inputs[g.YInput], g.Y), Height: 200,
			ZLabel: in(d.Outcomes[g.Outcome].Word(), d.Outcomes[g.Outcome].difference()),
		}

		claim, found := p, p
		claim.Title, found.Title = "claimed: √C"+place, "error |y − μ|"+place
		claim.Marks = append([]figure.Mark{claimed}, at.marks...)
		found.Marks = append([]figure.Mark{at.errors}, at.held...)
		f.Panels = append(f.Panels, claim, found)
	}

	for i := range f.Panels {
		f.Panels[i].ZMax = most[s.Maps[i/2].Outcome]
	}

	caption := text("figure-map", map[string]any{"Data": d.data(), "Seeds": len(s.Seeds), "Blank": blank})
	m.add(plot{kind: "map", split: s.Name, heading: "Claim and error", caption: caption, fig: f, page: true})
}

// mapPlaces are the conditions of a map.
type mapPlaces struct {
	marks  []figure.Mark // those trained on and those held out
	held   []figure.Mark // those held out
	errors figure.Mark   // the distance of their mean from that predicted
}

func (m *maker) mapPlaces(s *SplitDetail, g *Map, mu []float64) mapPlaces {
	d := m.d
	train := figure.Mark{Kind: figure.Points, Name: d.data() + ", trained on", Class: "measured", Shape: "ring", Size: 2}
	test := figure.Mark{Kind: figure.Points, Name: d.data() + ", held out", Class: "measured", Shape: "cross", Size: 2.4}
	errors := figure.Mark{
		Kind: figure.Cells, Name: "error", Quiet: true,
		DX: spacing(d.values(g.XInput)), DY: spacing(d.values(g.YInput)),
	}

	seen := map[[2]float64]bool{}
	for k := range d.conditions() {
		at := [2]float64{d.x(k, g.XInput), d.x(k, g.YInput)}
		if !d.at(k, g.At, g.XInput, g.YInput) || seen[at] {
			continue
		}

		seen[at] = true

		mk := &train
		if s.Test[k] {
			mk = &test
		}

		mk.Point(at[0], at[1])
		errors.Point(at[0], at[1])
		j := k*d.dim() + g.Outcome
		errors.Z = append(errors.Z, math.Abs(d.Mean[j]-mu[j]))
	}

	if len(train.X)+len(test.X) > 60 { // smaller, so that rows of them stay single marks
		train.Size, test.Size = 1.2, 1.6
	}

	return mapPlaces{marks: known(train, test), held: known(test), errors: errors}
}

// mapAxis holds the whole cells of a grid.
func mapAxis(q Quantity, grid []float64) figure.Axis {
	w := stepOf(grid) / 2
	a := figure.Axis{Label: q.Axis(), Min: grid[0] - w, Max: grid[len(grid)-1] + w}
	switch {
	case len(grid) <= 9:
		a.Ticks = grid
	case q.Unit == "deg":
		a.Ticks = angleTicks(a.Min, a.Max)
	}

	return a
}

func stepOf(grid []float64) float64 {
	if len(grid) < 2 {
		return 1
	}
	return grid[1] - grid[0]
}

// spacing is the smallest distance of values in ascending order: cells that wide do
// not overlap.
func spacing(v []float64) float64 {
	w := math.Inf(1)
	for i := 1; i < len(v); i++ {
		w = math.Min(w, v[i]-v[i-1])
	}

	if math.IsInf(w, 0) {
		return 1
	}

	return w
}
