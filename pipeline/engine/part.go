package engine

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/kv"
)

// Waves groups tasks, which must be in the plan's order, into waves. The tasks of a wave can run at the same
// time, after the waves before it: a task is in the first wave that comes after all the tasks that it needs.
func Waves(tasks []*Task) [][]*Task {
	waveOf := map[string]int{} // index of each task's wave, by ID
	var waves [][]*Task
	for _, task := range tasks {
		wave := 0
		for _, dep := range task.Deps {
			if before, ok := waveOf[dep.Task]; ok {
				wave = max(wave, before+1)
			}
		}

		waveOf[task.ID] = wave
		if wave == len(waves) {
			waves = append(waves, nil)
		}

		waves[wave] = append(waves[wave], task)
	}

	return waves
}

// Part returns part i (1 to n) of tasks, in their order. It divides each wave by itself: the heaviest task
// goes first, to the part with the least weight so far. So two parts differ by at most one
// task's weight in each wave, and the same tasks always give the same parts.
func Part(tasks []*Task, i, n int) []*Task {
	mine := map[*Task]bool{}
	for _, wave := range Waves(tasks) {
		slices.SortStableFunc(wave, func(a, b *Task) int { return cmp.Compare(b.Weight, a.Weight) })

		parts := &queue[share]{list: make([]share, n), less: func(a, b share) bool {
			if a.weight != b.weight {
				return a.weight < b.weight
			}

			return a.part < b.part
		}}
		for k := range parts.list { // with equal weights, in this order, they are a heap
			parts.list[k].part = k + 1
		}

		for _, task := range wave {
			lightest := &parts.list[0]
			mine[task] = lightest.part == i
			lightest.weight += task.Weight
			heap.Fix(parts, 0)
		}
	}

	var part []*Task
	for _, task := range tasks {
		if mine[task] {
			part = append(part, task)
		}
	}

	return part
}

// share is the weight of a part so far, in a wave.
type share struct {
	part   int // from 1
	weight float64
}

// Marks returns a mark for each task of the plan, by ID. A mark is a digest of the task's settings, its stage's
// version, the sizes and times of its raw files, and the marks of the tasks that it needs. Marks reads no file.
func (p *Plan) Marks() map[string]string {
	marks := map[string]string{}
	for _, task := range p.Tasks {
		list := append(slices.Clone(task.Config), task.Local...)
		list = append(list, kv.Pair{Key: task.ID, Value: strconv.Itoa(task.Version)})

		for _, file := range task.Files {
			st, err := look(file)
			list = append(list, kv.Pair{Key: file.Path, Value: fmt.Sprint(st.Size, st.MTime, err != nil)})
		}

		for _, dep := range task.Deps {
			list = append(list, kv.Pair{Key: dep.Task, Value: marks[dep.Task]})
		}

		marks[task.ID] = configDigest(list)
	}

	return marks
}

// ParsePart reads a part such as 3/64: part i of n. Programs that count from 0 may write 0/64 for 64/64.
func ParsePart(text string) (i, n int, err error) {
	first, second, _ := strings.Cut(text, "/") // without a slash second is "", which is not a number
	i, errPart := strconv.Atoi(first)
	n, errCount := strconv.Atoi(second)

	isForm := errPart == nil && errCount == nil
	isCount := n >= 1 && n <= maxParts
	isPart := i >= 0 && i <= n
	if !isForm || !isCount || !isPart {
		return 0, 0, fmt.Errorf("expected a part and the number of parts, as 3/64 (up to %d), found %q", maxParts, text)
	}

	if i == 0 {
		i = n
	}

	return i, n, nil
}

// maxParts bounds the number of parts.
const maxParts = 1_000_000

// shortWork bounds the weight, about in seconds, of the tasks that the last part makes for all parts.
const shortWork = 60

// MakePart makes tasks without a driver, in the plan's order, and publishes their results. It finds out itself
// whether their inputs are up to date. After a failure it goes on with the other tasks, and returns the errors
// together. siblings are the tasks of all parts. MakePart calls done once for each task that it made or found up to
// date.
//
// Siblings in later waves need results of several parts, so that no part alone can make them. If they are at most a
// minute's work together (shortWork), the part that ends last makes them all. Every part tries this, and finds out by
// the missing results whether it is the last. left is the number of tasks that a later call must make.
//
// If an input is neither up to date nor an output of a sibling, the error is a
// *NotReadyError, and MakePart makes nothing.
func (k *Worker) MakePart(ctx context.Context, tasks, siblings []*Task, done func(task *Task, ran bool)) (left int,
	err error,
) {
	if err := k.Plan.Check(); err != nil {
		return 0, err
	}

	isReported := map[string]bool{} // a task of a later wave may be up to date in both steps
	report := func(task *Task, ran bool) {
		if !isReported[task.ID] {
			isReported[task.ID] = true
			done(task, ran)
		}
	}

	left, err = k.part(ctx, tasks, siblings, ofFirstWave, report)
	if err != nil {
		return left, err
	}

	late := laterWaves(siblings)
	if len(late) == 0 || totalWeight(late) > shortWork {
		return left, nil
	}

	_, err = k.part(ctx, late, nil, ofLaterWaves, report)

	var waits *NotReadyError
	if errors.As(err, &waits) { // results are missing, because other parts have not ended
		return left, nil
	}

	return 0, err
}

// laterWaves returns the tasks of all waves after the first one.
func laterWaves(tasks []*Task) []*Task {
	var late []*Task
	for i, wave := range Waves(tasks) {
		if i > 0 {
			late = append(late, wave...)
		}
	}

	return late
}

