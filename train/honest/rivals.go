package honest

import (
	"cmp"
	"context"
	"math"
	"slices"

	"doubletake/train/baseline"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// This file judges rivals: simple methods that might predict new groups as well as the model and its calibrated
// intervals. Each rival predicts every left-out group from the other groups, and is compared with the model group by
// group.

// maxRivalConditions is the largest number of conditions for which rivals are judged.
const maxRivalConditions = 4000

// rivals judges simple methods on the left-out groups from which c was learned: least squares and the nearest group,
// each fitted to the other groups, and intervals about the model's mean by its errors on the other groups. If c uses
// the rises of E|cov|, it also judges the intervals without them. Methods that cannot be fitted are left out.
//
// rivals returns nil if fewer than two groups are left out, or if there are more than maxRivalConditions conditions.
// It also returns nil if the model was judged on only some rows of a group, because a rival would be judged on all
// its rows.
func rivals(ctx context.Context, t trainingGroups, left []LeftOut, c *interval.Calibration) ([]interval.Rival, error) {
	conditions := 0
	for _, l := range left {
		conditions += len(l.conditions())
		if rows, _ := t.apart(l.Name); len(rows) != l.N {
			return nil, nil
		}
	}

	if c.K < scale.MinGroups || conditions > maxRivalConditions {
		return nil, nil
	}

	linear, err := fittedRival(ctx, "linear", baseline.Linear{}, t, left, c)
	if err != nil {
		return nil, err
	}

	nearest, err := fittedRival(ctx, "nearest-group", baseline.NearestGroup{}, t, left, c)
	if err != nil {
		return nil, err
	}

	list := slices.Concat(linear, nearest)
	list = append(list, conformalRival("conformal", ownUnits, left, c))
	list = append(list, conformalRival("conformal-relative", statedDeviations, left, c))
	if c.Scale.Gamma != 0 {
		list = append(list, groupsAlone(left, c))
	}

	return slices.DeleteFunc(list, undefined), nil
}

// undefined reports whether a number of a rival is not finite, such as its ratio to a model without errors.
func undefined(r interval.Rival) bool {
	v := r.Score + r.Error.Ratio + r.Width.Ratio + r.Error.SE + r.Width.SE
	return math.IsNaN(v) || math.IsInf(v, 0)
}

// fittedRival judges a method that is fitted anew without each left-out group, with normal intervals by the variance
// that the method states. It returns a list of one rival, or nil if the method cannot be fitted without some group.
func fittedRival(ctx context.Context, name string, method baseline.Method, t trainingGroups, left []LeftOut,
	c *interval.Calibration,
) ([]interval.Rival, error) {
	s := t.set
	s.Group = t.grouping.Group
	z := scale.NormalQuantile(c.Level)
	var means, halves [][]float64 // by group: rows × outcomes
	for _, l := range left {
		rows, rest := t.apart(l.Name)
		fitted, err := method.Fit(ctx, s.Select(rest), 0)
		if ctxErr := ctx.Err(); ctxErr != nil {
			return nil, ctxErr
		}

		if err != nil {
			return nil, nil // the method cannot be fitted to these groups
		}

		p, err := fitted.Predict(ctx, s.Select(rows).X)
		if err != nil {
			return nil, err
		}

		half := make([]float64, len(p.Total))
		for k, v := range p.Total {
			half[k] = z * math.Sqrt(v)
		}

		means = append(means, p.Mu)
		halves = append(halves, half)
	}

	return []interval.Rival{rival(name, left, c, means, halves)}, nil
}

// apart returns the training rows of the named group, and the other training rows.
func (t trainingGroups) apart(name string) (own, rest []int) {
	for _, i := range t.train {
		if t.grouping.Names[t.grouping.Group[i]] == name {
			own = append(own, i)
		} else {
			rest = append(rest, i)
		}
	}

	return own, rest
}

// errorUnit is the unit in which conformalRival compares the errors of a model.
type errorUnit int

const (
	ownUnits         errorUnit = iota // the unit of the outcome
	statedDeviations                  // the deviation of one measurement that the model states there
)

// conformalRival judges intervals about the model's mean whose half width is a quantile of its errors on the other
// groups, in the given unit, see GroupQuantile. It does not set the numbers that describe the errors of a rival's mean,
// because the mean is the model's.
func conformalRival(name string, unit errorUnit, left []LeftOut, c *interval.Calibration) interval.Rival {
	outcomes := len(c.Deviation)
	units := make([][]float64, len(left))   // by group: unit of each error, rows × outcomes
	sizes := make([][][]float64, len(left)) // by group and outcome: sizes of the errors in these units
	for h, l := range left {
		units[h] = slices.Repeat([]float64{1}, len(l.Mu))
		if unit == statedDeviations {
			for k := range l.Mu {
				units[h][k] = math.Sqrt(l.Claim[k] + l.Noise[k])
			}
		}

		sizes[h] = errorSizes(l, units[h], outcomes)
	}

	var means, halves [][]float64
	for h, l := range left {
		quantile := make([]float64, outcomes)
		for j := range quantile {
			var others [][]float64
			for other, size := range sizes {
				if other != h {
					others = append(others, size[j])
				}
			}

			quantile[j] = GroupQuantile(others, c.Level)
		}

		half := make([]float64, len(l.Mu))
		for k := range half {
			half[k] = quantile[k%outcomes] * units[h][k]
		}

		means = append(means, l.Mu)
		halves = append(halves, half)
	}

	r := rival(name, left, c, means, halves)
	r.EBy = nil
	r.Error = interval.Comparison{}

	return r
}

// errorSizes returns the sizes of the errors of each outcome of a left-out group, in units of unit (rows × outcomes).
func errorSizes(l LeftOut, unit []float64, outcomes int) [][]float64 {
	sizes := make([][]float64, outcomes)
	for k, mu := range l.Mu {
		j := k % outcomes
		sizes[j] = append(sizes[j], math.Abs(l.Y1[k]-mu)/unit[k], math.Abs(l.Y2[k]-mu)/unit[k])
	}

	return sizes
}

// groupsAlone judges the intervals that the scale of the left-out groups gives without the rises of E|cov|.
func groupsAlone(left []LeftOut, c *interval.Calibration) interval.Rival {
	var groups []scale.Group
	for _, l := range left {
		groups = append(groups, l.group(c.Deviation))
	}

	_, others := scale.Learn(groups, len(c.Deviation), c.Scale.Prior, c.Scale.Noise)
	r := interval.Rival{Method: "plain"}

	var plain, calibrated []float64
	for h, l := range left {
		plain = append(plain, groupResult(l, c.Deviation, others[h], c.Level).Score)
		calibrated = append(calibrated, c.Groups[h].Score)
		r.Score += plain[h] / float64(len(left))
	}

	r.Width = compared(plain, calibrated)

	return r
}

// rival compares predicted means and half widths of intervals at the left-out groups with the means and half widths of
// the model. means and halves are rows × outcomes for each group.
func rival(name string, left []LeftOut, c *interval.Calibration, means, halves [][]float64) interval.Rival {
	outcomes := len(c.Deviation)
	groups := float64(len(left))
	r := interval.Rival{Method: name, EBy: make([]float64, outcomes)}
	var rms, modelRMS, scores, calibrated []float64
	for h, l := range left {
		var squares, modelSquares, score float64
		n := float64(2 * len(l.Mu))
		for k, m := range means[h] {
			j := k % outcomes
			s := c.Deviation[j]
			r.EBy[j] += (l.Y1[k] - m) * (l.Y2[k] - m) / (s * s) / float64(l.N) / groups
			for _, y := range [2]float64{l.Y1[k], l.Y2[k]} {
				miss := (y - m) / s
				modelMiss := (y - l.Mu[k]) / s
				winkler, _ := interval.Winkler(y, m, halves[h][k], c.Level)
				squares += miss * miss / n
				modelSquares += modelMiss * modelMiss / n
				score += winkler / s / n
			}
		}

		r.Score += score / groups
		rms = append(rms, math.Sqrt(squares))
		modelRMS = append(modelRMS, math.Sqrt(modelSquares))
		scores = append(scores, score)
		calibrated = append(calibrated, c.Groups[h].Score)
	}

	r.Error = compared(rms, modelRMS)
	r.Width = compared(scores, calibrated)

	return r
}

// compared compares a number of a rival with the number of the model, group by group. It returns the ratio of the sums,
// the mean difference, and the standard error of this difference, which is NaN for a single group.
func compared(rival, model []float64) interval.Comparison {
	n := float64(len(rival))
	rivalSum := 0.0
	modelSum := 0.0
	more := 0.0
	for h, v := range rival {
		rivalSum += v
		modelSum += model[h]
		more += (v - model[h]) / n
	}

	variance := 0.0 // of more
	for h, v := range rival {
		d := v - model[h] - more
		variance += d * d / n / (n - 1)
	}

	return interval.Comparison{Ratio: rivalSum / modelSum, More: more, SE: math.Sqrt(variance)}
}

// weightedSize is the size of an error with its probability.
type weightedSize struct{ size, weight float64 }

// roundingSlack is how far rounding may take a sum of weights below the level that it reaches.
const roundingSlack = 1e-12

// GroupQuantile returns the size that a value of one more group exceeds with a probability of at most 1 − level, if
// that group is like the K given ones: each of the K + 1 groups has the same weight, and the sizes of the new group,
// which are unknown, count as infinite (Lee, Barber & Willett 2023). Above the level K/(K+1) no finite size has this
// property: then GroupQuantile returns the largest size. No group may be empty, and there must be at least one.
func GroupQuantile(groups [][]float64, level float64) float64 {
	var all []weightedSize
	n := float64(len(groups))
	for _, sizes := range groups {
		for _, s := range sizes {
			all = append(all, weightedSize{s, 1 / float64(len(sizes)) / (n + 1)})
		}
	}

	slices.SortFunc(all, func(a, b weightedSize) int { return cmp.Compare(a.size, b.size) })

	sum := 0.0
	for _, a := range all {
		sum += a.weight
		if sum >= level-roundingSlack {
			return a.size
		}
	}

	return all[len(all)-1].size
}
