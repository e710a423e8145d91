package content

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// This file collects what the held-out values show besides the judgement of the models: upper bounds, errors without
// bounds, and the errors of plain predictions.

// bounds are the values of a set that are upper bounds, N×Out for y1 and y2. Both are nil if the table marks none.
type bounds struct{ first, second []bool }

// boundsOf reads which values of a set are upper bounds, from the columns that mark them in the table of its triplets.
func boundsOf(tab *table.Table, set triplets.Set) bounds {
	var b bounds
	for k, outcome := range set.Outcomes {
		first := tab.Column(outcome.Name + "_bound_1")
		second := tab.Column(outcome.Name + "_bound_2")
		if first == nil || second == nil {
			continue
		}

		if b.first == nil {
			b.first = make([]bool, set.N*set.Out)
			b.second = make([]bool, set.N*set.Out)
		}

		for i := range set.N {
			b.first[i*set.Out+k] = first.Bools[i]
			b.second[i*set.Out+k] = second.Bools[i]
		}
	}

	return b
}

// number returns how many of the two values at place k of the N×Out lists are bounds.
func (b bounds) number(k int) int {
	n := 0
	if b.first != nil && b.first[k] {
		n++
	}

	if b.second != nil && b.second[k] {
		n++
	}

	return n
}

// dropBounds returns a set whose test part has no pair in which a value of outcome k is a bound, and the places of the
// remaining rows among the test rows of set.
func (b bounds) dropBounds(set triplets.Set, k int) (measured triplets.Set, places []int) {
	measured = set
	measured.Part = slices.Clone(set.Part)
	for place, i := range set.RowsOf(triplets.Test) {
		if b.number(i*set.Out+k) > 0 {
			measured.Part[i] = triplets.Neither
		} else {
			places = append(places, place)
		}
	}

	return measured, places
}

// heldOutcomes returns what the held-out values of each outcome show. trained are the answers of the networks, one for
// each seed, at the rows of the set.
func heldOutcomes(ctx context.Context, set triplets.Set, b bounds, sp *report.Split, trained []triplets.Answers) (
	[]report.HeldOutcome, error,
) {
	mean, err := plainErrors(ctx, baseline.Constant{}, set)
	if err != nil {
		return nil, err
	}

	linear, err := plainErrors(ctx, baseline.Linear{}, set)
	if err != nil {
		return nil, err
	}

	var list []report.HeldOutcome
	for k, outcome := range set.Outcomes {
		held := report.HeldOutcome{
			Outcome: outcome.Name, MeasuredResidual: math.NaN(), MeanError: mean[k], LinearError: linear[k],
		}
		for _, i := range set.RowsOf(triplets.Test) {
			held.Values += 2
			held.Bounds += b.number(i*set.Out + k)
		}

		if held.Bounds > 0 {
			measured, places := b.dropBounds(set, k)
			held.Measured = measuredTrust(measured, places, k, sp, trained)
			if sp.Honest != nil && sp.Honest.Record != nil {
				held.MeasuredResidual = residual(measured, pickRows(sp.Honest.Record.Mu, set.Out, places), k)
			}
		}

		list = append(list, held)
	}

	return list, nil
}

// measuredTrust returns the trust in the recommended predictions of outcome k on the test part of measured, which has
// no upper bound of the outcome. places are the places of its rows among the held-out rows. It returns nil without
// rows.
func measuredTrust(measured triplets.Set, places []int, k int, sp *report.Split,
	trained []triplets.Answers,
) *score.OutcomeTrust {
	if len(places) == 0 {
		return nil
	}

	if sp.Honest != nil && sp.Honest.Record != nil {
		record := sp.Honest.Record
		none := unknown(len(places) * measured.Out)
		intervals := &score.Intervals{
			Level: sp.Honest.Calibration.Level, Half: pickRows(record.Half, measured.Out, places),
			At: [4][]float64{pickRows(record.Half68, measured.Out, places), none, none, none},
		}
		mu := pickRows(record.Mu, measured.Out, places)
		trust := score.TrustByOutcome(measured, mu, none, nil, intervals)[k]

		return &trust
	}

	var seeds [][]score.OutcomeTrust
	for _, answers := range trained {
		seeds = append(seeds, networkTrust(measured, answers)[k:k+1])
	}

	return &score.MeanByOutcome(seeds)[0]
}

// residual returns the root mean squared residual of the two values of outcome k of the rows in the test part of a set,
// whose predicted means are mu (rows × outcomes). It is NaN without rows.
func residual(set triplets.Set, mu []float64, k int) float64 {
	sum := 0.0
	rows := set.RowsOf(triplets.Test)
	for place, i := range rows {
		first := set.Y1[i*set.Out+k] - mu[place*set.Out+k]
		second := set.Y2[i*set.Out+k] - mu[place*set.Out+k]
		sum += first*first + second*second
	}

	return math.Sqrt(sum / float64(2*len(rows)))
}

// pickRows returns the given rows of a row-major matrix with the given number of columns.
func pickRows(values []float64, columns int, rows []int) []float64 {
	picked := make([]float64, 0, len(rows)*columns)
	for _, row := range rows {
		picked = append(picked, values[row*columns:(row+1)*columns]...)
	}

	return picked
}

