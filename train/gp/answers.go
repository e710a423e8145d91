package gp

import (
	"context"
	"errors"

	"doubletake/internal/parallel"
	"doubletake/train/triplets"
)

// Questions are what a model is asked together. A model that does not keep its factors factorises the process of each
// outcome once for all questions. A question whose field is zero is not asked.
type Questions struct {
	LeaveOut bool      // predict the training rows Rows as Model.LeaveOut does
	Rows     []int     // training rows to leave out; nil: all
	Units    [][][]int // predict each list of units as Model.LeaveOutUnits does
	X        []float64 // predict these conditions as Model.PredictLevels does
	Level    []int     // levels of the labels at X
	Added    *Added    // find the claims with added conditions as Model.ClaimWith does
}

// Added are conditions that might be measured as well, and conditions at which the claims would then change.
type Added struct {
	X      []float64 // conditions that might be measured
	Pairs  []float64 // by condition of X: number of pairs that would measure it
	Counts []int     // for each result: the number of leading conditions of X that are measured together
	At     []float64 // conditions whose claims are asked for
	Level  []int     // levels of the labels at X and then at At, see Model.PredictLevels
}

// Answers are the results of Questions.
type Answers struct {
	Left      triplets.Prediction     // of the rows that were left out
	Units     [][]triplets.Prediction // of each list of units, by unit
	Predicted triplets.Prediction     // of the conditions X
	Claims    [][]float64             // by count of Added
	Spreads   [][]Spread              // by outcome and label: variance of the offsets, see Model.Variances
}

// Answer answers questions together. It returns an error if q leaves out rows of a model that was read from a file, or
// units of a model whose conditions were averaged.
func (m *Model) Answer(ctx context.Context, q Questions) (Answers, error) {
	switch {
	case m.condition == nil && (q.LeaveOut || q.Units != nil):
		return Answers{}, errors.New("gp: a model that was read from a file has no training rows to leave out")
	case m.Averages != nil && q.Units != nil:
		return Answers{}, errors.New("gp: no units can be left out of a model whose conditions were averaged")
	}

	if m.process != nil {
		return m.answer(ctx, q)
	}

	answers := make([]Answers, m.Outcomes)
	err := m.eachOutcome(ctx, func(j int, one *Model) error {
		var err error
		answers[j], err = one.answer(ctx, q)

		return err
	})
	if err != nil {
		return Answers{}, err
	}

	return joined(answers), nil
}

// answer answers questions by the processes that m keeps.
func (m *Model) answer(ctx context.Context, q Questions) (a Answers, err error) {
	if q.LeaveOut {
		a.Left, err = m.leaveOut(ctx, q.Rows)
		if err != nil {
			return a, err
		}
	}

	if q.Units != nil {
		a.Units, err = m.leaveOutUnits(ctx, q.Units)
		if err != nil {
			return a, err
		}
	}

	if q.X != nil {
		a.Predicted, err = m.predictLevels(ctx, q.X, q.Level)
		if err != nil {
			return a, err
		}
	}

	if q.Added != nil {
		a.Claims, err = m.claimWith(ctx, *q.Added)
		if err != nil {
			return a, err
		}
	}

	if len(m.Labels) > 0 {
		for _, p := range m.process {
			a.Spreads = append(a.Spreads, p.offsets.variances())
		}
	}

	return a, nil
}

// eachOutcome calls f for each outcome j with a model of this outcome alone. The process of that model is conditioned
// on the data only while f runs: f must not keep it.
func (m *Model) eachOutcome(ctx context.Context, f func(j int, one *Model) error) error {
	return m.eachOf(ctx, 0, m.Outcomes, f)
}

// eachOf does what eachOutcome does, for count outcomes from number first on.
func (m *Model) eachOf(ctx context.Context, first, count int, f func(j int, one *Model) error) error {
	together := min(m.workers, count)

	return parallel.Try(together, count, func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		j := first + k
		one := m.outcome(j)
		one.workers = max(1, m.workers/together)
		if m.process != nil {
			one.process = m.process[j : j+1]
			return f(j, one)
		}

		given := one.given(0)
		n := len(given.y)
		room := matrices.borrow(n * n) // of the factor
		defer matrices.giveBack(room)

		p, err := one.factorised(0, room)
		if err != nil {
			return err
		}

		one.process = []process{p}

		return f(j, one)
	})
}

// outcome returns the model of outcome j alone, without its process. It shares slices of m.
func (m *Model) outcome(j int) *Model {
	one := *m
	one.first = m.first + j
	one.Outcomes = 1
	one.OutputMean = m.OutputMean[j : j+1]
	one.OutputStd = m.OutputStd[j : j+1]
	one.Hyper = m.Hyper[j : j+1]
	one.Noise = m.Noise[j : j+1]
	one.Y = column(m.Y, m.Outcomes, j)
	one.Spread = column(m.Spread, m.Outcomes, j)
	one.process = nil
	if m.Averages != nil {
		one.Averages = m.Averages[j : j+1]
	}

	return &one
}

// column returns column j of v, a row-major matrix with the given number of columns.
func column(v []float64, columns, j int) []float64 {
	if columns == 1 {
		return v
	}

	list := make([]float64, 0, len(v)/columns)
	for i := j; i < len(v); i += columns {
		list = append(list, v[i])
	}

	return list
}

// joined returns the answers of a model of all outcomes, from the answers of models of one outcome each.
func joined(single []Answers) Answers {
	var left, predicted []triplets.Prediction
	for _, a := range single {
		left = append(left, a.Left)
		predicted = append(predicted, a.Predicted)
	}

	all := Answers{Left: joinedPredictions(left), Predicted: joinedPredictions(predicted)}
	for s, units := range single[0].Units {
		list := make([]triplets.Prediction, len(units))
		for u := range units {
			var parts []triplets.Prediction
			for _, a := range single {
				parts = append(parts, a.Units[s][u])
			}

			list[u] = joinedPredictions(parts)
		}

		all.Units = append(all.Units, list)
	}

	for i := range single[0].Claims {
		var parts [][]float64
		for _, a := range single {
			parts = append(parts, a.Claims[i])
		}

		all.Claims = append(all.Claims, interleaved(parts))
	}

	for _, a := range single {
		all.Spreads = append(all.Spreads, a.Spreads...)
	}

	return all
}

// joinedPredictions returns the predictions of all outcomes, from the predictions of one outcome each.
func joinedPredictions(single []triplets.Prediction) triplets.Prediction {
	var mu, claim, noise [][]float64
	for _, p := range single {
		mu = append(mu, p.Mu)
		claim = append(claim, p.Claim)
		noise = append(noise, p.Noise)
	}

	return triplets.Prediction{Mu: interleaved(mu), Claim: interleaved(claim), Noise: interleaved(noise)}
}

// interleaved returns the matrix whose columns are the given ones, row-major.
func interleaved(columns [][]float64) []float64 {
	if len(columns) == 1 {
		return columns[0]
	}

	list := make([]float64, 0, len(columns)*len(columns[0]))
	for i := range columns[0] {
		for _, c := range columns {
			list = append(list, c[i])
		}
	}

	return list
}
