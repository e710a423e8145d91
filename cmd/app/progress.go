package app

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline"
	"doubletake/report"
)

// progress reports a run on standard error: one line that is rewritten on a
// terminal, sparse lines otherwise, JSON lines for machines.
type progress struct {
	w     io.Writer
	mode  string // "line", "plain", "json", "none"
	mu    sync.Mutex
	start time.Time
	total map[string]int // tasks per stage that are to be made
	done  map[string]int
	left  *pipeline.Estimate
	now   func() time.Time
	last  time.Time
	stage []string
	keep  bool // the run goes on after failures
}

// newProgress reports a run that makes jobs tasks at a time, 0 where a cluster
// decides.
func newProgress(mode string, keep bool, jobs int, p *pipeline.Project, w io.Writer) *progress {
	pr := &progress{
		w: w, mode: mode, start: time.Now(), now: time.Now, left: pipeline.NewEstimate(jobs),
		total: map[string]int{}, done: map[string]int{}, stage: p.Plan.Stages, keep: keep,
	}

	if mode == "auto" {
		pr.mode = "plain"
		if isTerminal(file(w)) {
			pr.mode = "line"
		}
	}

	return pr
}

func (p *progress) observe(e pipeline.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left.Observe(e, p.now())

	switch e.Kind {
	case "plan":
		for _, t := range e.Todo {
			p.total[t.Stage]++
		}

		if p.mode == "json" {
			p.json(map[string]any{"event": "plan", "to_run": p.total, "t": p.seconds()})
		}

		return

	case "done":
		p.done[e.Task.Stage]++
	}

	if e.Kind == "note" && (p.mode == "line" || p.mode == "plain") {
		p.clear()
		fmt.Fprintf(p.w, "%s: %s\n", e.Task.ID, e.Note)
	}

	switch p.mode {
	case "json":
		m := map[string]any{"event": e.Kind, "task": e.Task.ID, "stage": e.Task.Stage, "t": p.seconds()}
		switch e.Kind {
		case "start":
		case "note":
			m["note"] = e.Note
		default:
			m["seconds"] = e.Seconds

			if !p.left.Idle() {
				m["left"] = p.left.Left(p.now()).Seconds()
			}
		}

		if e.Err != nil {
			m["error"] = e.Err.Error()
		}

		p.json(m)

	case "line":
		if p.now().Sub(p.last) > 100*time.Millisecond {
			p.last = p.now()
			p.clear()
			fmt.Fprint(p.w, p.line())
		}

	case "plain":
		if p.now().Sub(p.last) > 10*time.Second {
			if !p.last.IsZero() {
				fmt.Fprintln(p.w, p.line())
			}
			p.last = p.now()
		}
	}
}

// clear clears the line that is rewritten on a terminal.
func (p *progress) clear() {
	if p.mode != "line" {
		return
	}

	w := p.w
	if f := file(w); f != nil {
		w = f // past the printer, which escapes control characters
	}

	fmt.Fprint(w, "\r\x1b[K")
}

// seconds is the time since the run began.
func (p *progress) seconds() float64 { return p.now().Sub(p.start).Seconds() }

// note prints a message that concerns no single task.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch p.mode {
	case "none":
	case "json":
		p.json(map[string]any{"event": "message", "text": text, "t": p.seconds()})
	default:
		p.clear()
		fmt.Fprintln(p.w, text)
	}
}

// json writes one line for machines.
func (p *progress) json(event map[string]any) {
	if b, err := json.Marshal(event); err == nil {
		fmt.Fprintf(p.w, "%s\n", b)
	}
}

// line is the state of each stage, the rate at which tasks end, and the expected
// end of the run by the cost of the remaining tasks.
func (p *progress) line() string {
	elapsed := p.seconds()
	parts := []string{fmt.Sprintf("%5.1f s", elapsed)}

	done := 0
	for _, s := range p.stage {
		if p.total[s] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d/%d", s, p.done[s], p.total[s]))
			done += p.done[s]
		}
	}

	if done > 0 && elapsed > 1 {
		parts = append(parts, fmt.Sprintf("%.1f tasks/s", float64(done)/elapsed))

		if !p.left.Idle() {
			parts = append(parts, "about "+pipeline.Words(p.left.Left(p.now()))+" left")
		}
	}

	return strings.Join(parts, "  ")
}

// end prints the summary of a run: the tasks made, and where the time went. After
// an early end only JSON gets it; people read the one error message, unless they
// asked to keep going.
func (p *progress) end(r *pipeline.Result, failed error) {
	p.clear()

	if r == nil || p.mode == "none" {
		return
	}

	if p.mode == "json" {
		p.json(map[string]any{"event": "end", "result": r})
		return
	}

	broken := 0
	for _, s := range r.Stages {
		broken += s.Failed
	}

	if failed != nil && (!p.keep || broken == 0) {
		return
	}

	if r.Ran == 0 && failed == nil {
		fmt.Fprintf(p.w, "everything is up to date: %d tasks, %.2f s\n", r.Cached, r.Wall)
		return
	}

	l := report.Listing{Heads: []string{"stage", "tasks", "ran", "up to date", "failed", "task s", "wall s"}}
	for _, s := range r.Stages {
		l.Add(s.Stage, strconv.Itoa(s.Tasks), strconv.Itoa(s.Ran), strconv.Itoa(s.Cached), strconv.Itoa(s.Failed),
			fmt.Sprintf("%.2f", s.Seconds), fmt.Sprintf("%.2f", s.Wall))
	}

	_ = l.Write(p.w, width(p.w)) // what goes wrong with progress is of no consequence

	if r.Slowest == "" {
		return
	}

	fmt.Fprintf(p.w, "total %.2f s; slowest task %s, %.2f s\n", r.Wall, r.Slowest, r.SlowestSeconds)
}
