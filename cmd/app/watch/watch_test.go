package watch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// look returns the page of a watcher as it is now.
func look(t *testing.T, w *Watcher) string {
	t.Helper()

	page, err := w.Page(time.Now())
	require.NoError(t, err)

	return string(page)
}

// stageNow returns the counts of a stage as they are now.
func stageNow(w *Watcher, name string) *stage { return w.read(time.Now()).stage(name) }

// The real engine runs fake tasks, and a watcher looks at the run as it goes. The expected counts and texts are what
// the test makes the tasks do.
func TestWatcher(t *testing.T) {
	s := newStub(t)
	w := New(s.dir)

	assert.Contains(t, look(t, w), "No journal of a run")

	began := time.Now()
	s.begin()
	until(t, "three tasks are at work", func() bool { return len(atWork(w)) == 3 })

	ingest := stageNow(w, "ingest")
	assert.Equal(t, 3, ingest.Tasks, "tasks of ingest")
	assert.Equal(t, 3, ingest.Running, "tasks of ingest at work")
	assert.Zero(t, ingest.Waiting(), "tasks of ingest that wait")
	assert.Zero(t, ingest.Made, "tasks of ingest that were made")

	train := stageNow(w, "train")
	assert.Equal(t, 2, train.Tasks, "tasks of train")
	assert.Equal(t, 2, train.Waiting(), "tasks of train that wait")

	host, err := os.Hostname()
	require.NoError(t, err)

	first := atWork(w)[0]
	assert.True(t, strings.HasPrefix(first.ID, "e/ingest/"), first.ID)
	assert.Equal(t, host, first.Where)
	assert.WithinRange(t, first.since, began, time.Now())

	page := look(t, w)
	assert.Contains(t, page, `http-equiv="refresh" content="5"`, "browsers load the page again")
	assert.Contains(t, page, "test &lt;1&gt;", "names are escaped")
	assert.NotContains(t, page, "test <1>", "names are escaped")

	s.gates["e/ingest/c.wav"] <- s.failing()
	s.gates["e/ingest/a.wav"] <- nil
	s.gates["e/ingest/b.wav"] <- nil
	until(t, "one failed, the trainings began", func() bool {
		now := w.read(time.Now())
		return now.stage("ingest").Failed == 1 && now.stage("train").Running == 2
	})

	failed := w.read(time.Now()).tasksIn("failed")
	require.Len(t, failed, 1)
	assert.Equal(t, "e/ingest/c.wav", failed[0].ID)
	assert.Equal(t, "the microphone fell <i>down</i>", failed[0].Text)
	assert.Equal(t, ".cache/command/parts/b/log", failed[0].Log)

	tail := w.tail(failed[0].Log)
	assert.Equal(t, logLines-1, strings.Count(tail, "\n"), "line ends in the tail of the log")
	assert.True(t, strings.HasPrefix(tail, "line of the log\n"), "%.80q", tail)
	assert.True(t, strings.HasSuffix(tail, "<script>last()</script> line"), "%.80q", tail)

	page = look(t, w)
	assert.Contains(t, page, "&lt;script&gt;last()&lt;/script&gt; line", "the log is escaped")
	assert.NotContains(t, page, "<script>last", "the log is escaped")
	assert.Contains(t, page, "the microphone fell &lt;i&gt;down&lt;/i&gt;", "the error is escaped")
	assert.NotContains(t, page, "<i>down", "the error is escaped")

	ingest = stageNow(w, "ingest")
	assert.Equal(t, 2, ingest.Made, "tasks of ingest that were made")
	assert.Equal(t, 1, ingest.Failed, "tasks of ingest that failed")
	assert.Equal(t, 66, ingest.Percent(), "2 of 3 tasks in per cent, rounded down")

	for _, id := range []string{"e/train/low/seed-0", "e/train/low/seed-1", "e/report", "report"} {
		s.gates[id] <- nil
	}

	require.ErrorIs(t, <-s.over, engine.ErrFailed)

	page = look(t, w)
	assert.Contains(t, page, `Ended with failures <span class="chip failed">85 %</span>`, "6 of 7 tasks, rounded down")
	assert.Contains(t, page, `href="report"`)
	assert.Contains(t, page, "At work: 0")
	assert.NotContains(t, page, "has not renewed", "the report is this run's")

	// A new watcher has only the work directory.
	assert.Contains(t, look(t, New(s.dir)), "Ended with failures")
}

// The time at which a task began is shown as a date and a time of day. Expected text by hand.
func TestSince(t *testing.T) {
	began := time.Date(2026, time.January, 2, 3, 4, 5, 6, time.Local)
	assert.Equal(t, "2026-01-02 03:04:05", (&task{since: began}).Since())
}

// title returns the state of a watcher's run as it is now.
func title(w *Watcher) string {
	now := time.Now()
	return w.state(w.read(now), now).title
}

