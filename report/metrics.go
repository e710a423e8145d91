package report

import (
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// Metrics is what other packages read of a metrics.json, by encoding/json. It has the types that MetricsJSON writes;
// what the file does not have is not computed, or NaN.
type Metrics struct {
	Experiment string
	Data       string // "simulated", "measured", …
	Splits     []SplitMetrics
}

// SplitMetrics is a split of Metrics.
type SplitMetrics struct {
	Name        string
	HeldOut     string `json:"held_out"`
	Verdict     string // a score.Grade; "" where nothing was judged
	Sentence    string
	Train, Test SetMetrics // without outcomes and notes
	Network     []score.OutcomeTrust
	Honest      interval.Record
}

// UnmarshalJSON reads the counts and the metrics of a part.
func (m *SetMetrics) UnmarshalJSON(b []byte) error {
	*m = SetMetrics{}
	for _, k := range score.MetricsOf(score.Parts) {
		m.Values = append(m.Values, score.Keyed{Key: k.Key})
	}

	o := object{"rows", &m.Rows, "conditions", &m.Conditions, "runs", &m.Runs}
	for i := range m.Values {
		o = append(o, m.Values[i].Key, &m.Values[i].Value)
	}

	return o.UnmarshalJSON(b)
}
