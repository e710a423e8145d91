package pipeline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drones are experiments on simulated rotors of these seeds, each blade number held out in turn.
func drones(from, to int, training string) (yaml string) {
	for seed := from; seed <= to; seed++ {
		yaml += fmt.Sprintf(`  drone%d:
    ingest: {simulate: {campaign: rotor, seed: %[1]d}}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03, amplitude: band, output: dB}
    train:
      inputs: [blades, rpm, theta_deg]%s
      seeds: 1
      splits: {held-out: {each: blades}}
`, seed, training)
	}

	return yaml
}

// Simulated campaigns: each of four rotors (seeds 31 to 34, on which nothing was chosen) and
// each of five speeds of a wing (seeds 1 to 3) is held out in turn. The 95 % intervals of the
// process by its default settings cover about 95 % of the values of all rotors, and of all
// wings, and the rotors' are a third as wide as intervals without a model at most.
//
// Witness: the simulation, whose outcomes of the held-out group enter nowhere. The earlier
// intervals of this program, with Student's t of few groups, were .42 as wide.
func TestCampaignIntervals(t *testing.T) {
	study(t)

	config := "version: 1\nexperiments:\n" + drones(31, 34, `
      model: {hidden: [4]}
      optimizer: {epochs: 1}`)
	for seed := 1; seed <= 3; seed++ {
		config += fmt.Sprintf(`  airfoil%d:
    ingest: {simulate: {campaign: airfoil, seed: %d}}
    dsp: {triplets: random-samples, samples: 250, chord_m: 0.10, span_m: 0.25, density_kg_m3: 1.204}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      model: {hidden: [4]}
      optimizer: {epochs: 1, batch: 256}
      seeds: 1
      splits: {held-out: {each: u_inf_m_s}}
`, seed, seed)
	}

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)

	type means struct{ sets, r2, coverage, width float64 }

	var rotors, wings means
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			if h == nil || h.Absent != "" {
				t.Fatalf("%s %s: no calibration: %+v", name, s.Name, h)
			}

			r := h.Record
			t.Logf("%s %-14s R² %.3f, coverage %.3f → %.3f at %.3f, Σe/Σv̂ %.2f → %.2f ± %.2f, width over spread %.2f, "+
				"score %.2f → %.2f", name, s.Name, r.R2, r.Before.Coverage, r.After.Coverage, r.At,
				r.RatioBefore, r.RatioAfter, r.RatioSE, r.WidthOverSpread,
				r.Before.Score, r.After.Score)

			m := &wings
			if strings.HasPrefix(name, "drone") {
				m = &rotors
				assert.Contains(t, h.Calibration.Base, "order form")
			}

			*m = means{m.sets + 1, m.r2 + r.R2, m.coverage + r.After.Coverage, m.width + r.WidthOverSpread}
		}
	}

	coverage := rotors.coverage / 16
	width := rotors.width / 16
	if rotors.sets != 16 || rotors.r2/16 < 0.88 || coverage < 0.92 || coverage > 0.985 || width > 0.33 {
		t.Errorf("%g rotors: mean R² %.3f, coverage %.3f, width over spread %.3f", rotors.sets, rotors.r2/16, coverage, width)
	}

	if coverage := wings.coverage / 15; wings.sets != 15 || coverage < 0.93 || coverage > 0.98 {
		t.Errorf("%g wings: mean coverage %.3f", wings.sets, coverage)
	}

	t.Logf("rotors: mean R² %.3f, coverage %.3f, width over spread %.3f; wings: coverage %.3f", rotors.r2/16, coverage,
		width, wings.coverage/15)
}

// Ensembles of five networks on rotors: the intervals cover 92 to 98 % of the values of twelve
// held-out rotors, and their mean score is below that of the ensemble alone and of no model.
//
// Witness: the simulation, as above.
func TestCampaignIntervalsByNetworks(t *testing.T) {
	study(t)

	config := "version: 1\nexperiments:\n" + drones(1, 3, `
      optimizer: {learning_rate: 1e-3, batch: 32, epochs: 500}
      honest: {base: ensemble}`)

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)
	sets := 0

	var coverage, before, after, free float64
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			if h == nil || h.Absent != "" {
				t.Fatalf("%s %s: no calibration: %+v", name, s.Name, h)
			}

			r := h.Record
			sets++
			coverage += r.After.Coverage / 12
			before += r.Before.Score
			after += r.After.Score
			free += r.ModelFree.Score

			t.Logf("%s %s R² %.3f, coverage %.3f → %.3f, Σe/Σv̂ %.2f → %.2f ± %.2f, width over spread %.2f, "+
				"score %.2f → %.2f", name, s.Name, r.R2, r.Before.Coverage, r.After.Coverage,
				r.RatioBefore, r.RatioAfter, r.RatioSE, r.WidthOverSpread,
				r.Before.Score, r.After.Score)
		}
	}

	t.Logf("mean coverage %.3f, score %.2f → %.2f, without a model %.2f", coverage, before/12, after/12, free/12)

	if sets != 12 || coverage < 0.92 || coverage > 0.98 || after >= before || after >= free {
		t.Errorf("%d sets: mean coverage %.3f, score %.2f → %.2f, without a model %.2f", sets, coverage,
			before/12, after/12, free/12)
	}
}

// Beyond the toy's data an ensemble is wrong in a way that no left-out block of x
// shows: the report says in words that its interval does not hold. That of the
// process holds there. Witness: the law the toy is drawn from; the prototype's
// interval by networks covered 32 to 80 %.
func TestToyOutside(t *testing.T) {
	study(t)
	const config = `version: 1
experiments:
  ensemble:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5}}
    train:
      inputs: [x]
      standardise: false
      optimizer: {learning_rate: 1e-3, epochs: 200}
      seeds: 1
      members: 2
      honest: {base: ensemble}
      splits: {outside: {test: {x: {min: 5}}}}
  process:
    ingest: {simulate: {campaign: toy, seed: 1, gamma: 1.5}}
    train:
      inputs: [x]
      standardise: false
      optimizer: {epochs: 1}
      seeds: 1
      splits: {outside: {test: {x: {min: 5}}}}
`

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)
	all := runIn(t, dir)
	const words = ": does not hold"
	networks := all["ensemble"].Splits[0]
	process := all["process"].Splits[0]
	k := networks.Honest.Calibration.K
	r := networks.Honest.Record.After
	if k != 8 || r.Coverage >= 0.9 || !strings.Contains(networks.Sentence(), words) {
		t.Errorf("ensemble: K = %d, coverage %.3f: %s", k, r.Coverage, networks.Sentence())
	}

	k = process.Honest.Calibration.K
	r = process.Honest.Record.After
	if k != 8 || r.Coverage < 0.9 || !strings.Contains(process.Sentence(), ": holds") {
		t.Errorf("process: K = %d, coverage %.3f: %s", k, r.Coverage, process.Sentence())
	}

	page, err := os.ReadFile(dir + "/runs/report.md")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(page)), " "), words, "report.md")

	t.Log(networks.Sentence())
}
