package pipeline_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// writeWAV writes one channel as 16-bit integers, ±1 is full scale.
func writeWAV(t *testing.T, path string, rate uint32, x []float64) {
	t.Helper()
	le := binary.LittleEndian
	n := uint32(2 * len(x))
	b := append(le.AppendUint32([]byte("RIFF"), 36+n), "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = le.AppendUint32(le.AppendUint32(b, rate), 2*rate)
	b = le.AppendUint32(append(b, "\x02\x00\x10\x00data"...), n)
	for _, v := range x {
		b = le.AppendUint16(b, uint16(int16(math.Round(v*32767))))
	}

	require.NoError(t, os.WriteFile(path, b, 0o644))
}

// A line of half of full scale, through every chain of units to the level and its
// name. Expected: closed form, written with each: 20 lg of the line's rms, a/√2,
// over 20 µPa; dBFS over that of a full-scale sine (AES17); and 20 lg(from/to) of
// a change of distance, 20 lg(r/r0).
func TestUnitsAndDistance(t *testing.T) {
	longtest.Skip(t, "trains networks or runs a campaign")

	const a = 0.5
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(9, 9))

	x := make([]float64, 4*6400)
	for i := range x {
		x[i] = a*32768/32767*math.Sin(2*math.Pi*80*float64(i)/6400) + 1e-3*rng.NormFloat64()
	}

	writeWAV(t, filepath.Join(dir, "run.wav"), 6400, x)

	pa := func(peak float64) float64 { return 20 * math.Log10(peak/math.Sqrt2/20e-6) }
	for _, c := range []struct {
		calibration, dsp string
		want             float64
		unit             string
	}{
		{"", "", 20 * math.Log10(a), "dBFS"},
		{"calibration: {unit: full-scale}", "", 20 * math.Log10(a), "dBFS"},
		{"calibration: {unit: Pa}", "", pa(a), "dB re 20 µPa"},
		{"calibration: {pa_per_unit: 3}", "", pa(3 * a), "dB re 20 µPa"},
		{"calibration: {full_scale_v: 10, reading: peak, sensitivity_v_per_pa: 0.05}", "", pa(10 * a / 0.05), "dB re 20 µPa"},
		// 10 V rms at full scale are a peak of 14.1 V.
		{
			"calibration: {full_scale_v: 10, reading: rms, sensitivity_v_per_pa: 0.05}", "", pa(10 * math.Sqrt2 * a / 0.05),
			"dB re 20 µPa",
		},
		{"calibration: {full_scale_v: 10, sensitivity_v_per_pa: 0.05, gain_db: 26}", "", pa(10*a/0.05) - 26, "dB re 20 µPa"},
		{"calibration: {full_scale_v: 10}", "", 20 * math.Log10(10*a/math.Sqrt2), "dB re 1 V"},
		{"calibration: {unit: Pa}", ", distance: {from_m: 1.5, to_m: 1}", pa(a) + 20*math.Log10(1.5), "dB re 20 µPa"},
		{"calibration: {unit: Pa}", ", output: power", a * a / 2, "Pa²"},
		{"", ", output: power", a * a / 2, "full-scale²"},
	} {
		what := c.calibration + c.dsp
		tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(`version: 1
experiments:
  rotor:
    ingest: {files: run.wav, constants: {blades: 2, rpm: 2400}%s}
    dsp: {triplets: split-half-spectrum, harmonics: 1%s}
`, strings.TrimSuffix(", "+c.calibration, ", "), c.dsp))

		name := "bpf1_db"
		if strings.Contains(c.dsp, "power") {
			name = "bpf1_power"
		}

		for h := 1; h <= 2; h++ {
			col := fmt.Sprintf("%s_%d", name, h)
			got := column(t, tab, col)[0]
			tol := 0.01
			if name == "bpf1_power" {
				tol = 2e-3 * c.want
			}

			assert.InDelta(t, c.want, got, tol, "%s: half %d", what, h)
			assert.Equal(t, c.unit, tab.Column(col).Unit, "%s: in", what)
		}

		if d := tab.Column(name + "_1").Description; strings.Contains(c.dsp, "distance") != strings.Contains(d,
			"normalised from 1.5 m to 1 m") {
			t.Errorf("%s: described as %q", what, d)
		}
	}
}