// totalWeight returns the sum of the weights of tasks.
func totalWeight(tasks []*Task) float64 {
	sum := 0.0
	for _, task := range tasks {
		sum += task.Weight
	}

	return sum
}

// Values of late, a parameter of part and choosePart.
const (
	ofFirstWave  = false
	ofLaterWaves = true
)

// part makes tasks one after the other, and calls done for each that it made or found up to date. left is the number of
// tasks that it did not make, because they wait for siblings in other parts. late is true if the tasks are of later
// waves.
func (k *Worker) part(ctx context.Context, tasks, siblings []*Task, late bool,
	done func(task *Task, ran bool),
) (left int, err error) {
	r, todo, err := k.choosePart(tasks, siblings, late, k.partOptions(done))
	if err != nil {
		return 0, err
	}

	for _, task := range tasks {
		if r.statuses[task.ID].State == UpToDate {
			done(task, false)
		}
	}

	var unable error // of the executor, not of a task
	if len(todo) > 0 {
		unable = r.makeAll(ctx, todo)
	}

	err = errors.Join(r.outcome(ctx, unable), r.writeLearned(tasks)) // finished results are kept after failures too

	return len(r.waiting), err
}

// choosePart assesses tasks and what they need, and chooses the tasks to make. If an input of these tasks turns out to
// be damaged, choosePart does so once more. If late is true, the tasks need results of all parts, whose raw files may
// be many: choosePart then hashes only the raw files that are older than the last result of their task. Other raw files
// with an unknown hash belong to parts that have not ended.
func (k *Worker) choosePart(tasks, siblings []*Task, late bool, options Options) (r *runner, todo []*Task, err error) {
	own := idsOf(tasks)
	plan := k.Plan.upTo(own)
	store := openStore(plan.Dir)
	store.shared = true

	unhashed := map[*Task]bool{}
	for _, task := range plan.Tasks {
		unhashed[task] = late && !own[task.ID] && !store.isNewer(task)
	}

	for {
		list, statuses, err := store.assessAll(plan, unhashed)
		if err != nil {
			return nil, nil, err
		}

		r = newRunner(store, plan, options, statuses)
		r.worker = true
		todo, err = r.choose(list, func(task *Task) bool { return own[task.ID] }, idsOf(siblings))
		if err != nil {
			return nil, nil, err
		}

		if isDamaged := store.doubt(todo, statuses); !isDamaged {
			return r, todo, nil
		}
	}
}

// isNewer reports whether the last result of a task is newer than all its raw files, so that it is probably up to date.
func (s *store) isNewer(task *Task) bool {
	last := s.last(task.ID)
	if last == nil || len(last.Stamps) == 0 {
		return false
	}

	for _, file := range task.Files {
		st, err := look(file)
		if err != nil || max(st.MTime, st.CTime) > last.Stamps[0].MTime {
			return false
		}
	}

	return true
}

// idsOf returns the set of the IDs of tasks.
func idsOf(tasks []*Task) map[string]bool {
	ids := map[string]bool{}
	for _, task := range tasks {
		ids[task.ID] = true
	}

	return ids
}

// partOptions returns the options of a run of one part, which calls done for each task that ends without a failure.
func (k *Worker) partOptions(done func(task *Task, ran bool)) Options {
	observe := func(event Event) {
		switch {
		case event.Kind == "done":
			done(event.Task, event.Ran)
		case event.Kind == "note" && k.Note != nil:
			k.Note(event.Task.ID, event.Note)
		}
	}

	return Options{Jobs: 1, KeepGoing: true, Program: k.Program, Annotate: k.Annotate, Observe: observe}
}

// upTo returns the plan of the tasks with the given IDs and of all tasks that they need.
func (p *Plan) upTo(ids map[string]bool) *Plan {
	needed := maps.Clone(ids)
	plan := &Plan{Dir: p.Dir, Stages: p.Stages}
	for _, task := range slices.Backward(p.Tasks) {
		if !needed[task.ID] {
			continue
		}

		plan.Tasks = append(plan.Tasks, task)
		for _, dep := range task.Deps {
			needed[dep.Task] = true
		}
	}

	slices.Reverse(plan.Tasks)

	return plan
}

// nameOf returns a file name for facts about tasks: the same tasks have the same name.
func nameOf(tasks []*Task) string {
	var pairs []kv.Pair
	for _, task := range tasks {
		pairs = append(pairs, kv.Pair{Key: task.ID})
	}

	return configDigest(pairs)
}

// writeLearned writes the records of the tasks that are up to date, and the hashes of their raw files, to an index in
// .cache/learned, because only the holder of the lock may write the main one. The next run learns them.
func (r *runner) writeLearned(tasks []*Task) error {
	store := r.store
	if err := store.settle(); err != nil {
		return err
	}

	var finished []*Task
	for _, task := range tasks {
		if r.statuses[task.ID].State == UpToDate {
			finished = append(finished, task)
		}
	}

	if len(finished) == 0 {
		return nil
	}

	if err := os.MkdirAll(store.cache("learned"), 0o755); err != nil {
		return &WorkdirError{store.dir, err}
	}

	return WriteFile(store.cache("learned", nameOf(finished)), store.indexOf(finished))
}

// indexOf returns the file of an index that has the given tasks and their raw files only.
func (s *store) indexOf(tasks []*Task) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()

	part := newIndex()
	for _, task := range tasks {
		rec := s.index.Tasks[task.ID]
		part.Tasks[task.ID] = rec
		part.Configs[rec.Config] = s.index.Configs[rec.Config]

		for _, file := range task.Files {
			if hash, ok := s.index.Files[file.Path]; ok {
				part.Files[file.Path] = hash
			}
		}
	}

	return part.encode()
}
