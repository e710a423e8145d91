package predict

import (
	"math"
	"strconv"
	"strings"

	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
)

// CSV is a header and one row a condition; a number that is not there is empty.
func (a *Answer) CSV() (rows [][]string) {
	columns := a.columns()
	for i := range a.Network.N {
		var head, row []string
		add := func(name string, v any) {
			text, isText := v.(string)
			if !isText && !math.IsNaN(v.(float64)) {
				text = strconv.FormatFloat(v.(float64), 'g', -1, 64)
			}

			row = append(row, text)
			if i == 0 {
				head = append(head, name)
			}
		}

		for k, name := range a.InputNames() {
			add(name, a.at(i)[k])
		}

		for _, c := range columns {
			add(c.name, a.value(i, c))
		}

		for _, e := range a.Chance {
			lo, hi := a.bound(e, i)
			add(e.Name+"_probability", e.P[i])
			add(e.Name+"_probability_var", e.V[i])
			add(e.Name+"_low", lo)
			add(e.Name+"_high", hi)
		}

		at := interval.Where{Distance: math.NaN(), Below: math.NaN(), Above: math.NaN()}
		if a.Recommended != nil {
			at = a.Recommended.Where[i]
		}

		add("distance", at.Distance)
		add("below", at.Below)
		add("above", at.Above)
		add("extrapolation", strings.Join(a.Outside(a.at(i)), "; "))

		if i == 0 {
			rows = append(rows, head)
		}

		rows = append(rows, row)
	}

	return rows
}

// document is the answer in JSON.
type document struct {
	Models     []string            `json:"models"`
	Experiment string              `json:"experiment"`
	Data       string              `json:"data"`
	Split      string              `json:"split"`
	HeldOut    string              `json:"held_out"`
	Units      map[string]string   `json:"units"` // of inputs and outcomes
	Alpha      float64             `json:"alpha"`
	Calibrated string              `json:"calibrated"`
	Level      *float64            `json:"level"`  // of the calibrated intervals; null without
	Honest     any                 `json:"honest"` // as in metrics.json; null without
	Absent     string              `json:"honest_absent"`
	Notes      []string            `json:"notes"`
	Conditions []conditionDocument `json:"conditions"`

	Network []numbers.Object `json:"network_record"`
	Events  []report.Event   `json:"event_record,omitempty"`
}

type conditionDocument struct {
	At            map[string]float64 `json:"at"`
	Extrapolation []string           `json:"extrapolation"`
	Position      *positionJSON      `json:"position"`
	Prediction    numbers.Object     `json:"prediction"` // by name, as in CSV
	Events        []eventJSON        `json:"events,omitempty"`
}

// positionJSON is where a condition lies among the measured groups.
type positionJSON struct {
	Words    string        `json:"words"`
	Distance numbers.Float `json:"distance"`
	Below    numbers.Float `json:"below"`
	Above    numbers.Float `json:"above"`
}

// eventJSON is the probability of an event.
type eventJSON struct {
	Event       string  `json:"event"`
	Expression  string  `json:"expression"`
	Probability float64 `json:"probability"`
	Variance    float64 `json:"variance"`
	Range       any     `json:"range"` // of the confidence 1 − alpha at least; null outside the training range
}

// JSON returns the answer for encoding/json.
func (a *Answer) JSON() any {
	d := document{
		Models: a.Paths, Experiment: a.Card.Experiment, Data: a.Card.Data, Split: a.Card.Split, HeldOut: a.Card.HeldOut,
		Alpha: a.options.Alpha, Calibrated: a.options.Calibrated,
		Notes: append([]string{}, a.Warnings...), Network: []numbers.Object{}, Units: map[string]string{},
	}

	for _, r := range a.Record {
		d.Network = append(d.Network, numbers.Object{
			"held_out", r.HeldOut, "unit", r.Unit, "outcome", r.Outcome, "rmse", r.RMSE, "coverage", r.Inside,
		})
	}

	for _, in := range a.Card.Inputs {
		d.Units[in.Name] = in.Unit
	}

	for _, o := range a.Card.Outcomes {
		d.Units[o.Name] = o.Unit
	}

	if a.Honest != nil {
		d.Absent = a.Honest.Absent
	}

	if a.Recommended != nil {
		d.Level, d.Honest = &a.Recommended.Level, a.Honest.Result().Document()
	}

	for i := range a.Network.N {
		c := conditionDocument{
			At: map[string]float64{}, Extrapolation: append([]string{}, a.Outside(a.at(i))...), Position: a.positionJSON(i),
			Prediction: a.values(i),
		}
		for k, name := range a.InputNames() {
			c.At[name] = a.at(i)[k]
		}

		for _, e := range a.Chance {
			lo, hi := a.bound(e, i)
			c.Events = append(c.Events, eventJSON{e.Name, e.Text, e.P[i], e.V[i], ends(lo, hi)})
		}

		d.Conditions = append(d.Conditions, c)
	}

	for _, e := range a.Chance {
		d.Events = append(d.Events, e.Event)
	}

	return d
}

func (a *Answer) positionJSON(i int) *positionJSON {
	r := a.Recommended
	if r == nil {
		return nil
	}

	w := r.Where[i]

	return &positionJSON{
		r.Position[i], numbers.Float(w.Distance), numbers.Float(w.Below), numbers.Float(w.Above),
	}
}

// ends is an interval, nil where it has none.
func ends(lo, hi float64) any {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return nil
	}
	return [2]float64{lo, hi}
}
