package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// progress tells on standard error how a run goes: one line that is rewritten
// on a terminal, sparse lines otherwise, JSON lines for machines.
type progress struct {
	w     io.Writer
	mode  string // "line", "plain", "json", "none"
	mu    sync.Mutex
	start time.Time
	total map[string]int // tasks per stage that are to be made
	done  map[string]int
	work  float64 // expected cost of what is to be made
	past  float64 // and of what is done
	last  time.Time
	stage []string
	keep  bool // the run goes on after failures
}

func newProgress(mode string, keep bool, p *pipeline.Project, w io.Writer) (*progress, error) {
	pr := &progress{w: w, mode: mode, start: time.Now(), total: map[string]int{}, done: map[string]int{}, stage: p.Plan.Stages, keep: keep}
	switch mode {
	case "auto":
		pr.mode = "plain"
		if f, ok := w.(*os.File); ok && isTerminal(f) {
			pr.mode = "line"
		}
	case "plain", "json", "none":
	default:
		return nil, usage("--progress wants auto, plain, json or none, found %q", mode)
	}
	return pr, nil
}

func (p *progress) observe(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case "plan":
		for _, t := range e.Todo {
			p.total[t.Stage]++
			p.work += t.Weight
		}
		if p.mode == "json" {
			p.json(map[string]any{"event": "plan", "to_run": p.total, "t": time.Since(p.start).Seconds()})
		}
		return
	case "done":
		p.done[e.Task.Stage]++
		p.past += e.Task.Weight
	}
	if e.Kind == "note" && (p.mode == "line" || p.mode == "plain") {
		clear := ""
		if p.mode == "line" {
			clear = "\r\x1b[K"
		}
		fmt.Fprintf(p.w, "%s%s: %s\n", clear, e.Task.ID, e.Note)
	}
	switch p.mode {
	case "json":
		m := map[string]any{"event": e.Kind, "task": e.Task.ID, "stage": e.Task.Stage, "t": time.Since(p.start).Seconds()}
		switch e.Kind {
		case "start":
		case "note":
			m["note"] = e.Note
		default:
			m["seconds"] = e.Seconds
		}
		if e.Err != nil {
			m["error"] = e.Err.Error()
		}
		p.json(m)
	case "line":
		if time.Since(p.last) > 100*time.Millisecond {
			p.last = time.Now()
			fmt.Fprintf(p.w, "\r\x1b[K%s", p.line())
		}
	case "plain":
		if time.Since(p.last) > 10*time.Second {
			if !p.last.IsZero() {
				fmt.Fprintln(p.w, p.line())
			}
			p.last = time.Now()
		}
	}
}

// say tells something that concerns no single task.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.mode {
	case "none":
	case "json":
		p.json(map[string]any{"event": "message", "text": text, "t": time.Since(p.start).Seconds()})
	case "line":
		fmt.Fprintf(p.w, "\r\x1b[K%s\n", text)
	default:
		fmt.Fprintln(p.w, text)
	}
}

// json writes one line for machines.
func (p *progress) json(event map[string]any) {
	if b, err := json.Marshal(event); err == nil {
		fmt.Fprintf(p.w, "%s\n", b)
	}
}

// line says how far each stage is, at what rate tasks end, and when the run
// might, by the expected cost of what is left.
func (p *progress) line() string {
	elapsed := time.Since(p.start).Seconds()
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
		if p.past > 0 {
			left := elapsed * (p.work - p.past) / p.past
			parts = append(parts, fmt.Sprintf("about %.0f s left", max(left, 0)))
		}
	}
	return strings.Join(parts, "  ")
}

// end prints the summary of a run: what was done, and where the time went. Of
// a run that ended early only machines are told; people read the one message
// that says why, unless they asked to keep going.
func (p *progress) end(r *engine.Result, failed error) {
	if p.mode == "line" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
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
	head, cell := "", func(int) string { return "" }
	if broken > 0 {
		head, cell = fmt.Sprintf(" %7s", "failed"), func(n int) string { return fmt.Sprintf(" %7d", n) }
	}
	fmt.Fprintf(p.w, "%-9s %6s %6s %11s%s %9s %9s\n", "stage", "tasks", "ran", "up to date", head, "task s", "wall s")
	for _, s := range r.Stages {
		fmt.Fprintf(p.w, "%-9s %6d %6d %11d%s %9.2f %9.2f\n", s.Stage, s.Tasks, s.Ran, s.Cached, cell(s.Failed), s.Seconds, s.Wall)
	}
	if r.Slowest == "" {
		return
	}
	fmt.Fprintf(p.w, "total %.2f s; slowest task %s, %.2f s\n", r.Wall, r.Slowest, r.SlowestSeconds)
}
