package job

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"doubletake/internal/lists"
)

// Array is an array job: the parts of a stage.
type Array struct {
	Settings
	Name  string   // dsp, or dsp-2 for the same parts once more
	Parts int      // at least 1
	Logs  string   // folder of what the jobs print; "": nowhere
	Dir   string   // of the folders of the parts of Scheduler.Script
	Avoid []string // nodes that do not get them, where the scheduler has words for that
	Words []string // the program and its arguments, which the part follows
}

// Workflow is array jobs one after the other.
type Workflow struct {
	Plan   string // the configuration, for people
	Dir    string // absolute; the working directory of the jobs
	Logs   string // absolute
	Image  string // of the container, for Kubernetes
	Run    string // distinguishes the names of its jobs from those of others: a word of a-z, 0-9
	User   int    // the jobs' user and group, for Kubernetes
	Group  int
	Arrays []Array
}

// A Scheduler is a program that runs jobs. Its words are templates of scripts.tmpl: "NAME submit", of an Array (the
// script is standard input, or follows), "NAME after", the options that make an array wait for another, of that, and of
// a Job "NAME cancel", "NAME queue", which lists jobs, one a line, and "NAME why", which prints why jobs wait.
type Scheduler struct {
	Name     string
	Title    string
	template string // of a workflow
	Index    string // what gives a script its part, from 1
	Trim     string // what follows the identifier in the output of a submission
	describe string // template of the file that is submitted instead of the script, where there is one

	// In a line of queue: the job, its parts, which count from First, its state, which is Running of one at work,
	// and its node.
	line    *regexp.Regexp
	Running string
	First   int
}

var schedulers = []Scheduler{
	{
		Name: "pbs", Title: "OpenPBS or PBS Professional", template: "script", Index: "${PBS_ARRAY_INDEX:-1}",
		line:    regexp.MustCompile(`^(?P<job>\d+)(\[(?P<parts>\d+)\])?[.\s].*\s(?P<state>[A-Z])\s+\S+\s*$`),
		Running: "R", First: 1,
	},
	{
		Name: "sge", Title: "Grid Engine", template: "script", Index: "$SGE_TASK_ID", Trim: ".",
		line: regexp.MustCompile(`^ *(?P<job>\d+) +\S+ +\S+ +\S+ +(?P<state>\S+) +\S+ +\S+ +` +
			`(\S*@(?P<node>\S+) +)?\d+ +(?P<parts>[\d,:-]+) *$`),
		Running: "r", First: 1,
	},
	{
		Name: "htcondor", Title: "HTCondor's DAGMan", template: "htcondor", Index: "$(($1 + 1))", describe: "description",
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\d+) (\S*@)?(?P<node>\S+)$`),
		Running: "2",
	},
	{Name: "k8s", Title: "Kubernetes", template: "k8s"},
	{
		Name: "slurm", Title: "Slurm", template: "script", Index: "${SLURM_ARRAY_TASK_ID:-1}", Trim: ";",
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\S+) (?P<node>\S*)$`),
		Running: "RUNNING", First: 1,
	},
}

// Schedulers lists the names of the schedulers that Workflow.Write knows.
func Schedulers() []string { return lists.Each(schedulers, func(s Scheduler) string { return s.Name }) }

// Find returns the scheduler of a name, nil without one.
func Find(name string) *Scheduler {
	i := slices.IndexFunc(schedulers, func(s Scheduler) bool { return s.Name == name })
	if i < 0 {
		return nil
	}

	return &schedulers[i]
}

// Job is a submission: its identifier and the number of its parts.
type Job struct {
	ID    string
	Parts int
}

// fill fills a template in.
func fill(name string, data any) (string, error) {
	var b strings.Builder
	err := scripts().ExecuteTemplate(&b, name, data)

	return b.String(), err
}

// words are those of a template of a Job.
func (s *Scheduler) words(of string, j Job) []string {
	line, err := fill(s.Name+" "+of, j)
	w, bad := Words(line)
	if err = errors.Join(err, bad); err != nil {
		panic("job: " + err.Error()) // they are in scripts.tmpl
	}

	return w
}

// Line is the command that submits an array, for a shell.
func (s *Scheduler) Line(a Array) (string, error) { return fill(s.Name+" submit", a) }

// Wait returns the options that make an array wait for the one before.
func (s *Scheduler) Wait(before Array) (string, error) { return fill(s.Name+" after", before) }

// Submit returns the words that submit an array, which its script follows, or the file that Describe returns.
func (s *Scheduler) Submit(a Array) ([]string, error) {
	line, err := s.Line(a)
	if err != nil {
		return nil, err
	}

	return Words(line)
}

// Describe returns the contents of a file that is submitted instead of the array's script at path, "" if
// the script is submitted itself.
func (s *Scheduler) Describe(a Array, path string) string {
	if s.describe == "" {
		return ""
	}

	text, _ := fill(s.describe, struct {
		Array
		Script string
	}{a, path})

	return text
}

// Script returns the script of an array whose parts work in folders below a.Dir, a.Name with the part's number.
// A part whose folder is gone has nothing to do. One that does not find a.Dir fails, after hold seconds: meanwhile
// no other part is sent to its node.
func (s *Scheduler) Script(a Array, hold int) (string, error) {
	return fill("part", struct {
		Array
		Index string
		Hold  int
	}{a, s.Index, hold})
}

