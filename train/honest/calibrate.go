package honest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Options are the settings of Calibrate.
type Options struct {
	Base  string      // name of the base method, recorded
	Level float64     // of the intervals, 0 is 0.95
	Hold  string      // see Settings.Hold
	Prior scale.Prior // of the scale of new groups

	// Rises, unless nil, scale the errors of a group too.
	Rises *Rises

	// SawGroups records that something of the base, such as hyperparameters, was
	// learned with the left-out groups. The conformal maximum then
	// promises nothing.
	SawGroups bool
	// OfThings records that the claims have the offsets of the groups, which are things.
	OfThings bool
	// InputNames name the inputs; nil numbers them from 0.
	InputNames []string
	// FromGroup marks the inputs that are functions of the groups' coordinate. They
	// are expected to leave the training range. nil: none.
	FromGroup []bool
}

// Calibrate learns the scale of the errors on new groups from the left-out training
// groups of a split; with fewer than two of them it is the prior's. d and g describe all
// rows, train are the rows of the split that may be learned from; no outcome of another
// row is read.
//
// Errors: an outcome that is constant in the training rows, a prediction that is not
// finite, a level or a prior outside its limits.
func Calibrate(d triplets.Set, g Grouping, train []int, left []LeftOut, o Options) (*interval.Calibration, error) {
	d = checked(d)

	o.Level = cmp.Or(o.Level, 0.95)
	if !(o.Level > 0 && o.Level < 1) {
		return nil, fmt.Errorf("calibrate on left-out groups: expected a level between 0 and 1, found %g", o.Level)
	}

	if err := o.Prior.Check(); err != nil {
		return nil, fmt.Errorf("calibrate on left-out groups: %w", err)
	}

	mean, std := spread(d, train, nil)
	c := &interval.Calibration{
		Format: interval.Format, Version: interval.Version, Base: o.Base, Asked: o.Level, Level: o.Level, K: len(left),
		Condition: g.Condition, Kind: g.Kind, Axis: g.Axis(train), Mean: mean, Deviation: std, OfThings: o.OfThings,
	}

	for j, s := range std {
		if !(s > 0) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("calibrate on left-out groups: outcome column %d: "+
				"expected a positive deviation of the training values, found %g", j, s)
		}
	}

	if c.K == scale.MinGroups && !c.OfThings || o.Hold == "groups" {
		c.Level = max(c.Level, interval.FewGroupsLevel)
	}

	var groups []scale.Group
	for _, l := range left {
		l.check(d.Out)

		q := l.group(std)
		for _, v := range slices.Concat(q.Residual, q.Noise, q.Claim) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("calibrate on left-out groups: a prediction for %s %s is not finite", g.Condition, l.Name)
			}
		}

		groups = append(groups, q)
	}

	var without []*scale.Scale
	if o.Rises == nil {
		c.Scale, without = scale.Learn(groups, d.Out, o.Prior, pairNoise(left))
	} else {
		c.Scale, without = scale.LearnRising(groups, d.Out, o.Prior, pairNoise(left), o.Rises.about(left))
	}

	var stated, pairs float64
	for h, l := range left {
		c.Groups = append(c.Groups, groupResult(l, std, without[h], c.Level))
		if o.Rises != nil {
			c.Groups[h].Rise = o.Rises.ratio(l.Name)
		}
		stated, pairs = stated+c.Groups[h].Noise, pairs+c.Groups[h].Pairs
	}

	if pairs > 0 {
		c.NoiseRatio = stated / pairs
	}

	c.Conformal = conformal(left, d.Out)
	if o.SawGroups {
		c.Conformal.Guarantee = 0
	}

	for j := range d.In {
		x := lists.Column(lists.Rows(d.X, d.In, train), d.In, j)
		r := interval.InputRange{Name: fmt.Sprint(j), Min: slices.Min(x), Max: slices.Max(x)}
		r.FromGroup = o.FromGroup != nil && o.FromGroup[j]
		if o.InputNames != nil {
			r.Name = o.InputNames[j]
		}

		c.Inputs = append(c.Inputs, r)
	}

	return c, nil
}

// groupResult summarises a left-out group in standardised units, with the intervals that
// the other groups make.
func groupResult(l LeftOut, std []float64, others *scale.Scale, level float64) interval.GroupResult {
	out := len(std)
	r := interval.GroupResult{Name: l.Name, Rows: l.N, Conditions: len(l.conditions()), EBy: make([]float64, out)}
	pairs := triplets.Set{N: l.N, Alone: l.Alone}.Pairs()
	if len(pairs) == 0 { // e then holds the noise
		l.Alone, pairs = nil, lists.Numbers(l.N)
	}

	e := make([]float64, l.N)
	predictor := others.Predictor()

	halves := map[[3]float64][3]float64{} // half widths, that of 68 %, and epistemic variance

	var m scale.Mixture
	n, within, within68 := float64(l.N*out), 0, 0
	for k, mu := range l.Mu {
		i, j := k/out, k%out
		s2 := std[j] * std[j]
		v := (l.Y1[k] - mu) * (l.Y2[k] - mu) / s2
		e[i] += v / float64(out)
		r.Claim += l.Claim[k] / s2 / n
		r.Noise += l.Noise[k] / s2 / n
		if !l.alone(i) {
			r.EBy[j] += v / float64(len(pairs))
			r.Pairs += (l.Y1[k] - l.Y2[k]) * (l.Y1[k] - l.Y2[k]) / 2 / s2 / float64(len(pairs)*out)
		}

		at := [3]float64{l.Claim[k] / s2, l.Distance[i], l.Noise[k] / s2} // the same for all rows of a condition
		if _, known := halves[at]; !known {
			predictor.At(&m, at[0], at[1], at[2])
			halves[at] = [3]float64{m.Half(level), m.Half(0.68), m.Epistemic()}
		}

		half := halves[at]
		r.Half += half[0] / n
		r.Variance += half[2] / n
		for _, y := range [2]float64{l.Y1[k], l.Y2[k]} {
			winkler, _ := interval.Winkler(y, mu, half[0]*std[j], level)
			r.Score += winkler / std[j] / (2 * n)

			miss := math.Abs(y - mu)
			if miss <= half[0]*std[j] {
				within++
			}

			if miss <= half[1]*std[j] {
				within68++
			}
		}
	}

	r.Inside, r.Inside68 = float64(within)/(2*n), float64(within68)/(2*n)
	for i, d := range l.Distance {
		r.Distance += d
		r.Farthest = max(r.Farthest, d)

		if l.Outside[i] {
			r.Outside++
		}
	}

	r.Distance, r.Outside = r.Distance/float64(l.N), r.Outside/float64(l.N)

	var se float64
	if r.E, se = score.ClusteredMean(lists.Rows(e, 1, pairs), lists.Rows(l.Run, 1, pairs)); !math.IsNaN(se) {
		r.ESE = &se
	}

	_, runs := lists.Index(l.Run)
	r.Runs = len(runs)

	return r
}

// conformal returns the largest left-out residual per outcome.
func conformal(left []LeftOut, out int) interval.Conformal {
	c := interval.Conformal{Half: make([]float64, out), Guarantee: float64(len(left)) / float64(len(left)+1)}
	for _, l := range left {
		for k, mu := range l.Mu {
			c.Half[k%out] = max(c.Half[k%out], math.Abs(l.Y1[k]-mu), math.Abs(l.Y2[k]-mu))
		}
	}

	return c
}
