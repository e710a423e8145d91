package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"doubletake/pipeline"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm"
)

// facts are what a node must agree on with the machine of the run.
func facts(p *pipeline.Project) ([]engine.KV, error) {
	b, err := os.ReadFile(p.File.Path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	sum := sha256.Sum256(b)
	return []engine.KV{
		{Key: "the program's version", Value: p.Program.Version},
		{Key: "the set of numeric kernels (name one that both have with the key kernels)", Value: p.Program.Kernels},
		{Key: "the digest of " + p.File.Path, Value: hex.EncodeToString(sum[:8])},
	}, nil
}

// slurmExecutor makes the executor of --executor slurm. A second interrupt
// makes an interrupted run cancel its jobs; done ends the watch for it.
func slurmExecutor(p *pipeline.Project, run runOptions, say func(string)) (x *slurm.Executor, done func(), err error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the folder: %w", err)
	}
	known, err := facts(p)
	if err != nil {
		return nil, nil, err
	}
	s := p.File.Executor.Slurm
	all, single := p.File.SlurmJobs()
	o := slurm.Options{
		Settings: jobSettings(all), Stages: map[string]slurm.Settings{}, MaxRunning: s.MaxRunning, Retries: s.Retries, RetryMem: s.RetryMem,
		Binary: binary, Config: run.file, Added: run.added, Dir: dir, Facts: known, Say: say,
	}
	for name, j := range single {
		o.Stages[name] = jobSettings(j)
	}
	x = slurm.New(o)
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	end := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-sig:
				if n == 2 {
					x.Cancel()
				}
			case <-end:
				return
			}
		}
	}()
	return x, func() { signal.Stop(sig); close(end) }, nil
}

func jobSettings(j config.SlurmJob) slurm.Settings {
	return slurm.Settings{Partition: j.Partition, Account: j.Account, QOS: j.QOS, Time: j.Time, Mem: j.Mem, CPUs: j.CPUs, Setup: j.Setup, Extra: j.Extra}
}
