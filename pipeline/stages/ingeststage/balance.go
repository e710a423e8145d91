package ingeststage

import (
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
)

// Forces lists the roles of a balance's columns that the program turns into wind axes and divides into coefficients.
// Every other role is the name of an outcome.
var Forces = []string{"lift_n", "drag_n", "fx_n", "fz_n"}

// CoefficientOf contains the name of the coefficient that a force or a moment becomes.
var CoefficientOf = map[string]string{
	"lift_n": "cl", "drag_n": "cd", "mx_nm": "cl_roll", "my_nm": "cm", "mz_nm": "cn",
}

// SeriesNames lists the names of a balance's series: the names of its columns, with lift and drag for forces in body
// axes, and with coefficients for forces and moments if coefficients is true.
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

// checkBalance returns an error about balance settings that do not fit together. It stores the balance's matrix in src.
func checkBalance(exp plan.Experiment, src *plan.Source) error {
	const key = "ingest.columns"
	settings := &src.Ingest
	for _, column := range settings.Columns {
		if name, _ := Component(column.Value); name == "" {
			return exp.Errorf(key+"."+column.Name, "expected the name of a column, found %q", column.Value)
		}
	}

	body := hasColumn(settings, "fx_n") || hasColumn(settings, "fz_n")
	wind := hasColumn(settings, "lift_n") || hasColumn(settings, "drag_n")
	complete := hasColumn(settings, "fx_n") && hasColumn(settings, "fz_n")
	switch {
	case settings.Axes == "body" && !complete:
		return exp.Errorf(key,
			"axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected both among the columns")
	case settings.Axes == "body" && wind:
		return exp.Errorf(key, "lift_n and drag_n are wind axes, but axes is body")
	case settings.Axes == "wind" && body:
		return exp.Errorf(key,
			"fx_n and fz_n are body axes; set axes: body (they are turned by alpha_deg), or name the columns lift_n and drag_n")
	}

	if settings.Balance != nil {
		if err := checkLoads(exp, src); err != nil {
			return err
		}
	}

	d := exp.DSP
	if d.ChordM <= 0 {
		return nil
	}

	if !body && !wind {
		var names []string
		for _, column := range settings.Columns {
			names = append(names, column.Name)
		}

		return exp.Errorf("dsp.chord_m",
			"coefficients are made of lift_n and drag_n (or fx_n, fz_n); the columns are %v", names)
	}

	if d.DensityKgM3 == 0 && d.PressurePa == 0 && !airKnown(settings, src.Conditions) {
		return exp.Errorf("dsp",
			"coefficients need the air density: expected density_kg_m3, or temperature_c and pressure_pa")
	}

	return nil
}

// checkLoads returns an error about settings of a balance of voltages that do not fit together. It stores the balance's
// matrix in src.
func checkLoads(exp plan.Experiment, src *plan.Source) error {
	const key = "ingest.balance"
	settings := &src.Ingest
	bal := settings.Balance
	var err error
	src.Matrix, err = dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms)
	if err != nil {
		return exp.Errorf(key, "%v", err)
	}

	isLoad := func(column setting.NamedString) bool {
		name, _ := Component(column.Value)
		return slices.Contains(bal.Components, name)
	}
	if !slices.ContainsFunc(settings.Columns, isLoad) {
		return exp.Errorf("ingest.columns", "none of the columns is one of the balance's loads %v", bal.Components)
	}

	if bal.ReferenceM != nil && !momentsMovable(settings) {
		return exp.Errorf(key, "r × F of reference_m needs moments and the "+
			"forces along their axes: expected axes: body and mx_nm, my_nm or mz_nm among the columns, and fy_n for mx_nm "+
			"where z is not 0 and for mz_nm where x is not 0")
	}

	if exp.DSP.ChordM > 0 && bal.Blockage == "" {
		return exp.Errorf(key,
			"coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a number")
	}

	return nil
}

// momentsMovable reports whether the columns contain the moments, and the forces, that moments about another reference
// point are computed from.
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

// Component splits a value such as "-Fz" into the name of a load and the sign in front of it, which is 1 or -1.
func Component(value string) (name string, sign float64) {
	if n, ok := strings.CutPrefix(value, "-"); ok {
		return n, -1
	}
	return strings.TrimPrefix(value, "+"), 1
}

// balanceColumns lists the columns that a balance's run is read from. Without a balance section they are the columns of
// the outcomes. With one they are the voltages, the columns of the angle and of the flow, and the columns of outcomes
// that are not loads.
func balanceColumns(settings *setting.Campaign, conditions []string) []string {
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

	return removeNames(unique(names), isEmpty)
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
