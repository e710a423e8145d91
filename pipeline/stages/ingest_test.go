package stages

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
)

const rotorConditions = "file,blades,rpm,theta_deg\na.npy,2,3000,10\nb.npy,3,4000,20\n"

// Two files of a rotor: a task for each and one for the index, with the pool and
// the hand-off that the dsp stage shares.
func TestPlanMicrophones(t *testing.T) {
	x := npyFile(count(100, 1), count(100, 2))
	b := planFiles(t, map[string]string{"a.npy": x, "b.npy": x, "c.csv": rotorConditions},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, channels: ["2"], theta_from: axis}`,
		`{triplets: split-half-spectrum, track: {range_hz: [10, 20]}}`)
	assert.Equal(t, "x/ingest/a.npy x/ingest/b.npy x/recordings", ids(b), "tasks")

	assert.Equal(t, "blades rpm theta_deg rpm_tracked", strings.Join(b.Conditions, " "), "conditions")

	assert.Implements(t, (*dsp.OfSpectra)(nil), b.Construction)
	assert.False(t, b.Recordings.Source.Reading.Grouping.Together, "channels are recordings of their own")
	assert.Equal(t, []string{"2"}, b.Recordings.Source.Reading.Grouping.Channels)

	require.Len(t, b.Results, 2, "recordings")
	assert.NotNil(t, b.Recordings.Files[1].Kept)

	// Known before any file is read, with the angle from the rotor plane.
	known := b.Known[1].Numbers
	assert.Equal(t, 3.0, known["blades"])
	assert.Equal(t, 70.0, known["theta_deg"])

	// The key of the task has the settings that the task reads, without the globs and the table of conditions. The row of
	// the table is local.
	task := b.Tasks.Plan.Tasks[0]
	if _, ok := value(task.Config, "ingest.files"); ok {
		t.Error("the key of a file has the globs")
	}

	rate, _ := value(task.Config, "ingest.rate_hz")
	assert.Equal(t, "1000", rate)

	require.Len(t, task.Local, 1, "local %v", task.Local)
	assert.Contains(t, task.Local[0].Value, "rpm", "local %v", task.Local)
}

// A run of a file has its channels with their conditions, statistics in the calibrated unit, and the origin of the
// calibration. Expected: the numbers of the file times 0.5 Pa.
func TestReadMicrophones(t *testing.T) {
	x := npyFile(count(100, 1), count(100, 2))
	b := planFiles(t, map[string]string{"a.npy": x, "b.npy": x, "c.csv": rotorConditions},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, calibration: {pa_per_unit: 0.5}}`,
		`{triplets: split-half-spectrum}`)
	res, err := read(b, 0, nil)
	require.NoError(t, err)

	require.Len(t, res.Runs, 1)
	require.Len(t, res.Runs[0].Run.Recordings, 2)

	run := res.Runs[0]
	const second = 1 // microphone
	assert.Equal(t, "Pa", run.Units[second])
	assert.Equal(t, 0.5, run.Scale[second])
	assert.Equal(t, "0.5 Pa per unit, as configured", run.How[second])

	stats := run.Stats[second] // of 0 to 99 Pa
	assert.EqualValues(t, 100, stats.Samples, "samples")
	assert.Equal(t, 99.0, stats.Max, "largest sample")
	assert.Equal(t, 49.5, stats.Mean, "mean")

	conditions := run.Run.Recordings[second].Conditions
	assert.Equal(t, 3000.0, conditions["rpm"])
	assert.Equal(t, 2.0, conditions["blades"])

	r := b.Recordings.Source.Reading.Run(res.Info, run.Run, 100, run.Scale, run.Units)
	require.Len(t, r.Microphones, 2)
	assert.Equal(t, 1, r.Microphones[second].Channel)
	assert.Equal(t, 0.5, r.Microphones[second].Scale)
	assert.Equal(t, 1000.0, r.RateHz)
	assert.EqualValues(t, 100, r.Samples)

	renamed := ingest.Run{ID: "other", Recordings: run.Run.Recordings}
	other := b.Recordings.Source.Reading.Run(res.Info, renamed, 100, run.Scale, run.Units)
	assert.NotEqual(t, r.Seed, other.Seed, "seeds of two runs")
}

