package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/kv"
)

// A run with one task at a time. The expected seconds were worked out by hand; the
// comments show how.
func TestEstimateByHand(t *testing.T) {
	a := &Task{ID: "a", Stage: "dsp"}
	b := &Task{ID: "b", Stage: "dsp"}
	c := &Task{ID: "c", Stage: "train"}
	e := NewEstimate(1)
	zero := time.Unix(0, 0)
	e.Observe(Event{Kind: "plan", Todo: []*Task{a, b, c}, Expect: []float64{1, 1, 4}}, zero)
	check := func(what string, now time.Time, want float64) {
		t.Helper()
		assert.InDelta(t, want, e.Left(now).Seconds(), 1e-6, "%s: s left", what)
	}

	check("before the start", zero, 6)
	e.Observe(Event{Kind: "start", Task: a}, zero)
	check("half a second later", zero.Add(time.Second/2), 5.5)

	// a took three seconds for one expected. All tasks together: (3 + 1·2)/(1 + 2)
	// = 5/3, an average task being two seconds. Stage dsp: (3 + 5/3·1)/(1 + 1) =
	// 7/3; its group: (3 + 7/3)/2 = 8/3. Of train nothing is known but 5/3.
	e.Observe(Event{Kind: "done", Task: a, Ran: true, Seconds: 3}, zero.Add(3*time.Second))
	check("after one task", zero.Add(3*time.Second), 8./3+4*5./3)

	// A result that was found teaches nothing.
	e.Observe(Event{Kind: "done", Task: b, Seconds: 0.001}, zero.Add(3*time.Second))
	check("after a result found", zero.Add(3*time.Second), 4*5./3)
	e.Observe(Event{Kind: "done", Task: c, Ran: true, Seconds: 9}, zero.Add(12*time.Second))
	check("at the end", zero.Add(12*time.Second), 0)
}

// Task a fails. Tasks b and c need a, d needs both, and e needs nothing. A run that goes on has e left, and in the end
// nothing. A run that ends with the failure has nothing left.
func TestEstimateAfterFailure(t *testing.T) {
	for _, c := range []struct {
		keepGoing bool
		left      []float64 // seconds after each task
		skipped   string    // in the journal
	}{
		{true, []float64{5, 0}, `"skipped":["b","c","d"]`},
		{false, []float64{0}, `"skipped":["b","c","d","e"]`},
	} {
		plan := failingPlan(t.TempDir())
		now := time.Unix(0, 0)
		e := NewEstimate(1)

		var left []float64
		_, err := Run(t.Context(), plan, Options{Jobs: 1, KeepGoing: c.keepGoing, Observe: func(event Event) {
			e.Observe(event, now)
			if event.Kind == "failed" || event.Kind == "done" {
				left = append(left, math.Round(e.Left(now).Seconds()))
			}
		}})

		require.ErrorIs(t, err, ErrFailed)
		assert.Equal(t, c.left, left, "goes on: %t", c.keepGoing)

		journal, err := os.ReadFile(filepath.Join(plan.Dir, Journal))
		require.NoError(t, err)
		assert.Contains(t, string(journal), c.skipped)
	}
}

// queueing is an executor like a cluster, which takes all ready tasks in hand. It makes task a at once. After the run
// was told to end, it makes task e if makesE is set, and otherwise never begins it.
type queueing struct {
	drained chan struct{}
	makesE  bool
}

func (q queueing) Open(context.Context, *Session) error { return nil }
func (q queueing) Limit() int                           { return 0 }
func (q queueing) Drain()                               { close(q.drained) }
func (q queueing) Close() error                         { return nil }

func (q queueing) Do(ctx context.Context, work *Work) error {
	if work.Task.ID == "e" {
		<-q.drained
		if !q.makesE {
			return ErrNotStarted
		}
	}

	return work.Make(ctx)
}

// A cluster has the ready tasks a and e in hand. If a fails and ends the run, e may be running on a node: its 5 s are
// left until it is done, or until the cluster says that e never begins. The tasks that need a are not made.
func TestEstimateOnCluster(t *testing.T) {
	for _, c := range []struct {
		makesE bool
		events []string // with the seconds that are left after each
	}{
		{true, []string{"failed a 5", "done e 0"}},
		{false, []string{"failed a 5", "skipped e 0"}},
	} {
		plan := failingPlan(t.TempDir())
		now := time.Unix(0, 0)
		e := NewEstimate(0)

		var events []string
		executor := queueing{drained: make(chan struct{}), makesE: c.makesE}
		_, err := Run(t.Context(), plan, Options{Executor: executor, Observe: func(event Event) {
			e.Observe(event, now)
			if event.Kind != "plan" && event.Kind != "start" {
				events = append(events, fmt.Sprintf("%s %s %.0f", event.Kind, event.Task.ID, e.Left(now).Seconds()))
			}
		}})

		require.ErrorIs(t, err, ErrFailed)
		assert.Equal(t, c.events, events)

		journal, err := os.ReadFile(filepath.Join(plan.Dir, Journal))
		require.NoError(t, err)
		assert.Contains(t, string(journal), `"skipped":["b","c","d"]`)
		assert.Equal(t, !c.makesE, strings.Contains(string(journal), `"event":"skipped","task":"e"`))
	}
}

