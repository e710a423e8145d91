package command

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
)

// The queue shows a part once at each second. Expected: since when its job runs, and since when it is missing, in
// seconds; -1 if it is not so. A job that the scheduler puts back into the queue does not run any more.
func TestTakeQueue(t *testing.T) {
	const waits, runs, missing = "waits", "runs", "missing"
	for _, c := range []struct {
		name               string
		states             []string
		running, leftQueue int
	}{
		{"waits", []string{waits, waits}, -1, -1},
		{"runs", []string{waits, runs, runs}, 1, -1},
		{"runs and waits again", []string{runs, runs, waits}, -1, -1},
		{"runs twice", []string{runs, waits, runs, runs}, 2, -1},
		{"has left", []string{runs, missing, missing}, 0, 1},
		{"is listed again", []string{runs, missing, runs}, 0, -1},
		{"was never listed", []string{missing, missing}, -1, -1},
	} {
		start := time.Unix(1000, 0)
		s := &submission{id: "17", accepted: start.Add(-time.Minute)}
		p := &part{submission: s, number: 1}
		e := &Executor{parts: []*part{p}}
		for second, state := range c.states {
			queue := map[job.Part]job.State{}
			if state != missing {
				queue[job.Part{ID: "17", N: 1}] = job.State{Running: state == runs}
			}

			e.takeQueue(start.Add(time.Duration(second)*time.Second), queue)
		}

		seconds := func(moment time.Time) int {
			if moment.IsZero() {
				return -1
			}
			return int(moment.Sub(start).Seconds())
		}
		assert.Equal(t, c.running, seconds(p.running), "%s: running since", c.name)
		assert.Equal(t, c.leftQueue, seconds(p.leftQueue), "%s: missing since", c.name)
	}
}

// After something happens, the queue is asked within firstAsk, also if the next look was farther away.
func TestStir(t *testing.T) {
	e := &Executor{nextAsk: time.Now().Add(lastAsk), askEvery: lastAsk}
	e.stir()
	assert.LessOrEqual(t, time.Until(e.nextAsk), firstAsk)
	assert.Equal(t, firstAsk, e.askEvery)
}

// A queue that cannot be listed is told once, at the third error, and again only after a list.
func TestQueueErrors(t *testing.T) {
	told := 0
	e := &Executor{options: Options{Scheduler: job.Find("slurm"), Notify: func(string) { told++ }}}
	want := []int{0, 0, 1, 1, 1, 1, 1, 2}
	for i, err := range []error{
		errors.ErrUnsupported, errors.ErrUnsupported, errors.ErrUnsupported, errors.ErrUnsupported, nil,
		errors.ErrUnsupported, errors.ErrUnsupported, errors.ErrUnsupported,
	} {
		e.answer(time.Now(), "", err)
		assert.Equal(t, want[i], told, "after list %d", i+1)
	}
}

// A task that failed and is not made again ends with its failure. Expected texts by hand.
func TestFail(t *testing.T) {
	for _, c := range []struct {
		name     string
		code     int
		attempts int // before
		draining bool
		fatal    error
		want     string
	}{
		{"last attempt", statusTask, maxAttempts - 1, false, nil, "died (tried 3 times)"},
		{"another attempt would fail too", statusConfiguration, 0, false, nil, "died"},
		{"the run ends", statusTask, 0, true, nil, "died"},
		{"last attempt, and the run ends", statusTask, maxAttempts - 1, true, nil, "died (tried 3 times)"},
		{"nothing is submitted any more", statusTask, 0, false, errors.ErrUnsupported, "died"},
	} {
		e := &Executor{attempts: map[string]int{"k": c.attempts}, draining: c.draining, fatal: c.fatal}
		failed := &task{work: &engine.Work{Key: "k"}, done: make(chan error, 1)}
		e.fail(failed, &TaskError{Text: "died", Code: c.code})

		require.Len(t, failed.done, 1, c.name)
		require.EqualError(t, <-failed.done, c.want, c.name)
		assert.Empty(t, e.pending, c.name)
	}
}
