package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file has the writer and the reader of metrics.json, which has the numbers of an experiment for programs.

// MetricsFile is the name of the file. It lies in the folder of the experiment's report.
const MetricsFile = "metrics.json"

// MetricsPath returns the path of the file below the folder of an experiment.
func MetricsPath(experiment string) string { return filepath.Join(experiment, "report", MetricsFile) }

// MetricsJSON returns the contents of the file. Its keys have a fixed order, floats are in the
// shortest form that reads back to the same bits, undefined numbers are null and have
// a reason, and the file ends with a newline. The same experiment gives the same bytes.
// MetricsJSON returns an error if two outcomes of a set, or two splits, have the same
// name, or if units do not match the outcomes.
func (e Experiment) MetricsJSON() ([]byte, error) { return e.metricsJSON(nil) }

// metricsJSON returns what MetricsJSON returns, with more members at its end.
func (e Experiment) metricsJSON(more object) ([]byte, error) {
	if err := e.checkNames(); err != nil {
		return nil, err
	}

	if e.OutcomeUnits == nil {
		e.OutcomeUnits = make([]string, len(e.Outcomes))
	}

	outcomes := []object{}
	for i, name := range e.Outcomes {
		outcomes = append(outcomes, object{"name", name, "unit", e.OutcomeUnits[i]})
	}

	members := object{
		"experiment", e.Name, "data", e.Data, "pairs", e.Pairs, "construction", e.Construction, "couples", e.Couples,
		"inputs", stringArray(e.Inputs), "outcomes", outcomes, "recordings", e.Recordings, "runs", e.Runs,
		"triplets", e.Triplets, "config_digest", e.ConfigDigest, "version", e.Version,
		"warnings", stringArray(e.Warnings), "skipped", stringArray(e.Skipped), "splits",
		numbers.Objects(e.Splits, splitJSON),
	}
	var pools []object
	for _, pool := range e.groupPools() {
		pools = append(pools, pool.document())
	}

	if pools != nil {
		members = append(members, "pooled", pools)
	}

	encoded, err := json.MarshalIndent(append(members, more...), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write metrics of %q: %w", e.Name, err)
	}

	return append(encoded, '\n'), nil
}

// checkNames returns an error if two splits, or two outcomes of a set, have the same name, or if there are not as many
// units as outcomes.
func (e Experiment) checkNames() error {
	if e.OutcomeUnits != nil && len(e.OutcomeUnits) != len(e.Outcomes) {
		return fmt.Errorf("write metrics of %q: %d units for %d outcomes", e.Name, len(e.OutcomeUnits), len(e.Outcomes))
	}

	var splits []string
	for _, split := range e.Splits {
		splits = append(splits, split.Name)
	}

	if name := duplicate(splits); name != "" {
		return fmt.Errorf("write metrics of %q: two splits are named %q", e.Name, name)
	}

	for _, split := range e.Splits {
		for _, set := range []SetMetrics{split.Train, split.Test} {
			var outcomes []string
			for _, outcome := range set.Outcomes {
				outcomes = append(outcomes, outcome.Name)
			}

			if name := duplicate(outcomes); name != "" {
				return fmt.Errorf("write metrics of %q, split %q: two outcomes are named %q", e.Name, split.Name, name)
			}
		}
	}

	return nil
}

// splitJSON returns the members of a split.
func splitJSON(split Split) object {
	members := object{
		"name", split.Name, "held_out", split.HeldOut, "seeds", split.Seeds, "mc_samples", split.MCSamples,
		"sampler", split.Sampler, "cov_method", split.CovMethod, "kernels", split.Kernels,
		"train", setJSON(split.Train), "test", setJSON(split.Test), "difference_pct", differencesJSON(split),
	}

	if split.Reach != "" {
		members = append(members, "reach", split.Reach)
	}

	members = append(members, verdictJSON(split)...)
	if len(split.Flags) > 0 {
		var texts []string
		for _, flag := range split.flags() {
			texts = append(texts, flag.String())
		}

		members = append(members, "diagnostics", texts)
	}

	if comparison := comparisonJSON(split); comparison != nil {
		members = append(members, "methods", comparison)
	}

	return members
}

