package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/table"
)

// qualityRate is the sampling rate of the made-up recordings of microphones, in Hz.
const qualityRate = 6400

// faultyRotor returns 8 s of a rotor's sound with the fault of a name, or none for the name sound. seed determines the
// noise.
func faultyRotor(name string, seed uint64) []float64 {
	const seconds = 8
	rng := rand.New(rand.NewPCG(11, seed))

	x := make([]float64, qualityRate*seconds)
	for i := range x {
		s := float64(i) / qualityRate
		late := i >= len(x)/2

		hz := 80.0
		if late && name == "faster" {
			hz *= 1.01 // of the speed
		}

		amplitude := 0.1
		if late && name == "louder" {
			amplitude *= math.Sqrt2 // 3 dB
		}

		for m := 1; m <= 3; m++ {
			x[i] += amplitude * math.Sin(2*math.Pi*float64(m)*hz*s)
		}

		x[i] += 0.01 * rng.NormFloat64()
		switch {
		case name == "burst" && s >= 1 && s < 1.5: // one segment
			x[i] += 0.3 * rng.NormFloat64()
		case name == "clipped":
			x[i] = max(-0.08, min(0.08, x[i]))
		case name == "silent" && s >= 6 && s < 7:
			x[i] = 0
		}
	}

	return x
}

// Faults of recordings reach the report by name, and no recording is dropped for them. Each made-up file has the fault
// after which it is named, and one file is sound.
func TestQualityOfMicrophones(t *testing.T) {
	dir := t.TempDir()
	conditions := "file,blades,rpm,case\n"
	for k, name := range []string{"sound", "louder", "faster", "burst", "clipped", "silent"} {
		writeWAV(t, filepath.Join(dir, name+".wav"), qualityRate, faultyRotor(name, uint64(k)))
		conditions += fmt.Sprintf("%s.wav,2,2400,%d\n", name, k)
	}

	write(t, dir, "conditions.csv", conditions)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.wav", conditions: conditions.csv}
    dsp: {triplets: split-half-spectrum, harmonics: 3}
`)

	e := runIn(t, dir)["rotor"]
	assert.Equal(t, 6, e.Triplets, "triplets")

	t.Run("warnings", func(t *testing.T) { checkFaultsNamed(t, e.Warnings) })
	t.Run("recordings", func(t *testing.T) {
		checkFaultsCounted(t, readTable(t, dir, "runs", "rotor", "recordings.arrow"))
	})
}

// checkFaultsNamed checks that the warnings name the fault of each file, and none of the sound file.
func checkFaultsNamed(t *testing.T, warnings []string) {
	t.Helper()

	all := strings.Join(warnings, "\n")
	assert.Contains(t, all, `1 of 6 runs is flagged "harmonic-drift", first louder.wav`)
	assert.Contains(t, all, `flagged "speed-shift", first faster.wav`)
	assert.Contains(t, all, `flagged "outlier-segment", first burst.wav`)
	assert.Contains(t, all, "clipped.wav: ")
	assert.Contains(t, all, "is clipped: ")
	assert.Contains(t, all, "silent.wav: channel 1 is constant for 6400 samples (1 s) of 51200: a dropout")
	assert.NotContains(t, all, "sound.wav")
}

// checkFaultsCounted checks the table of recordings: one file alone has clipped samples, and one alone a second of
// equal samples.
func checkFaultsCounted(t *testing.T, recordings *table.Table) {
	t.Helper()

	for i, file := range recordings.Column("file").Strings {
		clipped := recordings.Column("clipped").Ints[i]
		assert.Equal(t, file == "clipped.wav", clipped > 100, "%s: %d clipped samples", file, clipped)

		constant := recordings.Column("longest_constant").Ints[i]
		assert.Equal(t, file == "silent.wav", constant >= qualityRate, "%s: %d equal samples", file, constant)
	}
}

// Of the made-up recordings of a balance: the step of the clock in s, and the coefficient of the AR(1) process that the
// correlated lift is.
const (
	balanceStep = 0.01
	balancePhi  = 0.9
)

// faultyBalance returns a minute of lift and drag as text, with the fault of a name: the clock of sound jitters by
// ±10 %, the lift of creeping grows, and that of correlated is an AR(1) process. seed determines the noise.
func faultyBalance(name string, seed uint64) string {
	const n = 6000
	rng := rand.New(rand.NewPCG(12, seed))

	var text strings.Builder
	text.WriteString("t (s),lift (N),drag (N)\n")

	ar := 0.0
	for i := range n {
		seconds := float64(i) * balanceStep
		if name == "sound" {
			seconds += 0.1 * balanceStep * float64(i%3-1)
		}

		lift := 10 + 0.1*rng.NormFloat64()
		switch name {
		case "creeping":
			lift += 0.5 * float64(i) / n
		case "correlated":
			ar = balancePhi*ar + rng.NormFloat64()
			lift = 10 + 0.1*ar
		}

		fmt.Fprintf(&text, "%.6f,%.6f,%.6f\n", seconds, lift, 1+0.1*rng.NormFloat64())
	}

	return text.String()
}

// A balance's clock that jitters and a force that creeps are reported. The integral time scale is in the table of
// recordings.
func TestQualityOfABalance(t *testing.T) {
	dir := t.TempDir()
	for k, name := range []string{"sound", "creeping", "correlated"} {
		write(t, dir, name+".csv", faultyBalance(name, uint64(k)))
	}

	write(t, dir, "conditions.csv", "file,alpha_deg\nsound.csv,0\ncreeping.csv,1\ncorrelated.csv,2\n")
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  wing:
    ingest: {files: [sound.csv, creeping.csv, correlated.csv], conditions: conditions.csv,
      columns: {lift_n: lift, drag_n: drag}}
    dsp: {triplets: split-halves}
`)

	e := runIn(t, dir)["wing"]
	all := strings.Join(e.Warnings, "\n")
	assert.Contains(t, all, "sound.csv")
	assert.Contains(t, all, "steps of column t vary from")
	assert.Contains(t, all, `1 of 3 runs is flagged "drift", first creeping.csv: lift_n`)

	checkIntegralTimes(t, readTable(t, dir, "runs", "wing", "recordings.arrow"))
}

