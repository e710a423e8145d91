package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/score"
)

// fewestGroups is the least number of groups of the measured examples whose intervals should hold: 16 do in the table
// of docs/research/intervals.md.
const fewestGroups = 14

// measuredExperiments hold out groups of two measured examples: tow speeds and tip-speed ratios of a turbine, and
// propellers and speeds of a stand. The networks are small, because the calibrated model is judged.
const measuredExperiments = `  speeds:
    ingest: &turbine
      data: measured
      table: {file: examples/rm2-turbine/runs.csv, inputs: [tow_speed_m_s, tsr], repeats: [cp, cd], run: run,
        pairs: repeat-run}
    train: {inputs: [tow_speed_m_s, tsr], splits: {each: tow_speed_m_s},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
  ratios:
    ingest: *turbine
    train: {inputs: [tow_speed_m_s, tsr], splits: {ratios: {each: tsr, blocks: 8}},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
  propellers:
    ingest: &stand
      data: measured
      table: {file: examples/propeller-stand/pairs.csv, inputs: [propeller, blades, pitch_in, rpm], y1: [kt_1],
        y2: [kt_2], run: run, pairs: repeat-run}
    train: {inputs: [blades, pitch_in, rpm], splits: {each: propeller}, honest: {labels: true},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
  rates:
    ingest: *stand
    train: {inputs: [blades, pitch_in, rpm], splits: {rates: {each: rpm, blocks: 8}},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
`

// simulatedRigs are a fan, and a rig with five blade counts.
const simulatedRigs = `  fan:
    ingest: {simulate: {campaign: rotor, seed: 41, blades: [5], theta_deg: [-60, -30, 0, 30, 60]}}
    dsp: {triplets: split-half-spectrum, harmonics: 3, tolerance: 0.03, amplitude: band}
    train: {inputs: [rpm, theta_deg], splits: {rates: {each: rpm, blocks: 8}},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
  rig:
    ingest: {simulate: {campaign: rotor, seed: 41, blades: [2, 3, 4, 5, 6], theta_deg: [-60, -30, 0, 30, 60]}}
    dsp: {triplets: split-half-spectrum, harmonics: 3, tolerance: 0.03, amplitude: band}
    train: {inputs: [blades, rpm, theta_deg], splits: {each: blades},
      model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1}
`

// The grade before measuring comes from the left-out groups alone. Of the groups of the measured examples that it
// grades "holds", none fails when it is measured, and all but one hold or are wide. Simulated campaigns are only
// logged, for the table in docs/research/intervals.md.
func TestBeforeAgainstAfter(t *testing.T) {
	longtest.SkipUnlessStudy(t)
	dir := t.TempDir()
	yaml := "version: 1\nworkdir: runs\nexperiments:\n" + measuredExperiments + simulatedRigs
	for _, campaign := range jitteringCampaigns {
		yaml += campaign.write(t, dir, usualJitter)
	}

	require.NoError(t, os.Symlink(absolute(t, "../examples"), filepath.Join(dir, "examples")))
	write(t, dir, "pipeline.yaml", yaml)

	type grades struct{ before, after score.Grade }

	measured := map[grades]int{} // numbers of groups
	simulated := map[grades]int{}
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			before := s.Honest.Calibration.GroupEvidence()
			after := s.Verdict()
			if e.Data == "measured" {
				measured[grades{before.Grade(), after}]++
			} else {
				simulated[grades{before.Grade(), after}]++
			}

			t.Logf("%s %s: %s by %d groups, width over spread %.2f; measured: %s, %.2f inside, %.2f", name, s.Name,
				before.Grade(), before.Units, before.WidthOverSpread, after, s.Honest.Record.After.Coverage,
				s.Honest.Record.WidthOverSpread)
		}
	}

	t.Logf("simulated campaigns: %v", simulated)

	groups := 0 // graded "holds" before
	for g, n := range measured {
		t.Logf("before %s, after %s: %d", g.before, g.after, n)

		if g.before == score.Holds {
			groups += n
		}
	}

	// Wide intervals contain enough values too.
	held := measured[grades{score.Holds, score.Holds}] + measured[grades{score.Holds, score.Wide}]
	assert.GreaterOrEqual(t, groups, fewestGroups, "groups whose intervals should hold")
	assert.Zero(t, measured[grades{score.Holds, score.Fails}], "groups that fail although they should hold")
	assert.GreaterOrEqual(t, held, groups-1, "groups that hold or are wide")
}
