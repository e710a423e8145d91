package engine

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/kv"
)

// Waves groups tasks, which are in the plan's order, by the number of tasks among
// them that must run one after the other before: those of a wave can run at the same
// time, after the waves before it.
func Waves(tasks []*Task) [][]*Task {
	wave := map[string]int{}

	var out [][]*Task
	for _, t := range tasks {
		n := 0
		for _, d := range t.Deps {
			if w, ok := wave[d.Task]; ok {
				n = max(n, w+1)
			}
		}

		if wave[t.ID] = n; n == len(out) {
			out = append(out, nil)
		}

		out[n] = append(out[n], t)
	}

	return out
}

// Part returns part i (1 to n) of tasks, in their order. In each wave the heaviest task
// goes first, to the part that has the least so far: two parts differ by at most one
// task's weight a wave, and the same tasks give the same parts.
func Part(tasks []*Task, i, n int) []*Task {
	mine := map[*Task]bool{}
	for _, wave := range Waves(tasks) {
		slices.SortStableFunc(wave, func(a, b *Task) int {
			switch {
			case a.Weight > b.Weight:
				return -1
			case a.Weight < b.Weight:
				return 1
			}

			return 0
		})

		h := make(loads, n)
		for k := range h {
			h[k].part = k + 1
		}

		for _, t := range wave {
			mine[t] = h[0].part == i
			h[0].sum += t.Weight
			heap.Fix(&h, 0)
		}
	}

	return slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return !mine[t] })
}

// loads is a heap of parts, the lightest first.
type loads []struct {
	part int
	sum  float64
}

func (h loads) Len() int { return len(h) }
func (h loads) Less(i, j int) bool {
	return h[i].sum < h[j].sum || h[i].sum == h[j].sum && h[i].part < h[j].part
}
func (h loads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h loads) Push(any)      { panic("engine: a part is added") }
func (h loads) Pop() any      { panic("engine: a part is removed") }

// Marks returns a digest for each task of the plan, by ID, that changes when its settings, its stage's
// version, or the size or time of a raw file change, or the mark of a task it needs. It reads no file.
func (p *Plan) Marks() map[string]string {
	marks := map[string]string{}
	for _, t := range p.Tasks {
		list := append(slices.Clone(t.Config), t.Local...)
		list = append(list, kv.Pair{Key: t.ID, Value: strconv.Itoa(t.Version)})

		for _, f := range t.Files {
			st, err := look(f)
			list = append(list, kv.Pair{Key: f.Path, Value: fmt.Sprint(st.Size, st.MTime, err != nil)})
		}

		for _, d := range t.Deps {
			list = append(list, kv.Pair{Key: d.Task, Value: marks[d.Task]})
		}

		marks[t.ID] = configDigest(list)
	}

	return marks
}

// ParsePart reads a part, as 3/64. For programs that count from 0 it takes 0/64 for 64/64.
func ParsePart(s string) (i, n int, err error) {
	a, b, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)

	if !ok || err1 != nil || err2 != nil || n < 1 || n > maxParts || i < 0 || i > n {
		return 0, 0, fmt.Errorf("expected a part and their number, as 3/64 (up to %d), found %q", maxParts, s)
	}

	if i == 0 {
		i = n
	}

	return i, n, nil
}

const maxParts = 1_000_000

// ParseIndices reads indices and ranges of them, as 5-9,12, each below n. They come back
// in order, each once.
func ParseIndices(s string, n int) ([]int, error) {
	var out []int
	for _, f := range strings.Split(s, ",") {
		a, b, ranged := strings.Cut(f, "-")
		if !ranged {
			b = a
		}

		from, err1 := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)

		switch {
		case err1 != nil || err2 != nil || from < 0 || to < from:
			return nil, fmt.Errorf("expected indices of tasks, as 7 or 5-9,12, found %q", s)
		case to >= n:
			return nil, fmt.Errorf("%d is not in the plan, which has %d tasks", to, n)
		}

		for i := from; i <= to; i++ {
			out = append(out, i)
		}
	}

	slices.Sort(out)

	return slices.Compact(out), nil
}

// shortWork is how many seconds of work, by their weights, the part that ends last makes
// of the tasks that waited for all parts.
const shortWork = 60

