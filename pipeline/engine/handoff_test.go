package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// note is a value that counts how often it is freed.
type note struct {
	text  string
	freed *atomic.Int64
}

func (n note) Free() { n.freed.Add(1) }

// A task gets the value that was passed to it only if it runs in this process right after the
// other task, must be made, and both tasks read the same file. Every value is freed once. The
// expected log follows from the documentation of Handoff: a task "read" logs whether its
// values are wanted by count, by join and by itself, and a task "count" logs the value it found.
func TestHandoff(t *testing.T) {
	type scenario struct {
		dir, raw string
		setting  string
		spoil    func() // between the two tasks
		fail     bool
		log      []string
		put      int64
		freed    atomic.Int64
	}

	var mu sync.Mutex
	plan := func(w *scenario, files int) *Plan {
		p := &Plan{Dir: w.dir, Stages: []string{"read", "count", "join"}}

		var all []Dep
		for i := range files {
			f := File{fmt.Sprint(i), filepath.Join(w.raw, fmt.Sprint(i))}
			read := "read/" + f.Path
			count := "count/" + f.Path
			next := NewHandoff[note](count)
			last := NewHandoff[note]("join")
			self := NewHandoff[note](read)
			p.Tasks = append(p.Tasks, &Task{
				ID: read, Stage: "read", Files: []File{f}, Weight: 1,
				Run: func(_ context.Context, j *Job) error {
					mu.Lock()
					w.log = append(w.log, fmt.Sprintf("read %s: wanted by count %v, join %v, itself %v",
						f.Path, next.Wanted(j), last.Wanted(j), self.Wanted(j)))
					mu.Unlock()

					if next.Wanted(j) {
						w.put += 2 // the second replaces the first
						next.Put(j, note{"replaced", &w.freed})
						next.Put(j, note{"left of " + f.Path, &w.freed})
					}

					if w.fail {
						return errors.New("spoilt")
					}

					return os.WriteFile(j.Output("out"), []byte(f.Path), 0o644)
				},
			}, &Task{
				ID: count, Stage: "count", Files: []File{f}, Deps: []Dep{{read, "out"}}, Weight: 1,
				Config: []kv.Pair{{Key: "setting", Value: w.setting}},
				Run: func(_ context.Context, j *Job) error {
					mu.Lock()
					found, ok := next.Get(j)
					w.log = append(w.log, fmt.Sprintf("count %s: found %v %s", f.Path, ok, found.text))
					mu.Unlock()

					return os.WriteFile(j.Output("out"), []byte(j.FileDigest(f.Path)), 0o644)
				},
			})

			all = append(all, Dep{count, "out"})
		}

		p.Tasks = append(p.Tasks, &Task{ID: "join", Stage: "join", Deps: all, Run: func(_ context.Context, j *Job) error {
			return os.WriteFile(j.Output("out"), nil, 0o644)
		}})

		return p
	}

	fresh := func() *scenario {
		w := &scenario{dir: t.TempDir(), raw: t.TempDir(), setting: "1"}
		for i := range 3 {
			require.NoError(t, os.WriteFile(filepath.Join(w.raw, fmt.Sprint(i)), []byte(strings.Repeat("x", i)), 0o644))
		}

		return w
	}

	run := func(w *scenario, files int, o Options) string {
		w.log = nil
		o.Observe = func(e Event) {
			if w.spoil != nil && e.Kind == "done" && e.Task.Stage == "read" {
				w.spoil()
			}
		}

		_, err := Run(context.Background(), plan(w, files), o)
		require.Equal(t, w.fail, err != nil)

		assert.Equal(t, w.put, w.freed.Load(), "values that were freed")

		return strings.Join(append(w.log, ""), "; ")
	}

	expect := func(name, got, want string) {
		t.Helper()
		assert.Equal(t, want, got, name)
	}

	wanted := func(i int) string { return fmt.Sprintf("read %d: wanted by count true, join false, itself false; ", i) }
	found := func(i int) string { return fmt.Sprintf("count %d: found true left of %d; ", i, i) }

	const notWanted = "read 0: wanted by count false, join false, itself false; "
	const notFound = "count 0: found false ; "

	w := fresh()
	expect("from nothing", run(w, 3, Options{Jobs: 1}), wanted(0)+found(0)+wanted(1)+found(1)+wanted(2)+found(2))
	w.setting = "2" // the first task is up to date and leaves nothing
	expect("another setting", run(w, 1, Options{Jobs: 1}), notFound)
	expect("forced", run(w, 1, Options{Jobs: 1, Selection: Selection{Force: true}}),
		wanted(0)+found(0))

	// The file has changed. Only after the first task has run is it known whether the second must run.
	require.NoError(t, os.WriteFile(filepath.Join(w.raw, "0"), []byte("other"), 0o644))

	expect("another file", run(w, 1, Options{Jobs: 1}), notWanted+notFound)
	expect("only the first", run(fresh(), 1, Options{Jobs: 1, Selection: Selection{To: "read"}}),
		notWanted)
	expect("elsewhere", run(fresh(), 1, Options{Executor: &elsewhere{}}), notWanted+notFound)

	w = fresh()
	w.spoil = func() {
		require.NoError(t, os.WriteFile(filepath.Join(w.raw, "0"), []byte("changed in between"), 0o644))
	}

	expect("changed in between", run(w, 1, Options{Jobs: 1}), wanted(0)+notFound)

	w = fresh()
	w.fail = true
	expect("failed", run(w, 1, Options{Jobs: 1, KeepGoing: true}), wanted(0))
}
