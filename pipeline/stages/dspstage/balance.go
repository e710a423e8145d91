package dspstage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
)

// Loads makes the outcomes of a balance's channels.
type Loads struct {
	Src     *plan.Source
	File    *ingeststage.File // with the recordings without wind
	gravity *dsp.Polar        // made of it, when first needed
	moved   []ingest.Warning
}

// outcomeUnit is the unit of a plain column: the configuration's word, then the
// file's, then that of its name where the outcome has the same, then none that is known.
func (f *Loads) outcomeUnit(role, column, file string) string {
	stated, given := config.Find(f.Src.In.Units, role)
	switch own, ok := units.OfName(role); {
	case given:
		return stated
	case file != "":
		return file
	case slices.Contains(ingeststage.Forces, role):
		return "N" // by the role's name
	case ok && strings.EqualFold(role, column):
		return own.Text // thrust_N
	}

	return "file unit"
}

// Series turns the columns of a run into the series of its outcomes: voltages
// into loads, body axes into wind axes, forces into coefficients where chord and
// span are given. chans are in the order of the source's channels.
func (f *Loads) Series(ctx context.Context, res *ingeststage.FileResult, rec ingest.Recording,
	chans [][]float64,
) (out []dsp.Series, warnings []ingest.Warning, err error) {
	defer fault.Catch(&err)
	d := f.Src.DSP
	roles := f.Src.In.Columns
	need := func(name string) float64 {
		v, ok := rec.Conditions[name]
		fault.Unless(ok, fault.At(res.Path, "", "a condition "+name, fmt.Sprintf("conditions %v", f.Src.Conditions), ""))

		return v
	}

	in := f.loads(ctx, res, rec, chans)
	warnings, f.moved = f.moved, nil

	of := map[string]dsp.Series{}
	for i, r := range roles {
		s := in.series[i]
		if s.Unit = f.outcomeUnit(r.Name, r.Value, s.Unit); s.Unit == "file unit" {
			warnings = append(warnings, ingest.Warn(res.Path, "unit-not-stated", "the unit of column %s is stated neither in "+
				"the file nor by units: {%s: …}; it is shown as \"file unit\"", r.Value, r.Name))
		} else {
			v, c := ingeststage.ConvertSeries(res.Path, r.Value, r.Name, s.Unit, s.Values)
			s.Values, s.Unit, s.Note = v, c.Unit, c.String()
		}

		of[r.Name] = s
	}

	if b := f.Src.In.Balance; b != nil && b.ReferenceM != nil {
		var forces, moments [3][]float64
		for i, axis := range []string{"x", "y", "z"} {
			m := of["m"+axis+"_nm"]
			m.Values = slices.Clone(m.Values)
			forces[i], moments[i], of["m"+axis+"_nm"] = of["f"+axis+"_n"].Values, m.Values, m
		}

		dsp.MomentsAbout(moments, forces, [3]float64(b.ReferenceM))
	}

	if f.Src.In.Axes == "body" {
		if in.angle == nil {
			in.angle = []float64{need("alpha_deg")}
		}

		fx, fz := of["fx_n"], of["fz_n"]
		lift, drag := make([]float64, len(fx.Values)), make([]float64, len(fx.Values))
		for i := range lift {
			lift[i], drag[i] = dsp.WindAxes(fx.Values[i], fz.Values[i], in.angle[min(i, len(in.angle)-1)])
		}

		fx.Values, fz.Values = drag, lift
		of["drag_n"], of["lift_n"] = fx, fz
	}

	if d.ChordM > 0 {
		q := f.dynamicPressure(res, rec, in, need)
		for n, to := range ingeststage.CoefficientOf {
			force := of[n]
			arm := map[string]float64{"cl": 1, "cd": 1, "cm": d.ChordM}[to]
			arm = cmp.Or(arm, d.SpanM)

			of[to] = dsp.Series{Note: force.Note, Values: lists.Make(len(force.Values), func(k int) float64 {
				return dsp.Coefficient(force.Values[k], q[min(k, len(q)-1)], d.ChordM, d.SpanM) / arm
			})}
		}
	}

	for _, n := range ingeststage.SeriesNames(&f.Src.In, d.ChordM > 0) {
		s := of[n]
		s.Name = n
		out = append(out, s)
	}

	return out, warnings, nil
}
