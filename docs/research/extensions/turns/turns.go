// Package turns makes the tasks of a run in this process, some at a time, with a pause
// before each of them: an example of an executor.
package turns

import (
	"context"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// Two makes two tasks at a time: pipeline run --executor turns.
var Two = pipeline.Executor{
	Name: "turns",
	Open: func(*pipeline.Project, string, []string, func(string)) (engine.Executor, error) {
		return New(2, 0.01), nil
	},
}

// Executor makes AtOnce tasks at a time.
type Executor struct {
	AtOnce  int
	Pause   time.Duration
	drained chan struct{}
}

// New returns an executor for one run.
func New(atOnce int, pauseS float64) *Executor {
	return &Executor{
		AtOnce: max(atOnce, 1), Pause: time.Duration(pauseS * float64(time.Second)), drained: make(chan struct{}, 1),
	}
}

// Open needs nothing of the session.
func (x *Executor) Open(context.Context, *engine.Session) error { return nil }

// Limit is AtOnce.
func (x *Executor) Limit() int { return x.AtOnce }

// Do makes a task after the pause, unless the run is to end.
func (x *Executor) Do(ctx context.Context, w *engine.Work) error {
	select {
	case <-x.drained:
		x.Drain()
		return engine.ErrNotStarted
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(x.Pause):
	}

	return w.Make(ctx)
}

// Drain lets no further task begin.
func (x *Executor) Drain() {
	select {
	case x.drained <- struct{}{}:
	default:
	}
}

// Close has nothing to close.
func (x *Executor) Close() error { return nil }