// A sample that is not a number is an error of the file. With on_bad_recording: skip, the error is the reason for
// skipping the file, and names it.
func TestBadRecordings(t *testing.T) {
	bad := count(100, 2)
	bad[7] = math.NaN()
	files := map[string]string{"a.npy": npyFile(count(100, 1), bad), "c.csv": "file,blades,rpm\na.npy,2,3000\n"}
	for _, policy := range []string{"fail", "skip"} {
		b := planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, on_bad_recording: `+policy+`}`,
			`{triplets: split-half-spectrum}`)
		_, err := read(b, 0, nil)
		skip := b.Recordings.Reading.Skips(err)
		require.Error(t, err, "%s: %v", policy, err)
		require.Equal(t, policy == "skip", skip, "%s: %v", policy, err)
		assert.False(t, skip && !strings.Contains(err.Error(), "a.npy"), "%s: %v", policy, err)
	}
}

// The columns of a balance are one recording, and its samples are kept for the analysis. Expected: the integral times
// that dsp.CheckBalance computes from the kept samples.
func TestReadBalance(t *testing.T) {
	text := "time,Fz,Fx\n"
	for i := range 200 {
		text += strings.Join([]string{num(float64(i) / 100), num(math.Sin(float64(i * i))), num(2 + math.Cos(float64(i*i)))},
			",") + "\n"
	}

	b := planFiles(t, map[string]string{"a5_u10.csv": text},
		`{files: "*.csv", pattern: "a{alpha_deg}_u{u_inf_m_s}.csv", columns: {lift_n: Fz, drag_n: Fx}}`,
		`{triplets: split-halves}`)
	kept := analysis.NewKept()
	res, err := read(b, 0, kept)
	require.NoError(t, err)

	run := res.Runs[0]
	require.Len(t, run.Run.Recordings, 1, "%+v", run)
	require.Len(t, run.Stats, 2, "%+v", run)
	require.Len(t, run.Integral, 2, "%+v", run)

	conditions := run.Run.Recordings[0].Conditions
	assert.Equal(t, 5.0, conditions["alpha_deg"])
	assert.Equal(t, 10.0, conditions["u_inf_m_s"])

	series := kept.Series(run.Run.ID)
	require.NotNil(t, series, "kept %d series", len(series))
	assert.Equal(t, round(2+math.Cos(9)), series[1][3], "kept %d series", len(series))

	c, err := dsp.CheckBalance(series, 100)
	require.NoError(t, err)
	assert.Equal(t, c.IntegralTimeS, run.Integral, "integral times %v, dsp has %v, %v", run.Integral, c.IntegralTimeS, err)

	assert.True(t, run.Stats[1].Mean > 1.5 && run.Stats[1].Mean < 2.5, "mean drag %g", run.Stats[1].Mean)
}

// The pass over a run of microphones loads the spectra that the construction asks for. Expected: the same statistics as
// by a scan without spectra.
func TestReadLoadsSpectra(t *testing.T) {
	x := make([]float64, 8000)
	for i := range x {
		x[i] = math.Sin(2*math.Pi*100*float64(i)/1000) + 0.1*math.Sin(float64(i*i))
	}

	b := planFiles(t, map[string]string{"a.npy": npyFile(x), "c.csv": "file,blades,rpm\na.npy,2,3000\n"},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000}`, `{triplets: split-half-spectrum, harmonics: 2}`)
	alone, err := read(b, 0, nil)
	require.NoError(t, err)

	kept := analysis.NewKept()
	res, err := read(b, 0, kept)
	require.NoError(t, err)

	assert.Equal(t, alone.Runs[0].Stats[0], res.Runs[0].Stats[0], "statistics")

	run := res.Runs[0]
	asked := b.Recordings.Source.Reading.Run(res.Info, run.Run, 8000, run.Scale, run.Units)
	want, err := b.Construction.(dsp.OfSpectra).Spectra(asked)
	require.NoError(t, err)

	assert.NotNil(t, kept.Spectra(want), "the spectra were not loaded")

	kept.Free()
}

