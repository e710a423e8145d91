package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Faults of recordings reach the report by name, and no recording is dropped for them. The faults of the made-up files
// are a level that is 3 dB higher in the second half, a speed that is 1 % higher there, a burst in one segment, a
// clipped wave and a second of silence. One file is sound.
func TestQualityOfMicrophones(t *testing.T) {
	const rate, seconds = 6400, 8
	dir := t.TempDir()

	table := "file,blades,rpm,case\n"
	for k, name := range []string{"sound", "louder", "faster", "burst", "clipped", "silent"} {
		rng := rand.New(rand.NewPCG(11, uint64(k)))

		x := make([]float64, rate*seconds)
		for i := range x {
			s := float64(i) / rate
			late := i >= len(x)/2

			hz := 80.0
			a := 0.1
			if late && name == "faster" {
				hz *= 1.01
			}

			if late && name == "louder" {
				a *= math.Sqrt2
			}

			for m := 1; m <= 3; m++ {
				x[i] += a * math.Sin(2*math.Pi*float64(m)*hz*s)
			}

			x[i] += 0.01 * rng.NormFloat64()
			switch {
			case name == "burst" && s >= 1 && s < 1.5:
				x[i] += 0.3 * rng.NormFloat64()
			case name == "clipped":
				x[i] = max(-0.08, min(0.08, x[i]))
			case name == "silent" && s >= 6 && s < 7:
				x[i] = 0
			}
		}

		writeWAV(t, filepath.Join(dir, name+".wav"), rate, x)
		table += fmt.Sprintf("%s.wav,2,2400,%d\n", name, k)
	}

	write(t, dir, "conditions.csv", table)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.wav", conditions: conditions.csv}
    dsp: {triplets: split-half-spectrum, harmonics: 3}
`)

	e := runIn(t, dir)["rotor"]
	assert.Equal(t, 6, e.Triplets, "triplets")

	all := strings.Join(e.Warnings, "\n")
	assert.Contains(t, all, `1 of 6 runs is flagged "harmonic-drift", first louder.wav`)
	assert.Contains(t, all, `flagged "speed-shift", first faster.wav`)
	assert.Contains(t, all, `flagged "outlier-segment", first burst.wav`)
	assert.Contains(t, all, "clipped.wav: ")
	assert.Contains(t, all, "is clipped: ")
	assert.Contains(t, all, "silent.wav: channel 1 is constant for 6400 samples (1 s) of 51200: a dropout")

	for _, w := range e.Warnings {
		assert.NotContains(t, w, "first sound.wav")
		assert.False(t, strings.HasPrefix(w, "sound.wav"), w)
	}

	recs := readTable(t, dir, "runs", "rotor", "recordings.arrow")
	for i, file := range recs.Column("file").Strings {
		clipped := recs.Column("clipped").Ints[i]
		assert.Equal(t, file == "clipped.wav", clipped > 100, "%s: %d clipped samples", file, clipped)

		constant := recs.Column("longest_constant").Ints[i]
		assert.Equal(t, file == "silent.wav", constant >= 6400, "%s: %d equal samples", file, constant)
	}
}

// A balance's clock that jitters by ±10 % and a force that creeps are reported. The integral time scale ∫₀ρ(τ)dτ is in
// the table of recordings: half a step of white noise, and ½·(1+φ)/(1−φ) steps of an AR(1) process of coefficient φ.
func TestQualityOfABalance(t *testing.T) {
	const n, dt, phi = 6000, 0.01, 0.9

	dir := t.TempDir()
	for k, name := range []string{"sound", "creeping", "correlated"} {
		rng := rand.New(rand.NewPCG(12, uint64(k)))
		var b strings.Builder
		b.WriteString("t (s),lift (N),drag (N)\n")

		ar := 0.0
		for i := range n {
			seconds := float64(i) * dt
			if name == "sound" {
				seconds += 0.1 * dt * float64(i%3-1)
			}

			lift := 10 + 0.1*rng.NormFloat64()
			switch name {
			case "creeping":
				lift += 0.5 * float64(i) / n
			case "correlated":
				ar = phi*ar + rng.NormFloat64()
				lift = 10 + 0.1*ar
			}

			fmt.Fprintf(&b, "%.6f,%.6f,%.6f\n", seconds, lift, 1+0.1*rng.NormFloat64())
		}

		write(t, dir, name+".csv", b.String())
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

	recs := readTable(t, dir, "runs", "wing", "recordings.arrow")
	for i, v := range column(t, recs, "integral_time_s") {
		run := recs.Column("run").Strings[i]
		channel := recs.Column("channel").Strings[i]

		want := dt / 2
		tolerance := 0.3 * want
		switch {
		case run == "creeping.csv" && channel == "lift":
			continue // it is the trend's
		case run == "correlated.csv" && channel == "lift":
			want *= (1 + phi) / (1 - phi)
			tolerance = 0.25 * want
		}

		assert.InDelta(t, want, v, tolerance, "%s, %s: integral time s", run, channel)
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
