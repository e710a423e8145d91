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
func judgeEvents(ctx context.Context, b *plan.Builder, set triplets.Set, models []*train.Model) ([]report.Event,
	error,
) {
	events, err := trainstage.Events(b, set.OutcomeNames())
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
		record := report.Event{Name: event.Name, Text: event.Text}
		for _, q := range eventNumbers {
			list := make([]float64, len(seeds))
			for i, s := range seeds {
				list[i] = q.of(s)
			}
			record.Values = append(record.Values, score.Keyed{Key: q.key, Value: score.Mean(list)})
		}
		out = append(out, record)
	}
	return out, nil
}

// eventNumbers are the values of report.Event.
var eventNumbers = []struct {
	key string
	of  func(score.Event) float64
}{
	{"claimed", func(s score.Event) float64 { return s.Claimed }},
	{"happened", func(s score.Event) float64 { return s.Happened }},
	{"happened_se", func(s score.Event) float64 { return s.HappenedSE }},
	{"e", func(s score.Event) float64 { return s.Error }},
	{"e_se", func(s score.Event) float64 { return s.ErrorSE }},
	{"v", func(s score.Event) float64 { return s.V }},
	{"sum_e_ratio", func(s score.Event) float64 { return s.Ratio }},
	{"sum_e_ratio_se", func(s score.Event) float64 { return s.RatioSE }},
}
