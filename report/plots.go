package report

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/report/figure"
	"doubletake/report/figure/paper"
)

// PlotOptions adapts a figure to the place for which it is drawn.
type PlotOptions struct {
	Format string  // "svg", "pdf" or "png"
	WidthM float64 // width on paper, m
	DPI    float64 // resolution of a PNG
}

// PlotFormats returns the formats of a figure.
func PlotFormats() []string { return []string{"svg", "pdf", "png"} }

// Plots contains the figures of an experiment. Draw draws one of them.
type Plots struct{ list []captionedFigure }

// NewPlots makes the figures of one experiment. If split is not "", it makes the figures of this split alone.
func NewPlots(detail *Detail, split string) *Plots { return &Plots{plots(detail, filePoints, split)} }

// Names returns the names of the figures, as Draw takes them.
func (p *Plots) Names() []string {
	var names []string
	for _, plot := range p.list {
		names = append(names, plot.file)
	}

	return names
}

// Kinds returns the kind of each figure, in the order of Names: "parity", "directivity".
func (p *Plots) Kinds() []string {
	var kinds []string
	for _, plot := range p.list {
		kind, _, _ := strings.Cut(plot.kind, "-")
		kinds = append(kinds, kind)
	}

	return kinds
}

// Draw returns a figure in one of the formats. Its texts have 8 pt at any width.
func (p *Plots) Draw(name string, options PlotOptions) ([]byte, error) {
	i := slices.Index(p.Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("there is no figure %q", name)
	}

	millimetres := 1e3 * options.WidthM
	fig := p.list[i].fig.Fit(paper.Width(millimetres))

	switch options.Format {
	case "svg":
		return figure.Draw(fig, figure.Options{Millimetres: millimetres}), nil
	case "pdf":
		return paper.PDF(fig)
	case "png":
		return paper.PNG(fig, options.DPI)
	}

	return nil, fmt.Errorf("format %q is none of %s", options.Format, strings.Join(PlotFormats(), ", "))
}
