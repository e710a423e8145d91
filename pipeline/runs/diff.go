// Package runs keeps records of runs in their work directories and reads them. It compares the settings and numbers of
// two runs, and draws the figures of a report.
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

// Change is a setting that differs between two runs.
type Change struct {
	Where string `json:"where"` // "drone", or "drone/2-blades" for a split's training
	Key   string `json:"key"`
	A     string `json:"a"` // the value in run A; "" if the setting is not there
	B     string `json:"b"` // the value in run B; "" if the setting is not there
}

// Number is a mean over seeds with its sample standard deviation Std, or an estimate with its standard error SE. A part
// that is not known is NaN.
type Number struct{ Mean, Std, SE float64 }

// unknown returns a number all of whose parts are unknown.
func unknown() Number { return Number{Mean: math.NaN(), Std: math.NaN(), SE: math.NaN()} }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	v := struct{ Mean, Std, SE numbers.Float }{numbers.NaN, numbers.NaN, numbers.NaN}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}

	*n = Number{float64(v.Mean), float64(v.Std), float64(v.SE)}

	return nil
}

// MarshalJSON returns {"mean": …, "se": …} if the standard error is known, and otherwise {"mean": …, "std": …}. NaN is
// null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !math.IsNaN(n.SE) {
		return json.Marshal(numbers.Object{"mean", n.Mean, "se", n.SE})
	}

	return json.Marshal(numbers.Object{"mean", n.Mean, "std", n.Std})
}

// MetricKey identifies a number of a report.
type MetricKey struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	Set        string `json:"set"`                  // "train" or "test"
	Metric     string `json:"metric"`               // a key of score.Metrics
	Prediction string `json:"prediction,omitempty"` // "calibrated" or "network"; only of errors and intervals
	Unit       string `json:"unit,omitempty"`       // only of errors and intervals
	Outcomes   string `json:"outcomes,omitempty"`   // the outcome, if the split has several
}

// MetricRecord is a number of a report.
type MetricRecord struct {
	MetricKey
	Value Number `json:"value"`
}

// MetricChange is a number of two runs.
type MetricChange struct {
	MetricKey
	A Number `json:"a"` // in run A
	B Number `json:"b"` // in run B
	// Verdict is "better" or "worse" for an error of B that differs from A's by more than two standard errors of the
	// difference, as if both were independent. It is "" for other numbers, and for errors of different held-out sets.
	Verdict string `json:"verdict,omitempty"`
}

// SplitRecord is the verdict of a split.
type SplitRecord struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	HeldOut    string `json:"held_out"`
	Rows       int    `json:"rows"`    // number of rows that are held out
	Verdict    string `json:"verdict"` // a score.Grade; "" if nothing was judged
}

// Difference is how two runs differ.
type Difference struct {
	Settings []Change       `json:"settings"`                   // the settings that differ
	Unknown  bool           `json:"settings_unknown,omitempty"` // the settings of one run are not known
	Metrics  []MetricChange `json:"metrics"`                    // the numbers of splits that at least one run has
}

// Diff compares the last runs of two work directories that have reports. a and b are the directories or their
// configurations.
func Diff(a, b string) (*Difference, error) {
	first, err := last(a)
	if err != nil {
		return nil, err
	}

	second, err := last(b)
	if err != nil {
		return nil, err
	}

	return DiffRecords(first, second), nil
}

// last returns the last record that has a report. If no record has a report, it returns the last record.
func last(path string) (*Record, error) {
	list, _, err := History(path)
	if err != nil {
		return nil, err
	}

	if len(list) == 0 {
		return nil, fmt.Errorf("read workdir %s: expected records of runs, found none; run the pipeline there first", path)
	}

	for i := len(list) - 1; i >= 0; i-- {
		if len(list[i].Splits) > 0 {
			return &list[i], nil
		}
	}

	return &list[len(list)-1], nil
}

// place identifies a setting.
type place struct {
	where string // Setting.Where
	key   string
}

// String returns the text by which places are sorted.
func (p place) String() string { return "[" + p.where + " " + p.key + "]" }