// A run that goes on is shown as running, and after an interrupt as interrupted. The report is an earlier run's.
func TestInterrupted(t *testing.T) {
	s := newStub(t)
	testfile.Write(t, filepath.Join(s.dir, "report.html"), "the report of an earlier run")
	w := New(s.dir)
	s.begin()
	until(t, "tasks are at work", func() bool { return len(atWork(w)) == 3 })
	assert.Equal(t, "Running", title(w))
	assert.Contains(t, look(t, w), "; this run has not renewed it yet")

	s.stop()
	<-s.over

	assert.Equal(t, "Interrupted", title(w))
	assert.Empty(t, atWork(w))
}

// A kill leaves a journal whose last line is cut and that no longer changes. A run that follows replaces the journal,
// and writes its lines in two pieces here.
func TestKilled(t *testing.T) {
	s := newStub(t)
	s.begin()
	until(t, "tasks are at work", func() bool { return len(atWork(New(s.dir))) == 3 })
	running := testfile.Read(t, filepath.Join(s.dir, engine.Journal))
	s.stop()
	<-s.over

	w := New(filepath.Join(t.TempDir(), "runs"))
	journal := filepath.Join(w.dir, engine.Journal)
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.MkdirAll(filepath.Dir(journal), 0o755))
	require.NoError(t, os.WriteFile(journal, running[:len(running)-20], 0o644))
	require.NoError(t, os.Chtimes(journal, hourAgo, hourAgo))

	assert.Equal(t, "No sign of life since "+hourAgo.Format(time.DateTime), title(w))
	require.Len(t, atWork(w), 2, "tasks at work, without the task of the line that is cut")
	assert.Contains(t, look(t, w), `<td></td><td class="text">no sign of life since `)

	require.NoError(t, os.Remove(journal))
	require.NoError(t, os.WriteFile(journal, running[:100], 0o644))
	title(w) // a look at the first piece

	require.NoError(t, os.WriteFile(journal, running, 0o644)) // the same file, longer
	assert.Equal(t, "Running", title(w))
	assert.Len(t, atWork(w), 3)
}

// While no job of a cluster runs, the page states no time that is left, as the progress does not. Journals by hand.
func TestTimeLeftOnCluster(t *testing.T) {
	const planned = `{"event":"task","task":"a","expect":50}` + "\n"
	const started = `{"event":"start","task":"a"}` + "\n"
	for lines, want := range map[string]bool{
		`{"event":"run","jobs":0}` + "\n" + planned:           false,
		`{"event":"run","jobs":0}` + "\n" + planned + started: true,
		`{"event":"run","jobs":2}` + "\n" + planned:           true,
	} {
		dir := t.TempDir()
		testfile.Write(t, filepath.Join(dir, engine.Journal), lines)

		w := New(dir)
		now := time.Now()
		facts := w.state(w.read(now), now).facts
		isTold := slices.ContainsFunc(facts, func(fact string) bool { return strings.HasSuffix(fact, " left.") })
		assert.Equal(t, want, isTold, "%s\n%s", lines, facts)
	}
}

// A task failed, another task needs it, and a third was on a node of a cluster that died and is not made either.
// Expected: no time is left for any, and two tasks wait. The journal names a task that it does not know, too.
func TestTimeLeftAfterFailure(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, engine.Journal), `{"event":"run"}
{"event":"task","task":"a","expect":50,"stage":"train"}
{"event":"task","task":"b","expect":50,"stage":"train"}
{"event":"task","task":"c","expect":50,"stage":"train"}
{"event":"start","task":"c"}
{"event":"failed","task":"a","skipped":["b","unknown"]}
{"event":"skipped","task":"c"}
`)

	now := time.Now()
	read := New(dir).read(now)
	assert.Zero(t, read.estimate.Left(now))
	assert.Equal(t, []*stage{{Name: "train", Tasks: 3, Failed: 1}}, read.stages)
	assert.Equal(t, 2, read.stages[0].Waiting())
}

// No file outside the work directory is shown, whatever path a journal has for a log.
func TestLogOutside(t *testing.T) {
	dir := t.TempDir()
	w := New(filepath.Join(dir, "runs"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644))

	for _, log := range []string{"../secret", "a/../../secret", filepath.Join(dir, "secret"), "", "."} {
		assert.Empty(t, w.tail(log), "%q gives", log)
	}
}

// FuzzJournal shows journals of any content: the page is always complete.
func FuzzJournal(f *testing.F) {
	line := func(l engine.Line) string {
		text, err := json.Marshal(l)
		require.NoError(f, err)

		return string(text) + "\n"
	}
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

		page := look(t, New(dir))
		assert.True(t, strings.HasSuffix(page, "</html>\n"), "the page ends with %q", page[max(0, len(page)-100):])
	})
}

// atWork returns the tasks that are being made.
func atWork(w *Watcher) []*task { return w.read(time.Now()).tasksIn("start") }
