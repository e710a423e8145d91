package job

import (
	"fmt"
	"io"
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

// scheduler is a program that array jobs can be written for. What differs between those
// that take a shell script is in the fields.
type scheduler struct {
	name     string
	template string
	Title    string
	Array    string // option of an array
	Index    string // variable that holds the part, from 1
	After    string // kind of dependency on an array
	Select   bool   // PBS: resources are chunks
}

var schedulers = []scheduler{
	{
		name: "pbs", template: "pbs", Title: "OpenPBS or PBS Professional", Array: "-J", Index: "PBS_ARRAY_INDEX",
		After: "afterok", Select: true,
	},
	{name: "torque", template: "pbs", Title: "Torque", Array: "-t", Index: "PBS_ARRAYID", After: "afterokarray"},
	{name: "sge", template: "sge", Title: "Grid Engine", Index: "SGE_TASK_ID"},
	{name: "htcondor", template: "htcondor", Title: "HTCondor's DAGMan"},
	{name: "k8s", template: "k8s", Title: "Kubernetes"},
	{name: "slurm", template: "slurm", Title: "Slurm", Index: "SLURM_ARRAY_TASK_ID"},
}

// Schedulers lists the names of the schedulers that Write knows.
func Schedulers() []string {
	names := make([]string, len(schedulers))
	for i, s := range schedulers {
		names[i] = s.name
	}

	return names
}

// Write writes a workflow for a scheduler, ready to be run: a shell script that submits
// it, or the input of condor_submit_dag.
func (w Workflow) Write(out io.Writer, name string) error {
	for _, s := range schedulers {
		if s.name != name {
			continue
		}

		if strings.Contains(w.Dir+w.Logs+w.Plan+strings.Join(w.Arrays[0].Words, ""), "\n") {
			return fmt.Errorf("write jobs for %s: the paths of the program, the folder and the configuration must have "+
				"no line ends", s.Title)
		}

		err := scripts().ExecuteTemplate(out, s.template, struct {
			Workflow
			S scheduler
		}{w, s})
		if err != nil {
			return fmt.Errorf("write jobs for %s: %w", s.Title, err)
		}

		return nil
	}

	return fmt.Errorf("write jobs: %q is none of %s", name, strings.Join(Schedulers(), ", "))
}

// Line is the program with its arguments, quoted for a shell.
func (a Array) Line() string {
	q := make([]string, len(a.Words))
	for i, w := range a.Words {
		q[i] = Quote(w)
	}

	return strings.Join(q, " ")
}

// Commands are the commands before the program, quoted for a shell.
func (a Array) Commands() ([]string, error) {
	var out []string
	for _, c := range a.Setup {
		words, err := Words(c)
		if err != nil {
			return nil, err
		}

		out = append(out, Array{Words: words}.Line())
	}

	return out, nil
}

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
		"q": Quote,
		// In arguments of HTCondor's new syntax, within '…', quotation marks are doubled.
		"condor": func(s string) string { return strings.NewReplacer("'", "''", `"`, `""`).Replace(s) },
		"node":   func(s string) string { return strings.ReplaceAll(s, "-", "_") },
		"json":   strconv.Quote,
		"prev":   func(list []Array, i int) Array { return list[i-1] },
	}).Parse(`
{{- define "head"}}#!/bin/sh
# Submits the stages of {{.Plan}} to {{.S.Title}} as array jobs, each after the one before.
# Written by pipeline tasks.
set -eu
cd -- {{q .Dir}}
mkdir -p -- {{q .Logs}}
{{end}}

{{- define "body"}}#!{{.Shell}}
{{if .Setup}}[ ! -r /etc/profile ] || . /etc/profile # module and its like
{{end}}set -e
{{range .Commands}}{{.}}
{{end}}{{end}}

{{- define "pbs"}}{{template "head" .}}{{range $i, $a := .Arrays}}
after=$(qsub -N {{.Name}} -j oe -o {{q $.Logs}} -S {{.Shell}}
{{- if gt .Parts 1}} {{$.S.Array}} 1-{{.Parts}}{{end}}
{{- if $i}} -W depend={{with prev $.Arrays $i}}
{{- if gt .Parts 1}}{{$.S.After}}{{else}}afterok{{end}}{{end}}:"$after"{{end}}
{{- with .Partition}} -q {{q .}}{{end}}{{with .Account}} -A {{q .}}{{end}}
{{- with .Seconds}} -l walltime={{.}}{{end}}
{{- if $.S.Select}}
{{- if or .CPUs .MB}} -l select=1{{with .CPUs}}:ncpus={{.}}{{end}}{{with .MB}}:mem={{.}}mb{{end}}{{end}}
{{- else}}{{with .CPUs}} -l nodes=1:ppn={{.}}{{end}}{{with .MB}} -l mem={{.}}mb{{end}}{{end}} <<'END'
{{template "body" .}}cd -- {{q $.Dir}}
exec {{.Line}} "{{printf "${%s:-1}" $.S.Index}}/{{.Parts}}"
END
)
echo "{{.Name}}: $after"
{{end}}{{end}}

{{- define "sge"}}{{template "head" .}}{{range $i, $a := .Arrays}}
after=$(qsub -terse -N {{.Name}} -cwd -V -j y -o {{q $.Logs}} -S {{.Shell}} -t 1-{{.Parts}}
{{- if $i}} -hold_jid "$after"{{end}}
{{- with .Partition}} -q {{q .}}{{end}}{{with .Account}} -A {{q .}}{{end}}
{{- with .Seconds}} -l h_rt={{.}}{{end}}{{with .MB}} -l mem_free={{.}}M{{end}}
{{- with .CPUs}} -pe smp {{.}}{{end}} <<'END'
{{template "body" .}}cd -- {{q $.Dir}}
exec {{.Line}} "$SGE_TASK_ID/{{.Parts}}"
END
)
after=${after%%.*}
echo "{{.Name}}: $after"
{{end}}{{end}}

{{- define "slurm"}}{{template "head" .}}{{range $i, $a := .Arrays}}
after=$(sbatch --parsable --job-name={{.Name}} --array=1-{{.Parts}} --chdir={{q $.Dir}} --output={{q $.Logs}}/%x-%a.log
{{- if $i}} --dependency=afterok:"$after" --kill-on-invalid-dep=yes{{end}}
{{- with .Partition}} --partition={{q .}}{{end}}{{with .Account}} --account={{q .}}{{end}}
{{- with .QOS}} --qos={{q .}}{{end}}
{{- with .Time}} --time={{q .}}{{end}}{{with .Mem}} --mem={{q .}}{{end}}{{with .CPUs}} --cpus-per-task={{.}}{{end}}
{{- range .Extra}} {{q .}}{{end}} <<'END'
{{template "body" .}}cd -- {{q $.Dir}}
exec {{.Line}} "$SLURM_ARRAY_TASK_ID/{{.Parts}}"
END
)
after=${after%%;*}
echo "{{.Name}}: $after"
{{end}}{{end}}

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
{{- with .Account}}
    accounting_group = {{.}}{{end}}
{{- with .CPUs}}
    request_cpus = {{.}}{{end}}
{{- with .MB}}
    request_memory = {{.}}MB{{end}}
{{- with .Seconds}}
    allowed_execute_duration = {{.}}{{end}}
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
