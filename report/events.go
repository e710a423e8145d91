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
	HeldOut    string // where a list has several splits'
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

// MarshalJSON writes the event as metrics.json has it.
func (e Event) MarshalJSON() ([]byte, error) {
	o := object{"event", e.Name, "expression", e.Text}
	if e.HeldOut != "" {
		o = append(o, "held_out", e.HeldOut)
	}

	for _, v := range e.Values {
		o = append(o, v.Key, v.Value)
	}

	return o.MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON wrote: of the values the probabilities.
func (e *Event) UnmarshalJSON(b []byte) error {
	*e = Event{Values: score.Values{{Key: "claimed"}, {Key: "happened"}, {Key: "happened_se"}}}
	return readValues(object{"event", &e.Name, "expression", &e.Text}, e.Values).UnmarshalJSON(b)
}
