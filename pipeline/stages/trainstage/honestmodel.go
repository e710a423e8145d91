package trainstage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/train/gp"
	"doubletake/train/honest"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// HonestModel is what honest.json holds: a Gaussian process or an ensemble of
// networks, and its calibration.
type HonestModel struct {
	Format      string              `json:"format"`
	Version     int                 `json:"version"`
	Split       string              `json:"split"`
	HeldOut     string              `json:"held_out"`
	Data        string              `json:"data"` // "simulated" or "measured"
	Condition   string              `json:"condition,omitempty"`
	Absent      string              `json:"absent,omitempty"` // why there is no calibration
	Inputs      []Input             `json:"inputs,omitempty"`
	Outcomes    []Outcome           `json:"outcomes,omitempty"`
	Logarithm   []bool              `json:"logarithm,omitempty"` // inputs that enter as their logarithm
	Orders      *gp.OrderForm       `json:"orders,omitempty"`    // set where the model has one row for each harmonic
	Model       *gp.Model           `json:"model,omitempty"`
	Ensemble    *networks           `json:"ensemble,omitempty"` // instead of Model where the base is networks
	Calibration *honest.Calibration `json:"calibration,omitempty"`
	Record      *Record             `json:"record,omitempty"` // on the test part

	// LeftOut are the left-out groups where they are too few for an interval.
	LeftOut []honest.GroupResult `json:"left_out,omitempty"`
}

// Record compares the calibrated intervals with the measurements of the test part,
// which entered nowhere. Before is the model's own claim, After has the covariance
// learned from the left-out groups. A number that is undefined is absent.
type Record struct {
	R2              *float64       `json:"r2"`
	RatioBefore     *float64       `json:"ratio_before"` // Σe/Σv̂: squared error over claim
	RatioAfter      *float64       `json:"ratio_after"`
	RatioSE         *float64       `json:"ratio_se"` // of RatioAfter, over runs
	CoverageBefore  *float64       `json:"coverage_95_before"`
	CoverageAfter   *float64       `json:"coverage_95_after"`
	WidthOverSpread *float64       `json:"width_over_spread"`
	Outcomes        []OutcomeError `json:"outcomes"`
}

// OutcomeError is the error of the calibrated model's mean on the test part for
// the outcomes of one unit.
type OutcomeError struct {
	Outcomes []string `json:"outcomes"`
	Unit     string   `json:"unit"`
	RMSE     *float64 `json:"rmse"`
}

// finite returns v, nil where it is undefined.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// recordOf is the record of a split, with the trust of each group of outcomes.
func recordOf(s triplets.Set, r honest.Report, groups [][]int, trust []score.Trust) *Record {
	out := &Record{
		R2: finite(r.R2), RatioBefore: finite(r.Before.Ratio), RatioAfter: finite(r.After.Ratio),
		RatioSE: finite(r.After.RatioSE), CoverageBefore: finite(r.Before.Normal.Coverage),
		CoverageAfter: finite(r.After.Student.Coverage), WidthOverSpread: finite(r.WidthOverSpread),
	}
	for i, t := range trust {
		e := OutcomeError{Unit: s.Outcomes[groups[i][0]].Unit, RMSE: finite(t.RMSE)}
		for _, k := range groups[i] {
			e.Outcomes = append(e.Outcomes, s.Outcomes[k].Name)
		}
		out.Outcomes = append(out.Outcomes, e)
	}
	return out
}

// honestFormat identifies honest.json.
const honestFormat = "doubletake-honest-model"

// processRows are what a process is fitted to.
type processRows struct {
	gp.Data            // inputs as the process takes them; groups numbered by their first row
	GroupInputs []int  // inputs that are functions of the group
	Logarithm   []bool // inputs that enter as their logarithm
	Orders      *gp.OrderForm
	weight      []float64 // of each row; nil: one
}

// newProcessRows decides in which form the process sees the set, and picks rows.
func newProcessRows(s triplets.Set, g honest.Grouping, rows []int, form string) processRows {
	r := processRows{weight: s.Select(rows).Weight}
	if o, ok := orderForm(s); ok && form != "conditions" {
		r.Orders = o
	} else {
		r.Logarithm = make([]bool, s.In)
		for k, q := range s.Inputs {
			r.Logarithm[k] = isRate(q.Name) && positive(s.X, s.In, k)
		}
	}
	x := (&HonestModel{Orders: r.Orders, Logarithm: r.Logarithm}).inputs(s.X)
	r.Data = gp.Data{N: s.N, In: s.In, Out: s.Out, X: x, Y1: s.Y1, Y2: s.Y2, Group: g.Of}.Rows(rows)
	number := map[int]int{} // a training stays the same when other groups are added
	for i, h := range r.Group {
		if _, known := number[h]; !known {
			number[h] = len(number)
		}
		r.Group[i] = number[h]
	}
	for k, from := range fromGroup(s, g) {
		if from {
			r.GroupInputs = append(r.GroupInputs, k)
		}
	}
	return r
}

// fit fits the process. Where it cannot, the model states why, and its process is nil.
func (r processRows) fit(ctx context.Context) (*HonestModel, predictor, error) {
	m := &HonestModel{Orders: r.Orders, Logarithm: r.Logarithm}
	o := gp.Options{GroupInputs: r.GroupInputs, Workers: 1, Weight: r.weight}
	var p predictor
	var err error
	if r.Orders != nil {
		var fitted *gp.OrderModel
		if fitted, err = gp.FitOrder(ctx, r.Data, *r.Orders, o); err == nil {
			p, m.Model = fitted, fitted.Model
		}
	} else if m.Model, err = gp.Fit(ctx, r.Data, o); err == nil {
		p = m.Model
	}
	var tooMany *gp.TooManyConditionsError
	switch {
	case errors.As(err, &tooMany):
		m.Absent = fmt.Sprintf("%v: group neighbouring conditions, or use fewer", tooMany)
	case err != nil && ctx.Err() != nil:
		return nil, nil, err
	case err != nil:
		m.Absent = err.Error()
	}
	return m, p, nil
}

