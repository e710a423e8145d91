package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
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

// jittering is a campaign as one is measured: repeats of each set point, at speeds that
// scatter about it evenly by a share, with a log as it was typed or a row a run.
type jittering struct {
	name   string
	blades []int
	speeds []float64 // set points
	angles []float64
	within string
	inputs string
	splits string
	stray  float64 // one more speed; 0: none
}

// The two rigs and the balance.
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

// force is that of a coefficient at a speed, in N.
func force(coefficient, u float64) float64 { return coefficient * 0.5 * 1.204 * u * u * 0.1 * 0.25 }

const (
	jitteringRepeats = 3
	jitteringSeed    = 34

	// lawDB is how far a level may lie from the law: four standard deviations of the mean of three runs of 2 s
	// whose tones fluctuate by 8 % with a correlation time of 0.5 s, 0.25 dB.
	lawDB = 1.0
)

// write writes the campaign's files below dir and returns its experiment.
func (c jittering) write(t testing.TB, dir string, jitter float64) (yaml string) {
	t.Helper()

	rng := rand.New(rand.NewPCG(34, 0))
	scatter := func(v float64) float64 {
		return math.Round(v*(1+jitter*(2*rng.Float64()-1))*1000) / 1000
	}

	file := func(name, text string) {
		write(t, dir, name, text)
	}

	train := "    train: {model: {hidden: [4]}, optimizer: {epochs: 1}, seeds: 1, splits: {" + c.splits + "}, inputs: [" +
		c.inputs + "]}\n"
	if c.blades == nil {
		text := "run,alpha_deg,u_inf_m_s,lift_n,drag_n\n"
		run := 0
		for range jitteringRepeats + 1 {
			for _, speed := range c.speeds {
				for _, alpha := range c.angles {
					u := scatter(speed)
					run++
					cl, cd, _ := simulate.AirfoilMean(alpha, u)
					noise := func() float64 { return 0.01 * force(1, u) * rng.NormFloat64() }
					lift := force(cl, u) + noise()
					drag := force(cd, u) + noise()/4
					text += fmt.Sprintf("%d,%g,%g,%.6f,%.6f\n", run, alpha, u, lift, drag)
				}
			}
		}

		file(c.name+".csv", text)

		return fmt.Sprintf("  %s:\n    ingest:\n      data: simulated\n      within: {%s}\n      table: {file: %s.csv, "+
			"run: run, inputs: [alpha_deg, u_inf_m_s], repeats: [lift_n, drag_n]}\n%s", c.name, c.within, c.name, train)
	}

	// Both campaigns have the same draws. Repeats at exact speeds differ by parts of a million,
	// because a file is named after its speed.
	r := simulate.DefaultRotor()
	r.Seed = jitteringSeed
	r.Blades = c.blades
	r.RPM = nil
	r.ThetaDeg = c.angles
	r.DurationS = 2
	stated := map[string]float64{}
	for k := range jitteringRepeats {
		for _, v := range c.speeds {
			rpm := scatter(v)
			if jitter == 0 {
				rpm += float64(k) / 1000
			}

			r.RPM = append(r.RPM, rpm)
			r.Draws = append(r.Draws, fmt.Sprintf("%g, day %d", v, k))
			if stated[fmt.Sprint(rpm)] = v; jitter > 0 {
				stated[fmt.Sprint(rpm)] = rpm
			}
		}
	}

	if c.stray > 0 {
		r.RPM = append(r.RPM, c.stray)
		r.Draws = append(r.Draws, "stray")
		stated[fmt.Sprint(c.stray)] = c.stray
	}

	require.NoError(t, simulate.WriteDir(context.Background(), r, filepath.Join(dir, c.name), 2, nil))

	var log strings.Builder
	fmt.Fprintf(&log, "file,channel,blades,rpm,theta_deg\n")
	for _, f := range r.Files() {
		for k, angle := range c.angles {
			fmt.Fprintf(&log, "%s,%d,%g,%g,%g\n", f.Name, k+1, f.Conditions["blades"],
				stated[fmt.Sprint(f.Conditions["rpm"])], angle)
		}
	}

	file(filepath.Join(c.name, "log.csv"), log.String())

	return fmt.Sprintf(`  %s:
    ingest:
      files: %s/*.wav
      data: simulated
      conditions: %s/log.csv
      within: {%s}
      calibration: {full_scale_v: 0.05, reading: peak, sensitivity_v_per_pa: 0.05}
    dsp: {triplets: split-half-spectrum, harmonics: 3, tolerance: 0.03, amplitude: band}
%s`, c.name, c.name, c.name, c.within, train)
}