// checkIntegralTimes checks the integral time scales ∫₀ρ(τ)dτ of the recordings of faultyBalance: half a step for white
// noise, and ½·(1+φ)/(1−φ) steps for an AR(1) process of coefficient φ. The scale of the lift that creeps is not
// checked, because the trend determines it.
func checkIntegralTimes(t *testing.T, recordings *table.Table) {
	t.Helper()

	for i, got := range column(t, recordings, "integral_time_s") {
		run := recordings.Column("run").Strings[i]
		isLift := recordings.Column("channel").Strings[i] == "lift"

		want := balanceStep / 2
		tolerance := 0.3
		switch {
		case run == "creeping.csv" && isLift:
			continue
		case run == "correlated.csv" && isLift:
			want *= (1 + balancePhi) / (1 - balancePhi)
			tolerance = 0.25
		}

		assert.InEpsilon(t, want, got, tolerance, "%s, lift %t", run, isLift)
	}
}

// A rate is read from the file or the configuration. If it is in neither, or if they differ, the run ends with an
// error.
func TestRateThatIsNotInTheFile(t *testing.T) {
	dir := t.TempDir()
	x := tone(80, 12800)
	writeNPY(t, filepath.Join(dir, "run.npy"), x)
	writeWAV(t, filepath.Join(dir, "run.wav"), 6400, x)

	withRate := func(file, rate string) error {
		write(t, dir, "pipeline.yaml", fmt.Sprintf(`version: 1
experiments:
  rotor:
    ingest: {files: %s, constants: {blades: 2, rpm: 2400}%s}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`, file, rate))

		return tryIn(dir)
	}

	assert.NoError(t, withRate("run.npy", ", rate_hz: 6400"), "in the configuration")
	assert.NoError(t, withRate("run.wav", ""), "in the file")

	assert.ErrorContains(t, withRate("run.npy", ""),
		"rotor/dsp/run.npy: run.npy: expected a sampling rate, found none in the file (state it in the "+
			"configuration: ingest: {rate_hz: …})")
	assert.ErrorContains(t, withRate("run.wav", ", rate_hz: 44100"),
		"run.wav: byte 24: expected a rate of 44100 Hz as configured, found 6400 Hz")
}
