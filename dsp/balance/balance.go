// Package balance turns the columns of a balance into outcomes: voltages into loads, loads into lift and drag, and
// these into coefficients. It reads the file of the matrix and the recordings without wind. Forces are in N, moments in
// N·m, pressures in Pa, angles in degrees.
package balance

import (
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/setting"
	"doubletake/internal/lists"
)

// Forces lists the roles of a balance's columns that the program turns into wind axes and divides into coefficients.
// Every other role is the name of an outcome.
var Forces = []string{"lift_n", "drag_n", "fx_n", "fz_n"}

// CoefficientOf contains the name of the coefficient that a force or a moment becomes.
var CoefficientOf = map[string]string{
	"lift_n": "cl", "drag_n": "cd", "mx_nm": "cl_roll", "my_nm": "cm", "mz_nm": "cn",
}

// LeverArm returns the reference by which a coefficient is divided once more than a force: "chord_m" or "span_m" for a
// moment, and "" for a force. isCoefficient is false for a name that is not a coefficient of a balance.
func LeverArm(coefficient string) (reference string, isCoefficient bool) {
	switch coefficient {
	case "cl", "cd":
		return "", true
	case "cm":
		return "chord_m", true
	case "cl_roll", "cn":
		return "span_m", true
	}

	return "", false
}

// Balance describes how the columns of a campaign's files become the outcomes of a balance.
type Balance struct {
	Campaign   *setting.Campaign // columns, their units, the axes, and the settings of the balance
	Model      *dsp.Settings     // chord and span of the model, and the density of the air
	Conditions []string          // conditions of the runs
	Channels   []string          // columns that are read of each file, in the order of the samples
	Matrix     *dsp.LoadMatrix   // loads of voltages; nil if the columns are outcomes
	Forces     bool              // the columns are forces, and the matrix is the identity
	Options    ingest.Options    // how recordings without wind are opened
}

// New returns the balance of a campaign whose runs have the given conditions. It replaces the settings of the balance
// by a copy that contains the matrix of the balance's file, or the identity if the columns are forces. It returns a
// *setting.Error about settings that do not fit together, and a *fault.Error about the file with the matrix.
func New(campaign *setting.Campaign, model *dsp.Settings, conditions []string, project setting.Project) (*Balance,
	error,
) {
	const other = "belongs to microphones"
	switch {
	case len(campaign.Columns) == 0:
		return nil, setting.Errorf("", "expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which outcome")
	case campaign.Microphones != nil:
		return nil, setting.Errorf("microphones", other)
	case campaign.Calibration != nil:
		return nil, setting.Errorf("calibration", other)
	}

	if err := readMatrix(project, campaign); err != nil {
		return nil, err
	}

	b := &Balance{Campaign: campaign, Model: model, Conditions: conditions}
	b.Forces = addIdentityMatrix(campaign)
	b.Channels = columnsRead(campaign, conditions)
	if err := b.check(); err != nil {
		return nil, err
	}

	return b, nil
}

// SeriesNames lists the names of a balance's series, in the order of the columns. If the axes are body axes, lift and
// drag take the place of the forces fx and fz and come first. If coefficients is true, the names of coefficients
// replace the names of their forces and moments.
func SeriesNames(settings *setting.Campaign, coefficients bool) []string {
	var names []string
	turned := settings.Axes == "body"
	if turned {
		names = []string{"lift_n", "drag_n"}
	}

	for _, column := range settings.Columns {
		isTurned := column.Name == "fx_n" || column.Name == "fz_n"
		if !turned || !isTurned {
			names = append(names, column.Name)
		}
	}

	if !coefficients {
		return names
	}

	for i, name := range names {
		if coefficient := CoefficientOf[name]; coefficient != "" {
			names[i] = coefficient
		}
	}

	return names
}

// hasColumn reports whether a column of the balance has a role.
func hasColumn(settings *setting.Campaign, role string) bool {
	_, ok := setting.Find(settings.Columns, role)
	return ok
}

// check returns a *setting.Error about settings of the balance that do not fit together. It stores the balance's
// matrix.
func (b *Balance) check() error {
	const key = "columns"
	settings := b.Campaign
	for _, column := range settings.Columns {
		if name, _ := Component(column.Value); name == "" {
			return setting.Errorf(key+"."+column.Name, "expected the name of a column, found %q", column.Value)
		}
	}

	body := hasColumn(settings, "fx_n") || hasColumn(settings, "fz_n")
	wind := hasColumn(settings, "lift_n") || hasColumn(settings, "drag_n")
	complete := hasColumn(settings, "fx_n") && hasColumn(settings, "fz_n")
	switch {
	case settings.Axes == "body" && !complete:
		return setting.Errorf(key,
			"axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected both among the columns")
	case settings.Axes == "body" && wind:
		return setting.Errorf(key, "lift_n and drag_n are wind axes, but axes is body")
	case settings.Axes == "wind" && body:
		return setting.Errorf(key,
			"fx_n and fz_n are body axes; set axes: body (they are turned by alpha_deg), or name the columns lift_n and drag_n")
	}

	if settings.Balance != nil {
		if err := b.checkLoads(); err != nil {
			return err
		}
	}

	return nil
}