// failingPlan returns a plan whose task a fails. Tasks b and c need a, d needs both, and e needs nothing.
func failingPlan(dir string) *Plan {
	plan := &Plan{Dir: dir, Stages: []string{"make"}}
	needs := map[string][]Dep{
		"b": {{Task: "a", Output: "out"}}, "c": {{Task: "a", Output: "out"}},
		"d": {{Task: "b", Output: "out"}, {Task: "c", Output: "out"}},
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		plan.Tasks = append(plan.Tasks, &Task{
			ID: id, Stage: "make", Version: 1, Weight: 5, Deps: needs[id],
			Local: []kv.Pair{{Key: "id", Value: id}}, // otherwise a waits for e, which has the same key
			Run: func(_ context.Context, j *Job) error {
				if id == "a" {
					return errors.New("a fails")
				}

				return os.WriteFile(j.Output("out"), nil, 0o600)
			},
		})
	}

	return plan
}

// A task that reads files is expected to take as long as they are large.
func TestExpectedNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, make([]byte, 4_000_000), 0o644))
	assert.InDelta(t, 0.02*2.1, expectedNew(&Task{Weight: 0.02, Files: []File{{path, path}}}), 1e-12, "4 MB: s")
	assert.Equal(t, 0.02, expectedNew(&Task{Weight: 0.02, Files: []File{{"none", "none"}}}), "a file not made yet: s")
}

// A simulated run has two stages and two tasks at a time, on a machine 2.5 times as slow
// as the weights say: files of 1 to 300 MB, and trainings of 2 to 90 s. Each task's time
// scatters by a tenth. After a third of the run the estimate is within 30 % of the true
// time left, or within 1 % of the run.
func TestEstimateSkewed(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var todo []*Task
		var expect, took []float64
		add := func(stage string, x, spread float64) {
			todo = append(todo, &Task{ID: fmt.Sprint(stage, len(todo)), Stage: stage})
			expect = append(expect, x)
			took = append(took, 2.5*x*math.Exp(spread*rng.NormFloat64()))
		}

		// The heavy tasks of a stage first, as a run starts them.
		for _, x := range heavyFirst(rng, 80, 0.01, 3) {
			add("ingest", x, 0.1)
		}

		for _, x := range heavyFirst(rng, 24, 2, 90) {
			add("train", x, 0.1)
		}

		replay(t, fmt.Sprint("seed ", seed), todo, expect, took, 2)
	}
}

// heavyFirst draws n costs between lo and hi, evenly on a logarithmic scale.
func heavyFirst(rng *rand.Rand, n int, lo, hi float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, rng.Float64())
	}

	slices.SortFunc(out, func(a, b float64) int { return cmp.Compare(b, a) })

	return out
}

// replay simulates a run of tasks in order, with the given number of jobs at a time. It
// compares the estimate with the true time left at every event after a third of the run.
func replay(t *testing.T, name string, todo []*Task, expect, took []float64, jobs int) {
	t.Helper()
	type event struct {
		at float64
		v  Event
	}

	var events []event

	free := make([]float64, jobs)
	for i, task := range todo {
		k := 0
		for n := range free {
			if free[n] < free[k] {
				k = n
			}
		}

		start := free[k]
		free[k] += took[i]
		events = append(events, event{start, Event{Kind: "start", Task: task}},
			event{free[k], Event{Kind: "done", Task: task, Ran: true, Seconds: took[i]}})
	}

	var total float64
	for _, x := range free {
		total = max(total, x)
	}

	zero := time.Unix(0, 0)
	e := NewEstimate(jobs)
	e.Observe(Event{Kind: "plan", Todo: todo, Expect: expect}, zero)

	for len(events) > 0 {
		k := 0
		for i, x := range events {
			if x.at < events[k].at {
				k = i
			}
		}

		x := events[k]
		events = append(events[:k], events[k+1:]...)
		now := zero.Add(time.Duration(x.at * float64(time.Second)))
		e.Observe(x.v, now)

		left := e.Left(now).Seconds()
		truth := total - x.at
		if x.at >= total/3 && math.Abs(left-truth) > max(0.3*truth, 0.01*total) {
			t.Errorf("%s: after %.1f of %.1f s: %.1f s left, in truth %.1f", name, x.at, total, left, truth)
			return
		}
	}
}

// The selected tasks take their weights, and the time to read their raw files: 1 s for 20 MB. A file that does not
// exist takes no time. By hand: 0.5 + 2 + 1 s.
func TestSeconds(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw")
	require.NoError(t, os.WriteFile(raw, nil, 0o600))
	require.NoError(t, os.Truncate(raw, 20_000_000))

	plan := Plan{Stages: []string{"ingest", "train"}, Tasks: []*Task{
		{Stage: "ingest", Weight: 0.5, Files: []File{{Path: "a", Open: raw}, {Path: "b", Open: raw + ".absent"}}},
		{Stage: "ingest", Weight: 2},
		{Stage: "train", Weight: 40},
	}}
	assert.InDelta(t, 3.5, plan.Seconds(Selection{To: "ingest"}), 1e-9)
	assert.InDelta(t, 43.5, plan.Seconds(Selection{}), 1e-9)
}
