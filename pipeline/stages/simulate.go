package stages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// campaign makes the campaign a configuration describes; keys that are not
// there leave the campaign's own defaults.
func campaign(s *config.Simulate) (simulate.Campaign, error) {
	var c simulate.Campaign
	switch s.Campaign {
	case "rotor":
		c = simulate.Rotor{Seed: s.Seed, RateHz: s.RateHz, DurationS: s.DurationS, Encoding: s.Encoding, Blades: s.Blades, RPM: s.RPM, ThetaDeg: s.ThetaDeg}.WithDefaults()
	case "airfoil":
		c = simulate.Airfoil{Seed: s.Seed, RateHz: s.RateHz, DurationS: s.DurationS, AlphaDeg: s.AlphaDeg, SpeedMS: s.SpeedMS}.WithDefaults()
	case "toy":
		c = simulate.Toy{Seed: s.Seed, N: s.Triplets, Gamma: s.Gamma}.WithDefaults()
	default:
		return nil, fmt.Errorf("campaign %q: expected rotor, airfoil or toy", s.Campaign)
	}
	return c, c.Validate()
}

// simulate adds a task per file of the campaign. A file depends on the
// campaign's common settings and its own conditions only, so that one more
// speed makes one more file.
func (b *builder) simulate() error {
	s := b.e.Ingest.Simulate
	if s == nil {
		return nil
	}
	c, err := campaign(s)
	if err != nil {
		return b.f.Errorf(b.at+".ingest.simulate", "%v", err)
	}
	folder := b.published("simulated_" + c.Kind())
	// The lists of conditions say which files there are; each file reads only its own
	// (but for the microphone angles, which are channels of every file).
	shared := without(settings("ingest.simulate", effective(s, c)), "ingest.simulate.blades", "ingest.simulate.rpm", "ingest.simulate.alpha_deg", "ingest.simulate.u_inf_m_s")
	var deps []engine.Dep
	one := func(name string, local []engine.KV, weight float64, run func(ctx context.Context, path string) error) {
		t := b.add(&engine.Task{
			ID: b.id("simulate", name), Stage: "simulate", Version: simulateVersion, Config: shared, Local: local, Weight: weight,
			Publish: []engine.Link{{Output: name, Path: filepath.Join(folder, name)}},
			Run:     func(ctx context.Context, j *engine.Job) error { return run(ctx, j.Output(name)) },
		})
		deps = append(deps, engine.Dep{Task: t.ID, Output: name})
	}
	for i, f := range c.Files() {
		one(f.Name, []engine.KV{{Key: "file", Value: f.Name}}, 0.1, func(ctx context.Context, path string) error {
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
			one(name, []engine.KV{{Key: "digest", Value: digest([]engine.KV{{Key: name, Value: body}})}}, 0.1, func(_ context.Context, path string) error {
				return os.WriteFile(path, []byte(body), 0o644)
			})
		}
	}
	text("conditions.csv", conditions.String())
	text("README.txt", c.Readme())
	b.campaign, b.simulated = c, files
	return nil
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

// simulatedIngest is what an experiment on a simulated campaign would have to
// say of its files: the campaign knows. Its defaults are filled in, because
// they stand in no file and belong into the tables' metadata.
func simulatedIngest(in config.Ingest, c simulate.Campaign) config.Ingest {
	e := effective(in.Simulate, c)
	in.Simulate = &e
	switch c := c.(type) {
	case simulate.Rotor:
		in.Calibration = &config.Calibration{FullScaleV: c.FullScaleV, Reading: "peak", SensitivityVPerPa: c.SensitivityVPerPa}
	case simulate.Airfoil:
		in.Columns = []config.NamedString{{Name: "lift_n", Value: "Fz"}, {Name: "drag_n", Value: "Fx"}}
	}
	return in
}

func simulatedConditions(c simulate.Campaign) (*ingest.Conditions, error) {
	var b bytes.Buffer
	if err := c.Conditions(&b); err != nil {
		return nil, fmt.Errorf("list simulated conditions: %w", err)
	}
	return ingest.ParseConditions("conditions.csv", strings.NewReader(b.String()))
}
