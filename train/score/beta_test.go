package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"doubletake/train/triplets"
)

// Expected values: scipy's optimisation, quadrature and special functions,
// testdata/make_beta.py.
func TestBetaAgainstScipy(t *testing.T) {
	var g struct {
		Mu, V, Z, Map, At, Density, CRPS, Quantiles []float64
		Second, Scale, Theta, Height                float64
		PivotMu                                     []float64 `json:"pivot_mu"`
		PivotVar                                    []float64 `json:"pivot_var"`
		LawMu                                       []float64 `json:"law_mu"`
		LawVar                                      []float64 `json:"law_var"`
		Varying                                     []float64
	}

	raw, err := os.ReadFile("testdata/beta.json")
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}

	if err != nil || len(g.Z) != 300 || len(g.Varying) != 15 {
		t.Fatal(err, len(g.Z), len(g.Varying))
	}

	near := func(what string, got, want, tol float64) {
		t.Helper()
		if math.Abs(got-want) > tol*(1+math.Abs(want)) {
			t.Errorf("%s: %.10g, scipy %.10g", what, got, want)
		}
	}

	m, err := fitBeta(g.Z)
	if err != nil {
		t.Fatal(err)
	}

	near("a", m.A, g.Map[0], 1e-6)
	near("b", m.B, g.Map[1], 1e-6)
	near("c", m.C, g.Map[2], 1e-6)

	m = BetaMap{g.Map[0], g.Map[1], g.Map[2]}
	for i, z := range g.At {
		near("density", math.Exp(m.logDensity(logNormCDF(z), logNormCDF(-z))-z*z/2-logSqrt2Pi), g.Density[i], 1e-12)
		c, _ := m.crps(z, 0)
		near("CRPS", c, g.CRPS[i], 2e-4)
	}

	for i, p := range []float64{0.001, 0.025, 0.5, 0.975} {
		near("quantile", m.sigmas(math.Sqrt2*math.Erfinv(2*p-1)), g.Quantiles[i], 1e-9)
	}

	near("second moment", m.secondMoment(), g.Second, 1e-9)

	v := VaryingMap{Base: m, Scale: g.Scale, Theta: g.Theta}
	v.Mu, v.Var = g.PivotMu, g.PivotVar

	// The factor, by Cholesky and Banachiewicz.
	for i := range v.Mu {
		row := make([]float64, i+1)
		for j := range row {
			s := v.kernel(v.Mu[i], v.Var[i], v.Mu[j], v.Var[j])
			for k := range j {
				other := row
				if j < i {
					other = v.Factor[j]
				}

				s -= row[k] * other[k]
			}

			if i == j {
				row[j] = math.Sqrt(s)
			} else {
				row[j] = s / v.Factor[j][j]
			}
		}

		v.Factor = append(v.Factor, row)
	}

	if err := v.fit(v.allFeatures(g.Mu, g.V), levelsOf(g.Z), g.Height, func(int) bool { return true }); err != nil {
		t.Fatal(err)
	}

	for i := range g.LawMu {
		m := v.at(g.LawMu[i], g.LawVar[i])
		near("varying a", m.A, g.Varying[3*i], 1e-5)
		near("varying b", m.B, g.Varying[3*i+1], 1e-5)
		near("varying c", m.C, g.Varying[3*i+2], 1e-5)
	}
}

// The derivative of the likelihood is that of finite differences.
func TestBetaGradient(t *testing.T) {
	l := levelsOf([]float64{-35, -2, 0.3, 7})
	at := [3]float64{0.4, -0.7, 0.2}

	of := func(p [3]float64) BetaMap { return BetaMap{math.Exp(p[0]), math.Exp(p[1]), p[2]} }
	for i := range l.below {
		_, by := l.gradient(i, of(at))
		for k := range at {
			up, down := at, at
			up[k] += 1e-5
			down[k] -= 1e-5
			f1, _ := l.gradient(i, of(up))

			f0, _ := l.gradient(i, of(down))
			if d := (f1 - f0) / 2e-5; math.Abs(d-by[k]) > 1e-6*(1+math.Abs(d)) {
				t.Errorf("value %d, parameter %d: %v, differences %v", i, k, by[k], d)
			}
		}
	}
}

