package engine

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"doubletake/internal/kv"
	"doubletake/internal/parallel"
)

// assess determines the status of a task. statuses has the statuses of its dependencies, by task. assess hashes raw
// files that changed. If later is true, it leaves them to be hashed when the task's turn comes, and the status has a
// reason "unread" for each of them.
func (s *store) assess(task *Task, statuses map[string]*Status, later bool) (*Status, error) {
	st := &Status{
		Task: task, digests: make([]string, 0, len(task.Files)+len(task.Deps)),
		stamps: make([]stamp, 0, len(task.Files)),
	}

	if err := s.readFiles(st, later); err != nil {
		return nil, err
	}

	old := s.last(task.ID)
	if err := st.readDeps(statuses); err != nil {
		return nil, err
	}

	if len(st.Reasons) > 0 { // another task must run, or a file must be read, before the key is known
		st.State = Missing
		if old != nil {
			st.State = Stale
			st.Reasons = append(s.changedSettings(task, old), st.Reasons...)
		}

		return st, nil
	}

	st.key = task.key(st.digests)
	rec, damage := s.lookup(st)
	switch {
	case rec != nil:
		st.State = UpToDate
		st.record = rec
		st.key = rec.Key // the same text, so that memory has it once
	case damage != "":
		st.State = Stale
		st.Reasons = []Reason{{Kind: "damaged", Name: damage}}
	case old == nil:
		st.State = Missing
		st.Reasons = []Reason{{Kind: "new"}}
	default:
		st.State = Stale
		st.Reasons = s.changes(st, old)
	}

	return st, nil
}

// changes lists the differences between a task and its last result, at least one. Changes of files and inputs are in
// the manifest, which takes time to read: unless all reasons are wanted, it is read only if nothing else has changed.
func (s *store) changes(st *Status, old *record) []Reason {
	task := st.Task
	var reasons []Reason
	if old.Version != task.Version {
		reasons = append(reasons, Reason{"version", task.Stage, fmt.Sprint(old.Version), fmt.Sprint(task.Version)})
	}

	reasons = append(reasons, s.changedSettings(task, old)...)
	if len(reasons) > 0 && !s.explains {
		return reasons
	}

	if former, _, err := readManifest(s.object(old.Key)); err == nil {
		reasons = append(reasons, inputReasons(task, former.Inputs, task.inputs(st.digests))...)
	}

	if len(reasons) == 0 {
		return []Reason{{Kind: "damaged", Name: "it is gone from the cache"}}
	}

	return reasons
}

// changedSettings lists the settings of a task that differ from the settings of its last result.
func (s *store) changedSettings(task *Task, old *record) []Reason {
	s.mu.Lock()
	former := slices.Concat(s.index.Configs[old.Config], old.Local)
	s.mu.Unlock()

	return configReasons(former, slices.Concat(task.Config, task.Local))
}

// readFiles adds the digests and stamps of the task's raw files to its status. If later is true, it does not read a
// file whose hash is unknown: it adds a reason instead.
func (s *store) readFiles(st *Status, later bool) error {
	for _, f := range st.Task.Files {
		if later {
			known, err := s.known(f)
			if err != nil {
				return err
			}

			if !known {
				st.Reasons = append(st.Reasons, Reason{Kind: "unread", Name: f.Path})
				continue
			}
		}

		file, err := s.hashOnce(f, s.holds && len(st.held) < holdFiles)
		if err != nil {
			return err
		}

		if file.held != nil {
			st.held = append(st.held, file)
		}

		st.digests = append(st.digests, file.sum)
		st.stamps = append(st.stamps, file.stamp)
	}

	return nil
}

// hashOnce returns the hash of a raw file, as hash does. While a plan is assessed, it returns the hash that hashAll
// found.
func (s *store) hashOnce(f File, hold bool) (hashed, error) {
	if found := s.looked[f.Path]; found != nil && found.sum != "" {
		return *found, nil
	}

	return s.hash(f, hold)
}

