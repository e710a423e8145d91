package ingeststage_test

import (
	"fmt"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
)

// Each raw file has a task of stage ingest, and one task joins their results.
func ExamplePlan() {
	f, err := config.Parse("pipeline.yaml", []byte(`version: 1
experiments:
  rotor:
    ingest: {simulate: {campaign: rotor, blades: [2, 3], rpm: [3000]}}
    dsp: {triplets: split-half-spectrum}
`))
	if err != nil {
		fmt.Println(err)
		return
	}

	p, err := stages.Plan(f, plan.Program{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, t := range p.Plan.Tasks {
		if t.Stage == "ingest" {
			fmt.Println(t.ID)
		}
	}
	// Output:
	// rotor/ingest/simulated_rotor_n2_rpm3000.wav
	// rotor/ingest/simulated_rotor_n3_rpm3000.wav
	// rotor/recordings
}
