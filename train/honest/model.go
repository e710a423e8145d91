package honest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// File is the name of the file of a split's model. It lies in the folder of the split.
const File = "honest.json"

// Format and Version identify the file.
const (
	Format  = "doubletake-honest-model"
	Version = 2
)

// Model is what honest.json holds: a Gaussian process or an ensemble of networks, and its calibration. Without a
// calibration it may hold neither, and Absent says why.
type Model struct {
	Format  string `json:"format"`
	Version int    `json:"version"`

	// The split that the model belongs to. The caller sets these three; they are for people.
	Split   string `json:"split"`
	HeldOut string `json:"held_out"`
	Data    string `json:"data"` // "simulated" or "measured"

	Condition string    `json:"condition,omitempty"` // condition whose values are the groups
	Absent    string    `json:"absent,omitempty"`    // why there is no calibration; "" if there is one
	Inputs    []Input   `json:"inputs,omitempty"`
	Outcomes  []Outcome `json:"outcomes,omitempty"`

	// How the process sees inputs and outcomes:
	Logarithm      []bool        `json:"logarithm,omitempty"`      // by input: whether it enters as its logarithm
	Orders         *gp.OrderForm `json:"orders,omitempty"`         // a row for each harmonic; nil: a row each
	Representation *form.Choice  `json:"representation,omitempty"` // nil unless train.form asks for a form
	Labels         []Names       `json:"labels,omitempty"`         // labels whose names have offsets

	Process     *gp.Model             `json:"model,omitempty"`    // nil if the base is networks
	Ensemble    *EnsembleModel        `json:"ensemble,omitempty"` // nil if the base is a process
	Calibration *interval.Calibration `json:"calibration,omitempty"`
	Record      *interval.Record      `json:"record,omitempty"` // of the test part; nil without one
	Left        []scale.Group         `json:"-"`                // groups that Calibration was learned from; not stored

	trained []int // levels of the labels of the training rows, rows × labels; nil after reading
}

// Input is a condition that a model sees. Numbers are in its unit.
type Input struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Min    float64   `json:"min"`                  // smallest training value
	Max    float64   `json:"max"`                  // largest training value
	Values []float64 `json:"values,omitempty"`     // distinct training values, ascending; nil: not stated
	Points []Point   `json:"set_points,omitempty"` // set points about which training values scatter; nil: none

	// Swept is true if the value varies within every training run, as the angle of microphones does, or a swept angle of
	// attack: one run measures all its values.
	Swept bool `json:"swept_in_runs,omitempty"`
}

