package config

import "doubletake/pipeline/engine/slurm/job"

// Executor is how tasks are made outside of the program's own process. It does
// not change results.
type Executor struct {
	// run --executor slurm: tasks as jobs of a Slurm cluster whose nodes see this project and the workdir
	Slurm Slurm `key:"slurm"`

	// run --executor command: a command with its words that starts a shell script somewhere, whose path it gets as its
	// last word: qsub -cwd -l h_rt=1:00:00. It may return at once or when the script ends. Nothing of it is for a shell to
	// interpret
	Command string `key:"command"`

	// of --executor command: a command that prints why jobs wait, such as qstat -f -explain a. It is called where none
	// begins, and its words are shown
	Status string `key:"status"`

	// of --executor command: parts of the work that wait or run at a time
	Parts int `key:"parts" default:"16"`
}

// Limit of parts.
const maxParts = 100_000

func (e *Executor) validate(fail failFunc) {
	e.Slurm.validate(fail)

	for key, command := range map[string]string{"command": e.Command, "status": e.Status} {
		if _, err := job.Words(command); command != "" && err != nil {
			fail("executor."+key, "%v", err)
		}
	}

	if e.Parts < 1 || e.Parts > maxParts {
		fail("executor.parts", "expected 1 to %d parts, found %d", maxParts, e.Parts)
	}
}

// Slurm holds the settings of its jobs.
type Slurm struct {
	// partition of the jobs; empty: the cluster's default, as with every key here
	Partition string `key:"partition"`

	// account that is charged
	Account string `key:"account"`

	// quality of service
	QOS string `key:"qos"`

	// time limit of a job, as sbatch takes it: minutes, hours:minutes:seconds or days-hours:minutes
	Time string `key:"time"`

	// memory of a job, as sbatch takes it: 500M, 2G
	Mem string `key:"mem"`

	// processors of a job; 0: the cluster's default
	CPUs int `key:"cpus"`

	// commands before the program, each one command with its words and nothing for a shell to interpret:
	// module load gcc/12, source /opt/env.sh
	Setup []string `key:"setup"`

	// further long options of sbatch, e.g. --constraint=avx512
	Extra []string `key:"extra"`

	// jobs at a time; 0: as many as the cluster allows
	MaxRunning int `key:"max_running" default:"0"`

	// how often a task that failed or was killed is tried again; bad data and bad configuration are not
	Retries int `key:"retries"`

	// factor on the memory of a task that is tried again after it was killed or ran out of memory; 1: the same
	RetryMem float64 `key:"retry_mem"`

	// other values for the jobs of single stages; a value here replaces the one above
	Stages SlurmStages `key:"stages"`
}

// SlurmStages are settings of single stages.
type SlurmStages struct {
	// jobs of the simulate stage
	Simulate *SlurmJob `key:"simulate"`

	// jobs of the ingest stage
	Ingest *SlurmJob `key:"ingest"`

	// jobs of the dsp stage
	DSP *SlurmJob `key:"dsp"`

	// jobs of the train stage
	Train *SlurmJob `key:"train"`

	// jobs of the report stage
	Report *SlurmJob `key:"report"`
}

// SlurmJob is what the jobs of one stage ask for.
type SlurmJob struct {
	// partition
	Partition string `key:"partition"`

	// account that is charged
	Account string `key:"account"`

	// quality of service
	QOS string `key:"qos"`

	// time limit of a job
	Time string `key:"time"`

	// memory of a job
	Mem string `key:"mem"`

	// processors of a job
	CPUs int `key:"cpus"`

	// commands before the program
	Setup []string `key:"setup"`

	// further long options of sbatch
	Extra []string `key:"extra"`
}

func (s *Slurm) job() job.Settings {
	return job.Settings{
		Partition: s.Partition, Account: s.Account, QOS: s.QOS, Time: s.Time, Mem: s.Mem, CPUs: s.CPUs,
		Setup: s.Setup, Extra: s.Extra,
	}
}

// Policy returns how many jobs run at a time and what follows a failure.
func (s *Slurm) Policy() job.Policy {
	return job.Policy{MaxRunning: s.MaxRunning, Retries: s.Retries, RetryMem: s.RetryMem}
}

// stages lists the settings of single stages by name, in the stages' order.
func (s *Slurm) stages() []struct {
	name string
	job  *SlurmJob
} {
	return []struct {
		name string
		job  *SlurmJob
	}{
		{"simulate", s.Stages.Simulate},
		{"ingest", s.Stages.Ingest},
		{"dsp", s.Stages.DSP},
		{"train", s.Stages.Train},
		{"report", s.Stages.Report},
	}
}

// SlurmJobs returns what the jobs ask for: all those without settings of their
// own, and by stage those that have some, complete.
func (f *File) SlurmJobs() (all job.Settings, stages map[string]job.Settings) {
	s := &f.Executor.Slurm
	all = s.job()

	stages = map[string]job.Settings{}
	for _, st := range s.stages() {
		if st.job == nil {
			continue
		}

		j, at := job.Settings(*st.job), "executor.slurm.stages."+st.name
		inherit := func(key string, copyValue func()) {
			if !f.Has(at + "." + key) {
				copyValue()
			}
		}

		inherit("partition", func() { j.Partition = all.Partition })
		inherit("account", func() { j.Account = all.Account })
		inherit("qos", func() { j.QOS = all.QOS })
		inherit("time", func() { j.Time = all.Time })
		inherit("mem", func() { j.Mem = all.Mem })
		inherit("cpus", func() { j.CPUs = all.CPUs })
		inherit("setup", func() { j.Setup = all.Setup })
		inherit("extra", func() { j.Extra = all.Extra })
		stages[st.name] = j
	}

	return all, stages
}

func (s *Slurm) validate(fail failFunc) {
	at := func(prefix string) func(setting, text string) {
		return func(setting, text string) { fail(prefix+setting, "%s", text) }
	}
	s.job().Check(at("executor.slurm."))
	s.Policy().Check(at("executor.slurm."))

	for _, st := range s.stages() {
		if st.job != nil {
			job.Settings(*st.job).Check(at("executor.slurm.stages." + st.name + "."))
		}
	}
}
