package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
)

// Format and a version identify the JSON form of a Model. CurvesVersion is the version of a model whose levels have
// curves of their own, LabelsVersion the version of other models with labels, CellsVersion the version of other models
// whose neighbouring conditions were averaged, and Version the version of all others.
const (
	Format        = "doubletake-additive-gp"
	Version       = 1
	CellsVersion  = 2
	LabelsVersion = 3
	CurvesVersion = 4
)

// Data holds the numbers that a prediction needs: hyperparameters, and the standardised conditions with the means of
// their outcomes. It is the JSON form of a Model. Matrices are row-major.
type Data struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Inputs     int       `json:"inputs"`          // number of all inputs
	Outcomes   int       `json:"outcomes"`        // number of outcomes
	Columns    []int     `json:"columns"`         // inputs that vary, ascending; the others are ignored
	Others     []int     `json:"others"`          // columns of X that the shared kernel uses, ascending
	InputMean  []float64 `json:"input_mean"`      // by column of X, in the unit of the input
	InputStd   []float64 `json:"input_std"`       // by column of X, in the unit of the input
	OutputMean []float64 `json:"outcome_mean"`    // by outcome, in its unit
	OutputStd  []float64 `json:"outcome_std"`     // by outcome, in its unit
	Hyper      []Hyper   `json:"hyperparameters"` // by outcome
	Noise      []Noise   `json:"noise"`           // by outcome
	X          []float64 `json:"x"`               // inputs, conditions × columns, standardised
	Y          []float64 `json:"y"`               // means of outcomes, conditions × outcomes, standardised
	Spread     []float64 `json:"spread"`          // noise variances of these means, standardised

	Labels []int `json:"labels,omitempty"` // by label: number of its levels, each of which has an offset; empty: no labels
	Level  []int `json:"level,omitempty"`  // level of each condition, conditions × labels
	Curves int   `json:"curves,omitempty"` // label whose levels have curves of their own, counted from 1; 0: none has

	// If neighbouring conditions are averaged, the processes are conditioned on cells, and the stored form has cells
	// instead of X, Y, Spread and Level. nil: nothing is averaged.
	Averaged *Cells     `json:"averaged,omitempty"`
	Averages []Averages `json:"cells,omitempty"` // by outcome
}

// Averages are the cells that the process of one outcome is conditioned on, standardised.
type Averages struct {
	X        []float64 `json:"x"`               // mean inputs, cells × columns
	Y        []float64 `json:"y"`               // by cell: mean outcome
	Variance []float64 `json:"variance"`        // by cell: variance of this mean, nugget included
	Level    []int     `json:"level,omitempty"` // level of each cell, cells × labels

	group []int // group of each cell; nil after reading a stored model
}

// Stored returns the form in which the model is stored. It shares the model's slices.
func (m *Model) Stored() Data {
	s := m.Data
	s.Format = Format
	s.Version = s.version()
	if s.Averaged != nil {
		s.X = []float64{}
		s.Y = []float64{}
		s.Spread = []float64{}
		s.Level = nil
	}

	return s
}

// version returns the version that the stored form of s has.
func (s Data) version() int {
	switch {
	case s.Curves != 0:
		return CurvesVersion
	case len(s.Labels) > 0:
		return LabelsVersion
	case s.Averaged != nil:
		return CellsVersion
	}

	return Version
}

// hasLevels reports whether level has a level of each label for the given number of rows. A label cannot have more
// levels than there are rows.
func (s Data) hasLevels(level []int, rows int) bool {
	if len(level) != rows*len(s.Labels) {
		return false
	}

	for i, v := range level {
		count := s.Labels[i%len(s.Labels)]
		if v < 0 || v >= count || count > rows {
			return false
		}
	}

	return true
}

// conditions returns the number of conditions, and reports whether the lengths of all slices fit each other.
func (s Data) conditions() (n int, fits bool) {
	if !s.scalesFit() {
		return 0, false
	}

	if s.Averaged != nil {
		return s.Averaged.Rows, s.cellsFit()
	}

	n = len(s.X) / len(s.Columns)

	return n, s.rowsFit(n)
}