// CheckCoefficients returns a *setting.Error about settings of dsp if forces become coefficients and the columns and
// conditions do not suffice for it.
func (b *Balance) CheckCoefficients() error {
	settings := b.Campaign
	body := hasColumn(settings, "fx_n") || hasColumn(settings, "fz_n")
	wind := hasColumn(settings, "lift_n") || hasColumn(settings, "drag_n")
	d := b.Model
	if d.ChordM <= 0 {
		return nil
	}

	if !body && !wind {
		var names []string
		for _, column := range settings.Columns {
			names = append(names, column.Name)
		}

		return setting.Errorf("chord_m",
			"coefficients are made of lift_n and drag_n (or fx_n, fz_n); the columns are %v", names).OfSection("dsp")
	}

	if d.DensityKgM3 == 0 && d.PressurePa == 0 && !airKnown(settings, b.Conditions) {
		return setting.Errorf("",
			"coefficients need the air density: expected density_kg_m3, or temperature_c and pressure_pa").OfSection("dsp")
	}

	return nil
}

// checkLoads returns a *setting.Error about settings of a balance of voltages that do not fit together. It stores the
// balance's matrix.
func (b *Balance) checkLoads() error {
	const key = "balance"
	settings := b.Campaign
	bal := settings.Balance
	var err error
	b.Matrix, err = dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms)
	if err != nil {
		return setting.Errorf(key, "%v", err)
	}

	isLoad := func(column setting.NamedString) bool {
		name, _ := Component(column.Value)
		return slices.Contains(bal.Components, name)
	}
	if !slices.ContainsFunc(settings.Columns, isLoad) {
		return setting.Errorf("columns", "none of the columns is one of the balance's loads %v", bal.Components)
	}

	if bal.ReferenceM != nil && !momentsMovable(settings) {
		return setting.Errorf(key, "r × F of reference_m needs moments and the "+
			"forces along their axes: expected axes: body and mx_nm, my_nm or mz_nm among the columns, and fy_n for mx_nm "+
			"where z is not 0 and for mz_nm where x is not 0")
	}

	if b.Model.ChordM > 0 && bal.Blockage == "" {
		return setting.Errorf(key,
			"coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a number")
	}

	return nil
}

// momentsMovable reports whether the moments can be moved to the reference point of the settings: the axes are body
// axes, a column is a moment, and a side force is measured if the reference point gives it an arm.
func momentsMovable(settings *setting.Campaign) bool {
	reference := settings.Balance.ReferenceM
	roll := hasColumn(settings, "mx_nm")
	yaw := hasColumn(settings, "mz_nm")
	needsSide := roll && reference[2] != 0 || yaw && reference[0] != 0
	if needsSide && !hasColumn(settings, "fy_n") {
		return false
	}

	return settings.Axes == "body" && (roll || yaw || hasColumn(settings, "my_nm"))
}

// Component splits a value such as "-Fz" into the name of a load and a sign: −1 if the value begins with "-", and 1
// otherwise.
func Component(value string) (name string, sign float64) {
	if n, ok := strings.CutPrefix(value, "-"); ok {
		return n, -1
	}
	return strings.TrimPrefix(value, "+"), 1
}

// columnsRead lists the columns that a balance's run is read from. Without a balance section they are the columns of
// the outcomes. With one they are the voltages, the columns of the angle and of the flow, and the columns of outcomes
// that are not loads.
func columnsRead(settings *setting.Campaign, conditions []string) []string {
	var names []string
	bal := settings.Balance
	if bal == nil {
		for _, column := range settings.Columns {
			names = append(names, column.Value)
		}

		return names
	}

	names = slices.Clone(bal.Voltages)
	if AngleColumn(bal, conditions) {
		names = append(names, bal.Angle)
	}

	if flow := bal.Flow; flow != nil {
		names = append(names, flow.Column, flow.Pressure, flow.Temperature)
	}

	for _, column := range settings.Columns {
		if name, _ := Component(column.Value); !slices.Contains(bal.Components, name) {
			names = append(names, column.Value)
		}
	}

	return lists.Names(names)
}

// AngleColumn reports whether the balance's angle is a column of the files, and not one of the conditions.
func AngleColumn(bal *setting.Balance, conditions []string) bool {
	return bal.Angle != "" && !slices.Contains(conditions, bal.Angle)
}

// airKnown reports whether conditions or a sensor give the dynamic pressure, or the air density that it is computed
// from.
func airKnown(settings *setting.Campaign, conditions []string) bool {
	has := func(name string) bool { return slices.Contains(conditions, name) }
	if has("q_pa") || has("density_kg_m3") || has("pressure_pa") && has("temperature_c") {
		return true
	}

	if settings.Balance == nil || settings.Balance.Flow == nil {
		return false
	}

	flow := settings.Balance.Flow

	return flow.Quantity == "q_pa" || flow.Pressure != ""
}
