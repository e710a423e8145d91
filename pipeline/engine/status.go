package engine

import (
	"cmp"
	"fmt"
	"strings"
)

// State is the state of a task.
type State string

// States a task can be in.
const (
	UpToDate State = "up to date"
	Missing  State = "missing" // never made
	Stale    State = "stale"   // made from other inputs than the present ones
)

// Reason is one reason why a task must run.
type Reason struct {
	// The kind of the reason: a setting differs ("key"), a raw file ("file"), an output of another task ("input") or the
	// version of the stage ("version"); a raw file was not hashed yet ("unread"); another task must run first
	// ("upstream"); the result is damaged ("damaged") or was never made ("new"); or the user wants it made again
	// ("forced").
	Kind string `json:"kind"`
	Name string `json:"name"`          // of the setting, file, input, stage or task; the fault of a damaged result
	Old  string `json:"old,omitempty"` // former value, digest or version; "": none
	New  string `json:"new,omitempty"` // present value, digest or version; "": none
}

// String returns the reason in words.
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

// Status describes the state of a task, and why it must run.
type Status struct {
	Task    *Task
	State   State
	Reasons []Reason

	key     string   // of the result; "" if an input is not known yet
	digests []string // of the raw files, and then of the inputs from other tasks
	stamps  []stamp  // of the raw files, when they were hashed
	held    []hashed // raw files whose contents are kept for the task
	chosen  bool     // the run's selection has the task
	record  *record  // of the result; nil if the task is not up to date
}

// mostReasons is the number of reasons that Because lists at most. If there are more, it lists one less and counts the
// others.
const mostReasons = 5

// Because joins the texts of the reasons. It names the first task that must run before this one and counts the others;
// reasons beyond mostReasons are counted too.
func (st *Status) Because() string {
	var texts []string

	upstream := 0
	first := ""
	for _, reason := range st.Reasons {
		if reason.Kind == "upstream" {
			upstream++
			if upstream == 1 {
				first = reason.Name
			}
			continue
		}

		texts = append(texts, reason.String())
	}

	if more := len(texts) - mostReasons + 1; more > 1 {
		texts = append(texts[:mostReasons-1], fmt.Sprintf("and %d more reasons", more))
	}

	switch {
	case upstream == 1:
		texts = append(texts, first+" must run first")
	case upstream > 1:
		texts = append(texts, fmt.Sprintf("%s and %d more must run first", first, upstream-1))
	}

	return strings.Join(texts, "; ")
}
