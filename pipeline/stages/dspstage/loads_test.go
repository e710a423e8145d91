package dspstage

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
)

// seriesOf makes the outcomes of file "a.csv" of a balance.
func seriesOf(t *testing.T, files map[string]string, ingest, dspSection string,
	conditions map[string]float64,
) (list []string, value func(name string) []float64, warnings int, err error) {
	t.Helper()

	b := planned(t, files, ingest, dspSection)
	_, err = Plan(b.Experiment, b.ing)
	must.Do(t, err)

	res := result(t, b, 0, conditions)

	l := &Loads{Src: b.Source, File: &b.ing.Recordings.Files[0]}
	rd := make([][]float64, 0)

	rec := res.Runs[0].Run.Recordings[0]
	for i := range rec.Channels {
		rd = append(rd, columnsOf[i])
	}

	s, w, err := l.Series(context.Background(), res, rec, rd)
	for _, o := range s {
		list = append(list, o.Name+" "+o.Unit)
	}

	return list, func(name string) []float64 { return series(s, name).Values }, len(w), err
}

// columnsOf are the samples of a.csv in the order the source reads them.
var columnsOf [][]float64

// Expected: closed form of the axes, L = F_z cos α − F_x sin α, and of
// coefficients by ½ρU²·c·b with ρ = 1.2, U = 10, c = 0.1, b = 0.5: 3 N.
func TestSeriesAxesAndCoefficients(t *testing.T) {
	fx, fz := []float64{1, 2}, []float64{10, 20}
	columnsOf = [][]float64{fx, fz}
	files := map[string]string{"a.csv": csv("Fx,Fz", fx, fz), "c.txt": "file,alpha_deg,u_inf_m_s\na.csv,30,10\n"}
	const in = `{files: "*.csv", conditions: c.txt, columns: {fx_n: Fx, fz_n: Fz}, axes: body}`
	at := map[string]float64{"alpha_deg": 30, "u_inf_m_s": 10}
	names, value, _, err := seriesOf(t, files, in, `{triplets: split-halves}`, at)
	must.Never(t, err != nil || !slices.Equal(names, []string{"lift_n N", "drag_n N"}), "%v, %v", names, err)

	sin, cos := 0.5, math.Sqrt(3)/2
	if got, want := value("lift_n")[1], 20*cos-2*sin; math.Abs(got-want) > 1e-12 {
		t.Errorf("lift %g, want %g", got, want)
	}

	names, value, _, err = seriesOf(t, files, in,
		`{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`, at)
	must.Never(t, err != nil || !slices.Equal(names, []string{"cl ", "cd "}), "%v, %v", names, err)

	if got, want := value("cd")[0], (1*cos+10*sin)/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("c_D %g, want %g", got, want)
	}

	if _, _, _, err := seriesOf(t, files, in, `{triplets: split-halves}`,
		map[string]float64{"u_inf_m_s": 10}); err == nil ||
		!strings.Contains(err.Error(), "a.csv: expected a condition alpha_deg") {
		t.Errorf("%v", err)
	}

	at["u_inf_m_s"] = 0
	if _, _, _, err := seriesOf(t, files, in, `{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`,
		at); err == nil || !strings.Contains(err.Error(), "expected a dynamic pressure above zero, found 0 Pa") {
		t.Errorf("%v", err)
	}
}

// A column whose unit nobody states is called so, once; a stated one is believed.
func TestSeriesUnits(t *testing.T) {
	columnsOf = [][]float64{{1, 2}, {3, 4}}
	files := map[string]string{"a.csv": csv("A,B", columnsOf...), "c.txt": "file,alpha_deg\na.csv,3\n"}
	names, _, warnings, err := seriesOf(t, files,
		`{files: "*.csv", conditions: c.txt, columns: {moment: A, torque: B}, units: {torque: N·m}}`,
		`{triplets: split-halves}`, map[string]float64{"alpha_deg": 3})
	must.Not(t, err != nil || !slices.Equal(names, []string{"moment file unit", "torque N·m"}) || warnings != 1,
		"%v, %d warnings, %v", names, warnings, err)
}