// Point is a set point of an input. A value from Lo to Hi counts as measured at it.
type Point struct {
	Nominal float64 `json:"nominal"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
}

// setPoint returns the nearest set point at which v counts as measured, or nil if there is none.
func (q Input) setPoint(v float64) *Point {
	var best *Point
	for i, p := range q.Points {
		if v < p.Lo || v > p.Hi {
			continue
		}

		if best == nil || math.Abs(v-p.Nominal) < math.Abs(v-best.Nominal) {
			best = &q.Points[i]
		}
	}

	return best
}

// Inside returns the value of the training range nearest to v if v counts as measured at a set point: it may lie
// outside the range only because values scatter. It returns any other v unchanged.
func (q Input) Inside(v float64) float64 {
	if q.setPoint(v) == nil {
		return v
	}
	return min(max(v, q.Min), q.Max)
}

// Outcome is a quantity that a model predicts.
type Outcome struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Inputs returns the inputs of a set with the ranges and the set points of its training part. scatter returns how far
// values of an input may lie from the middle of a set point, in the unit of the input; nil: there are no set points.
func Inputs(s triplets.Set, scatter func(input string, point float64) float64) []Input {
	trained := s.Only(triplets.Train)
	var list []Input
	for k, q := range s.Inputs {
		values := trained.Values(k) // ascending
		input := Input{
			Name: q.Name, Unit: q.Unit, Min: values[0], Max: values[len(values)-1], Swept: variesInEachRun(trained, k),
		}
		if scatter != nil && trained.SetPoints != nil {
			measured := measuredPoints(lists.Column(trained.X, s.In, k), lists.Column(trained.SetPoints, s.In, k))
			input.Points = widened(measured, q.Name, scatter)
		}

		list = append(list, input)
	}

	return list
}

// variesInEachRun reports whether input k has at least two values in each run of a set.
func variesInEachRun(s triplets.Set, k int) bool {
	x := s.AtSetPoints()
	initial := map[int]float64{} // by run: the value in its first row
	varies := map[int]bool{}
	for i, run := range s.Run {
		v := x[i*s.In+k]
		earlier, known := initial[run]
		if !known {
			initial[run] = v
		} else if v != earlier {
			varies[run] = true
		}
	}

	return len(initial) > 0 && len(varies) == len(initial)
}

// measuredPoints returns the distinct set points, ascending, each with the range of its values. setPoints has the set
// point of each value.
func measuredPoints(values, setPoints []float64) []Point {
	ranges := map[float64]Point{}
	for i, p := range setPoints {
		r, known := ranges[p]
		if !known {
			r = Point{p, values[i], values[i]}
		}

		r.Lo = min(r.Lo, values[i])
		r.Hi = max(r.Hi, values[i])
		ranges[p] = r
	}

	var list []Point
	for _, p := range slices.Sorted(maps.Keys(ranges)) {
		list = append(list, ranges[p])
	}

	return list
}

// widened returns the points of an input about which values may scatter. It widens the range of each point so that all
// values in it are within scatter of the middle of one set point, together with the measured values.
func widened(points []Point, input string, scatter func(input string, point float64) float64) []Point {
	var list []Point
	for _, p := range points {
		if t := scatter(input, p.Nominal); t > 0 {
			list = append(list, Point{Nominal: p.Nominal, Lo: min(p.Lo, p.Hi-2*t), Hi: max(p.Hi, p.Lo+2*t)})
		}
	}

	return list
}

// describe sets the inputs and the outcomes of m.
func (m *Model) describe(s triplets.Set, scatter func(input string, point float64) float64) {
	m.Inputs = Inputs(s, scatter)
	m.Outcomes = nil
	for _, q := range s.Outcomes {
		m.Outcomes = append(m.Outcomes, Outcome{q.Name, q.Unit})
	}
}

// absent returns the model of a split that cannot be calibrated for the given reason.
func absent(reason string) *Model { return &Model{Format: Format, Version: Version, Absent: reason} }

// Result returns the calibration and the record of the model. They are shared, not copied.
func (m *Model) Result() *interval.Result {
	return &interval.Result{Absent: m.Absent, Calibration: m.Calibration, Record: m.Record}
}

// base describes the model in words, as "additive GP in order form".
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

// Form returns the form in which the process sees inputs and outcomes, or nil if train.form asks for none or its choice
// was the default.
func (m *Model) Form() *form.Form {
	if m.Representation == nil {
		return nil
	}
	return m.Representation.Form
}

// Predicts reports whether m holds a model that can predict.
func (m *Model) Predicts() bool { return m.Process != nil || m.Ensemble != nil }

// predictLevels predicts conditions x whose labels have the given levels, see gp.Model.PredictLevels. Networks ignore
// levels.
func (m *Model) predictLevels(ctx context.Context, x []float64, level []int) (triplets.Prediction, error) {
	if m.Ensemble != nil {
		return m.Ensemble.Predict(ctx, x)
	}

	return m.mapped().PredictLevels(ctx, x, level)
}

// mapped returns the process in its form. It cannot leave out training rows.
func (m *Model) mapped() *gp.Mapped {
	return &gp.Mapped{Form: gpForm(m.Form(), m.Orders, m.Logarithm, len(m.Inputs)), Model: m.Process}
}

// Predict returns the calibrated predictions at conditions x (n×In, in the units of the inputs). level is the level of
// the intervals; 0 takes the level of the calibration. Without a calibration the epistemic variance and the intervals
// are NaN, and Where is nil.
//
// things are the names at each condition, by label: the measurements of a thing count if its name is known. A condition
// without a known name belongs to a new thing. If things is nil, all conditions belong to new things.
//
// Predict returns an error if m holds no model, or if the distance of x to the measured groups is unknown because the
// condition of the groups is not an input.
func (m *Model) Predict(ctx context.Context, x []float64, level float64, things []map[string]string) (
	*interval.Prediction, error,
) {
	if !m.Predicts() {
		return nil, fmt.Errorf("predict with the calibrated model: %s", m.Absent)
	}

	thingLevels := m.levelsOf(things)
	raw, err := m.predictLevels(ctx, x, thingLevels)
	if err != nil {
		return nil, err
	}

	return m.calibrated(x, level, thingLevels, raw)
}

// calibrated returns what Predict returns, for the predictions raw of the model at conditions x, whose labels have the
// levels thingLevels.
func (m *Model) calibrated(x []float64, level float64, thingLevels []int, raw triplets.Prediction) (
	*interval.Prediction, error,
) {
	if m.Calibration == nil {
		return interval.ClaimOnly(len(m.Outcomes), raw), nil
	}

	c, z, err := m.groupCoordinates(x, thingLevels)
	if err != nil {
		return nil, err
	}

	if level != 0 {
		c.Level = level
	}

	return c.PredictLevel(m.Inside(x), z, m.queries(x, thingLevels), raw), nil
}

// groupCoordinates returns what coordinates returns. If the groups have no coordinate, z has the distances of things.
func (m *Model) groupCoordinates(x []float64, thingLevels []int) (c interval.Calibration, z []float64, err error) {
	c, z, err = m.coordinates(x)
	if err == nil && c.Axis == nil {
		z = m.distances(thingLevels)
	}

	return c, z, err
}

// Places returns where conditions lie among the training conditions, and their classes, which are nil without a design.
// It predicts nothing. It takes x and things as Predict does. m must have a calibration.
func (m *Model) Places(x []float64, things []map[string]string) ([]interval.Where, []interval.Query, error) {
	levels := m.levelsOf(things)
	c, z, err := m.groupCoordinates(x, levels)
	if err != nil {
		return nil, nil, err
	}

	return c.Places(m.Inside(x), z), m.queries(x, levels), nil
}

// levelsOf returns the levels of conditions, conditions × labels, from the names at each condition by label.
func (m *Model) levelsOf(things []map[string]string) []int {
	var labels []Label
	for _, n := range m.Labels {
		label := Label{Name: n.Name}
		for _, names := range things {
			label.Names = append(label.Names, names[n.Name])
		}

		labels = append(labels, label)
	}

	return levels(m.Labels, labels, lists.Numbers(len(things)))
}

// coordinates returns a copy of the calibration, and z, the coordinate of the groups at each condition of x. z is nil
// if the groups have no coordinate. If the coordinate is not an input, the distances to the groups are unknown: if the
// intervals do not depend on them, the copy has no axis and z is nil; otherwise coordinates returns an error.
func (m *Model) coordinates(x []float64) (c interval.Calibration, z []float64, err error) {
	c = *m.Calibration
	if c.Axis == nil {
		return c, nil, nil
	}

	column := slices.IndexFunc(m.Inputs, func(q Input) bool { return q.Name == c.Condition })
	if column < 0 && !c.Scale.UsesDistance() {
		c.Axis = nil
		return c, nil, nil
	}

	if column < 0 {
		return c, nil, fmt.Errorf("the condition %s of the left-out groups is not an input of the model: "+
			"the distance to them is not known", c.Condition)
	}

	for i := column; i < len(x); i += len(m.Inputs) {
		v := x[i]
		if p := m.Inputs[column].setPoint(v); p != nil {
			v = p.Nominal
		}

		z = append(z, v)
	}

	return c, z, nil
}

// Inside returns conditions x (n×In) with each value moved by Input.Inside.
func (m *Model) Inside(x []float64) []float64 {
	moved := make([]float64, len(x))
	for i, v := range x {
		moved[i] = m.Inputs[i%len(m.Inputs)].Inside(v)
	}

	return moved
}

// Stored is what honest.json holds: a model, and the details of its record.
type Stored struct {
	*Model
	Details *interval.Details `json:"record_details,omitempty"` // nil without a record
}

// Stored returns what honest.json holds of a model.
func (m *Model) Stored() Stored { return Stored{Model: m, Details: m.Record.Details()} }

// checkFormat returns an error if a file has another format or version.
func checkFormat(format string, version int) error {
	if format != Format || version != Version {
		return fmt.Errorf("read model: expected format %s version %d, found %q version %d", Format, Version, format, version)
	}

	return nil
}

// Read reads the model in the file honest.json at path. An error about the content does not name the file: callers
// add it.
func Read(path string) (*Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}

	m := &Model{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}

	if err := checkFormat(m.Format, m.Version); err != nil {
		return nil, err
	}

	if m.Calibration != nil {
		m.Calibration.Representation = m.Representation
		m.Calibration.KeepTable()
	}

	return m, nil
}

// ReadResult reads the calibration of the model in the file honest.json at path, and its record with all details. It
// does not read the model itself.
func ReadResult(path string) (*interval.Result, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read intervals: %w", err)
	}

	result, err := decodeResult(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return result, nil
}

// decodeResult reads the calibration and the record in the content of honest.json.
func decodeResult(b []byte) (*interval.Result, error) {
	var stored struct {
		Format         string          `json:"format"`
		Version        int             `json:"version"`
		Representation *form.Choice    `json:"representation"`
		Details        json.RawMessage `json:"record_details"`
		interval.Result
	}
	if err := json.Unmarshal(b, &stored); err != nil {
		return nil, fmt.Errorf("read intervals: %w", err)
	}

	if err := checkFormat(stored.Format, stored.Version); err != nil {
		return nil, err
	}

	result := &stored.Result
	if result.Calibration != nil {
		result.Calibration.Representation = stored.Representation
	}

	if result.Record == nil {
		return result, nil
	}

	if stored.Details == nil {
		return nil, errors.New("read intervals: expected the member record_details, found none")
	}

	if err := result.Record.ReadDetails(stored.Details); err != nil {
		return nil, err
	}

	return result, nil
}
