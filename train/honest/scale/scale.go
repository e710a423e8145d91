// Package scale learns from left-out groups by which factor a model's squared error exceeds the variance that it
// claims, and how much this factor differs between groups. The factor of a new group is then a law, not a number:
// intervals are exact quantiles of a mixture of normal laws, at any level.
//
// In units of the training outcomes' deviations, a row i of group h has
//
//	y − μ ~ N(0, λ_h·exp(ω·u_i)·q + σ²),  u_i ~ N(0, 1),  ln λ_h ~ N(m, τ²),
//
// where q is the model's claim v̂ (the variance of its mean that it states itself), the distance d to the measured
// groups times a factor f, or the geometric mean of the two: the shape says which. λq replaces v̂: the claim is not
// added to it. σ² is the noise of one measurement, and ω lets the factor vary between the conditions of a group.
//
// Learn takes these steps, all on fixed grids of λ, m, τ and ω (grid.go):
//
//  1. For each shape, ω and group, likelihood computes the likelihood of each λ.
//  2. marginal averages it over p(λ | m, τ), which gives the group's likelihood at each m and τ.
//  3. posteriorOf multiplies the groups with the Prior of m and τ: the law of a new group's λ, and the evidence.
//  4. average weighs the laws of all shapes and ω by their evidence.
//
// A Predictor turns the result into intervals (mixture.go).
package scale

