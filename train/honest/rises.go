package honest

import (
	"context"
	"fmt"
	"math"

	"doubletake/ingest/fault"
	"doubletake/train"
	"doubletake/train/triplets"
)

// Rises are ln of E|cov| in a group over that in the training rows, of pair networks that were trained without the
// group and the test part. No outcome of either is read.
type Rises struct {
	Left map[string]float64 // by the names of the left-out groups
	New  float64            // of the test part; NaN where nothing is held out
}

// maxRise bounds a rise about the mean of the left-out groups.
const maxRise = 2

// about are the rises of left-out groups and, last, of the new one, about the mean of the former; 0 where there is
// none.
func (r *Rises) about(left []LeftOut) []float64 {
	mean, n, z := 0.0, 0.0, make([]float64, len(left))
	for h, l := range left {
		var known bool
		if z[h], known = r.Left[l.Name]; !known {
			z[h] = math.NaN()
		} else if !math.IsNaN(z[h]) {
			mean, n = mean+z[h], n+1
		}
	}

	z = append(z, r.New)
	for h, v := range z {
		if z[h] = min(max(v-mean/n, -maxRise), maxRise); math.IsNaN(z[h]) {
			z[h] = 0
		}
	}

	return z
}

// ratio is E|cov| in a left-out group over that in the training rows; nil where there is none.
func (r *Rises) ratio(name string) *float64 {
	if v, ok := r.Left[name]; ok && !math.IsNaN(v) {
		v = math.Exp(v)
		return &v
	}

	return nil
}

// RisesOf computes the rises of the groups of a split with pair networks trained on all rows but the test part, and
// without one group each.
func RisesOf(ctx context.Context, s triplets.Set, g Grouping, full *Model, without func(group int) (*Model, error)) (
	_ *Rises, err error,
) {
	defer fault.Catch(&err)
	rows, held := g.LeaveOneOut(otherThan(s, triplets.Train))
	r := &Rises{Left: map[string]float64{}, New: math.NaN()}

	for _, h := range held {
		m, name := fault.Get(without(h.Group)), g.Names[h.Group]
		err := fault.Try(func() { r.Left[name] = m.Ensemble.rise(ctx, s.Select(h.Rest), s.Select(h.Rows)) })
		if err != nil {
			return nil, fmt.Errorf("estimate E|cov| without group %s: %w", name, err)
		}
	}

	if test := s.Of(triplets.Test); test.N > 0 {
		r.New = full.Ensemble.rise(ctx, s.Select(rows), test)
	}

	return r, nil
}

// rise is ln of E|cov| over the conditions of rows over that of the training.
func (e *EnsembleModel) rise(ctx context.Context, trained, rows triplets.Set) float64 {
	before := e.absCov(ctx, trained)
	return math.Log(e.absCov(ctx, rows) / before)
}

// absCov is E|cov| over the distinct conditions of rows, mean over the pair networks.
func (e *EnsembleModel) absCov(ctx context.Context, rows triplets.Set) (mean float64) {
	var x []float64
	for _, c := range rows.Present() {
		x = append(x, rows.At(c)...)
	}

	z := e.standardise(x)
	for k, m := range e.Members {
		pair, ok := m.Network.(PairNetwork)
		if !ok {
			fault.Raise(fmt.Errorf("expected networks that are given their own prediction, found %T", m.Network))
		}

		est := fault.Get(pair.Pair.Estimate(ctx, z, train.EstimateOptions{Seed: e.Seed + uint64(k)}))
		for i := range est.N {
			mean += est.AbsCov(i) / float64(est.N*len(e.Members))
		}
	}

	return mean
}
