package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A plot has the page's numbers, the width asked for, and the limits on the axes of the
// first panel and those like it; a split's plots have no prefix.
func TestPlots(t *testing.T) {
	d := campaign(4, 2, 5, 2, 2)
	all, one := NewPlots(d, "", false).Names(), NewPlots(d, "3-blades", false)
	if !slices.Contains(all, "3-blades-map") || !slices.Contains(all, "spectrum") || slices.Contains(all, "map") {
		t.Errorf("%q", all)
	}

	if n := one.Names(); !slices.Contains(n, "map") || slices.Contains(n, "spectrum") {
		t.Errorf("%q", n)
	}

	o := PlotOptions{Format: "svg", WidthM: 0.084, X: [2]float64{-30, 30}, Y: [2]float64{40, 80}}
	svg, err := one.Draw("directivity-bpf1_db-rpm-2500", o)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Contains(svg, []byte(`width="84.00mm"`)) {
		t.Error("not 84 mm wide")
	}

	if n := len(regexp.MustCompile(`data-xscale="lin -30 30 .*data-yscale="lin 40 80 `).FindAll(svg, -1)); n != 4 {
		t.Errorf("%d panels have the limits", n)
	}

	numbers := regexp.MustCompile(` data-(?:x|y|lo|hi)="[^"]*"`)
	i := slices.IndexFunc(Figures(d), func(f FigureFile) bool { return f.File == "3-blades-directivity-bpf1_db-rpm-2500" })
	page := numbers.FindAllString(string(Figures(d)[i].SVG), -1)
	if got := numbers.FindAllString(string(svg), -1); len(got) == 0 || !slices.Equal(got, page) {
		t.Error("the numbers are not the page's")
	}

	// Of parity the strip below has another vertical axis.
	o.X = [2]float64{}
	if svg, err = one.Draw("parity", o); err != nil {
		t.Fatal(err)
	}

	if n := strings.Count(string(svg), `data-yscale="lin 40 80 `); n != 5 {
		t.Errorf("%d of five panels have the limits", n)
	}

	for format, head := range map[string]string{"pdf": "%PDF-", "png": "\x89PNG"} {
		if b, err := one.Draw("map", PlotOptions{Format: format, WidthM: 0.084, DPI: 100}); err != nil ||
			!bytes.HasPrefix(b, []byte(head)) {
			t.Errorf("%s: %.8q, %v", format, b, err)
		}
	}

	if _, err := one.Draw("map", PlotOptions{Format: "gif", WidthM: 0.084}); err == nil {
		t.Error("gif is drawn")
	}

	if n := NewPlots(d, "3-blades", true).Names(); !slices.Contains(n, "polar-directivity-bpf1_db-rpm-2500") {
		t.Errorf("%q", n)
	}
}
