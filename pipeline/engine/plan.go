package engine

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/pipeline/kv"
)

// State of a task.
type State string

// States a task can be in.
const (
	UpToDate State = "up to date"
	Missing  State = "missing" // never made
	Stale    State = "stale"   // made from other inputs than the present ones
)

// Reason is one cause for a task to be stale.
type Reason struct {
	Kind string `json:"kind"` // "key", "file", "input", "upstream", "version", "damaged", "forced", "new"
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

func (r Reason) String() string {
	switch r.Kind {
	case "upstream":
		return r.Name + " must run first"
	case "unread":
		return r.Name + " was not read yet"
	case "damaged":
		return "its result is damaged: " + r.Name
	case "forced":
		return "forced"
	case "new":
		return "no result yet"
	case "version":
		return fmt.Sprintf("the program's %s stage changed: version %s → %s", r.Name, r.Old, r.New)
	case "file", "input":
		switch {
		case r.Old == "":
			return r.Name + " is new"
		case r.New == "":
			return r.Name + " is gone"
		}

		return fmt.Sprintf("%s changed: %.8s → %.8s", r.Name, r.Old, r.New)
	}

	return fmt.Sprintf("%s: %s → %s", r.Name, cmp.Or(r.Old, "none"), cmp.Or(r.New, "none"))
}

// Status is the planner's word on one task.
type Status struct {
	Task    *Task
	State   State
	Reasons []Reason
	key     string
	digests []string // of what it reads: raw files, then inputs
	stamps  []stamp  // of the raw files, as they were hashed
	held    []hashed // raw files with contents, for its making
	chosen  bool     // by the run's selection
	rec     *record  // the result, when up to date
}

// mostReasons are listed, of more the first ones.
const mostReasons = 5

// Because joins the reasons; upstream tasks, and reasons beyond the first ones, are
// counted.
func (s *Status) Because() string {
	var out []string

	upstream, first := 0, ""
	for _, r := range s.Reasons {
		if r.Kind == "upstream" {
			if upstream++; upstream == 1 {
				first = r.Name
			}
			continue
		}

		out = append(out, r.String())
	}

	if more := len(out) - mostReasons + 1; more > 1 {
		out = append(out[:mostReasons-1], fmt.Sprintf("and %d more reasons", more))
	}

	switch {
	case upstream == 1:
		out = append(out, first+" must run first")
	case upstream > 1:
		out = append(out, fmt.Sprintf("%s and %d more must run first", first, upstream-1))
	}

	return strings.Join(out, "; ")
}

// Selection selects the tasks of a run; the zero value means all.
type Selection struct {
	Stages      []string // only these
	From, To    string   // only from, up to this stage
	Experiments []string
	Splits      []string
	Force       bool // run them though they are up to date
	Verify      bool // hash all files and results, also those whose size and time are as before
}

// all reports whether all tasks are selected.
func (s Selection) all() bool {
	return len(s.Stages)+len(s.Experiments)+len(s.Splits) == 0 && s.From+s.To == ""
}

// Plan is an ordered list of tasks, each after its dependencies.
type Plan struct {
	Dir    string   // work directory
	Stages []string // stage names in order
	Tasks  []*Task
}

// Check reports the first fault of the plan itself: an ID used twice, a
// dependency that is missing or comes later. Such a fault is the program's.
func (p *Plan) Check() error {
	seen := make(map[string]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		if seen[t.ID] {
			return fmt.Errorf("plan: task %s occurs twice", t.ID)
		}

		for _, d := range t.Deps {
			if !seen[d.Task] {
				return fmt.Errorf("plan: task %s needs %s, which does not come before it", t.ID, d.Task)
			}
		}

		seen[t.ID] = true
	}

	return nil
}

// Selects reports whether the selection is about t.
func (p *Plan) Selects(s Selection, t *Task) bool {
	at := slices.Index(p.Stages, t.Stage)
	switch {
	case len(s.Stages) > 0 && !slices.Contains(s.Stages, t.Stage),
		s.From != "" && at < slices.Index(p.Stages, s.From),
		s.To != "" && at > slices.Index(p.Stages, s.To),
		len(s.Experiments) > 0 && !slices.ContainsFunc(s.Experiments, t.worksFor),
		len(s.Splits) > 0 && t.Split != "" && !slices.Contains(s.Splits, t.Split):
		return false
	}

	return true
}

// worksFor reports whether t belongs to an experiment, or to one below its name.
func (t *Task) worksFor(experiment string) bool {
	return slices.ContainsFunc(append([]string{t.Experiment}, t.Shared...), func(e string) bool {
		return e == experiment || strings.HasPrefix(e, experiment+"/")
	})
}

// assess determines the status of t, given the status of its dependencies.
// Raw files that changed are hashed, or, if later, left to be hashed when the
// task's turn comes.
func (s *store) assess(t *Task, of map[string]*Status, later bool) (*Status, error) {
	st := &Status{Task: t, digests: make([]string, 0, len(t.Files)+len(t.Deps)), stamps: make([]stamp, 0, len(t.Files))}
	if err := s.readFiles(st, later); err != nil {
		return nil, err
	}

	old := s.last(t.ID)
	if err := st.readDeps(of); err != nil {
		return nil, err
	}

	settings := func() []Reason { // that changed
		s.mu.Lock()
		before := slices.Concat(s.ix.Configs[old.Config], old.Local)
		s.mu.Unlock()

		return configReasons(before, slices.Concat(t.Config, t.Local))
	}

	if len(st.Reasons) > 0 { // something is to be made or read first
		st.State = Missing
		if old != nil {
			st.State = Stale
			st.Reasons = append(settings(), st.Reasons...)
		}

		return st, nil
	}

	st.key = t.key(st.digests)
	rec, damage := s.lookup(st)
	switch {
	case rec != nil:
		st.State, st.rec, st.key = UpToDate, rec, rec.Key // kept once
	case damage != "":
		st.State, st.Reasons = Stale, []Reason{{Kind: "damaged", Name: damage}}
	case old == nil:
		st.State, st.Reasons = Missing, []Reason{{Kind: "new"}}
	default:
		st.State = Stale
		if old.Version != t.Version {
			st.Reasons = append(st.Reasons, Reason{"version", t.Stage, fmt.Sprint(old.Version), fmt.Sprint(t.Version)})
		}

		st.Reasons = append(st.Reasons, settings()...)
		if len(st.Reasons) > 0 && !s.explains {
			break
		}

		if before, _, err := readManifest(s.object(old.Key)); err == nil {
			st.Reasons = append(st.Reasons, inputReasons(t, before.Inputs, t.inputs(st.digests))...)
		}

		if len(st.Reasons) == 0 {
			st.Reasons = []Reason{{Kind: "damaged", Name: "it is gone from the cache"}}
		}
	}

	return st, nil
}

// readFiles hashes the task's raw files.
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

		x := hashed{}
		if one := s.looked[f.Path]; one != nil && one.sum != "" {
			x = *one
		} else {
			var err error

			if x, err = s.hash(f, s.holds && len(st.held) < holdFiles); err != nil {
				return err
			}
		}

		if x.held != nil {
			st.held = append(st.held, x)
		}

		st.digests, st.stamps = append(st.digests, x.sum), append(st.stamps, x.stamp)
	}

	return nil
}

