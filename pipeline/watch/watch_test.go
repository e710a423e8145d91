package watch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run of fake tasks on the real engine, looked at as it goes. What is expected is
// what the test had the tasks do.
func TestWatcher(t *testing.T) {
	s := newStub(t)
	w := New(s.dir)
	look := func() string { return string(w.Page(time.Now())) }

	assert.Contains(t, look(), "No journal of a run")

	s.begin()
	row := func(name string) *stage { return w.read(time.Now()).stage(name) }

	until(t, "three tasks are at work", func() bool { return len(atWork(w)) == 3 })

	if v := row("ingest"); v.Tasks != 3 || v.Running != 3 || v.Waiting() != 0 || v.Made != 0 {
		t.Errorf("ingest: %+v", v)
	}

	if v := row("train"); v.Tasks != 2 || v.Waiting() != 2 {
		t.Errorf("train: %+v", v)
	}

	host, _ := os.Hostname()
	if r := atWork(w)[0]; !strings.HasPrefix(r.ID, "e/ingest/") || r.Where != host ||
		!strings.HasPrefix(r.Since(), time.Now().Format("2006-")) {
		t.Errorf("at work: %+v", r)
	}

	if p := look(); !strings.Contains(p, `http-equiv="refresh" content="5"`) || strings.Contains(p, "test <1>") {
		t.Error("the page is not read anew, or does not escape a name")
	}

	s.gates["e/ingest/c.wav"] <- s.failing()
	s.gates["e/ingest/a.wav"] <- nil
	s.gates["e/ingest/b.wav"] <- nil
	until(t, "one failed, the trainings began", func() bool { return row("train").Running == 2 })

	f := w.read(time.Now()).in("failed")
	if len(f) != 1 || f[0].ID != "e/ingest/c.wav" || f[0].Text != "the microphone fell <i>down</i>" ||
		f[0].Log != ".cache/command/parts/b/log" {
		t.Fatalf("failed: %.300v", f)
	}

	if tail := w.tail(f[0].Log); !strings.HasSuffix(tail, "<script>last()</script> line") ||
		strings.Count(tail, "\n") != logLines-1 || !strings.HasPrefix(tail, "line of the log\n") {
		t.Errorf("the log's tail has %d bytes: %.80q…", len(tail), tail)
	}

	if p := look(); !strings.Contains(p, "last()") || strings.Contains(p, "<script>last") ||
		strings.Contains(p, "<i>down") {
		t.Error("the page does not escape an error or a log")
	}

	if v := row("ingest"); v.Made != 2 || v.Failed != 1 || v.Percent() != 66 {
		t.Errorf("ingest: %+v", v)
	}

	for _, id := range []string{"e/train/low/seed-0", "e/train/low/seed-1", "e/report", "report"} {
		s.gates[id] <- nil
	}

	if err := <-s.over; !errors.Is(err, engine.ErrFailed) {
		t.Fatal(err)
	}

	p := look()
	assert.Contains(t, p, "Ended with failures")
	assert.Contains(t, p, `href="report"`)
	assert.Contains(t, p, "At work: 0")

	assert.False(t, strings.Contains(p, "not renewed"), "the report is taken for one of an earlier run")

	// After the fact, from the work directory alone.
	w = New(s.dir)

	assert.Contains(t, look(), "Ended with failures")
}

// A run that was interrupted, one that was killed, and one that follows.
func TestEnds(t *testing.T) {
	s := newStub(t)
	w := New(s.dir)
	state := func() string {
		now := time.Now()
		return w.state(w.read(now), now).title
	}

	s.begin()
	until(t, "tasks are at work", func() bool { return len(atWork(w)) == 3 })

	assert.Equal(t, "Running", state(), "got")

	journal := filepath.Join(s.dir, engine.Journal)
	running := testfile.Read(t, journal)

	s.stop()
	<-s.over

	if got := state(); got != "Interrupted" || len(atWork(w)) != 0 {
		t.Error(got)
	}

	// The journal as a kill leaves it: the last line cut, nothing since an hour.
	killed := New(filepath.Join(t.TempDir(), "runs"))
	to := filepath.Join(killed.dir, engine.Journal)

	hour := time.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, running[:len(running)-20], 0o644),
		os.Chtimes(to, hour, hour)); err != nil {
		t.Fatal(err)
	}

	w = killed

	if got := state(); !strings.HasPrefix(got, "No sign of life since "+hour.Format(time.DateTime)) {
		t.Error(got)
	}

	require.Len(t, atWork(w), 2, "at work")
	assert.Contains(t, string(w.Page(time.Now())), `<td></td><td class="text">no sign of life since `)

	// A run that follows replaces the journal; its lines come in two pieces.
	require.NoError(t, os.Remove(to))
	require.NoError(t, os.WriteFile(to, running[:100], 0o644))

	state()

	if err := os.WriteFile(to, running, 0o644); err != nil { // the same file, longer
		t.Fatal(err)
	}

	if got := state(); got != "Running" || len(atWork(w)) != 3 {
		t.Errorf("%s, %d at work", got, len(atWork(w)))
	}
}

// Whatever a journal says, no file outside the work directory is shown.
func TestLogOutside(t *testing.T) {
	dir := t.TempDir()
	w := New(filepath.Join(dir, "runs"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644))

	for _, log := range []string{"../secret", "a/../../secret", filepath.Join(dir, "secret"), "", "."} {
		assert.Empty(t, w.tail(log), "%q gives", log)
	}
}

// FuzzJournal reads journals of any content: nothing panics, and counts stay counts.
func FuzzJournal(f *testing.F) {
	line := func(l engine.Line) string { b, _ := json.Marshal(l); return string(b) + "\n" }
	f.Add(line(engine.Line{Event: "run", Jobs: 2, Stages: []engine.StageSummary{{Stage: "train", Cached: 1}}}) +
		line(engine.Line{Event: "task", Task: "e/train/s/seed-0", Stage: "train", Experiment: "e", Split: "s"}) +
		line(engine.Line{Event: "start", Task: "e/train/s/seed-0"}) +
		line(engine.Line{Event: "failed", Task: "e/train/s/seed-0", Text: "x", Log: "../y"}) +
		line(engine.Line{Event: "done", Task: "e/train/s/seed-0", Ran: true, Seconds: 2}) + line(engine.Line{Event: "end"}))

	f.Add("{\"event\":\"done\",\"task\":\"x\"}\n{\"event\":\"task\"}\n{\"event\":\"start\"}\n\n{")
	dir := f.TempDir()
	path := filepath.Join(dir, engine.Journal)
	require.NoError(f, os.MkdirAll(filepath.Dir(path), 0o755))

	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

		w := New(dir)
		if page := string(w.Page(time.Now())); !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("the page ends with %q", page[max(0, len(page)-100):])
		}
	})
}

// atWork are the tasks that are being made.
func atWork(w *Watcher) []*task { return w.read(time.Now()).in("start") }
