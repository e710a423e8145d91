package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// A Form rewrites conditions as the rows that a process sees. Each condition becomes Each rows, one after another, and
// the outcomes of the condition are divided among its rows in their order.
type Form interface {
	// X returns the rows of conditions x, row-major.
	X(x []float64) ([]float64, error)
	// Each returns the number of rows of a condition.
	Each() int
	// LnFactors returns, for each condition and outcome at conditions x, ln of the factor by which the outcome is
	// larger than the outcome that the process predicts. It returns nil if all factors are 1.
	LnFactors(x []float64) []float64
}

// Mapped is a Model of the rows of a form. Its methods take and return conditions and their outcomes.
type Mapped struct {
	Form  Form
	Model *Model
	x     []float64 // training conditions; nil after reading a stored model
}

// FitForm fits a process to the rows of a form. The columns in o are columns of the form's rows; its groups and levels
// have an element for each condition. FitForm panics if the outcomes of a condition cannot be divided among its rows.
func FitForm(ctx context.Context, d triplets.Set, f Form, o Options) (*Mapped, error) {
	rows, err := rowsIn(f, d)
	if err != nil {
		return nil, err
	}

	o.Group = repeat(o.Group, f.Each(), 1)
	o.Level = repeat(o.Level, f.Each(), len(o.Labels))
	m, err := Fit(ctx, rows, o)
	if err != nil {
		return nil, err
	}

	return &Mapped{Form: f, Model: m, x: d.X}, nil
}

// rowsIn returns the pairs in a form: with its rows, and with outcomes in the units of the process.
func rowsIn(f Form, d triplets.Set) (triplets.Set, error) {
	each := f.Each()
	if d.Out%each != 0 {
		panic(fmt.Sprintf("gp: data of %d outcomes for %d rows of each condition", d.Out, each))
	}

	x, err := f.X(d.X)
	if err != nil {
		return triplets.Set{}, err
	}

	r := triplets.Set{
		N: d.N * each, Out: d.Out / each, X: x, Y1: d.Y1, Y2: d.Y2,
		Weight: repeat(d.Weight, each, 1), Alone: repeat(d.Alone, each, 1),
	}
	r.In = len(r.X) / max(r.N, 1)

	if d.SetPoints != nil {
		r.SetPoints, err = f.X(d.SetPoints)
		if err != nil {
			return triplets.Set{}, err
		}
	}

	if factors := f.LnFactors(d.X); factors != nil {
		r.Y1 = slices.Clone(d.Y1)
		r.Y2 = slices.Clone(d.Y2)
		for k, l := range factors {
			r.Y1[k] *= math.Exp(-l)
			r.Y2[k] *= math.Exp(-l)
		}
	}

	return r, nil
}

// repeat returns v, a row-major matrix with the given number of columns, with each row n times.
func repeat[T any](v []T, n, columns int) []T {
	var list []T
	for i := 0; i < len(v); i += columns {
		for range n {
			list = append(list, v[i:i+columns]...)
		}
	}

	return list
}

// repeatLevels returns the levels of all rows for the levels of conditions.
func (m *Mapped) repeatLevels(level []int) []int {
	return repeat(level, m.Form.Each(), len(m.Model.Labels))
}

// restore changes predictions of the process at conditions x, in place, to the outcomes' own units.
func (m *Mapped) restore(x []float64, p triplets.Prediction) {
	for k, l := range m.Form.LnFactors(x) {
		p.Mu[k] *= math.Exp(l)
		p.Claim[k] *= math.Exp(2 * l)
		p.Noise[k] *= math.Exp(2 * l)
	}
}

// Answer returns what Model.Answer returns, for conditions instead of rows: the rows and the units of q are training
// conditions.
func (m *Mapped) Answer(ctx context.Context, q Questions) (Answers, error) {
	rows, err := m.questions(q)
	if err != nil {
		return Answers{}, err
	}

	a, err := m.Model.Answer(ctx, rows)
	if err != nil {
		return Answers{}, err
	}

	if q.LeaveOut {
		m.restore(m.trained(q.Rows), a.Left)
	}

	for s, predictions := range a.Units {
		for u, p := range predictions {
			m.restore(m.trained(q.Units[s][u]), p)
		}
	}

	m.restore(q.X, a.Predicted)
	if q.Added == nil {
		return a, nil
	}

	for k, l := range m.Form.LnFactors(q.Added.At) {
		for _, c := range a.Claims {
			c[k] *= math.Exp(2 * l)
		}
	}

	return a, nil
}