// readDeps takes the digests of what other tasks give the task.
func (st *Status) readDeps(of map[string]*Status) error {
	for _, d := range st.Task.Deps {
		up := of[d.Task]
		if up.rec == nil {
			if n := len(st.Reasons); n == 0 || st.Reasons[n-1].Name != d.Task {
				st.Reasons = append(st.Reasons, Reason{Kind: "upstream", Name: d.Task})
			}
			continue
		}

		o, ok := up.rec.output(d.Output)
		if !ok {
			return fmt.Errorf("plan: task %s has no output %s, which %s needs", d.Task, d.Output, st.Task.ID)
		}

		st.digests = append(st.digests, o.digest())
	}

	return nil
}

// inputReasons lists the files and inputs that changed, came or went.
func inputReasons(t *Task, old, now []input) []Reason {
	pairs := func(list []input) []kv.Pair {
		return lists.Each(list, func(in input) kv.Pair { return kv.Pair{Key: in.Name, Value: in.Digest} })
	}

	reasons := configReasons(pairs(old), pairs(now))
	for i, r := range reasons {
		reasons[i].Kind = "input"
		if slices.ContainsFunc(t.Files, func(f File) bool { return f.Path == r.Name }) {
			reasons[i].Kind = "file"
		}
	}

	return reasons
}

func configReasons(old, now []kv.Pair) []Reason {
	var out []Reason

	a := map[string]string{}
	for _, kv := range old {
		a[kv.Key] = kv.Value
	}

	b := map[string]bool{}
	for _, kv := range now {
		b[kv.Key] = true
		if v, ok := a[kv.Key]; !ok || v != kv.Value {
			out = append(out, Reason{"key", kv.Key, v, kv.Value})
		}
	}

	for _, kv := range old {
		if !b[kv.Key] {
			out = append(out, Reason{"key", kv.Key, kv.Value, ""})
		}
	}

	return out
}

// Assess determines for every task of the plan whether it is up to date, missing
// or stale, and why. It takes no lock and writes nothing.
func Assess(p *Plan) ([]*Status, error) {
	list, _, err := assessPlan(p, true)
	return list, err
}

