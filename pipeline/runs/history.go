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

// historyDir is the folder below a work directory that contains a record of each run. The command gc does not touch it.
var historyDir = filepath.Join(".cache", "history")

// These bounds are variables for tests.
var (
	// maxRecords is the number of records of a work directory that are kept. Older records are deleted.
	maxRecords = 500
	// maxRecordsBytes is the size of all records of a work directory that are kept.
	maxRecordsBytes = int64(64 << 20)
	// maxRecordBytes is the size of a record. Parts of a longer record are left out.
	maxRecordBytes = 1 << 20
	// maxFailureBytes is the length of the reason for which a run failed.
	maxFailureBytes = 2 << 10
)

// Record describes a run of the past: when and by which program it was made, its configuration, and the numbers of the
// reports after it.
type Record struct {
	ID       string    `json:"id"` // the time, as a file name
	Time     time.Time `json:"time"`
	Program  string    `json:"program"`          // version of the program
	Kernels  string    `json:"kernels"`          // name of the set of numeric kernels
	Ran      int       `json:"ran"`              // number of tasks that were made
	UpToDate int       `json:"up_to_date"`       // number of tasks that were up to date
	Seconds  float64   `json:"seconds"`          // that the run took
	Failed   string    `json:"failed,omitempty"` // why the run failed; "" if it did not

	Digest   string    `json:"digest"`             // SHA-256 of the configuration
	Config   string    `json:"config,omitempty"`   // text of the configuration
	Settings []Setting `json:"settings,omitempty"` // its keys and values, defaults included

	// The fields below are about the experiments whose reports were up to date after the run.
	Data    []Setting      `json:"data,omitempty"` // with the keys recordings, triplets and dataDigest
	Splits  []SplitRecord  `json:"splits,omitempty"`
	Metrics []MetricRecord `json:"metrics,omitempty"`

	Cut bool `json:"cut,omitempty"` // parts are left out, because the record would be too long
}

// Setting is a key of the configuration and its value.
type Setting struct {
	Where string `json:"where"` // "drone"; "drone/2-blades" for a split's training; "" for the whole configuration
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Run is a run that has ended, as Keep records it.
type Run struct {
	File    *config.File
	Plan    *engine.Plan
	Program string // version of the program
	Kernels string // name of the set of numeric kernels

	Start   time.Time
	Result  *engine.Result // nil if the run could not start
	Failure error          // why the run failed; nil if it did not

	// Reports returns the experiments whose reports are up to date, as far as they can be read.
	Reports func() []report.Experiment
}

// Keep writes a record of the run if it made something or failed, or if its configuration differs from the last
// record's. It deletes old records. A run that could not start leaves no record.
func (run Run) Keep() error {
	result := run.Result
	if result == nil {
		return nil
	}

	text := run.File.Text()
	sum := sha256.Sum256([]byte(text))
	record := &Record{
		Time: run.Start.UTC().Round(time.Millisecond), Program: run.Program, Kernels: run.Kernels,
		Ran: result.Ran, UpToDate: result.Cached, Seconds: result.Wall, Digest: hex.EncodeToString(sum[:]), Config: text,
	}

	dir := filepath.Join(run.Plan.Dir, historyDir)
	names, err := recordNames(dir)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}

	madeNothing := run.Failure == nil && result.Ran == 0
	if madeNothing && len(names) > 0 && strings.HasSuffix(names[len(names)-1], record.suffix()) {
		return nil
	}

	if run.Failure != nil {
		record.Failed = failureText(run.Failure)
	}

	record.Settings = settingsOf(run.File)
	run.addNumbers(record)
	record.setID(names)

	if err := record.write(dir); err != nil {
		return fmt.Errorf("write history: %w", err)
	}

	deleteOld(dir)

	return nil
}

// timeID is the form of IDs.
const timeID = "20060102T150405.000Z"

// setID sets the ID to the time of the record. If names has a record with this ID, because the clock was set back
// since, setID moves the time of this record on.
func (r *Record) setID(names []string) {
	for {
		r.ID = r.Time.Format(timeID)
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, r.ID) }) {
			return
		}

		r.Time = r.Time.Add(time.Millisecond)
	}
}

// write writes the record into a folder, which it makes if it is not there.
func (r *Record) write(dir string) error {
	b, err := r.encode()
	if err != nil {
		return err
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	return engine.WriteFile(filepath.Join(dir, r.ID+r.suffix()), b)
}

// suffix returns the end of the name of the record's file, which names the configuration. A run that makes nothing
// compares it with the name of the last record, without reading the record.
func (r *Record) suffix() string { return "-" + r.Digest[:16] + ".json" }

// failureText returns the text of an error, without its end if it is long, and "interrupted" after an interrupt.
func failureText(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}

	s := err.Error()
	if len(s) > maxFailureBytes {
		s = strings.ToValidUTF8(s[:maxFailureBytes], "") + " …"
	}

	return s
}

// settingsOf returns the settings of a configuration on which results depend. A setting that all variants of a sweep
// have in common is a setting of their experiment.
func settingsOf(file *config.File) []Setting {
	variants := map[string]int{} // number of experiments of a family
	having := map[Setting]int{}  // number of experiments of a family that have a setting
	for _, experiment := range file.Experiments {
		variants[experiment.Family()]++
		for _, setting := range config.Flatten("", experiment) {
			having[Setting{experiment.Family(), setting.Key, setting.Value}]++
		}
	}

	settings := []Setting{{"", "kernels", file.Kernels}}

	previous := "" // family of the experiment before: the variants of a sweep follow one another
	for _, experiment := range file.Experiments {
		family := experiment.Family()
		for _, setting := range config.Flatten("", experiment) {
			shared := Setting{family, setting.Key, setting.Value}
			switch {
			case having[shared] < variants[family]:
				settings = append(settings, Setting{experiment.Name, setting.Key, setting.Value})
			case family != previous:
				settings = append(settings, shared)
			}
		}

		previous = family
	}

	return settings
}

