package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/command"
	"doubletake/pipeline/engine/job"
	"doubletake/pipeline/kv"
)

// facts are what a node must agree on with the machine of the run.
func (p *Project) facts() []kv.Pair {
	sum := sha256.Sum256([]byte(p.File.Text()))

	return []kv.Pair{
		{Key: "the program's version", Value: p.Program.Version},
		{Key: "the set of numeric kernels (name one that both have with the key kernels)", Value: p.Program.Kernels},
		{Key: "the digest of " + p.File.Path, Value: hex.EncodeToString(sum[:8])},
	}
}

// Executor is a place where tasks are made, other than this process.
type Executor struct {
	Name string // of --executor
	// Open is Project.Executor of this one.
	Open func(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error)
}

// executors are the executors by name. A new one is a package below engine and a line here,
// its settings a section of config.Executor; a program of one's own registers further ones.
var executors = []Executor{
	{"slurm", byScheduler("slurm")},
	{"sge", byScheduler("sge")},
	{"pbs", byScheduler("pbs")},
	{"htcondor", byScheduler("htcondor")},
	{"command", byCommand},
}

// RegisterExecutors adds executors of a program of one's own, before a configuration is
// read. A name that is known is an error.
func RegisterExecutors(more ...Executor) error {
	for _, x := range more {
		if slices.Contains(append(Executors(), ""), x.Name) || x.Open == nil {
			return fmt.Errorf("register executor %q: expected Open and a name other than %q", x.Name, Executors())
		}

		executors = append(executors, x)
	}

	return nil
}

// Executors lists the names of the places where tasks are made: local is this process.
func Executors() []string {
	return append([]string{"local"}, lists.Each(executors, func(x Executor) string { return x.Name })...)
}

// Executor returns the executor of that name for one run, for Options.Executor; nil for
// local. It opens the configuration at path, relative to the current folder, with the splits
// of HeldOut(heldOut). notify receives messages that concern no single task.
func (p *Project) Executor(name, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
	for _, x := range executors {
		if x.Name == name {
			return x.Open(p, path, heldOut, notify)
		}
	}

	return nil, nil
}

// place is where workers find this program and its configuration.
func (p *Project) place() (binary, dir string, err error) {
	if runtime.GOOS == "windows" {
		return "", "", &UsageError{Text: "jobs of a cluster cannot be made on Windows: their scripts are for " +
			"the shell of its machines; log in to one of them, or run here without --executor"}
	}

	if binary, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("find the program: %w", err)
	}

	if dir, err = os.Getwd(); err != nil {
		return "", "", fmt.Errorf("find the folder: %w", err)
	}

	return binary, dir, nil
}

// byScheduler makes tasks as jobs of a scheduler, as its section of executor in the configuration
// describes them.
func byScheduler(name string) func(*Project, string, []string, func(string)) (engine.Executor, error) {
	return func(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
		all, train := p.File.Jobs(name)

		return p.parts(command.Options{
			Scheduler: job.Find(name), Settings: all, Stages: map[string]job.Settings{"train": train},
			Config: path, Added: heldOut, Notify: notify,
		})
	}
}

// byCommand makes tasks in parts that executor.command of the configuration starts.
func byCommand(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
	x := p.File.Executor
	if x.Command == "" {
		return nil, p.File.Errorf("executor.command", "--executor command needs one, as qsub -cwd")
	}

	o := command.Options{Config: path, Added: heldOut, Notify: notify}
	for text, words := range map[string]*[]string{x.Command: &o.Command, x.Status: &o.Status, x.Cancel: &o.Cancel} {
		if text != "" {
			*words, _ = job.Words(text) // checked with the configuration
		}
	}

	return p.parts(o)
}

// parts returns an executor of parts.
func (p *Project) parts(o command.Options) (_ engine.Executor, err error) {
	o.Parts, o.Facts = p.File.Executor.Parts, p.facts()
	if o.Binary, o.Dir, err = p.place(); err != nil {
		return nil, err
	}

	return command.New(o), nil
}

// Schedulers lists the names that WriteJobs knows.
func Schedulers() []string { return job.Schedulers() }

// WriteJobs writes array jobs that make the selected stages in parts, for a scheduler of that
// name. path is the configuration's; image is of the container, for Kubernetes.
func (p *Project) WriteJobs(w io.Writer, path, scheduler string, parts int, image string, s Selection) (err error) {
	defer fault.Catch(&err)
	fault.Raise(p.Check(s))
	binary, dir, err := p.place()
	fault.Raise(err)
	if image != "" {
		binary = "pipeline"
	}

	logs, err := filepath.Abs(filepath.Join(p.Plan.Dir, ".cache", "jobs"))
	if err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}

	run := sha256.Sum256([]byte(dir + "\n" + path))
	flow := job.Workflow{
		Plan: path, Dir: dir, Logs: logs, Image: image, Run: hex.EncodeToString(run[:4]),
		User: os.Getuid(), Group: os.Getgid(),
	}
	all, train := p.File.Jobs(scheduler)

	for _, stage := range p.Plan.Stages {
		tasks := lists.Keep(p.Plan.Tasks, func(t *engine.Task) bool { return t.Stage == stage && p.Plan.Selects(s, t) })
		words := []string{binary, "exec", "--plan", path, "--stage", stage}
		for _, e := range s.Experiments {
			words = append(words, "--experiment", e)
		}

		for _, x := range s.Splits {
			words = append(words, "--split", x)
		}

		for i, wave := range engine.Waves(tasks) {
			a := job.Array{Settings: all, Name: stage, Parts: min(parts, len(wave)), Words: append(words, "--part")}
			if stage == "train" {
				a.Settings = train
			}

			if i > 0 {
				a.Name = fmt.Sprintf("%s-%d", stage, i+1)
			}

			flow.Arrays = append(flow.Arrays, a)
		}
	}

	if len(flow.Arrays) == 0 {
		return &UsageError{Text: "no task is selected"}
	}

	return flow.Write(w, scheduler)
}

// CancelJobs cancels the jobs of the configuration's work directory and
// returns how many there were.
func CancelJobs(path string) (int, error) {
	f, err := config.Load(path)
	if err != nil {
		return 0, err
	}

	return command.Cancel(f.Resolve(f.Workdir))
}

// WorkBatch makes the tasks of a part if the file is its plan.json, and reports whether it is. log receives a line per
// task. status is the exit status of the worker; err is set where nothing could be made.
func WorkBatch(ctx context.Context, plan string, log io.Writer) (is bool, status int, err error) {
	batch, is, err := command.ReadBatch(plan)
	if err != nil || !is {
		return is, ExitFailed, err
	}

	load := func(path string, heldOut []string) (*engine.Worker, []kv.Pair, error) {
		splits, err := HeldOut(heldOut)
		if err != nil {
			return nil, nil, err
		}

		p, err := Load(path, splits...)
		if err != nil {
			return nil, nil, err
		}

		return p.worker(), p.facts(), nil
	}

	status, err = command.Work(ctx, filepath.Dir(plan), batch, load, ExitStatus, log)

	return true, status, err
}
