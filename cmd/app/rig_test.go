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

// A textEdit replaces a text that must be in the configuration.
type textEdit struct{ old, replacement string }

// simulatedRig is a simulated campaign of the kind that laboratories have.
type simulatedRig struct {
	name     string
	write    func(c *rigFolder)
	edits    []textEdit // what a user changes in the configuration that init writes
	shortcut []textEdit // what the test changes, which has little time
	accused  []string   // what a run must name of the campaign with mistakes
	limit    float64    // largest difference of an outcome from its law
}

// simulatedRigs are a wing on a balance, propellers in an array of microphones, and a stand for propellers.
var simulatedRigs = []simulatedRig{
	{
		name: "wing", write: writeWing,
		edits: []textEdit{
			{"# reference_m: [0, 0, 0]", "reference_m: [0.03, 0, 0.02]"},
			{"# chord_m: 0.10", "chord_m: 0.1"},
			{"# span_m: 0.25", "span_m: 0.5"},
		},
		shortcut: []textEdit{{"samples: 50", "samples: 25"}}, // far runs are found among 2,250 rows
		accused:  []string{"M017.csv (far run", "M030.csv (far run, missing code)"},
		limit:    0.001,
	},
	{
		name: "propellers", write: writePropellers,
		edits: []textEdit{
			{
				"calibration: {full_scale_v: FILL_IN, reading: peak}",
				"calibration: {calibrator: {level_db: 93.9794, recordings: {1: cal/mic1.wav, " +
					"2: cal/mic2.wav, 3: cal/mic3.wav, 4: cal/mic4.wav, 5: cal/mic5.wav, 6: cal/mic6.wav, " +
					"7: cal/mic7.wav, 8: cal/mic8.wav}}}",
			},
			{"microphones:", "tachometer: {channel: 9}\n      microphones:"},
		},
		shortcut: []textEdit{{"harmonics: 5", "harmonics: 3"}, {"        each: propeller", "        #"}},
		accused:  []string{"channel 5 (gain apart)", "run011.wav"},
		limit:    0.1,
	},
	{
		name: "stand", write: writeStand,
		shortcut: []textEdit{{"        each: Date", "        #"}},
		accused:  []string{"run_07.csv", "run_40.csv"},
		limit:    0.001,
	},
}

// rigFolder is the folder of a campaign. Mistakes are planted in it if it is faulty.
type rigFolder struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	isFaulty bool
	law      map[string]map[string]float64 // true outcomes by recording and name
}

// write writes a file of lines below the folder.
func (c *rigFolder) write(name string, lines ...string) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(filepath.Join(c.dir, filepath.Dir(name)), 0o755))
	put(c.t, c.dir, name, strings.Join(lines, "\n"))
}

// german writes numbers as a row of a German table, with decimal commas and semicolons.
func german(values ...float64) string {
	var cells []string
	for _, v := range values {
		cells = append(cells, strings.ReplaceAll(fmt.Sprintf("%.9g", v), ".", ","))
	}

	return strings.Join(cells, ";")
}

// sixLoads are forces in N and moments in N·m.
type sixLoads [6]float64

// Components of sixLoads.
const (
	loadFx = iota
	loadFy
	loadFz
	loadMx
	loadMy
	loadMz
)

// rigBalance is a balance of six voltages. A load is the product of the matrix and the voltages, and of two products
// of voltages.
type rigBalance struct {
	matrix, inverse *mat.Dense
}

// Factors of the products of voltages U1·U3, which all loads share, and U3², which depends on the load.
const productU1U3 = 0.1

func productU3U3(load int) float64 { return 0.05 * float64(load-2) }

// newRigBalance makes a balance with weak interactions and writes its matrix.
func newRigBalance(c *rigFolder) rigBalance {
	diagonal := []float64{20, 20, 50, 2, 3, 2}
	matrix := mat.NewDense(6, 6, nil)
	matrix.Apply(func(row, column int, _ float64) float64 {
		if row == column {
			return diagonal[row]
		}

		return 0.3 * c.rng.NormFloat64()
	}, matrix)

	lines := []string{"Last;U1;U2;U3;U4;U5;U6;U1*U3;U3^2"}
	for i, load := range []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"} {
		factors := append(mat.Row(nil, i, matrix), productU1U3, productU3U3(i))
		lines = append(lines, load+";"+german(factors...))
	}

	c.write("Matrix.csv", lines...)

	inverse := mat.NewDense(6, 6, nil)
	require.NoError(c.t, inverse.Inverse(matrix))

	return rigBalance{matrix, inverse}
}

