package ingeststage

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
)

// A matrix in a file is that of the configuration: German and English numbers, with and without names and header. The
// 96 coefficients of AIAA R-091 for 6 loads and the order of their 10 groups are by hand.
func TestMatrixFile(t *testing.T) {
	const settings = `{files: a.csv, constants: {alpha_deg: 1}, columns: {fx_n: Fx, fz_n: Fz}, axes: body, balance: {` +
		`voltages: [%s], matrix_file: m.csv, %sblockage: none}}`
	files := map[string]string{"a.csv": "U1,U2,U3,U4,U5,U6\n" + strings.Repeat("1,2,3,4,5,6\n", 20)}
	wide := strings.Repeat("1\t", 95) + "2,5\n"
	for _, c := range []struct{ text, volts, more, want string }{
		{"Last;U1;U2\nFx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{"Fx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{"Last;U2;U1\nFx;1,5;2\nFz;-3;4e1\n", "U1, U2", "", "[[2 1.5] [40 -3]] [] [Fx Fz]"},
		{"Last;U1;U2\nFz;1;2\nFx;3;4\n", "U1, U2", "components: [Fx, Fz], ", "[[3 4] [1 2]] [] [Fx Fz]"},
		{"1.5,2\n-3,nan\n", "U1, U2", "components: [Fx, Fz], ", `column 2: expected a number, found "nan"`},
		{"1.5,2\n-3,40\n", "U1, U2", "components: [Fx, Fz], ", "[[1.5 2] [-3 40]] [] [Fx Fz]"},
		{
			"# N per V\n 1.5 2 7\n-3 40 8\n", "U1, U2", "components: [Fx, Fz], terms: [1*2], ",
			"[[1.5 2 7] [-3 40 8]] [1*2] [Fx Fz]",
		},
		{",U1,U2,U1*U2,U2^2\nFx,1,2,3,4\nFz,1,2,3,4\n", "U1, U2", "", "[[1 2 3 4] [1 2 3 4]] [1*2 2^2] [Fx Fz]"},
		{
			"Fx\t" + wide + "Fz\t" + wide, "U1, U2, U3, U4, U5, U6", "",
			"|1| |2| |3| |4| |5| |6| 1^2 2^2 3^2 4^2 5^2 6^2 1*|1| 2*|2| 3*|3| 4*|4| 5*|5| 6*|6| 1*2 1*3 1*4 1*5 1*6 2*3",
		},
		{
			"Fx,1,2,3\nFz,1,2,3\n", "U1, U2", "",
			"of 2 coefficients or of 16 with the products of AIAA R-091, found 2 rows of 3",
		},
		{
			"Fx,1,2\n", "U1, U2", "components: [Fx, Fz], ",
			"of the components [Fx Fz], of 2 coefficients or of 16 with the products of AIAA R-091, found 1 rows of 2",
		},
		{"Fx,1,2\nFz,1,x\n", "U1, U2", "", `m.csv: matrix, row 2, column 3: expected a number, found "x"`},
	} {
		files["m.csv"] = c.text
		exp := campaignIn(t, files, fmt.Sprintf(settings, c.volts, c.more), "{triplets: split-halves}")
		in := exp.Ingest
		err := readMatrix(exp, &in)
		assert.Contains(t, fmt.Sprint(in.Balance.Matrix, in.Balance.Terms, in.Balance.Components, err), c.want)
	}
}

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

	b := planned(t, files, in, bands)

	res, err := read(b, 0, nil)
	require.NoError(t, err)

	run := res.Runs[0]
	assert.Len(t, run.Scale, 2, "channels")
	assert.InDelta(t, 10/0.05, run.Scale[0], 1e-9, "scale")
	assert.InDelta(t, 10/0.04/math.Pow(10, 14.0/20), run.Scale[1], 1e-9, "scale")
	assert.Equal(t, 30.0, run.Run.Recordings[1].Conditions["theta"], "angle")
	assert.Contains(t, run.How[1], "0.04 V/Pa by mics.csv; gain of this channel 14 dB")

	b = planned(t, map[string]string{"d/x3000.wav": files["a.wav"], "mics.csv": files["mics.csv"]},
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

		r, err := Plan(exp, simulatestage.Result{})
		if err == nil {
			_, err = read(&ingested{exp, r}, 0, nil)
		}

		assert.ErrorContains(t, err, want)
	}
}

// Recordings without wind are found as recordings are, first in the folder of the run.
func TestLocate(t *testing.T) {
	r, files := &Recordings{Source: &plan.Source{}}, []string{"a/off1.csv", "b/off1.csv", "zero/Null_A.csv", "c.csv"}
	for _, c := range [][3]string{
		{"off1", "a", "a/off1.csv"},
		{"b/off1.csv", "a", "b/off1.csv"},
		{"null_a", "a", "zero/Null_A.csv"},
		{"none", "a", "none"},
		{" c.csv ", "a", "c.csv"},
	} {
		text, err := r.locate(tareCell{c[0], c[1]}, "line 2", files)
		require.NoError(t, err)
		assert.Equal(t, c[2], text, "%v", c)
	}

	_, err := r.locate(tareCell{"off1", "zero"}, "line 2", files)
	assert.ErrorContains(t, err, `line 2: expected one recording without wind, found "a/off1.csv" and "b/off1.csv"`)
}
