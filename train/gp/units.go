package gp

import (
	"context"
	"fmt"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// LeaveOutUnits predicts the training rows of each unit as Predict does, but without any measurement of the conditions
// of these rows. A unit is a list of training rows; units may overlap. Hyperparameters and scales stay as learned
// from all data. LeaveOutUnits returns an error for a model that was read from a file, or whose conditions were
// averaged.
func (m *Model) LeaveOutUnits(ctx context.Context, units [][]int) ([]triplets.Prediction, error) {
	a, err := m.Answer(ctx, Questions{Units: [][][]int{units}})
	if err != nil {
		return nil, err
	}

	return a.Units[0], nil
}

// leaveOutUnits is LeaveOutUnits for several lists of units, by the processes that m keeps.
func (m *Model) leaveOutUnits(ctx context.Context, sets [][][]int) ([][]triplets.Prediction, error) {
	predictions := make([][]triplets.Prediction, len(sets))
	conditions := make([][][]int, len(sets)) // of each unit, ascending
	for s, units := range sets {
		for _, rows := range units {
			own := slices.Compact(slices.Sorted(slices.Values(lists.Pick(m.condition, rows))))
			conditions[s] = append(conditions[s], own)
			predictions[s] = append(predictions[s], triplets.NewPrediction(len(rows)*m.Outcomes))
		}
	}

	err := m.leaveOutEach(ctx, conditions, func(j int, l leftList, difference, variance []float64) {
		own := conditions[l.set][l.number]
		m.unscaleUnit(j, sets[l.set][l.number], own, difference, variance, predictions[l.set][l.number])
	})
	if err != nil {
		return nil, fmt.Errorf("leave out units of additive gp: %w", err)
	}

	return predictions, nil
}

// unscaleUnit writes the predictions of outcome j at some training rows into p. difference is y − μ at the conditions
// (ascending) of these rows, variance the variance of y.
func (m *Model) unscaleUnit(j int, rows, conditions []int, difference, variance []float64, p triplets.Prediction) {
	columns := len(m.Columns)
	for a, i := range rows {
		condition := m.condition[i]
		place, _ := slices.BinarySearch(conditions, condition)
		k := condition*m.Outcomes + j
		mean := m.Y[k] - difference[place]
		latent := max(variance[place]-m.Spread[k], MinVariance) // without the noise of the measured mean
		m.unscale(p, a*m.Outcomes+j, j, mean, latent, m.X[condition*columns:(condition+1)*columns])
	}
}

// LeaveOutUnits returns what Model.LeaveOutUnits returns, for units that are lists of training conditions instead of
// rows.
func (m *Mapped) LeaveOutUnits(ctx context.Context, units [][]int) ([]triplets.Prediction, error) {
	a, err := m.Answer(ctx, Questions{Units: [][][]int{units}})
	if err != nil {
		return nil, err
	}

	return a.Units[0], nil
}
