package config

import (
	"regexp"
	"strings"

	"doubletake/pipeline/engine/slurm"
)

// Executor says how tasks are made elsewhere than in the program's own process.
// Nothing of it touches results.
type Executor struct {
	Slurm Slurm `key:"slurm" doc:"run --executor slurm: tasks as jobs of a Slurm cluster that sees this project and the workdir"`
}

// Slurm says what its jobs ask for.
type Slurm struct {
	Partition  string      `key:"partition" doc:"partition of the jobs; empty: the cluster's default, as with every key here"`
	Account    string      `key:"account" doc:"account that is charged"`
	QOS        string      `key:"qos" doc:"quality of service"`
	Time       string      `key:"time" doc:"time limit of a job, as sbatch takes it: minutes, hours:minutes:seconds or days-hours:minutes"`
	Mem        string      `key:"mem" doc:"memory of a job, as sbatch takes it: 500M, 2G"`
	CPUs       int         `key:"cpus" doc:"processors of a job"`
	Setup      []string    `key:"setup" doc:"commands before the program, each one command with its words and nothing for a shell to interpret: module load gcc/12, source /opt/env.sh"`
	Extra      []string    `key:"extra" doc:"further long options of sbatch, e.g. --constraint=avx512"`
	MaxRunning int         `key:"max_running" doc:"jobs at a time; 0: as many as the cluster lets run" default:"0"`
	Retries    int         `key:"retries" doc:"how often a task that failed or was killed is tried again; bad data and bad configuration are not"`
	RetryMem   float64     `key:"retry_mem" doc:"a task that was killed, or ran out of memory, asks for so many times the memory when it is tried again; 1: for the same"`
	Stages     SlurmStages `key:"stages" doc:"other values for the jobs of single stages; what stands here replaces what stands above"`
}

// SlurmStages are settings of single stages.
type SlurmStages struct {
	Simulate *SlurmJob `key:"simulate" doc:"jobs of the simulate stage"`
	Ingest   *SlurmJob `key:"ingest" doc:"jobs of the ingest stage"`
	DSP      *SlurmJob `key:"dsp" doc:"jobs of the dsp stage"`
	Train    *SlurmJob `key:"train" doc:"jobs of the train stage"`
	Report   *SlurmJob `key:"report" doc:"jobs of the report stage"`
}

// SlurmJob is what the jobs of one stage ask for.
type SlurmJob struct {
	Partition string   `key:"partition" doc:"partition"`
	Account   string   `key:"account" doc:"account that is charged"`
	QOS       string   `key:"qos" doc:"quality of service"`
	Time      string   `key:"time" doc:"time limit of a job"`
	Mem       string   `key:"mem" doc:"memory of a job"`
	CPUs      int      `key:"cpus" doc:"processors of a job"`
	Setup     []string `key:"setup" doc:"commands before the program"`
	Extra     []string `key:"extra" doc:"further long options of sbatch"`
}

func (s *Slurm) job() SlurmJob {
	return SlurmJob{s.Partition, s.Account, s.QOS, s.Time, s.Mem, s.CPUs, s.Setup, s.Extra}
}

// stages lists the settings of single stages by name, in the stages' order.
func (s *Slurm) stages() []struct {
	name string
	job  *SlurmJob
} {
	return []struct {
		name string
		job  *SlurmJob
	}{{"simulate", s.Stages.Simulate}, {"ingest", s.Stages.Ingest}, {"dsp", s.Stages.DSP}, {"train", s.Stages.Train}, {"report", s.Stages.Report}}
}

// SlurmJobs returns what jobs ask for: of stages that stand alone, by name, and
// of all others.
func (f *File) SlurmJobs() (all SlurmJob, stages map[string]SlurmJob) {
	s := &f.Executor.Slurm
	all = s.job()
	stages = map[string]SlurmJob{}
	for _, st := range s.stages() {
		if st.job == nil {
			continue
		}
		j, at := *st.job, "executor.slurm.stages."+st.name
		inherit := func(key string, take func()) {
			if !f.Has(at + "." + key) {
				take()
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

var (
	slurmTime = regexp.MustCompile(`^(\d+(:\d+(:\d+)?)?|\d+-\d+(:\d+(:\d+)?)?|UNLIMITED|INFINITE)$`)
	slurmMem  = regexp.MustCompile(`^\d+[KMGTkmgt]?$`)
)

func (s *Slurm) validate(fail func(key, format string, args ...any)) {
	const at = "executor.slurm"
	job := s.job()
	job.validate(at, fail)
	if s.MaxRunning < 0 {
		fail(at+".max_running", "expected 0 or more jobs, found %d", s.MaxRunning)
	}
	if s.Retries < 0 || s.Retries > 100 {
		fail(at+".retries", "expected 0 to 100 retries, found %d", s.Retries)
	}
	if s.RetryMem < 1 || s.RetryMem > 16 {
		fail(at+".retry_mem", "expected a factor from 1 to 16, found %g", s.RetryMem)
	}
	for _, st := range s.stages() {
		if st.job != nil {
			st.job.validate(at+".stages."+st.name, fail)
		}
	}
}

func (j *SlurmJob) validate(at string, fail func(key, format string, args ...any)) {
	for _, v := range []struct{ key, value string }{{"partition", j.Partition}, {"account", j.Account}, {"qos", j.QOS}} {
		if strings.ContainsFunc(v.value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			fail(at+"."+v.key, "expected a name without spaces, found %q", v.value)
		}
	}
	if j.Time != "" && !slurmTime.MatchString(j.Time) {
		fail(at+".time", "expected a time as sbatch takes it (90, 1:30:00, 2-12:00), found %q", j.Time)
	}
	if j.Mem != "" && !slurmMem.MatchString(j.Mem) {
		fail(at+".mem", "expected an amount of memory (500M, 2G), found %q", j.Mem)
	}
	if j.CPUs < 0 {
		fail(at+".cpus", "expected 1 or more processors, found %d", j.CPUs)
	}
	for _, c := range j.Setup {
		if _, err := slurm.Words(c); err != nil {
			fail(at+".setup", "%v", err)
		}
	}
	for _, o := range j.Extra {
		if err := slurm.CheckExtra(o); err != nil {
			fail(at+".extra", "%v", err)
		}
	}
}
