package pipeline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Simulated campaigns with seeds 1 to 3: each of four rotors and each of five speeds
// of a wing is held out in turn. The calibrated intervals, by the process and its
// default settings, cover every one of these 27 sets to at least 90 %, and the
// rotors' R² in order form is what the prototype of the method reached.
//
// Witness: the simulation, whose outcomes of the held-out group enter nowhere. R² of
// the prototype (torch) on the same triplets: rotors .774 .926 .955 .921, .945 .971
// .895 .905, .897 .903 .963 .943, on average .917.
func TestCampaignIntervals(t *testing.T) {
	long(t, "takes two minutes")

	config := "version: 1\nexperiments:\n"
	for seed := 1; seed <= 3; seed++ {
		config += fmt.Sprintf(`  drone%d:
    ingest: {simulate: {campaign: rotor, seed: %d}}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03, amplitude: band, output: dB}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [4]}
      optimizer: {epochs: 1}
      seeds: 1
      splits: {held-out: {each: blades}}
  airfoil%d:
    ingest: {simulate: {campaign: airfoil, seed: %d}}
    dsp: {triplets: random-samples, samples: 250, chord_m: 0.10, span_m: 0.25, density_kg_m3: 1.204}
    train:
      inputs: [alpha_deg, u_inf_m_s]
      model: {hidden: [4]}
      optimizer: {epochs: 1, batch: 256}
      seeds: 1
      splits: {held-out: {each: u_inf_m_s}}
`, seed, seed, seed, seed)
	}

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)

	rotors, sum, sets := 0, 0.0, 0
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			if h == nil || h.Absent != "" {
				t.Fatalf("%s %s: no calibration: %+v", name, s.Name, h)
			}

			r := h.Record
			sets++
			t.Logf("%s %-14s R² %.3f, coverage %.3f → %.3f, Σe/Σv̂ %.2f → %.2f ± %.2f, width over spread %.2f, "+
				"score %.2f → %.2f", name, s.Name, r.R2, r.Before.Normal.Coverage, r.After.Student.Coverage,
				r.Before.Ratio, r.After.Ratio, r.After.RatioSE, r.WidthOverSpread,
				r.Before.Normal.Score, r.After.Student.Score)

			if r.After.Student.Coverage < 0.9 {
				t.Errorf("%s %s: %.1f %% of the values inside", name, s.Name, 100*r.After.Student.Coverage)
			}

			if strings.HasPrefix(name, "drone") {
				rotors++
				sum += r.R2

				if r.R2 < 0.75 || !strings.Contains(h.Calibration.Base, "order form") {
					t.Errorf("%s %s: R² %.3f by %s", name, s.Name, r.R2, h.Calibration.Base)
				}
			}
		}
	}

	if rotors != 12 || sets != 27 || sum/12 < 0.88 {
		t.Errorf("%d rotors of %d sets, mean R² %.3f", rotors, sets, sum/float64(rotors))
	}

	t.Logf("mean R² of %d rotors: %.3f", rotors, sum/float64(rotors))
}

// Ensembles of five networks with the form B, on the rotors of the same campaigns:
// S = Σe/Σv̂ lies between 0.4 and 2.5 on at least 11 of the 12 held-out rotors, the
// intervals cover at least 90 % of each, and their mean score is below that of the
// ensemble alone and of no model.
//
// Witness: the simulation, as above. The prototype: S .66 to 3.09, coverage .98 at
// least.
func TestCampaignIntervalsByNetworks(t *testing.T) {
	long(t, "takes ten minutes")

	config := "version: 1\nexperiments:\n"
	for seed := 1; seed <= 3; seed++ {
		config += fmt.Sprintf(`  drone%d:
    ingest: {simulate: {campaign: rotor, seed: %d}}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03, amplitude: band, output: dB}
    train:
      inputs: [blades, rpm, theta_deg]
      optimizer: {learning_rate: 1e-3, batch: 32, epochs: 500}
      seeds: 1
      honest: {base: ensemble}
      splits: {held-out: {each: blades}}
`, seed, seed)
	}

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", config)
	sets, within := 0, 0

	var before, after, free float64
	for name, e := range runIn(t, dir) {
		for _, s := range e.Splits {
			h := s.Honest
			if h == nil || h.Absent != "" {
				t.Fatalf("%s %s: no calibration: %+v", name, s.Name, h)
			}

			r := h.Record
			sets++
			before, after, free = before+r.Before.Normal.Score, after+r.After.Student.Score, free+r.ModelFree.Score

			if r.After.Ratio >= 0.4 && r.After.Ratio <= 2.5 {
				within++
			}

			t.Logf("%s %s R² %.3f, coverage %.3f → %.3f, Σe/Σv̂ %.2f → %.2f ± %.2f, width over spread %.2f, "+
				"score %.2f → %.2f", name, s.Name, r.R2, r.Before.Normal.Coverage, r.After.Student.Coverage,
				r.Before.Ratio, r.After.Ratio, r.After.RatioSE, r.WidthOverSpread,
				r.Before.Normal.Score, r.After.Student.Score)

			if r.After.Student.Coverage < 0.9 {
				t.Errorf("%s %s: %.1f %% of the values inside", name, s.Name, 100*r.After.Student.Coverage)
			}
		}
	}

	t.Logf("S within 0.4 to 2.5 on %d of %d; mean score %.2f → %.2f, without a model %.2f", within, sets,
		before/12, after/12, free/12)

	if sets != 12 || within < 11 || after >= before || after >= free {
		t.Errorf("S within 0.4 to 2.5 on %d of %d; mean score %.2f → %.2f, without a model %.2f", within, sets,
			before/12, after/12, free/12)
	}
}

// Beyond the toy's data an ensemble is wrong in a way that no left-out block of x
// shows: the report says in words that its interval does not hold. That of the
// process holds there. Witness: the law the toy is drawn from; the prototype's
// interval by networks covered 32 to 80 %.
func TestToyOutside(t *testing.T) {
	long(t, "trains ensembles without each of eight blocks")
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
	const words = "use with care: the intervals do not hold."
	networks, process := all["ensemble"].Splits[0], all["process"].Splits[0]
	k, r := networks.Honest.Calibration.K, networks.Honest.Record.After.Student
	if k != 8 || r.Coverage >= 0.9 || !strings.Contains(networks.Sentence(), words) {
		t.Errorf("ensemble: K = %d, coverage %.3f: %s", k, r.Coverage, networks.Sentence())
	}

	k, r = process.Honest.Calibration.K, process.Honest.Record.After.Student
	if k != 8 || r.Coverage < 0.9 || !strings.Contains(process.Sentence(), "the intervals hold") {
		t.Errorf("process: K = %d, coverage %.3f: %s", k, r.Coverage, process.Sentence())
	}

	page, err := os.ReadFile(dir + "/runs/report.md")
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(page)), " "), words) {
		t.Errorf("report.md does not say %q, %v", words, err)
	}

	t.Log(networks.Sentence())
}
