package reportstage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/simulate"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/triplets"
)

// curves evaluates the split's models along inputs and over pairs of them.
func (d *detail) curves(ctx context.Context, sp *report.SplitDetail, models []*train.Model) error {
	in := d.set.In
	values := make([][]float64, in) // distinct values of each input, ascending

	held := make([][]float64, in) // those of the test part
	for k := range in {
		for c := range len(d.d.X) / in {
			v := d.d.X[c*in+k]
			values[k] = append(values[k], v)
			if sp.Test[c] {
				held[k] = append(held[k], v)
			}
		}

		slices.Sort(values[k])
		slices.Sort(held[k])
		values[k], held[k] = slices.Compact(values[k]), slices.Compact(held[k])
	}

	// The held-out rule's own conditions, at the middle of the test part.
	at := make([]float64, in)
	for k, v := range values {
		at[k] = v[len(v)/2]
		if len(held[k]) > 0 {
			at[k] = nearest(held[k], at[k])
		}
	}

	order := make([]int, in) // inputs by number of values, most first
	for k := range order {
		order[k] = k
	}

	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(values[b]), len(values[a])) })

	angle := func(q triplets.Quantity) bool { return q.Name == "theta_deg" || q.Name == "phi_deg" }
	if !slices.ContainsFunc(d.set.Inputs, angle) && len(values[order[0]]) > 2 {
		if err := d.profiles(ctx, sp, models, order[0], at, values, held); err != nil {
			return err
		}
	}

	if in < 2 || len(values[order[1]]) < 2 {
		return nil
	}

	first := report.Map{XInput: order[0], YInput: order[1], At: at}

	outcomes := []int{0}
	if in == 2 && d.set.Out > 1 {
		outcomes = []int{0, 1}
	}

	if err := d.maps(ctx, sp, models, first, values, outcomes); err != nil {
		return err
	}

	if in > 2 && len(values[order[2]]) > 1 {
		return d.maps(ctx, sp, models, report.Map{XInput: order[0], YInput: order[2], At: at}, values, []int{0})
	}

	return nil
}

// maps adds the covariance of some outcomes over the two inputs of m, the mean
// over the models.
func (d *detail) maps(
	ctx context.Context, sp *report.SplitDetail, models []*train.Model, m report.Map, values [][]float64, outcomes []int,
) error {
	m.X, m.Y = span(values[m.XInput], 24, 0.1), span(values[m.YInput], 16, 0.1)

	var x []float64
	for _, v := range m.Y {
		for _, u := range m.X {
			row := slices.Clone(m.At)
			row[m.XInput], row[m.YInput] = u, v
			x = append(x, row...)
		}
	}

	sum := make([]float64, len(m.X)*len(m.Y)*d.set.Out)
	for _, model := range models {
		a, err := answers(ctx, model, x)
		if err != nil {
			return err
		}

		for k, v := range a.Cov {
			sum[k] += v / float64(len(models))
		}
	}

	for _, o := range outcomes {
		one := m
		one.Outcome, one.Cov = o, make([]float64, len(m.X)*len(m.Y))
		for k := range one.Cov {
			one.Cov[k] = sum[k*d.set.Out+o]
		}

		sp.Maps = append(sp.Maps, one)
	}

	return nil
}

// profiles evaluates along input k, the others where something was held out and
// where nothing was.
func (d *detail) profiles(
	ctx context.Context, sp *report.SplitDetail, models []*train.Model, k int, at []float64, values, held [][]float64,
) error {
	in := d.set.In

	places := [][]float64{at}
	if other := trainedPlace(k, at, values, held); in > 1 && !slices.Equal(other, at) {
		places = append(places, other)
	}

	grid := span(values[k], 121, 0.15)
	for _, place := range places {
		p := report.Profile{Input: k, At: place, Grid: grid}

		var x []float64
		for _, v := range grid {
			row := slices.Clone(place)
			row[k] = v
			x = append(x, row...)
		}

		d.law(&p)

		for _, m := range models {
			a, err := answers(ctx, m, x)
			if err != nil {
				return err
			}

			p.Mu, p.Var, p.Cov = append(p.Mu, a.Mu), append(p.Var, a.Var), append(p.Cov, a.Cov)
		}

		p.Trained, p.HeldOut = d.stretches(sp, k, place)
		sp.Profiles = append(sp.Profiles, p)
	}

	return nil
}