import (
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// MinGroups is the smallest number of left-out groups from which a scale is learned. With fewer groups, the prior
// counts alone.
const MinGroups = 2

// maxConditions is the largest number of conditions of a group that enter its likelihood. If a group has more, some are
// chosen evenly. The width of intervals then differs by at most 2.8 %.
const maxConditions = 150

// minClaim is the variance to which smaller claims are raised.
const minClaim = 1e-9

// Shape is the quantity to which the squared error of a group is proportional.
type Shape int

// Shapes. f is the geometric mean of v̂ over the geometric mean of d in the left-out groups.
const (
	Claim    Shape = iota // v̂
	Both                  // √(v̂·f·d)
	Distance              // f·d
	shapes                // number of shapes
)

// Group is a left-out group: the predictions of a model that was trained without it, and the measurements. Residuals
// are in units of the training outcomes' deviations, noise and claims in units of their squares.
type Group struct {
	Conditions int // number of conditions of the group

	// Row-major, conditions × outcomes:
	Residual []float64 // mean of all measurements of the condition, less the prediction
	Noise    []float64 // twice the noise variance of this mean: σ²/n for n pairs, which are 2n measurements
	Claim    []float64 // v̂

	Distance []float64 // by condition: distance to the measured groups, which is positive; 1 for labels
}

// check panics if a group has no condition, or if a slice does not have the length of the group.
func (g Group) check(outcomes int) {
	n := g.Conditions * outcomes
	hasLengths := len(g.Residual) == n && len(g.Noise) == n && len(g.Claim) == n
	if n < 1 || !hasLengths || len(g.Distance) != g.Conditions {
		panic(fmt.Sprintf("scale: a group of %d conditions and %d outcomes has slices of %d, %d, %d and %d numbers",
			g.Conditions, outcomes, len(g.Residual), len(g.Noise), len(g.Claim), len(g.Distance)))
	}
}

// Scale holds what the left-out groups taught about a new group.
type Scale struct {
	Prior       Prior             `json:"prior"`
	K           int               `json:"k"`               // left-out groups; below MinGroups the prior counts alone
	Ratio       float64           `json:"ratio"`           // f
	Factor      float64           `json:"claim_factor"`    // claims are multiplied by it, see Prior.ClaimFloor
	Floor       float64           `json:"claim_floor"`     // smaller claims are raised to it first
	M           float64           `json:"m"`               // posterior mean of m
	Tau         float64           `json:"tau"`             // exp of the posterior mean of ln τ
	LogEvidence float64           `json:"log_evidence"`    // ln of the mean evidence over shapes and ω
	Noise       Noise             `json:"noise"`           // law of the noise's factor κ
	Gamma       float64           `json:"gamma,omitempty"` // posterior mean of γ, see LearnRising; 0 after Learn
	Evidence    [shapes][]float64 `json:"evidence"`        // by shape and ω: share of the evidence; all sum to 1
	Weights     [shapes][]float64 `json:"weights"`         // by shape and λ of the grid: probability; all sum to 1
}

// Learn returns the posterior of the scale of a new group, and for each left-out group the posterior by the other
// groups, which gives the intervals of this group. The stated noise of the groups is multiplied by the scale of n;
// Exact leaves it as it is. f, the factor of claims and n are learned from all groups, also for the posteriors without
// one. With fewer than MinGroups groups, posteriors are the prior. Learn panics if a group has no condition, or if a
// slice of a group has a wrong length.
func Learn(left []Group, outcomes int, prior Prior, n Noise) (all *Scale, rests []*Scale) {
	noRises := make([]float64, len(left)+1)
	onlyZero := []float64{0} // γ = 0: rises do not count
	return learn(left, outcomes, prior, n, noRises, onlyZero)
}

// LearnRising returns what Learn returns if γ·z is added to ln λ of each group. z has one rise for each left-out group,
// in the order of left, and then the rise of the new group. A rise is how much ln E|cov| of the network grows from the
// training groups to the group, less the mean growth over the left-out groups. E|cov| is the mean absolute covariance
// of the network's two answers. γ is averaged over a grid by its evidence (docs/honest.md).
func LearnRising(left []Group, outcomes int, prior Prior, n Noise, z []float64) (all *Scale, rests []*Scale) {
	return learn(left, outcomes, prior, n, z, gridGamma)
}

// setting is a pair of values of the grids of γ and ω.
type setting struct{ gamma, omega float64 }

// settings returns all pairs, ordered by γ and then by ω.
func settings(gammas []float64) []setting {
	var list []setting
	for _, gamma := range gammas {
		for _, omega := range gridOmega {
			list = append(list, setting{gamma, omega})
		}
	}

	return list
}

// likelihoods are ln of the likelihood of each group at each m and τ of the grid: by shape, by setting, by group, and
// by m and τ.
type likelihoods [shapes][][][]float64

// learn returns the posterior of a new group, whose rise is the last one of z, and the posterior without each left-out
// group, whose rise is its own.
func learn(left []Group, outcomes int, prior Prior, n Noise, z, gammas []float64) (all *Scale, rests []*Scale) {
	for _, g := range left {
		g.check(outcomes)
	}

	start := Scale{Prior: prior, Ratio: 1, Factor: 1, Noise: n}
	if prior.ClaimFloor > 0 {
		start.Factor = max(1, prior.ClaimRatio)
	}

	if len(left) >= MinGroups {
		start.raiseClaims(left)
		start.Ratio = start.ratio(left)
	}

	var marginals likelihoods
	for shape := range shapes {
		byOmega := start.likelihood(left, outcomes, shape)
		for _, gamma := range gammas {
			for _, groups := range byOmega {
				marginals[shape] = append(marginals[shape], risenMarginals(groups, gamma, z))
			}
		}
	}

	groups := lists.Numbers(len(left))
	all = start.posterior(marginals, groups, gammas, z[len(left)])
	for h := range left {
		rest := slices.Delete(slices.Clone(groups), h, h+1)
		rests = append(rests, start.posterior(marginals, rest, gammas, z[h]))
	}

	return all, rests
}

// risenMarginals returns the marginal likelihood of each group, for the given γ. groups are ln of the likelihoods at
// each λ of the grid, z are the rises of the groups.
func risenMarginals(groups [][]float64, gamma float64, z []float64) [][]float64 {
	var list [][]float64
	for h, likelihood := range groups {
		list = append(list, marginal(moved(likelihood, gamma*z[h])))
	}

	return list
}

// posterior returns the posterior given some groups, for a new group with a rise z. s has the settings of learn.
func (s Scale) posterior(marginals likelihoods, groups []int, gammas []float64, z float64) *Scale {
	s.K = len(groups)
	isPriorAlone := s.K < MinGroups
	if isPriorAlone {
		groups = nil
	}

	prior := s.Prior.weights()
	pairs := settings(gammas)
	var parts [shapes][]inferred // by shape and setting
	for shape := range shapes {
		if isPriorAlone && shape != Claim {
			continue // f is not known
		}

		for i, pair := range pairs {
			part := posteriorOf(prior, lists.Pick(marginals[shape][i], groups))
			part.evidence += lnGamma(pair.gamma, gammas)
			part.law = shifted(convolve(part.law, pair.omega, zeroBeyond), pair.gamma*z)
			parts[shape] = append(parts[shape], part)
		}
	}

	share := s.average(parts)

	lnTau := 0.0
	for shape := range shapes {
		s.Evidence[shape] = make([]float64, len(gridOmega))
		for i, part := range parts[shape] {
			s.M += share[shape][i] * part.m
			lnTau += share[shape][i] * part.lnTau
			s.Gamma += share[shape][i] * pairs[i].gamma
			s.Evidence[shape][i%len(gridOmega)] += share[shape][i]
		}
	}

	s.Tau = math.Exp(lnTau)

	return &s
}

// raiseClaims sets the factor and the floor of claims if the prior asks for them by its ClaimFloor.
func (s *Scale) raiseClaims(left []Group) {
	if s.Prior.ClaimFloor == 0 {
		return
	}

	var squaredError, claim float64 // sums over groups of the means in each
	for _, g := range left {
		n := float64(len(g.Claim))
		for k, v := range g.Claim {
			noise := g.Noise[k] * s.Noise.Scale / 2
			squaredError += max(g.Residual[k]*g.Residual[k]-noise, 0) / n
			claim += max(v, minClaim) / n
		}
	}

	s.Factor = max(1, squaredError/claim/s.Prior.ClaimRatio)
	s.Floor = s.Prior.ClaimFloor * claim / float64(len(left))
}

// average sets LogEvidence and Weights: the laws of all parts, averaged by their evidence. It returns the share of the
// evidence of each part, by shape and setting.
func (s *Scale) average(parts [shapes][]inferred) (share [shapes][]float64) {
	best := math.Inf(-1)
	for shape := range shapes {
		for _, part := range parts[shape] {
			best = max(best, part.evidence)
		}
	}

	sum := 0.0
	count := 0
	for shape := range shapes {
		for _, part := range parts[shape] {
			relative := math.Exp(part.evidence - best)
			share[shape] = append(share[shape], relative)
			sum += relative
			count++
		}
	}

	s.LogEvidence = best + math.Log(sum/float64(count))

	mass := 0.0 // of the laws that remains on the grid
	for shape := range shapes {
		s.Weights[shape] = make([]float64, len(gridLambda))
		for i, part := range parts[shape] {
			share[shape][i] /= sum
			for k, v := range part.law {
				s.Weights[shape][k] += share[shape][i] * v
				mass += share[shape][i] * v
			}
		}
	}

	for shape := range shapes {
		for k := range s.Weights[shape] {
			s.Weights[shape][k] /= mass
		}
	}

	return share
}

// ratio returns f: the geometric mean of the claims over the geometric mean of the distances. Each group has the same
// weight. It returns 1 without groups.
func (s *Scale) ratio(left []Group) float64 {
	sum := 0.0
	for _, g := range left {
		for _, v := range g.Claim {
			sum += math.Log(s.claim(v)) / float64(len(g.Claim))
		}

		for _, d := range g.Distance {
			sum -= math.Log(d) / float64(len(g.Distance))
		}
	}

	return math.Exp(sum / float64(max(len(left), 1)))
}

// claim returns the claim that the shapes take for the claim v of the model: raised to the floor, then multiplied.
func (s *Scale) claim(v float64) float64 { return s.Factor * max(v, s.Floor, minClaim) }

// quantity returns q of a shape at a distance. claim is the result of the method claim.
func (s *Scale) quantity(shape Shape, claim, distance float64) float64 {
	switch shape {
	case Claim:
		return claim
	case Both:
		return math.Sqrt(claim * s.Ratio * distance)
	}

	return s.Ratio * distance
}

// likelihood returns ln of the likelihood of each group at each λ of the grid: by ω, by group, and by λ. A group
// counts as one value per outcome, however many conditions it has, because errors within a group are correlated.
func (s *Scale) likelihood(left []Group, outcomes int, shape Shape) [][][]float64 {
	list := make([][][]float64, len(gridOmega))
	for _, g := range left {
		sums := zeros(len(gridOmega), len(gridLambda)) // of ln densities, by ω and λ
		rows := evenly(g.Conditions, maxConditions)
		for _, i := range rows {
			for j := range outcomes {
				k := i*outcomes + j
				q := s.quantity(shape, s.claim(g.Claim[k]), g.Distance[i])
				addLogDensities(sums, g.Residual[k], g.Noise[k]*s.Noise.Scale, q)
			}
		}

		for o, sum := range sums {
			for l := range sum {
				sum[l] /= float64(len(rows))
			}

			list[o] = append(list[o], sum)
		}
	}

	return list
}

// leastLog bounds ln of a density before its exponential is taken, so that it does not become 0. It is below lowest,
// which bounds the terms of the sum.
const leastLog = -600

// addLogDensities adds ln of the density of a mean residual to sums, by ω and λ. The first ω is 0. With another ω the
// density is averaged over exp(ω·u). noise is twice the noise variance of the residual.
func addLogDensities(sums [][]float64, residual, noise, q float64) {
	density := make([]float64, len(gridLambda))
	for l, lambda := range gridLambda {
		log := logDensity(residual, noise, lambda*q)
		density[l] = math.Exp(max(log, leastLog))
		sums[0][l] += max(log, lowest)
	}

	for o, omega := range gridOmega[1:] {
		for l, v := range convolve(density, omega, edgeBeyond) {
			sums[o+1][l] += max(math.Log(v), lowest)
		}
	}
}

// logDensity returns ln of the normal density of a condition's mean residual r, up to a constant: 2r² has the
// expectation noise + 2·variance.
func logDensity(r, noise, variance float64) float64 {
	t := noise + 2*variance
	return -(math.Log(t) + 2*r*r/t) / 2
}

// lowest bounds ln of a density, so that no single condition can exclude a λ.
var lowest = math.Log(1e-260)

// evenly returns at most limit of n rows, evenly chosen, with the first and the last among them.
func evenly(n, limit int) []int {
	rows := make([]int, min(n, limit))
	for i := range rows {
		rows[i] = i
		if n > limit {
			rows[i] = int(float64(i) * (float64(n-1) / float64(limit-1)))
		}
	}

	if n > 0 {
		rows[len(rows)-1] = n - 1
	}

	return rows
}

// UsesDistance reports whether intervals depend on the distance to the measured groups.
func (s *Scale) UsesDistance() bool {
	return slices.ContainsFunc(s.Weights[Both], counts) || slices.ContainsFunc(s.Weights[Distance], counts)
}

// Check returns an error if s is not complete. Every scale that Learn returns is complete.
func (s *Scale) Check() error {
	if err := s.Prior.Check(); err != nil {
		return err
	}

	sum := 0.0
	for _, w := range s.Weights {
		if len(w) != len(gridLambda) {
			return fmt.Errorf("decode scale of new groups: expected %d weights for each of %d shapes, found %d",
				len(gridLambda), shapes, len(w))
		}

		for _, v := range w {
			if !(v >= 0) {
				return fmt.Errorf("decode scale of new groups: expected weights of at least 0, found %g", v)
			}
			sum += v
		}
	}

	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("decode scale of new groups: expected weights whose sum is 1, found %g", sum)
	}

	factorsFit := s.Ratio > 0 && s.Factor > 0 && s.Floor >= 0
	noiseFits := s.Noise.Scale > 0 && s.Noise.Freedom >= 0
	if !factorsFit || !noiseFits {
		return fmt.Errorf("decode scale of new groups: expected positive factors, found %g, %g, floor %g and noise %+v",
			s.Ratio, s.Factor, s.Floor, s.Noise)
	}

	return nil
}
