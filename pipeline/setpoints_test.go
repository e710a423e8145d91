package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/simulate"
	"doubletake/internal/longtest"
	"doubletake/report"
	"doubletake/report/answer/predict"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// jittering is a campaign whose speeds scatter about set points. Each set point is repeated. A rotor has recordings
// and a log that states the measured speeds. A balance has a table with a row for each run.
type jittering struct {
	name   string
	blades []int     // nil: a balance
	speeds []float64 // set points
	angles []float64
	within string // tolerance of the speeds
	inputs string
	splits string
	stray  float64 // one more speed; 0: none
}

// jitteringCampaigns are two rotors and a balance.
var jitteringCampaigns = []jittering{
	{
		name: "jittering-fan", blades: []int{5}, speeds: []float64{1200, 1600, 2000, 2400, 3000},
		angles: []float64{-30, 0, 30}, within: "rpm: 0.5 %", inputs: "rpm, theta_deg",
		splits: "final: {test: none}, speeds: {each: rpm}",
	},
	{
		name: "jittering-rig", blades: []int{2, 3, 4, 5, 6}, speeds: []float64{3000, 4500, 6000},
		angles: []float64{-30, 30}, within: "rpm: 0.5 %", inputs: "blades, rpm, theta_deg",
		splits: "final: {test: none}, speeds: {each: rpm}",
	},
	{
		name: "jittering-balance", speeds: []float64{5, 8, 11, 14, 17, 20}, angles: []float64{-4, 0, 3, 6},
		within: "u_inf_m_s: 0.5 %", inputs: "alpha_deg, u_inf_m_s",
		splits: "final: {test: none}, speeds: {each: u_inf_m_s}",
	},
}

// force returns the force in N of a coefficient at a speed in m/s, on a wing of 0.1 m by 0.25 m.
func force(coefficient, speed float64) float64 {
	const density = 1.204
	return coefficient * 0.5 * density * speed * speed * 0.1 * 0.25
}

const (
	jitteringRepeats = 3
	jitteringSeed    = 34

	// usualJitter is the share of a set point by which speeds scatter about it at most.
	usualJitter = 0.003

	// lawDB is how far a level may lie from the law: four standard deviations of the mean of three runs of 2 s
	// whose tones fluctuate by 8 % with a correlation time of 0.5 s, 0.25 dB.
	lawDB = 1.0
)

// write writes the campaign's files below dir and returns its experiment. Speeds scatter evenly about the set points by
// up to the share jitter.
func (c jittering) write(t testing.TB, dir string, jitter float64) (yaml string) {
	t.Helper()

	rng := rand.New(rand.NewPCG(jitteringSeed, 0))
	scatter := func(setPoint float64) float64 {
		speed := setPoint * (1 + jitter*(2*rng.Float64()-1))
		return math.Round(speed*1000) / 1000
	}

	if c.blades == nil {
		return c.writeBalance(t, dir, rng, scatter)
	}

	return c.writeRotor(t, dir, jitter, scatter)
}

// train returns the section train of the experiment.
func (c jittering) train() string {
	return "    train: {model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1, splits: {" + c.splits + "}, inputs: [" +
		c.inputs + "]}\n"
}

// writeBalance writes a table of forces with noise, and returns its experiment.
func (c jittering) writeBalance(t testing.TB, dir string, rng *rand.Rand, scatter func(float64) float64) string {
	t.Helper()

	table := "run,alpha_deg,u_inf_m_s,lift_n,drag_n\n"
	run := 0
	for range jitteringRepeats + 1 {
		for _, setPoint := range c.speeds {
			for _, alpha := range c.angles {
				run++
				speed := scatter(setPoint)
				cl, cd, _ := simulate.AirfoilMean(alpha, speed)
				noise := 0.01 * force(1, speed)
				lift := force(cl, speed) + noise*rng.NormFloat64()
				drag := force(cd, speed) + noise/4*rng.NormFloat64()
				table += fmt.Sprintf("%d,%g,%g,%.6f,%.6f\n", run, alpha, speed, lift, drag)
			}
		}
	}

	write(t, dir, c.name+".csv", table)

	return fmt.Sprintf(`  %s:
    ingest:
      data: simulated
      within: {%s}
      table: {file: %s.csv, run: run, inputs: [alpha_deg, u_inf_m_s], repeats: [lift_n, drag_n]}
%s`, c.name, c.within, c.name, c.train())
}