// Expected: the matrix times the voltages, the sign in front of a load, the mean
// of the recording without wind taken off.
func TestSeriesOfVoltages(t *testing.T) {
	columnsOf = [][]float64{{1, 2}, {10, 20}}
	files := map[string]string{
		"a.csv":   csv("v1,v2", columnsOf...),
		"off.csv": csv("v1,v2", []float64{0.5, 0.5}, []float64{1, 3}), "c.txt": "file,alpha_deg\na.csv,3\n",
	}

	names, value, _, err := seriesOf(t, files,
		`{files: a.csv, conditions: c.txt, columns: {fx: Fx, up: -Fz}, balance: {voltages: [v1, v2], `+
			`matrix: [[2, 0], [0, 3]], components: [Fx, Fz], tare: {file: off.csv, interpolation: mean}}}`,
		`{triplets: split-halves}`, map[string]float64{"alpha_deg": 3})

	must.Never(t, err != nil || !slices.Equal(names, []string{"fx N", "up N"}), "%v, %v", names, err)

	if got := value("fx"); got[0] != 2*1-1 || got[1] != 2*2-1 {
		t.Errorf("Fx %v", got)
	}

	if got := value("up"); got[0] != -(3*10-6) || got[1] != -(3*20-6) {
		t.Errorf("-Fz %v", got)
	}
}

// A sweep of the angle without wind is the zero of a run at a typed angle. Expected: 1 + 0.1·a at a = 3°; the sweep's
// column is the one in degrees, else the one that is named.
func TestSweepOfTypedAngle(t *testing.T) {
	columnsOf = [][]float64{{5, 6}}

	var angle, zero, other []float64
	for a := -10.0; a <= 10; a++ {
		angle, zero, other = append(angle, a), append(zero, 1+0.1*a), append(other, 7)
	}

	for _, c := range []struct{ head, key, want string }{
		{"Fz,Winkel (deg),T", "", ""},
		{"Fz,Winkel,T", ", angle: Winkel", ""},
		{"Fz,Winkel (deg),T (deg)", ", angle: Winkel", ""},
		{"Fz,Winkel,T", "", "expected the angle of each sample, in a column in degrees, found columns [Fz Winkel T]"},
	} {
		files := map[string]string{
			"a.csv": csv("Fz", columnsOf...), "off.csv": csv(c.head, zero, angle, other), "c.txt": "file,alpha_deg\na.csv,3\n",
		}

		_, value, _, err := seriesOf(t, files, `{files: a.csv, conditions: c.txt, columns: {lift_n: Fz}, balance: {angle: `+
			`alpha_deg, tare: {file: off.csv, interpolation: linear`+c.key+`}}}`, `{triplets: split-halves}`,
			map[string]float64{"alpha_deg": 3})
		if must.Refuse(t, err, c.want); c.want == "" {
			must.Near(t, value("lift_n")[0], 5-1.3, 1e-9, "%s", c.head)
		}
	}
}

// The dynamic pressure of the conditions is taken before ½ρU², and a file's
// balance gives one row of its halves.
func TestFileOfBalance(t *testing.T) {
	lift := make([]float64, 40)
	for i := range lift {
		lift[i] = float64(i % 2)
		if i >= 20 {
			lift[i] += 5
		}
	}

	b := planned(t, map[string]string{"a.csv": csv("Fz", lift), "c.txt": "file,q_pa\na.csv,60\n"},
		`{files: "*.csv", conditions: c.txt, columns: {lift_n: Fz}}`,
		`{triplets: split-halves, chord_m: 0.1, span_m: 0.5, density_kg_m3: 1.2}`)
	res := result(t, b, 0, map[string]float64{"q_pa": 60})

	f := &fileTables{src: b.Source, loads: &Loads{Src: b.Source}}
	must.Do(t, f.file(context.Background(), res, b.Files[0].File.Open, &FileNotes{}))

	y1, err1 := f.trip.Floats("cl_1")

	y2, err2 := f.trip.Floats("cl_2")
	if err1 != nil || err2 != nil || len(y1) != 1 || math.Abs(y1[0]-0.5/3) > 1e-12 || math.Abs(y2[0]-5.5/3) > 1e-12 {
		t.Errorf("%v %v, %v %v; want 0.5 and 5.5 N over 3 N", y1, y2, err1, err2)
	}

	if c := f.trip.Column("cl_2"); c.Description != "second outcome, independent of the first given the run" {
		t.Errorf("%q", c.Description)
	}
}

// Degrees turns an angle's column in radians, and leaves others as they are.
func TestDegrees(t *testing.T) {
	x := []float64{0, math.Pi / 6}
	if got := degrees(x, "rad"); math.Abs(got[1]-30) > 1e-12 || x[1] != math.Pi/6 {
		t.Errorf("%v of %v", got, x)
	}

	if got := degrees(x, "deg"); &got[0] != &x[0] {
		t.Errorf("%v", got)
	}
}
