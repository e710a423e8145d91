package stages

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// A German table of microphones, and a table whose columns the configuration names, give the scales and angles of the
// English one. Expected: 10 V over the sensitivity in V/Pa and 10^(gain/20), and 90° minus an angle to the axis.
func TestMicrophoneHeads(t *testing.T) {
	w := ingesttest.PCM16(3, make([]int16, 1200)...)
	w.RIFF = uint32(36 + len(w.Data))
	for _, c := range []struct{ name, table, settings string }{
		{
			"German", "Kanal;Winkel zur Achse [°];Empfindlichkeit [mV/Pa];Verstärkung [dB]\n1;120;50;0\n3;60;40;20\n",
			"microphones: m.csv, theta_from: axis",
		},
		{
			"English", "channel,theta_deg,sensitivity_v_per_pa,gain_db\n1,-30,0.05,0\n3,30,0.04,20\n", "microphones: m.csv",
		},
		{
			"by columns", "Pos,Grad,Empf [mV/Pa],V [dB]\n1,-30,50,0\n3,30,40,20\n", "microphones: {file: m.csv, columns: " +
				"{channel: Pos, theta_deg: Grad, sensitivity_v_per_pa: 'Empf [mV/Pa]', gain_db: 'V [dB]'}}",
		},
	} {
		b := planFiles(t, map[string]string{"x3000.wav": string(w.Bytes()), "m.csv": c.table},
			"{files: x*.wav, pattern: 'x{rpm}.wav', calibration: {full_scale_v: 10}, "+c.settings+"}",
			"{triplets: split-half-bands}")
		res, err := read(b, 0, nil)
		require.NoError(t, err, c.name)

		run := res.Runs[0]
		require.Len(t, run.Scale, 2, c.name)
		assert.InDelta(t, 10/0.05, run.Scale[0], 1e-9, c.name)
		assert.InDelta(t, 10/0.04/math.Pow(10, 20./20), run.Scale[1], 1e-9, c.name)
		assert.InDelta(t, -30, run.Run.Recordings[0].Conditions["theta_deg"], 1e-9, c.name)
		assert.InDelta(t, 30, run.Run.Recordings[1].Conditions["theta_deg"], 1e-9, c.name)
	}
}

// One chain fits files in volts, another files in parts of full scale. The unit of the samples is known only after a
// file is opened, so that a chain is refused by planning only if it contradicts itself. Expected scales: V/Pa inverted,
// the millivolts in a volt, 10^(gain/20), by hand.
func TestChainOfVolts(t *testing.T) {
	w := ingesttest.PCM16(1, make([]int16, 1200)...)
	w.RIFF = uint32(36 + len(w.Data))
	wav := string(w.Bytes())

	volts := "time [s],p [V]\n"
	for k := range 400 {
		volts += fmt.Sprintf("%g,%d\n", float64(k)/400, k%3)
	}

	millivolts := strings.Replace(volts, "[V]", "[mV]", 1)
	unstated := strings.Replace(volts, " [V]", "", 1)
	for _, c := range []struct {
		file, content, chain string
		scale                float64 // 0: the file is refused
		unit                 string
		err                  string
	}{
		{"x3000.csv", volts, "{sensitivity_v_per_pa: 0.05}", 20, "Pa", ""},
		{"x3000.csv", millivolts, "{sensitivity_v_per_pa: 0.05}", 0.02, "Pa", ""},
		{"x3000.csv", volts, "{sensitivity_v_per_pa: 0.05, gain_db: 20}", 2, "Pa", ""},
		{"x3000.csv", volts, "{full_scale_v: 10, sensitivity_v_per_pa: 0.05}", 0, "", "leave out full_scale_v"},
		{"x3000.csv", unstated, "{sensitivity_v_per_pa: 0.05}", 0, "", "the file does not state the samples' unit"},
		{"x3000.wav", wav, "{full_scale_v: 10, sensitivity_v_per_pa: 0.05}", 200, "Pa", ""},
		{"x3000.wav", wav, "{sensitivity_v_per_pa: 0.05}", 0, "", "needs full_scale_v"},
	} {
		b := planFiles(t, map[string]string{c.file: c.content},
			"{files: 'x*', constants: {rpm: 3000}, calibration: "+c.chain+"}", "{triplets: split-half-bands}")
		res, err := read(b, 0, nil)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%s %s", c.file, c.chain)
			assert.ErrorContains(t, err, c.file)
			continue
		}

		require.NoError(t, err, "%s %s", c.file, c.chain)
		assert.InDelta(t, c.scale, res.Runs[0].Scale[0], 1e-12*c.scale, "%s %s", c.file, c.chain)
		assert.Equal(t, []string{c.unit}, res.Runs[0].Units, "%s %s", c.file, c.chain)
	}
}
