package slurm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
)

// Hand is the common part of executors whose tasks other processes make: a channel of tasks to the
// goroutine that decides, and a folder in the cache.
type Hand struct {
	In  chan *Task
	Ctx context.Context
	S   *engine.Session
	Bin string // the program's copy, from a batch's folder

	folder string
}

// Task is one task in hand, from Do to its end.
type Task struct {
	W    *engine.Work
	Came time.Time

	done      chan error
	notBefore time.Time
	before    time.Time // its progress when it was submitted last, by the clock of whoever wrote it
}

// End makes Do return err for the task.
func (t *Task) End(err error) { t.done <- err }

// NewHand returns the hand of an executor whose folder has that name.
func NewHand(folder string) Hand { return Hand{In: make(chan *Task, 1024), folder: folder} }

// Limit keeps the number of goroutines within reason.
func (h *Hand) Limit() int { return 20000 }

// Root is a path below the folder.
func (h *Hand) Root(elem ...string) string { return h.S.Cache(append([]string{h.folder}, elem...)...) }

// Enter begins a session; batches is the name of their folder, which is made.
func (h *Hand) Enter(ctx context.Context, s *engine.Session, batches string) (err error) {
	h.Ctx, h.S = ctx, s
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}

	if err := os.MkdirAll(h.Root(batches), 0o755); err != nil {
		return &engine.WorkdirError{Dir: s.Dir, Err: err}
	}

	return nil
}

// Copy puts the program into the folder, named by its content, unless it is there. With alone a new
// one takes the place of all others: nobody runs an older one.
func (h *Hand) Copy(binary string, alone bool) error {
	b, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("copy program for the nodes: %w", err)
	}

	name := fmt.Sprintf("%x", sha256.Sum256(b))[:24]
	h.Bin = "../../bin/" + name

	to := h.Root("bin", name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}

	if alone {
		os.RemoveAll(h.Root("bin"))
	}

	err = os.MkdirAll(h.Root("bin"), 0o755)

	tmp := to + ".tmp"
	if err == nil {
		err = engine.WriteFile(tmp, b)
	}

	if err == nil {
		err = os.Chmod(tmp, 0o755)
	}

	if err == nil {
		err = os.Rename(tmp, to)
	}

	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("copy program for the nodes: %w", err)
	}

	return nil
}

// Do has one task made.
func (h *Hand) Do(ctx context.Context, w *engine.Work) error {
	t := &Task{W: w, done: make(chan error, 1), Came: time.Now()}
	select {
	case h.In <- t:
	case <-ctx.Done():
		return ctx.Err()
	}

	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