// claims draws pairs of y = μ + k(μ)·σ·ε where σ² is claimed.
func claims(seed uint64, n int, k func(mu float64) float64) (Set, []float64) {
	rng := rand.New(rand.NewPCG(seed, 3))

	s, total := Set{Set: triplets.Set{N: n, Out: 1}}, make([]float64, n)
	for i := range n {
		mu, sd := 4*rng.Float64()-2, 0.3+0.4*rng.Float64()
		total[i] = sd * sd
		s.Mu = append(s.Mu, mu)
		s.Y1 = append(s.Y1, mu+k(mu)*sd*rng.NormFloat64())
		s.Y2 = append(s.Y2, mu+k(mu)*sd*rng.NormFloat64())
	}

	return s, total
}

// Known truth: claims that hold change nothing; noise of twice the claimed
// deviation makes the 95 % interval twice as wide; where the factor is ½ at μ < 0
// and 2 at μ > 0, one map for all fails on either side and a varying one does not.
func TestBetaRecoversTruth(t *testing.T) {
	n, exact := 4000, true
	if os.Getenv("DOUBLETAKE_LONG") != "all" {
		n, exact = 400, false // the varying map takes its seconds
	}

	s, total := claims(1, n, func(float64) float64 { return 1 })
	r, err := Recalibrate(s, total, nil, GPBeta)
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("claims that hold: %+v", *r.Outcomes[0].Beta)

	if m := r.Outcomes[0].Beta; exact && (math.Abs(m.A-1) > 0.05 || math.Abs(m.B-1) > 0.05 || math.Abs(m.C) > 0.05) {
		t.Errorf("claims that hold: %+v", m)
	}

	s, total = claims(2, 4000, func(float64) float64 { return 2 })
	if r, err = Recalibrate(s, total, nil, Beta); err != nil {
		t.Fatal(err)
	}

	width := func(kind string, mu float64) float64 {
		o := r.Outcomes[0]
		m := o.betaMap(kind, mu, 0.25)
		return math.Sqrt(o.TotalFactor) * (m.sigmas(z95) - m.sigmas(-z95)) / (2 * z95)
	}

	t.Logf("twice the deviation: %.4f times as wide", width(Beta, 0))

	if w := width(Beta, 0); math.Abs(w-2) > 0.06 {
		t.Errorf("twice the deviation: the interval is %v times as wide", w)
	}

	step := func(mu float64) float64 {
		if mu < 0 {
			return 0.5
		}
		return 2
	}

	s, total = claims(3, n, step)
	if r, err = Recalibrate(s, total, nil, GPBeta); err != nil {
		t.Fatal(err)
	}

	for _, mu := range []float64{-1.5, -1, 1, 1.5} {
		t.Logf("at %v: one map %.3f, varying %.3f of the true width", mu, width(Beta, mu)/step(mu),
			width(GPBeta, mu)/step(mu))

		if w := width(Beta, mu) / step(mu); math.Abs(w-1) < 0.2 {
			t.Errorf("one map at %v: interval %v of the true one", mu, w)
		}

		if w := width(GPBeta, mu) / step(mu); exact && math.Abs(w-1) > 0.1 {
			t.Errorf("varying map at %v: interval %v of the true one", mu, w)
		}
	}

	fresh, ft := claims(4, n, step)
	one, varying := r.JudgeLaw(Beta, fresh, ft, nil), r.JudgeLaw(GPBeta, fresh, ft, nil)

	plain := Judge(fresh, ft, nil)
	for _, key := range []string{"nll", "crps"} {
		if a, b, c := plain.Get(key), one.Get(key), varying.Get(key); exact && !(c < b && b < a+0.02) {
			t.Errorf("%s: claimed %v, one map %v, varying %v", key, a, b, c)
		}
	}

	if c := varying.Get("coverage95"); exact && math.Abs(c-0.95) > 0.01 || len(varying.Quantiles) != len(plain.Quantiles) {
		t.Errorf("coverage %v", c)
	}

	// The law's own mean square, of what it was drawn from.
	tot, _ := r.Apply(GPBeta, []float64{-1, 1}, []float64{0.25, 0.25}, nil)
	if exact && (math.Abs(tot[0]/(0.25*0.25)-1) > 0.2 || math.Abs(tot[1]/(0.25*4)-1) > 0.2) {
		t.Errorf("totals %v, want %v and %v", tot, 0.25*0.25, 0.25*4)
	}

	b, err := json.Marshal(r)

	var back Recalibration
	if err == nil {
		err = json.Unmarshal(b, &back)
	}

	if err != nil || back.Check() != nil || !reflect.DeepEqual(back, *r) {
		t.Errorf("read back: %v, %v", err, back.Check())
	}

	back.Outcomes[0].GPBeta.Factor[0][0] = -1
	if back.Check() == nil {
		t.Error("a damaged map was not noticed")
	}
}

