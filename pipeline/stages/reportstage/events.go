package reportstage

import (
	"context"
	"fmt"
	"slices"

	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// judgeEvents compares the probabilities of the experiment's events with how often
// they happened in the test part of set.
func judgeEvents(ctx context.Context, exp plan.Experiment, set triplets.Set, models []*train.Model) ([]report.Event,
	error,
) {
	events, err := trainstage.Events(exp, set.OutcomeNames())
	if err != nil || len(events) == 0 {
		return nil, err
	}

	test := set.Of(triplets.Test)
	present := test.Present()
	var x []float64

	at := map[int]int{}
	for i, c := range present {
		x, at[c] = append(x, test.At(c)...), i
	}

	var out []report.Event
	for _, event := range events {
		j := slices.Index(set.OutcomeNames(), event.Outcome)

		in1, in2 := make([]bool, test.N), make([]bool, test.N)
		for i := range test.N {
			in1[i], in2[i] = event.Holds(test.Y1[i*set.Out+j]), event.Holds(test.Y2[i*set.Out+j])
		}

		var seeds []score.Event
		for _, m := range models {
			p, v, err := m.Event(ctx, x, j, event.Holds)
			if err != nil {
				return nil, fmt.Errorf("judge event %s: %w", event.Name, err)
			}

			rowP, rowV := make([]float64, test.N), make([]float64, test.N)
			for i, c := range test.Condition {
				rowP[i], rowV[i] = p[at[c]], v[at[c]]
			}

			seeds = append(seeds, score.JudgeEvent(rowP, rowV, in1, in2, test.Run))
		}

		out = append(out, report.Event{Name: event.Name, Text: event.Text, Values: score.Values{
			meanOver("claimed", seeds, func(s score.Event) float64 { return s.Claimed }),
			meanOver("happened", seeds, func(s score.Event) float64 { return s.Happened }),
			meanOver("happened_se", seeds, func(s score.Event) float64 { return s.HappenedSE }),
			meanOver("e", seeds, func(s score.Event) float64 { return s.Error }),
			meanOver("e_se", seeds, func(s score.Event) float64 { return s.ErrorSE }),
			meanOver("v", seeds, func(s score.Event) float64 { return s.V }),
			meanOver("sum_e_ratio", seeds, func(s score.Event) float64 { return s.Ratio }),
			meanOver("sum_e_ratio_se", seeds, func(s score.Event) float64 { return s.RatioSE }),
		}})
	}

	return out, nil
}
