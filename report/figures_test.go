package report

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report/figure"
)

// found returns the figure of a name, with all points.
func found(t *testing.T, d *Detail, name string) *figure.Figure {
	t.Helper()

	for _, p := range plots(d, filePoints, "") {
		if p.file == name {
			return p.fig
		}
	}

	t.Fatalf("no figure %s", name)

	return nil
}

// series is the mark of a panel whose name begins so.
func series(t *testing.T, p figure.Panel, name string) figure.Mark {
	t.Helper()

	for _, m := range p.Marks {
		if strings.HasPrefix(m.Name, name) {
			return m
		}
	}

	t.Fatalf("panel %q has no series %s", p.Title, name)

	return figure.Mark{}
}

// The RMSE at a panel of parity by hand: with two seeds that are wrong by 3 and 1 and
// pairs without noise it is 2, the mean of both.
func TestParityNumbers(t *testing.T) {
	d := campaign(4, 2, 5, 1, 2)
	copy(d.Y2, d.Y1)
	copy(d.Mean, d.Y1)

	for k, wrong := range []float64{3, 1} {
		for i, y := range d.Mean {
			d.Splits[0].Seeds[k].Mu[i] = y - wrong
		}
	}

	f := found(t, d, "2-blades-parity")
	require.Equal(t, 3, f.Columns, "%d columns, %d panels", f.Columns, len(f.Panels))
	require.Len(t, f.Panels, 5, "%d columns, %d panels", f.Columns, len(f.Panels))

	above := f.Panels[0]
	require.True(t, above.Square, "axes %+v, %+v", above.X, above.Y)
	require.Equal(t, above.Y.Min, above.X.Min, "axes %+v, %+v", above.X, above.Y)
	assert.Equal(t, above.Y.Max, above.X.Max, "axes %+v, %+v", above.X, above.Y)
	assert.Equal(t, "held out, RMSE 2.0 dB", series(t, above, "held out").Name)
}

// Medians over three seeds by hand; a bin whose covariance or error has no place on
// logarithmic axes is counted.
func TestBinsNumbers(t *testing.T) {
	d := campaign(4, 2, 5, 1, 3)
	d.Splits[0].Bins = [][]Bin{
		{{Cov: 0.002, E: 0.3, SE: 0.1}, {Cov: 0.01, E: -0.1, SE: 0.1}, {Cov: -0.02, E: 0.4, SE: 0.1}},
		{{Cov: 0.004, E: 0.5, SE: 0.1}, {Cov: 0.02, E: 0.7, SE: 0.1}, {Cov: 0.05, E: 0.6, SE: 0.1}},
		{{Cov: 0.003, E: 0.9, SE: 0.1}, {Cov: 0.03, E: 0.8, SE: math.NaN()}, {Cov: 0.06, E: 0.2, SE: 0.1}},
	}

	p := found(t, d, "2-blades-calibration").Panels[1]
	m := series(t, p, "median")
	for i, want := range [][2]float64{{0.003, 0.5}, {0.02, 0.7}, {0.05, 0.4}} {
		require.Equal(t, want[0], m.X[i], "median %d: %v, %v", i, m.X[i], m.Y[i])
		assert.Equal(t, want[1], m.Y[i], "median %d: %v, %v", i, m.X[i], m.Y[i])
	}

	assert.Equal(t, 0.001, p.X.Min, "whole decades about the medians")
	assert.Equal(t, 1.0, p.X.Max, "whole decades about the medians")
	assert.Equal(t, 0.001, p.Y.Min, "whole decades about the medians")
	assert.True(t, p.X.Log, "whole decades about the medians")

	assert.Contains(t, found(t, d, "2-blades-calibration").Desc, "Not drawn: 2 of 9 bins")

	assert.Len(t, series(t, p, "bins of C").X, 9)
}

// The mean line of the spectrum is the mean power: of 20 and 30 dB
// 10·log10((100 + 1000)/2) = 27.4036 dB; the band's edges are the halves.
func TestSpectrumBand(t *testing.T) {
	d := campaign(2, 2, 5, 1, 1)
	d.Shown.Level = [2][]float64{{0, 20, 25}, {0, 30, 24}}
	p := found(t, d, "spectrum").Panels[0]
	mean := series(t, p, "mean of both")
	band := series(t, p, "between")
	assert.InDelta(t, 27.403626894942438, mean.Y[0], 1e-9)
	assert.Equal(t, 20.0, band.Lo[0])
	assert.Equal(t, 30.0, band.Hi[0])
	assert.Equal(t, 24.0, band.Lo[1])
	require.Equal(t, 25.0, series(t, p, "first half").Y[1], "the halves are not there")
	assert.Equal(t, 24.0, series(t, p, "second half").Y[1], "the halves are not there")
}