// byPlace returns the values of a list of settings by their places.
func byPlace(list []Setting) map[place]string {
	values := make(map[place]string, len(list))
	for _, setting := range list {
		values[place{setting.Where, setting.Key}] = setting.Value
	}
	return values
}

// split identifies a split.
type split struct {
	experiment, name string
}

// heldOut returns for each split a text that names its held-out rows and the table of triplets. Two splits with the
// same text have the same held-out set.
func (r *Record) heldOut() map[split]string {
	texts := map[split]string{}
	data := byPlace(r.Data)
	for _, record := range r.Splits {
		digest := data[place{record.Experiment, dataDigest}]
		texts[split{record.Experiment, record.Split}] = fmt.Sprintf("%d rows of %s, %s", record.Rows, digest, record.HeldOut)
	}
	return texts
}

// numbers returns the numbers of the reports by their keys.
func (r *Record) numbers() map[MetricKey]Number {
	values := make(map[MetricKey]Number, len(r.Metrics))
	for _, metric := range r.Metrics {
		values[metric.MetricKey] = metric.Value
	}
	return values
}

// valueOf returns the number with a key, or an unknown number if there is none.
func valueOf(values map[MetricKey]Number, k MetricKey) Number {
	if v, ok := values[k]; ok {
		return v
	}
	return unknown()
}

// DiffRecords compares two runs: program, settings, data and numbers.
func DiffRecords(a, b *Record) *Difference {
	d := &Difference{Settings: []Change{}, Metrics: diffNumbers(a, b)}

	d.Unknown = len(a.Settings) == 0 || len(b.Settings) == 0
	if !d.Unknown {
		d.Settings = append(d.Settings, diffPrograms(a, b)...)
		d.Settings = append(d.Settings, diffSettings(a, b)...)
	}

	d.Settings = append(d.Settings, diffData(a, b, d.Settings)...)

	return d
}

// diffPrograms returns how the programs of two runs differ.
func diffPrograms(a, b *Record) []Change {
	var changes []Change
	if a.Program != b.Program {
		changes = append(changes, Change{Key: programKey, A: a.Program, B: b.Program})
	}

	if a.Kernels != b.Kernels {
		changes = append(changes, Change{Key: "numeric kernels", A: a.Kernels, B: b.Kernels})
	}

	return changes
}

// programKey is the key of a change of the program.
const programKey = "program"

// diffSettings returns the settings that differ between two runs, sorted by place.
func diffSettings(a, b *Record) []Change {
	settingsA := byPlace(a.Settings)
	settingsB := byPlace(b.Settings)

	var changes []Change
	for _, p := range union(settingsA, settingsB) {
		if settingsA[p] != settingsB[p] {
			changes = append(changes, Change{p.where, p.key, settingsA[p], settingsB[p]})
		}
	}

	return changes
}

// diffData returns how the data of experiments that both runs have differ. It leaves out the digest of the triplets if
// one of the other changes explains it: another program, or another setting of a stage before training.
func diffData(a, b *Record, others []Change) []Change {
	dataA := byPlace(a.Data)
	dataB := byPlace(b.Data)

	var changes []Change
	for _, p := range union(dataA, dataB) {
		valueA, inA := dataA[p]
		valueB, inB := dataB[p]
		if !inA || !inB || valueA == valueB {
			continue
		}

		isExplained := slices.ContainsFunc(others, func(change Change) bool {
			isBeforeTraining := change.Where == p.where && !strings.HasPrefix(change.Key, "train.")
			return change.Key == programKey || isBeforeTraining
		})
		if p.key == dataDigest && isExplained {
			continue
		}

		changes = append(changes, Change{p.where, p.key, valueA, valueB})
	}

	return changes
}

// diffNumbers returns the numbers of two runs, sorted by key.
func diffNumbers(a, b *Record) []MetricChange {
	heldA := a.heldOut()
	heldB := b.heldOut()
	numbersA := a.numbers()
	numbersB := b.numbers()

	changes := []MetricChange{}
	for _, key := range union(numbersA, numbersB) {
		change := MetricChange{MetricKey: key, A: valueOf(numbersA, key), B: valueOf(numbersB, key)}
		id := split{key.Experiment, key.Split}
		if key.Metric == "rmse" && heldA[id] == heldB[id] {
			change.Verdict = verdict(change.A, change.B)
		}
		changes = append(changes, change)
	}

	return changes
}