// assessPlan is Assess, with the results that are there; explains: all reasons are wanted.
func assessPlan(p *Plan, explains bool) ([]*Status, *Result, error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}

	s := openStore(p.Dir)
	s.explains = explains
	list, of, err := s.assessAll(p, nil)

	return list, &Result{s: s, of: of}, err
}

// Finished returns the results of the selected tasks, all of which must be up to date;
// else the error is a *NotReadyError. It takes no lock and writes nothing.
func Finished(p *Plan, sel Selection) (*Result, error) {
	list, r, err := assessPlan(p, false)
	if err != nil {
		return nil, err
	}

	lacks := slices.DeleteFunc(list, func(st *Status) bool { return !p.Selects(sel, st.Task) || st.State == UpToDate })
	if len(lacks) > 0 {
		return nil, &NotReadyError{Stage: lacks[0].Task.Stage, Needs: lacks[0], Others: len(lacks) - 1}
	}

	return r, nil
}

// readLater returns the tasks whose raw files can be hashed when the task's turn
// comes instead of before the run begins: while one file comes from the disk
// another is worked on, and of a campaign larger than the memory a file is still
// there when its tasks read it. Those are tasks that were never made, so that
// little is lost by not knowing yet whether they must be; that are made in this
// process; and that are not needed to decide whether a partial run has its
// inputs.
func (s *store) readLater(p *Plan, o Options) map[*Task]bool {
	if _, here := o.Executor.(Local); o.Executor != nil && !here {
		return nil
	}

	if !slices.ContainsFunc(p.Tasks, func(t *Task) bool { return s.ix.Tasks[t.ID] == nil }) {
		return nil
	}

	selected, first := map[string]bool{}, map[string]bool{}
	for _, t := range p.Tasks {
		selected[t.ID] = p.Selects(o.Selection, t)
	}

	later := map[*Task]bool{}
	for _, t := range slices.Backward(p.Tasks) {
		for _, d := range t.Deps {
			if first[t.ID] || selected[t.ID] && !selected[d.Task] {
				first[d.Task] = true
			}
		}

		later[t] = !first[t.ID] && s.ix.Tasks[t.ID] == nil
	}

	return later
}

// hashAll hashes the plan's raw files that changed and are not left for later,
// as many at a time as there are processors: of a large campaign this takes
// seconds. Errors are left to assess, which meets them again in the plan's order.
func (s *store) hashAll(p *Plan, later map[*Task]bool) map[string]*hashed {
	var files []File

	found := make(map[string]*hashed, len(p.Tasks)/2)
	for _, t := range p.Tasks {
		if later[t] {
			continue
		}

		for _, f := range t.Files {
			if _, ok := found[f.Path]; !ok {
				found[f.Path] = nil
				files = append(files, f)
			}
		}
	}

	sums := make([]hashed, len(files))
	parallel.Do(runtime.GOMAXPROCS(0), len(files), func(i int) { sums[i], _ = s.hash(files[i], false) })

	for i, f := range files {
		found[f.Path] = &sums[i]
	}

	return found
}

// doubt hashes what tasks will read of results that are there, once a run, and takes the stamps of those whose bytes
// changed while their size and time did not: they are then assessed as damaged. It reports whether there are any.
func (s *store) doubt(todo []*Task, of map[string]*Status) bool {
	type read struct {
		r *record
		o output
	}

	made, seen := map[string]bool{}, map[read]bool{}
	var reads []read
	for _, t := range todo {
		made[t.ID] = true
		for _, d := range t.Deps {
			r := of[d.Task].rec
			if made[d.Task] || r == nil || r.hashed {
				continue
			}

			o, _ := r.output(d.Output)
			if x := (read{r, o}); !seen[x] {
				seen[x] = true
				reads = append(reads, x)
			}
		}
	}

	var bad atomic.Bool
	parallel.Do(runtime.GOMAXPROCS(0), len(reads), func(i int) {
		if x := reads[i]; x.o.verify(s.object(x.r.Key)) != nil {
			s.mu.Lock()
			x.r.Stamps = nil
			s.mu.Unlock()
			bad.Store(true)
		}
	})

	return bad.Load()
}

// assessAll assesses the plan's tasks, in its order; later as of readLater.
func (s *store) assessAll(p *Plan, later map[*Task]bool) ([]*Status, map[string]*Status, error) {
	s.looked = s.hashAll(p, later)
	defer func() { s.looked = nil }()

	of := make(map[string]*Status, len(p.Tasks))

	list := make([]*Status, len(p.Tasks))
	for i, t := range p.Tasks {
		st, err := s.assess(t, of, later[t])
		if err != nil {
			return nil, nil, err
		}

		if st.State == UpToDate {
			st.digests, st.stamps = nil, nil // which are needed to make it
		}

		of[t.ID], list[i] = st, st
	}

	return list, of, nil
}
