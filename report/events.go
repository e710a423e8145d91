package report

import (
	"fmt"

	"doubletake/train/score"
)

// Event compares the probabilities that the networks claim for an event with how often it
// happened on what a split holds out (docs/method.md#events), over seeds. Its values are
// claimed and happened, e, v and sum_e_ratio (measured and claimed mean of (p − p̂)², and
// their ratio), with the standard errors happened_se, e_se and sum_e_ratio_se.
type Event struct {
	Name, Text string // Text is its expression
	score.Values
}

// eventWords states the claimed probability of every event and how often it happened,
// and explains the tables.
func (e Experiment) eventWords() (out []string) {
	for _, s := range e.Splits {
		for _, v := range s.Events {
			out = append(out, fmt.Sprintf("%s held out: %s (%s) is claimed with probability %s and happened in %s of the "+
				"values.", clean(s.HeldOut), clean(v.Name), clean(v.Text), round(v.Get("claimed"), 1).plain(),
				between(v.Get("happened"), v.Get("happened_se"))))
		}
	}

	if out == nil {
		return nil
	}

	return append(out, text("events", nil))
}

// between writes a value with its standard error.
func between(v, se score.Value) string {
	text := fmt.Sprintf("%.3g", v.Mean)
	if se.Defined() {
		text += " ± " + fmt.Sprintf("%.2g", se.Mean)
	}

	return text
}

func eventsJSON(list []Event) array {
	var out array
	for _, e := range list {
		o := object{"event", e.Name, "expression", e.Text}
		for _, v := range e.Values {
			o = append(o, v.Key, valueJSON(v.Value))
		}

		out = append(out, o)
	}

	return out
}
