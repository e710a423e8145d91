package stages

import (
	"context"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
)

// balanceRun describes a file a.csv of a balance and the configuration with which it is read.
type balanceRun struct {
	columns    string             // names of the columns of a.csv, with commas
	samples    [][]float64        // of each column, in the order in which the configuration names the channels
	files      map[string]string  // other files of the campaign
	ingest     string             // section ingest of the configuration
	dsp        string             // section dsp of the configuration
	conditions map[string]float64 // of the run
}

// balanceSeries is the series of a balance: the samples of its outcomes.
type balanceSeries struct {
	series   []dsp.Series
	warnings int
}

// names returns the names of the outcomes with their units.
func (s balanceSeries) names() []string {
	var names []string
	for _, outcome := range s.series {
		names = append(names, outcome.Name+" "+outcome.Unit)
	}

	return names
}

// values returns the samples of an outcome.
func (s balanceSeries) values(name string) []float64 { return series(s.series, name).Values }

// evaluate returns the series of the run.
func (r balanceRun) evaluate(t *testing.T) (balanceSeries, error) {
	t.Helper()

	files := map[string]string{"a.csv": csv(r.columns, r.samples...)}
	maps.Copy(files, r.files)
	b := plannedDSP(t, files, r.ingest, r.dsp)
	_, err := planDSP(b.Experiment, b.ing)
	require.NoError(t, err)

	read := result(t, b, 0, r.conditions)
	recording := read.Runs[0].Run.Recordings[0]
	require.Len(t, r.samples, len(recording.Channels))

	loads := b.Reading.Loads(b.ing.Recordings.Files[0].File, b.Project())
	list, warnings, err := loads.Series(context.Background(), read, recording, r.samples)

	return balanceSeries{series: list, warnings: len(warnings)}, err
}

// bodyForces is a run whose balance measures the forces F_x and F_z in the axes of the body, at an angle of 30° and a
// speed of 10 m/s.
func bodyForces() balanceRun {
	return balanceRun{
		columns: "Fx,Fz", samples: [][]float64{{1, 2}, {10, 20}},
		files:      map[string]string{"c.txt": "file,alpha_deg,u_inf_m_s\na.csv,30,10\n"},
		ingest:     `{files: "*.csv", conditions: c.txt, columns: {fx_n: Fx, fz_n: Fz}, axes: body}`,
		dsp:        `{triplets: split-halves}`,
		conditions: map[string]float64{"alpha_deg": 30, "u_inf_m_s": 10},
	}
}

// The lift is F_z cos α − F_x sin α.
func TestSeriesAxes(t *testing.T) {
	got, err := bodyForces().evaluate(t)
	require.NoError(t, err)
	require.Equal(t, []string{"lift_n N", "drag_n N"}, got.names())

	sin, cos := math.Sincos(math.Pi / 6)
	assert.InDelta(t, 20*cos-2*sin, got.values("lift_n")[1], 1e-12)
}

// A coefficient is the force over ½ρU²·c·b. With ρ = 1.2 kg/m³, U = 10 m/s, c = 0.1 m and b = 0.5 m that is 3 N. The
// drag is F_x cos α + F_z sin α.
func TestSeriesCoefficients(t *testing.T) {
	run := bodyForces()
	run.dsp = `{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`

	got, err := run.evaluate(t)
	require.NoError(t, err)
	require.Equal(t, []string{"cl ", "cd "}, got.names())

	sin, cos := math.Sincos(math.Pi / 6)
	assert.InDelta(t, (1*cos+10*sin)/3, got.values("cd")[0], 1e-12)
}

// Axes of the body need the angle, and coefficients need a dynamic pressure above zero.
func TestSeriesRefused(t *testing.T) {
	run := bodyForces()
	run.conditions = map[string]float64{"u_inf_m_s": 10}
	_, err := run.evaluate(t)
	assert.ErrorContains(t, err, "a.csv: expected a condition alpha_deg")

	run = bodyForces()
	run.dsp = `{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`
	run.conditions["u_inf_m_s"] = 0
	_, err = run.evaluate(t)
	assert.ErrorContains(t, err, "expected a dynamic pressure above zero, found 0 Pa")
}

// An outcome whose unit neither the name nor the configuration states is in "file unit", with one warning. A stated
// unit is believed.
func TestSeriesUnits(t *testing.T) {
	got, err := balanceRun{
		columns: "A,B", samples: [][]float64{{1, 2}, {3, 4}},
		files:      map[string]string{"c.txt": "file,alpha_deg\na.csv,3\n"},
		ingest:     `{files: "*.csv", conditions: c.txt, columns: {moment: A, torque: B}, units: {torque: N·m}}`,
		dsp:        `{triplets: split-halves}`,
		conditions: map[string]float64{"alpha_deg": 3},
	}.evaluate(t)

	require.NoError(t, err)
	assert.Equal(t, []string{"moment file unit", "torque N·m"}, got.names())
	assert.Equal(t, 1, got.warnings)
}

