package job

import (
	"fmt"
	"regexp"
	"strings"
)

// A Scheduler is a program that runs jobs. The commands of a scheduler NAME are templates in scripts.tmpl:
//
//   - "NAME submit" submits an Array. The script is the standard input, or its path follows.
//   - "NAME after" has the options of submit that make an array wait for another array.
//   - "NAME cancel" ends a Job.
//   - "NAME queue" lists jobs, one on each line.
//   - "NAME why" prints why a Job waits.
type Scheduler struct {
	Name  string // in the configuration and on the command line
	Title string // for people
	Index string // expression that gives a script the number of its part, from 1
	Trim  string // text after the identifier in the output of a submission; "": the line is the identifier

	workflow    string // name of the template of a Workflow
	description string // name of the template of the file that is submitted instead of the script; "": the script is

	line    *regexp.Regexp // a line of queue, with groups for the job, its parts, its state and its node
	running string         // the state of a job that runs, in such a line
	first   int            // the number of the first part, in such a line
}

// schedulers are all schedulers, by name.
var schedulers = []Scheduler{
	{
		Name: "pbs", Title: "OpenPBS or PBS Professional", workflow: "script", Index: "${PBS_ARRAY_INDEX:-1}",
		line:    regexp.MustCompile(`^(?P<job>\d+)(\[(?P<parts>\d+)\])?[.\s].*\s(?P<state>[A-Z])\s+\S+\s*$`),
		running: "R", first: 1,
	},
	{
		Name: "sge", Title: "Grid Engine", workflow: "script", Index: "$SGE_TASK_ID", Trim: ".",
		line: regexp.MustCompile(`^ *(?P<job>\d+) +\S+ +\S+ +\S+ +(?P<state>\S+) +\S+ +\S+ +` +
			`(\S*@(?P<node>\S+) +)?\d+ +(?P<parts>[\d,:-]+) *$`),
		running: "r", first: 1,
	},
	{
		Name: "htcondor", Title: "HTCondor's DAGMan", workflow: "htcondor", Index: "$(($1 + 1))", description: "description",
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\d+) (\S*@)?(?P<node>\S+)$`),
		running: "2", first: 0,
	},
	{Name: "k8s", Title: "Kubernetes", workflow: "k8s"},
	{
		Name: "slurm", Title: "Slurm", workflow: "script", Index: "${SLURM_ARRAY_TASK_ID:-1}", Trim: ";",
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\S+) (?P<node>\S*)$`),
		running: "RUNNING", first: 1,
	},
}

// Schedulers returns the names of the schedulers for which Workflow.Write can write.
func Schedulers() []string {
	var names []string
	for _, s := range schedulers {
		names = append(names, s.Name)
	}

	return names
}

// Find returns the scheduler with a name, or nil if there is none.
func Find(name string) *Scheduler {
	for i := range schedulers {
		if schedulers[i].Name == name {
			return &schedulers[i]
		}
	}

	return nil
}

// Job is an array that was submitted, by the scheduler's identifier.
type Job struct {
	ID    string
	Parts int // number of its parts
}

// Line returns the command that submits an array, for a shell.
func (s *Scheduler) Line(array Array) (string, error) { return fill(s.Name+" submit", array) }

// Wait returns the options that make an array wait for the array before it.
func (s *Scheduler) Wait(previous Array) (string, error) { return fill(s.Name+" after", previous) }

// Submit returns the words of the command that submits an array. One more word must follow: the path of the script, or
// of the file that Describe returns.
func (s *Scheduler) Submit(array Array) ([]string, error) {
	line, err := s.Line(array)
	if err != nil {
		return nil, err
	}

	return Words(line)
}

// Describe returns the contents of the file that is submitted instead of the array's script, which is at path. It
// returns "" if the scheduler takes the script itself.
func (s *Scheduler) Describe(array Array, path string) (string, error) {
	if s.description == "" {
		return "", nil
	}

	return fill(s.description, struct {
		Array
		Script string
	}{array, path})
}

// Script returns the script of an array. Each part works in a folder below array.Dir, whose name is array.Name, a
// hyphen and the number of the part. A part whose folder is gone has nothing to do. A part that does not find array.Dir
// fails after hold seconds. Meanwhile the scheduler sends no other part to its node.
func (s *Scheduler) Script(array Array, hold int) (string, error) {
	return fill("part", struct {
		Array
		Index string
		Hold  int
	}{array, s.Index, hold})
}

// Cancel returns the words of the command that cancels a job.
func (s *Scheduler) Cancel(job Job) ([]string, error) { return s.words("cancel", job) }

// Queue returns the words of the command that lists jobs.
func (s *Scheduler) Queue() ([]string, error) { return s.words("queue", Job{}) }

// Why returns the words of the command that prints why a job waits.
func (s *Scheduler) Why(job Job) ([]string, error) { return s.words("why", job) }

// words returns the words of the scheduler's command with a name, for a job. It returns an error if scripts.tmpl has no
// such command, as for Kubernetes, whose jobs this program only writes.
func (s *Scheduler) words(command string, job Job) ([]string, error) {
	line, err := fill(s.Name+" "+command, job)
	if err != nil {
		return nil, err
	}

	return Words(line)
}

// fill returns the text that a template of scripts.tmpl makes of data.
func fill(name string, data any) (string, error) {
	var b strings.Builder
	if err := scripts().ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("fill template: %w", err)
	}

	return b.String(), nil
}
