package honest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// This file learns a Calibration from left-out groups. Calibrate learns the scale of the errors on new groups, and
// judges each left-out group by the scale that the other groups teach (groupResult).

// Options are the settings of Calibrate.
type Options struct {
	Base  string      // name of the base method, which the calibration records
	Level float64     // level of the intervals; 0 is 0.95
	Hold  string      // see Settings.Hold
	Prior scale.Prior // prior of the scale of new groups

	// Rises, unless nil, make the scale of a group depend on its rise of E|cov| as well.
	Rises *Rises

	// SawGroups records that something of the base, such as hyperparameters, was learned with the left-out groups. The
	// conformal maximum then has no guarantee.
	SawGroups bool
	// OfThings records that the groups are things, whose offsets the claims contain.
	OfThings bool
	// InputNames are the names of the inputs; nil: their numbers from 0 on.
	InputNames []string
	// FromGroup marks the inputs that are functions of the group. New groups are expected to lie outside the training
	// range of these inputs. nil: no input is.
	FromGroup []bool
	// Form is the form of the process if the groups are things. The ranges of inputs that it sets aside do not count, and
	// products have ranges of their own. nil: all inputs count.
	Form *form.Form
}

// Calibrate learns the scale of the errors on new groups from the left-out training groups of a split. With fewer than
// two groups the scale follows from the prior alone. d and g describe all rows. train are the rows that may be learned
// from: no outcome of another row is read.
//
// Calibrate returns an error if an outcome is constant in the training rows, if a prediction is not finite, or if the
// level or the prior is outside its limits.
func Calibrate(d triplets.Set, g Grouping, train []int, left []LeftOut, o Options) (*interval.Calibration, error) {
	d = checked(d)
	o.Level = cmp.Or(o.Level, defaultLevel)
	mean, std := spread(d, train, nil)
	groups, err := o.groups(left, std, g.Condition)
	if err != nil {
		return nil, fmt.Errorf("calibrate on left-out groups: %w", err)
	}

	c := &interval.Calibration{
		Format: interval.Format, Version: interval.Version, Base: o.Base, Asked: o.Level, Level: o.levelBy(len(left)),
		K: len(left), Condition: g.Condition, Kind: g.Kind, Axis: g.Axis(train), Mean: mean, Deviation: std,
		OfThings: o.OfThings, Conformal: conformal(left, d.Out),
	}
	if o.SawGroups {
		c.Conformal.Guarantee = 0
	}

	var others []*scale.Scale // by left-out group: the scale that the other groups teach
	if o.Rises == nil {
		c.Scale, others = scale.Learn(groups, d.Out, o.Prior, pairNoise(left))
	} else {
		c.Scale, others = scale.LearnRising(groups, d.Out, o.Prior, pairNoise(left), o.Rises.relative(left))
	}

	for h, l := range left {
		r := groupResult(l, std, others[h], c.Level)
		if o.Rises != nil {
			r.Rise = o.Rises.ratio(l.Name)
		}

		c.Groups = append(c.Groups, r)
	}

	c.NoiseRatio = noiseRatio(c.Groups)
	c.Inputs = inputRanges(d, train, o)
	c.Products = productRanges(d, train, c.Inputs, o.Form)

	return c, nil
}

// noiseRatio returns the noise that the model states for the left-out groups over the noise that their pairs measure,
// or 0 if the pairs measure none.
func noiseRatio(groups []interval.GroupResult) float64 {
	stated := 0.0
	measured := 0.0
	for _, r := range groups {
		stated += r.Noise
		measured += r.Pairs
	}

	if !(measured > 0) {
		return 0
	}

	return stated / measured
}

// defaultLevel is the default level of intervals.
const defaultLevel = 0.95

