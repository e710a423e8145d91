// Package scale learns from left-out groups by how much a model's error exceeds its
// claim, and how much that factor differs between groups. A new group's factor is then a
// law, not a number: intervals are exact quantiles of a mixture of normal laws, at any
// level.
//
// In units of the training outcomes' deviations, a row i of group h has
//
//	y − μ ~ N(0, λ_h·exp(ω·u_i)·q + σ²),  u_i ~ N(0, 1),  ln λ_h ~ N(m, τ²),
//
// where q, the shape, is the model's claim v̂, the distance d to the measured groups, or
// their geometric mean. m and τ have a Prior. Shapes and ω are averaged by their
// evidence. λq replaces v̂: the claim is not added to it.
package scale

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"doubletake/internal/lists"
)

// Grids of λ, m, τ, ω and γ. At most 0.1 % of a posterior lay at their edges on 144
// held-out groups.
var (
	gridLambda = logarithmic(0.01, 300, 90)
	gridM      = linear(-3, 4, 57)
	gridTau    = []float64{0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5, 1.8, 2.2, 2.7}
	gridOmega  = []float64{0, 0.5, 1, 1.5}
	gridGamma  = linear(0, 1.2, 13)
	widthTau   = gradient(gridTau)
)

// MinGroups is the smallest number of left-out groups that teach anything: with fewer
// the prior is all that is known.
const MinGroups = 2

// maxConditions is the number of conditions of a group that its likelihood is taken of,
// evenly chosen: the width of intervals then differs by 2.8 % at most.
const maxConditions = 150

// minClaim is the variance to which a smaller claim is raised.
const minClaim = 1e-9

// Shape is what a group's error is proportional to.
type Shape int

// Shapes. f is the factor between the geometric means of v̂ and d over the left-out groups.
const (
	Claim    Shape = iota // v̂
	Both                  // √(v̂·f·d)
	Distance              // f·d
	shapes
)

// Group is a left-out group: what a model predicts there that was trained without it, and
// what was measured. Slices are conditions × outcomes, row-major, in units of the training
// outcomes' deviations.
type Group struct {
	Conditions int
	Residual   []float64 // mean of all measurements of the condition, less the prediction
	Noise      []float64 // variance of that mean by its pairs, times two: σ²/n of n pairs
	Claim      []float64 // v̂
	Distance   []float64 // per condition; 1 for labels
}

func (g Group) check(outcomes int) {
	n := g.Conditions * outcomes
	if len(g.Residual) != n || len(g.Noise) != n || len(g.Claim) != n || len(g.Distance) != g.Conditions {
		panic(fmt.Sprintf("scale: a group of %d conditions and %d outcomes has slices of %d, %d, %d and %d numbers",
			g.Conditions, outcomes, len(g.Residual), len(g.Noise), len(g.Claim), len(g.Distance)))
	}
}

// Scale is what the left-out groups taught of a new group.
type Scale struct {
	Prior       Prior             `json:"prior"`
	K           int               `json:"k"`            // left-out groups; below MinGroups the prior alone
	Ratio       float64           `json:"ratio"`        // f
	Factor      float64           `json:"claim_factor"` // of claims, see Prior.ClaimFloor
	Floor       float64           `json:"claim_floor"`  // of claims
	M           float64           `json:"m"`            // posterior mean
	Tau         float64           `json:"tau"`          // exp of the posterior mean of ln τ
	LogEvidence float64           `json:"log_evidence"` // ln of the mean evidence of shapes and ω
	Noise       Noise             `json:"noise"`
	Gamma       float64           `json:"gamma,omitempty"` // posterior mean of γ, see LearnRising
	Evidence    [shapes][]float64 `json:"evidence"`        // share of each ω, per shape; all sum to 1
	Weights     [shapes][]float64 `json:"weights"`         // of each λ of the grid, per shape; all sum to 1
}

// Learn returns the posterior of the scale of a new group, and what it would be without
// each left-out group: that one's own intervals are made with it. The noise of the groups
// is multiplied by that of n; Exact leaves it as it is stated. f, the factor of claims and
// the noise are those of all groups.
func Learn(left []Group, outcomes int, prior Prior, n Noise) (all *Scale, without []*Scale) {
	return learn(left, outcomes, prior, n, make([]float64, len(left)), 0, []float64{0})
}