// voltages returns the voltages of loads. An iteration subtracts the products of voltages, which are small.
func (b rigBalance) voltages(loads sixLoads) []float64 {
	v := mat.NewVecDense(6, nil)
	for range 15 {
		u1 := v.AtVec(0)
		u3 := v.AtVec(2)
		linear := mat.NewVecDense(6, nil)
		for i, load := range loads {
			linear.SetVec(i, load-productU1U3*u1*u3-productU3U3(i)*u3*u3)
		}

		v.MulVec(b.inverse, linear)
	}

	return v.RawVector().Data
}

// wingRecording is a recording of the wing's balance.
type wingRecording struct {
	name    string
	angle   func(sample int) float64 // of the wing in degrees
	isSweep bool                     // the angle is a column
	loads   sixLoads                 // of the wind
	drift   float64                  // of the zero, from 0 to 1 between the sweeps before and after
}

// wingSamples is the number of samples of a recording, at 20 Hz.
const wingSamples = 100

// writeWingRecording writes the voltages of the wind's loads, of the wing's weight, which turns with the angle, and of
// the drifting zero.
func (c *rigFolder) writeWingRecording(b rigBalance, r wingRecording) {
	c.t.Helper()

	head := "Zeit [s];U1 [V];U2 [V];U3 [V];U4 [V];U5 [V];U6 [V]"
	if r.isSweep {
		head += ";Winkel [°]"
	}

	lines := []string{head}
	for k := range wingSamples {
		sin, cos := math.Sincos(r.angle(k) * math.Pi / 180)
		loads := r.loads
		loads[loadFx] += 4*sin + 0.3 + 0.2*r.drift
		loads[loadFy] += -0.2
		loads[loadFz] += -4*cos + 0.5 + 0.4*r.drift
		loads[loadMx] += 0.02
		loads[loadMy] += 0.2*cos - 0.03 + 0.02*r.drift
		loads[loadMz] += 0.01

		volts := b.voltages(loads)
		for i := range volts {
			volts[i] += 1e-5 * c.rng.NormFloat64()
		}

		if c.isFaulty && strings.Contains(r.name, "M030") && k%50 == 7 {
			const missingCode = -9999
			volts[2] = missingCode
		}

		row := append([]float64{float64(k) / 20}, volts...)
		if r.isSweep {
			row = append(row, r.angle(k))
		}

		lines = append(lines, german(row...))
	}

	c.write(r.name, lines...)
}

// writeWing writes the campaign of two wings at 5 speeds and 9 angles on a balance. Sweeps of the angle without wind,
// before and after each wing, have another zero. The log is German. Its mistakes are a typed angle (M017) and missing
// values that are coded as -9999 (M030).
func writeWing(c *rigFolder) {
	balance := newRigBalance(c)
	log := []string{
		"Windkanal;Versuch 12", "",
		"Messung;Flügel;Anstellwinkel;Geschwindigkeit;density_kg_m3;Nullmessung vorher;Nullmessung nachher;Bemerkung",
	}

	const runs = 45 // of a wing
	for w, wing := range []string{"A", "B"} {
		sweep := func(sample int) float64 { return -12 + 30*float64(sample)/(wingSamples-1) }
		c.writeWingRecording(balance, wingRecording{name: "null/null_" + wing + "_vor.csv", angle: sweep, isSweep: true})
		c.writeWingRecording(balance, wingRecording{
			name: "null/null_" + wing + "_nach.csv", angle: sweep, isSweep: true, drift: 1,
		})

		for i := range runs {
			run := runs*w + i + 1
			speed := 10 + 5*float64(i/9)
			alpha := -8 + 3*float64(i%9)
			name := fmt.Sprintf("M%03d", run)
			law, loads := wingLaw(w, speed, alpha)
			c.law["messungen/"+name+".csv"] = law
			c.writeWingRecording(balance, wingRecording{
				name: "messungen/" + name + ".csv", angle: func(int) float64 { return alpha }, loads: loads,
				drift: float64(i+1) / (runs + 1),
			})

			stated := alpha
			if c.isFaulty && run == 17 {
				stated = 4 // the wing was at 13°
			}

			log = append(log, fmt.Sprintf("%s;Flügel %s;%s°;%g m/s;1,2;null_%[2]s_vor;null_%[2]s_nach;", name, wing,
				german(stated), speed))
		}
	}

	c.write("Protokoll.csv", log...)
}

