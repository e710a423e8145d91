package simulatestage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

func builder(t testing.TB, yaml string) *plan.Builder {
	t.Helper()
	text := "version: 1\nexperiments:\n  x:\n    ingest: {simulate: " + yaml + "}\n"
	switch {
	case strings.Contains(yaml, "rotor"):
		text += "    dsp: {triplets: split-half-spectrum}\n"
	case strings.Contains(yaml, "airfoil"):
		text += "    dsp: {triplets: split-halves}\n"
	}
	f, err := config.Parse("pipeline.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Builder{File: f, Exp: &f.Experiments[0], Plan: &engine.Plan{}, At: "experiments.x"}
}

// A campaign becomes one task a file, published below its own name, and the
// builder lists the raw files without the table of conditions and the README.
func TestPlan(t *testing.T) {
	b := builder(t, "{campaign: rotor, blades: [2, 3], rpm: [3000, 4000], theta_deg: [0, 10]}")
	if err := Plan(b); err != nil {
		t.Fatal(err)
	}
	var published []string
	for _, task := range b.Plan.Tasks {
		if task.Stage != "simulate" || task.Experiment != "x" || task.Version != version {
			t.Errorf("%+v", task)
		}
		published = append(published, task.Publish[0].Path)
	}
	want := []string{
		"x/simulated_rotor/simulated_rotor_n2_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n2_rpm4000.wav",
		"x/simulated_rotor/simulated_rotor_n3_rpm3000.wav", "x/simulated_rotor/simulated_rotor_n3_rpm4000.wav",
		"x/simulated_rotor/conditions.csv", "x/simulated_rotor/README.txt",
	}
	if !slices.Equal(published, want) {
		t.Errorf("%q\nexpected %q", published, want)
	}
	if len(b.Simulated) != 4 || b.Campaign.Kind() != "rotor" {
		t.Errorf("%d raw files of campaign %s", len(b.Simulated), b.Campaign.Kind())
	}
}

// A file's key holds the campaign's common settings and not the lists of
// conditions: one more speed makes one more file and leaves the others as they are.
func TestPlanKeys(t *testing.T) {
	few := builder(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0]}")
	more := builder(t, "{campaign: rotor, blades: [2, 4], rpm: [3000, 5000], theta_deg: [0]}")
	other := builder(t, "{campaign: rotor, blades: [2], rpm: [3000], theta_deg: [0], duration_s: 3}")
	for _, b := range []*plan.Builder{few, more, other} {
		if err := Plan(b); err != nil {
			t.Fatal(err)
		}
	}
	key := func(b *plan.Builder) string { return fmt.Sprint(b.Plan.Tasks[0].Config, b.Plan.Tasks[0].Local) }
	if key(few) != key(more) {
		t.Errorf("the first file's key changes with the list of speeds:\n%s\n%s", key(few), key(more))
	}
	if key(few) == key(other) {
		t.Error("the first file's key does not hold the duration")
	}
	if !strings.Contains(key(few), "{ingest.simulate.duration_s 8}") {
		t.Errorf("the default duration is not part of the key: %s", key(few))
	}
}

// Without a campaign the stage plans nothing; one that cannot be is an error
// with its place in the file.
func TestPlanNothing(t *testing.T) {
	b := builder(t, "{campaign: toy}")
	b.Exp.Ingest.Simulate = nil
	if err := Plan(b); err != nil || len(b.Plan.Tasks) > 0 {
		t.Errorf("%v, %d tasks", err, len(b.Plan.Tasks))
	}
	b = builder(t, "{campaign: rotor, duration_s: 1e-9}")
	if err := Plan(b); err == nil || !strings.HasPrefix(err.Error(),
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
		b := builder(t, c.yaml)
		if err := Plan(b); err != nil {
			t.Fatal(err)
		}
		if in := SimulatedIngest(b.Exp.Ingest, b.Campaign); !c.ok(in) {
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
	b := &plan.Builder{File: f, Exp: &f.Experiments[0], Plan: &engine.Plan{}}
	if err := Plan(b); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range b.Plan.Tasks {
		fmt.Println(t.ID)
	}
	// Output:
	// rotor/simulate/simulated_rotor_n2_rpm3000.wav
	// rotor/simulate/conditions.csv
	// rotor/simulate/README.txt
}
