package stages_test

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages"
)

// A configuration becomes tasks, each after those it takes something from.
func ExamplePlan() {
	f, err := config.Parse("pipeline.yaml", []byte(`version: 1
experiments:
  toy:
    ingest: {simulate: {campaign: toy}}
    train: {inputs: [x], seeds: 2, splits: {edge: {test: {x: {min: 4}}}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, _, err := stages.Plan(f, stages.Program{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range p.Tasks {
		var from []string
		for _, d := range t.Deps {
			if !slices.Contains(from, d.Task) { // a task may take several outputs of another
				from = append(from, d.Task)
			}
		}
		fmt.Printf("%-8s %s\n", t.Stage, strings.Join(append([]string{t.ID}, from...), " ← "))
	}
	// Output:
	// simulate toy/simulate/simulated_toy_triplets.csv
	// simulate toy/simulate/README.txt
	// ingest   toy/ingest/simulated_toy_triplets.csv ← toy/simulate/simulated_toy_triplets.csv
	// dsp      toy/triplets ← toy/ingest/simulated_toy_triplets.csv
	// train    toy/train/edge/seed-0 ← toy/triplets
	// train    toy/train/edge/seed-1 ← toy/triplets
	// report   toy/report ← toy/triplets ← toy/ingest/simulated_toy_triplets.csv ← toy/train/edge/seed-0 ← toy/train/edge/seed-1
	// report   report ← toy/report
}