// base names the kind of the model.
func (m *HonestModel) base(settings config.Honest) string {
	switch settings.Base {
	case "gp", "gp-refit":
		name := "additive GP"
		if m.Orders != nil {
			name += " in order form"
		}
		if settings.Base == "gp-refit" {
			name += ", refitted"
		}
		return name
	case "pair":
		return fmt.Sprintf("pair networks of %d", m.Ensemble.Members())
	case "prior-ensemble":
		return fmt.Sprintf("signed prior ensemble of %d", m.Ensemble.Members())
	}
	return fmt.Sprintf("ensemble of %d", m.Ensemble.Members())
}

// inputs returns x (n×In) as the process takes it. The order form takes its own
// logarithms.
func (m *HonestModel) inputs(x []float64) []float64 {
	if m.Orders != nil || m.Ensemble != nil {
		return x
	}
	out, in := slices.Clone(x), len(m.Logarithm)
	for i := range out {
		if m.Logarithm[i%in] {
			out[i] = math.Log(out[i])
		}
	}
	return out
}

// Predicts reports whether the model was stored.
func (m *HonestModel) Predicts() bool { return m.Model != nil || m.Ensemble != nil }

// predictor takes inputs as inputs returns them; it is nil where none was stored.
func (m *HonestModel) predictor() honest.Predictor {
	switch {
	case m.Ensemble != nil:
		return m.Ensemble
	case m.Model == nil:
		return nil
	case m.Orders != nil:
		return &gp.OrderModel{Form: *m.Orders, Model: m.Model}
	}
	return m.Model
}

// Predict returns the calibrated predictions at conditions x (n×In, own units).
// level is that of the intervals; 0 takes the calibration's. Without a calibration
// the added covariance and the intervals are NaN, and Where is nil.
//
// An error is a model that was not stored, or groups whose
// condition is no input, so that the distance of x to them is unknown.
func (m *HonestModel) Predict(ctx context.Context, x []float64, level float64) (*honest.Prediction, error) {
	p := m.predictor()
	if p == nil {
		return nil, fmt.Errorf("predict with the calibrated model: %s", m.Absent)
	}
	mu, claim, noise, err := p.Predict(ctx, m.inputs(x))
	if err != nil {
		return nil, err
	}
	if m.Calibration == nil {
		return claimOnly(len(m.Outcomes), mu, claim, noise), nil
	}
	c := *m.Calibration
	if level != 0 {
		c.Level = level
	}
	var z []float64
	if c.Axis != nil {
		column := slices.IndexFunc(m.Inputs, func(in Input) bool { return in.Name == c.Condition })
		if column < 0 {
			return nil, fmt.Errorf("the condition %s of the left-out groups is no input of the model: "+
				"the distance to them is not known", c.Condition)
		}
		for i := column; i < len(x); i += len(m.Inputs) {
			z = append(z, x[i])
		}
	}
	return c.Predict(x, z, mu, claim, noise), nil
}

// claimOnly is a prediction without a calibration.
func claimOnly(out int, mu, claim, noise []float64) *honest.Prediction {
	p := &honest.Prediction{N: len(mu) / out, Out: out, Mu: mu, Claim: claim}
	for k := range mu {
		p.Added, p.Epistemic = append(p.Added, math.NaN()), append(p.Epistemic, math.NaN())
		p.Total, p.Half = append(p.Total, claim[k]+noise[k]), append(p.Half, math.NaN())
	}
	return p
}

// orderForm returns the order form of a rotor's levels: the first harmonics of the
// blade passing frequency in dB, over blades and a shaft speed.
func orderForm(s triplets.Set) (*gp.OrderForm, bool) {
	f := &gp.OrderForm{In: s.In, Blades: -1, Speed: -1, Harmonics: s.Out}
	for k, q := range s.Inputs {
		switch q.Name {
		case "blades":
			f.Blades = k
		case "rpm", "rps", "rpm_tracked", "rpm_measured":
			f.Speed = k
		}
	}
	for k, q := range s.Outcomes {
		if q.Name != fmt.Sprintf("bpf%d_db", k+1) {
			return nil, false
		}
	}
	ok := f.Blades >= 0 && f.Speed >= 0 && s.Out > 1 && positive(s.X, s.In, f.Blades) && positive(s.X, s.In, f.Speed)
	return f, ok
}

// isRate reports whether a condition is a speed or a rate: effects of such a
// condition go with its ratio.
func isRate(name string) bool {
	u, ok := units.OfName(name)
	if !ok {
		return false
	}
	for _, text := range []string{"m/s", "1/s"} {
		if v, err := units.Parse(text); err == nil && v.Dimension == u.Dimension {
			return true
		}
	}
	return false
}

func positive(x []float64, in, k int) bool {
	for i := k; i < len(x); i += in {
		if !(x[i] > 0) {
			return false
		}
	}
	return true
}

// ReadHonestModel reads honest.json.
func ReadHonestModel(path string) (*HonestModel, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	m := &HonestModel{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("read model %s: %w", path, err)
	}
	if m.Format != honestFormat || m.Version != 1 {
		return nil, fmt.Errorf("read model %s: expected format %s version 1, found %q version %d", path, honestFormat,
			m.Format, m.Version)
	}
	return m, nil
}