// A load is the row of the matrix times the voltages, less the mean load of the recording without wind, with the sign
// in front of its name.
func TestSeriesOfVoltages(t *testing.T) {
	got, err := balanceRun{
		columns: "v1,v2", samples: [][]float64{{1, 2}, {10, 20}},
		files: map[string]string{
			"off.csv": csv("v1,v2", []float64{0.5, 0.5}, []float64{1, 3}), "c.txt": "file,alpha_deg\na.csv,3\n",
		},
		ingest: `{files: a.csv, conditions: c.txt, columns: {fx: Fx, up: -Fz}, balance: {voltages: [v1, v2], ` +
			`matrix: [[2, 0], [0, 3]], components: [Fx, Fz], tare: {file: off.csv, interpolation: mean}}}`,
		dsp:        `{triplets: split-halves}`,
		conditions: map[string]float64{"alpha_deg": 3},
	}.evaluate(t)

	require.NoError(t, err)
	require.Equal(t, []string{"fx N", "up N"}, got.names())
	assert.Equal(t, []float64{2*1 - 1, 2*2 - 1}, got.values("fx"), "the mean without wind is 2·0.5")
	assert.Equal(t, []float64{-(3*10 - 6), -(3*20 - 6)}, got.values("up"), "the mean without wind is 3·2")
}

// sweptRun is a run at a typed angle of 3°, whose zero is a sweep of the angle without wind. The load of the sweep is
// 1 + 0.1·a at the angle a. head names the columns of the sweep: the load, the angle and a third one. tare are further
// keys of the tare.
func sweptRun(head, tare string) balanceRun {
	var angle, zero, other []float64
	for a := -10.0; a <= 10; a++ {
		angle = append(angle, a)
		zero = append(zero, 1+0.1*a)
		other = append(other, 7)
	}

	return balanceRun{
		columns: "Fz", samples: [][]float64{{5, 6}},
		files: map[string]string{"off.csv": csv(head, zero, angle, other), "c.txt": "file,alpha_deg\na.csv,3\n"},
		ingest: `{files: a.csv, conditions: c.txt, columns: {lift_n: Fz}, balance: {angle: alpha_deg, ` +
			`tare: {file: off.csv, interpolation: linear` + tare + `}}}`,
		dsp:        `{triplets: split-halves}`,
		conditions: map[string]float64{"alpha_deg": 3},
	}
}

// The zero at 3° is 1.3. The angle of the sweep is the column that the configuration names, or otherwise the only
// column in degrees.
func TestSweepOfTypedAngle(t *testing.T) {
	for _, c := range []struct{ head, tare string }{
		{"Fz,Winkel (deg),T", ""},
		{"Fz,Winkel,T", ", angle: Winkel"},
		{"Fz,Winkel (deg),T (deg)", ", angle: Winkel"},
	} {
		got, err := sweptRun(c.head, c.tare).evaluate(t)
		require.NoError(t, err, c.head)
		assert.InDelta(t, 5-1.3, got.values("lift_n")[0], 1e-9, c.head)
	}

	_, err := sweptRun("Fz,Winkel,T", "").evaluate(t)
	assert.ErrorContains(t, err, "expected the angle of each sample, in a column in degrees, found columns [Fz Winkel T]")
}

// The halves of the file are 0.5 and 5.5 N in the mean. The dynamic pressure is the condition q_pa, 60 Pa, so that a
// coefficient is the force over 60 Pa·0.1 m·0.5 m = 3 N. The file has one row.
func TestFileOfBalance(t *testing.T) {
	lift := make([]float64, 40)
	for i := range lift {
		lift[i] = float64(i % 2)
		if i >= 20 {
			lift[i] += 5
		}
	}

	b := plannedDSP(t, map[string]string{"a.csv": csv("Fz", lift), "c.txt": "file,q_pa\na.csv,60\n"},
		`{files: "*.csv", conditions: c.txt, columns: {lift_n: Fz}}`,
		`{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`)
	res := result(t, b, 0, map[string]float64{"q_pa": 60})

	f := analysis.NewRows(b.Source.Reading)
	f.Loads = b.Reading.Loads(b.Files[0].File, b.Project())
	require.NoError(t, f.AddFile(context.Background(), res, b.Files[0].raw.File.Open, &analysis.FileNotes{}))

	require.Equal(t, 1, f.Triplets.Rows())
	assert.InDelta(t, 0.5/3, f.Triplets.Column("cl_1").Floats[0], 1e-12)
	assert.InDelta(t, 5.5/3, f.Triplets.Column("cl_2").Floats[0], 1e-12)
	assert.Equal(t, "second outcome, independent of the first given the run", f.Triplets.Column("cl_2").Description)
}
