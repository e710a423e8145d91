package stages

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// A table of microphones gives conditions, sensitivities and gains of channels; its channels are those used. Expected
// scales are 10 V/(V/Pa)/10^(gain/20).
func TestMicrophones(t *testing.T) {
	w := ingesttest.PCM16(3, make([]int16, 1200)...)
	w.RIFF = uint32(36 + len(w.Data))
	files := map[string]string{
		"a.wav": string(w.Bytes()), "c.csv": "file,rpm\na.wav,3000\n",
		"mics.csv": "Channel;theta (deg);sensitivity_v_per_pa;gain_db;serial\n1;-30;0,05;;77\n2;30;0,04;20;78\n",
	}
	const bands, in = "{triplets: split-half-bands}", `{files: a.wav, conditions: c.csv, microphones: mics.csv, ` +
		`calibration: {full_scale_v: 10, gain_db: {2: -6}}}`

	b := planFiles(t, files, in, bands)

	res, err := read(b, 0, nil)
	require.NoError(t, err)

	run := res.Runs[0]
	assert.Len(t, run.Scale, 2, "channels")
	assert.InDelta(t, 10/0.05, run.Scale[0], 1e-9, "scale")
	assert.InDelta(t, 10/0.04/math.Pow(10, 14.0/20), run.Scale[1], 1e-9, "scale")
	assert.Equal(t, 30.0, run.Run.Recordings[1].Conditions["theta"], "angle")
	assert.Contains(t, run.How[1], "0.04 V/Pa by mics.csv; gain of this channel 14 dB")

	b = planFiles(t, map[string]string{"d/x3000.wav": files["a.wav"], "mics.csv": files["mics.csv"]},
		"{files: d/*.wav, pattern: 'x{rpm}.wav', microphones: mics.csv, calibration: {full_scale_v: 10}}", bands)

	res, err = read(b, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, 30.0, res.Runs[0].Run.Recordings[1].Conditions["theta"], "angle without a table of runs")

	for table, want := range map[string]string{
		"channel,theta_deg\n1,\n2,30\n":                       "since the configuration uses theta_deg, found an empty cell",
		"place,theta\n1,3\n":                                  `expected a column "channel"`,
		"channel,sensitivity_v_per_pa\n1,0\n2,1\n":            "sensitivity_v_per_pa: expected a number above 0, found 0",
		"channel,theta\n1,0\n2,1\n4,2\n":                      "a.wav",
		"channel,theta\n1,0\n1,1\n":                           "mics.csv: line 3: expected a row for each channel",
		"channel,sens. in mV\n1,1\n":                          "expected gain_db or sensitivity_v_per_pa",
		"Kanal;Winkel zur Achse [°]\n1;30\n2;60\n":            "write theta_from: axis",
		"channel,sensitivity_v_per_pa,rpm\n1,1,5\n2,1,3000\n": "rpm",
	} {
		files["mics.csv"] = table
		exp := campaignIn(t, files, in, bands+"\n    train: {inputs: [rpm], splits: {a: {test: {theta_deg: 30}}}}")

		r, err := planIngest(exp, simulateResult{})
		if err == nil {
			_, err = read(&ingestedFile{exp, r}, 0, nil)
		}

		assert.ErrorContains(t, err, want)
	}
}
