package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// historyDir is the folder below a work directory that holds one record a run. gc
// leaves it alone.
var historyDir = filepath.Join(".cache", "history")

// Bounds of the records of a work directory. Older ones are deleted. Variables for
// tests.
var (
	mostRecords  = 500
	recordsBytes = int64(64 << 20) // of all
	recordBytes  = 1 << 20         // of one
	failureBytes = 2 << 10         // of why a run failed
)

// Record is one run of the past: when, by which program, with which configuration, and
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

	Digest   string    `json:"digest"`             // SHA-256 of the configuration
	Config   string    `json:"config,omitempty"`   // its text
	Settings []Setting `json:"settings,omitempty"` // its keys, defaults included

	// Of the experiments whose reports were up to date after the run.
	Data    []Setting      `json:"data,omitempty"` // "recordings", "triplets", "digest of triplets.arrow"
	Splits  []SplitRecord  `json:"splits,omitempty"`
	Metrics []MetricRecord `json:"metrics,omitempty"`
	Cut     bool           `json:"cut,omitempty"` // parts are left out, because they are too long
}

// Setting is a key of an experiment and its value.
type Setting struct {
	Where string `json:"where"` // "drone"; "drone/2-blades" for a split's training; "" for all
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Run is a run that has ended, as Keep records it.
type Run struct {
	File    *config.File
	Plan    *engine.Plan
	Program string // its version
	Kernels string // the set of numeric kernels

	Start   time.Time
	Result  *engine.Result // nil where the run could not start
	Failure error          // why it failed

	// Reports returns the experiments whose reports are up to date, as far as they can be read.
	Reports func() []report.Experiment
}

// Keep writes the record of a run that made something, that failed, or whose
// configuration differs from that of the last record.
func (run Run) Keep() error {
	r := run.Result
	if r == nil {
		return nil
	}

	text := run.File.Text()
	sum := sha256.Sum256([]byte(text))
	rec := &Record{
		Time: run.Start.UTC().Round(time.Millisecond), Program: run.Program, Kernels: run.Kernels,
		Ran: r.Ran, UpToDate: r.Cached, Seconds: r.Wall, Digest: hex.EncodeToString(sum[:]), Config: text,
	}

	dir := filepath.Join(run.Plan.Dir, historyDir)
	names, err := recordNames(dir)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}

	if n := len(names); n > 0 && run.Failure == nil && r.Ran == 0 && strings.HasSuffix(names[n-1], rec.suffix()) {
		return nil
	}

	if run.Failure != nil {
		rec.Failed = failureText(run.Failure)
	}

	rec.Settings = settingsOf(run.File)
	run.addNumbers(rec)

	for rec.ID == "" || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, rec.ID) }) {
		rec.ID = rec.Time.Format(timeID)
		rec.Time = rec.Time.Add(time.Millisecond) // where a clock was set back
	}

	rec.Time = rec.Time.Add(-time.Millisecond)
	if err := rec.write(dir); err != nil {
		return fmt.Errorf("write history: %w", err)
	}

	forget(dir)

	return nil
}

// timeID is the form of IDs.
const timeID = "20060102T150405.000Z"

func (r *Record) write(dir string) error {
	b, err := r.encode()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}

	if err != nil {
		return err
	}

	return engine.WriteFile(filepath.Join(dir, r.ID+r.suffix()), b)
}

// suffix ends the name of the record's file: a run that makes nothing finds there
// whether its configuration is that of the last record.
func (r *Record) suffix() string { return "-" + r.Digest[:16] + ".json" }

// failureText is the beginning of an error.
func failureText(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}

	s := err.Error()
	if len(s) > failureBytes {
		s = strings.ToValidUTF8(s[:failureBytes], "") + " …"
	}

	return s
}

// settingsOf lists the keys of a configuration that results depend on. What all variants
// of an experiment have in common is the experiment's.
func settingsOf(f *config.File) []Setting {
	variants, common := map[string]int{}, map[Setting]int{}
	for _, e := range f.Experiments {
		variants[e.Family()]++
		for _, s := range config.Flatten("", e) {
			common[Setting{e.Family(), s.Key, s.Value}]++
		}
	}

	out := []Setting{{"", "kernels", f.Kernels}}

	first := ""
	for _, e := range f.Experiments {
		for _, s := range config.Flatten("", e) {
			switch all := (Setting{e.Family(), s.Key, s.Value}); {
			case common[all] < variants[e.Family()]:
				out = append(out, Setting{e.Name, s.Key, s.Value})
			case e.Family() != first:
				out = append(out, all)
			}
		}

		first = e.Family()
	}

	return out
}

// addNumbers notes the data and the numbers of the reports.
func (run Run) addNumbers(rec *Record) {
	tasks := map[string][]*engine.Task{} // by experiment
	for _, t := range run.Plan.Tasks {
		tasks[t.Experiment] = append(tasks[t.Experiment], t)
	}

	for _, e := range run.Reports() {
		b, err := e.MetricsJSON()
		if err != nil {
			continue
		}

		if err := rec.addMetrics(b); err != nil {
			continue
		}

		rec.Data = append(rec.Data, Setting{e.Name, "recordings", strconv.Itoa(e.Recordings)},
			Setting{e.Name, "triplets", strconv.Itoa(e.Triplets)})

		for _, t := range tasks[e.Name] {
			for _, l := range t.Publish {
				if d, ok := run.Result.Digest(t.ID, l.Output); ok && l.Output == "triplets.arrow" {
					rec.Data = append(rec.Data, Setting{e.Name, dataDigest, d})
				}
			}
		}
	}
}