// Half-widths of calibrated intervals where speeds scatter by 0.3 %, against the same campaign
// at exact speeds: at most 1.2 times as wide at every set point, of the model that has seen it
// and of the one that has not, and between set points.
func TestJitteringCampaigns(t *testing.T) {
	for _, c := range jitteringCampaigns {
		t.Run(c.name, func(t *testing.T) {
			if c.blades != nil {
				longtest.Skip(t, "simulates rotors, twice")
			}

			exact := c.halfWidths(t, 0)
			scattered := c.halfWidths(t, 0.003)
			if n := 3*len(c.speeds) - 1; len(exact) != n || len(scattered) != n {
				t.Fatalf("%d and %d half-widths, expected %d", len(exact), len(scattered), n)
			}

			for at, w := range scattered {
				if t.Logf("%s: %.4g, at exact speeds %.4g", at, w, exact[at]); !(w <= 1.2*exact[at]) {
					t.Errorf("%s: half-width %.4g, at exact speeds %.4g", at, w, exact[at])
				}
			}
		})
	}
}

// run writes the campaign, runs it and returns its folder of results and its report.
func (c jittering) run(t *testing.T, jitter float64) (string, report.Experiment) {
	t.Helper()

	dir := t.TempDir()
	yaml := "version: 1\nworkdir: runs\nexperiments:\n" + c.write(t, dir, jitter)
	write(t, dir, "pipeline.yaml", yaml)

	return filepath.Join(dir, "runs", c.name), runIn(t, dir)[c.name]
}

// halfWidths runs the campaign and returns the mean half-widths of the calibrated intervals of
// the first outcome at each set point, of the final model and of the one that did not see it,
// and of the final model between them. Forces are compared with their law, and the levels that the final model
// has seen.
func (c jittering) halfWidths(t *testing.T, jitter float64) map[string]float64 {
	t.Helper()

	dir, e := c.run(t, jitter)
	require.Len(t, e.Splits, len(c.speeds), "%d splits of %d set points", len(e.Splits), len(c.speeds))

	out := map[string]float64{}
	condition, _, _ := strings.Cut(c.within, ":")
	if jitter > 0 {
		c.scatterIsInside(t, filepath.Join(dir, "splits", "final"), condition)
	}

	emergent := c.emergent(t, dir, condition)
	levels := 0
	for k, s := range e.Splits {
		title := fmt.Sprintf("%s = %g", condition, c.speeds[k])

		switch {
		case jitter == 0:
			require.Equal(t, title, s.HeldOut, "name of a split")
		case jitter > 0:
			assert.True(t, strings.HasPrefix(s.HeldOut, title+" ± "), "a split is called %q, expected %q", s.HeldOut, title)
		}

		noRepeatIsTrainedOn(t, filepath.Join(dir, "splits", s.Name), condition, c.speeds[k])

		half := func(split, by string, speed float64) {
			p := c.predict(t, filepath.Join(dir, "splits", split, "honest.json"), condition, speed)
			for i, angle := range c.angles {
				out[by] += p.Half[i*p.Out] / float64(len(c.angles))
				for j, law := range c.law(angle, speed) {
					k := i*p.Out + j
					off := p.Mu[k] - law
					limit := p.Half[k]
					if c.blades != nil {
						if limit = min(limit, lawDB); split != "final" || !emergent(j, speed, angle) {
							continue
						}

						levels++
						t.Logf("%s, %g deg, harmonic %d: %.2f dB, %.2f off the law", by, angle, j+1, p.Mu[k], off)
					}

					assert.InDelta(t, law, p.Mu[k], limit, "%s, %g deg, outcome %d", by, angle, j+1)
				}
			}
		}

		half("final", title, c.speeds[k])
		half(s.Name, title+" by the model without it", c.speeds[k])
		if k > 0 {
			half("final", title+" and the one before, between them", (c.speeds[k]+c.speeds[k-1])/2)
		}
	}

	if c.blades != nil {
		assert.GreaterOrEqual(t, levels, 2, "levels compared with the law")
	}

	return out
}

// emergent tells whether the line of an outcome is above the noise in all measurements at a set point. Otherwise its
// level is a bound. Forces have no noise floor.
func (c jittering) emergent(t *testing.T, dir, condition string) func(outcome int, speed, angle float64) bool {
	t.Helper()

	if c.blades == nil {
		return func(int, float64, float64) bool { return true }
	}

	rows := readTable(t, dir, "triplets.arrow")

	numbers := map[string][]float64{}
	for _, name := range []string{condition, "theta_deg", "blades"} {
		numbers[name] = column(t, rows, name)
	}

	return func(outcome int, speed, angle float64) bool {
		found := false
		for i, above := range rows.Column(fmt.Sprintf("bpf%d_db_emergent", outcome+1)).Bools {
			isSetPoint := math.Abs(numbers[condition][i]/speed-1) < 0.005 && numbers["theta_deg"][i] == angle
			if !isSetPoint || numbers["blades"][i] != float64(c.predicted()) {
				continue
			}

			if !above {
				return false
			}

			found = true
		}

		return found
	}
}

