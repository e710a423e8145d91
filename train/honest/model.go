package honest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// Format and Version identify honest.json.
const (
	Format  = "doubletake-honest-model"
	Version = 2
)

// Model is what honest.json holds: a Gaussian process or an ensemble of networks, and
// its calibration.
type Model struct {
	Format         string                `json:"format"`
	Version        int                   `json:"version"`
	Split          string                `json:"split"`
	HeldOut        string                `json:"held_out"`
	Data           string                `json:"data"` // "simulated" or "measured"
	Condition      string                `json:"condition,omitempty"`
	Absent         string                `json:"absent,omitempty"` // why there is no calibration
	Inputs         []Input               `json:"inputs,omitempty"`
	Outcomes       []Outcome             `json:"outcomes,omitempty"`
	Logarithm      []bool                `json:"logarithm,omitempty"`      // inputs that enter as their logarithm
	Orders         *gp.OrderForm         `json:"orders,omitempty"`         // a row for each harmonic
	Representation *form.Choice          `json:"representation,omitempty"` // set where train.form asks for a form
	Hint           *form.Hint            `json:"form_hint,omitempty"`      // where none is asked for, and one would help
	Labels         []Names               `json:"labels,omitempty"`         // whose names have offsets
	Process        *gp.Model             `json:"model,omitempty"`
	Ensemble       *EnsembleModel        `json:"ensemble,omitempty"` // instead of Process where the base is networks
	Calibration    *interval.Calibration `json:"calibration,omitempty"`
	Record         *interval.Record      `json:"record,omitempty"` // on the test part
	Left           []scale.Group         `json:"-"`                // what Calibration was learned from; not stored
}

// Input is a condition that a model sees.
type Input struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Min    float64   `json:"min"` // of the training set
	Max    float64   `json:"max"`
	Values []float64 `json:"values,omitempty"` // its distinct training values, ascending, where they are stated
	Points []Point   `json:"set_points,omitempty"`
}