// addNumbers adds the data and the numbers of the reports to a record. It leaves out reports that cannot be written as
// JSON or read again: the run is over, and its record must not fail for them.
func (run Run) addNumbers(rec *Record) {
	tasks := map[string][]*engine.Task{} // by experiment
	for _, task := range run.Plan.Tasks {
		tasks[task.Experiment] = append(tasks[task.Experiment], task)
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

		for _, task := range tasks[e.Name] {
			for _, link := range task.Publish {
				if d, ok := run.Result.Digest(task.ID, link.Output); ok && link.Output == "triplets.arrow" {
					rec.Data = append(rec.Data, Setting{e.Name, dataDigest, d})
				}
			}
		}
	}
}

// dataDigest is the key of the digest of an experiment's table of triplets, in Record.Data.
const dataDigest = "digest of triplets.arrow"

// encode returns the record as JSON and a line end. It leaves out parts that make the record too long.
func (r *Record) encode() ([]byte, error) {
	for step := 1; ; step++ {
		b, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}

		if len(b) < maxRecordBytes {
			return append(b, '\n'), nil
		}

		if !r.leaveOut(step) {
			return nil, errors.New("the record is too long")
		}
	}
}

// leaveOut removes the part of the record that goes at a step, from 1. It returns false if nothing is left to remove.
func (r *Record) leaveOut(step int) bool {
	r.Cut = true
	switch step {
	case 1:
		r.Settings = nil
	case 2:
		r.Metrics = nil
	case 3:
		r.Config = ""
		r.Data = nil
		r.Splits = nil
	default:
		return false
	}

	return true
}

// recordNames returns the names of the records in a folder, oldest first. It returns no names if the folder is missing.
func recordNames(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	var names []string
	for _, entry := range list { // sorted by name, which begins with the time
		if strings.HasSuffix(entry.Name(), ".json") && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}

	return names, nil
}

// deleteOld deletes the oldest records beyond the bounds, and temporary files that a killed run left an hour ago or
// earlier. Errors are dropped: the next run tries again.
func deleteOld(dir string) {
	list, _ := os.ReadDir(dir)

	kept := 0
	bytes := int64(0)
	for _, entry := range slices.Backward(list) {
		fi, err := entry.Info()
		if err != nil {
			continue // another process deleted it
		}

		if strings.HasPrefix(entry.Name(), ".tmp-") {
			if time.Since(fi.ModTime()) > time.Hour {
				os.Remove(filepath.Join(dir, entry.Name()))
			}
			continue
		}

		kept++
		bytes += fi.Size()
		if kept > maxRecords || bytes > maxRecordsBytes {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Workdir returns path if it is a folder, and otherwise the work directory of the configuration at path.
func Workdir(path string) (string, error) {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		return path, nil
	}

	file, err := config.Load(path)
	if err != nil {
		return "", err
	}

	return file.Resolve(file.Workdir), nil
}

// History returns the records of a work directory, oldest first, and the paths of files that are not valid records.
// path is a configuration, or the work directory itself.
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
	for _, name := range names {
		path := filepath.Join(dir, name)
		record, err := readRecord(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another run has deleted it
		case err != nil:
			damaged = append(damaged, path)
		default:
			list = append(list, *record)
		}
	}

	return list, damaged, nil
}

// readRecord reads a record. It returns an error if the file is something else.
func readRecord(path string) (*Record, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}

	if !fi.Mode().IsRegular() || fi.Size() > int64(maxRecordBytes)+1 { // with a line end
		return nil, errors.New("not a record")
	}

	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}

	if r.ID == "" || r.Digest == "" {
		return nil, errors.New("not a record")
	}

	return &r, nil
}

// Find returns the record that name means: its number from 1, a negative number from the end (-1 is the last), or the
// beginning of its ID. It returns a *fault.UsageError if no record or more than one fits.
func Find(list []Record, name string) (*Record, error) {
	const shortestID = 5 // characters: shorter texts are numbers

	n, err := strconv.Atoi(name)
	switch {
	case err != nil:
	case n > 0 && n <= len(list):
		return &list[n-1], nil
	case n < 0 && n >= -len(list):
		return &list[len(list)+n], nil
	}

	var found []*Record
	for i := range list {
		if len(name) >= shortestID && strings.HasPrefix(list[i].ID, name) {
			found = append(found, &list[i])
		}
	}

	var text string
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		text = fmt.Sprintf("run %q: there are no records of runs here", name)
	case len(found) == 0 && len(list) == 1:
		text = fmt.Sprintf("run %q: there is only one run, number 1, as pipeline log lists it", name)
	case len(found) == 0:
		text = fmt.Sprintf("run %q: expected a number from 1 to %d, from -1 to -%d, or the beginning of an ID, as pipeline "+
			"log lists them", name, len(list), len(list))
	default:
		text = fmt.Sprintf("run %q: expected the beginning of one ID, found the beginning of %d IDs; write more of it", name,
			len(found))
	}

	return nil, &fault.UsageError{Text: text}
}
