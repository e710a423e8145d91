package config

import (
	"reflect"

	"doubletake/pipeline/engine/job"
)

// Executor is how tasks are made outside of the program's own process. It does
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
	// last word: bsub -W 60. It may return at once or when the script ends. Nothing of it is for a shell to
	// interpret
	Command string `key:"command"`

	// of --executor command: a command that prints why jobs wait, such as bjobs -p. It is called where none
	// begins, and its words are shown
	Status string `key:"status"`

	// of --executor command: a command that cancels a job, such as bkill. It gets the first number that command printed as
	// its last word
	Cancel string `key:"cancel"`

	// parts of the work, each a job, that wait or run at a time
	Parts int `key:"parts" default:"16"`
}

// Limit of parts.
const maxParts = 100_000

// schedulers are the keys of schedulers.
var schedulers = []string{"slurm", "sge", "pbs", "htcondor"}

// settings are those of a scheduler, or of the trainings.
func (e *Executor) settings(key string) job.Settings {
	v, _ := locate(reflect.ValueOf(e).Elem(), key)
	return v.Interface().(job.Settings)
}

// Jobs returns what the jobs of a scheduler ask for: all, and the trainings.
// Kubernetes has the first one that is given.
func (f *File) Jobs(scheduler string) (all, train job.Settings) {
	for _, s := range schedulers {
		if s == scheduler || scheduler == "k8s" && f.Has("executor."+s) {
			all = f.Executor.settings(s)
			break
		}
	}

	return all, f.Executor.Train.Over(all, func(key string) bool { return f.Has("executor.train." + key) })
}

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
