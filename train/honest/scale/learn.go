package scale

import (
	"math"
	"slices"

	"doubletake/internal/lists"
)

// The grid of priors that are learned, that of the prior "library" with a wider range of m.
var (
	learnM      = linear(-2, 3, 21)
	learnMStd   = []float64{0.3, 0.5, 0.75, 1}
	learnTau    = []float64{0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5}
	learnTauStd = []float64{0.3, 0.5, 0.8}
)

// Campaign is the evidence of one calibration's left-out groups at each m and τ of the grid,
// mean over shapes and ω.
type Campaign struct {
	Weight float64 // in sums over campaigns

	relative []float64
	top      float64 // ln of the factor of relative
}

// NewCampaign takes left-out groups whose noise is that of their pairs: it is not multiplied
// here. The floor and the ratio of claims are those of like.
func NewCampaign(left []Group, outcomes int, like Prior) Campaign {
	s := Scale{Prior: like, Ratio: 1, Factor: 1, Noise: Exact}
	s.raiseClaims(left)
	s.Ratio = s.ratio(left)

	c := Campaign{Weight: 1, top: math.Inf(-1)}

	var logs [][]float64
	for shape := range shapes {
		sums := lists.Make(len(gridOmega), func(int) []float64 { return make([]float64, len(gridM)*len(gridTau)) })
		for h := range left { // one at a time: each is thousands of numbers
			for o, groups := range s.likelihood(left[h:h+1], outcomes, shape) {
				for i, v := range marginal(groups[0]) {
					sums[o][i] += v
				}
			}
		}

		for _, sum := range sums {
			logs, c.top = append(logs, sum), max(c.top, slices.Max(sum))
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

// log is ln of the evidence, where weights are those of a prior.
func (c Campaign) log(weights []float64) float64 {
	return c.top + math.Log(dot(c.relative, weights)+1e-300)
}

// Family is what is left out at a time when a prior is judged.
type Family []Campaign

func (f Family) log(weights []float64) (sum float64) {
	for _, c := range f {
		sum += c.Weight * c.log(weights)
	}
	return sum
}

// LeftOut is a family under the prior that the others give.
type LeftOut struct {
	Prior   Prior
	Steps   int     // of the grid, by which a number of it differs at most from that of all
	Learned float64 // ln of the family's evidence under Prior
	Like    float64 // and under the prior that it was to be like
}

// LearnPrior returns the prior of the grid under which the families have the largest sum of
// weight·ln evidence, and each family under that of the others; nil where there are none.
// The floor and the ratio of claims are those of like.
func LearnPrior(families []Family, like Prior) (all Prior, without []LeftOut) {
	grid := learnGrid(like)
	logs, sum := make([][]float64, len(families)), make([]float64, len(grid))

	for i, p := range grid {
		weights := p.weights()
		for f, family := range families {
			logs[f] = append(logs[f], family.log(weights))
			sum[i] += logs[f][i]
		}
	}

	best := largest(sum)
	for f, own := range logs {
		if len(families) == 1 {
			break
		}

		others := make([]float64, len(grid))
		for g := range logs {
			for i, v := range logs[g] {
				if g != f {
					others[i] += v
				}
			}
		}

		at := largest(others)
		without = append(without, LeftOut{grid[at], steps(at, best), own[at], families[f].log(like.weights())})
	}

	return grid[best], without
}

// learnGrid lists the priors; neighbours differ in τ's deviation.
func learnGrid(like Prior) (list []Prior) {
	for _, m := range learnM {
		for _, mStd := range learnMStd {
			for _, tau := range learnTau {
				for _, tauStd := range learnTauStd {
					p := like
					p.M, p.MStd, p.Tau, p.TauStd = m, mStd, tau, tauStd
					list = append(list, p)
				}
			}
		}
	}

	return list
}

// steps is the largest difference between the numbers of two priors, in steps of the grid.
func steps(a, b int) (n int) {
	for _, size := range []int{len(learnTauStd), len(learnTau), len(learnMStd), len(learnM)} {
		d := a%size - b%size
		n = max(n, d, -d)
		a, b = a/size, b/size
	}

	return n
}

func largest(v []float64) int { return slices.Index(v, slices.Max(v)) }
