package config

import (
	"reflect"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/engine/job"
)

// The trainings' settings replace those of a scheduler one by one; an empty list that is written out is an empty list.
// Kubernetes has the first section that there is.
func TestJobs(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(`version: 1
executor:
  sge: {partition: batch, time: 10, mem: 1G, setup: module load gcc}
  pbs: {partition: long}
  train: {time: 4:00:00, cpus: 2, setup: []}
experiments:
  e:
    ingest: {files: "*.wav", conditions: c.csv}
    dsp: {triplets: split-halves}
`))
	must.Do(t, err)

	sge := job.Settings{Partition: "batch", Time: "10", Mem: "1G", Setup: []string{"module load gcc"}}
	train := job.Settings{Partition: "batch", Time: "4:00:00", Mem: "1G", CPUs: 2, Setup: []string{}}
	pbs := job.Settings{Partition: "long"}

	for name, want := range map[string]job.Settings{"sge": sge, "k8s": sge, "pbs": pbs, "slurm": {}} {
		all, of := f.Jobs(name)
		must.Equal(t, all, want, "%s", name)

		must.Not(t, name == "sge" && !reflect.DeepEqual(of, train), "trainings: %+v", of)
	}
}