// differencesJSON returns the differences between the parts of a split in percent, and the reasons why some of them are
// undefined.
func differencesJSON(split Split) object {
	differences := object{}
	reasons := object{}
	for _, metric := range papers {
		change, reason := percentChange(split.Train.Get(metric.key), split.Test.Get(metric.key))
		differences = append(differences, metric.key, change)

		if reason != "" {
			reasons = append(reasons, metric.key, reason)
		}
	}

	if len(reasons) > 0 {
		differences = append(differences, "undefined", reasons)
	}

	return differences
}

// setJSON returns the members of a part of a split.
func setJSON(set SetMetrics) object {
	members := object{"rows", set.Rows, "conditions", set.Conditions, "runs", set.Runs}
	members = append(members, valuesJSON(set.Values)...)

	outcomes := object{}
	for _, outcome := range set.Outcomes {
		outcomes = append(outcomes, outcome.Name, append(object{"unit", outcome.Unit}, valuesJSON(outcome.Values)...))
	}

	return append(members, "outcomes", outcomes, "notes", stringArray(set.Notes))
}

// valuesJSON returns every metric of a part, including metrics that were not computed.
func valuesJSON(values score.Values) object {
	var members object
	for _, metric := range score.MetricsOf(score.Parts) {
		members = append(members, metric.Key, values.Get(metric.Key))
	}

	return members
}

// object is an object of JSON: its keys and values in turn.
type object = numbers.Object

// stringArray returns a copy that is not nil, so that JSON has a list and not null.
func stringArray(list []string) []string { return append([]string{}, list...) }

// duplicate returns a name that occurs twice as JSON writes it, or "" if there is none.
func duplicate(names []string) string {
	seen := map[string]bool{}
	for _, name := range names {
		written := strings.ToValidUTF8(name, "\ufffd") // JSON has no other characters, so two names may become equal
		if seen[written] {
			return written
		}

		seen[written] = true
	}

	return ""
}

// RemakeHint says for people what to do about a JSON file of a work directory that is damaged.
const RemakeHint = "pipeline run --verify makes damaged results again"

// Metrics is the part of the file that is read back. A metric that the file does not have is absent or NaN.
type Metrics struct {
	Experiment string
	Data       string // "simulated", "measured", …
	Splits     []SplitMetrics
}

// SplitMetrics is a split of Metrics.
type SplitMetrics struct {
	Name        string
	HeldOut     string `json:"held_out"`
	Verdict     string // a score.Grade; "" if nothing was judged
	Sentence    string
	Train, Test SetMetrics // without outcomes and notes
	Network     []score.OutcomeTrust
	Honest      interval.Record // zero if the split is not calibrated
}

// UnmarshalJSON reads the counts and the metrics of a part of a split. It replaces all that m had.
func (m *SetMetrics) UnmarshalJSON(b []byte) error {
	*m = SetMetrics{}
	for _, metric := range score.MetricsOf(score.Parts) {
		m.Values = append(m.Values, score.Keyed{Key: metric.Key})
	}

	members := object{"rows", &m.Rows, "conditions", &m.Conditions, "runs", &m.Runs}
	for i := range m.Values {
		members = append(members, m.Values[i].Key, &m.Values[i].Value)
	}

	return members.UnmarshalJSON(b)
}

// maxMetricsFile is the largest file that ReadMetrics reads, because it reads the file into memory.
const maxMetricsFile = 256 << 20

// metricsWanted says in messages what the file should contain.
const metricsWanted = "the metrics of an experiment"

// ReadMetrics reads the file at path. It returns fs.ErrNotExist if it is missing, and a *fault.Error if the file
// cannot be read.
func ReadMetrics(path string) (Metrics, error) {
	data, err := fault.ReadFile(path, maxMetricsFile, metricsWanted)
	if errors.Is(err, fs.ErrNotExist) {
		return Metrics{}, fs.ErrNotExist
	}

	if _, isFault := errors.AsType[*fault.Error](err); isFault {
		return Metrics{}, err
	}

	if err != nil {
		return Metrics{}, fault.OfJSON(path, metricsWanted, err, RemakeHint)
	}

	metrics, err := DecodeMetrics(data)
	if err != nil {
		return Metrics{}, fault.OfJSON(path, metricsWanted, err, RemakeHint)
	}

	return metrics, nil
}

// DecodeMetrics reads what MetricsJSON returned.
func DecodeMetrics(data []byte) (Metrics, error) {
	var metrics Metrics
	err := json.Unmarshal(data, &metrics)

	return metrics, err
}
