package app

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/table"
	"doubletake/internal/longtest"
)

// rigs are simulated campaigns of the shape that laboratories have, with the law that their outcomes follow.
var rigs = []struct {
	name  string
	make  func(c *rigFolder)
	edits [][2]string // what a user changes in the configuration that init writes
	quick [][2]string // and a test, which has no time
	named []string    // the mistakes
	limit float64     // how far an outcome may be from its law
}{
	{
		"wing", wingOnBalance,
		[][2]string{
			{"# reference_m: [0, 0, 0]", "reference_m: [0.03, 0, 0.02]"},
			{"# chord_m: 0.10", "chord_m: 0.1"},
			{"# span_m: 0.25", "span_m: 0.5"},
		},
		[][2]string{{"samples: 50", "samples: 25"}}, // far runs among 2,250 rows
		[]string{"M017.csv (far run", "M030.csv (far run, missing code)"},
		0.001,
	},
	{
		"propellers", propellersInArray,
		[][2]string{
			{
				"calibration: {full_scale_v: FILL_IN, reading: peak}",
				"calibration: {calibrator: {level_db: 93.9794, recordings: {1: cal/mic1.wav, " +
					"2: cal/mic2.wav, 3: cal/mic3.wav, 4: cal/mic4.wav, 5: cal/mic5.wav, 6: cal/mic6.wav, " +
					"7: cal/mic7.wav, 8: cal/mic8.wav}}}",
			},
			{"microphones:", "tachometer: {channel: 9}\n      microphones:"},
		},
		[][2]string{{"harmonics: 5", "harmonics: 3"}, {"        each: propeller", "        #"}},
		[]string{"channel 5 (gain apart)", "run011.wav"},
		0.1,
	},
	{
		"stand", thrustStand, nil,
		[][2]string{{"        each: Date", "        #"}},
		[]string{"run_07.csv", "run_40.csv"},
		0.001,
	},
}

// rigFolder is the folder of a campaign while it is made.
type rigFolder struct {
	*testing.T
	dir    string
	rng    *rand.Rand
	faulty bool
	law    map[string]map[string]float64 // by recording and outcome
}

func (c *rigFolder) write(name string, lines ...string) {
	require.NoError(c, os.MkdirAll(filepath.Join(c.dir, filepath.Dir(name)), 0o755))
	put(c, c.dir, name, strings.Join(lines, "\n"))
}

