package report

import (
	"fmt"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
	"doubletake/report/figure/paper"
)

// PlotOptions adapt a figure to the place it is drawn for.
type PlotOptions struct {
	Format string  // "svg", "pdf" or "png"
	WidthM float64 // on paper, m
	DPI    float64 // of a PNG
}

// PlotFormats are those of a figure.
func PlotFormats() []string { return []string{"svg", "pdf", "png"} }

// Plots are the figures of some experiments, as Plot draws them.
type Plots struct{ list []plot }

// NewPlots makes the figures of one experiment, of one split alone where it is named.
func NewPlots(d *Detail, split string) *Plots { return &Plots{plots(d, filePoints, split)} }

// Names lists the figures.
func (p *Plots) Names() []string {
	return lists.Each(p.list, func(f plot) string { return f.file })
}

// Kinds are the kinds of the figures, in the order of Names: parity, directivity.
func (p *Plots) Kinds() []string {
	return lists.Each(p.list, func(f plot) string { return strings.Split(f.kind, "-")[0] })
}

// Draw returns a figure in one of the formats: texts of 8 pt at any width.
func (p *Plots) Draw(name string, o PlotOptions) ([]byte, error) {
	found, ok := lists.Find(p.list, func(f plot) bool { return f.file == name })
	if !ok {
		return nil, fmt.Errorf("there is no figure %q", name)
	}

	mm := 1e3 * o.WidthM
	f := found.fig.Fit(paper.Width(mm))

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