// verdict returns "better" if the error b is smaller than a by more than two standard errors of the difference, "worse"
// if it is larger by more than that, and otherwise "". The standard error of the difference is √(SEa² + SEb²).
func verdict(a, b Number) string {
	margin := 2 * math.Hypot(a.SE, b.SE)
	switch {
	case b.Mean < a.Mean-margin:
		return "better"
	case b.Mean > a.Mean+margin:
		return "worse"
	}

	return ""
}

// union returns the keys of both maps, sorted by their texts.
func union[K comparable, V any](a, b map[K]V) []K {
	names := make(map[K]string, len(a))
	for _, m := range []map[K]V{a, b} {
		for k := range m {
			names[k] = fmt.Sprint(k)
		}
	}

	return slices.SortedFunc(maps.Keys(names), func(x, y K) int { return strings.Compare(names[x], names[y]) })
}

// addMetrics adds the verdicts of a file of metrics to the record, and the numbers that are compared. These are R²,
// E|cov|, C and e of the training set and the test set, Σe/ΣC with its standard error, and the errors and intervals of
// the outcomes in their units with their standard errors.
func (r *Record) addMetrics(b []byte) error {
	doc, err := report.DecodeMetrics(b)
	if err != nil {
		return err
	}

	var list []MetricRecord
	for _, splitMetrics := range doc.Splits {
		r.Splits = append(r.Splits, SplitRecord{
			doc.Experiment, splitMetrics.Name, splitMetrics.HeldOut, splitMetrics.Test.Rows, splitMetrics.Verdict,
		})
		name := MetricKey{Experiment: doc.Experiment, Split: splitMetrics.Name}
		list = append(list, setMetrics(name, "train", splitMetrics.Train)...)
		list = append(list, setMetrics(name, "test", splitMetrics.Test)...)
		list = append(list, trustMetrics(name, "network", splitMetrics.Network)...)
		list = append(list, trustMetrics(name, "calibrated", splitMetrics.Honest.Outcomes)...)
	}

	slices.SortFunc(list, func(a, b MetricRecord) int {
		return strings.Compare(fmt.Sprint(a.MetricKey), fmt.Sprint(b.MetricKey))
	})

	r.Metrics = append(r.Metrics, list...)

	return nil
}

// setMetrics returns the numbers of the training set or the test set of a split.
func setMetrics(k MetricKey, set string, m report.SetMetrics) []MetricRecord {
	var list []MetricRecord
	k.Set = set
	for _, metric := range []string{"r2", "abs_cov", "cov_centred", "e"} {
		k.Metric = metric
		v := known(m.Get(metric))
		list = append(list, MetricRecord{k, Number{v.Mean, v.Std, math.NaN()}})
	}

	k.Metric = "sum_e_ratio"
	ratio := known(m.Get("sum_e_ratio"))
	se := known(m.Get("sum_e_ratio_se"))

	return append(list, MetricRecord{k, Number{ratio.Mean, math.NaN(), se.Mean}})
}

// trustMetrics returns the errors and intervals of the predictions of a split's held-out values.
func trustMetrics(k MetricKey, prediction string, outcomes []score.OutcomeTrust) []MetricRecord {
	var list []MetricRecord
	k.Set = "test"
	k.Prediction = prediction
	for _, trust := range outcomes {
		k.Unit = trust.Unit
		if len(outcomes) > 1 {
			k.Outcomes = trust.Outcome
		}

		for _, estimate := range []struct {
			metric    string
			value, se float64
		}{
			{"rmse", trust.RMSE, trust.RMSESE},
			{"coverage", trust.Inside, trust.InsideSE},
			{"half_width", trust.Half, math.NaN()},
		} {
			k.Metric = estimate.metric
			list = append(list, MetricRecord{k, Number{estimate.value, math.NaN(), estimate.se}})
		}
	}

	return list
}

// known returns v, or a value whose mean and deviation are NaN if v is undefined.
func known(v score.Value) score.Value {
	if !v.Defined() {
		return score.Value{Mean: math.NaN(), Std: math.NaN()}
	}
	return v
}
