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
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/command"
	"doubletake/pipeline/engine/job"
)

// facts returns the facts that a node and the machine of the run must agree on.
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
	Name string // the value of --executor
	Open OpenExecutor
}

// OpenExecutor returns an executor for one run of a project. path is the configuration, relative to the current folder,
// which workers load with the splits of HeldOut(heldOut). notify receives messages that concern no single task.
type OpenExecutor func(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error)

// executors are the executors by name. A new executor is a package below engine and a line here. Its settings are a
// section of config.Executor. A program of one's own registers further executors.
var executors = []Executor{
	{"slurm", byScheduler("slurm")},
	{"sge", byScheduler("sge")},
	{"pbs", byScheduler("pbs")},
	{"htcondor", byScheduler("htcondor")},
	{"command", byCommand},
}

// RegisterExecutors adds executors of a program of one's own. It must be called before a configuration is read. It
// returns an error if an executor has no name, a known name, or no Open.
func RegisterExecutors(more ...Executor) error {
	for _, x := range more {
		if slices.Contains(append(Executors(), ""), x.Name) || x.Open == nil {
			return fmt.Errorf("register executor %q: expected Open and a name other than %q", x.Name, Executors())
		}

		executors = append(executors, x)
	}

	return nil
}

// local is the value of --executor that makes tasks in this process.
const local = "local"

// Executors returns the values of --executor. The first, local, is this process.
func Executors() []string {
	names := []string{local}
	for _, x := range executors {
		names = append(names, x.Name)
	}

	return names
}

// Executor returns the executor with a name for one run, for Options.Executor. For local it returns nil and no error:
// Run then makes the tasks in this process. For a name that Executors does not have it returns a *UsageError.
// OpenExecutor explains the other arguments.
func (p *Project) Executor(name, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
	if name == local {
		return nil, nil
	}

	for _, x := range executors {
		if x.Name == name {
			return x.Open(p, path, heldOut, notify)
		}
	}

	return nil, &UsageError{Text: fmt.Sprintf("--executor %q is unknown, expected one of %s%s", name,
		strings.Join(Executors(), ", "), spelling.DidYouMean(name, Executors()))}
}

// place returns the path of this program and the current folder, to which the path of the configuration is relative.
func (p *Project) place() (binary, dir string, err error) {
	if runtime.GOOS == "windows" {
		return "", "", &UsageError{Text: "jobs of a cluster cannot be made on Windows: their scripts are for " +
			"the shell of its machines; log in to one of them, or run here without --executor"}
	}

	binary, err = os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("find the program: %w", err)
	}

	dir, err = os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find the folder: %w", err)
	}

	return binary, dir, nil
}

// byScheduler returns a function that opens the executor for a scheduler, which makes tasks as jobs. The section of the
// scheduler in the configuration describes the jobs.
func byScheduler(name string) OpenExecutor {
	return func(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
		all, train := p.File.Jobs(name)

		return p.parts(command.Options{
			Scheduler: job.Find(name), Settings: all, Stages: map[string]job.Settings{"train": train},
			Config: path, Added: heldOut, Notify: notify,
		})
	}
}

// byCommand opens the executor that makes tasks in parts, each of which executor.command of the configuration starts.
func byCommand(p *Project, path string, heldOut []string, notify func(string)) (engine.Executor, error) {
	x := p.File.Executor
	if x.Command == "" {
		return nil, p.File.Errorf("executor.command", "--executor command needs one, as qsub -cwd")
	}

	options := command.Options{Config: path, Added: heldOut, Notify: notify}
	options.Command = wordsOf(x.Command)
	options.Status = wordsOf(x.Status)
	options.Cancel = wordsOf(x.Cancel)

	return p.parts(options)
}

// wordsOf returns the words of a command of the configuration, or nil if the command is "".
func wordsOf(command string) []string {
	if command == "" {
		return nil
	}

	words, _ := job.Words(command) // the configuration was checked, so that there is no error

	return words
}

