package honest

import (
	"context"

	"gonum.org/v1/gonum/stat"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// This file finds runs that may be mistakes. A far run is a run whose outcomes lie far from the predictions of a
// process that learned from all other runs.

// Limits of FarRuns.
const (
	fewestRuns  = 12   // with fewer runs a robust deviation means little
	mostRunRows = 2000 // the process of more rows would take minutes
	mostFar     = 10   // largest number of far runs

	// The search of hyperparameters:
	runHyperRows = 160 // conditions
	runSteps     = 30  // iterations

	// A run is far if its residual and its offset are at least as large as these:
	farRun     = 3.0   // robust deviations of the residuals of all runs
	falseAlarm = 0.025 // probability that any run and outcome has a larger residual, if residuals have a t law
	leastDB    = 0.5   // offset of a level in dB: smaller ones are not mistakes
	leastShare = 0.05  // offset of another outcome, in its deviations

	// The deviation of the neighbours of a run, in deviations of all runs:
	nearRuns  = 24  // number of nearest neighbours
	moreNear  = 1.3 // the deviation counts if it is larger than this
	nearPrior = 4   // number of runs with the deviation of all runs that are added to the neighbours
)

// allOutcomes is the outcome of a FarRun if all outcomes were compared together.
const allOutcomes = -1

// FarRun is a run whose outcomes are far from what the process of all other runs predicts.
type FarRun struct {
	Run     int     // place in Set.Runs
	Outcome int     // number of the outcome; −1: all together, if all are levels in dB
	Offset  float64 // weighted mean of measured less predicted, in the outcome's unit
	Times   float64 // size of the residual in robust deviations of the residuals of all runs; 0: no offset matters
	Limit   float64 // Times from which on a run of this set is far
}

// FarRuns returns the runs of a set that are far from what all other runs predict, which may be mistakes
// (docs/method.md#mistakes-in-the-data). They are in the order in which they were found, at most mostFar.
//
//  1. It leaves out each run of the set in closed form, and takes the farthest (sequence).
//  2. It fits the process without this run, since a wrong run pulls the predictions of its neighbours, and tests it:
//     a run is far if its weighted residual is at least farRun robust deviations of all residuals, exceeds the
//     quantile for falseAlarm, and if its offset is at least leastDB or leastShare.
//  3. It goes on without this run until the farthest run is not far.
//  4. It tests all found runs again by a process without any of them (confirm).
//
// FarRuns returns nil for couples, without inputs, with few or very many runs, and if no process can be fitted. If
// there are many rows, it replaces rows by the means of some rows (fewer).
func (l Learner) FarRuns(ctx context.Context, s triplets.Set) ([]FarRun, error) {
	runs := len(s.Runs)
	isComparable := !s.Couples && s.In > 0
	if !isComparable || runs < fewestRuns || runs > mostRunRows {
		return nil, nil
	}

	if s.N > mostRunRows {
		s = fewer(s, mostRunRows)
	}

	l.Form = "conditions" // the order form finds as many far runs, but takes ten times as long
	around := neighbours(s)
	found, err := l.sequence(ctx, s, around)
	if err != nil {
		return nil, err
	}

	if len(found) < 2 {
		return found, nil
	}

	return l.confirm(ctx, s, found, around)
}

// sequence returns one far run after another, each found by a process without the ones before. around are the
// neighbours of each run.
func (l Learner) sequence(ctx context.Context, s triplets.Set, around [][][]int) ([]FarRun, error) {
	residuals, err := l.leaveRuns(ctx, s)
	if err != nil {
		return nil, err
	}

	var found []FarRun
	for residuals != nil && len(found) < mostFar {
		farthest := residuals.farthest(around)
		if farthest.Times == 0 {
			break
		}

		residuals, err = l.leaveRuns(ctx, residuals.set, farthest.Run)
		if err != nil {
			return nil, err
		}

		if residuals == nil {
			break
		}

		tested := residuals.test(farthest.Run, around[farthest.Run])
		if !tested.isFar() {
			break
		}

		residuals.forget(tested.Run)
		found = append(found, tested)
	}

	return found, nil
}

// isFar reports whether the run is far.
func (f FarRun) isFar() bool { return f.Times > 0 && f.Times >= f.Limit }

// confirm returns the found runs that are far from the predictions of a process without any found run. The first runs
// that were found may be right: a wrong run among their neighbours can make them far.
func (l Learner) confirm(ctx context.Context, s triplets.Set, found []FarRun, around [][][]int) ([]FarRun, error) {
	var runs []int
	for _, f := range found {
		runs = append(runs, f.Run)
	}

	residuals, err := l.leaveRuns(ctx, s, runs...)
	if err != nil {
		return nil, err
	}

	if residuals == nil {
		return found, nil
	}

	// A found run is tested without the other found runs among its neighbours.
	var confirmed []FarRun
	for _, r := range runs {
		if tested := residuals.forgetOthers(runs, r).test(r, around[r]); tested.isFar() {
			confirmed = append(confirmed, tested)
		}
	}

	return confirmed, nil
}

// visit is a run at a condition.
type visit struct{ run, condition int }

// fewer returns a set of at most the given number of rows. It divides the rows of each run at each condition, in their
// order, into equally many parts, and returns the mean of each part. If there are more pairs of a run and a condition
// than rows, it returns evenly spread rows instead.
func fewer(s triplets.Set, most int) triplets.Set {
	visits := make([]visit, s.N)
	for i := range visits {
		visits[i] = visit{s.Run[i], s.Condition[i]}
	}

	groups := lists.Alike(visits)
	if len(groups) > most {
		rows := make([]int, most)
		for i := range rows {
			rows[i] = i * s.N / most
		}

		return s.Select(rows)
	}

	var parts [][]int
	var first []int // first row of each part
	for _, rows := range groups {
		n := min(most/len(groups), len(rows))
		for i := range n {
			part := rows[i*len(rows)/n : (i+1)*len(rows)/n]
			parts = append(parts, part)
			first = append(first, part[0])
		}
	}

	means := s.Select(first)
	for i, rows := range parts {
		for j := range s.Out {
			means.Y1[i*s.Out+j] = meanOfRows(s.Y1, s.Out, rows, j)
			means.Y2[i*s.Out+j] = meanOfRows(s.Y2, s.Out, rows, j)
		}
	}

	return means
}

// meanOfRows returns the mean of outcome j over some rows of y, rows × outcomes.
func meanOfRows(y []float64, outcomes int, rows []int, j int) float64 {
	var own []float64
	for _, i := range rows {
		own = append(own, y[i*outcomes+j])
	}

	return stat.Mean(own, nil)
}
