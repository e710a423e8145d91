package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
)

// fewestBands is the number of band levels from which they are drawn over
// frequency.
const fewestBands = 3

// bandHz is the frequency of an outcome that is a level of a fractional octave,
// "l_31_5hz_db", 0 of any other.
func bandHz(name string) float64 {
	n, ok := cutBoth(name, "l_", "hz_db")
	if !ok {
		return 0
	}

	hz, err := strconv.ParseFloat(strings.Replace(n, "_", ".", 1), 64)
	if err != nil {
		return 0
	}

	return hz
}

// bandLevels draws the predicted and the measured band levels over frequency at two
// conditions: in the middle of the held-out ones and of those of the training.
func (m *maker) bandLevels(s *SplitDetail) {
	d := m.d
	hz := func(k int) float64 { return bandHz(d.Outcomes[k].Name) }

	bands := lists.Where(d.dim(), func(k int) bool { return hz(k) > 0 })
	if len(bands) < fewestBands {
		return
	}

	slices.SortFunc(bands, func(a, b int) int { return cmp.Compare(hz(a), hz(b)) })
	mu, variance := s.answers()
	f := &figure.Figure{Width: 720}

	parts := s.heldOut(len(s.Test), func(c int) int { return c })
	for _, held := range []int{1, 0} {
		of := parts[held]
		if len(of) == 0 {
			continue
		}

		c := of[len(of)/2]
		model := figure.Mark{Kind: figure.Bars, Name: "mean μ ± 2 total standard deviations", Class: "mean"}

		data := figure.Mark{Kind: figure.Points, Name: m.d.data() + ", y1 and y2", Class: "test", Shape: "diamond", Size: 2.4}
		for _, k := range bands {
			at := c*d.dim() + k
			model.Bar(hz(k), mu[at], 2*math.Sqrt(variance[at]))

			for i, cond := range d.Cond {
				if cond == c {
					data.Point(hz(k), d.Y1[i*d.dim()+k])
					data.Point(hz(k), d.Y2[i*d.dim()+k])
				}
			}
		}

		line := figure.Mark{Kind: figure.Line, Class: "mean", Quiet: true, Thin: true, X: model.X, Y: model.Y}

		title := d.placeOf(c)
		if held == 1 {
			title += ", held out"
		}

		f.Panels = append(f.Panels, figure.Panel{
			Title: title, X: figure.Axis{Label: "mid-frequency f of the band (Hz)", Log: true},
			Y: figure.Axis{Label: in("band level", d.Outcomes[bands[0]].Unit)}, Height: 220,
			Marks: []figure.Mark{line, model, data},
		})
	}

	if f.Columns = len(f.Panels); f.Columns == 0 {
		return
	}

	m.add(plot{
		kind: "bands", split: s.Name, heading: "Band levels over frequency", fig: f, page: true,
		caption: text("figure-bands", map[string]any{"Data": d.data(), "N": len(bands), "Seeds": len(s.Seeds)}),
	})
}
