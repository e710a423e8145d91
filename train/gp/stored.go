package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
)

// Format and Version identify the JSON form of a Model. CellsVersion is the version where
// neighbouring conditions were averaged.
const (
	Format       = "doubletake-additive-gp"
	Version      = 1
	CellsVersion = 2
)

// Stored is the JSON form of a Model: what a prediction needs, hyperparameters and the
// standardised conditions with their means and variances.
type Stored struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Inputs     int       `json:"inputs"`
	Outcomes   int       `json:"outcomes"`
	Columns    []int     `json:"columns"`
	Others     []int     `json:"others"`
	InputMean  []float64 `json:"input_mean"`
	InputStd   []float64 `json:"input_std"`
	OutputMean []float64 `json:"outcome_mean"`
	OutputStd  []float64 `json:"outcome_std"`
	Hyper      []Hyper   `json:"hyperparameters"`
	Noise      []Noise   `json:"noise"`
	X          []float64 `json:"x"`
	Y          []float64 `json:"y"`
	Spread     []float64 `json:"spread"`

	Averaged *Cells        `json:"averaged,omitempty"`
	Cells    []StoredCells `json:"cells,omitempty"` // per outcome, instead of X, Y and Spread
}

// StoredCells are the averages of neighbouring conditions that the process of one outcome
// is conditioned on, standardised. The variances include the nugget.
type StoredCells struct {
	X        []float64 `json:"x"`
	Y        []float64 `json:"y"`
	Variance []float64 `json:"variance"`
}

// Stored returns the form in which the model is stored. It shares the model's slices.
func (m *Model) Stored() Stored {
	s := Stored{
		Format: Format, Version: Version, Inputs: m.in, Outcomes: m.out, Columns: m.columns, Others: m.others,
		InputMean: m.scale.xMean, InputStd: m.scale.xStd, OutputMean: m.scale.yMean, OutputStd: m.scale.yStd,
		Hyper: m.hyper, Noise: m.noise, X: m.x, Y: m.y, Spread: m.spread,
	}

	if m.cells != nil {
		s.Version, s.Averaged, s.X, s.Y, s.Spread = CellsVersion, m.averaged, []float64{}, []float64{}, []float64{}
		for _, c := range m.cells {
			s.Cells = append(s.Cells, StoredCells{c.x, c.y, c.variance})
		}
	}

	return s
}

// model is the stored model without its factors. It reports false where slices do not fit.
func (s Stored) model() (*Model, bool) {
	in, out := len(s.Columns), s.Outcomes
	m := &Model{
		in: s.Inputs, out: out, columns: s.Columns, others: s.Others, hyper: s.Hyper, noise: s.Noise,
		scale:   scale{s.InputMean, s.InputStd, s.OutputMean, s.OutputStd},
		workers: runtime.GOMAXPROCS(0), averaged: s.Averaged,
	}

	if in < 1 || out < 1 || len(s.InputMean) != in || len(s.InputStd) != in || len(s.OutputMean) != out ||
		len(s.OutputStd) != out || len(s.Hyper) != out || len(s.Noise) != out {
		return nil, false
	}

	if s.Version == Version {
		m.n, m.x, m.y, m.spread = len(s.X)/in, s.X, s.Y, s.Spread
		return m, m.n >= 1 && len(s.X) == m.n*in && len(s.Y) == m.n*out && len(s.Spread) == m.n*out &&
			s.Averaged == nil && s.Cells == nil
	}

	for _, c := range s.Cells {
		if n := len(c.Y); n < 1 || len(c.X) != n*in || len(c.Variance) != n || slices.Min(c.Variance) <= 0 {
			return nil, false
		}

		m.cells = append(m.cells, cells{x: c.X, y: c.Y, variance: c.Variance})
	}

	if s.Averaged != nil {
		m.n = s.Averaged.Rows
	}

	return m, len(m.cells) == out && s.Averaged != nil && len(s.X)+len(s.Y)+len(s.Spread) == 0
}

// MarshalJSON writes Stored.
func (m *Model) MarshalJSON() ([]byte, error) { return json.Marshal(m.Stored()) }

// UnmarshalJSON reads what MarshalJSON wrote, checks it, and factorises the
// covariance of the conditions. LeaveOut cannot be called on the result.
func (m *Model) UnmarshalJSON(data []byte) error {
	var s Stored
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	if s.Format != Format || s.Version != Version && s.Version != CellsVersion {
		return fmt.Errorf("decode additive gp: expected format %q version %d or %d, found %q version %d",
			Format, Version, CellsVersion, s.Format, s.Version)
	}

	in := len(s.Columns)
	read, ok := s.model()
	if !ok {
		return fmt.Errorf("decode additive gp: expected slices for %d inputs and %d outcomes, found others", in, s.Outcomes)
	}

	within := func(v []int, limit int) bool {
		for i, k := range v {
			if k < 0 || k >= limit || i > 0 && k <= v[i-1] {
				return false
			}
		}

		return true
	}

	if !within(s.Columns, s.Inputs) || !within(s.Others, in) {
		return fmt.Errorf("decode additive gp: expected ascending columns below %d, found %v and %v",
			s.Inputs, s.Columns, s.Others)
	}

	for j, h := range s.Hyper {
		if len(h.Length) != in || len(h.Linear) != in || h.Shared != 0 && len(h.Lengths) != len(s.Others) ||
			len(s.Noise[j].Coefficients) != len(quadratic(s.InputMean)) {
			return fmt.Errorf("decode additive gp: outcome %d: expected hyperparameters of %d inputs", j, in)
		}
	}

	if slices.Min(s.InputStd) <= 0 || slices.Min(s.OutputStd) <= 0 {
		return fmt.Errorf("decode additive gp: expected positive deviations")
	}

	*m = *read

	if err := m.factorise(context.Background()); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	return nil
}

// Factor returns what predicts outcome j from the covariances k with the
// conditions or cells of Stored: the mean is k·weights, the variance of the latent
// function k(x, x) − |L⁻¹k|². weights (n) are (K + D)⁻¹y, lower (n×n, row-major) is
// the Cholesky factor L of K + D; above its diagonal it is not defined.
func (m *Model) Factor(j int) (weights, lower []float64) {
	return slices.Clone(m.process[j].alpha), slices.Clone(m.process[j].chol)
}