// wingOnBalance is two wings at 5 speeds and 9 angles on a balance of six voltages with two products in its matrix.
// Sweeps of the angle without wind before and after each wing have another zero; the log is German.
func wingOnBalance(c *rigFolder) {
	const chord, area, density, n = 0.1, 0.05, 1.2, 100
	german := func(v ...float64) (text string) {
		for _, x := range v {
			text += fmt.Sprintf(";%.9g", x)
		}
		return strings.ReplaceAll(text[1:], ".", ",")
	}

	m := mat.NewDense(6, 6, nil)
	m.Apply(func(i, k int, _ float64) float64 {
		if i == k {
			return []float64{20, 20, 50, 2, 3, 2}[i]
		}
		return 0.3 * c.rng.NormFloat64()
	}, m)

	matrix := []string{"Last;U1;U2;U3;U4;U5;U6;U1*U3;U3^2"}
	for i, load := range []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"} {
		matrix = append(matrix, load+";"+german(append(mat.Row(nil, i, m), 0.1, 0.05*float64(i-2))...))
	}

	c.write("Matrix.csv", matrix...)

	var inverse mat.Dense
	require.NoError(c, inverse.Inverse(m))

	record := func(name string, angle func(k int) float64, aero [6]float64, drift float64, sweep bool) {
		head := "Zeit [s];U1 [V];U2 [V];U3 [V];U4 [V];U5 [V];U6 [V]"
		if sweep {
			head += ";Winkel [°]"
		}

		lines := []string{head}
		for k := range n {
			sin, cos := math.Sincos(angle(k) * math.Pi / 180)
			loads := mat.NewVecDense(6, []float64{
				aero[0] + 4*sin + 0.3 + 0.2*drift, aero[1] - 0.2, aero[2] - 4*cos + 0.5 + 0.4*drift,
				aero[3] + 0.02, aero[4] + 0.2*cos - 0.03 + 0.02*drift, aero[5] + 0.01,
			})

			v := mat.NewVecDense(6, nil)
			for range 15 { // the voltages whose loads these are
				rest, v1, v3 := mat.VecDenseCopyOf(loads), v.AtVec(0), v.AtVec(2)
				for i := range 6 {
					rest.SetVec(i, rest.AtVec(i)-0.1*v1*v3-0.05*float64(i-2)*v3*v3)
				}

				v.MulVec(&inverse, rest)
			}

			row := []float64{float64(k) / 20}
			for i := range 6 {
				row = append(row, v.AtVec(i)+1e-5*c.rng.NormFloat64())
			}

			if c.faulty && strings.Contains(name, "M030") && k%50 == 7 {
				row[3] = -9999
			}

			if sweep {
				row = append(row, angle(k))
			}

			lines = append(lines, german(row...))
		}

		c.write(name, lines...)
	}

	log, run := []string{
		"Windkanal;Versuch 12", "",
		"Messung;Flügel;Anstellwinkel;Geschwindigkeit;density_kg_m3;Nullmessung vorher;Nullmessung nachher;Bemerkung",
	}, 0
	for w, wing := range []string{"A", "B"} {
		polar := func(k int) float64 { return -12 + 30*float64(k)/(n-1) }
		record("null/null_"+wing+"_vor.csv", polar, [6]float64{}, 0, true)
		record("null/null_"+wing+"_nach.csv", polar, [6]float64{}, 1, true)

		for i := range 45 {
			run++
			u, alpha := 10+5*float64(i/9), -8+3*float64(i%9)
			sin, cos := math.Sincos(alpha * math.Pi / 180)
			cl := 5 * (alpha*math.Pi/180 + 0.03*float64(w))
			cd, cm, q := 0.02+0.05*cl*cl, -0.05+0.1*alpha*math.Pi/180, density*u*u/2*area
			fx, fz := q*(cd*cos-cl*sin), q*(cl*cos+cd*sin)
			// About the balance's centre: that about the point at (0.03, 0, 0.02) and r × F.
			my := cm*q*chord + 0.02*fx - 0.03*fz
			name := fmt.Sprintf("M%03d", run)
			record("messungen/"+name+".csv", func(int) float64 { return alpha }, [6]float64{fx, 0, fz, 0, my, 0},
				float64(i+1)/46, false)
			c.law["messungen/"+name+".csv"] = map[string]float64{"cl": cl, "cd": cd, "cm": cm}

			if c.faulty && run == 17 {
				alpha = 4 // 13° where the wing was
			}

			log = append(log, fmt.Sprintf("%s;Flügel %s;%s°;%g m/s;1,2;null_%[2]s_vor;null_%[2]s_nach;", name, wing,
				german(alpha), u))
		}
	}

	c.write("Protokoll.csv", log...)
}

