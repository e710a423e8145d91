package report

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"doubletake/internal/must"
)

// A plot has the page's numbers and the width asked for; a split's plots have no prefix.
func TestPlots(t *testing.T) {
	d := campaign(4, 2, 5, 2, 2)
	all, one := NewPlots(d, "").Names(), NewPlots(d, "3-blades")
	if !slices.Contains(all, "3-blades-parity") || !slices.Contains(all, "spectrum") || slices.Contains(all, "parity") {
		t.Errorf("%q", all)
	}

	if n := one.Names(); !slices.Contains(n, "parity") || slices.Contains(n, "spectrum") {
		t.Errorf("%q", n)
	}

	o := PlotOptions{Format: "svg", WidthM: 0.084}
	svg, err := one.Draw("directivity-bpf1_db-rpm-2500", o)
	must.Do(t, err)
	must.Not(t, !bytes.Contains(svg, []byte(`width="84.00mm"`)), "not 84 mm wide")
	numbers := regexp.MustCompile(` data-(?:x|y|lo|hi)="[^"]*"`)
	i := slices.IndexFunc(Figures(d), func(f FigureFile) bool { return f.File == "3-blades-directivity-bpf1_db-rpm-2500" })
	page := numbers.FindAllString(string(Figures(d)[i].SVG), -1)
	if got := numbers.FindAllString(string(svg), -1); len(got) == 0 || !slices.Equal(got, page) {
		t.Error("the numbers are not the page's")
	}

	for format, head := range map[string]string{"pdf": "%PDF-", "png": "\x89PNG"} {
		if b, err := one.Draw("parity", PlotOptions{Format: format, WidthM: 0.084, DPI: 100}); err != nil ||
			!bytes.HasPrefix(b, []byte(head)) {
			t.Errorf("%s: %.8q, %v", format, b, err)
		}
	}

	if _, err := one.Draw("parity", PlotOptions{Format: "gif", WidthM: 0.084}); err == nil {
		t.Error("gif is drawn")
	}
}