// groups checks the options and the deviations of the training outcomes, and returns the numbers of the left-out groups
// from which the scale is learned. condition is the condition of the groups, for errors.
func (o Options) groups(left []LeftOut, deviation []float64, condition string) ([]scale.Group, error) {
	if !(o.Level > 0 && o.Level < 1) {
		return nil, fmt.Errorf("expected a level between 0 and 1, found %g", o.Level)
	}

	if err := o.Prior.Check(); err != nil {
		return nil, err
	}

	for j, s := range deviation {
		if !(s > 0) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("outcome column %d: expected a positive deviation of the training values, found %g", j, s)
		}
	}

	var groups []scale.Group
	for _, l := range left {
		l.check(len(deviation))
		group := l.group(deviation)
		if !finite(group) {
			return nil, fmt.Errorf("a prediction for %s %s is not finite", condition, l.Name)
		}

		groups = append(groups, group)
	}

	return groups, nil
}

// levelBy returns the level of intervals that are learned from the given number of groups: the level that was asked
// for, but at least interval.FewGroupsLevel for two groups that are not things, and if nearly every group must be
// covered.
func (o Options) levelBy(groups int) float64 {
	areTwoSettings := groups == scale.MinGroups && !o.OfThings // values of a condition that can be set
	if areTwoSettings || o.Hold == "groups" {
		return max(o.Level, interval.FewGroupsLevel)
	}

	return o.Level
}

// finite reports whether all residuals, noises and claims of a group are finite.
func finite(g scale.Group) bool {
	for _, list := range [][]float64{g.Residual, g.Noise, g.Claim} {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}

	return true
}

// inputRanges returns the inputs with their ranges in the training rows.
func inputRanges(d triplets.Set, train []int, o Options) []interval.InputRange {
	trained := lists.Rows(d.X, d.In, train)
	var list []interval.InputRange
	for j := range d.In {
		x := lists.Column(trained, d.In, j)
		r := interval.InputRange{Name: fmt.Sprint(j), Min: slices.Min(x), Max: slices.Max(x)}
		r.FromGroup = o.FromGroup != nil && o.FromGroup[j]
		if o.InputNames != nil {
			r.Name = o.InputNames[j]
		}

		r.Aside = o.Form != nil && !o.Form.UsesAlone(j)
		list = append(list, r)
	}

	return list
}

// productRanges returns the products of inputs of a form with their ranges in the training rows. inputs are the ranges
// of the inputs. A product is a function of the group if all its inputs are. It returns nil without a form.
func productRanges(d triplets.Set, train []int, inputs []interval.InputRange, f *form.Form) []interval.ProductRange {
	if f == nil {
		return nil
	}

	var list []interval.ProductRange
	for _, c := range f.Columns {
		if !c.IsProduct() {
			continue
		}

		r := interval.ProductRange{Powers: c.Powers}
		r.FromGroup = true
		var names []string
		for k, input := range inputs {
			if c.Uses(k) {
				r.FromGroup = r.FromGroup && input.FromGroup
				names = append(names, form.Power(input.Name, c.Powers[k]))
			}
		}

		r.Name = strings.Join(names, "·")
		r.Min = math.Inf(1)
		r.Max = math.Inf(-1)
		for _, i := range train {
			v := r.Value(d.X[i*d.In : (i+1)*d.In])
			r.Min = min(r.Min, v)
			r.Max = max(r.Max, v)
		}

		list = append(list, r)
	}

	return list
}

// lawKey identifies the law of a value in standardised units. It is the same for all rows of a condition.
type lawKey struct{ claim, distance, noise float64 }

// lawNumbers are the numbers of a law that groupResult needs, in standardised units.
type lawNumbers struct {
	half      float64 // half width of the interval at the asked level
	half68    float64 // half width of the 68 % interval
	epistemic float64 // variance of the mean
}

// groupLaws computes the laws of the values of a left-out group by the scale that the other groups teach. It computes
// each law once.
type groupLaws struct {
	predictor *scale.Predictor
	level     float64
	known     map[lawKey]lawNumbers
	mixture   scale.Mixture // of the law that is computed
}

func newGroupLaws(others *scale.Scale, level float64) *groupLaws {
	return &groupLaws{predictor: others.Predictor(), level: level, known: map[lawKey]lawNumbers{}}
}

// law returns the numbers of the law with the given key.
func (g *groupLaws) law(key lawKey) lawNumbers {
	law, known := g.known[key]
	if known {
		return law
	}

	g.predictor.SetLaw(&g.mixture, key.claim, key.distance, key.noise)
	law = lawNumbers{g.mixture.Half(g.level), g.mixture.Half(0.68), g.mixture.Epistemic()}
	g.known[key] = law

	return law
}

