package ingeststage

import (
	"slices"

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
func checkBalance(b *plan.Builder, in *config.Ingest) error {
	key := b.At + ".ingest.columns"
	has := func(role string) bool { _, ok := config.Find(in.Columns, role); return ok }
	body, wind := has("fx_n") || has("fz_n"), has("lift_n") || has("drag_n")
	switch {
	case in.Axes == "body" && !(has("fx_n") && has("fz_n")):
		return b.File.Errorf(key, "axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected "+
			"both among the columns")
	case in.Axes == "body" && wind:
		return b.File.Errorf(key, "lift_n and drag_n are wind axes, but axes is body")
	case in.Axes == "wind" && body:
		return b.File.Errorf(key, "fx_n and fz_n are body axes; set axes: body (they are turned by alpha_deg), or name the "+
			"columns lift_n and drag_n")
	}
	d := b.Exp.DSP
	if bal := in.Balance; bal != nil {
		at := b.At + ".ingest.balance"
		if _, err := dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms); err != nil {
			return b.File.Errorf(at, "%v", err)
		}
		if !slices.ContainsFunc(in.Columns, func(c config.NamedString) bool {
			n, _ := Component(c.Value)
			return slices.Contains(bal.Components, n)
		}) {
			return b.File.Errorf(key, "none of the columns is one of the balance's loads %v", bal.Components)
		}
		if d.ChordM > 0 && bal.Blockage == "" {
			return b.File.Errorf(at, "coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a "+
				"number")
		}
	}
	if d.ChordM > 0 {
		if !body && !wind {
			return b.File.Errorf(b.At+".dsp.chord_m", "coefficients are made of lift_n and drag_n (or fx_n, fz_n); the "+
				"columns are %v", in.Columns)
		}
		if d.DensityKgM3 == 0 && d.PressurePa == 0 && !airKnown(b, in) {
			return b.File.Errorf(b.At+".dsp", "coefficients need the air density: expected density_kg_m3, or temperature_c "+
				"and pressure_pa")
		}
	}
	return nil
}