const dataDigest = "digest of triplets.arrow"

// encode writes the record, without what makes it too long.
func (r *Record) encode() ([]byte, error) {
	for _, drop := range []func(){
		func() {},
		func() { r.Settings = nil },
		func() { r.Metrics = nil },
		func() { r.Config, r.Data, r.Splits = "", nil, nil },
	} {
		drop()

		b, err := json.Marshal(r)
		if err != nil || len(b) < recordBytes {
			return append(b, '\n'), err
		}

		r.Cut = true
	}

	return nil, errors.New("the record is too long")
}

// recordNames lists the files of a folder of records, oldest first.
func recordNames(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	var names []string
	for _, e := range list { // sorted by name, which begins with the time
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}

	return names, nil
}

// forget deletes the oldest records beyond the bounds, and what a killed run was
// writing.
func forget(dir string) {
	list, _ := os.ReadDir(dir)

	kept, bytes := 0, int64(0)
	for _, e := range slices.Backward(list) {
		fi, err := e.Info()
		if err != nil {
			continue // gone
		}

		if strings.HasPrefix(e.Name(), ".tmp-") {
			if time.Since(fi.ModTime()) > time.Hour {
				os.Remove(filepath.Join(dir, e.Name()))
			}
			continue
		}

		kept, bytes = kept+1, bytes+fi.Size()
		if kept > mostRecords || bytes > recordsBytes {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Workdir returns the work directory of the configuration at path, or path where that
// is a folder.
func Workdir(path string) (string, error) {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return path, nil
	}

	f, err := config.Load(path)
	if err != nil {
		return "", err
	}

	return f.Resolve(f.Workdir), nil
}

// History returns the records of a work directory, oldest first, and the paths of those
// that cannot be read. path is a configuration, or the work directory itself.
func History(path string) (list []Record, damaged []string, err error) {
	dir, err := Workdir(path)
	if err != nil {
		return nil, nil, err
	}

	dir = filepath.Join(dir, historyDir)
	names, err := recordNames(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}

	list = []Record{}
	for _, n := range names {
		path := filepath.Join(dir, n)
		r, err := readRecord(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted since
		case err != nil:
			damaged = append(damaged, path)
		default:
			list = append(list, *r)
		}
	}

	return list, damaged, nil
}

func readRecord(path string) (_ *Record, err error) {
	defer fault.Catch(&err)
	fi := fault.Get(os.Stat(path))
	if !fi.Mode().IsRegular() || fi.Size() > int64(recordBytes)+1 {
		return nil, errors.New("not a record")
	}

	b := fault.Get(os.ReadFile(path))
	var r Record
	fault.Raise(json.Unmarshal(b, &r))
	if r.ID == "" || r.Digest == "" {
		return nil, errors.New("not a record")
	}

	return &r, nil
}

// Find returns the record that name means: its number in the list from 1,
// from the end if negative (-1 is the last), or the beginning of its ID.
func Find(list []Record, name string) (*Record, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= -len(list) && n <= len(list) && n != 0 {
		if n < 0 {
			n += len(list) + 1
		}
		return &list[n-1], nil
	}

	var found []*Record
	for i := range list {
		if len(name) > 4 && strings.HasPrefix(list[i].ID, name) { // shorter ones are numbers
			found = append(found, &list[i])
		}
	}

	text := ""
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		text = fmt.Sprintf("run %q: there are no records of runs here", name)
	case len(found) == 0:
		text = fmt.Sprintf("run %q: expected a number from 1 to %d, from -1 to -%d, or the beginning of an ID, as pipeline "+
			"log lists them", name, len(list), len(list))
	default:
		text = fmt.Sprintf("run %q: expected the beginning of one ID, found that of %d; write more of it", name, len(found))
	}

	return nil, &config.UsageError{Text: text}
}

// DiffRecords compares two runs of the past: program, settings and data, and the numbers.
func DiffRecords(a, b *Record) *Difference {
	d := difference(a, b)
	if d.Unknown = len(a.Settings) == 0 || len(b.Settings) == 0; d.Unknown {
		d.Settings = []Change{}
	} else {
		var program []Change
		if a.Program != b.Program {
			program = append(program, Change{"", "program", a.Program, b.Program})
		}
		if a.Kernels != b.Kernels {
			program = append(program, Change{"", "numeric kernels", a.Kernels, b.Kernels})
		}
		d.Settings = append(program, d.Settings...)
	}

	before, after := byPlace(a.Data), byPlace(b.Data)
	for _, k := range union(before, after) {
		from, ok := before[k]

		to, ok2 := after[k]
		if !ok || !ok2 || from == to {
			continue // one of them has no report
		}

		explained := slices.ContainsFunc(d.Settings, func(c Change) bool {
			return c.Key == "program" || c.Where == k[0] && !strings.HasPrefix(c.Key, "train.")
		})
		if k[1] != dataDigest || !explained {
			d.Settings = append(d.Settings, Change{k[0], k[1], from, to})
		}
	}

	return d
}
