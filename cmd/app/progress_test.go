package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// The line counts the tasks to make, not those up to date. A task took ten seconds
// for one expected; an average task of one second counts as much as it, so that
// the other is expected to take (10 + 1)/2 seconds (worked out by hand).
func TestProgressLine(t *testing.T) {
	a, b := &engine.Task{ID: "a", Stage: "dsp", Weight: 1}, &engine.Task{ID: "b", Stage: "train", Weight: 1}
	var out bytes.Buffer
	start := time.Unix(0, 0)
	now := start
	p := &progress{
		w: &out, mode: "none", start: start, now: func() time.Time { return now }, left: pipeline.NewEstimate(1),
		total: map[string]int{}, done: map[string]int{}, stage: []string{"ingest", "dsp", "train"},
	}

	p.observe(engine.Event{Kind: "plan", Todo: []*engine.Task{a, b}})
	p.observe(engine.Event{Kind: "start", Task: a})
	now = now.Add(10 * time.Second)
	p.observe(engine.Event{Kind: "done", Task: a, Ran: true, Seconds: 10})

	if got, want := strings.TrimSpace(p.line()), "10.0 s  dsp 1/1  train 0/1  0.1 tasks/s  about 6 s left"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}

	p.mode = "json"
	p.observe(engine.Event{Kind: "plan", Todo: nil})
	p.observe(engine.Event{Kind: "done", Task: b, Seconds: 1})

	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil || m["event"] == nil {
			t.Errorf("line for machines %q: %v", l, err)
		}
	}
}