// wingLaw returns the coefficients of a wing, 0 or 1, at a speed and an angle, and its loads on the balance. The
// coefficient cm is about the point at (0.03, 0, 0.02) m, and the balance's moment about its centre.
func wingLaw(wing int, speed, alpha float64) (law map[string]float64, loads sixLoads) {
	const chord, area, density = 0.1, 0.05, 1.2
	angle := alpha * math.Pi / 180
	sin, cos := math.Sincos(angle)
	cl := 5 * (angle + 0.03*float64(wing))
	cd := 0.02 + 0.05*cl*cl
	cm := -0.05 + 0.1*angle

	q := density * speed * speed / 2 * area // dynamic pressure times area
	fx := q * (cd*cos - cl*sin)
	fz := q * (cl*cos + cd*sin)
	loads[loadFx] = fx
	loads[loadFz] = fz
	loads[loadMy] = cm*q*chord + 0.02*fx - 0.03*fz

	return map[string]float64{"cl": cl, "cd": cd, "cm": cm}, loads
}

// soundRateHz is the rate of the propellers' recordings.
const soundRateHz = 8000

// arraySensitivities has the sensitivities of eight microphones in V/Pa.
var arraySensitivities = []float64{.05, .048, .052, .05, .049, .051, .05, .047}

// microphoneAngle returns the angle in degrees of a microphone of the array.
func microphoneAngle(microphone int) int { return -60 + 15*microphone }

// writeSound writes channels of numbers from -1 to 1 as 24-bit WAV.
func (c *rigFolder) writeSound(name string, channels [][]float64) {
	c.t.Helper()

	const bytes = 3 // of a sample
	w := ingesttest.WAV{
		Tag: 1, Channels: len(channels), Align: bytes * len(channels), Bits: 8 * bytes, Rate: soundRateHz,
	}
	for k := range channels[0] {
		for _, samples := range channels {
			v := int32(math.Round(samples[k] * (1<<23 - 1)))
			w.Data = append(w.Data, byte(v), byte(v>>8), byte(v>>16))
		}
	}

	w.Claim = uint32(len(w.Data))
	w.RIFF = uint32(36 + len(w.Data))
	c.write(name, string(w.Bytes()))
}

// writePropellers writes the campaign of six propellers before eight microphones, with a tachometer, a recording of a
// calibrator of 1 Pa for 5 s on each microphone, and a table of the microphones. Speeds scatter by 8 rev/min. Its
// mistakes are a gain of half on channel 5, and the speed of the run before in run011.
func writePropellers(c *rigFolder) {
	table := []string{"channel,theta_deg,sensitivity_v_per_pa,serial"}
	for m, sensitivity := range arraySensitivities {
		calibrator := make([]float64, 5*soundRateHz)
		for k := range calibrator {
			sine := math.Sin(2 * math.Pi * 1000 * float64(k) / soundRateHz)
			calibrator[k] = math.Sqrt2*sensitivity/10*sine + 1e-6*c.rng.NormFloat64()
		}

		c.writeSound(fmt.Sprintf("cal/mic%d.wav", m+1), [][]float64{calibrator})
		table = append(table, fmt.Sprintf("%d,%d,%g,%d", m+1, microphoneAngle(m), sensitivity, 1000+m))
	}

	c.write("mics.csv", table...)

	log := []string{"file,propeller,blades,rpm"}
	for run := range 24 {
		name := fmt.Sprintf("run%03d", run+1)
		propeller := run / 4
		blades := 2 + propeller%3
		rpm := 3000 + 1000*(run%4)
		c.writePropellerRun(name, propeller, blades, rpm)

		if c.isFaulty && run == 10 {
			rpm -= 1000 // the speed of the run before
		}

		log = append(log, fmt.Sprintf("%s,prop%d,%d,%d", name, propeller+1, blades, rpm))
	}

	c.write("log.csv", log...)
}

