package dspstage

import (
	"context"
	"fmt"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
)

// Loads makes the outcomes of a balance's channels.
type Loads struct {
	Src     *plan.Source
	Tare    *Tare      // the recording without wind; nil: none
	gravity *dsp.Polar // made of it, when first needed
}

// outcomeUnit is the unit of a plain column: the configuration's word, then the
// file's, then none that is known.
func (f *Loads) outcomeUnit(role, file string) string {
	if u, ok := config.Find(f.Src.In.Units, role); ok {
		return u
	}

	if slices.Contains(ingeststage.Forces, role) && file == "" {
		return "N" // by the role's name
	}

	if file == "" {
		return "file unit"
	}

	return file
}

// Series turns the columns of a run into the series of its outcomes: voltages
// into loads, body axes into wind axes, forces into coefficients where chord and
// span are given. chans are in the order of the source's channels.
func (f *Loads) Series(ctx context.Context, res *ingeststage.FileResult, rec ingest.Recording,
	chans [][]float64,
) (out []dsp.Series, warnings []ingest.Warning, err error) {
	d := f.Src.DSP
	roles := f.Src.In.Columns
	need := func(name string) (float64, error) {
		v, ok := rec.Conditions[name]
		if !ok {
			return 0, &fault.Error{
				Path: res.Path, Want: "a condition " + name,
				Found: fmt.Sprintf("conditions %v", f.Src.Conditions),
			}
		}

		return v, nil
	}

	in, err := f.loads(ctx, res, rec, chans)
	if err != nil {
		return nil, warnings, err
	}

	series := map[string][]float64{}

	unit, note := map[string]string{}, map[string]string{}
	for i, r := range roles {
		series[r.Name] = in.series[i]
		unit[r.Name] = f.outcomeUnit(r.Name, in.units[i])
		if unit[r.Name] == "file unit" {
			warnings = append(warnings, ingest.Warning{
				Path: res.Path, Code: "unit-not-stated",
				Text: fmt.Sprintf("the unit of column %s is stated neither in the file nor by units: {%s: …}; it is shown as "+
					"\"file unit\"", r.Value, r.Name),
			})
		} else {
			v, c, err := ingeststage.ConvertSeries(res.Path, r.Value, r.Name, unit[r.Name], in.series[i])
			if err != nil {
				return nil, warnings, err
			}

			series[r.Name], unit[r.Name], note[r.Name] = v, c.Unit, c.String()
		}
	}

	if f.Src.In.Axes == "body" {
		if in.angle == nil {
			alpha, err := need("alpha_deg")
			if err != nil {
				return nil, warnings, err
			}

			in.angle = []float64{alpha}
		}

		fx, fz := series["fx_n"], series["fz_n"]
		lift, drag := make([]float64, len(fx)), make([]float64, len(fx))
		for i := range fx {
			lift[i], drag[i] = dsp.WindAxes(fx[i], fz[i], in.angle[min(i, len(in.angle)-1)])
		}

		series["lift_n"], series["drag_n"] = lift, drag
		unit["lift_n"], unit["drag_n"] = unit["fz_n"], unit["fx_n"]
		note["lift_n"], note["drag_n"] = note["fz_n"], note["fx_n"]
	}

	if d.ChordM > 0 {
		q, err := f.dynamicPressure(res, rec, in, need)
		if err != nil {
			return nil, warnings, err
		}

		for n, to := range ingeststage.CoefficientOf {
			force := series[n]
			series[to] = make([]float64, len(force))
			for k := range force {
				series[to][k] = dsp.Coefficient(force[k], q[min(k, len(q)-1)], d.ChordM, d.SpanM)
			}

			unit[to], note[to] = "", note[n]
		}
	}

	for _, n := range ingeststage.SeriesNames(&f.Src.In, d.ChordM > 0) {
		out = append(out, dsp.Series{Name: n, Unit: unit[n], Note: note[n], Values: series[n]})
	}

	return out, warnings, nil
}
