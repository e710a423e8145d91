package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
)

// Failure is what a worker leaves when a task fails: failed/*.json.
type Failure struct {
	Element int    `json:"element"`
	Key     string `json:"key"`
	Task    string `json:"task"`
	Text    string `json:"text"`
	Code    int    `json:"code"` // exit status that the failure means: 1 a task's, 2 configuration, 3 data
	Node    string `json:"node"`
	Job     string `json:"job"`
}

// Answer is what a probe job leaves: probe.json.
type Answer struct {
	Node  string    `json:"node"`
	Facts []kv.Pair `json:"facts"`
	Error string    `json:"error,omitempty"`
	Now   time.Time `json:"now"`

	Seconds float64 `json:"seconds"` // that it took to load the configuration and to plan
}

// Load gives a worker its plan and the facts as they are where it runs, from
// Options.Config and Options.Added. It is called in the driver's working
// directory.
type Load func(config string, added []string) (*engine.Worker, []kv.Pair, error)

// Work makes the tasks of one element of a batch, one after the other; dir is
// the batch's folder. A task that fails is noted there, and the others are made
// all the same; explain gives an error its exit status and its words. The
// result is the exit status: 0 when every task's result is there.
func Work(ctx context.Context, dir string, b *Batch, element int, load Load, explain func(error) (int, string),
	log io.Writer,
) (int, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 1, fmt.Errorf("find plan: %w", err)
	}

	if element < 0 || element >= len(b.Elements) {
		return 2, fmt.Errorf("index %d is not in the plan, which has %d", element, len(b.Elements))
	}

	node := os.Getenv("SLURMD_NODENAME")
	if node == "" {
		node, _ = os.Hostname()
	}

	job := os.Getenv("SLURM_ARRAY_JOB_ID") + "_" + os.Getenv("SLURM_ARRAY_TASK_ID")
	if n := os.Getenv("SLURM_RESTART_COUNT"); n != "" {
		job += " requeued " + n
	}

	fmt.Fprintf(log, "%s on %s, job %s, %d tasks\n", time.Now().Format(time.DateTime), node, job, len(b.Elements[element]))

	var k *engine.Worker
	var facts []kv.Pair
	began := time.Now()

	if err = os.Chdir(string(b.Dir)); err == nil {
		k, facts, err = load(string(b.Config), b.Added)
	}

	if b.Alive {
		defer live(dir, node)()
	}

	if b.Probe {
		a := Answer{Node: node, Facts: facts, Now: time.Now(), Seconds: time.Since(began).Seconds()}
		if err != nil {
			_, a.Error = explain(err)
		}

		js, err := json.Marshal(a)
		if err == nil {
			err = engine.WriteFile(filepath.Join(dir, "probe.json"), js)
		}

		if err != nil {
			return 1, fmt.Errorf("answer the probe: %w", err)
		}

		return 0, nil
	}

	if err == nil {
		err = disagree(b.Facts, facts, node)
	}

	worst := 0
	for i, s := range b.Elements[element] {
		if ctx.Err() != nil {
			return 130, ctx.Err()
		}

		if _, e := os.Stat(filepath.Join(dir, "plan.json")); b.Alive && e != nil {
			return worst, nil // withdrawn
		}

		began := time.Now()
		taskErr := err

		ran := false
		if taskErr == nil {
			ran, taskErr = k.Make(ctx, s)
		}

		if ctx.Err() != nil {
			return 130, ctx.Err()
		}

		if taskErr == nil {
			done := "made"
			if !ran {
				done = "was there"
			}

			fmt.Fprintf(log, "%s: %s, %.2f s\n", s.Task, done, time.Since(began).Seconds())
			continue
		}

		f := Failure{Element: element, Key: s.Key, Task: s.Task, Node: node, Job: job}
		f.Code, f.Text = explain(taskErr)
		worst = max(worst, 1)
		fmt.Fprintf(log, "%s: failed: %s\n", s.Task, f.Text)

		js, e := json.Marshal(f)
		if e == nil {
			e = engine.WriteFile(filepath.Join(dir, "failed", fmt.Sprintf("%d-%d-%s-%d.json", element, i, node, os.Getpid())),
				js)
		}

		if e != nil {
			return 1, fmt.Errorf("note a failure: %w", e)
		}
	}

	return worst, nil
}

// Life is the sign of a worker process: alive.json, rewritten while it lives.
type Life struct {
	Node  string `json:"node"`
	PID   int    `json:"pid"`
	Beat  int    `json:"beat"`
	Ended bool   `json:"ended,omitempty"`
}

// beat is the time between signs of life.
const beat = 2 * time.Second

// live gives signs of life until the function it returns is called.
func live(dir, node string) (end func()) {
	l := Life{Node: node, PID: os.Getpid()}
	sign := func() {
		if js, err := json.Marshal(l); err == nil {
			_ = engine.WriteFile(filepath.Join(dir, "alive.json"), js)
		}
	}

	sign()

	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTicker(beat)
		defer t.Stop()

		for {
			select {
			case <-t.C:
				l.Beat++
				sign()
			case <-quit:
				return
			}
		}
	}()

	return func() {
		close(quit)
		<-gone
		l.Ended = true
		sign()
	}
}

// ReadLife reads the sign of life in a batch's folder, false where there was none.
func ReadLife(dir string) (l Life, ok bool) {
	js, err := os.ReadFile(filepath.Join(dir, "alive.json"))
	return l, err == nil && json.Unmarshal(js, &l) == nil
}

// DisagreeError reports how a node differs from the driver's machine.
type DisagreeError struct {
	Node        string
	Differences []Difference
}

// Difference is a fact that is not the same on both sides.
type Difference struct{ What, Here, There string }

func (e *DisagreeError) Error() string {
	var list []string
	for _, d := range e.Differences {
		list = append(list, fmt.Sprintf("%s is %q there and %q here", d.What, d.There, d.Here))
	}

	return fmt.Sprintf("node %s does not agree with the machine of the run: %s", e.Node, strings.Join(list, ", "))
}

func disagree(here, there []kv.Pair, node string) error {
	e := &DisagreeError{Node: node}
	for _, f := range here {
		found := ""
		for _, g := range there {
			if g.Key == f.Key {
				found = g.Value
			}
		}

		if found != f.Value {
			e.Differences = append(e.Differences, Difference{f.Key, f.Value, found})
		}
	}

	if len(e.Differences) == 0 {
		return nil
	}

	return e
}
