package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// sweepConfig is a small simulated campaign of 18 recordings with a sweep.
func sweepConfig(sweep string) string {
	return `version: 1
kernels: portable
experiments:
  drone:
    ingest:
      simulate: {campaign: rotor, duration_s: 1, blades: [2, 3, 4], theta_deg: [-30, 0, 30],
        rpm: [3000, 4000, 5000, 6000, 7000, 8000]}
    dsp: {triplets: split-half-spectrum, harmonics: 1, segments: 4}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [6]}
      optimizer: {epochs: 2}
      seeds: 2
      splits: {two: {test: {blades: 2}}}
` + sweep
}

// runCounted runs a configuration and counts the results made, by stage.
func runCounted(t *testing.T, dir, yaml string, o engine.Options) (made map[string]int, p *pipeline.Project) {
	t.Helper()

	path := filepath.Join(dir, "pipeline.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o644))

	p, err := pipeline.Load(path)
	require.NoError(t, err)

	made = map[string]int{}
	o.Observe = func(e engine.Event) {
		if e.Kind == "done" && e.Ran {
			made[e.Task.Stage]++
		}
	}

	_, err = p.Run(context.Background(), o)
	require.NoError(t, err)

	return made, p
}

// A sweep makes what its variants have in common once. Counted by hand: 18 files with
// conditions.csv and README.txt are simulated, read and analysed once for 12 variants;
// each variant has 2 trainings; the calibration on left-out groups reads nothing that
// varies, and is one. A sweep of the analysis repeats that alone, but for the
// value that was analysed before, and an experiment
// that gets a sweep keeps what it has.
func TestSweepSharesStages(t *testing.T) {
	longtest.Skip(t, "runs a sweep of many variants")

	dir := t.TempDir()
	o := engine.Options{Jobs: 2}
	check := func(what string, made map[string]int, want map[string]int) {
		t.Helper()
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(made), "%s: %v made, expected %v", what, made, want)
	}

	made, _ := runCounted(t, dir, sweepConfig(""), o)
	check("the experiment", made, map[string]int{"simulate": 20, "ingest": 19, "dsp": 19, "train": 3, "report": 2})
	twelve := "    sweep: {model.hidden: [4, [4, 4], 8], loss.beta: [0, 0.25, 0.5, 1]}\n"
	made, p := runCounted(t, dir, sweepConfig(twelve), o)
	check("12 variants", made, map[string]int{"train": 24, "report": 14})

	assert.Len(t, p.Plan.Tasks, 20+19+19+12*3+12+1+1, "tasks")

	made, _ = runCounted(t, t.TempDir(), sweepConfig(twelve), o)
	check("12 variants at once", made, map[string]int{"simulate": 20, "ingest": 19, "dsp": 19, "train": 25, "report": 14})
	made, _ = runCounted(t, dir, sweepConfig("    sweep: {segments: [2, 4, 8], loss.beta: [0, 1]}\n"), o)
	check("the analysis", made, map[string]int{"dsp": 1 + 2*19, "train": 3*4 + 3, "report": 8})
	made, _ = runCounted(t, dir, sweepConfig(twelve), o)
	check("again", made, map[string]int{})

	// A variant may be named as the analysis is that another shares with it.
	for _, list := range []string{"{segments: 2}, {segments: 2, beta: 1}", "{segments: 2, beta: 1}, {segments: 2}"} {
		path := filepath.Join(t.TempDir(), "pipeline.yaml")
		err := os.WriteFile(path, []byte(sweepConfig("    sweep: ["+list+"]\n")), 0o644)
		if err == nil {
			p, err = pipeline.Load(path)
		}

		if err == nil {
			err = p.Plan.Check()
		}

		require.NoError(t, err)

		tasks := map[string]int{}
		for _, name := range []string{"drone/segments=2", "drone/segments=2,beta=1"} {
			for _, task := range p.Plan.Tasks {
				if task.Stage == "dsp" && p.Plan.Selects(engine.Selection{Experiments: []string{name}}, task) {
					tasks[name]++
				}
			}
		}

		check(list, tasks, map[string]int{"drone/segments=2": 19, "drone/segments=2,beta=1": 19})
	}

	for _, f := range []string{
		"drone/recordings.arrow", "drone/triplets.arrow", "drone/hidden=4-4,beta=0.25/splits/two/seed-1/model.json",
		"drone/hidden=4-4,beta=0.25/report/metrics.json",
	} {
		_, err := os.Stat(filepath.Join(dir, "runs", f))
		require.NoError(t, err)
	}

	if _, err := os.Stat(filepath.Join(dir, "runs", "drone/segments=8/triplets.arrow")); err == nil {
		t.Error("files of a variant that is gone stayed")
	}
}
