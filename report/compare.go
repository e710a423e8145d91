package report

import (
	"slices"
	"strings"

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
	FitS score.Value // seconds to train, on the machine and load of that run; not part of metrics.json
	AskS score.Value // seconds to predict all conditions

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

// Keys of Compared.Values with the claims scaled as groups left out of the method's own
// training taught (docs/honest.md).
const (
	RatioScaled    = "sum_e_ratio_scaled" // Σe over the sum of the scaled variances
	CoverageScaled = "coverage95_scaled"  // share of values inside the intervals
)

// crossed reports whether any method was calibrated on its left-out groups.
func (s Split) crossed() bool {
	return slices.ContainsFunc(s.Methods, func(m Compared) bool { return m.Get(RatioScaled).Defined() })
}

// comparisonWords explains events and the comparison.
func (e Experiment) comparisonWords() []string {
	words := e.eventWords()
	if !slices.ContainsFunc(e.Splits, func(s Split) bool { return len(s.Methods) > 0 }) {
		return words
	}

	return slices.Concat(words, e.doubts(), paragraphs("compared", map[string]any{
		"Crossed": slices.ContainsFunc(e.Splits, Split.crossed), "Without": e.withoutScaled(),
		"Claims": strings.Join(e.claims(), "; "),
	}))
}

// withoutScaled says which methods have no scaled number on a split, and why.
func (e Experiment) withoutScaled() []string {
	var out []string
	for _, s := range e.Splits {
		var g gathered
		for _, m := range s.Methods {
			if why := m.Get(RatioScaled).Undefined; why != "" {
				g.add(why, m.Method)
			}
		}

		for _, why := range g.texts {
			out = append(out, g.where(why)+" on "+clean(s.Name)+": no scaled number: "+clean(why)+".")
		}
	}

	return out
}

// doubts says of which methods v̂ is not what they claim.
func (e Experiment) doubts() []string {
	var out []string
	for _, s := range e.Splits {
		for _, m := range s.Methods {
			if m.Doubt != "" {
				out = append(out, clean(m.Method)+" on "+clean(s.Name)+" is doubtful in "+m.Doubt+".")
			}
		}
	}

	return out
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
func comparisonJSON(s Split) array {
	var out array
	for _, m := range s.Methods {
		o := object{"method", m.Method}
		for _, v := range m.Values {
			o = append(o, v.Key, v.Value)
		}

		out = append(out, o)
	}

	return out
}

// Cell writes a value times scale as the tables do: "0.991 ± 0.012".
func Cell(v score.Value, scale float64) string {
	return round(v, scale).plain()
}
