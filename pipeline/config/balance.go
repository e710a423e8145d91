package config

import (
	"math"

	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// validateBalance reports faults of the section, which is at key.
func validateBalance(b *setting.Balance, f *File, e *Experiment, key string, fail failFunc) {
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

	validateMatrix(b, key+".matrix", fail)

	if n := len(b.ReferenceM); n != 0 && n != 3 {
		fail(key+".reference_m", "expected [x, y, z] in m, found %s", fault.Plural(int64(n), "number"))
	}

	for _, v := range b.ReferenceM {
		fail.within(key+".reference_m", "m", v, -most, most)
	}

	fail.when(math.IsNaN(b.BlockageValue()), key+".blockage",
		"expected none, or a relative increase of the speed between -%g and %g, e.g. 0.012, found %q",
		setting.MaxBlockage, setting.MaxBlockage, b.Blockage)

	if b.Tare != nil {
		validateTare(b.Tare, b, e, key+".tare", fail)
	}

	fail.within(key+".tolerance_deg", "an angle", b.ToleranceDeg, 0, 360)

	if b.Flow != nil {
		validateFlow(b.Flow, key+".flow", fail)
	}

	fail.when(len(e.Ingest.Columns) == 0, key,
		"expected columns too, e.g. {fx_n: Fx, fz_n: Fz}: which load is which outcome")
}

// validateMatrix reports faults of the balance's matrix, which is at key: a wrong number of rows, the first row with a
// wrong number of coefficients, and coefficients out of range.
func validateMatrix(b *setting.Balance, key string, fail failFunc) {
	if n := len(b.Matrix); n > 0 && n != len(b.Components) {
		fail(key, "expected %s, one for each of the components %v, found %d",
			fault.Plural(int64(len(b.Components)), "row"), b.Components, n)
	}

	for i, row := range b.Matrix {
		if want := len(b.Voltages) + len(b.Terms); len(row) != want {
			fail(key, "expected %s in each row (%s, %s), found %d in row %d",
				fault.Plural(int64(want), "coefficient"), fault.Plural(int64(len(b.Voltages)), "voltage"),
				fault.Plural(int64(len(b.Terms)), "term"), len(row), i+1)
			break
		}
	}

	for _, row := range b.Matrix {
		for _, coefficient := range row {
			fail.within(key, "coefficients", coefficient, -most, most)
		}
	}
}

// validateTare reports faults of the section, which is at key, of the balance b.
func validateTare(t *setting.Tare, b *setting.Balance, e *Experiment, key string, fail failFunc) {
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

// validateFlow reports faults of the section, which is at key.
func validateFlow(f *setting.Flow, key string, fail failFunc) {
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
