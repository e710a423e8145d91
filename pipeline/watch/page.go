package watch

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"doubletake/pipeline/engine"
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var style string

var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(pageText)) })

// reportFile is the page of all experiments, in the work directory.
const reportFile = "report.html"

// Bounds of what is shown.
const (
	mostRunning = 200
	mostFailed  = 50
	logLines    = 20 // of a failed task's log
)

// reloadEvery is the time after which browsers read the page anew.
const reloadEvery = 5 * time.Second

// Page returns the state as one file that needs neither network nor scripts.
func (w *Watcher) Page(now time.Time) []byte {
	v := map[string]any{
		"Title": w.title(), "Now": now.Format(time.DateTime), "Reload": int(reloadEvery.Seconds()),
		"Style": template.CSS(style),
	}
	w.show(v, w.read(now), now)

	var b bytes.Buffer
	if err := page().Execute(&b, v); err != nil {
		panic("watch: " + err.Error()) // the template and the values are this package's
	}

	return b.Bytes()
}

// show adds what the page shows of a run.
func (w *Watcher) show(v map[string]any, r *run, now time.Time) {
	v["State"], v["Facts"], v["Error"] = w.state(r, now)
	v["Stages"] = r.stages

	running := r.in("start") // the longest at work first
	slices.SortStableFunc(running, func(a, b *task) int { return a.since.Compare(b.since) })

	v["For"] = func(t *task) string { return Words(now.Sub(t.since)) }
	if r.silent {
		v["For"] = func(*task) string { return "" }
		for _, t := range running {
			t.Note = "no sign of life since " + w.alive.Format(time.DateTime)
		}
	}

	v["Running"], v["AtWork"], v["MoreRunning"] = first(running, mostRunning)
	v["Failed"], v["Failures"], v["MoreFailed"] = first(r.in("failed"), mostFailed)
	v["Tail"] = func(t *task) string { return w.tail(t.Log) }

	if fi, err := engine.Own(filepath.Join(w.dir, reportFile)); err == nil {
		v["Report"] = fi.ModTime().Format(time.DateTime)
		v["Old"] = slices.ContainsFunc(r.tasks, func(t *task) bool {
			return t.Stage == "report" && t.Experiment == "" && t.state != "done"
		})
	}
}

// first returns the number of tasks, the first ones, and how many more there are.
func first(list []*task, most int) (int, []*task, int) {
	return len(list), list[:min(len(list), most)], max(0, len(list)-most)
}

// title names the work directory and the folder it is in.
func (w *Watcher) title() string {
	abs, err := filepath.Abs(w.dir)
	if err != nil {
		return w.dir
	}
	return filepath.Join(filepath.Base(filepath.Dir(abs)), filepath.Base(abs))
}

// state is that of the run in words, and what ended it.
func (w *Watcher) state(r *run, now time.Time) (state string, facts []string, failure string) {
	if r.head.Event == "" {
		return "No journal of a run", nil, ""
	}

	at := func(t time.Time) string { return t.Local().Format(time.DateTime) }
	say := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	say("Process %d on %s, program %s, began %s.", r.head.Process, r.head.Host, r.head.Program, at(r.head.Time))

	switch {
	case r.end != nil && r.end.Text != "":
		say("Ended %s.", at(r.end.Time))
		return "Interrupted", facts, r.end.Text
	case r.end != nil:
		state = "Done"
		if len(r.in("failed")) > 0 {
			state = "Ended with failures"
		}

		say("It took %s.", Words(r.end.Time.Sub(r.head.Time)))
	case r.silent:
		state = "No sign of life since " + w.alive.Format(time.DateTime)
		say("The process was killed, or its machine does not reach the work directory. Run again to go on.")
	default:
		state = "Running"
		say("For %s.", Words(now.Sub(r.head.Time)))
		say("About %s left.", Words(r.left.Left(now)))
	}

	return state, facts, ""
}

// Words writes a duration as a reader needs it: 14 s, 3 min, 2 h 10 min.
func Words(d time.Duration) string {
	switch m := int(d.Minutes() + 0.5); {
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case m < 100:
		return fmt.Sprintf("%d min", m)
	default:
		return fmt.Sprintf("%d h %d min", m/60, m%60)
	}
}

// tail returns the last lines of a log below the work directory.
func (w *Watcher) tail(log string) string {
	if log == "" || !filepath.IsLocal(filepath.FromSlash(log)) {
		return ""
	}
	return engine.Tail(filepath.Join(w.dir, filepath.FromSlash(log)), logLines)
}