// LearnRising is Learn where ln λ of a group has γ·z added: z are the rises of ln E|cov| of the network in the left-out
// groups and, last, in the new one, about their mean. γ is averaged by its evidence (docs/honest.md).
func LearnRising(left []Group, outcomes int, prior Prior, n Noise, z []float64) (all *Scale, without []*Scale) {
	return learn(left, outcomes, prior, n, z[:len(left)], z[len(left)], gridGamma)
}

func learn(left []Group, outcomes int, prior Prior, n Noise, z []float64, own float64, gammas []float64) (all *Scale,
	without []*Scale,
) {
	for _, g := range left {
		g.check(outcomes)
	}

	start := Scale{Prior: prior, Ratio: 1, Factor: max(1, prior.ClaimRatio), Noise: n}
	if len(left) >= MinGroups {
		start.Factor = 1
		start.raiseClaims(left)
		start.Ratio = start.ratio(left)
	}

	var marginals [shapes][][][]float64 // of each γ and ω, in that order
	for shape := range shapes {
		likelihood := start.likelihood(left, outcomes, shape)
		for _, gamma := range gammas {
			for _, groups := range likelihood {
				marginals[shape] = append(marginals[shape], lists.Make(len(left), func(h int) []float64 {
					return marginal(moved(groups[h], gamma*z[h]))
				}))
			}
		}
	}

	all = start.posterior(marginals, len(left), -1, gammas, own)

	return all, lists.Make(len(left), func(h int) *Scale { return start.posterior(marginals, len(left), h, gammas, z[h]) })
}

// posterior is that of k groups, or without one of them, for a new group with a rise z.
func (s Scale) posterior(marginals [shapes][][][]float64, k, without int, gammas []float64, z float64) *Scale {
	if s.K = k; without >= 0 {
		s.K--
	}

	weights := s.Prior.weights()
	var evidence, m, tau [shapes][]float64
	var law [shapes][][]float64

	best := math.Inf(-1)
	for shape := range shapes {
		if s.K < MinGroups && shape != Claim {
			continue // f is not known
		}

		for i, list := range marginals[shape] {
			omega, gamma := gridOmega[i%len(gridOmega)], gammas[i/len(gridOmega)]

			known := lists.Where(len(list), func(h int) bool { return s.K >= MinGroups && h != without })
			p := posteriorOf(weights, lists.Rows(list, 1, known))
			evidence[shape] = append(evidence[shape], p.evidence+lnGamma(gamma, gammas))
			m[shape], tau[shape] = append(m[shape], p.m), append(tau[shape], p.lnTau)
			law[shape] = append(law[shape], added(convolve(p.law, omega, false), gamma*z))
			best = max(best, evidence[shape][i])
		}
	}

	s.average(evidence, law, best)

	lnTau := 0.0
	for shape := range shapes {
		for i := range m[shape] {
			s.M += s.Evidence[shape][i] * m[shape][i]
			lnTau += s.Evidence[shape][i] * tau[shape][i]
			s.Gamma += s.Evidence[shape][i] * gammas[i/len(gridOmega)]
		}

		for i := len(gridOmega); i < len(s.Evidence[shape]); i++ {
			s.Evidence[shape][i%len(gridOmega)] += s.Evidence[shape][i]
		}

		s.Evidence[shape] = s.Evidence[shape][:len(gridOmega)]
	}

	s.Tau = math.Exp(lnTau)

	return &s
}

// raiseClaims sets the factor and the floor of claims that a prior with a floor asks for.
func (s *Scale) raiseClaims(left []Group) {
	if s.Prior.ClaimFloor == 0 {
		return
	}

	var error, claim float64
	for _, g := range left {
		n := float64(len(g.Claim))
		for k, v := range g.Claim {
			error += max(g.Residual[k]*g.Residual[k]-g.Noise[k]*s.Noise.Scale/2, 0) / n
			claim += max(v, minClaim) / n
		}
	}

	s.Factor = max(1, error/claim/s.Prior.ClaimRatio)
	s.Floor = s.Prior.ClaimFloor * claim / float64(len(left))
}

