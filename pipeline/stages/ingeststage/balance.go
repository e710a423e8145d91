package ingeststage

import (
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// Forces are the roles a balance's columns can have that are turned and made
// into coefficients; every other role is an outcome by that name.
var Forces = []string{"lift_n", "drag_n", "fx_n", "fz_n"}

// CoefficientOf names the coefficient that a force becomes.
var CoefficientOf = map[string]string{"lift_n": "cl", "drag_n": "cd"}

// SeriesNames lists the series of a balance: its columns, turned into wind axes and
// made into coefficients.
func SeriesNames(in *config.Ingest, coefficients bool) (names []string) {
	if in.Axes == "body" {
		names = []string{"lift_n", "drag_n"}
	}

	for _, c := range in.Columns {
		if in.Axes != "body" || c.Name != "fx_n" && c.Name != "fz_n" {
			names = append(names, c.Name)
		}
	}

	for i, n := range names {
		if to := CoefficientOf[n]; coefficients && to != "" {
			names[i] = to
		}
	}

	return names
}

// checkBalance reports balance settings that do not fit together.
func checkBalance(exp plan.Experiment, in *config.Ingest, conditions []string) error {
	const key = "ingest.columns"
	has := func(role string) bool { _, ok := config.Find(in.Columns, role); return ok }
	body, wind := has("fx_n") || has("fz_n"), has("lift_n") || has("drag_n")
	switch {
	case in.Axes == "body" && !(has("fx_n") && has("fz_n")):
		return exp.Errorf(key, "axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected "+
			"both among the columns")
	case in.Axes == "body" && wind:
		return exp.Errorf(key, "lift_n and drag_n are wind axes, but axes is body")
	case in.Axes == "wind" && body:
		return exp.Errorf(key, "fx_n and fz_n are body axes; set axes: body (they are turned by alpha_deg), or name the "+
			"columns lift_n and drag_n")
	}

	d := exp.DSP
	if bal := in.Balance; bal != nil {
		const at = "ingest.balance"
		if _, err := dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms); err != nil {
			return exp.Errorf(at, "%v", err)
		}

		if !slices.ContainsFunc(in.Columns, func(c config.NamedString) bool {
			n, _ := Component(c.Value)
			return slices.Contains(bal.Components, n)
		}) {
			return exp.Errorf(key, "none of the columns is one of the balance's loads %v", bal.Components)
		}

		if d.ChordM > 0 && bal.Blockage == "" {
			return exp.Errorf(at, "coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a "+
				"number")
		}
	}

	if d.ChordM > 0 {
		if !body && !wind {
			return exp.Errorf("dsp.chord_m", "coefficients are made of lift_n and drag_n (or fx_n, fz_n); the "+
				"columns are %v", in.Columns)
		}

		if d.DensityKgM3 == 0 && d.PressurePa == 0 && !airKnown(in, conditions) {
			return exp.Errorf("dsp", "coefficients need the air density: expected density_kg_m3, or temperature_c "+
				"and pressure_pa")
		}
	}

	return nil
}

// Component splits the name of a load from the sign in front of it.
func Component(value string) (name string, sign float64) {
	if n, ok := strings.CutPrefix(value, "-"); ok {
		return n, -1
	}
	return strings.TrimPrefix(value, "+"), 1
}

// balanceColumns lists the columns a balance's run is read from: those of the
// outcomes; of a balance of voltages the voltages, then the angle's and the
// flow's columns, then columns of outcomes that are no loads.
func balanceColumns(in *config.Ingest, conditions []string) (names []string) {
	bal := in.Balance
	if bal == nil {
		for _, c := range in.Columns {
			names = append(names, c.Value)
		}
		return names
	}

	names = slices.Clone(bal.Voltages)
	if AngleColumn(bal, conditions) {
		names = append(names, bal.Angle)
	}

	if w := bal.Flow; w != nil {
		names = append(names, w.Column, w.Pressure, w.Temperature)
	}

	for _, c := range in.Columns {
		if n, _ := Component(c.Value); !slices.Contains(bal.Components, n) {
			names = append(names, c.Value)
		}
	}

	return slices.DeleteFunc(unique(names), func(n string) bool { return n == "" })
}

// AngleColumn reports whether the balance's angle is a column of the files and
// not a condition.
func AngleColumn(bal *config.Balance, conditions []string) bool {
	return bal.Angle != "" && !slices.Contains(conditions, bal.Angle)
}

// airKnown reports whether conditions or a sensor give what the dynamic pressure
// needs of the air.
func airKnown(in *config.Ingest, conditions []string) bool {
	has := func(n string) bool { return slices.Contains(conditions, n) }
	return has("q_pa") || has("density_kg_m3") || has("pressure_pa") && has("temperature_c") ||
		in.Balance != nil && in.Balance.Flow != nil && (in.Balance.Flow.Quantity == "q_pa" || in.Balance.Flow.Pressure != "")
}

// measuresForces makes a balance whose columns hold forces one of voltages whose
// matrix is the identity, so that tare, angle and signs are one and the same.
func measuresForces(in *config.Ingest) (forces bool) {
	if in.Balance == nil || len(in.Balance.Voltages) > 0 || len(in.Balance.Matrix) > 0 {
		return false
	}

	bal := *in.Balance // the configuration's stays as it was written
	bal.Components = nil
	for _, c := range in.Columns {
		if n, _ := Component(c.Value); !slices.Contains(bal.Voltages, n) {
			bal.Voltages, bal.Components = append(bal.Voltages, n), append(bal.Components, n)
		}
	}

	for i := range bal.Voltages {
		row := make([]float64, len(bal.Voltages))
		row[i] = 1
		bal.Matrix = append(bal.Matrix, row)
	}

	in.Balance = &bal

	return true
}