// readDeps adds the digests of the task's inputs from other tasks to its status, or a reason for each task that must
// run first.
func (st *Status) readDeps(statuses map[string]*Status) error {
	for _, dep := range st.Task.Deps {
		upstream := statuses[dep.Task]
		if upstream.record == nil {
			if n := len(st.Reasons); n == 0 || st.Reasons[n-1].Name != dep.Task { // several outputs, one reason
				st.Reasons = append(st.Reasons, Reason{Kind: "upstream", Name: dep.Task})
			}
			continue
		}

		output, ok := upstream.record.output(dep.Output)
		if !ok {
			return fmt.Errorf("plan: task %s has no output %s, which %s needs", dep.Task, dep.Output, st.Task.ID)
		}

		st.digests = append(st.digests, output.digest())
	}

	return nil
}

// reads reports whether one of the task's raw files has a path.
func (t *Task) reads(path string) bool {
	for _, file := range t.Files {
		if file.Path == path {
			return true
		}
	}

	return false
}

// inputPairs returns inputs as pairs of name and digest.
func inputPairs(list []input) []kv.Pair {
	var pairs []kv.Pair
	for _, item := range list {
		pairs = append(pairs, kv.Pair{Key: item.Name, Value: item.Digest})
	}

	return pairs
}

// inputReasons lists the files and inputs that changed, were added or were removed.
func inputReasons(task *Task, old, now []input) []Reason {
	reasons := configReasons(inputPairs(old), inputPairs(now))
	for i, reason := range reasons {
		reasons[i].Kind = "input"
		if task.reads(reason.Name) {
			reasons[i].Kind = "file"
		}
	}

	return reasons
}

// configReasons lists the pairs whose values differ, or that are in one list only.
func configReasons(old, now []kv.Pair) []Reason {
	former := map[string]string{}
	for _, pair := range old {
		former[pair.Key] = pair.Value
	}

	var reasons []Reason
	present := map[string]bool{}
	for _, pair := range now {
		present[pair.Key] = true
		if v, ok := former[pair.Key]; !ok || v != pair.Value {
			reasons = append(reasons, Reason{"key", pair.Key, v, pair.Value})
		}
	}

	for _, pair := range old {
		if !present[pair.Key] {
			reasons = append(reasons, Reason{"key", pair.Key, pair.Value, ""})
		}
	}

	return reasons
}

// Assess determines for every task of the plan whether it is up to date, missing
// or stale, and why. It takes no lock and writes nothing.
func Assess(plan *Plan) ([]*Status, error) {
	list, _, err := assessPlan(plan, allReasons)
	return list, err
}

// The reasons that assessPlan finds.
const (
	quickReasons = false // the reasons that need no manifest
	allReasons   = true
)

// assessPlan determines the status of every task of the plan, and also returns the results that are up to date. If
// explains is true, the statuses have all reasons, even if that takes reading manifests.
func assessPlan(plan *Plan, explains bool) ([]*Status, *Result, error) {
	if err := plan.Check(); err != nil {
		return nil, nil, err
	}

	store := openStore(plan.Dir)
	store.explains = explains
	list, statuses, err := store.assessAll(plan, nil)

	return list, &Result{store: store, statuses: statuses}, err
}

// Finished returns the results of the selected tasks. If one of them is not up to date,
// the error is a *NotReadyError. Finished takes no lock and writes nothing.
func Finished(plan *Plan, sel Selection) (*Result, error) {
	list, r, err := assessPlan(plan, quickReasons)
	if err != nil {
		return nil, err
	}

	var lacks []*Status
	for _, st := range list {
		if plan.Selects(sel, st.Task) && st.State != UpToDate {
			lacks = append(lacks, st)
		}
	}

	if len(lacks) > 0 {
		return nil, &NotReadyError{Stage: lacks[0].Task.Stage, Needs: lacks[0], Others: len(lacks) - 1}
	}

	return r, nil
}

