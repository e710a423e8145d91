package simulatestage

import (
	"fmt"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func experiment(t testing.TB, yaml string) plan.Experiment {
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

// A campaign becomes one task a file, published below its own name, and the
// result lists the raw files without the table of conditions and the README.
func TestPlan(t *testing.T) {
	b := experiment(t, "{campaign: rotor, blades: [2, 3], rpm: [3000, 4000], theta_deg: [0, 10]}")
	got, err := Plan(b)
	require.NoError(t, err)

	var published []string
	for _, task := range b.Tasks.Plan.Tasks {
		require.Equal(t, "simulate", task.Stage, "%+v", task)
		require.Equal(t, "x", task.Experiment, "%+v", task)
		assert.Equal(t, version, task.Version, "%+v", task)
		published = append(published, task.Publish[0].Path)
	}

	want := []string{
		"x/simulated_rotor/simulated_rotor_n2_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n2_rpm4000.wav",
		"x/simulated_rotor/simulated_rotor_n3_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n3_rpm4000.wav",
		"x/simulated_rotor/conditions.csv", "x/simulated_rotor/README.txt",
	}

	assert.Equal(t, want, published, "got")

	if len(got.Files) != 4 || got.Campaign.Kind() != "rotor" {
		t.Errorf("%d raw files of campaign %s", len(got.Files), got.Campaign.Kind())
	}
}

// A file's key holds the campaign's common settings and not the lists of
// conditions: one more speed makes one more file and leaves the others as they are.
func TestPlanKeys(t *testing.T) {
	few := experiment(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0]}")
	more := experiment(t, "{campaign: rotor, blades: [2, 4], rpm: [3000, 5000], theta_deg: [0]}")

	other := experiment(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0], duration_s: 3}")
	for _, b := range []plan.Experiment{few, more, other} {
		_, err := Plan(b)
		require.NoError(t, err)
	}

	key := func(b plan.Experiment) string {
		return fmt.Sprint(b.Tasks.Plan.Tasks[0].Config, b.Tasks.Plan.Tasks[0].Local)
	}
	if key(few) != key(more) {
		t.Errorf("the first file's key changes with the list of speeds:\n%s\n%s", key(few), key(more))
	}

	assert.NotEqual(t, key(other), key(few), "the first file's key does not hold the duration")

	assert.Contains(t, key(few), "{ingest.simulate.duration_s 8}")
}

// Without a campaign the stage plans nothing; one that cannot be is an error
// with its place in the file.
func TestPlanNothing(t *testing.T) {
	b := experiment(t, "{campaign: toy}")
	b.Ingest.Simulate = nil
	if _, err := Plan(b); err != nil || len(b.Tasks.Plan.Tasks) > 0 {
		t.Errorf("%v, %d tasks", err, len(b.Tasks.Plan.Tasks))
	}

	b = experiment(t, "{campaign: rotor, duration_s: 1e-9}")
	if _, err := Plan(b); err == nil || !strings.HasPrefix(err.Error(),
		"pipeline.yaml:4:42: experiments.x.ingest.simulate.duration_s: ") {
		t.Error(err)
	}
}

// A simulated campaign needs no calibration and no columns in the file: the
// campaign states them.
func TestSimulatedIngest(t *testing.T) {
	for _, c := range []struct {
		yaml string
		ok   func(config.Ingest) bool
	}{
		{"{campaign: rotor}", func(in config.Ingest) bool {
			return in.Calibration.SensitivityVPerPa > 0 &&
				in.Simulate.DurationS == 8
		}},
		{"{campaign: airfoil}", func(in config.Ingest) bool { return len(in.Columns) == 2 && in.Simulate.RateHz == 1000 }},
		{"{campaign: toy}", func(in config.Ingest) bool { return in.Simulate.Gamma == 1.5 && in.Simulate.Triplets == 1000 }},
	} {
		b := experiment(t, c.yaml)
		sim, err := Plan(b)
		require.NoError(t, err)

		if in := sim.Ingest(b.Ingest); !c.ok(in) {
			t.Errorf("%s: %+v", c.yaml, in)
		}
	}
}

// The tasks of the smallest rotor campaign.
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
	if _, err := Plan(b); err != nil {
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
