package config

import (
	"math"
	"strconv"
)

// Balance states how the voltages of a balance become forces, and how the flow was measured
// with them. Without voltages and matrix the columns are forces.
type Balance struct {
	// columns with the balance's voltages, in the matrix's order. Without voltages and matrix the files contain
	// forces, and the key columns names their columns, with a minus sign in front if a direction is reversed
	Voltages []string `key:"voltages"`

	// a row per load, in N or N·m per volt: a coefficient for each voltage, then one for each of the terms
	Matrix [][]float64 `key:"matrix"`

	// the matrix as it was delivered, in place of matrix: a table of text with a row per load. A column of names gives the
	// components, a header the terms; 6 × 96 numbers without a header have the terms of AIAA R-091: F, |F|, F², F|F|, FG,
	// |FG|, F|G|, |F|G, F³, |F³|
	MatrixFile string `key:"matrix_file" path:"yes"`

	// terms beyond the linear ones: products of voltages by number, e.g. 1*2, 3^2, |1|
	Terms []string `key:"terms"`

	// names of the loads, in the matrix's order; the key columns then names loads, with a minus sign in front if a
	// direction is reversed: {fx_n: Fx, fz_n: -Fz}
	Components []string `key:"components"`

	// angle of the balance's arm, for the tare and for axes: body: a condition in degrees, or a column of the
	// files (one value per sample)
	Angle string `key:"angle"`

	// unit of the angle's column
	AngleUnit string `key:"angle_unit" enum:"deg|rad"`

	// point that the moments are about, [x, y, z] in m from the balance's centre along Fx, Fy, Fz (aft, right, up): r × F
	// is subtracted. With chord_m and span_m my_nm, mx_nm and mz_nm become cm, cl_roll and cn
	ReferenceM []float64 `key:"reference_m"`

	// the balance's reading without wind, to be subtracted from the loads
	Tare *Tare `key:"tare"`

	// speed or dynamic pressure measured together with the forces, sample by sample
	Flow *Flow `key:"flow"`

	// relative increase of the speed at the model by the walls, e.g. 0.012: dynamic pressure is multiplied by
	// (1 + blockage)²; none: no correction. Needed if forces become coefficients
	Blockage string `key:"blockage"`

	// how many degrees an angle may lie outside the angles of the tare; a larger distance is an error
	ToleranceDeg float64 `key:"tolerance_deg"`
}

func (b *Balance) setDefaults() {
	b.Components = []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"}
	b.AngleUnit = "deg"
	b.ToleranceDeg = 2
}

// BlockageValue returns the number of blockage: 0 for none, NaN for a text that
// is not a number between -0.5 and 0.5.
func (b *Balance) BlockageValue() float64 {
	if b.Blockage == "" || b.Blockage == "none" {
		return 0
	}

	v, err := strconv.ParseFloat(b.Blockage, 64)
	if err != nil || !(v > -maxBlockage && v < maxBlockage) {
		return math.NaN()
	}

	return v
}

// maxBlockage bounds the relative increase of the speed.
const maxBlockage = 0.5

// Tare is a recording without wind.
type Tare struct {
	// the recording without wind, with the same columns. A pattern of names gives each run its own: in
	// tare1_m{mounting:text}_u{u_inf_m_s}.txt the fields are conditions of the runs
	File string `key:"file" path:"yes"`

	// instead of file: the column of the conditions table that names each run's own recording without wind, in the same
	// way as the column file names recordings
	Column string `key:"column"`

	// the recording without wind after the runs: a file, or, with column, the column that names it. The change of the
	// zero is reported
	Closing string `key:"after" path:"yes"`

	// linear interpolates the zero between the recordings before and after, by the place of the run's row among the rows
	// that share these recordings; mean takes the mean of both, if the order of the runs is not known
	Drift string `key:"drift" enum:"|linear|mean"`

	// the recording's column with the angle, if the angle of the runs is a condition; empty: the column in degrees
	Angle string `key:"angle"`

	// first row of the recording to use
	Row0 int `key:"row0" default:"0"`

	// row after the last; 0: to the end
	Row1 int `key:"row1" default:"0"`

	// zero over the angle: mean is one zero for all angles, harmonic fits zero and weight (a + b cos + c sin), linear
	// interpolates between neighbouring angles
	Interpolation string `key:"interpolation" enum:"mean|harmonic|linear"`
}

func (t *Tare) setDefaults() { t.Interpolation = "harmonic" }

// Flow describes a sensor of the flow: its value is g(reading − zero)/divide_by, where g is the identity or the square
// root, by law.
type Flow struct {
	// the sensor's column; without it the speed is a condition
	Column string `key:"column"`

	// the speed in m/s or the dynamic pressure in Pa
	Quantity string `key:"quantity" enum:"u_m_s|q_pa"`

	// value = (v - zero)/divide_by, or the square root of (v - zero), divided by divide_by
	Law string `key:"law" enum:"linear|square-root"`

	// reading of the sensor at rest, in its own unit
	Zero float64 `key:"zero" default:"0"`

	// sensor units per m/s or Pa
	DivideBy float64 `key:"divide_by"`

	// one value for the run, its mean, or one for each sample
	Granularity string `key:"per" enum:"run|sample"`

	// column with the static pressure in Pa; with temperature it gives the air's density
	Pressure string `key:"pressure"`

	// column with the air's temperature in °C
	Temperature string `key:"temperature"`
}