// MakePart makes tasks that no driver planned, in the plan's order. It looks for itself
// whether their inputs are up to date, and publishes the results. A failure ends neither
// the part nor its journal; the errors come back together. Of siblings, which hold the
// tasks of all parts, those that must wait for other parts are made if these have ended and
// it is a minute's work together; left counts the tasks that are left to a later call.
// done is told of each task that was looked at.
//
// Where an input is neither up to date nor among the siblings the error is a
// *NotReadyError, and nothing is made.
func (k *Worker) MakePart(ctx context.Context, tasks, siblings []*Task, done func(t *Task, ran bool)) (left int,
	err error,
) {
	if err := k.Plan.Check(); err != nil {
		return 0, err
	}

	c := &crew{k: k, s: openStore(k.Plan.Dir), of: map[string]*Status{}, done: done}
	if _, err := c.assess(tasks, false); err != nil {
		return 0, err
	}

	if err := c.ready(tasks, siblings); err != nil {
		return 0, err
	}

	c.begin(tasks)
	defer func() { c.end(ctx.Err()) }()

	waiting := 0
	for _, t := range tasks {
		waits, err := c.make(ctx, t)
		if err != nil {
			return 0, err
		}

		if waits {
			waiting++
		}
	}

	if err := c.leave(tasks); err != nil {
		return 0, err
	}

	if c.failed == nil && len(siblings) > 0 {
		if waiting, err = c.join(ctx, siblings, waiting); err != nil {
			return 0, err
		}
	}

	return waiting, c.failed
}

// crew makes the tasks of a part.
type crew struct {
	k      *Worker
	s      *store
	of     map[string]*Status
	w      *journalWriter // nil where nothing is to be made
	done   func(t *Task, ran bool)
	failed error
}

// assess determines the status of tasks and of all that they depend on. With whole it stops, and
// returns false, at a dependency that is not up to date or whose raw file nobody has hashed.
func (c *crew) assess(tasks []*Task, whole bool) (bool, error) {
	needed, own := map[string]bool{}, map[string]bool{}
	for _, t := range tasks {
		needed[t.ID], own[t.ID] = true, true
	}

	for _, u := range slices.Backward(c.k.Plan.Tasks) {
		if needed[u.ID] {
			for _, d := range u.Deps {
				needed[d.Task] = true
			}
		}
	}

	for _, u := range c.k.Plan.Tasks {
		if !needed[u.ID] || c.of[u.ID] != nil && c.of[u.ID].State == UpToDate {
			continue
		}

		st, err := c.s.assess(u, c.of, whole)
		if err != nil || whole && st.State != UpToDate && !own[u.ID] {
			return false, err
		}

		c.of[u.ID] = st
	}

	return true, nil
}

// ready reports what tasks need of others than themselves and their siblings.
func (c *crew) ready(tasks, siblings []*Task) error {
	own := map[string]bool{}
	for _, t := range slices.Concat(tasks, siblings) {
		own[t.ID] = true
	}

	var lacks []*Status

	stage := ""
	for _, t := range tasks {
		for _, d := range t.Deps {
			if st := c.of[d.Task]; st.State != UpToDate && !own[d.Task] && !slices.Contains(lacks, st) {
				lacks, stage = append(lacks, st), t.Stage
			}
		}
	}

	if len(lacks) > 0 {
		return &NotReadyError{Stage: stage, Needs: lacks[0], Others: len(lacks) - 1}
	}

	return nil
}

// begin starts the journal of what is to be made of tasks.
func (c *crew) begin(tasks []*Task) {
	var todo []*Task

	var expect []float64

	for _, t := range tasks {
		if st := c.of[t.ID]; st.State != UpToDate {
			todo, expect = append(todo, t), append(expect, load(t))
		}
	}

	if len(todo) > 0 {
		head := journalHead(c.k.Program, 0, nil, todo, expect)
		head[0].Plan = c.k.Plan.counts()
		c.w = newJournal(c.s.dir, nameOf(todo)+".jsonl", false, head)
	}
}

// nameOf names a file about tasks.
func nameOf(tasks []*Task) string {
	ids := make([]kv.Pair, len(tasks))
	for i, t := range tasks {
		ids[i].Key = t.ID
	}

	return configDigest(ids)
}

