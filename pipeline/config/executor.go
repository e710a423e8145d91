package config

import "doubletake/pipeline/engine/slurm/job"

// Executor is how tasks are made outside of the program's own process. It does
// not change results.
type Executor struct {
	Slurm Slurm `key:"slurm"`
}

// Slurm holds the settings of its jobs.
type Slurm struct {
	Partition  string      `key:"partition"`
	Account    string      `key:"account"`
	QOS        string      `key:"qos"`
	Time       string      `key:"time"`
	Mem        string      `key:"mem"`
	CPUs       int         `key:"cpus"`
	Setup      []string    `key:"setup"`
	Extra      []string    `key:"extra"`
	MaxRunning int         `key:"max_running" default:"0"`
	Retries    int         `key:"retries"`
	RetryMem   float64     `key:"retry_mem"`
	Stages     SlurmStages `key:"stages"`
}

// SlurmStages are settings of single stages.
type SlurmStages struct {
	Simulate *SlurmJob `key:"simulate"`
	Ingest   *SlurmJob `key:"ingest"`
	DSP      *SlurmJob `key:"dsp"`
	Train    *SlurmJob `key:"train"`
	Report   *SlurmJob `key:"report"`
}

// SlurmJob is what the jobs of one stage ask for.
type SlurmJob struct {
	Partition string   `key:"partition"`
	Account   string   `key:"account"`
	QOS       string   `key:"qos"`
	Time      string   `key:"time"`
	Mem       string   `key:"mem"`
	CPUs      int      `key:"cpus"`
	Setup     []string `key:"setup"`
	Extra     []string `key:"extra"`
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