// plainErrors returns the error of a plain method on the test part of a set, by outcome: the root of the squared error
// that the pairs measure. The errors are NaN if the method cannot be fitted.
func plainErrors(ctx context.Context, method baseline.Method, set triplets.Set) ([]float64, error) {
	rmse := unknown(set.Out) // by outcome
	train := set.Only(triplets.Train)
	test := set.Only(triplets.Test)
	if test.N == 0 {
		return rmse, nil
	}

	fitted, err := method.Fit(ctx, train, 0)
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, fmt.Errorf("fit plain method: %w", ctxErr)
	}

	if err != nil {
		return rmse, nil // too little was measured to fit the method, so there is nothing to compare with
	}

	prediction, err := fitted.Predict(ctx, test.X)
	if err != nil {
		return nil, fmt.Errorf("predict by plain method: %w", err)
	}

	none := unknown(len(prediction.Mu))
	for k, trust := range score.TrustByOutcome(set, prediction.Mu, none, nil, score.Claimed(none, 0.95)) {
		rmse[k] = trust.RMSE
	}

	return rmse, nil
}

// shareReached returns the share of the held-out values inside the calibrated intervals of each nominal level, by
// outcome. containedAt has the level of the narrowest interval that contains y1, and then the same of y2, for each row
// and outcome.
func shareReached(set triplets.Set, containedAt []float64) []report.Coverage {
	outcomes := set.Out
	rows := len(containedAt) / (2 * outcomes)
	if rows == 0 {
		return nil
	}

	var list []report.Coverage
	for k := range outcomes {
		shares := make([]float64, len(nominal))
		for row := range rows {
			pair := 2 * (row*outcomes + k)
			for _, level := range containedAt[pair : pair+2] {
				addShare(shares, level, 1/float64(2*rows))
			}
		}

		list = append(list, report.Coverage{Nominal: nominal, Observed: [][]float64{shares}})
	}

	return list
}

// addShare adds the share of a value to the shares of all nominal levels whose intervals contain the value: those from
// the level of the narrowest such interval on.
func addShare(shares []float64, narrowest, share float64) {
	for i, level := range nominal {
		if narrowest <= level {
			shares[i] += share
		}
	}
}

// mostEpochs is the largest number of epochs that a learning curve shows.
const mostEpochs = 200

// lossesOf returns the losses of a training from the table of its history. If there are many epochs, it takes an even
// selection of them, the last one, and all at which the held-out loss was judged.
func lossesOf(history *table.Table) (report.Losses, error) {
	var losses report.Losses
	epochs := history.Column("epoch")
	train := history.Column("loss")
	if epochs == nil || train == nil {
		return losses, errors.New("read losses: expected columns epoch and loss")
	}

	heldOut := history.Column(results.HeldOutLoss)
	every := (history.Rows() + mostEpochs - 1) / mostEpochs
	for i := range history.Rows() {
		isShown := i%every == 0 || i == history.Rows()-1
		isJudged := heldOut != nil && !math.IsNaN(heldOut.Floats[i])
		if !isShown && !isJudged {
			continue
		}

		losses.Epoch = append(losses.Epoch, float64(epochs.Ints[i]))
		losses.Train = append(losses.Train, train.Floats[i])
		if heldOut != nil {
			losses.HeldOut = append(losses.HeldOut, heldOut.Floats[i])
		}
	}

	return losses, nil
}

// addBounds adds which of the shown values are upper bounds.
func (d *Data) addBounds(b bounds) {
	if b.first == nil {
		return
	}

	outcomes := d.set.Out
	d.page.MeanBound = make([]bool, len(d.placeOf)*outcomes)
	for i, c := range d.condition {
		place, kept := d.placeOf[c]
		if !kept {
			continue
		}

		for k := range outcomes {
			if b.number(i*outcomes+k) > 0 {
				d.page.MeanBound[place*outcomes+k] = true
			}
		}
	}

	for _, i := range d.shownRows {
		d.page.Bound1 = append(d.page.Bound1, b.first[i*outcomes:(i+1)*outcomes]...)
		d.page.Bound2 = append(d.page.Bound2, b.second[i*outcomes:(i+1)*outcomes]...)
	}
}

// groupByHeldOut sets the groups of a set by the values of the condition from which its calibration learned, so that
// least squares chooses its terms by whole groups. It leaves a set without such an input as it is.
func groupByHeldOut(set *triplets.Set, sp *report.Split) {
	if sp.Honest == nil || sp.Honest.Calibration == nil {
		return
	}

	k := slices.Index(set.InputNames(), sp.Honest.Calibration.Condition)
	if k < 0 {
		return
	}

	inputs := set.X
	if set.SetPoints != nil {
		inputs = set.SetPoints
	}

	groups := map[float64]int{} // number of a group, by the value of its condition
	set.Group = make([]int, set.N)
	for i := range set.N {
		value := inputs[i*set.In+k]
		if _, exists := groups[value]; !exists {
			groups[value] = len(groups)
		}

		set.Group[i] = groups[value]
	}
}