// questions returns questions about rows, for questions about conditions.
func (m *Mapped) questions(q Questions) (Questions, error) {
	var err error
	each := m.Form.Each()
	rows := Questions{LeaveOut: q.LeaveOut, Rows: rowsOf(q.Rows, each), Level: m.repeatLevels(q.Level)}
	for _, units := range q.Units {
		var list [][]int
		for _, conditions := range units {
			list = append(list, rowsOf(conditions, each))
		}

		rows.Units = append(rows.Units, list)
	}

	if q.X != nil {
		rows.X, err = m.Form.X(q.X)
		if err != nil {
			return Questions{}, err
		}
	}

	if q.Added == nil {
		return rows, nil
	}

	rows.Added, err = m.addedRows(*q.Added)
	if err != nil {
		return Questions{}, err
	}

	return rows, nil
}

// addedRows returns the rows that a process sees of conditions that might be measured.
func (m *Mapped) addedRows(conditions Added) (*Added, error) {
	each := m.Form.Each()
	rows := &Added{Pairs: repeat(conditions.Pairs, each, 1), Level: m.repeatLevels(conditions.Level)}

	var err error
	rows.X, err = m.Form.X(conditions.X)
	if err != nil {
		return nil, err
	}

	rows.At, err = m.Form.X(conditions.At)
	if err != nil {
		return nil, err
	}

	for _, n := range conditions.Counts {
		rows.Counts = append(rows.Counts, n*each)
	}

	return rows, nil
}

// trained returns the inputs of some training conditions, or of all if conditions is nil. The model must have been
// fitted here: a model that was read from a file has no training conditions.
func (m *Mapped) trained(conditions []int) []float64 {
	if conditions == nil {
		return m.x
	}

	count := len(m.Model.condition) / m.Form.Each()

	return lists.Rows(m.x, len(m.x)/count, conditions)
}

// PredictLevels returns what Model.PredictLevels returns, for conditions instead of rows.
func (m *Mapped) PredictLevels(ctx context.Context, x []float64, level []int) (triplets.Prediction, error) {
	a, err := m.Answer(ctx, Questions{X: x, Level: level})
	return a.Predicted, err
}

// LeaveOut returns what Model.LeaveOut returns, for training conditions (ascending; nil: all) instead of rows.
func (m *Mapped) LeaveOut(ctx context.Context, conditions []int) (triplets.Prediction, error) {
	a, err := m.Answer(ctx, Questions{LeaveOut: true, Rows: conditions})
	return a.Left, err
}

// ClaimWith returns what Model.ClaimWith returns, for conditions instead of rows.
func (m *Mapped) ClaimWith(ctx context.Context, o Added) ([][]float64, error) {
	a, err := m.Answer(ctx, Questions{Added: &o})
	return a.Claims, err
}

// rowsOf returns the rows of some conditions, if each condition has the given number of rows. It returns nil if
// conditions is nil, and an empty slice if conditions is empty but not nil.
func rowsOf(conditions []int, each int) []int {
	if conditions == nil {
		return nil
	}

	rows := make([]int, 0, len(conditions)*each)
	for _, i := range conditions {
		for k := range each {
			rows = append(rows, i*each+k)
		}
	}

	return rows
}

// Posterior returns what Model.Posterior returns, for conditions instead of rows. Its variances are in the units of the
// process, without the factors of the form.
func (m *Mapped) Posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error) {
	z, ofRows, err := m.rowsAhead(x, levels)
	if err != nil {
		return nil, err
	}

	p, err := m.Model.Posterior(ctx, z, pairs, ofRows)
	if err != nil {
		return nil, err
	}

	m.joinRows(p)

	return p, nil
}

// EachPosterior does what Model.EachPosterior does, for conditions instead of rows. If a form divides all outcomes of a
// condition among its rows, the process has one outcome, and receive is called once.
func (m *Mapped) EachPosterior(ctx context.Context, x []float64, pairs float64, levels Levels,
	receive func(j int, p *Posterior) error,
) error {
	z, ofRows, err := m.rowsAhead(x, levels)
	if err != nil {
		return err
	}

	return m.Model.EachPosterior(ctx, z, pairs, ofRows, func(j int, p *Posterior) error {
		m.joinRows(p)
		return receive(j, p)
	})
}

// rowsAhead returns the rows that the process sees of conditions x, and the levels of these rows.
func (m *Mapped) rowsAhead(x []float64, levels Levels) ([]float64, Levels, error) {
	z, err := m.Form.X(x)
	return z, Levels{Asked: m.repeatLevels(levels.Asked), Measured: m.repeatLevels(levels.Measured)}, err
}

// joinRows changes a posterior of rows to one of conditions.
func (m *Mapped) joinRows(p *Posterior) {
	p.rows = m.Form.Each()
	p.conditions /= p.rows
}