// Cancel returns the words that cancel a job.
func (s *Scheduler) Cancel(j Job) []string { return s.words("cancel", j) }

// Queue returns the words that list jobs.
func (s *Scheduler) Queue() []string { return s.words("queue", Job{}) }

// Why returns the words that print why a job waits.
func (s *Scheduler) Why(j Job) []string { return s.words("why", j) }

// Part is the part of a job, counted from 1.
type Part struct {
	ID string
	N  int
}

// State is that of a part in the queue.
type State struct {
	Running bool
	Node    string
}

// Read reads the output of Queue.
func (s *Scheduler) Read(queue string) map[Part]State {
	out := map[Part]State{}
	for l := range strings.Lines(queue) {
		m := s.line.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil {
			continue
		}

		group := func(name string) string {
			if i := s.line.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}

		for _, r := range strings.Split(group("parts"), ",") {
			r, _, _ = strings.Cut(r, ":")
			a, b, ranged := strings.Cut(r, "-")
			from, err := strconv.Atoi(a)
			if err != nil {
				from = s.First // a job that is no array
			}

			to := from
			if n, err := strconv.Atoi(b); ranged && err == nil {
				to = min(n, from+maxRunning)
			}

			for n := from; n <= to; n++ {
				out[Part{group("job"), n - s.First + 1}] = State{group("state") == s.Running, group("node")}
			}
		}
	}

	return out
}

// Write writes a workflow for a scheduler, ready to be run: a shell script that submits
// it, or the input of condor_submit_dag.
func (w Workflow) Write(out io.Writer, name string) error {
	s := Find(name)
	if s == nil {
		return fmt.Errorf("write jobs: %q is none of %s", name, strings.Join(Schedulers(), ", "))
	}

	if strings.Contains(w.Dir+w.Logs+w.Plan+strings.Join(w.Arrays[0].Words, ""), "\n") {
		return fmt.Errorf("write jobs for %s: the paths of the program, the folder and the configuration must have "+
			"no line ends", s.Title)
	}

	w.Arrays = slices.Clone(w.Arrays)
	for i := range w.Arrays {
		w.Arrays[i].Logs = w.Logs
	}

	err := scripts().ExecuteTemplate(out, s.template, struct {
		Workflow
		S *Scheduler
	}{w, s})
	if err != nil {
		return fmt.Errorf("write jobs for %s: %w", s.Title, err)
	}

	return nil
}

// Line is the program with its arguments, quoted for a shell.
func (a Array) Line() string { return strings.Join(lists.Each(a.Words, Quote), " ") }

// quoted are commands, with their words quoted for a shell.
func quoted(commands []string) ([]string, error) {
	var out []string
	for _, c := range commands {
		words, err := Words(c)
		if err != nil {
			return nil, err
		}

		out = append(out, Array{Words: words}.Line())
	}

	return out, nil
}

// Commands are those before the program.
func (a Array) Commands() ([]string, error) { return quoted(a.Setup) }

// Options are those of qsub in Extra.
func (a Array) Options() ([]string, error) { return quoted(a.Extra) }

// Excluded are nodes to avoid, with those of --exclude in Extra: of two sbatch takes the last.
func (a Array) Excluded() string {
	nodes := slices.Clone(a.Avoid)
	for _, o := range a.Extra {
		if x, ok := strings.CutPrefix(o, "--exclude="); ok && len(a.Avoid) > 0 {
			nodes = append(nodes, x)
		}
	}

	return strings.Join(nodes, ",")
}

// Output is where the scheduler writes what the jobs print.
func (a Array) Output() string { return cmp.Or(a.Logs, "/dev/null") }

// Shell is what runs the script.
func (a Array) Shell() string {
	if len(a.Setup) > 0 {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// MB is the memory in MiB, 0 where there is no limit.
func (a Array) MB() int64 {
	kib, _ := kibibytes(a.Mem)
	return int64(kib+1023) / 1024
}

// Seconds is the time limit, 0 where there is none.
func (a Array) Seconds() int {
	days, clock, hasDays := strings.Cut(a.Time, "-")
	if !hasDays {
		days, clock = "0", a.Time
	}

	f := strings.Split(clock, ":")
	if len(f) > 3 {
		return 0
	}

	units := []int{60, 1, 0} // of minutes:seconds
	if hasDays || len(f) == 3 {
		units = []int{3600, 60, 1}
	}

	d, err := strconv.Atoi(days)
	sum := d * 86400
	for i, x := range f {
		n, e := strconv.Atoi(x)
		if e != nil || err != nil {
			return 0
		}
		sum += n * units[i]
	}

	return sum
}

// Numbers are the parts.
func (a Array) Numbers() []int { return lists.Make(a.Parts, func(i int) int { return i + 1 }) }

// scriptsText are the templates of scripts and of schedulers' files.
//
//go:embed scripts.tmpl
var scriptsText string

var scripts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"q": Quote, "join": strings.Join,
		// In arguments of HTCondor's new syntax, within '…', quotation marks are doubled.
		"condor": func(s string) string { return strings.NewReplacer("'", "''", `"`, `""`).Replace(s) },
		"node":   func(s string) string { return strings.ReplaceAll(s, "-", "_") },
		"json":   strconv.Quote,
		"prev":   func(list []Array, i int) Array { return list[i-1] },
	}).Parse(scriptsText))
})