// writeRotor simulates the recordings of a rotor, writes their log, and returns their experiment. The draws of noise
// are the same with and without jitter. Repeats at exact speeds differ by parts of a million, because a file is named
// after its speed; their log states the set points.
func (c jittering) writeRotor(t testing.TB, dir string, jitter float64, scatter func(float64) float64) string {
	t.Helper()

	rotor := simulate.DefaultRotor()
	rotor.Seed = jitteringSeed
	rotor.Blades = c.blades
	rotor.RPM = nil
	rotor.ThetaDeg = c.angles
	rotor.DurationS = 2
	stated := map[float64]float64{} // speeds of the log, by the simulated ones
	for day := range jitteringRepeats {
		for _, setPoint := range c.speeds {
			rpm := scatter(setPoint)
			stated[rpm] = rpm
			if jitter == 0 {
				rpm += float64(day) / 1000
				stated[rpm] = setPoint
			}

			rotor.RPM = append(rotor.RPM, rpm)
			rotor.Draws = append(rotor.Draws, fmt.Sprintf("%g, day %d", setPoint, day))
		}
	}

	if c.stray > 0 {
		rotor.RPM = append(rotor.RPM, c.stray)
		rotor.Draws = append(rotor.Draws, "stray")
		stated[c.stray] = c.stray
	}

	require.NoError(t, simulate.WriteDir(context.Background(), rotor, filepath.Join(dir, c.name), 2, nil))

	log := "file,channel,blades,rpm,theta_deg\n"
	for _, f := range rotor.Files() {
		for m, angle := range c.angles {
			rpm := stated[f.Conditions["rpm"]]
			log += fmt.Sprintf("%s,%d,%g,%g,%g\n", f.Name, m+1, f.Conditions["blades"], rpm, angle)
		}
	}

	write(t, dir, filepath.Join(c.name, "log.csv"), log)

	return fmt.Sprintf(`  %s:
    ingest:
      files: %s/*.wav
      data: simulated
      conditions: %s/log.csv
      within: {%s}
      calibration: {full_scale_v: 0.05, reading: peak, sensitivity_v_per_pa: 0.05}
    dsp: {triplets: split-half-spectrum, harmonics: 3, tolerance: 0.03, amplitude: band}
%s`, c.name, c.name, c.name, c.within, c.train())
}

// If speeds scatter by 0.3 % about set points, calibrated intervals are at most 1.2 times as wide as those of the same
// campaign at exact speeds. That holds at every set point, for the model that has seen it and for the model that has
// not, and between set points.
func TestJitteringCampaigns(t *testing.T) {
	for _, c := range jitteringCampaigns {
		t.Run(c.name, func(t *testing.T) {
			if c.blades != nil {
				longtest.Skip(t, "simulates rotors, twice")
			}

			exact := c.halfWidths(t, 0)
			scattered := c.halfWidths(t, usualJitter)
			require.Len(t, exact, 3*len(c.speeds)-1, "half-widths at exact speeds")
			require.Len(t, scattered, 3*len(c.speeds)-1, "half-widths at scattered speeds")

			for place, halfWidth := range scattered {
				t.Logf("%s: %.4g, at exact speeds %.4g", place, halfWidth, exact[place])
				assert.LessOrEqual(t, halfWidth, 1.2*exact[place], "half-width at %s", place)
			}
		})
	}
}

// run writes the campaign, runs it and returns its folder of results and its report.
func (c jittering) run(t *testing.T, jitter float64) (dir string, e report.Experiment) {
	t.Helper()

	project := t.TempDir()
	write(t, project, "pipeline.yaml", "version: 1\nworkdir: runs\nexperiments:\n"+c.write(t, project, jitter))

	return filepath.Join(project, "runs", c.name), runIn(t, project)[c.name]
}

// speedName returns the name of the condition that is the speed.
func (c jittering) speedName() string {
	name, _, _ := strings.Cut(c.within, ":")
	return name
}

