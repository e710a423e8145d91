package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	var bands []int
	for k, q := range d.Outcomes {
		if bandHz(q.Name) > 0 {
			bands = append(bands, k)
		}
	}
	if len(bands) < fewestBands {
		return
	}
	hz := func(k int) float64 { return bandHz(d.Outcomes[k].Name) }
	slices.SortFunc(bands, func(a, b int) int { return cmp.Compare(hz(a), hz(b)) })
	mu := s.overSeeds(func(e SeedDetail) []float64 { return e.Mu })
	va := s.overSeeds(func(e SeedDetail) []float64 { return e.Var })
	f := &figure.Figure{Width: 720}
	for _, held := range []bool{true, false} {
		var of []int
		for c, t := range s.Test {
			if t == held {
				of = append(of, c)
			}
		}
		if len(of) == 0 {
			continue
		}
		c := of[len(of)/2]
		model := figure.Mark{Kind: figure.Bars, Name: "mean μ ± 2 total standard deviations", Class: "mean"}
		data := figure.Mark{Kind: figure.Points, Name: m.d.data() + ", y1 and y2", Class: "test", Shape: "diamond", Size: 2.4}
		for _, k := range bands {
			at := c*d.dim() + k
			model.X, model.Y = append(model.X, hz(k)), append(model.Y, mu[at])
			model.Lo = append(model.Lo, mu[at]-2*math.Sqrt(va[at]))
			model.Hi = append(model.Hi, mu[at]+2*math.Sqrt(va[at]))
			for i, cond := range d.Cond {
				if cond == c {
					data.X = append(data.X, hz(k), hz(k))
					data.Y = append(data.Y, d.Y1[i*d.dim()+k], d.Y2[i*d.dim()+k])
				}
			}
		}
		line := figure.Mark{Kind: figure.Line, Class: "mean", Quiet: true, Thin: true, X: model.X, Y: model.Y}
		title := place(d.Inputs, d.X[c*d.in():(c+1)*d.in()], others(d.in()))
		if held {
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
		file: "bands", split: s.Name, heading: "Band levels over frequency", fig: f, page: true,
		caption: fmt.Sprintf("Predicted and %s levels of %d bands, at one of the held-out conditions and at one of the "+
			"training.", d.data(), len(bands)) + seedsText(s),
	})
}