// trainedPlace is at with every input but k moved to the nearest value that is
// not held out.
func trainedPlace(k int, at []float64, values, held [][]float64) []float64 {
	other := slices.Clone(at)
	for j := range other {
		if j == k {
			continue
		}

		var free []float64
		for _, v := range values[j] {
			if !slices.Contains(held[j], v) {
				free = append(free, v)
			}
		}

		if len(free) > 0 {
			other[j] = nearest(free, values[j][len(values[j])/2])
		}
	}

	return other
}

// stretches returns the ranges of input k, the others as in place, over which
// neighbouring values were trained on; all is true where every value measured
// there is held out.
func (d *detail) stretches(sp *report.SplitDetail, k int, place []float64) (trained [][2]float64, all bool) {
	type point struct {
		v    float64
		test bool
	}

	in := d.set.In

	var here []point
	for c := range len(d.d.X) / in {
		row := d.d.X[c*in : (c+1)*in]

		same := true
		for j := range row {
			same = same && (j == k || row[j] == place[j])
		}

		if same {
			here = append(here, point{row[k], sp.Test[c]})
		}
	}

	slices.SortFunc(here, func(a, b point) int { return cmp.Compare(a.v, b.v) })

	for i := 0; i < len(here); i++ {
		if here[i].test {
			continue
		}

		from := here[i].v

		for i+1 < len(here) && !here[i+1].test {
			i++
		}

		trained = append(trained, [2]float64{from, here[i].v})
	}

	return trained, len(here) > 0 && trained == nil
}

// law adds the deviation that the toy's data were made with, which is known in closed form.
func (d *detail) law(p *report.Profile) {
	if d.toy == nil || d.set.Out != 1 {
		return
	}

	for _, x := range p.Grid {
		p.TrueSigma = append(p.TrueSigma, simulate.ToySigma(x, d.toy.Gamma))
	}
}

// answers are a model's at conditions x, in the outcomes' units.
func answers(ctx context.Context, m *train.Model, x []float64) (a triplets.Answers, err error) {
	est, err := m.Estimate(ctx, x, train.EstimateOptions{Samples: 2})
	if err != nil {
		return a, fmt.Errorf("evaluate model: %w", err)
	}

	scale := m.OutcomeScale()
	for i := range est.Mu {
		// In two steps: the numbers of published figures have that rounding.
		s := scale.Std[i%est.Out]
		a.Var, a.Cov = append(a.Var, est.Var[i]*s*s), append(a.Cov, est.Cov[i]*s*s)
	}

	a.Mu = scale.Own(est.Mu)

	return a, nil
}

func nearest(list []float64, v float64) float64 {
	best := list[0]
	for _, x := range list {
		if math.Abs(x-v) < math.Abs(best-v) {
			best = x
		}
	}

	return best
}

// span is a grid over the range of v and a fraction of it beyond on each side;
// few whole numbers, such as blade counts, stay themselves.
func span(v []float64, n int, beyond float64) []float64 {
	lo, hi := v[0], v[len(v)-1]

	whole := len(v) <= 8
	for _, x := range v {
		whole = whole && x == math.Trunc(x)
	}

	if whole && hi-lo <= 12 {
		var out []float64
		for x := lo; x <= hi; x++ {
			out = append(out, x)
		}

		return out
	}

	w := hi - lo
	lo, hi = lo-beyond*w, hi+beyond*w
	if v[0] >= 0 {
		lo = math.Max(lo, 0) // speeds and counts do not turn negative
	}

	out := make([]float64, n)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(n-1)
	}

	return out
}
