package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/simulate"
	"doubletake/train/honest"
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
}

// The two rigs and the balance.
var jitteringCampaigns = []jittering{
	{
		"jittering-fan",
		[]int{5},
		[]float64{1200, 1650, 2100, 2550, 3000},
		[]float64{-30, 0, 30},
		"rpm: 0.5 %",
		"rpm, theta_deg", "final: {test: none}, speeds: {each: rpm}",
	},
	{
		"jittering-rig",
		[]int{2, 3, 4, 5, 6},
		[]float64{3000, 4500, 6000},
		[]float64{-30, 30},
		"rpm: 0.5 %",
		"blades, rpm, theta_deg", "final: {test: none}, speeds: {each: rpm}",
	},
	{
		"jittering-balance", nil,
		[]float64{5, 8, 11, 14, 17, 20},
		[]float64{-4, -2, 0, 2, 4, 6},
		"u_inf_m_s: 0.5 %",
		"alpha_deg, u_inf_m_s", "final: {test: none}, speeds: {each: u_inf_m_s}",
	},
}

const jitteringRepeats = 3

// write writes the campaign's files below dir and returns its experiment.
func (c jittering) write(t testing.TB, dir string, jitter float64) (yaml string) {
	t.Helper()

	rng := rand.New(rand.NewPCG(34, 0))
	scatter := func(v float64) float64 {
		return math.Round(v*(1+jitter*(2*rng.Float64()-1))*1000) / 1000
	}

	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	train := "    train:\n      model: {hidden: [4]}\n      optimizer: {epochs: 1}\n      seeds: 1\n      splits: {" + c.splits +
		"}\n      inputs: [" + c.inputs + "]\n"
	if c.blades == nil {
		text := "run,alpha_deg,u_inf_m_s,lift_n,drag_n\n"
		run := 0
		for range jitteringRepeats + 1 {
			for _, speed := range c.speeds {
				for _, alpha := range c.angles {
					u := scatter(speed)
					run++
					cl, cd, _ := simulate.AirfoilMean(alpha, u)
					q := 0.5 * 1.204 * u * u * 0.1 * 0.25
					noise := func() float64 { return 0.01 * q * rng.NormFloat64() }
					text += fmt.Sprintf("%d,%g,%g,%.6f,%.6f\n", run, alpha, u, cl*q+noise(), cd*q+noise()/4)
				}
			}
		}

		file(c.name+".csv", text)

		return fmt.Sprintf("  %s:\n    ingest:\n      data: simulated\n      within: {%s}\n      table: {file: %s.csv, run: run, "+
			"inputs: [alpha_deg, u_inf_m_s], repeats: [lift_n, drag_n]}\n%s", c.name, c.within, c.name,
			train)
	}

	// Both campaigns have the same draws. Repeats at exact speeds differ by parts of a million,
	// because a file is named after its speed.
	r := simulate.Rotor{Seed: 34, Blades: c.blades, ThetaDeg: c.angles, DurationS: 2}
	stated := map[string]float64{}
	for k := range jitteringRepeats {
		for _, v := range c.speeds {
			rpm := scatter(v)
			if jitter == 0 {
				rpm += float64(k) / 1000
			}

			r.RPM, r.Draws = append(r.RPM, rpm), append(r.Draws, fmt.Sprintf("%g, day %d", v, k))
			if stated[fmt.Sprint(rpm)] = v; jitter > 0 {
				stated[fmt.Sprint(rpm)] = rpm
			}
		}
	}

	if err := simulate.WriteDir(context.Background(), r, filepath.Join(dir, c.name), 2, nil); err != nil {
		t.Fatal(err)
	}

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
// at exact speeds.
func TestJitteringCampaigns(t *testing.T) {
	for _, c := range jitteringCampaigns {
		exact, jittered := c.halfWidths(t, 0), c.halfWidths(t, 0.003)
		if len(exact) != len(jittered) {
			t.Errorf("%s: %d half-widths at exact speeds, %d where they scatter", c.name, len(exact), len(jittered))
		}

		for at, w := range jittered {
			t.Logf("%s, %s: half-width %.4g, at exact speeds %.4g, ratio %.2f", c.name, at, w, exact[at], w/exact[at])
			if !(w <= 1.2*exact[at]) {
				t.Errorf("%s, %s: half-width %.4g, at exact speeds %.4g", c.name, at, w, exact[at])
			}
		}
	}
}

// halfWidths runs the campaign and returns the mean half-widths of the calibrated intervals of
// the first outcome at each set point, of the final model and of the one that did not see it.
func (c jittering) halfWidths(t *testing.T, jitter float64) map[string]float64 {
	dir := t.TempDir()
	yaml := "version: 1\nworkdir: runs\nexperiments:\n" + c.write(t, dir, jitter)
	if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}

	e := runIn(t, dir)[c.name]
	if len(e.Splits) != len(c.speeds) {
		t.Errorf("%s: %d splits of %d set points", c.name, len(e.Splits), len(c.speeds))
	}

	out := map[string]float64{}
	condition, _, _ := strings.Cut(c.within, ":")
	for k, s := range e.Splits {
		if want := fmt.Sprintf("%s = %g", condition, c.speeds[k]); jitter == 0 && s.HeldOut != want ||
			jitter > 0 && !strings.HasPrefix(s.HeldOut, want+" ± ") {
			t.Errorf("%s: a split is called %q, expected %q", c.name, s.HeldOut, want)
		}

		for _, split := range []string{"final", s.Name} {
			m, err := honest.Read(filepath.Join(dir, "runs", c.name, "splits", split, "honest.json"))
			if err != nil {
				t.Fatal(err)
			}

			var x []float64
			for _, angle := range c.angles {
				for _, input := range strings.Split(c.inputs, ", ") {
					switch input {
					case "blades":
						x = append(x, 4)
					case condition:
						x = append(x, c.speeds[k])
					default:
						x = append(x, angle)
					}
				}
			}

			p, err := m.Predict(context.Background(), x, 0)
			if err != nil {
				t.Fatal(err)
			}

			half := 0.0
			for i := range c.angles {
				half += p.Half[i*p.Out] / float64(len(c.angles))
			}

			out[split+" at "+want(condition, c.speeds[k])] = half
		}
	}

	return out
}

func want(c string, v float64) string { return fmt.Sprintf("%s = %g", c, v) }
