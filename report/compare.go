package report

import (
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/score"
)

// Compared are the metrics of one method on a split's test part
// (docs/method.md#scores), over seeds, in standardised units: each method's own
// mean and variances are judged. The shares of
// y below predicted quantiles, below_0.05 and so on, are not among score.Metrics.
type Compared struct {
	Method string
	Claim  string // what its v̂ is, in words; "" when not stated
	score.Values
	Doubt string // "2 of 5 seeds: the chains disagree": why v̂ is not what the method claims; "" where nothing is known
}

// label is the method's name in a table, with a warning.
func (m Compared) label() string {
	if m.Doubt != "" {
		return m.Method + ", doubtful"
	}
	return m.Method
}

// Ranked is the place of a method by the mean CRPS of its predictions of what is
// held out, in standardised units.
type Ranked struct {
	Method string
	CRPS   float64
	Above  float64 // the best one's
	SE     float64 // of Above, paired by rows and seeds; NaN with one run
	Is     string  // "best", "worse", "as good" or "undecided", and where it is as good whether it is by NLL
}

// comparisonWords explains the comparison.
func (e Experiment) comparisonWords() []string {
	if !slices.ContainsFunc(e.Splits, func(s Split) bool { return len(s.Methods) > 0 }) {
		return nil
	}

	return paragraphs("compared", e)
}

// claims lists what v̂ is of each method, once for all splits.
func (e Experiment) claims() []string {
	var out []string
	for _, s := range e.Splits {
		for _, m := range s.Methods {
			if text := clean(m.Method) + ": " + m.Claim; m.Claim != "" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}

	return out
}

// comparisonJSON is the part of metrics.json that compares methods; nil without.
func comparisonJSON(s Split) []object {
	return lists.Each(s.Methods, func(m Compared) object {
		o := object{"method", m.Method}
		for _, v := range m.Values {
			o = append(o, v.Key, v.Value)
		}

		return o
	})
}

// Cell writes a value times scale as the tables do: "0.991 ± 0.012".
func Cell(v score.Value, scale float64) string {
	return round(v, scale).plain()
}
