package score

import (
	"errors"
	"fmt"
	"math"
)

// VaryingMap is a BetaMap that varies with the law N(μ, σ²) it is applied to (Song et
// al. 2019): ln A, ln B and C are those of Base plus one Gaussian process each over
// laws, with the kernel of their reference
//
//	k = θ·(s + s' + θ²)^−½·exp(−½(μ − μ')²/(s + s' + θ²)),  s = σ²,
//
// seen through at most twelve laws of the calibration set (greedy pivots of
// k). Theirs is a variational posterior; this is the most probable function, its
// length θ and height chosen by the likelihood of runs left out, against Base
// alone: then there are no pivots. Laws are in units of Scale.
type VaryingMap struct {
	Base   BetaMap      `json:"base"`
	Scale  float64      `json:"scale"` // standard deviation of the calibration set's means
	Theta  float64      `json:"theta"`
	Mu     []float64    `json:"mu"` // of the pivots
	Var    []float64    `json:"var"`
	Factor [][]float64  `json:"factor"` // lower Cholesky factor of k between pivots
	U      [3][]float64 `json:"u"`      // coefficients of ln A, ln B, C
}

const maxPivots = 12

// Candidates of the processes' length, in units of Scale, and height.
var (
	gpBetaLengths = []float64{0.3, 0.6, 1.2}
	gpBetaHeights = []float64{0.3, 1}
)

// gpBetaFolds is the number of parts that runs are left out in; larger sets are
// thinned to gpBetaRows laws for it.
const (
	gpBetaFolds = 3
	gpBetaRows  = 1000
)

func (g *VaryingMap) kernel(m1, v1, m2, v2 float64) float64 {
	w := v1 + v2 + g.Theta*g.Theta
	return g.Theta / math.Sqrt(w) * math.Exp(-(m1-m2)*(m1-m2)/(2*w))
}

// features are the coordinates in which a process with kernel k is a sum of
// independent standard normals: L⁻¹k(pivots, law).
func (g *VaryingMap) features(dst []float64, mu, v float64) {
	mu, v = mu/g.Scale, v/(g.Scale*g.Scale)
	for i := range g.Mu {
		s := g.kernel(mu, v, g.Mu[i], g.Var[i])
		for k, f := range g.Factor[i][:i] {
			s -= f * dst[k]
		}

		dst[i] = s / g.Factor[i][i]
	}
}

// at is the map for the law N(mu, v).
func (g *VaryingMap) at(mu, v float64) BetaMap {
	var phi [maxPivots]float64
	g.features(phi[:], mu, v)
	return g.shifted(phi[:len(g.Mu)])
}

func (g *VaryingMap) shifted(phi []float64) BetaMap {
	var w [3]float64
	for k, u := range g.U {
		for i, f := range phi {
			w[k] += f * u[i]
		}
	}

	return BetaMap{g.Base.A * math.Exp(w[0]), g.Base.B * math.Exp(w[1]), g.Base.C + w[2]}
}

// check reports what no calibration of ours holds.
func (g *VaryingMap) check() error {
	n := len(g.Mu)
	bad := n > maxPivots || len(g.Var) != n || len(g.Factor) != n || !g.Base.ok() || !(g.Scale > 0) || !(g.Theta > 0)
	for i := range g.Factor {
		bad = bad || len(g.Factor[i]) != i+1 || !(g.Factor[i][i] > 0)
	}

	for _, u := range g.U {
		bad = bad || len(u) != n
	}

	if bad {
		return errors.New("its gp-beta map is damaged")
	}

	return nil
}

// pivot chooses pivots among the laws, each the one that those before explain
// least, until what is left is a thousandth of a variance.
func (g *VaryingMap) pivot(mu, v []float64) {
	left := make([]float64, len(mu))

	rows := make([][]float64, len(mu)) // features so far
	for i := range mu {
		m, s := mu[i]/g.Scale, v[i]/(g.Scale*g.Scale)
		left[i] = g.kernel(m, s, m, s)
		rows[i] = make([]float64, maxPivots)
	}

	g.Mu, g.Var, g.Factor = []float64{}, []float64{}, [][]float64{}
	for k := range maxPivots {
		p := 0
		for i := range left {
			if left[i] > left[p] {
				p = i
			}
		}

		if left[p] < 1e-3 {
			return
		}

		g.Mu, g.Var = append(g.Mu, mu[p]/g.Scale), append(g.Var, v[p]/(g.Scale*g.Scale))
		diagonal := math.Sqrt(left[p])
		g.Factor = append(g.Factor, append(append([]float64{}, rows[p][:k]...), diagonal))
		for i := range mu {
			s := g.kernel(mu[i]/g.Scale, v[i]/(g.Scale*g.Scale), g.Mu[k], g.Var[k])
			for q := range k {
				s -= rows[i][q] * g.Factor[k][q]
			}

			rows[i][k] = s / diagonal
			left[i] -= rows[i][k] * rows[i][k]
		}
	}
}

