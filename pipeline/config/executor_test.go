package config

import (
	"reflect"
	"testing"

	"doubletake/pipeline/engine/slurm/job"
)

// A stage's settings replace those for all stages one by one; an empty list that
// is written out is an empty list.
func TestSlurmJobs(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(`version: 1
executor:
  slurm:
    partition: batch
    time: 10
    mem: 1G
    setup: module load gcc
    stages:
      train: {time: 4:00:00, cpus: 2, setup: []}
experiments:
  e:
    ingest: {files: "*.wav", conditions: c.csv}
    dsp: {triplets: split-halves}
`))
	if err != nil {
		t.Fatal(err)
	}

	all, stages := f.SlurmJobs()
	if want := (job.Settings{
		Partition: "batch", Time: "10", Mem: "1G",
		Setup: []string{"module load gcc"},
	}); !reflect.DeepEqual(all, want) {
		t.Errorf("all: %+v", all)
	}

	if want := (job.Settings{
		Partition: "batch", Time: "4:00:00", Mem: "1G", CPUs: 2,
		Setup: []string{},
	}); len(stages) != 1 || !reflect.DeepEqual(stages["train"], want) {
		t.Errorf("stages: %+v", stages)
	}

	if s := f.Executor.Slurm; s.Retries != 2 || s.RetryMem != 1 {
		t.Errorf("defaults: %+v", s)
	}
}
