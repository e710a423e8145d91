package setting

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

	// the matrix as it was delivered, in place of matrix: a table of text with a row per load. A column of names gives
	// the components, a header the terms; 6 × 96 numbers without a header have the terms of AIAA R-091: F, |F|, F²,
	// F|F|, FG, |FG|, F|G|, |F|G, F³, |F³|
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

	// point that the moments are about, [x, y, z] in m from the balance's centre along Fx, Fy, Fz (aft, right, up): r ×
	// F is subtracted. With chord_m and span_m my_nm, mx_nm and mz_nm become cm, cl_roll and cn
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

// SetDefaults stores the default values of the section.
func (b *Balance) SetDefaults() {
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
	if err != nil || !(v > -MaxBlockage && v < MaxBlockage) {
		return math.NaN()
	}

	return v
}

// MaxBlockage bounds the relative increase of the speed.
const MaxBlockage = 0.5

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

	// linear interpolates the zero between the recordings before and after, by the place of the run's row among the
	// rows that share these recordings; mean takes the mean of both, if the order of the runs is not known
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

// SetDefaults stores the default values of the section.
func (t *Tare) SetDefaults() { t.Interpolation = "harmonic" }

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

// SetDefaults stores the default values of the section.
func (f *Flow) SetDefaults() {
	f.Quantity = "u_m_s"
	f.Law = "linear"
	f.DivideBy = 1
	f.Granularity = "run"
}

// Flow returns the settings of the flow's sensor, or nil if the campaign has no balance or no sensor.
func (c *Campaign) Flow() *Flow {
	if c.Balance == nil {
		return nil
	}

	return c.Balance.Flow
}
