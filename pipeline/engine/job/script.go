package job

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
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

// A Scheduler is the words of a program that runs jobs. Those that submit are a template of an Array, the
// others of a Job.
type Scheduler struct {
	Name     string
	Title    string
	template string // of a workflow
	Index    string // what gives a script its part, from 1
	Trim     string // what follows the identifier in the output of a submission
	After    string // options that make an array wait for another, template of that
	submit   string // the script is standard input, or follows
	describe string // the file that follows instead, where there is one

	cancel string
	queue  string // lists jobs, one a line
	why    string // prints why jobs wait

	// In a line of queue: the job, its parts, which count from First, its state, which is Running of one at work,
	// and its node.
	line    *regexp.Regexp
	Running string
	First   int
}

var schedulers = []Scheduler{
	{
		Name: "pbs", Title: "OpenPBS or PBS Professional", template: "script", Index: "${PBS_ARRAY_INDEX:-1}",
		After: `-W depend=afterok:"$after"`,
		submit: `qsub -N {{.Name}} -j oe -o {{q .Output}} -S {{.Shell}}{{if gt .Parts 1}} -J 1-{{.Parts}}{{end}}` +
			`{{template "queue" .}}{{with .Seconds}} -l walltime={{.}}{{end}}{{if or .CPUs .MB}} -l select=1` +
			`{{with .CPUs}}:ncpus={{.}}{{end}}{{with .MB}}:mem={{.}}mb{{end}}{{end}}{{range .Options}} {{.}}{{end}}`,
		cancel: `qdel {{.ID}}{{if gt .Parts 1}}'[]'{{end}}`, queue: "qstat -t",
		why:     `qstat -s {{.ID}}{{if gt .Parts 1}}'[]'{{end}}`,
		line:    regexp.MustCompile(`^(?P<job>\d+)(\[(?P<parts>\d+)\])?[.\s].*\s(?P<state>[A-Z])\s+\S+\s*$`),
		Running: "R", First: 1,
	},
	{
		Name: "torque", Title: "Torque", template: "script", Index: "${PBS_ARRAYID:-1}",
		After: `-W depend=afterok{{if gt .Parts 1}}array{{end}}:"$after"`,
		submit: `qsub -N {{.Name}} -j oe -o {{q .Output}} -S {{.Shell}}{{if gt .Parts 1}} -t 1-{{.Parts}}{{end}}` +
			`{{template "queue" .}}{{with .Seconds}} -l walltime={{.}}{{end}}` +
			`{{with .CPUs}} -l nodes=1:ppn={{.}}{{end}}{{with .MB}} -l mem={{.}}mb{{end}}{{range .Options}} {{.}}{{end}}`,
	},
	{
		Name: "sge", Title: "Grid Engine", template: "script", Index: "$SGE_TASK_ID", Trim: ".",
		After: `-hold_jid "$after"`,
		submit: `qsub -terse -N {{.Name}} -wd / -V -j y -o {{q .Output}} -S {{.Shell}} -t 1-{{.Parts}}` +
			`{{template "queue" .}}{{with .Seconds}} -l h_rt={{.}}{{end}}{{with .MB}} -l mem_free={{.}}M{{end}}` +
			`{{with .CPUs}} -pe smp {{.}}{{end}}{{with .Avoid}} -l 'hostname=!({{join . "|"}})'{{end}}` +
			`{{range .Options}} {{.}}{{end}}`,
		cancel: "qdel {{.ID}}", queue: "qstat", why: "qstat -f -explain a",
		line: regexp.MustCompile(`^ *(?P<job>\d+) +\S+ +\S+ +\S+ +(?P<state>\S+) +\S+ +\S+ +` +
			`(\S*@(?P<node>\S+) +)?\d+ +(?P<parts>[\d,:-]+) *$`),
		Running: "r", First: 1,
	},
	{
		Name: "htcondor", Title: "HTCondor's DAGMan", template: "htcondor", Index: "$(($1 + 1))",
		submit: "condor_submit -terse", describe: "description",
		cancel: "condor_rm {{.ID}}", queue: "condor_q -autoformat ClusterId ProcId JobStatus RemoteHost",
		why:     "condor_q -better-analyze {{.ID}}.0",
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\d+) (\S*@)?(?P<node>\S+)$`),
		Running: "2",
	},
	{Name: "k8s", Title: "Kubernetes", template: "k8s"},
	{
		Name: "slurm", Title: "Slurm", template: "script", Index: "${SLURM_ARRAY_TASK_ID:-1}", Trim: ";",
		After: `--dependency=afterok:"$after" --kill-on-invalid-dep=yes`,
		submit: `sbatch --parsable --job-name={{.Name}} --array=1-{{.Parts}} --chdir=/ --output={{q .Output}}` +
			`{{if .Logs}}/%x-%a.log{{end}}{{with .Partition}} --partition={{q .}}{{end}}` +
			`{{with .Account}} --account={{q .}}{{end}}{{with .QOS}} --qos={{q .}}{{end}}` +
			`{{with .Time}} --time={{q .}}{{end}}{{with .Mem}} --mem={{q .}}{{end}}` +
			`{{with .CPUs}} --cpus-per-task={{.}}{{end}}{{range .Extra}} {{q .}}{{end}}` +
			`{{with .Excluded}} --exclude={{q .}}{{end}}`,
		cancel: "scancel {{.ID}}", queue: `squeue --noheader --me --array "--format=%F %K %T %N"`,
		why:     `squeue --noheader --jobs={{.ID}} "--format=%i %T %r"`,
		line:    regexp.MustCompile(`^(?P<job>\d+) (?P<parts>\d+) (?P<state>\S+) (?P<node>\S*)$`),
		Running: "RUNNING", First: 1,
	},
}

// Schedulers lists the names of the schedulers that Workflow.Write knows.
func Schedulers() []string {
	names := make([]string, len(schedulers))
	for i, s := range schedulers {
		names[i] = s.Name
	}

	return names
}

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
func fill(text string, data any) (string, error) {
	t, err := template.Must(scripts().Clone()).Parse(text)

	var b strings.Builder
	if err == nil {
		err = t.Execute(&b, data)
	}

	return b.String(), err
}

// words are those of a template of a Job.
func words(text string, j Job) []string {
	line, err := fill(text, j)
	w, bad := Words(line)
	if err = errors.Join(err, bad); err != nil {
		panic("job: " + err.Error()) // they are in this file
	}

	return w
}

// Line is the command that submits an array, for a shell.
func (s *Scheduler) Line(a Array) (string, error) { return fill(s.submit, a) }

// Wait returns the options that make an array wait for the one before.
func (s *Scheduler) Wait(before Array) (string, error) { return fill(s.After, before) }

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

	var b strings.Builder
	_ = scripts().ExecuteTemplate(&b, s.describe, struct {
		Array
		Script string
	}{a, path})

	return b.String()
}

// Script returns the script of an array whose parts work in folders below a.Dir, a.Name with the part's number.
// A part whose folder is gone has nothing to do. One that does not find a.Dir fails, after hold seconds: meanwhile
// no other part is sent to its node.
func (s *Scheduler) Script(a Array, hold int) (string, error) {
	var b strings.Builder
	err := scripts().ExecuteTemplate(&b, "part", struct {
		Array
		Index string
		Hold  int
	}{a, s.Index, hold})

	return b.String(), err
}

// Cancel returns the words that cancel a job.
func (s *Scheduler) Cancel(j Job) []string { return words(s.cancel, j) }

// Queue returns the words that list jobs.
func (s *Scheduler) Queue() []string { return words(s.queue, Job{}) }

// Why returns the words that print why a job waits.
func (s *Scheduler) Why(j Job) []string { return words(s.why, j) }

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
func (a Array) Line() string {
	q := make([]string, len(a.Words))
	for i, w := range a.Words {
		q[i] = Quote(w)
	}

	return strings.Join(q, " ")
}

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
func (a Array) Numbers() []int {
	out := make([]int, a.Parts)
	for i := range out {
		out[i] = i + 1
	}

	return out
}

var scripts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"q": Quote, "join": strings.Join,
		// In arguments of HTCondor's new syntax, within '…', quotation marks are doubled.
		"condor": func(s string) string { return strings.NewReplacer("'", "''", `"`, `""`).Replace(s) },
		"node":   func(s string) string { return strings.ReplaceAll(s, "-", "_") },
		"json":   strconv.Quote,
		"prev":   func(list []Array, i int) Array { return list[i-1] },
	}).Parse(`
{{- define "queue"}}{{with .Partition}} -q {{q .}}{{end}}{{with .Account}} -A {{q .}}{{end}}{{end}}

{{- define "setup"}}{{if .Setup}}[ ! -r /etc/profile ] || . /etc/profile # module and its like
{{end}}set -e
{{range .Commands}}{{.}}
{{end}}{{end}}

{{- define "part"}}#!{{.Shell}}
cd -- {{q .Dir}} || { {{with .Hold}}sleep {{.}}; {{end}}exit 1; }
cd {{.Name}}-"{{.Index}}" || exit 0 # withdrawn
exec >>log 2>&1
here=$PWD
{{template "setup" .}}cd -- "$here"
exec {{.Line}}
{{end}}

{{- define "script"}}#!/bin/sh
# Submits the stages of {{.Plan}} to {{.S.Title}} as array jobs, each after the one before.
# Written by pipeline tasks.
set -eu
cd -- {{q .Dir}}
mkdir -p -- {{q .Logs}}
{{range $i, $a := .Arrays}}
after=$({{$.S.Line .}}{{if $i}} {{$.S.Wait (prev $.Arrays $i)}}{{end}} <<'END'
#!{{.Shell}}
{{template "setup" .}}cd -- {{q $.Dir}}
exec {{.Line}} "{{$.S.Index}}/{{.Parts}}"
END
)
{{with $.S.Trim}}after=${after%%{{.}}*}
{{end}}echo "{{.Name}}: $after"
{{end}}{{end}}

{{- define "requests"}}
{{- with .Account}}
    accounting_group = {{.}}{{end}}
{{- with .CPUs}}
    request_cpus = {{.}}{{end}}
{{- with .MB}}
    request_memory = {{.}}MB{{end}}
{{- with .Seconds}}
    allowed_execute_duration = {{.}}{{end}}
{{- range .Extra}}
    {{.}}{{end}}{{end}}

{{- define "description"}}
    universe = vanilla
    executable = {{.Shell}}
    arguments = "'{{condor .Script}}' $(Process)"
    initialdir = /
    should_transfer_files = NO
    getenv = true
{{- with .Avoid}}
    requirements = {{range $i, $node := .}}{{if $i}} && {{end}}TARGET.Machine =!= {{json $node}}{{end}}{{end}}
{{- template "requests" .}}
    queue {{.Parts}}
{{end}}

{{- define "htcondor"}}# The stages of {{.Plan}} for {{.S.Title}}: condor_submit_dag THIS_FILE
# Written by pipeline tasks. The folder {{.Logs}} must exist.
{{range $i, $a := .Arrays}}{{$node := node .Name}}
SUBMIT-DESCRIPTION {{$node}} {
    universe = vanilla
    executable = {{.Shell}}
    arguments = "{{if .Setup}}-l {{end}}-c '
{{- range .Commands}}{{condor .}} && {{end}}exec {{condor .Line}} $(part)/{{.Parts}}'"
    initialdir = {{$.Dir}}
    should_transfer_files = NO
    getenv = true
    output = {{$.Logs}}/{{.Name}}-$(part).log
    error = {{$.Logs}}/{{.Name}}-$(part).log
    log = {{$.Logs}}/htcondor.log
{{- template "requests" .}}
}
{{- range .Numbers}}
JOB {{$node}}_part{{.}} {{$node}}
VARS {{$node}}_part{{.}} part="{{.}}"
{{- end}}
{{- if $i}}
PARENT
{{- with prev $.Arrays $i}}{{$p := node .Name}}{{range .Numbers}} {{$p}}_part{{.}}{{end}}{{end}} CHILD
{{- range .Numbers}} {{$node}}_part{{.}}{{end}}
{{- end}}
{{end}}{{end}}

{{- define "k8s"}}#!/bin/sh
# Runs the stages of {{.Plan}} on {{.S.Title}} as Indexed Jobs, each when the one before is complete.
# Written by pipeline tasks. Every node must see {{.Dir}}. Commands of setup belong into the image.
set -eu
{{range .Arrays}}{{$name := printf "dt-%s-%s" $.Run .Name}}
kubectl apply -f - <<'END'
apiVersion: batch/v1
kind: Job
metadata:
  name: {{$name}}
spec:
  completionMode: Indexed
  completions: {{.Parts}}
  parallelism: {{.Parts}}
  backoffLimit: {{.Parts}}
  template:
    spec:
      restartPolicy: Never
{{- with .Seconds}}
      activeDeadlineSeconds: {{.}}{{end}}
      securityContext:
        runAsUser: {{$.User}}
        runAsGroup: {{$.Group}}
      containers:
        - name: pipeline
          image: {{json $.Image}}
          command:
{{- range .Words}}
            - {{json .}}
{{- end}}
            - "$(PART)/{{.Parts}}"
          workingDir: {{json $.Dir}}
          env:
            - name: PART
              valueFrom:
                fieldRef:
                  fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
{{- if or .CPUs .MB}}
          resources:
            requests:
{{- with .CPUs}}
              cpu: "{{.}}"{{end}}
{{- with .MB}}
              memory: {{.}}Mi{{end}}
{{- with .MB}}
            limits:
              memory: {{.}}Mi{{end}}{{end}}
          volumeMounts:
            - name: project
              mountPath: {{json $.Dir}}
      volumes:
        - name: project
          hostPath:
            path: {{json $.Dir}}
            type: Directory
END
until kubectl wait --for=condition=complete --timeout=10s job/{{$name}} 2>/dev/null; do
  if kubectl wait --for=condition=failed --timeout=0s job/{{$name}} 2>/dev/null; then
    echo "job {{$name}} failed: kubectl logs -l job-name={{$name}}" >&2
    exit 1
  fi
done
{{end}}{{end}}`))
})
