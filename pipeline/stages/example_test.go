package stages_test

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
)

// A configuration becomes tasks. Each task stands behind the tasks whose outputs it reads.
func ExamplePlan() {
	f, err := config.Parse("pipeline.yaml", []byte(`version: 1
experiments:
  toy:
    ingest: {simulate: {campaign: toy}}
    train: {inputs: [x], seeds: 1, splits: {edge: {test: {x: {min: 4}}}}}
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
		var from []string
		for _, d := range t.Deps {
			if d := strings.TrimPrefix(d.Task, "toy/"); !slices.Contains(from, d) { // a task may take several outputs of another
				from = append(from, d)
			}
		}

		fmt.Printf("%-8s %s\n", t.Stage, strings.Join(append([]string{t.ID}, from...), " ← "))
	}
	// Output:
	// simulate toy/simulate/simulated_toy_triplets.csv
	// simulate toy/simulate/README.txt
	// ingest   toy/ingest/simulated_toy_triplets.csv ← simulate/simulated_toy_triplets.csv
	// dsp      toy/triplets ← ingest/simulated_toy_triplets.csv
	// train    toy/train/edge/seed-0 ← triplets
	// train    toy/train/edge/honest ← triplets
	// report   toy/report ← triplets ← ingest/simulated_toy_triplets.csv ← train/edge/seed-0 ← train/edge/honest
	// report   report ← report
}

// Each experiment has one task that writes its report.
func ExampleReportTask() {
	fmt.Println(stages.ReportTask("drone"))
	// Output: drone/report
}