func (c *crew) observe(e Event) {
	if c.w != nil {
		c.w.observe(e)
	}
}

func (c *crew) end(err error) {
	if c.w != nil {
		c.w.close(err)
	}
}

// make makes one task. Its failure is kept in c.failed; err ends the part. waits is true
// where an input of it is not up to date.
func (c *crew) make(ctx context.Context, t *Task) (waits bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}

	st := c.of[t.ID]
	if st.key == "" {
		if st, err = c.s.assess(t, c.of, false); err != nil {
			return false, err
		}
		c.of[t.ID] = st
	}

	if st.key == "" {
		return true, nil
	}

	ran, err := c.result(ctx, st)
	if err == nil {
		err = c.s.publish(t, st.rec)
	}

	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		c.failed = errors.Join(c.failed, &TaskError{t, err})
	default:
		st.State = UpToDate
		c.done(t, ran)
	}

	return false, nil
}

// result gets a task's result: the one that is there, else a new one.
func (c *crew) result(ctx context.Context, st *Status) (ran bool, err error) {
	t, s, k := st.Task, c.s, c.k
	if st.rec == nil { // another process may have made it since
		var damage string
		if st.rec, damage = s.lookup(t, st.key); damage != "" {
			if err := k.maker(s, t.ID).discard(st.key); err != nil && !s.discarded(st.key) {
				return false, err
			}
		}
	}

	if st.rec != nil {
		return false, nil
	}

	c.observe(Event{Kind: "start", Task: t, Key: st.key})

	if c.w != nil {
		c.w.flush()
	}

	m := k.maker(s, t.ID)
	tell := m.note
	m.note = func(text string) {
		c.observe(Event{Kind: "note", Task: t, Note: text})
		tell(text)
	}

	began := time.Now()
	rec, err := m.make(ctx, t, st, func(task string) string { return c.of[task].rec.Key })
	if err != nil && sealed(s, st.key) {
		err = nil // another copy was first
	}

	ran = rec != nil
	if err == nil {
		st.rec, err = s.adopt(t, st.key, ran)
	}

	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.observe(Event{Kind: "failed", Task: t, Err: err})
	default:
		c.observe(Event{Kind: "done", Task: t, Ran: ran, Seconds: time.Since(began).Seconds()})
	}

	return ran, err
}

// join makes what waited for other parts, if these have ended: of parts that run at the
// same time the last one finds all their results. It returns how many tasks still wait.
func (c *crew) join(ctx context.Context, siblings []*Task, waiting int) (int, error) {
	var late []*Task

	work := 0.0
	for i, wave := range Waves(siblings) {
		if i > 0 {
			late = append(late, wave...)
			for _, t := range wave {
				work += t.Weight
			}
		}
	}

	if len(late) == 0 || work > shortWork {
		return waiting, nil
	}

	c.s.learn() // what the other parts found of raw files and results

	if whole, err := c.assess(late, true); err != nil || !whole {
		return waiting, err
	}

	c.end(nil)
	c.w = nil
	c.begin(late)

	for _, t := range late {
		if waits, err := c.make(ctx, t); err != nil || waits {
			return waiting, err
		}
	}

	return 0, c.leave(late)
}

// leave writes the records of tasks and of their raw files as one separate index,
// because only the holder of the lock may write the main one.
func (c *crew) leave(tasks []*Task) error {
	s := c.s
	if err := s.settle(); err != nil {
		return err
	}

	one := newIndex()

	var known []*Task
	s.mu.Lock()

	for _, t := range tasks {
		st := c.of[t.ID]
		if st.State != UpToDate {
			continue
		}

		r := s.ix.Tasks[t.ID]
		one.Tasks[t.ID], one.Configs[r.Config] = r, s.ix.Configs[r.Config]
		known = append(known, t)

		for _, f := range t.Files {
			if x, ok := s.ix.Files[f.Path]; ok {
				one.Files[f.Path] = x
			}
		}
	}

	s.mu.Unlock()

	if len(known) == 0 {
		return nil
	}

	if err := os.MkdirAll(s.cache("learned"), 0o755); err != nil {
		return &WorkdirError{s.dir, err}
	}

	return WriteFile(s.cache("learned", nameOf(known)), one.encode())
}
