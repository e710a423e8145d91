package report

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/report/figure"
	"doubletake/report/figure/paper"
)

// PlotOptions adapt a figure to the place it is drawn for.
type PlotOptions struct {
	Format string     // "svg", "pdf" or "png"
	WidthM float64    // on paper, m
	DPI    float64    // of a PNG
	X, Y   [2]float64 // limits of the axes of the first panel and of those like it; equal: as on the page
	Polar  bool       // directivities are polar
}

// PlotFormats are those of a figure.
func PlotFormats() []string { return []string{"svg", "pdf", "png"} }

// Plots are the figures of some experiments, as Plot draws them.
type Plots struct{ list []plot }

// NewPlots makes the figures of one experiment, of one split alone where it is named.
func NewPlots(d *Detail, split string, polar bool) *Plots {
	m := &maker{d: d, limit: inFiles.points, every: inFiles.every, polar: polar, only: split}
	return &Plots{m.plots()}
}

// Names lists the figures.
func (p *Plots) Names() []string {
	out := make([]string, len(p.list))
	for i, f := range p.list {
		out[i] = f.file
	}

	return out
}

// Draw returns a figure in one of the formats: texts of 8 pt at any width.
func (p *Plots) Draw(name string, o PlotOptions) ([]byte, error) {
	i := slices.IndexFunc(p.list, func(f plot) bool { return f.file == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no figure %q", name)
	}

	mm := 1e3 * o.WidthM
	f := p.list[i].fig.Fit(paper.Width(mm))
	f.Panels = slices.Clone(f.Panels)
	if len(f.Panels) > 0 {
		x, y := f.Panels[0].X.Label, f.Panels[0].Y.Label
		for k := range f.Panels {
			p := &f.Panels[k]
			if bad := p.X.Label == x && p.X.Log && o.X != [2]float64{} && o.X[0] <= 0; bad ||
				p.Y.Label == y && p.Y.Log && o.Y != [2]float64{} && o.Y[0] <= 0 {
				return nil, fmt.Errorf("figure %s has a logarithmic axis: expected limits above 0", name)
			}

			if p.X.Label == x {
				p.X.Limit(o.X)
			}

			if p.Y.Label == y {
				p.Y.Limit(o.Y)
			}
		}
	}

	switch o.Format {
	case "svg":
		return figure.Draw(f, figure.Options{Millimetres: mm}), nil
	case "pdf":
		return paper.PDF(f)
	case "png":
		return paper.PNG(f, o.DPI)
	}

	return nil, fmt.Errorf("format %q is none of %s", o.Format, strings.Join(PlotFormats(), ", "))
}
