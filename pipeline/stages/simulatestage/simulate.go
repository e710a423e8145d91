// Package simulatestage plans stage simulate: one task per raw file of a simulated
// campaign. The campaigns themselves are package ingest/simulate.
package simulatestage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// described returns the campaign a configuration describes; keys that are not
// there leave the campaign's own defaults.
func described(s *config.Simulate) (simulate.Campaign, error) {
	var c simulate.Campaign
	switch s.Campaign {
	case "rotor":
		c = simulate.Rotor{
			Seed: s.Seed, RateHz: s.RateHz, DurationS: s.DurationS, Encoding: s.Encoding, Blades: s.Blades,
			RPM: s.RPM, ThetaDeg: s.ThetaDeg,
		}.WithDefaults()
	case "airfoil":
		c = simulate.Airfoil{
			Seed: s.Seed, RateHz: s.RateHz, DurationS: s.DurationS, AlphaDeg: s.AlphaDeg,
			SpeedMS: s.SpeedMS,
		}.WithDefaults()
	case "toy":
		c = simulate.Toy{Seed: s.Seed, N: s.Triplets, Gamma: s.Gamma}.WithDefaults()
	default:
		return nil, fmt.Errorf("campaign %q: expected rotor, airfoil or toy", s.Campaign)
	}
	return c, c.Validate()
}

// heavy is the seconds that one file takes on one processor, roughly.
var heavy = map[string]float64{"rotor": 0.036, "airfoil": 0.006, "toy": 0.005}

// simulate adds a task per file of the campaign. A file depends on the
// campaign's common settings and its own conditions only, so that one more
// speed makes one more file.
func Plan(b *plan.Builder) error {
	s := b.Exp.Ingest.Simulate
	if s == nil {
		return nil
	}
	c, err := described(s)
	if err != nil {
		return placed(b, err)
	}
	folder := b.Published("simulated_" + c.Kind())
	// The files follow from the lists of conditions; each file reads only its own
	// condition (and the microphone angles, which are channels of every file).
	shared := plan.Without(plan.Settings("ingest.simulate", effective(s, c)), "ingest.simulate.blades",
		"ingest.simulate.rpm", "ingest.simulate.alpha_deg", "ingest.simulate.u_inf_m_s")
	var deps []engine.Dep
	one := func(name string, local []kv.Pair, weight float64, run func(ctx context.Context, path string) error) {
		t := b.Add(&engine.Task{
			ID: b.ID("simulate", name), Stage: "simulate", Version: version, Config: shared, Local: local, Weight: weight,
			Publish: []engine.Link{{Output: name, Path: filepath.Join(folder, name)}},
			Run:     func(ctx context.Context, j *engine.Job) error { return run(ctx, j.Output(name)) },
		})
		deps = append(deps, engine.Dep{Task: t.ID, Output: name})
	}
	for i, f := range c.Files() {
		one(f.Name, []kv.Pair{{Key: "file", Value: f.Name}}, heavy[c.Kind()], func(ctx context.Context, path string) error {
			w, err := os.Create(path)
			if err != nil {
				return fmt.Errorf("create simulated recording: %w", err)
			}
			return errors.Join(c.Write(ctx, w, i), w.Close())
		})
	}
	files := deps
	var conditions bytes.Buffer
	if err := c.Conditions(&conditions); err != nil {
		return fmt.Errorf("list simulated conditions: %w", err)
	}
	text := func(name, body string) {
		if body != "" {
			one(name, []kv.Pair{{Key: "digest", Value: plan.Digest([]kv.Pair{{Key: name, Value: body}})}}, 0.001,
				func(_ context.Context, path string) error {
					return os.WriteFile(path, []byte(body), 0o644)
				})
		}
	}
	text("conditions.csv", conditions.String())
	text("README.txt", c.Readme())
	b.Campaign, b.Simulated = c, files
	return nil
}

// keys are the configuration's names of the campaigns' fields.
var keys = map[string]string{
	"RateHz": "rate_hz", "DurationS": "duration_s", "Encoding": "encoding", "Blades": "blades", "RPM": "rpm",
	"ThetaDeg": "theta_deg", "AlphaDeg": "alpha_deg", "SpeedMS": "u_inf_m_s", "N": "triplets", "Gamma": "gamma",
}

// placed gives every error of a campaign's fields its place in the file.
func placed(b *plan.Builder, err error) error {
	list := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		list = many.Unwrap()
	}
	var out config.Errors
	for _, e := range list {
		key, text := b.At+".ingest.simulate", e.Error()
		var fe *simulate.FieldError
		if errors.As(e, &fe) {
			name, _, _ := strings.Cut(fe.Field, "[")
			if k, ok := keys[name]; ok {
				key, text = key+"."+k, fe.Text
			}
		}
		out = append(out, b.File.Errorf(key, "%s", text))
	}
	return out
}

// effective returns s with the campaign's defaults filled in, so that they are
// part of the key and of the tables' metadata.
func effective(s *config.Simulate, c simulate.Campaign) config.Simulate {
	e := *s
	switch c := c.(type) {
	case simulate.Rotor:
		e.RateHz, e.DurationS, e.Encoding, e.ThetaDeg = c.RateHz, c.DurationS, c.Encoding, c.ThetaDeg
	case simulate.Airfoil:
		e.RateHz, e.DurationS = c.RateHz, c.DurationS
	case simulate.Toy:
		e.Triplets, e.Gamma = c.N, c.Gamma
	}
	return e
}

// SimulatedIngest returns the ingest settings of an experiment on a simulated
// campaign. Defaults are filled in, because they are in no file and belong into
// the tables' metadata.
func SimulatedIngest(in config.Ingest, c simulate.Campaign) config.Ingest {
	e := effective(in.Simulate, c)
	in.Simulate = &e
	switch c := c.(type) {
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

func SimulatedConditions(c simulate.Campaign) (*campaign.Conditions, error) {
	var b bytes.Buffer
	if err := c.Conditions(&b); err != nil {
		return nil, fmt.Errorf("list simulated conditions: %w", err)
	}
	return campaign.ParseConditions("conditions.csv", strings.NewReader(b.String()))
}
