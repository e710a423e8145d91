package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// MetricsJSON returns metrics.json (see CONTRACT): keys in a fixed order,
// floats in the shortest form that reads back to the same bits, undefined
// numbers as null with their reason, and a newline at the end. The
// same experiment gives the same bytes. It fails when two outcomes of a set, or
// two splits, have one name, or when units do not match the outcomes.
func (e Experiment) MetricsJSON() ([]byte, error) {
	if e.OutcomeUnits != nil && len(e.OutcomeUnits) != len(e.Outcomes) {
		return nil, fmt.Errorf("write metrics of %q: %d units for %d outcomes", e.Name, len(e.OutcomeUnits), len(e.Outcomes))
	}

	if d := duplicate(e.Splits, func(s Split) string { return s.Name }); d != "" {
		return nil, fmt.Errorf("write metrics of %q: two splits are named %q", e.Name, d)
	}

	for _, s := range e.Splits {
		for _, set := range []SetMetrics{s.Train, s.Test} {
			if d := duplicate(set.Outcomes, func(o OutcomeMetrics) string { return o.Name }); d != "" {
				return nil, fmt.Errorf("write metrics of %q, split %q: two outcomes are named %q", e.Name, s.Name, d)
			}
		}
	}

	if e.OutcomeUnits == nil {
		e.OutcomeUnits = make([]string, len(e.Outcomes))
	}

	outcomes := numbers.Objects(lists.Numbers(len(e.Outcomes)), func(i int) object {
		return object{"name", e.Outcomes[i], "unit", e.OutcomeUnits[i]}
	})

	o := object{
		"experiment", e.Name, "data", e.Data, "pairs", e.Pairs, "construction", e.Construction, "couples", e.Couples,
		"inputs", stringArray(e.Inputs), "outcomes", outcomes, "recordings", e.Recordings, "runs", e.Runs,
		"triplets", e.Triplets, "config_digest", e.ConfigDigest, "version", e.Version,
		"warnings", stringArray(e.Warnings), "skipped", stringArray(e.Skipped), "splits",
		numbers.Objects(e.Splits, splitJSON),
	}
	if list := e.pooled(); list != nil {
		o = append(o, "pooled", lists.Each(list, pooled.json))
	}

	out, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write metrics of %q: %w", e.Name, err)
	}

	return append(out, '\n'), nil
}

func splitJSON(s Split) object {
	diff := object{}

	reasons := object{}
	for _, q := range papers {
		pct, why := difference(s.Train.Get(q.key), s.Test.Get(q.key))
		diff = append(diff, q.key, pct)

		if why != "" {
			reasons = append(reasons, q.key, why)
		}
	}

	if len(reasons) > 0 {
		diff = append(diff, "undefined", reasons)
	}

	o := object{
		"name", s.Name, "held_out", s.HeldOut, "seeds", s.Seeds, "mc_samples", s.MCSamples, "sampler", s.Sampler,
		"cov_method", s.CovMethod, "kernels", s.Kernels, "train", setJSON(s.Train), "test", setJSON(s.Test),
		"difference_pct", diff,
	}

	if s.Reach != "" {
		o = append(o, "reach", s.Reach)
	}

	o = append(o, verdictJSON(s)...)
	if len(s.Flags) > 0 {
		o = append(o, "diagnostics", lists.Each(s.flags(), Violation.String))
	}

	if c := comparisonJSON(s); c != nil {
		o = append(o, "methods", c)
	}

	return o
}

func setJSON(m SetMetrics) object {
	o := append(object{"rows", m.Rows, "conditions", m.Conditions, "runs", m.Runs}, valuesJSON(m.Values)...)

	outcomes := object{}
	for _, out := range m.Outcomes {
		outcomes = append(outcomes, out.Name, append(object{"unit", out.Unit}, valuesJSON(out.Values)...))
	}

	return append(o, "outcomes", outcomes, "notes", stringArray(m.Notes))
}

// valuesJSON writes every metric of a part, those not computed too.
func valuesJSON(v score.Values) (o object) {
	for _, m := range score.MetricsOf(score.Parts) {
		o = append(o, m.Key, v.Get(m.Key))
	}
	return o
}

type object = numbers.Object

// stringArray is a list that is never null.
func stringArray(s []string) []string { return append([]string{}, s...) }

// duplicate returns a name that occurs twice, "" when there is none.
func duplicate[T any](list []T, name func(T) string) string {
	seen := map[string]bool{}
	for _, x := range list {
		n := strings.ToValidUTF8(name(x), "\ufffd") // as it will be written
		if seen[n] {
			return n
		}

		seen[n] = true
	}

	return ""
}

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

// MetricsCSV returns every number of metrics.json, one a line, after a line of
// headings; undefined numbers are empty with the reason in the last column, and
// floats read back to the same bits.
func MetricsCSV(experiments []Experiment) []byte {
	var records []numbers.Object
	for _, e := range experiments {
		for n := range e.Numbers() {
			mean, std := n.Mean, n.Std
			if !n.Defined() {
				mean, std = math.NaN(), math.NaN()
			}

			records = append(records, numbers.Object{
				"experiment", e.Name, "data", e.Data, "split", n.Split, "held_out", n.HeldOut, "set", n.Set,
				"outcome", n.Outcome, "unit", n.Unit, "metric", n.Key, "mean", mean, "std", std, "seeds", n.N,
				"undefined", n.Reason(),
			})
		}
	}

	var b bytes.Buffer
	if err := CSV(&b, records); err != nil {
		panic("report: write to memory: " + err.Error())
	}

	return b.Bytes()
}

// Number is one metric of a part of a split, over its seeds.
type Number struct {
	Split, HeldOut, Set string
	Outcome, Unit       string // "all" for the mean over outcomes
	score.Keyed
}

// Numbers are all metrics that were computed, also where they are undefined.
func (e Experiment) Numbers() iter.Seq[Number] {
	return func(yield func(Number) bool) {
		for _, s := range e.Splits {
			for i, m := range []SetMetrics{s.Train, s.Test} {
				all := OutcomeMetrics{Name: "all", Values: m.Values}
				for _, o := range append([]OutcomeMetrics{all}, m.Outcomes...) {
					for _, v := range o.Values {
						n := Number{
							Split: s.Name, HeldOut: s.HeldOut, Set: []string{"train", "test"}[i], Outcome: o.Name, Unit: o.Unit, Keyed: v,
						}
						if !yield(n) {
							return
						}
					}
				}
			}
		}
	}
}