// average weighs shapes and ω by their evidence.
func (s *Scale) average(evidence [shapes][]float64, law [shapes][][]float64, best float64) {
	sum, count := 0.0, 0
	for shape := range shapes {
		s.Weights[shape] = make([]float64, len(gridLambda))
		s.Evidence[shape] = make([]float64, max(len(gridOmega), len(evidence[shape])))
		for i, e := range evidence[shape] {
			s.Evidence[shape][i] = math.Exp(e - best)
			sum += s.Evidence[shape][i]
			count++
		}
	}

	s.LogEvidence = best + math.Log(sum/float64(count))

	mass := 0.0
	for shape := range shapes {
		for i, p := range law[shape] {
			s.Evidence[shape][i] /= sum
			for k, v := range p {
				s.Weights[shape][k] += s.Evidence[shape][i] * v
				mass += s.Evidence[shape][i] * v
			}
		}
	}

	for shape := range shapes {
		for k := range s.Weights[shape] {
			s.Weights[shape][k] /= mass
		}
	}
}

// ratio is f: the geometric mean of the claims over that of the distances, each group
// counting alike.
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

// claim is a claim as the shapes take it.
func (s *Scale) claim(v float64) float64 { return s.Factor * max(v, s.Floor, minClaim) }

// of returns q at a claim, as the shapes take it, and a distance.
func (s *Scale) of(shape Shape, claim, distance float64) float64 {
	switch shape {
	case Claim:
		return claim
	case Both:
		return math.Sqrt(claim * s.Ratio * distance)
	}

	return s.Ratio * distance
}

// likelihood returns, for each ω (the first is 0) and group, the logarithm of its likelihood at each λ of
// the grid. A group counts as one value per outcome, however many conditions it has.
func (s *Scale) likelihood(left []Group, outcomes int, shape Shape) [][][]float64 {
	out := make([][][]float64, len(gridOmega))

	logs, density := make([]float64, len(gridLambda)), make([]float64, len(gridLambda))
	for _, g := range left {
		sums := lists.Make(len(gridOmega), func(int) []float64 { return make([]float64, len(gridLambda)) })

		rows := evenly(g.Conditions, maxConditions)
		for _, i := range rows {
			for j := range outcomes {
				k := i*outcomes + j
				q := s.of(shape, s.claim(g.Claim[k]), g.Distance[i])
				for l, lambda := range gridLambda {
					logs[l] = logDensity(g.Residual[k], g.Noise[k]*s.Noise.Scale, lambda*q)
					density[l] = math.Exp(max(logs[l], -600))
				}

				for l, v := range logs {
					sums[0][l] += max(v, lowest)
				}

				for o, omega := range gridOmega[1:] {
					for l, v := range convolve(density, omega, true) {
						sums[o+1][l] += max(math.Log(v), lowest)
					}
				}
			}
		}

		for o := range sums {
			for l := range sums[o] {
				sums[o][l] /= float64(len(rows))
			}
			out[o] = append(out[o], sums[o])
		}
	}

	return out
}

// logDensity is ln of the density of a condition's mean residual r, up to a constant:
// s² = 2r² has the expectation T = a + 2·variance.
func logDensity(r, a, variance float64) float64 {
	t := a + 2*variance
	return -(math.Log(t) + 2*r*r/t) / 2
}

// lowest bounds the logarithm of a density: no condition can exclude a λ.
var lowest = math.Log(1e-260)

// evenly returns at most limit of n rows, the first and the last among them.
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
	positive := func(w float64) bool { return w > negligible }
	return slices.ContainsFunc(s.Weights[Both], positive) || slices.ContainsFunc(s.Weights[Distance], positive)
}

// Check returns an error for a Scale that Learn cannot have returned.
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

	switch {
	case math.Abs(sum-1) > 1e-6:
		return fmt.Errorf("decode scale of new groups: expected weights whose sum is 1, found %g", sum)
	case !(s.Ratio > 0), !(s.Factor > 0), !(s.Floor >= 0), !(s.Noise.Scale > 0), !(s.Noise.Freedom >= 0):
		return fmt.Errorf("decode scale of new groups: expected positive factors, found %g, %g, floor %g and noise %+v",
			s.Ratio, s.Factor, s.Floor, s.Noise)
	}

	return nil
}