// writePropellerRun writes 6 s of eight microphones and of a tachometer, which has a pulse each revolution.
func (c *rigFolder) writePropellerRun(name string, propeller, blades, rpm int) {
	c.t.Helper()

	const n = 6 * soundRateHz
	revolutionsPerS := (float64(rpm) + 8*c.rng.NormFloat64()) / 60
	tachometer := make([]float64, n)
	for k := range tachometer {
		revolutions := revolutionsPerS * float64(k) / soundRateHz
		if revolutions-math.Floor(revolutions) < 0.05 {
			tachometer[k] = 0.4
		}
	}

	var channels [][]float64
	for m, sensitivity := range arraySensitivities {
		law := map[string]float64{}
		c.law[fmt.Sprintf("%s.wav#%d", name, m+1)] = law

		sin := math.Sin(float64(microphoneAngle(m)) * math.Pi / 180)
		pressure := make([]float64, n)
		for h := 1; h <= 3; h++ {
			level := 60 + 50*math.Log10(float64(rpm)/3000) + 10*float64(propeller)/6 - 6*float64(h) - 3*sin*sin
			law[fmt.Sprintf("bpf%d_db", h)] = level

			amplitude := 2e-5 * math.Pow(10, level/20) * math.Sqrt2
			hz := float64(h*blades) * revolutionsPerS
			for k := range pressure {
				pressure[k] += amplitude * math.Sin(2*math.Pi*hz*float64(k)/soundRateHz+float64(m+h))
			}
		}

		gain := sensitivity / 10
		if c.isFaulty && m == 4 {
			gain *= math.Pow(10, -6.02/20)
		}

		samples := make([]float64, n)
		for k, p := range pressure {
			samples[k] = gain * (p + 5e-4*c.rng.NormFloat64())
		}

		channels = append(channels, samples)
	}

	c.writeSound(name+".wav", append(channels, tachometer))
}

// writeStand writes the campaign of a thrust stand: twelve speeds on three days, each twice, with an offset of the day.
// Its mistakes are the speeds of runs 7 and 40, which are 1000 rev/min too high.
func writeStand(c *rigFolder) {
	log := []string{"run,Date,Motor speed (rpm)"}
	for day := range 3 {
		offset := 0.01 * c.rng.NormFloat64()
		for i := range 24 {
			run := 24*day + i + 1
			name := fmt.Sprintf("run_%02d", run)
			rpm := float64(3000+250*(i/2)) + 6*c.rng.NormFloat64()
			thrust := 4*rpm*rpm/25e6 + offset
			torque := 0.1 * rpm * rpm / 25e6
			c.law[name+".csv"] = map[string]float64{"thrust_n": thrust, "torque_nm": torque}

			lines := []string{"time_ms,thrust_N,torque_Nm,rpm"}
			for k := range 300 {
				lines = append(lines, fmt.Sprintf("%d,%.5f,%.6f,%.1f", 100*k, thrust+0.004*c.rng.NormFloat64(),
					torque+0.002*c.rng.NormFloat64(), rpm+3*c.rng.NormFloat64()))
			}

			c.write(name+".csv", lines...)

			if c.isFaulty && (run == 7 || run == 40) {
				rpm += 1000
			}

			log = append(log, fmt.Sprintf("%s,2026-03-%02d,%.0f", name, 9+day, rpm))
		}
	}

	c.write("log.csv", log...)
}

