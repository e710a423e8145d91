package config

import "strconv"

// Balance says how the voltages of a balance become forces, and what was
// measured beside them. Without voltages and matrix the columns hold forces.
type Balance struct {
	Voltages      []string    `key:"voltages" doc:"columns with the balance's voltages, in the matrix's order; without voltages and matrix the files hold forces, and columns names their columns, with a sign in front if need be"`
	Matrix        [][]float64 `key:"matrix" doc:"a row per load, in N or N·m per volt: a coefficient for each voltage, then one for each of the terms"`
	Terms         []string    `key:"terms" doc:"terms beyond the linear ones: products of voltages by number, e.g. 1*2, 3^2, |1|"`
	Components    []string    `key:"components" doc:"names of the loads, in the matrix's order; columns then names them, with a sign in front if need be: {fx_n: Fx, fz_n: -Fz}"`
	Angle         string      `key:"angle" doc:"angle of the balance's arm: a condition in degrees, or a column of the files (one value per sample); for the tare and for axes: body"`
	AngleUnit     string      `key:"angle_unit" doc:"unit of the angle's column" enum:"deg|rad"`
	Tare          *Tare       `key:"tare" doc:"what the balance reads without wind, to be subtracted from the loads"`
	Flow          *Flow       `key:"flow" doc:"speed or dynamic pressure measured beside the balance, sample by sample"`
	Blockage      string      `key:"blockage" doc:"relative increase of the speed at the model by the walls, e.g. 0.012: dynamic pressure is multiplied by (1 + it)²; none is no correction; one of them is needed where forces become coefficients"`
	ToleranceDeg  float64     `key:"tolerance_deg" doc:"how many degrees an angle may lie outside of those of the tare; beyond it is an error"`
	blockageValue float64
}

func (b *Balance) setDefaults() {
	b.Components = []string{"Fx", "Fy", "Fz", "Mx", "My", "Mz"}
	b.AngleUnit, b.ToleranceDeg = "deg", 2
}

// BlockageValue is the number of blockage, 0 for none.
func (b *Balance) BlockageValue() float64 { return b.blockageValue }

// Tare is a recording without wind.
type Tare struct {
	File          string `key:"file" doc:"the recording without wind, with the same columns"`
	Column        string `key:"column" doc:"instead of file: the column of the conditions' table that names each run's own recording without wind"`
	Row0          int    `key:"row0" doc:"first row of it to use" default:"0"`
	Row1          int    `key:"row1" doc:"row after the last; 0: to the end" default:"0"`
	Interpolation string `key:"interpolation" doc:"over the angle: mean is one zero for all, harmonic fits zero and weight (a + b cos + c sin), linear goes from degree to degree" enum:"mean|harmonic|linear"`
}

func (t *Tare) setDefaults() { t.Interpolation = "harmonic" }

// Flow is a sensor of the flow: g((v − zero))/divide_by.
type Flow struct {
	Column   string  `key:"column" doc:"the sensor's column; without it the speed is a condition"`
	Quantity string  `key:"quantity" doc:"what it gives: the speed in m/s or the dynamic pressure in Pa" enum:"u_m_s|q_pa"`
	Law      string  `key:"law" doc:"value = (v - zero)/divide_by, or the square root of (v - zero), divided by divide_by" enum:"linear|square-root"`
	Zero     float64 `key:"zero" doc:"what the sensor reads at rest, in its own unit" default:"0"`
	DivideBy float64 `key:"divide_by" doc:"sensor units per m/s or Pa"`
	Per      string  `key:"per" doc:"one value for the run, its mean, or one for each sample" enum:"run|sample"`

	Pressure    string `key:"pressure" doc:"column with the static pressure in Pa; with temperature it gives the air's density"`
	Temperature string `key:"temperature" doc:"column with the air's temperature in °C"`
}

func (f *Flow) setDefaults() { f.Quantity, f.Law, f.DivideBy, f.Per = "u_m_s", "linear", 1, "run" }

func (b *Balance) validate(f *File, in *Ingest, key string, fail func(key, format string, args ...any)) {
	switch {
	case len(b.Voltages) == 0 && len(b.Matrix) == 0: // the columns hold forces
		for _, k := range []string{"terms", "components"} {
			if f.Has(key + "." + k) {
				fail(key+"."+k, "belongs to a balance of voltages, with voltages and matrix")
			}
		}
	case len(b.Voltages) == 0:
		fail(key, "expected voltages: the columns of the balance's channels")
	case len(b.Matrix) == 0:
		fail(key, "expected matrix: a row of coefficients for each load")
	}
	if n := len(b.Matrix); n > 0 && n != len(b.Components) {
		fail(key+".matrix", "expected %d rows, one for each of the components %v, found %d", len(b.Components), b.Components, n)
	}
	for i, r := range b.Matrix {
		if want := len(b.Voltages) + len(b.Terms); len(r) != want {
			fail(key+".matrix", "expected %d coefficients in each row (%d voltages, %d terms), found %d in row %d", want, len(b.Voltages), len(b.Terms), len(r), i+1)
			break
		}
	}
	switch b.Blockage {
	case "", "none":
	default:
		v, err := strconv.ParseFloat(b.Blockage, 64)
		if err != nil || !(v > -0.5 && v < 0.5) {
			fail(key+".blockage", "expected none, or a relative increase of the speed, e.g. 0.012, found %q", b.Blockage)
		}
		b.blockageValue = v
	}
	if t := b.Tare; t != nil {
		switch {
		case t.File == "" && t.Column == "":
			fail(key+".tare", "expected file: the recording without wind, or column: which column of the conditions names each run's")
		case t.File != "" && t.Column != "":
			fail(key+".tare", "expected file or column, found both")
		case t.Row0 < 0 || t.Row1 < 0 || t.Row1 > 0 && t.Row1 <= t.Row0:
			fail(key+".tare", "expected rows from 0 with row0 below row1, found %d and %d", t.Row0, t.Row1)
		case t.Interpolation != "mean" && b.Angle == "":
			fail(key+".tare.interpolation", "%s runs over an angle; expected balance.angle, or interpolation: mean", t.Interpolation)
		}
	}
	if b.ToleranceDeg < 0 {
		fail(key+".tolerance_deg", "expected zero or more, found %g", b.ToleranceDeg)
	}
	if w := b.Flow; w != nil {
		switch {
		case (w.Pressure == "") != (w.Temperature == ""):
			fail(key+".flow", "expected pressure and temperature, the columns the air's density comes from, found one of them")
		case w.Column == "" && w.Pressure == "":
			fail(key+".flow", "expected column: the sensor's column, or pressure and temperature")
		}
		if w.DivideBy == 0 {
			fail(key+".flow.divide_by", "expected a number other than zero")
		}
	}
	if len(in.Columns) == 0 {
		fail(key, "expected columns beside it, e.g. {fx_n: Fx, fz_n: Fz}: which load is which outcome")
	}
}
