package honest

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Options are the settings of Calibrate. The zero value gives variant E at 95 %.
type Options struct {
	Base      string           // name of the base method, recorded
	Variant   interval.Variant // "" is VariantE
	Level     float64          // of the intervals, 0 is 0.95
	Effective float64          // pairs that a group counts for in the fit, 0 is 3

	// ClaimedNoise takes the noise of the fit from LeftOut.Noise instead of from
	// the pairs of the left-out group.
	ClaimedNoise bool
	// SawGroups records that something of the base, such as hyperparameters, was
	// learned with the left-out groups. The conformal maximum then
	// promises nothing.
	SawGroups bool
	// InputNames name the inputs; nil numbers them from 0.
	InputNames []string
	// FromGroup marks the inputs that are functions of the groups' coordinate. They
	// are expected to leave the training range. nil: none.
	FromGroup []bool
}

// TooFewGroupsError reports that no interval can be learned.
type TooFewGroupsError struct {
	Condition string
	K         int                    // training groups that were left out
	Groups    []interval.GroupResult // their results
}

func (e *TooFewGroupsError) Error() string {
	return fmt.Sprintf("no interval for new values of %s: expected at least %d training groups to leave out, "+
		"found %d; not checked on a new group", e.Condition, interval.MinGroups, e.K)
}

// Calibrate learns the covariance of new groups from the left-out training
// groups of a split. d and g describe all rows, train are the rows of the split
// that may be learned from; no outcome of another row is read.
//
// With fewer than three left-out groups the error is a *TooFewGroupsError. Other
// errors are those of FitCovariance.
func Calibrate(d triplets.Set, g Grouping, train []int, left []LeftOut, o Options) (*interval.Calibration, error) {
	d = checked(d)

	if o.Variant == "" {
		o.Variant = interval.VariantE
	}

	if o.Level == 0 {
		o.Level = 0.95
	}

	if !(o.Level > 0 && o.Level < 1) {
		return nil, fmt.Errorf("calibrate on left-out groups: expected a level between 0 and 1, found %g", o.Level)
	}

	form, err := formOf(o.Variant)
	if err != nil {
		return nil, err
	}

	mean, std := spread(d, train, nil)
	c := &interval.Calibration{
		Format: interval.Format, Version: interval.Version, Base: o.Base, Level: o.Level, K: len(left),
		Condition: g.Condition, Kind: g.Kind, Axis: g.Axis(train), Mean: mean,
	}

	for _, l := range left {
		l.check(d.Out)
		c.Groups = append(c.Groups, groupResult(l, std))
	}

	share(c)

	if len(left) < interval.MinGroups {
		return nil, &TooFewGroupsError{Condition: g.Condition, K: len(left), Groups: c.Groups}
	}

	cov, err := FitCovariance(left, std, o.Variant, o.Effective, o.ClaimedNoise)
	if err != nil {
		return nil, err
	}

	c.Covariance = *cov
	compare(c, left, form.offset)

	c.Conformal = conformal(left, d.Out)
	if o.SawGroups {
		c.Conformal.Guarantee = 0
	}

	for j := range d.In {
		r := interval.InputRange{Name: fmt.Sprint(j), Min: math.Inf(1), Max: math.Inf(-1)}
		r.FromGroup = o.FromGroup != nil && o.FromGroup[j]
		if o.InputNames != nil {
			r.Name = o.InputNames[j]
		}

		for _, i := range train {
			r.Min, r.Max = min(r.Min, d.X[i*d.In+j]), max(r.Max, d.X[i*d.In+j])
		}

		c.Inputs = append(c.Inputs, r)
	}

	return c, nil
}

// groupResult summarises a left-out group in standardised units.
func groupResult(l LeftOut, std []float64) interval.GroupResult {
	out := len(std)
	r := interval.GroupResult{Name: l.Name, Rows: l.N, EBy: make([]float64, out)}
	e := make([]float64, l.N)

	n := float64(l.N * out)
	for k := range l.Mu {
		i, j := k/out, k%out
		s2 := std[j] * std[j]
		v := (l.Y1[k] - l.Mu[k]) * (l.Y2[k] - l.Mu[k]) / s2
		e[i] += v / float64(out)
		r.EBy[j] += v / float64(l.N)
		r.Claim += l.Claim[k] / s2 / n
		r.Noise += l.Noise[k] / s2 / n
		r.Pairs += (l.Y1[k] - l.Y2[k]) * (l.Y1[k] - l.Y2[k]) / 2 / s2 / n
	}

	for i, d := range l.Distance {
		r.Distance += d
		if l.Outside[i] {
			r.Outside++
		}
	}

	r.Distance, r.Outside = r.Distance/float64(l.N), r.Outside/float64(l.N)

	var se float64
	if r.E, se = score.ClusteredMean(e, l.Run); !math.IsNaN(se) {
		r.ESE = &se
	}

	runs := slices.Clone(l.Run)
	slices.Sort(runs)
	r.Runs = len(slices.Compact(runs))

	return r
}

// share sets each group's part of Σ e/d.
func share(c *interval.Calibration) {
	sum := 0.0
	for _, g := range c.Groups {
		sum += max(g.E, 0) / g.Distance
	}

	for i := range c.Groups {
		g := &c.Groups[i]
		if sum > 0 {
			g.Share = max(g.E, 0) / g.Distance / sum
		}

		if g.Share > c.Groups[c.Largest].Share {
			c.Largest = i
		}
	}
}

// compare sets what compares the fit with the left-out errors.
func compare(c *interval.Calibration, left []LeftOut, offset bool) {
	var logs []float64
	var stated, pairs float64
	c.Vanishes = true
	at := make([]float64, len(c.Mean))
	for h, l := range left {
		g := &c.Groups[h]
		for i := range l.N {
			claim := l.Claim[i*len(at) : (i+1)*len(at)]
			c.Covariance.At(at, claim, l.Distance[i], l.Outside[i])

			for j, v := range at {
				s2 := c.Covariance.Scale[j] * c.Covariance.Scale[j]
				if v > vanishing*s2 {
					c.Vanishes = false
				}

				if offset {
					v += claim[j]
				}

				g.Fitted += v / s2 / float64(l.N*len(at))
			}
		}

		logs = append(logs, math.Log(max(g.E, vanishing)/g.Fitted))
		stated, pairs = stated+g.Noise, pairs+g.Pairs
	}

	c.Scatter = math.Exp(stat.StdDev(logs, nil))
	if pairs > 0 {
		c.NoiseRatio = stated / pairs
	}
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
