// Package simulatestage plans stage simulate: one task per raw file of a simulated
// campaign. The campaigns themselves are package ingest/simulate.
package simulatestage

import (
	"context"
	"errors"
	"fmt"
	"os"

	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
const version = 1

// heavy is the seconds that one file takes on one processor, roughly.
var heavy = map[string]float64{"rotor": 0.036, "airfoil": 0.006, "toy": 0.005}

// Result is the simulated campaign of an experiment.
type Result struct {
	Campaign simulate.Campaign // nil: the experiment was measured
	Files    []engine.Dep      // its raw files
}

// Plan adds a task per file of the campaign. A file depends on the
// campaign's common settings and its own conditions only, so that one more
// speed makes one more file.
func Plan(exp plan.Experiment) (Result, error) {
	s := exp.Ingest.Simulate
	if s == nil {
		return Result{}, nil
	}

	c, err := s.Described()
	if err != nil {
		return Result{}, placed(exp, c, err)
	}

	// The files follow from the lists of conditions; each file reads only its own
	// condition (and the microphone angles, which are channels of every file).
	of := *s
	of.Blades, of.RPM, of.AlphaDeg, of.SpeedMS = nil, nil, nil, nil
	shared := plan.Settings("ingest.simulate", of)
	add := func(name string, local kv.Pair, weight float64, run func(ctx context.Context, path string) error) engine.Dep {
		t := exp.Add(&engine.Task{
			ID: exp.ID("simulate", name), Stage: "simulate", Version: version, Config: shared, Local: []kv.Pair{local},
			Publish: []engine.Link{{Output: name, Path: exp.Published("simulate", "simulated_"+c.Kind(), name)}},
			Weight:  weight,
			Run:     func(ctx context.Context, j *engine.Job) error { return run(ctx, j.Output(name)) },
		})

		return engine.Dep{Task: t.ID, Output: name}
	}

	out := Result{Campaign: c}
	for i, f := range c.Files() {
		write := func(ctx context.Context, path string) error {
			w, err := os.Create(path)
			if err != nil {
				return fmt.Errorf("create simulated recording: %w", err)
			}

			return errors.Join(c.Write(ctx, w, i), w.Close())
		}

		out.Files = append(out.Files, add(f.Name, kv.Pair{Key: "file", Value: f.Name}, heavy[c.Kind()], write))
	}

	texts := []kv.Pair{{Key: "conditions.csv", Value: c.Conditions()}, {Key: "README.txt", Value: c.Readme()}}
	for _, f := range texts {
		if f.Value != "" {
			add(f.Key, kv.Pair{Key: "digest", Value: plan.Digest([]kv.Pair{f})}, 0.001,
				func(_ context.Context, path string) error { return os.WriteFile(path, []byte(f.Value), 0o644) })
		}
	}

	return out, nil
}

// placed gives every error of a campaign's fields its place in the file.
func placed(exp plan.Experiment, c simulate.Campaign, err error) error {
	list := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		list = many.Unwrap()
	}

	var out config.Errors
	for _, e := range list {
		key, text := "ingest.simulate", e.Error()

		var fe *simulate.FieldError
		if errors.As(e, &fe) {
			if k, ok := simulate.Keys(c)[fe.Field]; ok {
				key, text = key+"."+k, fe.Text
			}
		}

		out = append(out, exp.Errorf(key, "%s", text))
	}

	return out
}

// Ingest returns the ingest settings of the experiment with what the simulated
// campaign states.
func (r *Result) Ingest(in config.Ingest) config.Ingest {
	switch c := r.Campaign.(type) {
	case simulate.Rotor:
		in.Calibration = &config.Calibration{
			FullScaleV: c.FullScaleV, Reading: "peak",
			SensitivityVPerPa: c.SensitivityVPerPa,
		}

	case simulate.Airfoil:
		in.Columns = []config.NamedString{{Name: "lift_n", Value: "Fz"}, {Name: "drag_n", Value: "Fx"}}
	}

	return in
}

// Conditions returns the campaign's table of conditions.
func (r *Result) Conditions() (*campaign.Conditions, error) {
	return campaign.ParseConditions("conditions.csv", []byte(r.Campaign.Conditions()), campaign.LogOptions{})
}
