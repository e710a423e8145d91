package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"doubletake/ingest/fault"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Format and Version identify the JSON form of a Model. CellsVersion is the version where
// neighbouring conditions were averaged, LabelsVersion that of a model with labels.
const (
	Format        = "doubletake-additive-gp"
	Version       = 1
	CellsVersion  = 2
	LabelsVersion = 3
)

// Data is what a prediction needs, and the JSON form of a Model: hyperparameters and the standardised conditions
// with their means and variances.
type Data struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Inputs     int       `json:"inputs"`
	Outcomes   int       `json:"outcomes"`
	Columns    []int     `json:"columns"` // inputs that vary; the others are ignored
	Others     []int     `json:"others"`  // columns of X that the second kernel uses
	InputMean  []float64 `json:"input_mean"`
	InputStd   []float64 `json:"input_std"`
	OutputMean []float64 `json:"outcome_mean"`
	OutputStd  []float64 `json:"outcome_std"`
	Hyper      []Hyper   `json:"hyperparameters"` // per outcome
	Noise      []Noise   `json:"noise"`           // per outcome
	X          []float64 `json:"x"`               // conditions × columns
	Y          []float64 `json:"y"`               // conditions × outcomes: means
	Spread     []float64 `json:"spread"`          // their variances

	Labels []int `json:"labels,omitempty"` // levels of each label whose levels have offsets
	Level  []int `json:"level,omitempty"`  // of the conditions, conditions × labels

	// Where neighbouring conditions are averaged, the processes are conditioned on cells, one for each outcome, which
	// are stored instead of X, Y, Spread and Level.
	Averaged *Cells     `json:"averaged,omitempty"`
	Averages []Averages `json:"cells,omitempty"`
}

// Averages are those of neighbouring conditions that the process of one outcome is conditioned on, standardised. The
// variances include the nugget.
type Averages struct {
	X        []float64 `json:"x"`
	Y        []float64 `json:"y"`
	Variance []float64 `json:"variance"`
	Level    []int     `json:"level,omitempty"` // cells × labels

	group []int // of each cell; nil after reading
}

// Stored returns the form in which the model is stored. It shares the model's slices.
func (m *Model) Stored() Data {
	s := m.Data
	s.Format, s.Version = Format, s.version()
	if s.Averaged != nil {
		s.X, s.Y, s.Spread, s.Level = []float64{}, []float64{}, []float64{}, nil
	}

	return s
}

// version is the version of the form.
func (s Data) version() int {
	switch {
	case s.Labels != nil:
		return LabelsVersion
	case s.Averaged != nil:
		return CellsVersion
	}

	return Version
}

// levels reports whether the levels of so many rows are those of labels.
func (s Data) levels(of []int, rows int) bool {
	if len(of) != rows*len(s.Labels) {
		return false
	}

	for i, v := range of {
		if v < 0 || v >= s.Labels[i%len(s.Labels)] || s.Labels[i%len(s.Labels)] > rows {
			return false
		}
	}

	return true
}

// conditions returns the number of conditions. It reports false where slices do not fit.
func (s Data) conditions() (n int, fits bool) {
	in, out := len(s.Columns), s.Outcomes
	if in < 1 || out < 1 || len(s.InputMean) != in || len(s.InputStd) != in || len(s.OutputMean) != out ||
		len(s.OutputStd) != out || len(s.Hyper) != out || len(s.Noise) != out || len(s.Labels) > MaxLabels {
		return 0, false
	}

	if s.Averaged == nil {
		n := len(s.X) / in
		return n, n >= 1 && len(s.X) == n*in && len(s.Y) == n*out && len(s.Spread) == n*out &&
			s.levels(s.Level, n) && s.Averages == nil
	}

	for _, c := range s.Averages {
		if n := len(c.Y); n < 1 || len(c.X) != n*in || len(c.Variance) != n || slices.Min(c.Variance) <= 0 ||
			!s.levels(c.Level, n) {
			return 0, false
		}
	}

	return s.Averaged.Rows, len(s.Averages) == out && len(s.X)+len(s.Y)+len(s.Spread) == 0
}

// MarshalJSON writes Stored.
func (m *Model) MarshalJSON() ([]byte, error) { return json.Marshal(m.Stored()) }

// UnmarshalJSON reads what MarshalJSON wrote, checks it, and factorises the
// covariance of the conditions. LeaveOut cannot be called on the result.
func (m *Model) UnmarshalJSON(data []byte) error {
	var s Data
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	if version := s.version(); s.Format != Format || s.Version != version {
		return fmt.Errorf("decode additive gp: expected format %q version %d, found %q version %d",
			Format, version, s.Format, s.Version)
	}

	in := len(s.Columns)
	n, fits := s.conditions()
	if !fits {
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

	*m = Model{Data: s, n: n, workers: runtime.GOMAXPROCS(0), grid: offsetGrid(len(s.Labels))}

	if err := fault.Try(func() { m.factorise(context.Background()) }); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	return nil
}

// Factor returns what predicts outcome j from the covariances k with the
// conditions or cells of Stored: the mean is k·weights, the variance of the latent
// function k(x, x) − |L⁻¹k|². weights (n) are (K + D)⁻¹y, lower (n×n, row-major) is
// the Cholesky factor L of K + D; above its diagonal it is not defined. With labels that is the mean of a new thing,
// see Offsets.
func (m *Model) Factor(j int) (weights, factor []float64) {
	p := m.process[j]
	weights = slices.Clone(p.alpha)
	if o := p.offsets; o != nil {
		shift := mat.NewVecDense(p.n, nil)
		shift.MulVec(mat.NewDense(p.n, o.columns(), o.white), o.mean)
		blas64.Trsv(blas.Trans, lower(p.n, p.chol), shift.RawVector())
		floats.Sub(weights, shift.RawVector().Data)
	}

	return weights, slices.Clone(p.chol)
}

// Offsets returns what labels add to the variance of outcome j of a new thing at a condition with the covariances k:
// fresh + uᵀ·cov·u, where u = whiteᵀL⁻¹k. cov has as many rows as columns, none without labels.
func (m *Model) Offsets(j int) (white, cov []float64, fresh float64) {
	o := m.process[j].offsets
	if o == nil {
		return nil, nil, 0
	}
	return o.white, o.cov, floats.Sum(o.fresh)
}