// predicted is the number of blades of which predictions are looked at.
func (c jittering) predicted() int {
	if c.blades == nil {
		return 0
	}
	return c.blades[len(c.blades)/2]
}

// law are the outcomes at an angle and a speed by the generator: levels of the harmonics of a rotor in dB, whose
// tones have the amplitudes that Rotor.AmplitudesPa states, or the lift in N.
func (c jittering) law(angle, speed float64) (out []float64) {
	if c.blades == nil {
		cl, _, _ := simulate.AirfoilMean(angle, speed)
		return []float64{force(cl, speed)}
	}

	r := simulate.DefaultRotor()
	r.Seed = jitteringSeed
	a := r.AmplitudesPa(c.predicted(), speed, angle)
	for m := 1; m <= 3; m++ {
		out = append(out, 20*math.Log10(a[m*c.predicted()]/math.Sqrt2/20e-6))
	}

	return out
}

// predict returns the calibrated predictions of a stored model at a speed and all angles.
func (c jittering) predict(t *testing.T, path, condition string, speed float64) *interval.Prediction {
	t.Helper()

	m, err := honest.Read(path)
	require.NoError(t, err)

	p, err := m.Predict(context.Background(), c.at(condition, speed), 0, nil)
	require.NoError(t, err)

	return p
}

// at are the inputs of all angles at a speed.
func (c jittering) at(condition string, speed float64) (x []float64) {
	for _, angle := range c.angles {
		at := map[string]float64{"blades": float64(c.predicted()), condition: speed, "theta_deg": angle, "alpha_deg": angle}
		for _, input := range strings.Split(c.inputs, ", ") {
			x = append(x, at[input])
		}
	}

	return x
}

// scatterIsInside checks that a speed in the scatter of the highest set point, above all that were measured, is
// answered as one of it, and that a higher one is not.
func (c jittering) scatterIsInside(t *testing.T, dir, condition string) {
	t.Helper()

	m, err := predict.Open(dir, nil)
	require.NoError(t, err)

	highest := c.speeds[len(c.speeds)-1]
	for by, inside := range map[float64]bool{1.0045: true, 1.02: false} {
		x := c.at(condition, highest*by)
		r, err := m.Recommend(context.Background(), x, 0, false, nil)
		require.NoError(t, err)

		outside := m.Outside(x[:len(x)/len(c.angles)])
		const simulated = "measured: this condition was simulated"
		assert.Equal(t, inside, r.Position[0] == simulated, "%s = %g: %s", condition, highest*by, r.Position[0])
		assert.Equal(t, inside, outside == nil, "%s = %g: %v", condition, highest*by, outside)
		if inside {
			assert.False(t, math.IsNaN(r.Half[0]), "%s = %g has no interval", condition, highest*by)
		}
	}
}

// noRepeatIsTrainedOn checks that the test part is all rows within 0.5 % of the set point.
func noRepeatIsTrainedOn(t *testing.T, split, condition string, setPoint float64) {
	t.Helper()

	p := readTable(t, split, "seed-0", "predictions.arrow")

	v, err := p.Floats(condition)
	require.NoError(t, err)

	for i, set := range p.Column("set").Strings {
		isNear := math.Abs(v[i]/setPoint-1) < 0.005
		assert.Equal(t, isNear, set == "test", "%s: the row at %g", split, v[i])
	}
}

// One speed of 2408.4 among those about 2400: blocks are made of whole set points, so that no
// block mixes it with those about 3000, and their intervals are as those of single set points.
func TestBlocksOfSetPoints(t *testing.T) {
	skipUnlessStudy(t)

	c := jitteringCampaigns[0]
	c.stray = 2408.4
	widest := func(e report.Experiment) (half float64, held []string) {
		for _, s := range e.Splits {
			held = append(held, s.HeldOut)
			for _, h := range s.Honest.Record.Half {
				half = max(half, h)
			}
		}

		return half, held
	}

	_, e := c.run(t, 0.003)
	each, single := widest(e)
	c.splits = "blocks: {each: rpm, blocks: 4}"
	_, e = c.run(t, 0.003)
	blocks, held := widest(e)

	want := []string{
		"rpm = 1200 ± 3.6", "rpm = 1600 ± 3.6", "rpm = 2000 ± 5.4", "rpm = 2400 ± 8.4, 3000 ± 6",
	}
	require.Len(t, single, 5, "blocks %q, half-widths up to %.3g, of single set points %.3g", held, blocks, each)
	require.Equal(t, want, held, "blocks %q, half-widths up to %.3g, of single set points %.3g", held, blocks, each)
	assert.LessOrEqual(t, blocks, 2*each,
		"blocks %q, half-widths up to %.3g, of single set points %.3g", held, blocks, each)
}