// Settings that do not fit together are refused with their key.
func TestPlanRefuses(t *testing.T) {
	files := map[string]string{"a.npy": npyFile(count(9, 1)), "c.csv": "file,blades,rpm\na.npy,2,3000\n"}
	const with = `files: "*.npy", conditions: c.csv, rate_hz: 1000`

	spectra, halves := `{triplets: split-half-spectrum}`, `{triplets: split-halves}`
	for _, c := range [][3]string{
		{`{` + with + `, columns: {lift_n: "1"}}`, spectra, "x.ingest.columns: belongs to balances; for microphones name " +
			"channels"},
		{`{` + with + `}`, halves, "x.ingest: expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which " +
			"outcome"},
		{
			`{` + with + `, columns: {lift_n: "1"}, calibration: {unit: Pa}}`, halves,
			"x.ingest.calibration: belongs to microphones",
		},
		{`{` + with + `, calibration: {gain_db: 20}}`, spectra, "x.ingest.calibration: gain_db is part of a chain, but " +
			"sensitivity_v_per_pa is missing"},
		{`{files: "*.npy", pattern: "{", rate_hz: 1000}`, spectra, "x.ingest.pattern:"},
		{
			`{` + with + `, columns: {fx_n: "1"}, axes: body}`, halves,
			"x.ingest.columns: axes: body turns fx_n (aft) and fz_n (up)",
		},
		{
			`{` + with + `, columns: {fx_n: "1", fz_n: "1", lift_n: "1"}, axes: body}`, halves,
			"x.ingest.columns: lift_n and drag_n are wind axes",
		},
		{`{` + with + `, columns: {fx_n: "1", fz_n: "1"}}`, halves, "x.ingest.columns: fx_n and fz_n are body axes"},
		{
			`{` + with + `, columns: {my: "1"}}`, `{triplets: split-halves, chord_m: 1, span_m: 1}`,
			"x.dsp.chord_m: coefficients are made of lift_n and drag_n",
		},
		{
			`{` + with + `, columns: {lift_n: "1"}}`, `{triplets: split-halves, chord_m: 1, span_m: 1}`,
			"x.dsp: coefficients need the air density",
		},
		{
			`{` + with + `, columns: {lift_n: Fy}, balance: {voltages: ["1"], matrix: [[1]], components: [Fx]}}`, halves,
			"x.ingest.columns: none of the columns is one of the balance's loads [Fx]",
		},
		{
			`{` + with + `, columns: {lift_n: Fx}, balance: {voltages: ["1"], matrix: [[1]], components: [Fx]}}`,
			`{triplets: split-halves, chord_m: 1, span_m: 1}`, "x.ingest.balance: coefficients of a wind tunnel need the " +
				"walls' blockage",
		},
		{
			`{` + with +
				`, columns: {lift_n: Fx}, balance: {voltages: ["1"], matrix: [[1, 2]], terms: ["1*9"], components: [Fx]}}`, halves,
			`x.ingest.balance: balance term "1*9"`,
		},
	} {
		refused(t, files, c[0], c[1], c[2])
	}
}

// Excluded files are named; files named simulated count as simulated.
func TestExcludedAndSimulated(t *testing.T) {
	x := npyFile(count(9, 1))
	files := map[string]string{
		"simulated_1.npy": x, "b.npy": x, "d.npy": x,
		"c.csv": "file,blades,rpm\nsimulated_1.npy,2,3000\n",
	}

	b := planFiles(t, files, `{files: "*.npy", exclude: ["b.npy", "d.npy"], conditions: c.csv, rate_hz: 1000}`,
		`{triplets: split-half-spectrum}`)

	var got []string
	for _, w := range b.Warnings {
		got = append(got, w.Path+" "+w.Text)
	}

	require.Len(t, got, 2, "warnings")
	assert.Equal(t, "b.npy left out by exclude, also d.npy", got[0])
	assert.Contains(t, got[1], "simulated_1.npy is named simulated: the experiment is called simulated")

	assert.Equal(t, "simulated", b.Data, "data of the experiment")
	assert.Equal(t, "simulated", b.Recordings.Source.Ingest.Data, "data of its source")
}

// The index has a row for each channel; the condition that only dsp finds out is
// left to it.
func TestRecordings(t *testing.T) {
	x := npyFile(count(100, 1), constant(100, 3))
	b := planFiles(t, map[string]string{"a.npy": x, "b.npy": x, "c.csv": rotorConditions},
		`{files: "*.npy", conditions: c.csv, rate_hz: 1000, calibration: {unit: Pa}}`, `{triplets: split-half-spectrum}`)
	tab, columns := &table.Table{}, pairs.Columns{Conditions: b.Conditions}
	for i := range b.Recordings.Files {
		res, err := read(b, i, nil)
		require.NoError(t, err)

		res.SHA256 = "sum of " + res.Path
		res.AddRows(tab, columns.Cells)
	}

	require.Equal(t, 4, tab.Rows(), "rows")

	for name, want := range map[string]float64{"rpm": 4000, "rate_hz": 1000, "duration_s": 0.1, "max": 3, "scale": 1} {
		v, err := tab.Floats(name)
		require.NoError(t, err, "%s: %v, %v; want %g", name, v, err, want)
		assert.Equal(t, want, v[3], "%s: %v, %v; want %g", name, v, err, want)
	}

	assert.Equal(t, "sum of b.npy", tab.Column("sha256").Strings[3])
	assert.Equal(t, "Pa", tab.Column("unit").Strings[0])

	integral, err := tab.Floats("integral_time_s")
	require.NoError(t, err)
	assert.True(t, math.IsNaN(integral[0]), "a microphone has no integral time, found %g s", integral[0])

	task := b.Tasks.Plan.Tasks[len(b.Tasks.Plan.Tasks)-1]
	assert.Equal(t, "x/recordings", task.ID)
	require.Len(t, task.Publish, 1)
	assert.Equal(t, filepath.Join("x", "recordings.arrow"), task.Publish[0].Path)
}