// laws are p(λ | m, τ) for each m and τ of the grid, row by row of m; on the grid of λ each
// sums to 1.
var laws = sync.OnceValue(func() (list [][]float64) {
	for _, m := range gridM {
		for _, tau := range gridTau {
			law, sum := make([]float64, len(gridLambda)), 0.0
			for l, lambda := range gridLambda {
				d := (math.Log(lambda) - m) / tau
				law[l] = math.Exp(-d * d / 2)
				sum += law[l]
			}

			for l := range law {
				law[l] /= sum
			}

			list = append(list, law)
		}
	}

	return list
})

// inferred is a posterior for one shape and ω.
type inferred struct {
	law      []float64 // of a new group's λ
	evidence float64   // its logarithm
	m, lnTau float64   // posterior means
}

// marginal returns the logarithm of a group's likelihood at each m and τ of the grid, where
// likelihood is that at each λ.
func marginal(likelihood []float64) []float64 {
	top := slices.Max(likelihood)
	relative := lists.Each(likelihood, func(v float64) float64 { return math.Exp(v - top) })

	return lists.Each(laws(), func(law []float64) float64 { return top + math.Log(dot(law, relative)+1e-300) })
}

// posteriorOf returns the posterior after groups with the given marginal likelihoods. prior
// are the probabilities of m and τ.
func posteriorOf(prior []float64, groups [][]float64) (r inferred) {
	laws, logs := laws(), make([]float64, len(prior))
	for i, w := range prior {
		logs[i] = math.Log(w)
		for _, g := range groups {
			logs[i] += g[i]
		}
	}

	top, sum := slices.Max(logs), 0.0

	r.law = make([]float64, len(gridLambda))
	for i, v := range logs {
		w := math.Exp(v - top)
		sum += w
		r.m += w * gridM[i/len(gridTau)]
		r.lnTau += w * math.Log(gridTau[i%len(gridTau)])

		for l, q := range laws[i] {
			r.law[l] += w * q
		}
	}

	for l := range r.law {
		r.law[l] /= sum
	}

	r.m, r.lnTau, r.evidence = r.m/sum, r.lnTau/sum, top+math.Log(sum)

	return r
}

// dot has four sums that do not wait for each other.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64

	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}

	for i, v := range a {
		s0 += v * b[i]
	}

	return s0 + s1 + (s2 + s3)
}

// kernels are the normal laws of ω·u on the grid of ln λ, cut at three deviations.
var kernels = func() map[float64][]float64 {
	step := math.Log(gridLambda[1] / gridLambda[0])

	out := map[float64][]float64{}
	for _, omega := range gridOmega[1:] {
		n, sum := int(math.Ceil(3*omega/step)), 0.0
		k := make([]float64, 2*n+1)
		for i := range k {
			d := float64(i-n) * step / omega
			k[i] = math.Exp(-d * d / 2)
			sum += k[i]
		}

		for i := range k {
			k[i] /= sum
		}

		out[omega] = k
	}

	return out
}()

// convolve convolves v along the grid of ln λ with N(0, ω²). Beyond the grid there is its
// edge's value, or nothing.
func convolve(v []float64, omega float64, edge bool) []float64 {
	k := kernels[omega]
	if k == nil {
		return v
	}

	n := len(k) / 2
	padded := make([]float64, 0, 200)

	first, last := 0.0, 0.0
	if edge {
		first, last = v[0], v[len(v)-1]
	}

	for range n {
		padded = append(padded, first)
	}

	padded = append(padded, v...)
	for range n {
		padded = append(padded, last)
	}

	return lists.Make(len(v), func(i int) float64 { return dot(k, padded[i:]) })
}

func linear(from, to float64, n int) []float64 {
	return lists.Make(n, func(i int) float64 { return from + (to-from)*float64(i)/float64(n-1) })
}

func logarithmic(from, to float64, n int) []float64 {
	return lists.Each(linear(math.Log(from), math.Log(to), n), math.Exp)
}

// gradient is the width in ln τ that each value stands for: half of the distance between
// its neighbours by second-order differences.
func gradient(tau []float64) []float64 {
	l, last := lists.Each(tau, math.Log), len(tau)-1
	return lists.Make(len(tau), func(i int) float64 {
		before, after := max(i-1, 0), min(i+1, last)
		return (l[after] - l[before]) / float64(after-before)
	})
}