// parts returns an executor that makes tasks in parts, with the options that do not depend on who starts the parts.
func (p *Project) parts(options command.Options) (engine.Executor, error) {
	binary, dir, err := p.place()
	if err != nil {
		return nil, err
	}

	options.Binary = binary
	options.Dir = dir
	options.Parts = p.File.Executor.Parts
	options.Facts = p.facts()

	return command.New(options), nil
}

// Schedulers returns the names of the schedulers for which WriteJobs can write.
func Schedulers() []string { return job.Schedulers() }

// Jobs describes the jobs that WriteJobs writes.
type Jobs struct {
	Config    string    // path of the configuration, relative to the current folder
	Scheduler string    // one of Schedulers
	Parts     int       // greatest number of parts of a stage
	Image     string    // container image with the program, for Kubernetes; otherwise ""
	Selection Selection // of tasks
}

// WriteJobs writes array jobs that make the selected stages in parts, one stage after the other.
func (p *Project) WriteJobs(w io.Writer, jobs Jobs) error {
	if err := p.Check(jobs.Selection); err != nil {
		return err
	}

	binary, dir, err := p.place()
	if err != nil {
		return err
	}

	if jobs.Image != "" {
		binary = "pipeline" // the program in the container
	}

	logs, err := filepath.Abs(filepath.Join(p.Plan.Dir, ".cache", "jobs"))
	if err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}

	run := sha256.Sum256([]byte(dir + "\n" + jobs.Config))
	flow := job.Workflow{
		Plan: jobs.Config, Dir: dir, Logs: logs, Image: jobs.Image, Run: hex.EncodeToString(run[:4]),
		User: os.Getuid(), Group: os.Getgid(),
	}

	for _, stage := range p.Plan.Stages {
		flow.Arrays = append(flow.Arrays, p.stageArrays(stage, binary, jobs)...)
	}

	if len(flow.Arrays) == 0 {
		return &UsageError{Text: "no task is selected"}
	}

	return flow.Write(w, jobs.Scheduler)
}

// stageArrays returns the array jobs of a stage. There are several if tasks of the stage need results of other tasks of
// the stage.
func (p *Project) stageArrays(stage, binary string, jobs Jobs) []job.Array {
	settings, train := p.File.Jobs(jobs.Scheduler)
	if stage == "train" {
		settings = train
	}

	var tasks []*engine.Task
	for _, task := range p.Plan.Tasks {
		if task.Stage == stage && p.Plan.Selects(jobs.Selection, task) {
			tasks = append(tasks, task)
		}
	}

	words := []string{binary, "exec", "--plan", jobs.Config, "--stage", stage}
	for _, experiment := range jobs.Selection.Experiments {
		words = append(words, "--experiment", experiment)
	}

	for _, split := range jobs.Selection.Splits {
		words = append(words, "--split", split)
	}

	words = append(words, "--part") // the number of the part follows

	var arrays []job.Array
	for i, wave := range engine.Waves(tasks) {
		array := job.Array{Settings: settings, Name: stage, Parts: min(jobs.Parts, len(wave)), Words: words}
		if i > 0 {
			array.Name = fmt.Sprintf("%s-%d", stage, i+1)
		}

		arrays = append(arrays, array)
	}

	return arrays
}

// CancelJobs cancels the jobs of the work directory of a configuration, and returns how many had not ended.
func CancelJobs(path string) (int, error) {
	file, err := config.Load(path)
	if err != nil {
		return 0, err
	}

	return command.Cancel(file.Resolve(file.Workdir))
}

// WorkBatch makes the tasks of a part if the file plan is its plan.json. log receives a line for each task. isBatch is
// false if the file is something else, or cannot be read. status is the exit status of the worker: tasks that failed
// are in the log. err says why no task, or no further task, could be made.
func WorkBatch(ctx context.Context, plan string, log io.Writer) (isBatch bool, status int, err error) {
	batch, isBatch, err := command.ReadBatch(plan)
	if err != nil || !isBatch {
		return isBatch, ExitFailed, err
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
