package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// historyDir is the folder below a work directory that holds one record a run. gc
// leaves it alone.
var historyDir = filepath.Join(".cache", "history")

// Record is one run of the past: when, by which program, with which settings, and
// the numbers of the reports after it.
type Record struct {
	ID       string    `json:"id"` // the time, as a file name
	Time     time.Time `json:"time"`
	Program  string    `json:"program"`
	Kernels  string    `json:"kernels"`
	Ran      int       `json:"ran"` // tasks made
	UpToDate int       `json:"up_to_date"`
	Seconds  float64   `json:"seconds"`
	Failed   string    `json:"failed,omitempty"` // why the run failed

	Settings []Setting      `json:"settings"` // that the results were made with
	Metrics  []MetricRecord `json:"metrics"`
}

// Setting is one setting of an experiment, or of a split's training.
type Setting struct {
	Where string `json:"where"` // "drone", or "drone/2-blades"
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MetricRecord is one number of a report: a mean over seeds.
type MetricRecord struct {
	Experiment string `json:"experiment"`
	Split      string `json:"split"`
	Set        string `json:"set"`
	Metric     string `json:"metric"`
	Value      Number `json:"value"`
}

// workdirState is what the results in a work directory were made with, and the
// numbers of its reports.
type workdirState struct {
	settings map[[2]string]string
	metrics  map[[4]string]Number
}

func (r *Record) state() workdirState {
	s := workdirState{map[[2]string]string{}, map[[4]string]Number{}}
	for _, v := range r.Settings {
		s.settings[[2]string{v.Where, v.Key}] = v.Value
	}
	for _, v := range r.Metrics {
		s.metrics[[4]string{v.Experiment, v.Split, v.Set, v.Metric}] = v.Value
	}
	return s
}

// keepRecord writes the record of a run that made something or in which a task
// failed.
func (p *Project) keepRecord(start time.Time, r *engine.Result, failure error) error {
	if r == nil || failure == nil && r.Ran == 0 {
		return nil
	}
	rec := Record{
		ID: start.UTC().Format("20060102T150405.000Z"), Time: start.UTC().Round(time.Millisecond),
		Program: p.Program.Version, Kernels: p.Program.Kernels, Ran: r.Ran, UpToDate: r.Cached, Seconds: r.Wall,
		Settings: []Setting{}, Metrics: []MetricRecord{},
	}
	if failure != nil {
		rec.Failed = failure.Error()
	}
	if s, err := readWorkdir(p.Plan.Dir); err == nil { // before the first report there is nothing to record
		for _, k := range union(s.settings, nil) {
			rec.Settings = append(rec.Settings, Setting{k[0], k[1], s.settings[k]})
		}
		for _, k := range union(s.metrics, nil) {
			rec.Metrics = append(rec.Metrics, MetricRecord{k[0], k[1], k[2], k[3], s.metrics[k]})
		}
	}
	b, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	dir := filepath.Join(p.Plan.Dir, historyDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := engine.WriteFile(filepath.Join(dir, rec.ID+".json"), append(b, '\n')); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// History returns the records of the work directory of a configuration, oldest
// first.
func History(path string) ([]Record, error) {
	f, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(f.Resolve(f.Workdir), historyDir)
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []Record
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		var r Record
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("read history %s: %w; remove the file", path, err)
		}
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

// FindRecord returns the record that name means: its number in the list from 1,
// from the end if negative (-1 is the last), or the beginning of its ID.
func FindRecord(list []Record, name string) (*Record, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= -len(list) && n <= len(list) && n != 0 {
		if n < 0 {
			n += len(list) + 1
		}
		return &list[n-1], nil
	}
	var found []*Record
	for i := range list {
		if strings.HasPrefix(list[i].ID, name) {
			found = append(found, &list[i])
		}
	}
	if len(found) != 1 {
		return nil, &UsageError{Text: fmt.Sprintf("run %q: expected a number from 1 to %d, from -1 to -%d, "+
			"or the beginning of one ID; %d IDs begin so", name, len(list), len(list), len(found))}
	}
	return found[0], nil
}

// DiffRecords compares two runs of the past.
func DiffRecords(a, b *Record) *Difference { return difference(a.state(), b.state()) }
