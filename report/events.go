package report

import (
	"fmt"

	"doubletake/train/score"
)

// Event compares the probabilities that the networks claim for an event with how often it
// happened on what a split holds out (docs/method.md#events), over seeds.
type Event struct {
	Name, Text           string // Text is its expression
	Claimed              score.Value
	Happened, HappenedSE score.Value
	Error, ErrorSE, V    score.Value // measured and claimed mean of (p − p̂)²
	Ratio, RatioSE       score.Value
}

// numbers returns the numbers of an event with their names in metrics.json.
func (e Event) numbers() []struct {
	name string
	score.Value
} {
	return []struct {
		name string
		score.Value
	}{
		{"claimed", e.Claimed},
		{"happened", e.Happened},
		{"happened_se", e.HappenedSE},
		{"e", e.Error},
		{"e_se", e.ErrorSE},
		{"v", e.V},
		{"sum_e_ratio", e.Ratio},
		{"sum_e_ratio_se", e.RatioSE},
	}
}

// events returns the table of a split's events.
func (s Split) events() table {
	t := table{title: "Events on what " + clean(s.Name) + " holds out (experimental)", corner: "event"}
	when := column{head: "when", text: true}
	heads := []string{"claimed", "happened", "SE", "e", "SE", "V", "Σe/ΣV", "SE"}
	columns := make([]column, len(heads))
	for i, h := range heads {
		columns[i].head = h
	}
	for _, e := range s.Events {
		t.labels, when.cells = append(t.labels, e.Name), append(when.cells, number{text: e.Text})
		for i, v := range e.numbers() {
			cell := round(v.Value, 1)
			if heads[i] == "SE" {
				cell = twoDigits(v.Value, 1)
			}
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	t.groups = []group{{columns: append([]column{when}, columns...)}}
	return t
}

// eventWords states the claimed probability of every event and how often it happened,
// and explains the tables.
func (e Experiment) eventWords() (out []string) {
	for _, s := range e.Splits {
		for _, v := range s.Events {
			out = append(out, fmt.Sprintf("%s held out: %s (%s) is claimed with probability %s and happened in %s of the "+
				"values.", clean(s.HeldOut), clean(v.Name), clean(v.Text), round(v.Claimed, 1).plain(),
				between(v.Happened, v.HappenedSE)))
		}
	}
	if out == nil {
		return nil
	}
	return append(out, "Events: claimed is the mean probability p̂ by the binned head's tables, happened the share of "+
		"held-out values. e measures by pairs the mean square by which p̂ misses the probability of a condition, V is what "+
		"the head claims of that; Σe/ΣV is 1 where V is right, above where it claims too little. The head is experimental.")
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
		o := object{{"event", e.Name}, {"expression", e.Text}}
		for _, v := range e.numbers() {
			o = append(o, member{v.name, valueJSON(v.Value)})
		}
		out = append(out, o)
	}
	return out
}
