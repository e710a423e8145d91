package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// campaign is a campaign that the bench measures, with the bounds of its figures.
type campaign struct {
	name      string  // in -only
	title     string  // in the table
	seconds   float64 // bound of the processor time of training and report; 0: none
	megabytes float64 // bound of the largest memory; 0: none

	rows     int
	outcomes int
	groups   int
	inputs   int    // besides the group
	byName   bool   // the groups are named things; otherwise they are numbers
	splits   string // the configuration's splits
	networks string // further keys of train; "": the default networks

	simulate string // the configuration's simulated campaign instead of a table; "": a table
}

// shortNetworks are the networks of campaigns with many rows, where the default networks alone would take 400 s.
const shortNetworks = ", seeds: 1, optimizer: {epochs: 20}"

// campaigns lists the campaigns in the order of the table.
func campaigns() []campaign {
	return []campaign{
		{
			name: "504x18", title: "504 rows × 18 outcomes, six splits", rows: 504, outcomes: 18, groups: 6, inputs: 2,
			splits: "{each: thing}",
		},
		{
			name: "696", title: "696 rows, five inputs, 12 families by name, 12 splits", seconds: 50, rows: 696,
			outcomes: 2, groups: 12, inputs: 5, byName: true, splits: "{each: thing}",
		},
		{
			name: "orders", title: "7,200 rows in order form", seconds: 15,
			splits:   "{3-blades: {test: {blades: 3}}}",
			simulate: "{campaign: rotor, seed: 1, duration_s: 4, theta_deg: [" + angles(32) + "]}",
			networks: shortNetworks,
		},
		{
			name: "2000x50", title: "2,000 rows × 50 outcomes, one split", seconds: 60, megabytes: 600, rows: 2000,
			outcomes: 50, groups: 10, inputs: 2, splits: "{held: {test: {thing: 3}}}",
		},
		{
			name: "20000x1", title: "20,000 rows × 1 outcome, ten splits by name", seconds: 120, megabytes: 600,
			rows: 20000, outcomes: 1, groups: 10, inputs: 2, byName: true, splits: "{each: thing}",
			networks: shortNetworks,
		},
		{
			name: "2000x50x10", title: "2,000 rows × 50 outcomes, ten splits", seconds: 300, megabytes: 600,
			rows: 2000, outcomes: 50, groups: 10, inputs: 2, splits: "{each: thing}",
		},
	}
}

// angles lists the given number of microphone angles from −62° to 62°.
func angles(count int) string {
	var list []string
	for k := range count {
		list = append(list, fmt.Sprint(float64(124*k)/float64(count-1)-62))
	}

	return strings.Join(list, ", ")
}

// shorten makes the campaign small, to see that the bench runs.
func (c *campaign) shorten() {
	c.rows /= 10
	c.outcomes = min(c.outcomes, 3)
	c.networks = shortNetworks
	if c.simulate != "" {
		c.simulate = "{campaign: rotor, seed: 1, duration_s: 1, rpm: [3000, 4000, 5000, 6000], theta_deg: [-30, 0, 30]}"
	}
}

// write writes the configuration and the table of the campaign.
func (c campaign) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	configuration := filepath.Join(dir, "pipeline.yaml")
	if c.simulate != "" {
		text := fmt.Sprintf(`version: 1
experiments:
  e:
    ingest: {simulate: %s}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03, amplitude: band, output: dB}
    train: {inputs: [blades, rpm, theta_deg]%s, splits: %s}
`, c.simulate, c.networks, c.splits)

		return os.WriteFile(configuration, []byte(text), 0o644)
	}

	var inputs, y1, y2 []string
	for k := range c.inputs {
		inputs = append(inputs, fmt.Sprintf("x%d", k))
	}

	for j := range c.outcomes {
		y1 = append(y1, fmt.Sprintf("y%d_1", j))
		y2 = append(y2, fmt.Sprintf("y%d_2", j))
	}

	trained := inputs
	if !c.byName {
		trained = append([]string{"thing"}, inputs...)
	}

	text := fmt.Sprintf(`version: 1
experiments:
  e:
    ingest:
      table: {file: pairs.csv, inputs: [thing, %s], y1: [%s], y2: [%s], run: run, pairs: repeat-run}
    train: {inputs: [%s]%s, splits: %s}
`, strings.Join(inputs, ", "), strings.Join(y1, ", "), strings.Join(y2, ", "), strings.Join(trained, ", "),
		c.networks, c.splits)
	if err := os.WriteFile(configuration, []byte(text), 0o644); err != nil {
		return err
	}

	header := append(append(append([]string{"run", "thing"}, inputs...), y1...), y2...)

	return os.WriteFile(filepath.Join(dir, "pairs.csv"), []byte(c.table(header)), 0o644)
}

// table returns a table of simulated pairs: each outcome is a smooth function of the inputs, with a phase of its own
// and a phase of the group, and noise. From the third on, inputs are properties of the group.
func (c campaign) table(header []string) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var table strings.Builder
	fmt.Fprintln(&table, strings.Join(header, ","))
	for i := range c.rows {
		group := i % c.groups
		name := fmt.Sprint(group)
		if c.byName {
			name = fmt.Sprintf("thing%d", group)
		}

		fmt.Fprintf(&table, "r%d,%s", i, name)
		a := rng.Float64()
		b := rng.Float64()
		for k := range c.inputs {
			v := 1 + math.Sin(float64((group+1)*(k+1)))/2 // a property of the group
			switch k {
			case 0:
				v = a
			case 1:
				v = b
			}

			fmt.Fprintf(&table, ",%g", v)
		}

		for k := range 2 * c.outcomes {
			phase := float64(k%c.outcomes) + 0.3*float64(group)
			fmt.Fprintf(&table, ",%g", math.Sin(3*a+phase)+b*b+0.1*rng.NormFloat64())
		}

		fmt.Fprintln(&table)
	}

	return table.String()
}