// scalesFit reports whether there is a scale for each column and outcome, and hyperparameters and noise for each
// outcome. It returns false for too many labels, and if Curves is not the number of a label.
func (s Data) scalesFit() bool {
	if len(s.Labels) > MaxLabels || s.Curves < 0 || s.Curves > len(s.Labels) {
		return false
	}

	columns := len(s.Columns)
	inputs := columns >= 1 && len(s.InputMean) == columns && len(s.InputStd) == columns
	outcomes := s.Outcomes >= 1 && len(s.OutputMean) == s.Outcomes && len(s.OutputStd) == s.Outcomes
	processes := len(s.Hyper) == s.Outcomes && len(s.Noise) == s.Outcomes

	return inputs && outcomes && processes
}

// rowsFit reports whether the slices have n conditions, and there are no cells.
func (s Data) rowsFit(n int) bool {
	inputs := n >= 1 && len(s.X) == n*len(s.Columns) && s.hasLevels(s.Level, n)
	outcomes := len(s.Y) == n*s.Outcomes && len(s.Spread) == n*s.Outcomes

	return inputs && outcomes && s.Averages == nil
}

// cellsFit reports whether there are cells for each outcome, and no conditions beside them.
func (s Data) cellsFit() bool {
	for _, c := range s.Averages {
		n := len(c.Y)
		sizesFit := n >= 1 && len(c.X) == n*len(s.Columns) && len(c.Variance) == n
		if !sizesFit || slices.Min(c.Variance) <= 0 || !s.hasLevels(c.Level, n) {
			return false
		}
	}

	return len(s.Averages) == s.Outcomes && len(s.X)+len(s.Y)+len(s.Spread) == 0
}

// hyperFits reports whether the hyperparameters and the noise of outcome j have a number for each column.
func (s Data) hyperFits(j int) bool {
	h := s.Hyper[j]
	columns := len(s.Columns)
	if len(h.Length) != columns || len(h.Linear) != columns {
		return false
	}

	if len(h.Lengths) != len(s.Others) {
		return false
	}

	return len(s.Noise[j].Coefficients) == len(quadratic(s.InputMean))
}

// ascend reports whether the numbers of v ascend, from 0 or more to below the limit.
func ascend(v []int, limit int) bool {
	last := -1
	for _, k := range v {
		if k <= last || k >= limit {
			return false
		}

		last = k
	}

	return true
}

// MarshalJSON writes Stored.
func (m *Model) MarshalJSON() ([]byte, error) { return json.Marshal(m.Stored()) }

// UnmarshalJSON reads what MarshalJSON wrote, checks it, and factorises the covariance of the conditions. The
// result has no training rows that LeaveOut could leave out.
func (m *Model) UnmarshalJSON(data []byte) error {
	var s Data
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	if version := s.version(); s.Format != Format || s.Version != version {
		return fmt.Errorf("decode additive gp: expected format %q version %d, found %q version %d",
			Format, version, s.Format, s.Version)
	}

	n, fits := s.conditions()
	if !fits {
		return fmt.Errorf("decode additive gp: expected slices for %d inputs and %d outcomes, found others",
			len(s.Columns), s.Outcomes)
	}

	if !ascend(s.Columns, s.Inputs) || !ascend(s.Others, len(s.Columns)) {
		return fmt.Errorf("decode additive gp: expected ascending columns below %d, found %v and %v",
			s.Inputs, s.Columns, s.Others)
	}

	for j := range s.Hyper {
		if !s.hyperFits(j) {
			return fmt.Errorf("decode additive gp: outcome %d: expected hyperparameters of %d inputs", j, len(s.Columns))
		}
	}

	if slices.Min(s.InputStd) <= 0 || slices.Min(s.OutputStd) <= 0 {
		return fmt.Errorf("decode additive gp: expected positive deviations")
	}

	*m = Model{Data: s, n: n, workers: runtime.GOMAXPROCS(0), grid: offsetGrid(len(s.Labels))}

	if err := m.factorise(context.Background(), keptRead); err != nil {
		return fmt.Errorf("decode additive gp: %w", err)
	}

	return nil
}
