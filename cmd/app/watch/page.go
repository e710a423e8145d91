package watch

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline/engine"
)

// pageText is the template of the page.
//
//go:embed page.html.tmpl
var pageText string

// style is the style sheet of the page.
//
//go:embed page.css
var style string

// page returns the parsed template.
var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(pageText)) })

// reportFile is the page of all experiments, in the work directory.
const reportFile = "report.html"

const (
	// maxRunning is the number of tasks at work that the page lists.
	maxRunning = 200
	// maxFailed is the number of failed tasks that the page lists.
	maxFailed = 50
	// logLines is the number of lines of a failed task's log that the page shows.
	logLines = 20
	// reloadEvery is the time after which browsers load the page again.
	reloadEvery = 5 * time.Second
)

// Page returns a page that shows the state at the time now: one HTML file that needs no other file and no scripts.
func (w *Watcher) Page(now time.Time) ([]byte, error) {
	values := map[string]any{
		"Title": w.title(), "Now": now.Format(time.DateTime), "Reload": int(reloadEvery.Seconds()),
		"Style": template.CSS(style),
	}
	w.show(values, w.read(now), now)

	var b bytes.Buffer
	if err := page().Execute(&b, values); err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}

	return b.Bytes(), nil
}

// show adds the values of a run to the values of the page.
func (w *Watcher) show(values map[string]any, r *run, now time.Time) {
	state := w.state(r, now)
	values["State"] = state.title
	values["Class"] = state.class
	values["Percent"] = r.percent()
	values["Facts"] = state.facts
	values["Error"] = state.failure
	values["Stages"] = r.stages

	running := r.tasksIn("start") // sorted by start: the longest at work is the first
	slices.SortStableFunc(running, func(a, b *task) int { return a.since.Compare(b.since) })

	values["For"] = func(t *task) string { return Words(now.Sub(t.since)) }
	if r.silent {
		values["For"] = func(*task) string { return "" }
		for _, task := range running {
			task.Note = "no sign of life since " + w.alive.Format(time.DateTime)
		}
	}

	values["Running"] = len(running)
	values["AtWork"] = running[:min(len(running), maxRunning)]
	values["MoreRunning"] = max(0, len(running)-maxRunning)

	failed := r.tasksIn("failed")
	values["Failed"] = len(failed)
	values["Failures"] = failed[:min(len(failed), maxFailed)]
	values["MoreFailed"] = max(0, len(failed)-maxFailed)
	values["Tail"] = func(t *task) string { return w.tail(t.Log) }

	if fi, err := engine.Own(filepath.Join(w.dir, reportFile)); err == nil {
		values["Report"] = fi.ModTime().Format(time.DateTime)
		values["Old"] = r.reportIsOld()
	}
}

// reportIsOld reports whether the run has not made its report of all experiments yet. A report that exists is then an
// earlier run's.
func (r *run) reportIsOld() bool {
	for _, task := range r.tasks {
		if task.Stage == "report" && task.Experiment == "" && task.state != "done" {
			return true
		}
	}

	return false
}

// title returns the name of the work directory, with the folder that contains it.
func (w *Watcher) title() string {
	abs, err := filepath.Abs(w.dir)
	if err != nil {
		return w.dir
	}
	return filepath.Join(filepath.Base(filepath.Dir(abs)), filepath.Base(abs))
}

// state describes a run in words.
type state struct {
	title   string
	class   string   // of the mark beside the title: "done", "running", "silent" or "failed"; "" without a run
	facts   []string // sentences
	failure string   // the error that ended the run; "" if there is none
}

// say adds a fact.
func (s *state) say(format string, args ...any) {
	s.facts = append(s.facts, fmt.Sprintf(format, args...))
}

// state returns the state of a run at the time now.
func (w *Watcher) state(r *run, now time.Time) state {
	if r.head.Event == "" {
		return state{title: "No journal of a run"}
	}

	var s state
	s.say("Process %d on %s, program %s, began %s.", r.head.Process, r.head.Host, r.head.Program, localTime(r.head.Time))

	switch {
	case r.end != nil && r.end.Text != "":
		s.title = "Interrupted"
		s.class = "failed"
		s.failure = r.end.Text
		s.say("Ended %s.", localTime(r.end.Time))
	case r.end != nil:
		s.title = "Done"
		s.class = "done"
		if len(r.tasksIn("failed")) > 0 {
			s.title = "Ended with failures"
			s.class = "failed"
		}

		s.say("It took %s.", Words(r.end.Time.Sub(r.head.Time)))
	case r.silent:
		s.title = "No sign of life since " + w.alive.Format(time.DateTime)
		s.class = "silent"
		s.say("The process was killed, or its machine does not reach the work directory. Run again to go on.")
	default:
		s.title = "Running"
		s.class = "running"
		s.say("For %s.", Words(now.Sub(r.head.Time)))
		if !r.estimate.Idle() {
			left := About(Words(r.estimate.Left(now)))
			s.say("%s left.", strings.ToUpper(left[:1])+left[1:])
		}
	}

	return s
}

// localTime returns a time as a text, in the time zone of this machine.
func localTime(moment time.Time) string { return moment.Local().Format(time.DateTime) }

// tail returns the last lines of a log, whose path is relative to the work directory. It returns "" without a log, and
// for a path that leads out of the work directory: the journal may be damaged.
func (w *Watcher) tail(log string) string {
	if log == "" || !filepath.IsLocal(filepath.FromSlash(log)) {
		return ""
	}
	return engine.Tail(filepath.Join(w.dir, filepath.FromSlash(log)), logLines)
}