// newRigFolder writes a campaign and its configuration. init makes the configuration, and the test edits it as a user
// would.
func newRigFolder(t *testing.T, number int, isFaulty bool) *rigFolder {
	t.Helper()

	rig := simulatedRigs[number]
	c := &rigFolder{
		t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(53, uint64(number))), isFaulty: isFaulty,
		law: map[string]map[string]float64{},
	}
	rig.write(c)

	output, err := command(c.dir, "init", ".").CombinedOutput()
	require.NoError(t, err, "%s", output)

	b, err := os.ReadFile(filepath.Join(c.dir, "pipeline.yaml"))
	require.NoError(t, err)

	config := string(b)
	oneSeed := []textEdit{{"seeds: 5", "seeds: 1\n      optimizer: {epochs: 2}"}}
	for _, edit := range slices.Concat(rig.edits, rig.shortcut, oneSeed) {
		require.Contains(t, config, edit.old, "the configuration that init writes")
		config = strings.Replace(config, edit.old, edit.replacement, 1)
	}

	put(t, c.dir, "pipeline.yaml", config)

	return c
}

// worstDifference returns the largest difference of an outcome from its law, and the number of outcomes. The first
// and the second outcome of a row may come from two recordings.
func (c *rigFolder) worstDifference(tab *table.Table) (worst float64, count int) {
	for row, recording := range tab.Column("recording").Strings {
		first, second, isPair := strings.Cut(recording, " + ")
		if !isPair {
			second = first
		}

		for half, name := range []string{first, second} {
			for outcome, law := range c.law[name] {
				v := tab.Column(fmt.Sprintf("%s_%d", outcome, half+1)).Floats[row]
				worst = max(worst, math.Abs(v-law))
				count++
			}
		}
	}

	return worst, count
}

// In the folder of a laboratory init and at most three edits give a configuration that check finds valid without a
// warning. Its outcomes follow the law of the simulation: coefficients, forces and moments within 0.001, and levels
// within 0.1 dB.
func TestRigs(t *testing.T) {
	for number, rig := range simulatedRigs {
		t.Run(rig.name, func(t *testing.T) {
			assert.LessOrEqual(t, len(rig.edits), 3, "edits of the user")

			c := newRigFolder(t, number, false)
			output, err := command(c.dir, "check").CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), "pipeline.yaml is valid: ")
			require.NotContains(t, string(output), "warning:")

			output, err = command(c.dir, "run", "--to", "dsp", "--progress", "none").CombinedOutput()
			require.NoError(t, err, "%s", output)

			tables, err := filepath.Glob(filepath.Join(c.dir, "runs", "*", "triplets.arrow"))
			require.NoError(t, err)
			require.Len(t, tables, 1, "tables")

			tab, err := table.Read(tables[0])
			require.NoError(t, err)

			worst, count := c.worstDifference(tab)
			assert.LessOrEqual(t, worst, rig.limit, "largest difference of an outcome from its law")
			assert.GreaterOrEqual(t, count, 2*len(c.law), "outcomes that were compared")
		})
	}
}

// A run of a campaign without mistakes prints no warning.
func TestRigsWithoutMistakes(t *testing.T) {
	longtest.Skip(t, "trains three networks")

	for number, rig := range simulatedRigs {
		t.Run(rig.name, func(t *testing.T) {
			c := newRigFolder(t, number, false)
			output, err := command(c.dir, "run", "--progress", "none").CombinedOutput()
			require.NoError(t, err, "%s", output)
			assert.NotContains(t, string(output), "warning:")
		})
	}
}

// A run of a campaign with mistakes names all of them, and nothing else, in the first ten lines that it prints.
func TestRigMistakes(t *testing.T) {
	longtest.Skip(t, "trains three networks")

	for number, rig := range simulatedRigs {
		t.Run(rig.name, func(t *testing.T) {
			c := newRigFolder(t, number, true)
			output, err := command(c.dir, "run", "--progress", "none").CombinedOutput()
			require.NoError(t, err, "%s", output)

			lines := strings.Split(string(output), "\n")
			beginning := strings.Join(lines[:min(10, len(lines))], "\n")
			for _, words := range rig.accused {
				assert.Contains(t, beginning, words)
			}

			// The sentence is a list of names, each with its reasons in brackets.
			list, _, _ := strings.Cut(beginning, ").\n")
			names := 1 + strings.Count(list, "), ") + strings.Count(list, "),\n")
			assert.Equal(t, len(rig.accused), names, "names in\n%s", list)
		})
	}
}