// A figure of the directivity draws two bands. With a calibration these are its intervals, in the panels of held-out
// conditions only. Without one they are the network's, in every panel. Expected, by hand: 50 ± 7 and 50 ± 3 of the
// calibration; 55 ± 1.96·2 and 55 ± 2 of the network, whose variance is 2².
func TestDirectivityBands(t *testing.T) {
	d := campaign(4, 2, 5, 1, 1)
	split := &d.Splits[0]
	dim := len(d.Outcomes)
	none := slices.Repeat([]float64{math.NaN()}, len(split.Seeds[0].Mu))
	calibrated := &Intervals{Mu: slices.Clone(none), Half: slices.Clone(none), Half68: slices.Clone(none), Level: 0.9}
	for k := range none {
		split.Seeds[0].Mu[k] = 55
		split.Seeds[0].Var[k] = 2 * 2

		if split.Test[k/dim] {
			calibrated.Mu[k] = 50
			calibrated.Half[k] = 7
			calibrated.Half68[k] = 3
		}
	}

	type edges map[string][2]float64 // of bands, by name
	for _, c := range []struct {
		intervals *Intervals
		want      edges
	}{
		{nil, edges{"95 % interval": {55 - 3.92, 55 + 3.92}, "68 % interval": {53, 57}}},
		{calibrated, edges{"90 % interval": {43, 57}, "68 % interval": {47, 53}}},
	} {
		split.Calibrated = c.intervals
		f := found(t, d, "2-blades-directivity-bpf1_db-rpm-2500")
		require.Len(t, f.Panels, 4, "%d panels", len(f.Panels))
		require.True(t, f.Shared, "the panels share their axes")

		for i, p := range f.Panels {
			bands := slices.DeleteFunc(slices.Clone(p.Marks), func(m figure.Mark) bool { return m.Kind != figure.Band })
			want := 0
			if c.intervals == nil || strings.Contains(p.Title, "held out") {
				want = len(c.want)
			}

			require.Len(t, bands, want, "bands of panel %d", i)
			for _, band := range bands {
				require.Contains(t, c.want, band.Name, "panel %d", i)
				wantBand(t, band, c.want[band.Name][0], c.want[band.Name][1])
			}

			assert.Equal(t, f.Panels[0].Y.Min, p.Y.Min, "panel %d", i)
		}
	}
}

// wantBand fails unless a band has points, each with the given edges.
func wantBand(t *testing.T, band figure.Mark, low, high float64) {
	t.Helper()

	require.NotEmpty(t, band.Lo, "points of %s", band.Name)
	require.Len(t, band.Hi, len(band.Lo), "points of %s", band.Name)
	for i := range band.Lo {
		assert.InDelta(t, low, band.Lo[i], 1e-9, "lower edge of %s", band.Name)
		assert.InDelta(t, high, band.Hi[i], 1e-9, "upper edge of %s", band.Name)
	}
}

// The conditions of a place are written with their units; blades are counted.
func TestPlace(t *testing.T) {
	q := []Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}, {Name: "theta_deg", Unit: "deg"}, {Name: "tip"}}
	at := []float64{3, 5000, -12.5, 0.5}
	assert.Equal(t, "3 blades, shaft speed 5000 1/min, polar angle θ −12.5 deg, tip = 0.5",
		placeText(q, at, indicesWithout(4)))

	assert.Equal(t, "3 blades", placeText(q, at, []int{0}))
}

// A plot has the page's numbers and the width asked for; a split's plots have no prefix.
func TestPlots(t *testing.T) {
	d := campaign(4, 2, 5, 2, 2)
	all := NewPlots(d, "").Names()
	one := NewPlots(d, "3-blades")
	assert.Contains(t, all, "3-blades-parity")
	assert.Contains(t, all, "spectrum")
	assert.NotContains(t, all, "parity")

	n := one.Names()
	assert.Contains(t, n, "parity")
	assert.NotContains(t, n, "spectrum")

	o := PlotOptions{Format: "svg", WidthM: 0.084}
	svg, err := one.Draw("directivity-bpf1_db-rpm-2500", o)
	require.NoError(t, err)
	assert.True(t, bytes.Contains(svg, []byte(`width="84.00mm"`)), "not 84 mm wide")
	numbers := regexp.MustCompile(` data-(?:x|y|lo|hi)="[^"]*"`)
	i := slices.IndexFunc(Figures(d), func(f FigureFile) bool { return f.File == "3-blades-directivity-bpf1_db-rpm-2500" })
	page := numbers.FindAllString(string(Figures(d)[i].SVG), -1)
	got := numbers.FindAllString(string(svg), -1)
	require.NotEmpty(t, got)
	assert.Equal(t, page, got)

	for format, head := range map[string]string{"pdf": "%PDF-", "png": "\x89PNG"} {
		b, err := one.Draw("parity", PlotOptions{Format: format, WidthM: 0.084, DPI: 100})
		require.NoError(t, err, format)
		assert.True(t, bytes.HasPrefix(b, []byte(head)), "%s: %.8q", format, b)
	}

	if _, err := one.Draw("parity", PlotOptions{Format: "gif", WidthM: 0.084}); err == nil {
		t.Error("gif is drawn")
	}
}

// Spectra whose levels are not all known. Expected: the axis has the range of the levels that are known, 1 to 4 dB with
// its room. If none is known, least and largest are 0: the figure then chooses the range.
func TestSpectrumRange(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		level []float64 // of both halves; the first bin is not drawn
		want  figure.Axis
	}{
		"one level is not known": {[]float64{0, 1, nan, 4}, figure.Axis{Min: 1 - spectrumBelow, Max: 4 + spectrumAbove}},
		"no levels":              {nil, figure.Axis{}},
	} {
		d := campaign(2, 2, 2, 1, 1)
		d.Shown = &SpectrumDetail{Recording: "r", BinHz: 10, Level: [2][]float64{c.level, c.level}}
		y := found(t, d, "spectrum").Panels[0].Y
		assert.Equal(t, []float64{c.want.Min, c.want.Max}, []float64{y.Min, y.Max}, name)
	}
}

// Expected: no two names are the same on a file system that ignores letter case.
func TestUnusedName(t *testing.T) {
	m := &maker{used: map[string]bool{}}
	var names []string
	for _, base := range []string{"Fx", "fx", "fx", "Fx-2", "q"} {
		names = append(names, m.unusedName(base))
	}

	assert.Equal(t, []string{"Fx", "fx-2", "fx-3", "Fx-2-2", "q"}, names)
}
