// Package runs reads what runs left in their work directories: the records of past runs, the
// settings and numbers of two to compare, and the figures of a report.
package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/report"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Change is one setting that differs between two work directories; "" means
// that it is not there.
type Change struct {
	Where string `json:"where"` // "drone", or "drone/2-blades" for a split's training
	Key   string `json:"key"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Number is a mean over seeds with its sample standard deviation, or an estimate with
// its standard error; NaN is written as null.
type Number struct{ Mean, Std, SE float64 }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	v := struct{ Mean, Std, SE numbers.Float }{numbers.NaN, numbers.NaN, numbers.NaN}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}

	*n = Number{float64(v.Mean), float64(v.Std), float64(v.SE)}

	return nil
}

// MarshalJSON writes {"mean": …, "std": …}, or {"mean": …, "se": …}.
func (n Number) MarshalJSON() ([]byte, error) {
	if !math.IsNaN(n.SE) {
		return json.Marshal(numbers.Object{"mean", n.Mean, "se", n.SE})
	}

	return json.Marshal(numbers.Object{"mean", n.Mean, "std", n.Std})
}

// MetricKey names a number of a report.
type MetricKey struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	Set        string `json:"set"`
	Metric     string `json:"metric"`
	Prediction string `json:"prediction,omitempty"` // of errors and intervals: "calibrated" or "network"
	Unit       string `json:"unit,omitempty"`
	Outcomes   string `json:"outcomes,omitempty"` // where there are several units
}

// MetricRecord is a number of a report.
type MetricRecord struct {
	MetricKey
	Value Number `json:"value"`
}

// MetricChange is one number of both work directories.
type MetricChange struct {
	MetricKey
	A Number `json:"a"`
	B Number `json:"b"`
	// Of errors on the same held-out set of the same triplets: "better" or "worse" where B
	// differs by more than two standard errors, which take the two for independent.
	Verdict string `json:"verdict,omitempty"`
}

// SplitRecord is the verdict of a split.
type SplitRecord struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	HeldOut    string `json:"held_out"`
	Rows       int    `json:"rows"`    // held out
	Verdict    string `json:"verdict"` // of score.Grade; "" where nothing was judged
}

// Difference is what Diff found.
type Difference struct {
	Settings []Change       `json:"settings"`                   // that differ
	Unknown  bool           `json:"settings_unknown,omitempty"` // of one of the two
	Metrics  []MetricChange `json:"metrics"`                    // of splits both have, and of splits one has
}

// Diff compares the last runs with reports of two work directories, or of the configurations at these paths.
func Diff(a, b string) (*Difference, error) {
	var of [2]*Record
	for i, path := range []string{a, b} {
		list, _, err := History(path)
		if err != nil {
			return nil, err
		}

		for k := range list {
			if of[i] == nil || len(list[k].Splits) > 0 || len(of[i].Splits) == 0 {
				of[i] = &list[k]
			}
		}

		if of[i] == nil {
			return nil, fmt.Errorf("read workdir %s: expected records of runs, found none; run the pipeline there first", path)
		}
	}

	return DiffRecords(of[0], of[1]), nil
}

// byPlace lists settings by where they are and their key.
func byPlace(list []Setting) map[[2]string]string {
	out := make(map[[2]string]string, len(list))
	for _, v := range list {
		out[[2]string{v.Where, v.Key}] = v.Value
	}
	return out
}

// difference compares the settings and the numbers of two records.
func difference(a, b *Record) *Difference {
	d := &Difference{Settings: []Change{}, Metrics: []MetricChange{}}
	before, after := byPlace(a.Settings), byPlace(b.Settings)
	for _, k := range union(before, after) {
		if x, y := before[k], after[k]; x != y {
			d.Settings = append(d.Settings, Change{k[0], k[1], x, y})
		}
	}

	// Of a split: what it held out, of which triplets.
	of := func(r *Record) map[[2]string]string {
		out, data := map[[2]string]string{}, byPlace(r.Data)
		for _, s := range r.Splits {
			digest := data[[2]string{s.Experiment, dataDigest}]
			out[[2]string{s.Experiment, s.Split}] = fmt.Sprintf("%d rows of %s, %s", s.Rows, digest, s.HeldOut)
		}
		return out
	}
	numbers := func(r *Record) map[MetricKey]Number {
		out := make(map[MetricKey]Number, len(r.Metrics))
		for _, m := range r.Metrics {
			out[m.MetricKey] = m.Value
		}
		return out
	}

	heldA, heldB, from, to := of(a), of(b), numbers(a), numbers(b)
	value := func(of map[MetricKey]Number, k MetricKey) Number {
		if v, ok := of[k]; ok {
			return v
		}
		return Number{math.NaN(), math.NaN(), math.NaN()}
	}
	for _, k := range union(from, to) {
		c := MetricChange{MetricKey: k, A: value(from, k), B: value(to, k)}
		if s := [2]string{k.Experiment, k.Split}; k.Metric == "rmse" && heldA[s] == heldB[s] {
			c.Verdict = better(c.A, c.B)
		}
		d.Metrics = append(d.Metrics, c)
	}

	return d
}

// better compares two errors.
func better(a, b Number) string {
	switch most := 2 * math.Hypot(a.SE, b.SE); {
	case b.Mean < a.Mean-most:
		return "better"
	case b.Mean > a.Mean+most:
		return "worse"
	}

	return ""
}

// union lists the keys of both, sorted.
func union[K comparable, V any](a, b map[K]V) []K {
	names := make(map[K]string, len(a))
	for _, m := range []map[K]V{a, b} {
		for k := range m {
			names[k] = fmt.Sprint(k)
		}
	}

	out := slices.Collect(maps.Keys(names))
	slices.SortFunc(out, func(x, y K) int { return strings.Compare(names[x], names[y]) })

	return out
}

// addMetrics adds the verdicts and the numbers of a metrics.json that are compared: R², E|cov|, C and e of both parts,
// Σe/ΣC with its standard error, and errors and intervals in the outcomes' units with theirs.
func (r *Record) addMetrics(b []byte) error {
	var doc report.Metrics
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}

	var list []MetricRecord
	for _, s := range doc.Splits {
		put := func(k MetricKey, v, std, se float64) {
			k.Experiment, k.Split = doc.Experiment, s.Name
			list = append(list, MetricRecord{k, Number{v, std, se}})
		}

		r.Splits = append(r.Splits, SplitRecord{doc.Experiment, s.Name, s.HeldOut, s.Test.Rows, s.Verdict})

		for set, p := range map[string]report.SetMetrics{"train": s.Train, "test": s.Test} {
			for _, m := range []string{"r2", "abs_cov", "cov_centred", "e"} {
				v := known(p.Get(m))
				put(MetricKey{Set: set, Metric: m}, v.Mean, v.Std, math.NaN())
			}

			ratio, se := known(p.Get("sum_e_ratio")), known(p.Get("sum_e_ratio_se"))
			put(MetricKey{Set: set, Metric: "sum_e_ratio"}, ratio.Mean, math.NaN(), se.Mean)
		}

		for prediction, outcomes := range map[string][]score.OutcomeTrust{
			"network": s.Network, "calibrated": s.Honest.Outcomes,
		} {
			for _, t := range outcomes {
				k := MetricKey{Set: "test", Prediction: prediction, Unit: t.Unit}
				if len(outcomes) > 1 {
					k.Outcomes = t.Outcome
				}

				for metric, v := range map[string][2]float64{
					"rmse": {t.RMSE, t.RMSESE}, "coverage": {t.Inside, t.InsideSE}, "half_width": {t.Half, math.NaN()},
				} {
					k.Metric = metric
					put(k, v[0], math.NaN(), v[1])
				}
			}
		}
	}

	slices.SortFunc(list, func(a, b MetricRecord) int {
		return strings.Compare(fmt.Sprint(a.MetricKey), fmt.Sprint(b.MetricKey))
	})

	r.Metrics = append(r.Metrics, list...)

	return nil
}

// known is a value whose numbers are NaN where it is undefined.
func known(v score.Value) score.Value {
	if !v.Defined() {
		return score.Value{Mean: math.NaN(), Std: math.NaN()}
	}
	return v
}
