package pipeline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// drones returns experiments on simulated rotors with the seeds from first to last. Each holds out each blade number in
// turn. training is inserted into the section train.
func drones(first, last int, training string) string {
	yaml := ""
	for seed := first; seed <= last; seed++ {
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

// Each blade number of four simulated rotors (seeds 31 to 34, on which nothing was chosen) and each of five speeds of
// three wings (seeds 1 to 3) is held out in turn. Nothing of the held-out group enters. The 95 % intervals of the
// process by its default settings cover about 95 % of the values of all rotors, and of all wings, and the rotors' are
// at most a third as wide as intervals without a model. The earlier intervals of this program, with Student's t of few
// groups, were 0.42 as wide.
func TestCampaignIntervals(t *testing.T) {
	longtest.SkipUnlessStudy(t)

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

	var rotors, wings intervalRecords
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			require.NotNil(t, h, "%s %s", name, s.Name)
			require.Empty(t, h.Absent, "%s %s", name, s.Name)

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

			m.r2 = append(m.r2, r.R2)
			m.coverage = append(m.coverage, r.After.Coverage)
			m.width = append(m.width, r.WidthOverSpread)
		}
	}

	require.Len(t, rotors.coverage, 16, "held-out rotors")
	require.Len(t, wings.coverage, 15, "held-out speeds of wings")
	t.Logf("rotors: mean R² %.3f, coverage %.3f, width over spread %.3f; wings: coverage %.3f", mean(rotors.r2),
		mean(rotors.coverage), mean(rotors.width), mean(wings.coverage))

	assert.GreaterOrEqual(t, mean(rotors.r2), 0.88, "mean R² of rotors")
	assert.GreaterOrEqual(t, mean(rotors.coverage), 0.92, "mean coverage of rotors")
	assert.LessOrEqual(t, mean(rotors.coverage), 0.985, "mean coverage of rotors")
	assert.LessOrEqual(t, mean(rotors.width), 0.33, "mean width over spread of rotors")

	assert.GreaterOrEqual(t, mean(wings.coverage), 0.93, "mean coverage of wings")
	assert.LessOrEqual(t, mean(wings.coverage), 0.98, "mean coverage of wings")
}

// intervalRecords are records of held-out sets.
type intervalRecords struct{ r2, coverage, width []float64 }

// mean returns the arithmetic mean.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}

	return sum / float64(len(values))
}

// The intervals of ensembles of five networks cover 92 to 98 % of the values of twelve held-out blade numbers of
// simulated rotors, and their mean score is below that of the ensemble alone and of no model.
func TestCampaignIntervalsByNetworks(t *testing.T) {
	longtest.SkipUnlessStudy(t)

	config := "version: 1\nexperiments:\n" + drones(1, 3, `
      optimizer: {learning_rate: 1e-3, batch: 32, epochs: 500}
      honest: {base: ensemble}`)

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)

	var coverage, scoreBefore, scoreAfter, scoreWithoutModel []float64
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			require.NotNil(t, h, "%s %s", name, s.Name)
			require.Empty(t, h.Absent, "%s %s", name, s.Name)

			r := h.Record
			coverage = append(coverage, r.After.Coverage)
			scoreBefore = append(scoreBefore, r.Before.Score)
			scoreAfter = append(scoreAfter, r.After.Score)
			scoreWithoutModel = append(scoreWithoutModel, r.ModelFree.Score)

			t.Logf("%s %s R² %.3f, coverage %.3f → %.3f, Σe/Σv̂ %.2f → %.2f ± %.2f, width over spread %.2f, "+
				"score %.2f → %.2f", name, s.Name, r.R2, r.Before.Coverage, r.After.Coverage,
				r.RatioBefore, r.RatioAfter, r.RatioSE, r.WidthOverSpread,
				r.Before.Score, r.After.Score)
		}
	}

	require.Len(t, coverage, 12, "held-out rotors")
	t.Logf("mean coverage %.3f, score %.2f → %.2f, without a model %.2f", mean(coverage), mean(scoreBefore),
		mean(scoreAfter), mean(scoreWithoutModel))

	assert.GreaterOrEqual(t, mean(coverage), 0.92, "mean coverage")
	assert.LessOrEqual(t, mean(coverage), 0.98, "mean coverage")
	assert.Less(t, mean(scoreAfter), mean(scoreBefore), "mean score against the ensemble alone")
	assert.Less(t, mean(scoreAfter), mean(scoreWithoutModel), "mean score against no model")
}

// Beyond the toy's data an ensemble is wrong in a way that no left-out block of x shows, and the report says in words
// that its interval does not hold. That of the process holds there. The prototype's interval by networks covered 32 to
// 80 % of the values that the toy's law has there.
func TestToyOutside(t *testing.T) {
	longtest.SkipUnlessStudy(t)
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
	const words = ": fails"
	networks := all["ensemble"].Splits[0]
	assert.Equal(t, 8, networks.Honest.Calibration.K, "blocks of the ensemble")
	assert.Less(t, networks.Honest.Record.After.Coverage, 0.9, "coverage of the ensemble")
	assert.Contains(t, networks.Sentence(), words)

	process := all["process"].Splits[0]
	assert.Equal(t, 8, process.Honest.Calibration.K, "blocks of the process")
	assert.GreaterOrEqual(t, process.Honest.Record.After.Coverage, 0.9, "coverage of the process")
	assert.Contains(t, process.Sentence(), ": holds")

	page, err := os.ReadFile(dir + "/runs/report.md")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(page)), " "), words, "report.md")

	t.Log(networks.Sentence())
}
