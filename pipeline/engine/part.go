package engine

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
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
		slices.SortStableFunc(wave, func(a, b *Task) int { return cmp.Compare(b.Weight, a.Weight) })

		h := &queue[share]{list: make([]share, n), less: func(a, b share) bool {
			return a.sum < b.sum || a.sum == b.sum && a.part < b.part
		}}
		for k := range h.list {
			h.list[k].part = k + 1
		}

		for _, t := range wave {
			mine[t] = h.list[0].part == i
			h.list[0].sum += t.Weight
			heap.Fix(h, 0)
		}
	}

	return slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return !mine[t] })
}

// share is the weight of a part so far.
type share struct {
	part int
	sum  float64
}

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

		list = append(list, lists.Each(t.Deps, func(d Dep) kv.Pair { return kv.Pair{Key: d.Task, Value: marks[d.Task]} })...)
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

// shortWork is how many seconds of work, by their weights, the part that ends last makes
// of the tasks that waited for all parts.
const shortWork = 60

// MakePart makes tasks that no driver planned, in the plan's order. It looks for itself
// whether their inputs are up to date, and publishes the results. A failure does not end
// the part; the errors come back together. Of siblings, which hold the
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

	left, err = k.part(ctx, tasks, siblings, false, done)

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

	if err != nil || len(late) == 0 || work > shortWork {
		return left, err
	}

	// Of parts that run at the same time the last one finds all their results.
	_, err = k.part(ctx, late, nil, true, done)

	var waits *NotReadyError
	if errors.As(err, &waits) {
		return left, nil
	}

	return 0, err
}

// part makes tasks one after the other, and counts those that wait for siblings. With whole it reads no raw
// file of others to see whether their results are up to date.
func (k *Worker) part(ctx context.Context, tasks, siblings []*Task, whole bool, done func(t *Task, ran bool)) (left int,
	err error,
) {
	own, needed, elsewhere := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range tasks {
		own[t.ID], needed[t.ID] = true, true
	}

	for _, t := range siblings {
		elsewhere[t.ID] = true
	}

	p, later := &Plan{Dir: k.Plan.Dir, Stages: k.Plan.Stages}, map[*Task]bool{}
	for _, t := range slices.Backward(k.Plan.Tasks) {
		if needed[t.ID] {
			p.Tasks = append(p.Tasks, t)
			later[t] = whole && !own[t.ID]
			for _, d := range t.Deps {
				needed[d.Task] = true
			}
		}
	}

	slices.Reverse(p.Tasks)

	s := openStore(p.Dir)
	s.shared = true

	o := Options{
		Jobs: 1, KeepGoing: true, Program: k.Program, Annotate: k.Annotate,
		Observe: func(e Event) {
			switch {
			case e.Kind == "done":
				done(e.Task, e.Ran)
			case e.Kind == "note" && k.Note != nil:
				k.Note(e.Task.ID, e.Note)
			}
		},
	}

	var r *runner
	var todo []*Task
	for first := true; first || s.doubt(todo, r.of); first = false {
		list, of, err := s.assessAll(p, later)
		if err != nil {
			return 0, err
		}

		r = newRunner(s, p, o, of)
		r.worker = true
		if todo, err = r.choose(list, func(t *Task) bool { return own[t.ID] }, elsewhere); err != nil {
			return 0, err
		}
	}

	for _, t := range tasks {
		if r.of[t.ID].State == UpToDate {
			done(t, false)
		}
	}

	if len(todo) > 0 {
		err = r.makeAll(ctx, todo)
	}

	return len(r.left), errors.Join(r.outcome(ctx, err), r.leave(tasks))
}

// nameOf names a file about tasks.
func nameOf(tasks []*Task) string {
	return configDigest(lists.Each(tasks, func(t *Task) kv.Pair { return kv.Pair{Key: t.ID} }))
}

// leave writes the records of tasks and of their raw files as one separate index,
// because only the holder of the lock may write the main one.
func (r *runner) leave(tasks []*Task) error {
	s := r.s
	if err := s.settle(); err != nil {
		return err
	}

	one := newIndex()

	var known []*Task
	s.mu.Lock()

	for _, t := range tasks {
		st := r.of[t.ID]
		if st.State != UpToDate {
			continue
		}

		rec := s.ix.Tasks[t.ID]
		one.Tasks[t.ID], one.Configs[rec.Config] = rec, s.ix.Configs[rec.Config]
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
