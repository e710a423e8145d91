package config

import (
	"reflect"

	"doubletake/pipeline/engine/job"
)

// Executor states how tasks are made outside the program's own process. It does
// not change results.
type Executor struct {
	// run --executor slurm: tasks as jobs of a Slurm cluster whose nodes see this project and the workdir, and
	// tasks --format slurm
	Slurm job.Settings `key:"slurm"`

	// run --executor sge: the same on Grid Engine
	SGE job.Settings `key:"sge"`

	// run --executor pbs: the same on OpenPBS and PBS Professional
	PBS job.Settings `key:"pbs"`

	// run --executor htcondor: the same on HTCondor
	HTCondor job.Settings `key:"htcondor"`

	// other values for the trainings' jobs, of any of these schedulers; a value here replaces the one above
	Train job.Settings `key:"train"`

	// run --executor command: a command with its words that starts a shell script somewhere, whose path it gets as its
	// last word: bsub -W 60. It may return at once or when the script ends. No shell interprets the command
	Command string `key:"command"`

	// of --executor command: a command that prints why jobs wait, such as bjobs -p. It is called if no job begins, and
	// its output is shown
	Status string `key:"status"`

	// of --executor command: a command that cancels a job, such as bkill. Its last word is the first number that the
	// submitting command printed
	Cancel string `key:"cancel"`

	// parts of the work, each a job, that wait or run at a time
	Parts int `key:"parts" default:"16"`
}

// maxParts bounds the parts that wait or run at a time.
const maxParts = 100_000

// schedulers are the keys of Executor that are schedulers.
var schedulers = []string{"slurm", "sge", "pbs", "htcondor"}

// settings returns the section with the given key: a scheduler, or train.
func (e *Executor) settings(key string) job.Settings {
	v, _ := locate(reflect.ValueOf(e).Elem(), key)
	return v.Interface().(job.Settings)
}

// Jobs returns the settings of a scheduler's jobs: of all jobs, and of the trainings.
// Kubernetes has no section: it takes the first section of schedulers that the file has.
func (f *File) Jobs(scheduler string) (all, train job.Settings) {
	for _, s := range schedulers {
		if s == scheduler || scheduler == "k8s" && f.Has("executor."+s) {
			all = f.Executor.settings(s)
			break
		}
	}

	return all, f.Executor.Train.Over(all, func(key string) bool { return f.Has("executor.train." + key) })
}

// validate reports faults of the section executor.
func (e *Executor) validate(fail failFunc) {
	check := func(scheduler, section string) {
		e.settings(section).Check(scheduler, func(setting, text string) { fail("executor."+section+"."+setting, "%s", text) })
	}

	for _, s := range schedulers {
		check(s, s)
	}

	check("", "train")

	for key, command := range map[string]string{"command": e.Command, "status": e.Status, "cancel": e.Cancel} {
		if _, err := job.Words(command); command != "" && err != nil {
			fail("executor."+key, "%v", err)
		}
	}

	fail.whole("executor.parts", "parts", e.Parts, 1, maxParts)
}
