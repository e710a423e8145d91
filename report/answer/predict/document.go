package predict

import (
	"cmp"
	"math"

	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// CSV returns a record for each condition, with its columns by name. Missing numbers are NaN.
func (a *Answer) CSV() []numbers.Object {
	records := make([]numbers.Object, a.Network.N)
	columns := a.columns()
	for i := range records {
		object := append(a.conditionAt(i), a.values(i, columns)...)
		where := interval.Where{Distance: math.NaN(), Below: math.NaN(), Above: math.NaN()}
		if a.Recommended != nil {
			where = a.Recommended.Where[i]
		}

		records[i] = append(object, "distance", where.Distance, "below", where.Below, "above", where.Above,
			"abs_cov_rise", a.rise(i), "extrapolation", a.Outside(a.inputsAt(i)))
	}

	return records
}

// JSON returns the answer as one document. Its part conditions has an element for each condition.
func (a *Answer) JSON() numbers.Object { return a.document(a.conditionObjects()) }

// conditionObjects returns the elements of the document's part conditions.
func (a *Answer) conditionObjects() []numbers.Object {
	columns := a.columns()
	objects := []numbers.Object{} // not nil, so that the JSON of no conditions is []
	for i := range a.Network.N {
		objects = append(objects, a.condition(i, columns))
	}

	return objects
}

// document returns the answer as a document with the given part conditions.
func (a *Answer) document(conditions []numbers.Object) numbers.Object {
	network := numbers.Objects(a.Record, func(record score.OutcomeTrust) numbers.Object {
		return numbers.Object{
			"held_out", record.HeldOut, "unit", record.Unit, "outcome", record.Outcome, "rmse", record.RMSE,
			"coverage", record.Inside,
		}
	})

	absent := ""
	if a.Honest != nil {
		absent = a.Honest.Absent
	}

	var level, record any // nil, which is written as null, without a calibrated model
	if a.Recommended != nil {
		level = a.Recommended.Level
		record = a.Honest.Result().Document()
	}

	units := map[string]string{}
	for _, input := range a.Card.Inputs {
		units[input.Name] = input.Unit
	}

	for _, c := range a.columns() {
		units[c.name] = c.unit(a.Card.Outcomes[c.outcome].Unit)
	}

	return numbers.Object{
		"models", a.Paths, "experiment", a.Card.Experiment, "data", a.Card.Data, "split", a.Card.Split,
		"held_out", a.Card.HeldOut, "units", units, "network_level", cmp.Or(a.options.Level, 0.95),
		"level", level, "honest", record, "honest_absent", absent, "notes", append([]string{}, a.Warnings...),
		"conditions", conditions, "network_record", network,
	}
}

// conditionAt returns the inputs of the i-th condition by name. If there is a calibrated prediction, it adds the
// condition's names of labels, for each label that any condition names.
func (a *Answer) conditionAt(i int) numbers.Object {
	object := numbers.Named(a.InputNames(), a.inputsAt(i))
	if a.Recommended == nil {
		return object
	}

	for _, label := range a.options.named {
		object = append(object, label, a.options.Things[i][label])
	}

	return object
}

// condition returns the part of a document that describes the i-th condition. Values have the names of CSV's columns.
func (a *Answer) condition(i int, columns []column) numbers.Object {
	var place any // among the measured groups; null without a calibrated model
	if recommended := a.Recommended; recommended != nil {
		where := recommended.Where[i]
		place = numbers.Object{
			"words", recommended.Position[i], "distance", where.Distance, "below", where.Below, "above", where.Above,
			"class", string(recommended.Query(i).Class), "record", recommended.record(i),
		}
	}

	return numbers.Object{
		"at", a.conditionAt(i), "extrapolation", append([]string{}, a.Outside(a.inputsAt(i))...),
		"position", place, "abs_cov_rise", a.rise(i), "prediction", a.values(i, columns),
	}
}
