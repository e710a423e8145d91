package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/derive"
	"doubletake/report"
	"doubletake/train"
)

// EventProbability is the models' joint claim of an event at N conditions.
type EventProbability struct {
	report.Event
	P []float64 // probability that one measurement is in the event's range, mean over the models
	V []float64 // epistemic variance of P, mean over the models
}

// Bound returns the range that holds the probability of condition i with confidence
// 1 − alpha at least, if the head's law is right: P ± √(V/alpha), within 0 to 1.
func (e EventProbability) Bound(i int, alpha float64) (lo, hi float64) {
	w := math.Sqrt(e.V[i] / alpha)
	return max(e.P[i]-w, 0), min(e.P[i]+w, 1)
}

// PredictEvents returns the probabilities of m.Events at conditions x; nil without
// binned heads.
func (m *Models) PredictEvents(ctx context.Context, x []float64) ([]EventProbability, error) {
	if slices.ContainsFunc(m.nets, func(n *train.Model) bool { return n.Config.Head != train.Binned }) {
		return nil, nil
	}

	var outcomes []string
	for _, o := range m.Card.Outcomes {
		outcomes = append(outcomes, o.Name)
	}

	var out []EventProbability
	for _, r := range m.Events {
		event, err := derive.NewEvent(derive.Definition{Name: r.Name, Text: r.Text}, outcomes)
		if err != nil {
			return nil, fmt.Errorf("predict event %s of the experiment's report: %w", r.Name, err)
		}

		n := len(x) / len(m.Card.Inputs)
		e := EventProbability{Event: r, P: make([]float64, n), V: make([]float64, n)}
		for _, net := range m.nets {
			p, v, err := net.Event(ctx, x, slices.Index(outcomes, event.Outcome), event.Holds)
			if err != nil {
				return nil, fmt.Errorf("predict event %s: %w", r.Name, err)
			}

			for i := range p {
				e.P[i] += p[i] / float64(len(m.nets))
				e.V[i] += v[i] / float64(len(m.nets))
			}
		}

		out = append(out, e)
	}

	return out, nil
}
