package predict

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/train/honest/interval"
)

// CSV writes one row a condition; a number that is not there is empty.
func (a *Answer) CSV(w io.Writer) error {
	columns := a.columns()

	head := a.InputNames()
	for _, out := range a.Card.Outcomes {
		for _, c := range columns {
			head = append(head, out.Name+"_"+c.Name)
		}
	}

	for _, e := range a.Chance {
		head = append(head, e.Name+"_probability", e.Name+"_probability_var", e.Name+"_low", e.Name+"_high")
	}

	rows := [][]string{append(head, "distance", "below", "above", "no_interval", "extrapolation")}

	for i := range a.Network.N {
		numbers := append([]float64{}, a.at(i)...)
		for j := range a.Card.Outcomes {
			for _, c := range columns {
				numbers = append(numbers, a.value(c, i, j))
			}
		}

		for _, e := range a.Chance {
			lo, hi := a.bound(e, i)
			numbers = append(numbers, e.P[i], e.V[i], lo, hi)
		}

		refused, at := "", [3]float64{math.NaN(), math.NaN(), math.NaN()}
		if r := a.Recommended; r != nil {
			refused = strings.Join(r.Refused[i], "; ")
			if r.Where != nil {
				at = [3]float64{r.Where[i].Distance, r.Where[i].Below, r.Where[i].Above}
			}
		}

		var row []string
		for _, v := range append(numbers, at[:]...) {
			text := ""
			if !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}

			row = append(row, text)
		}

		rows = append(rows, append(row, refused, strings.Join(a.Outside(a.at(i)), "; ")))
	}

	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}

	return nil
}

// document is the answer in JSON.
type document struct {
	Models     []string            `json:"models"`
	Experiment string              `json:"experiment"`
	Data       string              `json:"data"`
	Split      string              `json:"split"`
	HeldOut    string              `json:"held_out"`
	Alpha      float64             `json:"alpha"`
	Calibrated string              `json:"calibrated"`
	Honest     *calibrationJSON    `json:"honest"`
	Absent     string              `json:"honest_absent"`
	Notes      []string            `json:"notes"`
	Conditions []conditionDocument `json:"conditions"`

	Network []Record      `json:"network_record"`
	Events  []EventRecord `json:"event_record,omitempty"`
}

type calibrationJSON struct {
	Base      string                 `json:"base"`
	Condition string                 `json:"condition"`
	Groups    []string               `json:"groups"`
	Level     float64                `json:"level"`
	Scale     scaleJSON              `json:"scale"`
	Guarantee float64                `json:"largest_left_out_guarantee"`
	LeftOut   []interval.GroupResult `json:"left_out"`
	Noise     float64                `json:"noise_ratio"`
	Notes     []string               `json:"notes"`
	Record    *interval.Record       `json:"record"`
}

// scaleJSON is how far errors exceed claims, with the names of metrics.json.
type scaleJSON struct {
	K      int     `json:"k"`
	Prior  string  `json:"prior"`
	M      float64 `json:"m"`
	Tau    float64 `json:"tau"`
	Factor float64 `json:"claim_factor"`
}

type conditionDocument struct {
	At            map[string]float64 `json:"at"`
	Extrapolation []string           `json:"extrapolation"`
	Position      *positionJSON      `json:"position"`
	Outcomes      []object           `json:"outcomes"`
	Events        []eventJSON        `json:"events,omitempty"`
}

// positionJSON is where a condition lies among the measured groups.
type positionJSON struct {
	Words    string   `json:"words"`
	Distance *float64 `json:"distance"`
	Below    *float64 `json:"below"`
	Above    *float64 `json:"above"`
	Refused  []string `json:"no_interval"` // why there is none
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
		Alpha: a.options.Alpha, Calibrated: a.options.Calibrated, Honest: a.calibrationJSON(),
		Notes: append([]string{}, a.Warnings...), Network: append([]Record{}, a.Record...),
	}

	if a.Honest != nil {
		d.Absent = a.Honest.Absent
	}

	for i := range a.Network.N {
		c := conditionDocument{
			At: map[string]float64{}, Extrapolation: append([]string{}, a.Outside(a.at(i))...), Position: a.positionJSON(i),
		}
		for k, name := range a.InputNames() {
			c.At[name] = a.at(i)[k]
		}

		for j := range a.Card.Outcomes {
			c.Outcomes = append(c.Outcomes, a.outcomeJSON(i, j))
		}

		for _, e := range a.Chance {
			lo, hi := a.bound(e, i)
			c.Events = append(c.Events, eventJSON{e.Name, e.Text, e.P[i], e.V[i], ends(lo, hi)})
		}

		d.Conditions = append(d.Conditions, c)
	}

	for _, e := range a.Chance {
		d.Events = append(d.Events, e.EventRecord)
	}

	return d
}

func (a *Answer) calibrationJSON() *calibrationJSON {
	if a.Honest == nil || a.Honest.Calibration == nil {
		return nil
	}

	c := a.Honest.Calibration
	out := &calibrationJSON{
		Base: c.Base, Condition: c.Condition, Level: a.Recommended.Level,
		Scale:     scaleJSON{c.K, c.Scale.Prior.Name, c.Scale.M, c.Scale.Tau, c.Scale.Factor},
		Guarantee: c.Conformal.Guarantee, LeftOut: c.Groups, Noise: c.NoiseRatio,
		Notes: append([]string{}, c.Notes()...), Record: a.Honest.Record,
	}

	for _, g := range c.Groups {
		out.Groups = append(out.Groups, g.Name)
	}

	return out
}

func (a *Answer) positionJSON(i int) *positionJSON {
	r := a.Recommended
	if r == nil {
		return nil
	}

	p := &positionJSON{Words: r.Position[i], Refused: append([]string{}, r.Refused[i]...)}
	if r.Where != nil {
		w := r.Where[i]
		p.Distance, p.Below, p.Above = defined(w.Distance), defined(w.Below), defined(w.Above)
	}

	return p
}

// outcomeJSON is an outcome with the numbers of its columns.
func (a *Answer) outcomeJSON(i, j int) object {
	calibrated := object{}
	out := object{{"name", a.Card.Outcomes[j].Name}, {"unit", a.Card.Outcomes[j].Unit}, {"honest", nil}}

	columns := a.columns()
	for n := 0; n < len(columns); n++ {
		c := columns[n]
		key, inner := strings.CutPrefix(c.Key, ofCalibrated)

		var value any = defined(a.value(c, i, j))
		if n+1 < len(columns) && columns[n+1].Key == c.Key {
			n++
			value = ends(a.value(c, i, j), a.value(columns[n], i, j))
		}

		if inner {
			calibrated = append(calibrated, field{key, value})
		} else {
			out = append(out, field{key, value})
		}
	}

	if a.Recommended != nil {
		out[2].value = calibrated
	}

	return out
}

// object is a JSON object whose fields keep their order.
type object []field

type field struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for _, f := range o {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}

		fmt.Fprintf(&b, ",%q:%s", f.key, value)
	}

	return append(append([]byte("{"), bytes.TrimPrefix(b.Bytes(), []byte(","))...), '}'), nil
}

// defined returns nil for NaN, which JSON does not have.
func defined(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// ends is an interval, nil where it has none.
func ends(lo, hi float64) any {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return nil
	}
	return [2]float64{lo, hi}
}
