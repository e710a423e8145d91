package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// sweepConfig returns a small simulated campaign of 18 recordings, with a sweep if one is given.
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

// taskCounts are numbers of tasks by stage.
type taskCounts map[string]int

// runCounted runs a configuration in a folder and counts the tasks that ran. Tasks whose results are in the cache do
// not run.
func runCounted(t *testing.T, dir, yaml string) (ran taskCounts, p *pipeline.Project) {
	t.Helper()

	write(t, dir, "pipeline.yaml", yaml)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	ran = taskCounts{}
	_, err = p.Run(t.Context(), engine.Options{Jobs: 2, Observe: func(e engine.Event) {
		if e.Kind == "done" && e.Ran {
			ran[e.Task.Stage]++
		}
	}})
	require.NoError(t, err)

	return ran, p
}

// The variants of a sweep share the tasks that they have in common, with each other and with earlier runs. The counts
// are by hand: 18 recordings with conditions.csv and README.txt are simulated, the recordings and one join are read
// and analysed, and each variant has two trainings and a report. The calibration on left-out groups reads nothing that
// the first sweep varies, so that all variants share one. Two reports are of the whole.
func TestSweepSharesStages(t *testing.T) {
	longtest.Skip(t, "runs a sweep of many variants")

	const (
		simulated = 18 + 2
		read      = 18 + 1
		analysed  = 18 + 1

		ofTraining = "    sweep: {model.hidden: [4, [4, 4], 8], loss.beta: [0, 0.25, 0.5, 1]}\n"
		ofAnalysis = "    sweep: {segments: [2, 4, 8], loss.beta: [0, 1]}\n"
	)
	dir := t.TempDir()

	ran, _ := runCounted(t, dir, sweepConfig(""))
	assert.Equal(t, taskCounts{"simulate": simulated, "ingest": read, "dsp": analysed, "train": 2 + 1, "report": 2}, ran,
		"without a sweep")

	ran, p := runCounted(t, dir, sweepConfig(ofTraining))
	assert.Equal(t, taskCounts{"train": 12 * 2, "report": 12 + 2}, ran, "12 variants of the training afterwards")
	assert.Len(t, p.Plan.Tasks, simulated+read+analysed+12*(2+1)+12+2, "tasks of the plan")

	ran, _ = runCounted(t, t.TempDir(), sweepConfig(ofTraining))
	assert.Equal(t, taskCounts{
		"simulate": simulated, "ingest": read, "dsp": analysed, "train": 12*2 + 1, "report": 12 + 2,
	}, ran, "12 variants of the training from the beginning")

	// Recordings with 4 segments were analysed before, all but the join.
	ran, _ = runCounted(t, dir, sweepConfig(ofAnalysis))
	assert.Equal(t, taskCounts{"dsp": 2*analysed + 1, "train": 3 * (2*2 + 1), "report": 3*2 + 2}, ran,
		"three variants of the analysis with two of the training each")

	ran, _ = runCounted(t, dir, sweepConfig(ofTraining))
	assert.Empty(t, ran, "the first sweep again")

	for _, name := range []string{
		"drone/recordings.arrow", "drone/triplets.arrow", "drone/hidden=4-4,beta=0.25/splits/two/seed-1/model.json",
		"drone/hidden=4-4,beta=0.25/report/metrics.json",
	} {
		assert.FileExists(t, filepath.Join(dir, "runs", name))
	}

	assert.NoFileExists(t, filepath.Join(dir, "runs", "drone/segments=8/triplets.arrow"), "of a variant that is gone")
}

// A variant may have the name of the analysis that it shares with another variant, in any order: each of both selects
// its analysis.
func TestSweepVariantNamedAsItsAnalysis(t *testing.T) {
	for _, variants := range []string{"{segments: 2}, {segments: 2, beta: 1}", "{segments: 2, beta: 1}, {segments: 2}"} {
		t.Run(variants, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "pipeline.yaml", sweepConfig("    sweep: ["+variants+"]\n"))

			p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
			require.NoError(t, err)
			require.NoError(t, p.Plan.Check())

			for _, name := range []string{"drone/segments=2", "drone/segments=2,beta=1"} {
				analysed := 0
				for _, task := range p.Plan.Tasks {
					if task.Stage == "dsp" && p.Plan.Selects(engine.Selection{Experiments: []string{name}}, task) {
						analysed++
					}
				}

				assert.Equal(t, 18+1, analysed, "tasks of dsp that %s selects", name)
			}
		})
	}
}