// propellersInArray is six propellers before eight microphones, with a tachometer, a recording of a calibrator of 1 Pa
// for 5 s on each microphone and a table of them, 24-bit WAV; speeds scatter by 8 rev/min.
func propellersInArray(c *rigFolder) {
	const rate, n = 8000, 6 * 8000
	sound := func(name string, x [][]float64) {
		w := ingesttest.WAV{Tag: 1, Channels: len(x), Align: 3 * len(x), Bits: 24, Rate: rate}
		for k := range x[0] {
			for i := range x {
				v := int32(math.Round(x[i][k] * (1<<23 - 1)))
				w.Data = append(w.Data, byte(v), byte(v>>8), byte(v>>16))
			}
		}

		w.Claim, w.RIFF = uint32(len(w.Data)), uint32(36+len(w.Data))
		c.write(name, string(w.Bytes()))
	}

	sensitivity := []float64{.05, .048, .052, .05, .049, .051, .05, .047}
	mics := []string{"channel,theta_deg,sensitivity_v_per_pa,serial"}
	for i, s := range sensitivity {
		x := make([]float64, 5*rate)
		for k := range x {
			x[k] = math.Sqrt2*s/10*math.Sin(2*math.Pi*1000*float64(k)/rate) + 1e-6*c.rng.NormFloat64()
		}

		sound(fmt.Sprintf("cal/mic%d.wav", i+1), [][]float64{x})
		mics = append(mics, fmt.Sprintf("%d,%d,%g,%d", i+1, -60+15*i, s, 1000+i))
	}

	c.write("mics.csv", mics...)

	log := []string{"file,propeller,blades,rpm"}
	for run := range 24 {
		name := fmt.Sprintf("run%03d", run+1)
		blades, set := 2+run/4%3, 3000+1000*(run%4)
		turns := (float64(set) + 8*c.rng.NormFloat64()) / 60
		x := make([][]float64, 9)
		for i := range x {
			x[i] = make([]float64, n)
			for k := range x[i] {
				if at := turns * float64(k) / rate; i == 8 && at-math.Floor(at) < 0.05 {
					x[8][k] = 0.4
				}
			}
		}

		for i, s := range sensitivity {
			sin := math.Sin(float64(-60+15*i) * math.Pi / 180)
			gain := s / 10
			if c.faulty && i == 4 {
				gain *= math.Pow(10, -6.02/20)
			}

			law := map[string]float64{}
			c.law[fmt.Sprintf("%s.wav#%d", name, i+1)] = law
			for h := 1; h <= 3; h++ {
				level := 60 + 50*math.Log10(float64(set)/3000) + 10*float64(run/4)/6 - 6*float64(h) - 3*sin*sin
				law[fmt.Sprintf("bpf%d_db", h)] = level
				a := 2e-5 * math.Pow(10, level/20) * math.Sqrt2
				for k := range x[i] {
					x[i][k] += a * math.Sin(2*math.Pi*float64(h*blades)*turns*float64(k)/rate+float64(i+h))
				}
			}

			for k := range x[i] {
				x[i][k] = gain * (x[i][k] + 5e-4*c.rng.NormFloat64())
			}
		}

		sound(name+".wav", x)

		if c.faulty && run == 10 {
			set -= 1000 // the speed of the run before
		}

		log = append(log, fmt.Sprintf("%s,prop%d,%d,%d", name, run/4+1, blades, set))
	}

	c.write("log.csv", log...)
}

// thrustStand is twelve speeds on three days, each twice, with an offset of the day.
func thrustStand(c *rigFolder) {
	log := []string{"run,Date,Motor speed (rpm)"}
	for day := range 3 {
		offset := 0.01 * c.rng.NormFloat64()
		for i := range 24 {
			name := fmt.Sprintf("run_%02d", 24*day+i+1)
			rpm := float64(3000+250*(i/2)) + 6*c.rng.NormFloat64()
			thrust, torque := 4*rpm*rpm/25e6+offset, 0.1*rpm*rpm/25e6
			c.law[name+".csv"] = map[string]float64{"thrust_n": thrust, "torque_nm": torque}

			lines := []string{"time_ms,thrust_N,torque_Nm,rpm"}
			for k := range 300 {
				lines = append(lines, fmt.Sprintf("%d,%.5f,%.6f,%.1f", 100*k, thrust+0.004*c.rng.NormFloat64(),
					torque+0.002*c.rng.NormFloat64(), rpm+3*c.rng.NormFloat64()))
			}

			c.write(name+".csv", lines...)

			if run := 24*day + i + 1; c.faulty && (run == 7 || run == 40) {
				rpm += 1000
			}

			log = append(log, fmt.Sprintf("%s,2026-03-%02d,%.0f", name, 9+day, rpm))
		}
	}

	c.write("log.csv", log...)
}

