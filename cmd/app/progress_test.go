package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// Two tasks of one expected second each are made, and the first took ten. The estimate counts an average task of one
// second as much as a task that ended, so that the second task is expected to take (10 + 1)/2 seconds, which is about
// 6 (worked out by hand).
func TestProgressLine(t *testing.T) {
	first := &engine.Task{ID: "a", Stage: "dsp", Weight: 1}
	second := &engine.Task{ID: "b", Stage: "train", Weight: 1}
	p, now := testProgress(modeNone, &bytes.Buffer{})

	p.observe(engine.Event{Kind: "plan", Todo: []*engine.Task{first, second}})
	p.observe(engine.Event{Kind: "start", Task: first})
	*now = now.Add(10 * time.Second)
	p.observe(engine.Event{Kind: "done", Task: first, Ran: true, Seconds: 10})

	assert.Equal(t, "10.0 s  dsp 1/1  train 0/1  6.0 tasks/min  about 6 s left", strings.TrimSpace(p.line()))
}

// A task takes longer than the time between two lines, so that no event happens. Expected: the state is printed every
// ten seconds, and names the task and the time it has run. Of the 60 s that it should take, 60 − 30 are left.
func TestProgressOfLongTask(t *testing.T) {
	task := &engine.Task{ID: "e/report", Stage: "train", Weight: 60}
	var output bytes.Buffer
	p, now := testProgress(modePlain, &output)

	p.observe(engine.Event{Kind: "plan", Todo: []*engine.Task{task}})
	p.observe(engine.Event{Kind: "start", Task: task})
	for range 30 {
		*now = now.Add(time.Second)
		p.tick()
	}

	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, "11.0 s  train 0/1  about 49 s left  e/report for 11 s", strings.TrimSpace(lines[0]))
	assert.Equal(t, "22.0 s  train 0/1  about 38 s left  e/report for 22 s", strings.TrimSpace(lines[1]))
}

// With modeJSON each event is a line with a JSON object.
func TestProgressJSON(t *testing.T) {
	task := &engine.Task{ID: "a", Stage: "dsp", Weight: 1}
	var output bytes.Buffer
	p, _ := testProgress(modeJSON, &output)

	p.observe(engine.Event{Kind: "plan", Todo: []*engine.Task{task}})
	p.observe(engine.Event{Kind: "done", Task: task, Seconds: 1})
	p.observe(engine.Event{Kind: "skipped", Task: task})

	var kinds []any
	for line := range strings.Lines(output.String()) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
		kinds = append(kinds, object["event"])
	}

	assert.Equal(t, []any{"plan", "done", "skipped"}, kinds)
}

// testProgress returns a progress, and the time of its clock, which the test sets.
func testProgress(mode progressMode, w *bytes.Buffer) (p *progress, now *time.Time) {
	start := time.Unix(0, 0)
	now = &start

	return &progress{
		w: w, mode: mode, start: start, clock: func() time.Time { return *now }, estimate: pipeline.NewEstimate(1),
		total: map[string]int{}, done: map[string]int{}, started: map[string]time.Time{},
		stages: []string{"ingest", "dsp", "train"},
	}, now
}
