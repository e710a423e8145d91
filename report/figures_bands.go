package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

// fewestBands is the smallest number of band levels that are drawn over frequency.
const fewestBands = 3

// bandHz returns the frequency of an outcome that is a level of a fractional octave, such as "l_31_5hz_db", and 0 for
// other outcomes.
func bandHz(name string) float64 {
	digits, ok := cutBoth(name, "l_", "hz_db")
	if !ok {
		return 0
	}

	hz, err := strconv.ParseFloat(strings.Replace(digits, "_", ".", 1), 64)
	if err != nil {
		return 0
	}

	return hz
}

// bandOutcome is an outcome that is a level of a fractional octave.
type bandOutcome struct {
	index int     // in Detail.Outcomes
	hz    float64 // mid-frequency
}

// bands returns the outcomes that are band levels, in the order of their frequencies.
func (d *Detail) bands() []bandOutcome {
	var bands []bandOutcome
	for k, outcome := range d.Outcomes {
		if hz := bandHz(outcome.Name); hz > 0 {
			bands = append(bands, bandOutcome{k, hz})
		}
	}

	slices.SortFunc(bands, func(a, b bandOutcome) int { return cmp.Compare(a.hz, b.hz) })

	return bands
}

// bandLevels draws the predicted and the measured band levels over frequency at the condition in the middle of the
// held-out conditions, and at the one in the middle of the training conditions. If there are none of one kind, it draws
// one panel.
func (m *maker) bandLevels(split *SplitDetail) {
	detail := m.detail
	bands := detail.bands()
	if len(bands) < fewestBands {
		return
	}

	fig := &figure.Figure{Width: 720}
	trained, held := split.trainedAndHeldOut(len(split.Test))
	if len(held) > 0 {
		panel := m.bandPanel(split, bands, held[len(held)/2])
		panel.Title += ", held out"
		fig.Panels = append(fig.Panels, panel)
	}

	if len(trained) > 0 {
		fig.Panels = append(fig.Panels, m.bandPanel(split, bands, trained[len(trained)/2]))
	}

	fig.Columns = len(fig.Panels)
	if fig.Columns == 0 {
		return
	}

	m.add(captionedFigure{
		kind: "bands", split: split.Name, model: paperNetwork, fig: fig, page: true,
		heading: "The paper's network: band levels over frequency",
		caption: phrase("figure-bands", map[string]any{
			"Data": detail.data(), "N": len(bands), "Seeds": len(split.Seeds),
			"HeldOut": len(held) > 0, "Trained": len(trained) > 0,
		}),
	})
}

// bandPanel draws the band levels of one condition.
func (m *maker) bandPanel(split *SplitDetail, bands []bandOutcome, condition int) figure.Panel {
	detail := m.detail
	mu, variance := split.answers()
	model := figure.Mark{Kind: figure.Bars, Name: "mean μ ± 2 total standard deviations", Class: "mean"}
	data := figure.Mark{
		Kind: figure.Points, Name: detail.data() + ", y1 and y2", Class: "test", Shape: "diamond", Size: 2.4,
	}

	for _, band := range bands {
		i := condition*detail.outcomeCount() + band.index
		model.Bar(band.hz, mu[i], 2*math.Sqrt(variance[i]))

		for _, row := range m.rowsOf(condition) {
			data.NamedPoint(band.hz, detail.Y1[row*detail.outcomeCount()+band.index], detail.runOf(row))
			data.NamedPoint(band.hz, detail.Y2[row*detail.outcomeCount()+band.index], detail.runOf(row))
		}
	}

	line := figure.Mark{Kind: figure.Line, Class: "mean", Quiet: true, Thin: true, X: model.X, Y: model.Y}

	return figure.Panel{
		Title: detail.placeOf(condition), X: figure.Axis{Label: "mid-frequency f of the band (Hz)", Log: true},
		Y: figure.Axis{Label: withUnit("band level", detail.Outcomes[bands[0].index].Unit)}, Height: 220,
		Marks: []figure.Mark{line, model, data},
	}
}