func (f *Flow) setDefaults() {
	f.Quantity = "u_m_s"
	f.Law = "linear"
	f.DivideBy = 1
	f.Granularity = "run"
}

// validate reports faults of the section, which is at key.
func (b *Balance) validate(f *File, e *Experiment, key string, fail failFunc) {
	hasMatrix := len(b.Matrix) > 0 || b.MatrixFile != ""
	switch {
	case len(b.Voltages) == 0 && !hasMatrix: // the columns hold forces
		fail.refuse(f, key, "belongs to a balance of voltages, with voltages and matrix", "terms", "components")
	case len(b.Voltages) == 0:
		fail(key, "expected voltages: the columns of the balance's channels")
	case !hasMatrix:
		fail(key, "expected matrix: a row of coefficients for each load, or matrix_file: its file")
	case len(b.Matrix) > 0 && b.MatrixFile != "":
		fail(key, "expected matrix or matrix_file, found both")
	}

	if n := len(b.ReferenceM); n != 0 && n != 3 {
		fail(key+".reference_m", "expected [x, y, z] in m, found %d numbers", n)
	}

	for _, v := range b.ReferenceM {
		fail.within(key+".reference_m", "m", v, -most, most)
	}

	if n := len(b.Matrix); n > 0 && n != len(b.Components) {
		fail(key+".matrix", "expected %d rows, one for each of the components %v, found %d", len(b.Components), b.Components,
			n)
	}

	for i, r := range b.Matrix {
		if want := len(b.Voltages) + len(b.Terms); len(r) != want {
			fail(key+".matrix", "expected %d coefficients in each row (%d voltages, %d terms), found %d in row %d", want,
				len(b.Voltages), len(b.Terms), len(r), i+1)
			break
		}
	}

	fail.when(math.IsNaN(b.BlockageValue()), key+".blockage",
		"expected none, or a relative increase of the speed between -%g and %g, e.g. 0.012, found %q",
		maxBlockage, maxBlockage, b.Blockage)

	if b.Tare != nil {
		b.Tare.validate(b, e, key+".tare", fail)
	}

	fail.within(key+".tolerance_deg", "an angle", b.ToleranceDeg, 0, 360)

	for _, row := range b.Matrix {
		for _, v := range row {
			fail.within(key+".matrix", "coefficients", v, -most, most)
		}
	}

	if b.Flow != nil {
		b.Flow.validate(key+".flow", fail)
	}

	fail.when(len(e.Ingest.Columns) == 0, key,
		"expected columns too, e.g. {fx_n: Fx, fz_n: Fz}: which load is which outcome")
}

// validate reports faults of the section, which is at key, of the balance b.
func (t *Tare) validate(b *Balance, e *Experiment, key string, fail failFunc) {
	hasWrongRows := t.Row0 < 0 || t.Row1 < 0 || t.Row1 > 0 && t.Row1 <= t.Row0
	lacksOrder := t.Closing == "" || e.Ingest.Conditions == ""
	switch {
	case t.File == "" && t.Column == "":
		fail(key, "expected file: the recording without wind, or column: which column of the conditions names "+
			"each run's")
	case t.File != "" && t.Column != "":
		fail(key, "expected file or column, found both")
	case hasWrongRows:
		fail(key, "expected rows from 0 with row0 below row1, found %d and %d", t.Row0, t.Row1)
	case t.Drift == "mean" && t.Closing == "":
		fail(key+".drift", "needs after: the recording without wind after the runs")
	case t.Drift == "linear" && lacksOrder:
		fail(key+".drift", "needs after: the recording without wind after the runs, and conditions: a table whose "+
			"rows are in their order")
	case t.Interpolation != "mean" && b.Angle == "":
		fail(key+".interpolation", "%s runs over an angle; expected balance.angle, or interpolation: mean",
			t.Interpolation)
	}
}

// validate reports faults of the section, which is at key.
func (f *Flow) validate(key string, fail failFunc) {
	switch {
	case (f.Pressure == "") != (f.Temperature == ""):
		fail(key, "expected pressure and temperature, the columns the air's density comes from, found one of them")
	case f.Column == "" && f.Pressure == "":
		fail(key, "expected column: the sensor's column, or pressure and temperature")
	}

	fail.within(key+".zero", "a number", f.Zero, -most, most)

	if size := math.Abs(f.DivideBy); !(size >= 1/most && size <= most) {
		fail(key+".divide_by", "expected a number other than zero, from -%g to %g, found %g", most, most, f.DivideBy)
	}
}