// groupResult summarises a left-out group: its squared errors by its pairs, and its intervals by the scale that the
// other groups teach. Numbers are in standardised units: std are the deviations of the outcomes.
func groupResult(l LeftOut, std []float64, others *scale.Scale, level float64) interval.GroupResult {
	r := interval.GroupResult{Name: l.Name, Rows: l.N, Conditions: len(l.conditions()), EBy: make([]float64, len(std))}
	setErrors(&r, l, std)
	setIntervals(&r, l, std, newGroupLaws(others, level))
	for i, d := range l.Distance {
		r.Distance += d
		r.Farthest = max(r.Farthest, d)

		if l.Outside[i] {
			r.Outside++
		}
	}

	r.Distance /= float64(l.N)
	r.Outside /= float64(l.N)
	_, runs := lists.Index(l.Run)
	r.Runs = len(runs)

	return r
}

// setErrors sets the squared errors of a group, by its pairs, and the noise of the pairs. The product of the deviations
// of y1 and y2 measures the squared error, because their noise is independent.
func setErrors(r *interval.GroupResult, l LeftOut, std []float64) {
	outcomes := len(std)
	pairs := triplets.Set{N: l.N, Alone: l.Alone}.Pairs() // rows with two measurements
	if len(pairs) == 0 {                                  // then all rows count, and e contains the noise
		l.Alone = nil
		pairs = lists.Numbers(l.N)
	}

	e := make([]float64, l.N) // by row, mean over outcomes
	for k, mu := range l.Mu {
		i := k / outcomes
		j := k % outcomes
		variance := std[j] * std[j]
		squared := (l.Y1[k] - mu) * (l.Y2[k] - mu) / variance
		e[i] += squared / float64(outcomes)
		if !l.alone(i) {
			r.EBy[j] += squared / float64(len(pairs))
			r.Pairs += (l.Y1[k] - l.Y2[k]) * (l.Y1[k] - l.Y2[k]) / 2 / variance / float64(len(pairs)*outcomes)
		}
	}

	mean, se := score.ClusteredMean(lists.Pick(e, pairs), lists.Pick(l.Run, pairs))
	r.E = mean
	if !math.IsNaN(se) {
		r.ESE = &se
	}
}

// setIntervals sets the claims and the noise of a group, the widths of its intervals, and the shares of its values
// inside.
func setIntervals(r *interval.GroupResult, l LeftOut, std []float64, laws *groupLaws) {
	outcomes := len(std)
	n := float64(l.N * outcomes)
	inside := 0
	inside68 := 0
	for k, mu := range l.Mu {
		j := k % outcomes
		variance := std[j] * std[j]
		r.Claim += l.Claim[k] / variance / n
		r.Noise += l.Noise[k] / variance / n

		law := laws.law(lawKey{l.Claim[k] / variance, l.Distance[k/outcomes], l.Noise[k] / variance})
		r.Half += law.half / n
		r.Variance += law.epistemic / n
		for _, y := range [2]float64{l.Y1[k], l.Y2[k]} {
			winkler, _ := interval.Winkler(y, mu, law.half*std[j], laws.level)
			r.Score += winkler / std[j] / (2 * n)

			miss := math.Abs(y - mu)
			if miss <= law.half*std[j] {
				inside++
			}

			if miss <= law.half68*std[j] {
				inside68++
			}
		}
	}

	r.Inside = float64(inside) / (2 * n)
	r.Inside68 = float64(inside68) / (2 * n)
}

// conformal returns the largest left-out residual of each outcome, with the guarantee K/(K+1) of K groups.
func conformal(left []LeftOut, outcomes int) interval.Conformal {
	c := interval.Conformal{Half: make([]float64, outcomes), Guarantee: float64(len(left)) / float64(len(left)+1)}
	for _, l := range left {
		for k, mu := range l.Mu {
			j := k % outcomes
			c.Half[j] = max(c.Half[j], math.Abs(l.Y1[k]-mu), math.Abs(l.Y2[k]-mu))
		}
	}

	return c
}