// halfWidths runs the campaign and returns the half-widths of the first outcome's calibrated intervals, as means over
// the angles: at each set point of the final model and of the model that did not see it, and of the final model between
// set points. Predictions are compared with the law. halfWidths also asserts that splits are named after set points,
// and that no repeat of a held-out set point is trained on.
func (c jittering) halfWidths(t *testing.T, jitter float64) map[string]float64 {
	t.Helper()

	dir, e := c.run(t, jitter)
	require.Len(t, e.Splits, len(c.speeds), "splits: one for each set point")

	if jitter > 0 {
		c.assertScatterIsInside(t, filepath.Join(dir, "splits", "final"))
	}

	const final = "final"
	halfWidths := map[string]float64{}
	compared := 0 // with the law
	add := func(name, split string, speed float64) {
		p := c.predict(t, filepath.Join(dir, "splits", split, "honest.json"), speed)
		for i := range c.angles {
			halfWidths[name] += p.Half[i*p.Out] / float64(len(c.angles))
		}

		// A model that did not see a set point may be far from its levels.
		if c.blades == nil || split == final {
			compared += c.assertLaw(t, dir, p, speed)
		}
	}

	for k, split := range e.Splits {
		setPoint := c.speeds[k]
		name := fmt.Sprintf("%s = %g", c.speedName(), setPoint)
		heldOut, _, isScattered := strings.Cut(split.HeldOut, " ± ")
		assert.Equal(t, name, heldOut, "set point of a split")
		assert.Equal(t, jitter > 0, isScattered, "a scatter in the name %q", split.HeldOut)
		c.assertRepeatsHeldOut(t, filepath.Join(dir, "splits", split.Name), setPoint)

		add(name, final, setPoint)
		add(name+" by the model without it", split.Name, setPoint)
		if k > 0 {
			add(name+" and the one before, between them", final, (setPoint+c.speeds[k-1])/2)
		}
	}

	assert.GreaterOrEqual(t, compared, 2, "outcomes compared with the law")

	return halfWidths
}

// assertLaw compares the predictions at a speed and all angles with the law. Forces are within the calibrated interval.
// Levels are also within lawDB, and are compared only if their lines are above the noise. It returns the number of
// outcomes that were compared.
func (c jittering) assertLaw(t *testing.T, dir string, p *interval.Prediction, speed float64) (compared int) {
	t.Helper()

	for i, angle := range c.angles {
		for outcome, law := range c.law(angle, speed) {
			k := i*p.Out + outcome
			limit := p.Half[k]
			if c.blades != nil {
				if !c.isAboveNoise(t, dir, outcome, speed, angle) {
					continue
				}

				limit = min(limit, lawDB)
			}

			assert.InDelta(t, law, p.Mu[k], limit, "%s = %g, %g°, outcome %d", c.speedName(), speed, angle, outcome+1)
			compared++
		}
	}

	return compared
}

// isAboveNoise reports whether a harmonic was measured at a set point, and is above the noise in all measurements. The
// level of a line in the noise is a bound.
func (c jittering) isAboveNoise(t *testing.T, dir string, outcome int, speed, angle float64) bool {
	t.Helper()

	triplets := readTable(t, dir, "triplets.arrow")
	speeds := column(t, triplets, c.speedName())
	angles := column(t, triplets, "theta_deg")
	blades := column(t, triplets, "blades")
	measured := 0
	for row, isEmergent := range triplets.Column(fmt.Sprintf("bpf%d_db_emergent", outcome+1)).Bools {
		isSpeed := math.Abs(speeds[row]/speed-1) < 0.005
		if !isSpeed || angles[row] != angle || blades[row] != float64(c.predictedBlades()) {
			continue
		}

		if !isEmergent {
			return false
		}

		measured++
	}

	return measured > 0
}

// predictedBlades returns the number of blades whose predictions are compared, and 0 for a balance.
func (c jittering) predictedBlades() int {
	if c.blades == nil {
		return 0
	}

	return c.blades[len(c.blades)/2]
}

// law returns the outcomes at an angle and a speed by the law of the simulation: levels of a rotor's harmonics in dB,
// whose amplitudes are those of Rotor.AmplitudesPa, or the lift in N.
func (c jittering) law(angle, speed float64) []float64 {
	if c.blades == nil {
		cl, _, _ := simulate.AirfoilMean(angle, speed)
		return []float64{force(cl, speed)}
	}

	rotor := simulate.DefaultRotor()
	rotor.Seed = jitteringSeed
	orders := rotor.AmplitudesPa(c.predictedBlades(), speed, angle) // by the order of the shaft
	var levels []float64
	for harmonic := 1; harmonic <= 3; harmonic++ {
		levels = append(levels, soundLevel(orders[harmonic*c.predictedBlades()]))
	}

	return levels
}

