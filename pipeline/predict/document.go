package predict

import (
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// CSV is a record for each condition; a number that is not there is NaN.
func (a *Answer) CSV() []numbers.Object {
	out, columns := make([]numbers.Object, a.Network.N), a.columns()
	for i := range out {
		o := append(a.conditionAt(i), a.values(i, columns)...)
		at := interval.Where{Distance: math.NaN(), Below: math.NaN(), Above: math.NaN()}
		if a.Recommended != nil {
			at = a.Recommended.Where[i]
		}

		out[i] = append(o, "distance", at.Distance, "below", at.Below, "above", at.Above,
			"abs_cov_rise", a.rise(i), "extrapolation", a.Outside(a.at(i)))
	}

	return out
}

// JSON is the answer as one document.
func (a *Answer) JSON() numbers.Object {
	network := numbers.Objects(a.Record, func(r score.OutcomeTrust) numbers.Object {
		return numbers.Object{
			"held_out", r.HeldOut, "unit", r.Unit, "outcome", r.Outcome, "rmse", r.RMSE, "coverage", r.Inside,
		}
	})

	units := map[string]string{}
	for _, in := range a.Card.Inputs {
		units[in.Name] = in.Unit
	}

	for _, o := range a.Card.Outcomes {
		units[o.Name] = o.Unit
	}

	absent := ""
	if a.Honest != nil {
		absent = a.Honest.Absent
	}

	var level, record any // null without a calibrated model
	if a.Recommended != nil {
		level, record = a.Recommended.Level, a.Honest.Result().Document()
	}

	columns := a.columns()
	condition := func(i int) numbers.Object { return a.condition(i, columns) }

	return numbers.Object{
		"models", a.Paths, "experiment", a.Card.Experiment, "data", a.Card.Data, "split", a.Card.Split,
		"held_out", a.Card.HeldOut, "units", units, "alpha", a.options.Alpha,
		"level", level, "honest", record, "honest_absent", absent, "notes", append([]string{}, a.Warnings...),
		"conditions", numbers.Objects(lists.Numbers(a.Network.N), condition), "network_record", network,
	}
}

// conditionAt is the i-th condition with the names of things, of labels that any condition names.
func (a *Answer) conditionAt(i int) numbers.Object {
	o, things := numbers.Named(a.InputNames(), a.at(i)), a.options.Things
	if a.Recommended == nil {
		return o
	}

	for _, l := range a.Honest.Labels {
		if slices.ContainsFunc(things, func(t map[string]string) bool { return t[l.Name] != "" }) {
			o = append(o, l.Name, things[i][l.Name])
		}
	}

	return o
}

// condition is the answer at the i-th condition in JSON: values are named as in CSV.
func (a *Answer) condition(i int, columns []column) numbers.Object {
	var position any // among the measured groups
	if r := a.Recommended; r != nil {
		w := r.Where[i]
		position = numbers.Object{"words", r.Position[i], "distance", w.Distance, "below", w.Below, "above", w.Above}
	}

	return numbers.Object{
		"at", a.conditionAt(i), "extrapolation", append([]string{}, a.Outside(a.at(i))...),
		"position", position, "abs_cov_rise", a.rise(i), "prediction", a.values(i, columns),
	}
}
