package scale

import (
	"math"
	"slices"
)

// This file learns a Prior from finished campaigns: LearnPrior chooses the prior of a grid under which their left-out
// groups have the largest evidence. A family is the campaigns of one source, such as one laboratory.

// The grid of priors from which LearnPrior chooses, one list for each number of a Prior. The prior "library" was chosen
// from the same grid with a narrower range of m.
var (
	learnM      = linear(-2, 3, 21)
	learnMStd   = []float64{0.3, 0.5, 0.75, 1}
	learnTau    = []float64{0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5}
	learnTauStd = []float64{0.3, 0.5, 0.8}
)

// Campaign holds the evidence of the left-out groups of one calibration at each m and τ of the grid, averaged over
// shapes and ω.
type Campaign struct {
	Weight float64 // of the campaign in sums over campaigns

	relative []float64 // m by τ: evidence over exp(top)
	top      float64   // ln of the largest evidence of a shape and an ω
}

// NewCampaign returns the evidence of left-out groups with the weight 1. The noise of the groups must come from their
// pairs: NewCampaign does not multiply it by a factor. The floor and the ratio of claims are taken from like.
func NewCampaign(left []Group, outcomes int, like Prior) Campaign {
	s := Scale{Prior: like, Ratio: 1, Factor: 1, Noise: Exact}
	s.raiseClaims(left)
	s.Ratio = s.ratio(left)

	c := Campaign{Weight: 1, top: math.Inf(-1)}

	var logs [][]float64 // by shape and ω: ln of the evidence, m by τ
	for shape := range shapes {
		sums := zeros(len(gridOmega), len(gridM)*len(gridTau))
		for h := range left { // one group at a time, because the numbers of all take much memory
			for o, groups := range s.likelihood(left[h:h+1], outcomes, shape) {
				for i, v := range marginal(groups[0]) {
					sums[o][i] += v
				}
			}
		}

		for _, sum := range sums {
			logs = append(logs, sum)
			c.top = max(c.top, slices.Max(sum))
		}
	}

	c.relative = make([]float64, len(gridM)*len(gridTau))
	for _, l := range logs {
		for i, v := range l {
			c.relative[i] += math.Exp(v-c.top) / float64(len(logs))
		}
	}

	return c
}

// log returns ln of the evidence under a prior. weights are the probabilities of m and τ of the prior.
func (c Campaign) log(weights []float64) float64 {
	return c.top + math.Log(dot(c.relative, weights)+smallest)
}

// Family holds campaigns of one source, which are left out together when a prior is judged.
type Family []Campaign

// log returns the weighted sum of ln of the campaigns' evidence under a prior.
func (f Family) log(weights []float64) float64 {
	sum := 0.0
	for _, c := range f {
		sum += c.Weight * c.log(weights)
	}

	return sum
}

// LeftOut tells how well the prior that the other families give describes a family.
type LeftOut struct {
	Prior   Prior   // learned from the other families
	Steps   int     // largest difference of one of its numbers from the prior of all families, in steps of the grid
	Learned float64 // ln of the family's evidence under Prior
	Like    float64 // ln of the family's evidence under the prior like of LearnPrior
}

// LearnPrior returns the prior of the grid under which the families have the largest weighted sum of ln evidence. For
// each family, rests has the prior that the other families give; it is nil for a single family. The name, the origin,
// and the floor and the ratio of claims are taken from like.
func LearnPrior(families []Family, like Prior) (all Prior, rests []LeftOut) {
	grid := learnGrid(like)
	logs := make([][]float64, len(families)) // by family and prior
	sum := make([]float64, len(grid))        // by prior

	for i, p := range grid {
		weights := p.weights()
		for f, family := range families {
			logs[f] = append(logs[f], family.log(weights))
			sum[i] += logs[f][i]
		}
	}

	best := largest(sum)
	if len(families) == 1 {
		return grid[best], nil
	}

	for f, own := range logs {
		chosen := largest(sumWithout(logs, f))
		rests = append(rests, LeftOut{
			Prior:   grid[chosen],
			Steps:   steps(chosen, best),
			Learned: own[chosen],
			Like:    families[f].log(like.weights()),
		})
	}

	return grid[best], rests
}

// sumWithout returns the sum of all rows but one.
func sumWithout(rows [][]float64, left int) []float64 {
	sum := make([]float64, len(rows[left]))
	for g, row := range rows {
		if g == left {
			continue
		}

		for i, v := range row {
			sum[i] += v
		}
	}

	return sum
}

// learnGrid returns the priors of the grid, ordered by M, then by MStd, Tau and TauStd. They are like the given one in
// all other fields.
func learnGrid(like Prior) []Prior {
	var list []Prior
	for _, m := range learnM {
		for _, mStd := range learnMStd {
			for _, tau := range learnTau {
				for _, tauStd := range learnTauStd {
					p := like
					p.M = m
					p.MStd = mStd
					p.Tau = tau
					p.TauStd = tauStd
					list = append(list, p)
				}
			}
		}
	}

	return list
}

// steps returns the largest difference between the four numbers of two priors, in steps of the grid. a and b are the
// places of the priors in learnGrid. A place is a number with four digits, which are the places of the four numbers.
func steps(a, b int) int {
	most := 0
	for _, size := range []int{len(learnTauStd), len(learnTau), len(learnMStd), len(learnM)} { // the last digit first
		d := a%size - b%size
		most = max(most, d, -d)
		a /= size
		b /= size
	}

	return most
}

// largest returns the place of the largest number.
func largest(v []float64) int { return slices.Index(v, slices.Max(v)) }
