package stages

// Stage simulate has one task for each raw file of a simulated campaign. Package ingest/simulate simulates the
// campaigns.

import (
	"context"
	"errors"
	"fmt"
	"os"

	"doubletake/ingest/simulate"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// simulateVersion is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
const simulateVersion = 1

// weights contains the seconds that one file takes on one processor, roughly, by the kind of campaign.
var weights = map[string]float64{"rotor": 0.036, "airfoil": 0.006, "toy": 0.005}

// simulateResult is the simulated campaign of an experiment.
type simulateResult struct {
	Campaign simulate.Campaign // nil if the experiment was measured
	Files    []engine.Dep      // the raw files of the campaign
}

// planSimulate adds a task for each file of a simulated campaign. The key of a task has the settings that all files
// share and the name of its file, so that a further speed adds a file and changes no other.
func planSimulate(exp plan.Experiment) (simulateResult, error) {
	s := exp.Ingest.Simulate
	if s == nil {
		return simulateResult{}, nil
	}

	campaign, err := exp.SimulatedCampaign()
	if err != nil {
		return simulateResult{}, err
	}

	// The lists of conditions only decide which files there are. Angles of microphones stay in the key, because they are
	// channels of every file.
	common := *s
	common.Blades = nil
	common.RPM = nil
	common.AlphaDeg = nil
	common.SpeedMS = nil
	p := simulatePlanner{exp: exp, kind: campaign.Kind(), settings: plan.Settings("ingest.simulate", common)}

	res := simulateResult{Campaign: campaign}
	for i, f := range campaign.Files() {
		dep := p.add(f.Name, kv.Pair{Key: "file", Value: f.Name}, weights[campaign.Kind()],
			func(ctx context.Context, path string) error { return writeFile(ctx, campaign, i, path) })
		res.Files = append(res.Files, dep)
	}

	texts := []kv.Pair{
		{Key: "conditions.csv", Value: campaign.Conditions()},
		{Key: "README.txt", Value: campaign.Readme()},
	}
	const textWeight = 0.001 // seconds
	for _, f := range texts {
		if f.Value != "" {
			p.add(f.Key, kv.Pair{Key: "digest", Value: plan.Digest([]kv.Pair{f})}, textWeight,
				func(_ context.Context, path string) error { return os.WriteFile(path, []byte(f.Value), 0o644) })
		}
	}

	return res, nil
}

// simulatePlanner adds the tasks of a campaign.
type simulatePlanner struct {
	exp      plan.Experiment
	kind     string    // kind of the campaign
	settings []kv.Pair // settings that all files share
}

// add adds the task that writes the file with a name, and returns its output. local is the part of the task's key that
// belongs to this file alone.
func (p simulatePlanner) add(name string, local kv.Pair, weight float64,
	write func(ctx context.Context, path string) error,
) engine.Dep {
	task := p.exp.Add(&engine.Task{
		ID: p.exp.ID("simulate", name), Stage: "simulate", Version: simulateVersion, Config: p.settings,
		Local:   []kv.Pair{local},
		Publish: []engine.Link{{Output: name, Path: p.exp.Published("simulate", "simulated_"+p.kind, name)}},
		Weight:  weight,
		Run:     func(ctx context.Context, job *engine.Job) error { return write(ctx, job.Output(name)) },
	})

	return engine.Dep{Task: task.ID, Output: name}
}

// writeFile writes file i of a campaign.
func writeFile(ctx context.Context, campaign simulate.Campaign, i int, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create simulated recording: %w", err)
	}

	return errors.Join(campaign.Write(ctx, file, i), file.Close())
}
