package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
)

// The line counts what is to be made, not what was there; half of the expected
// cost done in ten seconds leaves ten seconds (worked out by hand).
func TestProgressLine(t *testing.T) {
	a, b := &engine.Task{ID: "a", Stage: "dsp", Weight: 1}, &engine.Task{ID: "b", Stage: "train", Weight: 1}
	var out bytes.Buffer
	p := &progress{w: &out, mode: "none", start: time.Now().Add(-10 * time.Second), total: map[string]int{}, done: map[string]int{}, stage: []string{"ingest", "dsp", "train"}}
	p.observe(engine.Event{Kind: "plan", Todo: []*engine.Task{a, b}})
	p.observe(engine.Event{Kind: "start", Task: a})
	p.observe(engine.Event{Kind: "done", Task: a, Seconds: 10})
	if got, want := strings.TrimSpace(p.line()), "10.0 s  dsp 1/1  train 0/1  0.1 tasks/s  about 10 s left"; got != want {
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