// rigOf makes a campaign and its configuration: by init, the edits of a user, and those of a test.
func rigOf(t *testing.T, i int, faulty bool) *rigFolder {
	t.Helper()

	c := &rigFolder{t, t.TempDir(), rand.New(rand.NewPCG(53, uint64(i))), faulty, map[string]map[string]float64{}}
	rigs[i].make(c)

	if out, err := command(c.dir, "init", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	b, err := os.ReadFile(filepath.Join(c.dir, "pipeline.yaml"))
	require.NoError(t, err)

	text, seeds := string(b), [2]string{"seeds: 5", "seeds: 1\n      optimizer: {epochs: 2}"}
	for _, e := range slices.Concat(rigs[i].edits, rigs[i].quick, [][2]string{seeds}) {
		require.Contains(t, text, e[0], "init does not write %q:\n%s", e[0], text)

		text = strings.Replace(text, e[0], e[1], 1)
	}

	put(t, c.dir, "pipeline.yaml", text)

	return c
}

// In folders of simulated laboratories init and at most three edits give a configuration that check finds valid without
// a warning. Its outcomes follow the law of the simulation: forces within 0.001, levels within 0.1 dB.
func TestRigs(t *testing.T) {
	for i, r := range rigs {
		t.Run(r.name, func(t *testing.T) {
			c := rigOf(t, i, false)
			assert.LessOrEqual(t, len(r.edits), 3, "%d edits", len(r.edits))

			out, err := command(c.dir, "check").CombinedOutput()
			require.NoError(t, err, "%v\n%s", err, out)
			require.False(t, strings.Contains(string(out), "warning:"), "%v\n%s", err, out)

			if out, err := command(c.dir, "run", "--to", "dsp", "--progress", "none").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			found, err := filepath.Glob(filepath.Join(c.dir, "runs", "*", "triplets.arrow"))
			require.NoError(t, err)
			assert.Len(t, found, 1, "tables")

			tab, err := table.Read(found[0])
			require.NoError(t, err)

			worst, n := 0.0, 0
			for k, recording := range tab.Column("recording").Strings {
				for half, name := range strings.Split(recording+" + "+recording, " + ")[:2] {
					for outcome, law := range c.law[name] {
						v := tab.Column(fmt.Sprintf("%s_%d", outcome, half+1)).Floats[k]
						worst, n = max(worst, math.Abs(v-law)), n+1
					}
				}
			}

			require.LessOrEqual(t, worst, r.limit, "%d outcomes differ from the law by up to %g, allowed %g", n, worst, r.limit)
			assert.GreaterOrEqual(t, n, 2*len(c.law),
				"%d outcomes differ from the law by up to %g, allowed %g", n, worst, r.limit)
		})
	}
}

// Mistakes planted in the same campaigns are within the first ten lines that a run prints; the clean twins have no
// warning.
func TestRigMistakes(t *testing.T) {
	longtest.Skip(t, "trains six networks")

	for i, r := range rigs {
		for _, faulty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faulty %v", r.name, faulty), func(t *testing.T) {
				c := rigOf(t, i, faulty)

				out, err := command(c.dir, "run", "--progress", "none").CombinedOutput()
				require.NoError(t, err, "%v\n%s", err, out)
				if !faulty && strings.Contains(string(out), "warning:") {
					t.Errorf("a warning of a clean campaign:\n%s", out)
				}

				first := strings.Join(strings.SplitN(string(out), "\n", 11)[:10], "\n")
				accused, _, _ := strings.Cut(first, ").\n")
				if n := strings.Count(accused, "), ") + strings.Count(accused, "),\n") + 1; faulty && n != len(r.named) {
					t.Errorf("%d are accused, %d are wrong:\n%s", n, len(r.named), out)
				}

				for _, words := range r.named {
					if faulty && !strings.Contains(first, words) {
						t.Errorf("%q is not in the first ten lines of\n%s", words, out)
					}
				}
			})
		}
	}
}
