// Package slurm makes a run's tasks on a Slurm cluster, as arrays of batch jobs
// that run the same program as workers.
//
// What counts is the store: a task is done when its object is there, whoever
// made it, and Slurm is only asked two things, "is it still in hand?" and "why
// did it die?". An error from Slurm means that nothing is known now; it never
// means that a job ended. Accounting (sacct) is not needed. Every batch is
// written to a journal before it is submitted, under a name of its own, so that
// a driver that was killed finds its jobs again.
//
// Below .cache/slurm lie the journal, a copy of the program (so that workers
// run what the driver is, though the original is rebuilt meanwhile) and one
// folder per batch: plan.json, log/<index>.log, failed/*.json. The batch script
// names nothing but these, relative to its folder: no path, name or setting of
// the user's is ever read by a shell but the words of Settings.Setup, each
// quoted.
//
// One goroutine decides (executor.go: Open, Do, loop); at every turn it looks
// what came about and what ended (watch.go) and hands out what waits
// (submit.go), after a probe of the nodes (probe.go). What it must not forget
// is in the journal (journal.go). worker.go is the other side, in the jobs.
package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// Settings are what a job asks for; "" and 0 leave it to the cluster.
type Settings struct {
	Partition, Account, QOS string
	Time                    string   // limit, as sbatch --time takes it
	Mem                     string   // per node, as sbatch --mem takes it: 2G
	CPUs                    int      // per task
	Setup                   []string // commands before the program, each one command and its words: "module load gcc"
	Extra                   []string // further options of sbatch: "--constraint=avx512"
}

// Options say how the executor goes about it. The zero value of a duration
// means the default.
type Options struct {
	Settings
	Stages     map[string]Settings // by stage, complete, instead of Settings
	MaxRunning int                 // jobs at a time; 0: as the cluster allows
	Retries    int                 // how often a task that failed is tried again
	RetryMem   float64             // a task that was killed asks for so many times the memory; 0 or 1: for the same
	Binary     string              // the program
	Config     string              // its configuration, as the worker is to open it, seen from Dir
	Added      []string            // what the driver was told beside it that makes other tasks
	Dir        string              // the worker's working directory
	Facts      []engine.KV         // what the nodes must agree on with this machine: version, kernels
	Say        func(text string)   `json:"-"` // messages that concern no single task; may be nil

	Tick   time.Duration // between looks at the store; default 0.2 s, slower when nothing happens
	Query  time.Duration // between questions to squeue, at first; default 1 s, up to 15 s when nothing happens
	Settle time.Duration // how long after a job's end its result may take to become visible; default 4 s
	Grace  time.Duration // after which a reason to wait that will not pass is told; default 30 s
	Linger time.Duration // how long an interrupted run waits for Cancel; default 5 s
	Pack   float64       // seconds of work that make one job when there is much; default 60
}

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Tick, 200*time.Millisecond)
	set(&o.Query, time.Second)
	set(&o.Settle, 4*time.Second)
	set(&o.Grace, 30*time.Second)
	set(&o.Linger, 5*time.Second)
	if o.Pack == 0 {
		o.Pack = 60
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
}

func (o *Options) settings(stage string) Settings {
	if s, ok := o.Stages[stage]; ok {
		return s
	}
	return o.Settings
}

// Words splits a command of Settings.Setup: words are parted by spaces, quotes
// ('…' as it stands, "…" with \" and \\) hold a word together, \ takes the next
// character as it is. What only a shell could make sense of ($, `, ;, |, &, <,
// >, parentheses, *, ?, [, #, ~, line ends outside quotes) is an error: such
// things belong into a script that is named here.
func Words(command string) ([]string, error) {
	if strings.ContainsRune(command, 0) {
		return nil, fmt.Errorf("%q holds a zero byte", command)
	}
	var words []string
	var w strings.Builder
	in := false
	quote := rune(0)
	runes := []rune(command)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			} else {
				w.WriteRune(c)
			}
		case quote == '"':
			switch {
			case c == '"':
				quote = 0
			case c == '\\' && i+1 < len(runes) && (runes[i+1] == '"' || runes[i+1] == '\\'):
				i++
				w.WriteRune(runes[i])
			case c == '$' || c == '`':
				return nil, fmt.Errorf("%q is more than a command and its words: %q is not replaced here; write it in '…' if it is meant as it stands, or put it into a script and name that: source setup.sh", command, c)
			default:
				w.WriteRune(c)
			}
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == '\\':
			if i++; i == len(runes) || runes[i] == '\n' {
				return nil, fmt.Errorf("%q ends with a backslash", command)
			}
			w.WriteRune(runes[i])
			in = true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, w.String())
				w.Reset()
				in = false
			}
		case strings.ContainsRune("$`;|&<>()*?[#~\n\r{}!", c):
			return nil, fmt.Errorf("%q is more than a command and its words: found %q; put it into a script and name that: source setup.sh", command, c)
		default:
			w.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has a quote that does not end", command)
	}
	if in {
		words = append(words, w.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%q is no command", command)
	}
	return words, nil
}

// quote makes a word that a shell reads as it stands.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// own are the options of sbatch that are the executor's.
var own = []string{
	"array", "job-name", "output", "error", "input", "chdir", "parsable", "wait", "wrap", "test-only", "requeue", "no-requeue",
	"open-mode", "dependency", "export", "export-file", "help", "usage", "version", "hold", "quiet", "kill-on-invalid-dep", "clusters", "ntasks",
}

// CheckExtra reports what of a further option of sbatch cannot be given.
func CheckExtra(option string) error {
	name, ok := strings.CutPrefix(option, "--")
	name, _, _ = strings.Cut(name, "=")
	if !ok || name == "" || strings.ContainsAny(name, " \t\n'\"") {
		return fmt.Errorf("expected a long option of sbatch with its value, like --constraint=avx512, found %q", option)
	}
	// sbatch takes any beginning of an option's name that is not ambiguous.
	if i := slices.IndexFunc(own, func(o string) bool { return strings.HasPrefix(o, name) && len(name) > 2 }); i >= 0 || slices.Contains(own, name) {
		return fmt.Errorf("%s is set by the program itself", option)
	}
	return nil
}

// settles reports whether a reason to wait passes by itself in the course of
// things. Others are told: most of them never do.
func settles(state, reason string) bool {
	if strings.HasPrefix(state, "REQUEUE_HOLD") || strings.HasPrefix(state, "SPECIAL_EXIT") {
		return false
	}
	switch reason {
	case "", "None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Cleaning", "Prolog", "Dependency", "Licenses", "Reservation", "JobArrayTaskLimit)":
		return true
	}
	return false
}
