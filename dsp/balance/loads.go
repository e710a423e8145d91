package balance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
)

// Loads computes the outcomes of a balance's channels in one file.
type Loads struct {
	*Balance
	Tares   []Tare           // the recordings without wind that are subtracted: none, one, or one before and one after
	Share   float64          // place of the runs between two tares: near 0 after the first, near 1 before the second
	zeroed  *dsp.Polar       // the reading without wind; nil until method zero has read it
	pending []ingest.Warning // about the reading without wind, until a run reports them
}

// unknownUnit is the unit of a column if neither the configuration nor the file nor a name states its unit.
const unknownUnit = "file unit"

// outcomeUnit returns the unit of the column that has a role. file is the unit in the file, or "". The configuration's
// unit takes precedence over the file's unit. If neither is given, the unit is N for the roles in Forces, and the unit
// in the role's name if the column has the same name, such as thrust_N. Otherwise outcomeUnit returns unknownUnit.
func (f *Loads) outcomeUnit(role, column, file string) string {
	stated, given := setting.Find(f.Campaign.Units, role)
	own, known := units.OfName(role)
	switch {
	case given:
		return stated
	case file != "":
		return file
	case slices.Contains(Forces, role):
		return "N"
	case known && strings.EqualFold(role, column): // a column thrust_N
		return own.Text
	}

	return unknownUnit
}

// need returns a condition of a recording, or an error that lists the recording's conditions if it is not known.
func (f *Loads) need(path string, rec ingest.Recording, name string) (float64, error) {
	v, known := rec.Conditions[name]
	if !known {
		stated := slices.Sorted(maps.Keys(rec.Conditions))
		return 0, fault.At(path, "", "a condition "+name, fmt.Sprintf("conditions %v", stated), "")
	}

	return v, nil
}

// Series returns the series of the outcomes of a run. It turns voltages into loads, body axes into wind axes, and
// forces into coefficients if the configuration gives chord and span. columns are the run's samples in the order of the
// source's channels. Series also returns the warnings about the run.
func (f *Loads) Series(ctx context.Context, res *recording.File, rec ingest.Recording,
	columns [][]float64,
) ([]dsp.Series, []ingest.Warning, error) {
	run, err := f.measure(ctx, res, rec, columns)
	if err != nil {
		return nil, nil, err
	}

	warnings := f.pending
	f.pending = nil // only one run of the file reports that the zero moved
	series, ofUnits, err := f.seriesByRole(res.Path, run)
	warnings = append(warnings, ofUnits...)
	if err != nil {
		return nil, warnings, err
	}

	if b := f.Campaign.Balance; b != nil && b.ReferenceM != nil {
		moveMoments(series, [3]float64(b.ReferenceM))
	}

	if f.Campaign.Axes == "body" {
		angle, err := f.angleOfAttack(res.Path, rec, run)
		if err != nil {
			return nil, warnings, err
		}

		addWindAxes(series, angle)
	}

	d := f.Model
	if d.ChordM > 0 {
		pressure, err := f.dynamicPressure(res, rec, run)
		if err != nil {
			return nil, warnings, err
		}

		f.addCoefficients(series, pressure)
	}

	var outcomes []dsp.Series
	for _, n := range SeriesNames(f.Campaign, d.ChordM > 0) {
		s := series[n]
		s.Name = n
		outcomes = append(outcomes, s)
	}

	return outcomes, warnings, nil
}

// angleOfAttack returns the angle of attack of a run in degrees, one value or one for each sample: by the balance's arm
// or, if the balance does not state it, by the condition alpha_deg. It returns an error if neither is known.
func (f *Loads) angleOfAttack(path string, rec ingest.Recording, run *measured) ([]float64, error) {
	if run.angle != nil {
		return run.angle, nil
	}

	alpha, err := f.need(path, rec, "alpha_deg")
	if err != nil {
		return nil, err
	}

	return []float64{alpha}, nil
}

// seriesByRole returns the measured series by their roles, in the units that the roles' names state. It warns of
// columns whose units are not known.
func (f *Loads) seriesByRole(path string, run *measured) (map[string]dsp.Series, []ingest.Warning, error) {
	var warnings []ingest.Warning
	series := map[string]dsp.Series{}
	for i, column := range f.Campaign.Columns {
		s := run.series[i]
		s.Unit = f.outcomeUnit(column.Name, column.Value, s.Unit)
		if s.Unit == unknownUnit {
			warnings = append(warnings, ingest.Warn(path, "unit-not-stated", "the unit of column %s is stated neither in "+
				"the file nor by units: {%s: …}; it is shown as \"file unit\"", column.Value, spelling.YAML(column.Name)))
			series[column.Name] = s
			continue
		}

		values, conversion, err := recording.ConvertSeries(path, column.Value, column.Name, s.Unit, s.Values)
		if err != nil {
			return nil, warnings, err
		}

		series[column.Name] = dsp.Series{Unit: conversion.Unit, Note: conversion.String(), Values: values}
	}

	return series, warnings, nil
}

// moveMoments replaces the moments in series by the moments about a reference point. It leaves the given samples
// unchanged.
func moveMoments(series map[string]dsp.Series, reference [3]float64) {
	var forces, moments [3][]float64
	for i, axis := range []string{"x", "y", "z"} {
		m := series["m"+axis+"_nm"]
		m.Values = slices.Clone(m.Values)
		series["m"+axis+"_nm"] = m
		moments[i] = m.Values
		forces[i] = series["f"+axis+"_n"].Values
	}

	dsp.MomentsAbout(moments, forces, reference)
}

// addWindAxes adds lift and drag to series, which it computes from the forces in body axes. angle is the angle of
// attack in degrees: one value, or one for each sample.
func addWindAxes(series map[string]dsp.Series, angle []float64) {
	drag := series["fx_n"]
	lift := series["fz_n"]
	fx := drag.Values
	fz := lift.Values
	lift.Values = make([]float64, len(fx))
	drag.Values = make([]float64, len(fx))
	for i := range fx {
		lift.Values[i], drag.Values[i] = dsp.WindAxes(fx[i], fz[i], angle[min(i, len(angle)-1)])
	}

	series["drag_n"] = drag
	series["lift_n"] = lift
}

// addCoefficients adds the coefficients of forces and moments to series. pressure is the dynamic pressure: one value,
// or one for each sample.
func (f *Loads) addCoefficients(series map[string]dsp.Series, pressure []float64) {
	d := f.Model
	for name, coefficient := range CoefficientOf {
		arm := 1.0
		switch reference, _ := LeverArm(coefficient); reference {
		case "chord_m":
			arm = d.ChordM
		case "span_m":
			arm = d.SpanM
		}

		load := series[name]
		values := make([]float64, len(load.Values))
		for k, v := range load.Values {
			q := pressure[min(k, len(pressure)-1)]
			values[k] = dsp.Coefficient(v, q, d.ChordM, d.SpanM) / arm
		}

		series[coefficient] = dsp.Series{Note: load.Note, Values: values}
	}
}