// readLater returns the tasks whose raw files are hashed when the task's turn comes instead of before the run begins.
// That saves time in two ways: one file is read from the disk while another is worked on, and if a campaign is larger
// than the memory, a file is still in memory when its tasks read it.
//
// A task is in the result if
//   - it is made in this process,
//   - it was never made, so that it very likely must run anyway, and
//   - a partial run does not need its state to find out whether the inputs of the selected tasks are up to date.
func (s *store) readLater(plan *Plan, options Options) map[*Task]bool {
	if _, here := options.Executor.(Local); options.Executor != nil && !here {
		return nil
	}

	if !slices.ContainsFunc(plan.Tasks, func(task *Task) bool { return s.index.Tasks[task.ID] == nil }) {
		return nil
	}

	selected := map[string]bool{}
	for _, task := range plan.Tasks {
		selected[task.ID] = plan.Selects(options.Selection, task)
	}

	later := map[*Task]bool{}
	needed := map[string]bool{} // tasks whose state must be known before the run begins
	for _, task := range slices.Backward(plan.Tasks) {
		for _, dep := range task.Deps {
			isOutside := selected[task.ID] && !selected[dep.Task]
			if needed[task.ID] || isOutside {
				needed[dep.Task] = true
			}
		}

		later[task] = !needed[task.ID] && s.index.Tasks[task.ID] == nil
	}

	return later
}

// hashAll hashes the plan's raw files that changed, except the files of tasks in later. It hashes
// as many at a time as there are processors, because a large campaign takes
// seconds. A file with an error has the hash "": assess reads it again, and so reports the first error in the plan's
// order.
func (s *store) hashAll(plan *Plan, later map[*Task]bool) map[string]*hashed {
	var files []File
	found := make(map[string]*hashed, len(plan.Tasks)/2)
	for _, task := range plan.Tasks {
		if later[task] {
			continue
		}

		for _, file := range task.Files {
			if _, ok := found[file.Path]; !ok {
				found[file.Path] = nil
				files = append(files, file)
			}
		}
	}

	sums := make([]hashed, len(files))
	parallel.Do(runtime.GOMAXPROCS(0), len(files), func(i int) { sums[i], _ = s.hash(files[i], false) })

	for i, file := range files {
		found[file.Path] = &sums[i]
	}

	return found
}

// storedInput is an output of a result in the store that a task will read.
type storedInput struct {
	result *record
	output output
}

// doubt hashes the stored outputs that the tasks of todo will read, because the bytes of a file may have changed while
// its size and time did not. If an output has changed, doubt drops the stamps of its result, so that the result is
// assessed as damaged, and reports true. Todo must be in the plan's order.
func (s *store) doubt(todo []*Task, statuses map[string]*Status) bool {
	isMade := map[string]bool{}
	seen := map[storedInput]bool{}
	var inputs []storedInput
	for _, task := range todo {
		isMade[task.ID] = true
		for _, dep := range task.Deps {
			result := statuses[dep.Task].record
			if isMade[dep.Task] || result == nil || result.hashed {
				continue
			}

			output, _ := result.output(dep.Output) // assess has found it
			if input := (storedInput{result, output}); !seen[input] {
				seen[input] = true
				inputs = append(inputs, input)
			}
		}
	}

	var isDamaged atomic.Bool
	parallel.Do(runtime.GOMAXPROCS(0), len(inputs), func(i int) {
		input := inputs[i]
		if input.output.verify(s.object(input.result.Key)) == nil {
			return
		}

		s.mu.Lock()
		input.result.Stamps = nil
		s.mu.Unlock()
		isDamaged.Store(true)
	})

	return isDamaged.Load()
}

// assessAll assesses the plan's tasks. It returns the statuses in the order of the plan, and by task. The raw files of
// tasks in later are hashed when the task's turn comes.
func (s *store) assessAll(plan *Plan, later map[*Task]bool) ([]*Status, map[string]*Status, error) {
	s.looked = s.hashAll(plan, later)
	defer func() { s.looked = nil }()

	statuses := make(map[string]*Status, len(plan.Tasks))

	list := make([]*Status, len(plan.Tasks))
	for i, task := range plan.Tasks {
		st, err := s.assess(task, statuses, later[task])
		if err != nil {
			return nil, nil, err
		}

		if st.State == UpToDate { // only making the task would need them
			st.digests = nil
			st.stamps = nil
		}

		statuses[task.ID] = st
		list[i] = st
	}

	return list, statuses, nil
}
