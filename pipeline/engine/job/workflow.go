package job

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
)

// Workflow is a sequence of array jobs. Each waits for the array before it.
type Workflow struct {
	Plan   string  // path of the configuration, for people
	Dir    string  // working directory of the jobs, absolute
	Logs   string  // folder of the files with what the jobs print, absolute
	Image  string  // container image, for Kubernetes
	Run    string  // a word of a-z, 0-9 that distinguishes the names of these jobs from others, for Kubernetes
	User   int     // the jobs' user, for Kubernetes
	Group  int     // the jobs' group, for Kubernetes
	Arrays []Array // at least one; their Logs are ignored
}

// Write writes a workflow for the scheduler with a name: a shell script that submits it, or the input of
// condor_submit_dag.
func (w Workflow) Write(dst io.Writer, name string) error {
	scheduler := Find(name)
	if scheduler == nil {
		return fmt.Errorf("write jobs: %q is none of %s", name, strings.Join(Schedulers(), ", "))
	}

	texts := []string{w.Dir, w.Logs, w.Plan}
	for _, array := range w.Arrays {
		texts = append(texts, array.Words...)
	}

	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "\n") }) {
		return fmt.Errorf("write jobs for %s: the paths of the program, the folder and the configuration must have "+
			"no line ends", scheduler.Title)
	}

	w.Arrays = slices.Clone(w.Arrays)
	for i := range w.Arrays {
		w.Arrays[i].Logs = w.Logs
	}

	err := scripts().ExecuteTemplate(dst, scheduler.workflow, struct {
		Workflow
		S *Scheduler
	}{w, scheduler})
	if err != nil {
		return fmt.Errorf("write jobs for %s: %w", scheduler.Title, err)
	}

	return nil
}

// scriptsText contains the templates of scripts, of schedulers' files and of schedulers' commands.
//
//go:embed scripts.tmpl
var scriptsText string

// scripts returns the parsed templates.
var scripts = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{
		"q":      Quote,
		"join":   strings.Join,
		"condor": escapeCondor.Replace,
		"node":   nodeName,
		"quoted": strconv.Quote, // as YAML and HTCondor read texts in quotation marks
		"prev":   previous,
	}

	return template.Must(template.New("").Funcs(functions).Parse(scriptsText))
})

// escapeCondor writes each quotation mark twice, as HTCondor's syntax of arguments requires between '…'.
var escapeCondor = strings.NewReplacer("'", "''", `"`, `""`)

// nodeName returns the name of an array as HTCondor takes it for a node of a workflow.
func nodeName(array string) string { return strings.ReplaceAll(array, "-", "_") }

// previous returns the array before array i.
func previous(arrays []Array, i int) Array { return arrays[i-1] }
