package ingeststage

import (
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

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
func balanceColumns(b *plan.Builder, in *config.Ingest) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	bal := in.Balance
	if bal == nil {
		for _, c := range in.Columns {
			out = append(out, c.Value)
		}
		return out
	}
	for _, v := range bal.Voltages {
		add(v)
	}
	if AngleColumn(b, bal) {
		add(bal.Angle)
	}
	if w := bal.Flow; w != nil {
		for _, name := range []string{w.Column, w.Pressure, w.Temperature} {
			if name != "" {
				add(name)
			}
		}
	}
	for _, c := range in.Columns {
		if n, _ := Component(c.Value); !slices.Contains(bal.Components, n) {
			add(c.Value)
		}
	}
	return out
}

// AngleColumn reports whether the balance's angle is a column of the files and
// not a condition.
func AngleColumn(b *plan.Builder, bal *config.Balance) bool {
	return bal.Angle != "" && !slices.Contains(b.Conditions, bal.Angle)
}

// airKnown reports whether conditions or a sensor give what the dynamic pressure
// needs of the air.
func airKnown(b *plan.Builder, in *config.Ingest) bool {
	has := func(n string) bool { return slices.Contains(b.Conditions, n) }
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
