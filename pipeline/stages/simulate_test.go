package stages

import (
	"fmt"
	"strings"
	"testing"

	"doubletake/dsp"
	"doubletake/ingest/setting"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulatedExperiment returns an experiment "x" whose campaign is given in YAML.
func simulatedExperiment(t testing.TB, yaml string) plan.Experiment {
	t.Helper()

	text := "version: 1\nexperiments:\n  x:\n    ingest: {simulate: " + yaml + "}\n"
	switch {
	case strings.Contains(yaml, "rotor"):
		text += "    dsp: {triplets: split-half-spectrum}\n"
	case strings.Contains(yaml, "airfoil"):
		text += "    dsp: {triplets: split-halves}\n"
	}

	f, err := config.Parse("pipeline.yaml", []byte(text))
	require.NoError(t, err)

	return plan.NewExperiment(f, 0, plan.Program{}, plan.NewTasks(&engine.Plan{}))
}

// Each file of a campaign has a task, which publishes the file in the folder of the campaign. The result lists the raw
// files, without the table of conditions and the README.
func TestPlan(t *testing.T) {
	b := simulatedExperiment(t, "{campaign: rotor, blades: [2, 3], rpm: [3000, 4000], theta_deg: [0, 10]}")
	got, err := planSimulate(b)
	require.NoError(t, err)

	var published []string
	for _, task := range b.Tasks.Plan.Tasks {
		assert.Equal(t, "simulate", task.Stage, "%s", task.ID)
		assert.Equal(t, "x", task.Experiment, "%s", task.ID)
		assert.Equal(t, simulateVersion, task.Version, "%s", task.ID)
		published = append(published, task.Publish[0].Path)
	}

	want := []string{
		"x/simulated_rotor/simulated_rotor_n2_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n2_rpm4000.wav",
		"x/simulated_rotor/simulated_rotor_n3_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n3_rpm4000.wav",
		"x/simulated_rotor/conditions.csv", "x/simulated_rotor/README.txt",
	}

	assert.Equal(t, want, published)
	assert.Len(t, got.Files, 4, "raw files")
	assert.Equal(t, "rotor", got.Campaign.Kind())
}

// The key of a file has the settings that all files share, and not the lists of conditions: one more speed adds a file
// and leaves the keys of the others as they are.
func TestPlanKeys(t *testing.T) {
	few := simulatedExperiment(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0]}")
	more := simulatedExperiment(t, "{campaign: rotor, blades: [2, 4], rpm: [3000, 5000], theta_deg: [0]}")

	other := simulatedExperiment(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0], duration_s: 3}")
	for _, b := range []plan.Experiment{few, more, other} {
		_, err := planSimulate(b)
		require.NoError(t, err)
	}

	firstKey := func(b plan.Experiment) string {
		return fmt.Sprint(b.Tasks.Plan.Tasks[0].Config, b.Tasks.Plan.Tasks[0].Local)
	}
	assert.Equal(t, firstKey(few), firstKey(more), "more speeds leave the key")
	assert.NotEqual(t, firstKey(few), firstKey(other), "another duration changes the key")
	assert.Contains(t, firstKey(few), "{ingest.simulate.duration_s 8}", "the key has the default duration")
}

// Without a campaign the stage plans nothing.
func TestPlanNothing(t *testing.T) {
	b := simulatedExperiment(t, "{campaign: toy}")
	b.Ingest.Simulate = nil
	_, err := planSimulate(b)
	require.NoError(t, err)
	assert.Empty(t, b.Tasks.Plan.Tasks)
}

// A campaign that cannot be simulated is an error with its place in the file.
func TestPlanError(t *testing.T) {
	_, err := planSimulate(simulatedExperiment(t, "{campaign: rotor, duration_s: 1e-9}"))
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "pipeline.yaml:4:42: experiments.x.ingest.simulate.duration_s: "),
		"%v", err)
}

// simulatedIngest returns the ingest settings of a campaign, completed by its facts.
func simulatedIngest(t *testing.T, yaml string) setting.Campaign {
	t.Helper()

	b := simulatedExperiment(t, yaml)
	simulated, err := planSimulate(b)
	require.NoError(t, err)

	files, err := findFiles(b, simulated)
	require.NoError(t, err)

	return files.Ingest
}

// A campaign states the calibration of its microphones or the columns of its balance. The settings that the file leaves
// out have the defaults that the documentation of the keys states.
func TestSimulatedIngest(t *testing.T) {
	rotor := simulatedIngest(t, "{campaign: rotor}")
	assert.Positive(t, rotor.Calibration.SensitivityVPerPa)
	assert.Equal(t, 8.0, rotor.Simulate.DurationS)

	airfoil := simulatedIngest(t, "{campaign: airfoil}")
	assert.Equal(t, []setting.NamedString{{Name: "lift_n", Value: "Fz"}, {Name: "drag_n", Value: "Fx"}}, airfoil.Columns)
	assert.Equal(t, 1000.0, airfoil.Simulate.RateHz)

	toy := simulatedExperiment(t, "{campaign: toy}").Ingest // a table of pairs, not recordings
	assert.Equal(t, 1.5, toy.Simulate.Gamma)
	assert.Equal(t, 1000, toy.Simulate.Triplets)
}

// The stage plans these tasks for the smallest rotor campaign.
func ExamplePlan() {
	f, err := config.Parse("pipeline.yaml", []byte(`version: 1
experiments:
  rotor:
    ingest: {simulate: {campaign: rotor, blades: [2], rpm: [3000]}}
    dsp: {triplets: split-half-spectrum}
`))
	if err != nil {
		fmt.Println(err)
		return
	}

	b := plan.NewExperiment(f, 0, plan.Program{}, plan.NewTasks(&engine.Plan{}))
	if _, err := planSimulate(b); err != nil {
		fmt.Println(err)
		return
	}

	for _, t := range b.Tasks.Plan.Tasks {
		fmt.Println(t.ID)
	}
	// Output:
	// rotor/simulate/simulated_rotor_n2_rpm3000.wav
	// rotor/simulate/conditions.csv
	// rotor/simulate/README.txt
}

// Repeats of a simulated balance are pairs of its series, although the configuration names no columns: the campaign
// names them.
func TestRepeatsOfSimulatedBalance(t *testing.T) {
	b := simulatedExperiment(t, "{campaign: airfoil, alpha_deg: [0, 4], u_inf_m_s: [4.7]}")
	b.DSP.Triplets = "repeats"
	sim, err := planSimulate(b)
	require.NoError(t, err)

	ing, err := planIngest(b, sim)
	require.NoError(t, err)

	_, takesSeries := ing.Construction.(dsp.OfSeries)
	assert.True(t, takesSeries)
}
