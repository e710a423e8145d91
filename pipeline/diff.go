package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"doubletake/pipeline/table"
)

// Change is one setting that differs between two work directories; "" means
// that it is not there.
type Change struct {
	Where string `json:"where"` // "drone", or "drone/2-blades" for a split's training
	Key   string `json:"key"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Number is a mean over seeds with its sample standard deviation; NaN is
// written as null.
type Number struct{ Mean, Std float64 }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	var v struct{ Mean, Std *float64 }
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	n.Mean, n.Std = math.NaN(), math.NaN()
	if v.Mean != nil {
		n.Mean = *v.Mean
	}
	if v.Std != nil {
		n.Std = *v.Std
	}
	return nil
}

// MarshalJSON writes {"mean": …, "std": …}.
func (n Number) MarshalJSON() ([]byte, error) {
	f := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(map[string]*float64{"mean": f(n.Mean), "std": f(n.Std)})
}

// MetricChange is one number of both work directories.
type MetricChange struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	Set        string `json:"set"`
	Metric     string `json:"metric"`
	A          Number `json:"a"`
	B          Number `json:"b"`
}

// Difference is what Diff found.
type Difference struct {
	Settings []Change       `json:"settings"` // that differ
	Metrics  []MetricChange `json:"metrics"`  // of splits both have, and of splits one has
}

// Diff compares two work directories: the configurations their tables were
// made with, and the numbers of their reports (R² and E|cov|, all outcomes).
func Diff(a, b string) (*Difference, error) {
	from, err := readWorkdir(a)
	if err != nil {
		return nil, err
	}
	to, err := readWorkdir(b)
	if err != nil {
		return nil, err
	}
	return difference(from, to), nil
}

func difference(a, b workdirState) *Difference {
	d := &Difference{Settings: []Change{}, Metrics: []MetricChange{}}
	for _, k := range union(a.settings, b.settings) {
		if x, y := a.settings[k], b.settings[k]; x != y {
			d.Settings = append(d.Settings, Change{k[0], k[1], x, y})
		}
	}
	none := Number{math.NaN(), math.NaN()}
	for _, k := range union(a.metrics, b.metrics) {
		x, y := none, none
		if v, ok := a.metrics[k]; ok {
			x = v
		}
		if v, ok := b.metrics[k]; ok {
			y = v
		}
		d.Metrics = append(d.Metrics, MetricChange{k[0], k[1], k[2], k[3], x, y})
	}
	return d
}

func union[K [2]string | [4]string, V any](a, b map[K]V) []K {
	var out []K
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	sort.Slice(out, func(i, j int) bool { return fmt.Sprint(out[i]) < fmt.Sprint(out[j]) })
	return out
}

func readWorkdir(dir string) (workdirState, error) {
	none, s := workdirState{}, workdirState{map[[2]string]string{}, map[[4]string]Number{}}
	found, err := filepath.Glob(filepath.Join(dir, "*", "report", "metrics.arrow"))
	if err != nil || len(found) == 0 {
		if _, serr := os.Stat(dir); errors.Is(serr, fs.ErrNotExist) {
			return none, fmt.Errorf("read workdir %s: no such folder", dir)
		}
		return none, fmt.Errorf("read workdir %s: expected reports (EXPERIMENT/report/metrics.arrow), found none; run the "+
			"pipeline there first", dir)
	}
	config := func(where, path string) error {
		t, err := table.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, kv := range t.Meta {
			if k, ok := strings.CutPrefix(kv.Key, "config:"); ok {
				s.settings[[2]string{where, k}] = kv.Value
			}
		}
		return nil
	}
	for _, path := range found {
		root := filepath.Dir(filepath.Dir(path))
		name := filepath.Base(root)
		if err := config(name, filepath.Join(root, "triplets.arrow")); err != nil {
			return none, err
		}
		splits, _ := filepath.Glob(filepath.Join(root, "splits", "*", "seed-0", "predictions.arrow"))
		for _, path := range splits {
			split := filepath.Base(filepath.Dir(filepath.Dir(path)))
			if err := config(name+"/"+split, path); err != nil {
				return none, err
			}
		}
		t, err := table.Read(path)
		if err != nil {
			return none, err
		}
		split, set, outcome, metric := t.Column("split"), t.Column("set"), t.Column("outcome"), t.Column("metric")
		mean, err1 := t.Floats("mean")
		std, err2 := t.Floats("std")
		if err := errors.Join(err1, err2); err != nil || split == nil || set == nil || outcome == nil || metric == nil {
			return none, fmt.Errorf("read %s: it is not a metrics table of this program: %w", path, err)
		}
		for i := range t.Rows() {
			if m := metric.Strings[i]; outcome.Strings[i] == "all" &&
				(m == "r2" || m == "abs_cov" || m == "cov_centred" || m == "e") {
				s.metrics[[4]string{name, split.Strings[i], set.Strings[i], m}] = Number{mean[i], std[i]}
			}
		}
	}
	return s, nil
}