// With maps that change nothing, laws score as the normal law they are, and levels
// are those of its distribution.
func TestLawsOfNothing(t *testing.T) {
	s, total, v := honest(5, 500, 1)
	r := &Recalibration{Outcomes: []OutcomeRecalibration{{
		TotalFactor: 1, QuantileMap: Curve{X: []float64{-1, 1}, Y: []float64{-1, 1}}, Beta: &BetaMap{1, 1, 0},
		GPBeta: &VaryingMap{Base: BetaMap{1, 1, 0}, Scale: 1, Theta: 1},
	}}}

	plain := Judge(s, total, v)
	for _, kind := range []string{Quantile, Beta, GPBeta} {
		q := r.JudgeLaw(kind, s, total, v)
		for _, key := range []string{"nll", "crps", "coverage68", "coverage95", "width95", "e", "sum_e_ratio"} {
			tol := 1e-9
			if key == "crps" {
				tol = 2e-3
			}

			if kind == Quantile && key == "nll" {
				continue // no density
			}

			if a, b := q.Get(key), plain.Get(key); !(math.Abs(a-b) <= tol*(1+math.Abs(b))) {
				t.Errorf("%s: %s is %v, of the normal law %v", kind, key, a, b)
			}
		}

		tot, cov := r.Apply(kind, s.Mu, total, v)
		for k := range tot {
			if math.Abs(tot[k]-total[k]) > 1e-9 || cov[k] != v[k] {
				t.Fatalf("%s: %v, %v became %v, %v", kind, total[k], v[k], tot[k], cov[k])
			}
		}

		if p := r.Below(kind, 0, 2, 4, 2+2*1.2); math.Abs(p-0.5*math.Erfc(-1.2/math.Sqrt2)) > 1e-12 {
			t.Errorf("%s: level %v", kind, p)
		}
	}
}

// Simulation with known truth: normal residuals of half the claimed deviation, and one
// of 50 deviations that is no part of the law. The map of the others is kept: the 95 %
// interval is half as wide as claimed within 3 %, as without the one.
func TestBetaIsRobust(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	const n = 1000
	s := Set{Set: triplets.Set{N: n, In: 1, Out: 1}}
	s.Mu = make([]float64, n)
	for i := range n {
		s.X, s.Condition, s.Run = append(s.X, float64(i)), append(s.Condition, i), append(s.Run, i)
		s.Y1, s.Y2 = append(s.Y1, r.NormFloat64()/2), append(s.Y2, r.NormFloat64()/2)
	}

	total := slices.Repeat([]float64{1}, n)

	width := func() float64 {
		c, err := Recalibrate(s, total, nil, Beta)
		if err != nil {
			t.Fatal(err)
		}

		return c.JudgeLaw(Beta, s, total, nil).Get("width95") / (2 * z95)
	}

	clean := width()
	s.Y1[17] = 50
	far := width()
	t.Logf("width over the claimed one: %.4f, with one far residual %.4f", clean, far)

	if math.Abs(clean-0.5) > 0.03*0.5 || math.Abs(far-0.5) > 0.03*0.5 {
		t.Error("expected 0.5 within 3 %")
	}
}
