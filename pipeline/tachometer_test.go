package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// driftingRotor returns 8 s at 6400 Hz of the tachometer and of a microphone beside a rotor of three blades. The speed
// drifts by 3 % about 81.2 rev/s: after s seconds the shaft has made 80 s + 0.15 s² revolutions. The tachometer has two
// smooth pulses of 5 V a revolution. The microphone hears lines of 0.5 and 0.05 Pa at the first two harmonics in noise.
func driftingRotor() (tachometer, microphone []float64) {
	const rate, n = 6400.0, 8 * 6400
	rng := rand.New(rand.NewPCG(3, 4))

	tachometer = make([]float64, n)
	microphone = make([]float64, n)
	for i := range n {
		seconds := float64(i) / rate
		angle := 2 * math.Pi * (80*seconds + 0.15*seconds*seconds)
		tachometer[i] = 5 / (1 + math.Exp(-30*math.Sin(2*angle)))
		microphone[i] = 0.5*math.Cos(3*angle) + 0.05*math.Sin(6*angle) + 0.01*rng.NormFloat64()
	}

	return tachometer, microphone
}

// tachometerYAML is the configuration of a drifting rotor. The name of the condition that is 80 is inserted.
const tachometerYAML = `version: 1
experiments:
  rotor:
    ingest:
      files: run.npy
      constants: {blades: 3, %s: 80}
      rate_hz: 6400
      calibration: {unit: Pa}
      tachometer: {channel: 1, pulses_per_rev: 2}
    dsp: {triplets: split-half-spectrum, harmonics: 2, amplitude: synchronous}
`

// The speed is read from the tachometer, and levels are those of an average that is synchronous with it, which the
// drift does not smear. Expected: the mean speed after 4 of 8 s, 60·(80 + 0.3·4) = 4872 1/min, and the levels of the
// lines that were written. If the stated 80 is called rpm, a warning says that it is the speed in rev/s.
func TestTachometerChannel(t *testing.T) {
	dir := t.TempDir()
	tachometer, microphone := driftingRotor()
	writeNPY(t, filepath.Join(dir, "run.npy"), tachometer, microphone)

	for _, condition := range []string{"rps", "rpm"} {
		t.Run(condition, func(t *testing.T) {
			write(t, dir, "pipeline.yaml", fmt.Sprintf(tachometerYAML, condition))
			warnings := strings.Join(runIn(t, dir)["rotor"].Warnings, "\n")

			tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
			require.Equal(t, 1, tab.Rows(), "triplets: one of two channels is a microphone")
			assert.InDelta(t, 4872, column(t, tab, "rpm_measured")[0], 1, "rev/min")

			for i, amplitude := range []float64{0.5, 0.05} {
				for half := 1; half <= 2; half++ {
					level := column(t, tab, fmt.Sprintf("bpf%d_db_%d", i+1, half))[0]
					assert.InDelta(t, soundLevel(amplitude), level, 0.05, "harmonic %d, half %d: dB", i+1, half)
				}
			}

			const wrongUnit = "is the speed in rev/s"
			if condition == "rpm" {
				assert.Contains(t, warnings, wrongUnit)
			} else {
				assert.NotContains(t, warnings, wrongUnit)
			}

			assert.NotContains(t, warnings, "rise within a sample", "the pulses are smooth")
		})
	}
}

// A warning says what square pulses cost: with 79 samples per revolution, order 6 (harmonic 2 of three blades) reads
// 20/ln 10·(2π·6/79)²/36 = 0.055 dB low.
func TestTachometerWithSquarePulses(t *testing.T) {
	dir := t.TempDir()
	square, microphone := driftingRotor()
	for i, v := range square {
		square[i] = 5 * math.Round(v/5)
	}

	writeNPY(t, filepath.Join(dir, "run.npy"), square, microphone)
	write(t, dir, "pipeline.yaml", fmt.Sprintf(tachometerYAML, "rps"))

	warnings := strings.Join(runIn(t, dir)["rotor"].Warnings, "\n")
	assert.Contains(t, warnings, "±½ of 79 per revolution: harmonic 2 reads about 0.055 dB low")
}

// A configuration whose tachometer is missing, or contradicts other settings, is refused.
func TestTachometerFaults(t *testing.T) {
	dir := t.TempDir()
	tachometer, microphone := driftingRotor()
	writeNPY(t, filepath.Join(dir, "run.npy"), tachometer, microphone)

	for _, c := range []struct{ name, old, replacement, want string }{
		{
			"no tachometer", "      tachometer: {channel: 1, pulses_per_rev: 2}\n", "",
			"synchronous averages over the shaft's angle; expected ingest.tachometer",
		},
		{"no such channel", "channel: 1,", "channel: 3,", `expected a channel "3"`},
		{"tracked too", "amplitude: synchronous", "track: {range_hz: [60, 100]}", "leave one of them out"},
		{
			"two speeds", "{blades: 3, rps: 80}", "{blades: 3, rps: 80, rpm: 4800}",
			"both rpm (1/min) and rps (rev/s) are given",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			yaml := fmt.Sprintf(tachometerYAML, "rps")
			require.Contains(t, yaml, c.old)
			assertRefuses(t, dir, strings.Replace(yaml, c.old, c.replacement, 1), c.want)
		})
	}
}
