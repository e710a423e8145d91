package honest

import (
	"context"
	"fmt"
	"math"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Rises are the rises of groups. A rise is ln of E|cov| in a group over E|cov| in the training rows. E|cov| is the mean
// absolute covariance of the two answers of pair networks (PairNetwork), which were trained without the group and
// without the test part. No outcome of either is read.
type Rises struct {
	Left map[string]float64 // by the name of the left-out group; absent or NaN if unknown
	New  float64            // of the test part; NaN if nothing is held out
}

// maxRise bounds the difference of a rise from the mean rise of the left-out groups: a factor of e² on E|cov|.
const maxRise = 2

// relative returns the rises of the left-out groups, and then the rise of the new group, less the mean of the known
// rises of the left-out groups. It bounds each difference by maxRise. An unknown rise becomes 0, as does each rise if
// none of the left-out groups is known.
func (r *Rises) relative(left []LeftOut) []float64 {
	var rises []float64 // NaN if unknown
	sum := 0.0
	n := 0.0
	for _, l := range left {
		v, known := r.Left[l.Name]
		if !known {
			v = math.NaN()
		}

		if !math.IsNaN(v) {
			sum += v
			n++
		}

		rises = append(rises, v)
	}

	rises = append(rises, r.New)
	for h, v := range rises {
		rises[h] = min(max(v-sum/n, -maxRise), maxRise)
		if math.IsNaN(rises[h]) {
			rises[h] = 0
		}
	}

	return rises
}

// ratio returns E|cov| in a left-out group over E|cov| in the training rows, or nil if it is not known.
func (r *Rises) ratio(name string) *float64 {
	rise, known := r.Left[name]
	if !known || math.IsNaN(rise) {
		return nil
	}

	ratio := math.Exp(rise)

	return &ratio
}

// ComputeRises computes the rises of the groups of a split. full are pair networks trained on all rows except the test
// part. retrained returns the networks that were trained without the given group as well.
func ComputeRises(ctx context.Context, s triplets.Set, g Grouping, full *Model,
	retrained func(group int) (*Model, error),
) (*Rises, error) {
	rows, held := g.LeaveOneOut(outsideTraining(s))
	r := &Rises{Left: map[string]float64{}, New: math.NaN()}

	for _, h := range held {
		m, err := retrained(h.Group)
		if err != nil {
			return nil, err
		}

		name := g.Names[h.Group]
		r.Left[name], err = m.Ensemble.rise(ctx, s.Select(h.Rest), s.Select(h.Rows))
		if err != nil {
			return nil, fmt.Errorf("estimate E|cov| without group %s: %w", name, err)
		}
	}

	test := s.Only(triplets.Test)
	if test.N == 0 {
		return r, nil
	}

	var err error
	r.New, err = full.Ensemble.rise(ctx, s.Select(rows), test)
	if err != nil {
		return nil, err
	}

	return r, nil
}

// rise returns ln of E|cov| at the conditions of rows over E|cov| at the conditions of trained.
func (e *EnsembleModel) rise(ctx context.Context, trained, rows triplets.Set) (float64, error) {
	inTraining, err := e.absCov(ctx, trained)
	if err != nil {
		return 0, err
	}

	inRows, err := e.absCov(ctx, rows)
	if err != nil {
		return 0, err
	}

	return math.Log(inRows / inTraining), nil
}

// absCov returns E|cov|, the mean over the distinct conditions of rows and over the pair networks.
func (e *EnsembleModel) absCov(ctx context.Context, rows triplets.Set) (float64, error) {
	var x []float64
	for _, c := range rows.Present() {
		x = append(x, rows.At(c)...)
	}

	z := e.standardise(x)
	mean := 0.0
	for k, m := range e.Members {
		pair, ok := m.Network.(PairNetwork)
		if !ok {
			return 0, fmt.Errorf("expected networks that are given their own prediction, found %T", m.Network)
		}

		est, err := pair.Pair.Estimate(ctx, z, train.EstimateOptions{Seed: e.Seed + uint64(k)})
		if err != nil {
			return 0, err
		}

		for i := range est.N {
			mean += est.AbsCov(i) / float64(est.N*len(e.Members))
		}
	}

	return mean, nil
}
