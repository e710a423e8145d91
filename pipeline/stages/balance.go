package stages

import (
	"context"
	"fmt"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/config"
)

// forces are the roles a balance's columns can have that are turned and made
// into coefficients; every other role is an outcome by that name.
var forces = []string{"lift_n", "drag_n", "fx_n", "fz_n"}

// checkBalance reports balance settings that do not fit together.
func (b *builder) checkBalance(in *config.Ingest) error {
	key := b.at + ".ingest.columns"
	has := func(role string) bool { _, ok := config.Find(in.Columns, role); return ok }
	body, wind := has("fx_n") || has("fz_n"), has("lift_n") || has("drag_n")
	switch {
	case in.Axes == "body" && !(has("fx_n") && has("fz_n")):
		return b.f.Errorf(key, "axes: body turns fx_n (aft) and fz_n (up) by alpha_deg into lift and drag; expected both among the columns")
	case in.Axes == "body" && wind:
		return b.f.Errorf(key, "lift_n and drag_n are wind axes, axes: body says otherwise")
	case in.Axes == "wind" && body:
		return b.f.Errorf(key, "fx_n and fz_n are body axes; say axes: body (they are turned by alpha_deg), or name the columns lift_n and drag_n")
	}
	d := b.e.DSP
	if bal := in.Balance; bal != nil {
		at := b.at + ".ingest.balance"
		if _, err := dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms); err != nil {
			return b.f.Errorf(at, "%v", err)
		}
		if !slices.ContainsFunc(in.Columns, func(c config.NamedString) bool {
			n, _ := component(c.Value)
			return slices.Contains(bal.Components, n)
		}) {
			return b.f.Errorf(key, "none of the columns is one of the balance's loads %v", bal.Components)
		}
		if d.ChordM > 0 && bal.Blockage == "" {
			return b.f.Errorf(at, "coefficients of a wind tunnel need the walls' blockage: expected blockage: none, or a number")
		}
	}
	if d.ChordM > 0 {
		if !body && !wind {
			return b.f.Errorf(b.at+".dsp.chord_m", "coefficients are made of lift_n and drag_n (or fx_n, fz_n); the columns are %v", in.Columns)
		}
		if d.DensityKgM3 == 0 && d.PressurePa == 0 && !b.airKnown(in) {
			return b.f.Errorf(b.at+".dsp", "coefficients need the air density: expected density_kg_m3, or temperature_c and pressure_pa")
		}
	}
	return nil
}

// outcomeUnit is the unit of a plain column: the configuration's word, then the
// file's, then none that is known.
func (f *fileTables) outcomeUnit(role, file string) string {
	if u, ok := config.Find(f.src.in.Units, role); ok {
		return u
	}
	if slices.Contains(forces, role) && file == "" {
		return "N" // the role says so
	}
	if file == "" {
		return "file unit"
	}
	return file
}

// balanceRun turns a balance run into triplets.
func (f *fileTables) balanceRun(ctx context.Context, rd ingest.Reader, res *fileResult, run runResult, note *runNote, notes *fileNotes) error {
	d := f.b.e.DSP
	rec := run.Run.Recordings[0]
	n := int(run.Stats[0].Samples)
	chans, err := f.ahead.columns(ctx, rd, run.Run, int64(n))
	if err != nil {
		return err
	}
	names, units, chans, err := f.outcomeSeries(ctx, res, rec, chans, notes)
	if err != nil {
		return err
	}
	if rate := res.Info.Channels[rec.Channels[0]].RateHz; rate > 0 {
		if c, err := dsp.CheckBalance(chans, rate, dsp.BalanceSettings{}); err == nil {
			note.Flags = c.Flags
			for i, f := range c.Flags {
				if f.Channel >= 0 && len(names) > 1 {
					note.Flags[i].Text = names[f.Channel] + ": " + f.Text
				}
			}
		}
	}
	row := func(y1, y2 []float64) {
		f.common(&f.trip, run.Run.ID, rec.ID, rec.Conditions)
		for i, name := range names {
			cell(&f.trip, name+"_1", units[i], "first outcome", y1[i])
			cell(&f.trip, name+"_2", units[i], "second outcome, independent of the first given the run", y2[i])
		}
	}
	y1, y2 := make([]float64, len(chans)), make([]float64, len(chans))
	switch d.Triplets {
	case "random-samples":
		a, b, err := dsp.RandomSamples(n, d.Samples, seedOf(d.Seed, "random-samples", run.Run.ID))
		if err != nil {
			return err
		}
		for k := range a {
			for i, c := range chans {
				y1[i], y2[i] = c[a[k]], c[b[k]]
			}
			row(y1, y2)
		}
	case "split-halves":
		if n < 2 {
			return &dsp.Error{Want: "at least 2 samples to make two halves", Found: fmt.Sprint(n)}
		}
		y1, y2 := dsp.SplitHalves(chans)
		row(y1, y2)
	case "repeats":
		for i, c := range chans {
			sum := 0.0
			for _, v := range c {
				sum += v
			}
			y1[i] = sum / float64(n)
		}
		row(y1, y1)
	}
	return nil
}

// outcomeSeries turns columns into outcome series: voltages into loads, body axes
// into wind axes, forces into coefficients where chord and span are given.
func (f *fileTables) outcomeSeries(ctx context.Context, res *fileResult, rec ingest.Recording, chans [][]float64, notes *fileNotes) (names, units []string, out [][]float64, err error) {
	d := f.b.e.DSP
	roles := f.src.in.Columns
	need := func(name string) (float64, error) {
		v, ok := rec.Conditions[name]
		if !ok {
			return 0, &ingest.DataError{Path: res.Path, Want: "a condition " + name, Found: fmt.Sprintf("conditions %v", f.b.conditions)}
		}
		return v, nil
	}
	in, err := f.loads(ctx, res, rec, chans)
	if err != nil {
		return nil, nil, nil, err
	}
	series := map[string][]float64{}
	unit := map[string]string{}
	for i, r := range roles {
		series[r.Name] = in.series[i]
		unit[r.Name] = f.outcomeUnit(r.Name, in.units[i])
		if unit[r.Name] == "file unit" {
			notes.Warnings = append(notes.Warnings, ingest.Warning{Path: res.Path, Code: "unit-not-stated", Text: fmt.Sprintf("the unit of column %s is stated neither in the file nor by units: {%s: …}; it is shown as \"file unit\"", r.Value, r.Name)})
		}
		names = append(names, r.Name)
	}
	if f.src.in.Axes == "body" {
		if in.angle == nil {
			alpha, err := need("alpha_deg")
			if err != nil {
				return nil, nil, nil, err
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
		names = slices.DeleteFunc(names, func(n string) bool { return n == "fx_n" || n == "fz_n" })
		names = append([]string{"lift_n", "drag_n"}, names...)
	}
	if d.ChordM > 0 {
		q, err := f.dynamicPressure(res, rec, in, need)
		if err != nil {
			return nil, nil, nil, err
		}
		for i, n := range names {
			if to := map[string]string{"lift_n": "cl", "drag_n": "cd"}[n]; to != "" {
				force := series[n]
				series[to] = make([]float64, len(force))
				for k := range force {
					dsp.Coefficients(series[to][k:k+1], force[k:k+1], q[min(k, len(q)-1)], d.ChordM, d.SpanM)
				}
				unit[to] = ""
				names[i] = to
			}
		}
	}
	for _, n := range names {
		out = append(out, series[n])
		units = append(units, unit[n])
	}
	return names, units, out, nil
}