// Point is a set point about which training values scatter. A value from Lo to Hi is measured at it.
type Point struct {
	Nominal float64 `json:"nominal"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
}

// at returns the set point of a value; nil where it has none.
func (in Input) at(v float64) (best *Point) {
	for i, p := range in.Points {
		if v >= p.Lo && v <= p.Hi && (best == nil || math.Abs(v-p.Nominal) < math.Abs(v-best.Nominal)) {
			best = &in.Points[i]
		}
	}

	return best
}

// Inside returns a value that belongs to the scatter of a set point as one of the training range, others
// unchanged.
func (in Input) Inside(v float64) float64 {
	if in.at(v) == nil {
		return v
	}
	return min(max(v, in.Min), in.Max)
}

// Outcome is a quantity that a model predicts.
type Outcome struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Inputs are those of a set with the ranges and the set points of its training part. scatter is how far values of
// an input may lie from the middle of a set point, in its unit; nil: there are none.
func Inputs(s triplets.Set, scatter func(input string, point float64) float64) (list []Input) {
	trained := s.Of(triplets.Train)
	for k, q := range s.Inputs {
		v := trained.Values(k)
		in := Input{Name: q.Name, Unit: q.Unit, Min: v[0], Max: v[len(v)-1]}
		if scatter != nil && trained.SetPoints != nil {
			in.Points = points(lists.Column(trained.X, s.In, k), lists.Column(trained.SetPoints, s.In, k),
				func(p float64) float64 { return scatter(q.Name, p) })
		}

		list = append(list, in)
	}

	return list
}

// points are the set points of values, ascending, where they scatter.
func points(values, at []float64, scatter func(point float64) float64) (list []Point) {
	known := map[float64]Point{}
	for i, p := range at {
		r, ok := known[p]
		if !ok {
			r = Point{p, values[i], values[i]}
		}

		known[p] = Point{p, min(r.Lo, values[i]), max(r.Hi, values[i])}
	}

	for _, p := range slices.Sorted(maps.Keys(known)) {
		if t := scatter(p); t > 0 { // as far as the whole range is then within t of its middle
			r := known[p]
			list = append(list, Point{p, min(r.Lo, r.Hi-2*t), max(r.Hi, r.Lo+2*t)})
		}
	}

	return list
}

// describe names the inputs and the outcomes.
func (m *Model) describe(s triplets.Set, scatter func(input string, point float64) float64) {
	m.Inputs = Inputs(s, scatter)
	m.Outcomes = lists.Each(s.Outcomes, func(q triplets.Quantity) Outcome { return Outcome{q.Name, q.Unit} })
}

// absent is the model of a split without a calibration.
func absent(reason string) *Model { return &Model{Format: Format, Version: Version, Absent: reason} }

// Result is what the left-out groups taught, and how the intervals did.
func (m *Model) Result() *interval.Result {
	return &interval.Result{Absent: m.Absent, Calibration: m.Calibration, Record: m.Record}
}

// base names the kind of the model.
func (m *Model) base() string {
	if m.Process == nil {
		return m.Ensemble.kind()
	}

	name := "additive GP"
	if m.Orders != nil {
		name += " in order form"
	}

	if m.Form() != nil {
		name += " in the form " + m.Representation.Chosen
	}

	if c := m.Process.Cells(); c != nil {
		name += fmt.Sprintf(", %v", c)
	}

	return name
}

// Form is that of the inputs and outcomes of the process; nil where they have no other.
func (m *Model) Form() *form.Form {
	if m.Representation == nil {
		return nil
	}
	return m.Representation.Form
}

// Predicts reports whether the model was stored.
func (m *Model) Predicts() bool { return m.Process != nil || m.Ensemble != nil }

// predictLevels is that of the process at conditions whose labels have the given levels; of networks, which have none,
// the prediction. It raises its error.
func (m *Model) predictLevels(ctx context.Context, x []float64, level []int) (mu, claim, noise []float64) {
	var err error
	if m.Ensemble != nil {
		mu, claim, noise, err = m.Ensemble.Predict(ctx, x)
	} else {
		mu, claim, noise, err = m.mapped().PredictLevels(ctx, x, level)
	}

	fault.Raise(err)

	return mu, claim, noise
}

// mapped is the process in its form.
func (m *Model) mapped() *gp.Mapped {
	var f gp.Form = logForm(m.Logarithm)
	switch {
	case m.Form() != nil:
		f = inForm{m.Form(), len(m.Inputs)}
	case m.Orders != nil:
		f = *m.Orders
	}

	return &gp.Mapped{Form: f, Model: m.Process}
}

// Predict returns the calibrated predictions at conditions x (n×In, own units).
// level is that of the intervals; 0 takes the calibration's. Without a calibration
// the epistemic variance and the intervals are NaN, and Where is nil. things are the names of labels at each condition:
// what is measured of a name counts; others, and those that are not given, are of new things. nil: all are.
//
// An error is a model that was not stored, or groups whose
// condition is no input, so that the distance of x to them is unknown.
func (m *Model) Predict(ctx context.Context, x []float64, level float64, things []map[string]string) (
	_ *interval.Prediction, err error,
) {
	defer fault.Catch(&err)
	if !m.Predicts() {
		return nil, fmt.Errorf("predict with the calibrated model: %s", m.Absent)
	}

	labels := lists.Each(m.Labels, func(n Names) Label {
		return Label{n.Name, lists.Each(things, func(t map[string]string) string { return t[n.Name] })}
	})

	of := levels(m.Labels, labels, lists.Numbers(len(things)), false)
	mu, claim, noise := m.predictLevels(ctx, x, of)
	if m.Calibration == nil {
		return interval.ClaimOnly(len(m.Outcomes), mu, claim, noise), nil
	}

	c := *m.Calibration
	if level != 0 {
		c.Level = level
	}

	z := m.coordinates(&c, x)
	if c.Axis == nil {
		z = m.distances(of)
	}

	return c.PredictLevel(m.Inside(x), z, mu, claim, noise), nil
}

// coordinates returns those of the groups at conditions x. Where they are no input and not
// needed, c loses its axis.
func (m *Model) coordinates(c *interval.Calibration, x []float64) (z []float64) {
	if c.Axis == nil {
		return nil
	}

	column := slices.IndexFunc(m.Inputs, func(in Input) bool { return in.Name == c.Condition })
	if column < 0 && !c.Scale.UsesDistance() {
		c.Axis = nil
		return nil
	}

	if column < 0 {
		fault.Raise(fmt.Errorf("the condition %s of the left-out groups is no input of the model: "+
			"the distance to them is not known", c.Condition))
	}

	for i := column; i < len(x); i += len(m.Inputs) {
		v := x[i]
		if p := m.Inputs[column].at(v); p != nil {
			v = p.Nominal
		}

		z = append(z, v)
	}

	return z
}

// Inside returns conditions x (n×In) as Input.Inside does.
func (m *Model) Inside(x []float64) []float64 {
	return lists.Make(len(x), func(i int) float64 { return m.Inputs[i%len(m.Inputs)].Inside(x[i]) })
}

// Read reads honest.json.
func Read(path string) (*Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}

	m := &Model{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}

	if m.Format != Format || m.Version != Version {
		return nil, fmt.Errorf("read model: expected format %s version %d, found %q version %d", Format, Version, m.Format,
			m.Version)
	}

	if m.Calibration != nil {
		m.Calibration.Representation, m.Calibration.Hint = m.Representation, m.Hint
	}

	return m, nil
}