// fit maximises the posterior of U on the laws where use is true: phi holds their
// features, l two levels for each law.
func (g *VaryingMap) fit(phi [][]float64, l levels, height float64, use func(i int) bool) error {
	n := len(g.Mu)
	unpack := func(t []float64) {
		for k := range g.U {
			g.U[k] = t[k*n : (k+1)*n]
		}
	}

	t, _, err := minimise(3*n, func(t, grad []float64) float64 {
		unpack(t)

		loss := 0.0
		for k, u := range t {
			loss += u * u / (2 * height * height)
			grad[k] = u / (height * height)
		}

		for i, f := range phi {
			if !use(i) {
				continue
			}

			m := g.shifted(f)
			for _, at := range []int{2 * i, 2*i + 1} {
				value, by := l.gradient(at, m)
				loss += value / 2

				for k, d := range by {
					for q, x := range f {
						grad[k*n+q] += d / 2 * x
					}
				}
			}
		}

		return loss
	})

	unpack(t)

	return err
}

// fitVaryingMap learns from laws N(mu, v) and two residuals z of each; run numbers the
// laws' runs.
func fitVaryingMap(base BetaMap, mu, v, z []float64, run []int) (*VaryingMap, error) {
	all, whole := levelsOf(z), func(int) bool { return true }

	mean, square := average(mu, nil), 0.0
	for _, m := range mu {
		square += (m - mean) * (m - mean) / float64(len(mu))
	}

	g := &VaryingMap{Base: base, Scale: math.Sqrt(square), Theta: 1}
	alone := func() *VaryingMap {
		return &VaryingMap{
			Base: base, Scale: 1, Theta: 1, Mu: []float64{}, Var: []float64{}, Factor: [][]float64{},
			U: [3][]float64{{}, {}, {}},
		}
	}

	if !(g.Scale > 0) {
		return alone(), nil
	}

	step := (len(mu) + gpBetaRows - 1) / gpBetaRows
	var tm, tv []float64
	var thin levels

	var fold []int
	for i := 0; i < len(mu); i += step {
		tm, tv, fold = append(tm, mu[i]), append(tv, v[i]), append(fold, run[i]%gpBetaFolds)
		thin.below = append(thin.below, all.below[2*i:2*i+2]...)
		thin.above = append(thin.above, all.above[2*i:2*i+2]...)
	}

	best, height := 0.0, 0.0 // what leaving out gains over Base
	for _, theta := range gpBetaLengths {
		try := VaryingMap{Base: base, Scale: g.Scale, Theta: theta}
		try.pivot(tm, tv)

		if len(try.Mu) == 0 { // laws so wide that their means are as good as one
			continue
		}

		phi := try.allFeatures(tm, tv)
		for _, h := range gpBetaHeights {
			gain := 0.0
			for f := range gpBetaFolds {
				if err := try.fit(phi, thin, h, func(i int) bool { return fold[i] != f }); err != nil {
					return nil, err
				}

				for i := range phi {
					if fold[i] == f {
						m := try.shifted(phi[i])
						for _, at := range []int{2 * i, 2*i + 1} {
							gain += m.logDensity(thin.below[at], thin.above[at]) - base.logDensity(thin.below[at], thin.above[at])
						}
					}
				}
			}

			if gain > best {
				best, height, g.Theta = gain, h, theta
			}
		}
	}

	if height == 0 {
		return alone(), nil
	}

	g.pivot(tm, tv)

	if err := g.fit(g.allFeatures(mu, v), all, height, whole); err != nil {
		return nil, fmt.Errorf("fit gp-beta: %w", err)
	}

	return g, nil
}

func (g *VaryingMap) allFeatures(mu, v []float64) [][]float64 {
	phi := make([][]float64, len(mu))
	for i := range mu {
		phi[i] = make([]float64, len(g.Mu))
		g.features(phi[i], mu[i], v[i])
	}

	return phi
}