// predict returns the calibrated predictions of a stored model at a speed and all angles.
func (c jittering) predict(t *testing.T, path string, speed float64) *interval.Prediction {
	t.Helper()

	m, err := honest.Read(path)
	require.NoError(t, err)

	p, err := m.Predict(t.Context(), c.conditionsAt(speed), 0, nil)
	require.NoError(t, err)

	return p
}

// conditionsAt returns the inputs at a speed and all angles, row by row.
func (c jittering) conditionsAt(speed float64) []float64 {
	var rows []float64
	for _, angle := range c.angles {
		values := map[string]float64{
			"blades": float64(c.predictedBlades()), c.speedName(): speed, "theta_deg": angle, "alpha_deg": angle,
		}
		for _, input := range strings.Split(c.inputs, ", ") {
			rows = append(rows, values[input])
		}
	}

	return rows
}

// assertScatterIsInside asserts that a speed in the scatter of the highest set point, above all that were measured, is
// answered as if it were measured, and that a higher speed is not.
func (c jittering) assertScatterIsInside(t *testing.T, dir string) {
	t.Helper()

	m, err := predict.Open(dir, nil)
	require.NoError(t, err)

	const measured = "measured: this condition was simulated"
	inputs := len(strings.Split(c.inputs, ", "))
	highest := c.speeds[len(c.speeds)-1]

	near := c.conditionsAt(1.0045 * highest)
	answer, err := m.Recommend(t.Context(), near, predict.Options{})
	require.NoError(t, err)
	assert.Equal(t, measured, answer.Position[0], "position of a speed in the scatter")
	assert.False(t, math.IsNaN(answer.Half[0]), "a speed in the scatter must have an interval")
	assert.Nil(t, m.Outside(near[:inputs]), "a speed in the scatter")

	far := c.conditionsAt(1.02 * highest)
	answer, err = m.Recommend(t.Context(), far, predict.Options{})
	require.NoError(t, err)
	assert.NotEqual(t, measured, answer.Position[0], "position of a speed beyond the scatter")
	assert.NotNil(t, m.Outside(far[:inputs]), "a speed beyond the scatter")
}

// assertRepeatsHeldOut asserts that a split holds out exactly the rows within 0.5 % of the set point.
func (c jittering) assertRepeatsHeldOut(t *testing.T, split string, setPoint float64) {
	t.Helper()

	predictions := readTable(t, split, "seed-0", "predictions.arrow")
	speeds := column(t, predictions, c.speedName())
	for row, set := range predictions.Column("set").Strings {
		isNear := math.Abs(speeds[row]/setPoint-1) < 0.005
		assert.Equal(t, isNear, set == "test", "%s: the row at %g is held out", split, speeds[row])
	}
}

// Blocks are made of whole set points. A speed of 2408.4 among those about 2400 is in no block without them, and the
// intervals of blocks are at most twice as wide as those of single set points.
func TestBlocksOfSetPoints(t *testing.T) {
	longtest.SkipUnlessStudy(t)

	c := jitteringCampaigns[0]
	c.stray = 2408.4
	_, single := c.run(t, usualJitter)
	require.Len(t, single.Splits, 5, "splits of single set points")

	c.splits = "blocks: {each: rpm, blocks: 4}"
	_, blocks := c.run(t, usualJitter)
	var heldOut []string
	for _, split := range blocks.Splits {
		heldOut = append(heldOut, split.HeldOut)
	}

	assert.Equal(t, []string{
		"rpm = 1200 ± 3.6", "rpm = 1600 ± 3.6", "rpm = 2000 ± 5.4", "rpm = 2400 ± 8.4, 3000 ± 6",
	}, heldOut)
	assert.LessOrEqual(t, widest(blocks), 2*widest(single), "widest interval of blocks against single set points")
}

// widest returns the largest half-width of the intervals of all splits.
func widest(e report.Experiment) float64 {
	half := 0.0
	for _, split := range e.Splits {
		half = max(half, slices.Max(split.Honest.Record.Half))
	}

	return half
}
