package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// writeNPY writes columns as an (N, C) array of float64.
func writeNPY(t *testing.T, path string, columns ...[]float64) {
	t.Helper()

	require.NoError(t, os.WriteFile(path, ingesttest.Columns(true, columns...), 0o644))
}

// A rotor of three blades whose speed drifts by 3 % in closed form (angle
// 2π(80 t + 0.15 t²)), two pulses per revolution, a line of amplitude 0.5 Pa and
// one of 0.05 Pa at the second harmonic in noise. Expected: rpm_measured =
// 60·(80 + 0.3·4) = 4872; the levels 20 lg(a/√2/20 µPa) in both halves by the
// synchronous average, which is no spectrum and does not smear; a condition of
// 80 "rpm", which are rev/s, is reported.
func TestTachometerChannel(t *testing.T) {
	const rate, n = 6400.0, 8 * 6400
	rng := rand.New(rand.NewPCG(3, 4))

	tacho := make([]float64, n)
	mic := make([]float64, n)
	for i := range n {
		s := float64(i) / rate
		rev := 80*s + 0.15*s*s
		tacho[i] = 5 / (1 + math.Exp(-30*math.Sin(2*math.Pi*2*rev)))
		mic[i] = 0.5*math.Cos(2*math.Pi*3*rev) + 0.05*math.Sin(2*math.Pi*6*rev) + 0.01*rng.NormFloat64()
	}

	dir := t.TempDir()
	writeNPY(t, filepath.Join(dir, "run.npy"), tacho, mic)
	const yaml = `version: 1
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

	for _, name := range []string{"rps", "rpm"} {
		write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, name))

		e := runIn(t, dir)["rotor"]

		tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
		require.Equal(t, 1, tab.Rows(), "triplets: the tachometer is no microphone")

		assert.InDelta(t, 4872, column(t, tab, "rpm_measured")[0], 1, "rev/min")

		for m, a := range []float64{0.5, 0.05} {
			for h := 1; h <= 2; h++ {
				got := column(t, tab, fmt.Sprintf("bpf%d_db_%d", m+1, h))[0]
				assert.InDelta(t, 20*math.Log10(a/math.Sqrt2/20e-6), got, 0.05, "harmonic %d, half %d: dB", m+1, h)
			}
		}

		warned := strings.Contains(strings.Join(e.Warnings, "\n"), "is the speed in rev/s")
		assert.Equal(t, name == "rpm", warned, "%s: warnings\n%s", name, strings.Join(e.Warnings, "\n"))

		if text := strings.Join(e.Warnings, "\n"); strings.Contains(text, "rise within a sample") {
			t.Errorf("smooth pulses: %s", text)
		}
	}

	// Square pulses at 79 samples per revolution: order 6 loses
	// 20/ln 10·(2π·6/79)²/36 = 0.055 dB, which is reported.
	square := make([]float64, n)
	for i, v := range tacho {
		square[i] = 5 * math.Round(v/5)
	}

	writeNPY(t, filepath.Join(dir, "run.npy"), square, mic)

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, "rps"))

	assert.Contains(t, strings.Join(runIn(t, dir)["rotor"].Warnings, "\n"),
		"±½ of 79 per revolution: harmonic 2 reads about 0.055 dB low")

	for _, c := range []struct{ old, new, want string }{
		{
			"      tachometer: {channel: 1, pulses_per_rev: 2}\n", "",
			"synchronous averages over the shaft's angle; expected ingest.tachometer",
		},
		{"channel: 1,", "channel: 3,", `expected a channel "3"`},
		{"amplitude: synchronous", "track: {range_hz: [60, 100]}", "leave one of them out"},
		{"{blades: 3, rps: 80}", "{blades: 3, rps: 80, rpm: 4800}", "both rpm (1/min) and rps (rev/s) are given"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pipeline.yaml"),
			[]byte(strings.Replace(fmt.Sprintf(yaml, "rps"), c.old, c.new, 1)), 0o644))

		says(t, tryIn(dir), c.want)
	}
}
