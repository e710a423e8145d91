package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Expected values: torch's autograd and MultivariateNormal, testdata/make_joint.py.
func TestGoldenJoint(t *testing.T) {
	g := loadGolden(t, "joint")
	for _, head := range []string{Joint, JointFull} {
		h := golden(g[head].(map[string]any))
		for _, k := range []string{"B", "din", "d", "H", "x", "y1", "y2"} {
			h[k] = g[k]
		}

		eachSet(t,
			func(t *testing.T, k *kernel.Set[float64]) { goldenJoint(t, head, h, k, 1e-9) },
			func(t *testing.T, k *kernel.Set[float32]) { goldenJoint(t, head, h, k, 1e-5) })
		cfg := DefaultConfig()
		cfg.Head = head
		goldenAnswers(t, cfg, h)
	}
}

// goldenJointTrainer returns a trainer with the golden weights and the triplets.
func goldenJointTrainer[T kernel.Float](t *testing.T, g golden, k *kernel.Set[T], cfg Config) (*trainer[T], []T) {
	in, d, h := g.int("din"), g.int("d"), g.int("H")
	cfg.Hidden, cfg.Dropout = []int{h, h}, 0
	tr := newTrainer(layoutOf(in, d, cfg), k, cfg)
	g.setParams(t, tr.layout, "", func(i int, v float64) { tr.p[i] = T(v) })
	trip := triplets.Set{N: g.int("B"), In: in, Out: d, X: g.flat(t, "x"), Y1: g.flat(t, "y1"), Y2: g.flat(t, "y2")}

	return tr, packRows[T](trip, triplets.Identity(in), triplets.Identity(d))
}

func goldenJoint[T kernel.Float](t *testing.T, head string, g golden, k *kernel.Set[T], tol float64) {
	idx := upTo(g.int("B"))

	for _, beta := range []float64{0, 0.5, 0.3} {
		cfg := DefaultConfig()
		cfg.Head, cfg.Beta = head, beta
		tr, rows := goldenJointTrainer(t, g, k, cfg)
		loss := tr.gradient(rows, idx, nil)
		tag := fmt.Sprintf("%.1f", beta)
		near(t, head+" loss "+tag, []float64{loss}, g.flat(t, "loss_"+tag), tol)
		compareParams(t, head+" gradient "+tag, g, tr.layout, "grad_"+tag+"_", tr.g, tol)

		// Swapping y1 and y2 changes nothing.
		tr, rows = goldenJointTrainer(t, g, k, cfg)

		swapped := make([]bool, len(idx))
		for i := range swapped {
			swapped[i] = i%2 == 0
		}

		near(t, head+" swapped", []float64{tr.gradient(rows, idx, swapped)}, []float64{loss}, tol)

		// A triplet with all the weight counts alone.
		alone, rows := goldenJointTrainer(t, g, k, cfg)
		want := alone.gradient(rows, idx[2:3], nil)
		tr, _ = goldenJointTrainer(t, g, k, cfg)
		tr.weight = make([]T, len(idx))
		tr.weight[2] = T(len(idx))
		near(t, head+" weighted", []float64{tr.gradient(rows, idx, nil)}, []float64{want}, tol)

		var grad []float64
		for _, v := range alone.g {
			grad = append(grad, float64(v))
		}

		near(t, head+" weighted gradient", tr.g, grad, tol)
	}
}

// goldenAnswers compares both answers and C of the model with torch's, and returns the
// model, written and read.
func goldenAnswers(t *testing.T, cfg Config, g golden) *Model {
	t.Helper()

	k := resolved(t, "auto")

	cfg.Hidden = []int{g.int("H"), g.int("H")}
	tr, rows := goldenJointTrainer(t, g, k, cfg)
	tr.learnBins(rows)
	m := newModel(tr, cfg, triplets.Identity(tr.in), triplets.Identity(tr.out), k.Name)
	b, err := json.Marshal(m)

	back := &Model{}
	if err == nil {
		err = json.Unmarshal(b, back)
	}

	if err != nil {
		t.Fatal(err)
	}

	x, y1 := g.flat(t, "x"), g.flat(t, "y1")
	mu, v := back.Predict(x)
	near(t, cfg.Head+" mean", mu, g.flat(t, "mu"), 1e-5)
	near(t, cfg.Head+" variance", v, g.flat(t, "var"), 1e-5)
	mu, v = back.PredictGiven(x, y1)
	near(t, cfg.Head+" mean given y1", mu, g.flat(t, "mu_given_y1"), 1e-5)
	near(t, cfg.Head+" variance given y1", v, g.flat(t, "var_given_y1"), 1e-5)

	e, err := back.Estimate(context.Background(), x, EstimateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	near(t, cfg.Head+" C", e.Cov, g.flat(t, "cov"), 1e-5)

	return back
}

// The closed form of Estimate is the integral it stands for: Gauss–Hermite
// points, at which a second answer linear in the outcome is integrated exactly, fed
// to the conditional answer, give the same C, δ = 0 and κ = 0; draws give CovRaw.
func TestJointEstimateIsQuadrature(t *testing.T) {
	for _, head := range []string{Joint, JointFull} {
		const in, d = 2, 3
		cfg := DefaultConfig()
		cfg.Head, cfg.Epochs, cfg.Hidden = head, 20, []int{16, 16}
		m, _, err := Fit(context.Background(), shapeData(200, in, d), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}

		x := []float64{0.3, -1, 1.5, 0.2, -4, 4}
		o := EstimateOptions{Samples: 64, Seed: 3}
		est := estimated(t, m, x, o)

		e := newEvaluator(m)
		nodes, weights := gaussHermite(5)
		eps := normals(EstimateOptions{Samples: 64, Sampler: Antithetic, Seed: 3}, d)
		err = e.laws(context.Background(), e.scaleX(x), func(i int) {
			l := e.l.(*law)
			l.factorTotal()
			factor := append([]float64(nil), l.m...)

			// answer feeds μ + m·ε back, in float64.
			answer := func(at []float64) (y, mean, variance []float64) {
				y, shift := make([]float64, d), make([]float64, d)
				for j := range d {
					for k := range j + 1 {
						shift[j] += factor[j*d+k] * at[k]
					}
					y[j] = l.mu[j] + shift[j]
				}

				mean, variance = make([]float64, d), make([]float64, d)
				given64(l, y, mean, variance)

				return y, mean, variance
			}

			c, delta, v, square := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
			for p := range 125 {
				w, at := 1.0, make([]float64, d)
				for j, q := 0, p; j < d; j, q = j+1, q/5 {
					w *= weights[q%5]
					at[j] = nodes[q%5]
				}

				y, mean, variance := answer(at)
				for j := range d {
					c[j] += w * (y[j] - l.mu[j]) * (mean[j] - l.mu[j])
					delta[j] += w * (mean[j] - l.mu[j])
					square[j] += w * (mean[j] - l.mu[j]) * (mean[j] - l.mu[j])
					v[j] += w * variance[j]
				}
			}

			raw := make([]float64, d)
			for s := range 64 {
				at := make([]float64, d)
				for j := range at {
					at[j] = float64(eps[s*d+j])
				}

				y, mean, _ := answer(at)
				for j := range d {
					raw[j] += y[j] * mean[j] / 64
				}
			}

			for j := range d {
				k := i*d + j
				scale := est.Var[k]
				if math.Abs(c[j]-est.Cov[k]) > 1e-9*scale || math.Abs(delta[j]) > 1e-9 ||
					math.Abs(v[j]+square[j]-est.Var[k]) > 1e-9*scale || est.Delta[k] != 0 || est.Kappa[k] != 0 ||
					math.Abs(raw[j]-l.mu[j]*l.mu[j]-est.CovRaw[k]) > 1e-9*(scale+l.mu[j]*l.mu[j]) {
					t.Errorf("%s, condition %d, outcome %d: C %v (%v), δ %v, κ %v, raw %v (%v)", head, i, j, c[j], est.Cov[k],
						delta[j], v[j]+square[j]-est.Var[k], raw[j]-l.mu[j]*l.mu[j], est.CovRaw[k])
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// given64 is the conditional answer by Gaussian elimination of (A+C)·w = y − μ.
func given64(l *law, y, mu, v []float64) {
	d := l.d
	for j := range d {
		// Row j of K = C(A+C)⁻¹ solves (A+C)·k = C's row j.
		m, k := make([]float64, d*d), make([]float64, d)
		for i := range m {
			m[i] = l.a[i] + l.c[i]
		}

		copy(k, l.c[j*d:(j+1)*d])

		for p := range d {
			for r := range d {
				if r == p {
					continue
				}

				f := m[r*d+p] / m[p*d+p]
				for q := range d {
					m[r*d+q] -= f * m[p*d+q]
				}

				k[r] -= f * k[p]
			}
		}

		mu[j], v[j] = l.mu[j], l.a[j*d+j]+l.c[j*d+j]
		for p := range d {
			k[p] /= m[p*d+p]
			mu[j] += k[p] * (y[p] - l.mu[p])
			v[j] -= k[p] * l.c[p*d+j]
		}
	}
}

// In one cell the most likely law has Ĉ = mean e and Â = mean r²: at these values,
// with μ the mean, the gradient of the plain likelihood is zero.
func TestJointClosedFormInOneCell(t *testing.T) {
	const n = 50
	data := triplets.Set{N: n, In: 1, Out: 1}
	p := newStream(4, 7)

	mu := 0.0
	for range n {
		shared := 0.8 * normQuantile(uniform(p))
		y1, y2 := 2+shared+0.5*normQuantile(uniform(p)), 2+shared+0.5*normQuantile(uniform(p))
		data.X, data.Y1, data.Y2 = append(data.X, 0), append(data.Y1, y1), append(data.Y2, y2)
		mu += (y1 + y2) / (2 * n)
	}

	a, c := 0.0, 0.0
	for i := range n {
		a += (data.Y1[i] - data.Y2[i]) * (data.Y1[i] - data.Y2[i]) / (2 * n)
		c += (data.Y1[i] - mu) * (data.Y2[i] - mu) / n
	}

	inverse := func(v float64) float64 { return math.Log(math.Expm1(v - 1e-6)) }

	idx := upTo(n)

	for head, raw := range map[string][]float64{
		Joint:     {mu, inverse(a), inverse(c)},
		JointFull: {mu, math.Log(math.Expm1(math.Sqrt(a - 1e-6))), math.Log(math.Expm1(math.Sqrt(c)))},
	} {
		cfg := DefaultConfig()
		cfg.Head, cfg.Beta, cfg.Dropout, cfg.Hidden = head, 0, 0, []int{4}
		tr := newTrainer(layoutOf(1, 1, cfg), kernel.Portable[float64](), cfg)
		b := tr.layout.b[1]
		copy(tr.p[b:], raw)
		tr.gradient(packRows[float64](data, triplets.Identity(1), triplets.Identity(1)), idx, nil)

		for j := range 3 {
			if g := tr.g[b+j]; math.Abs(g) > 1e-10 {
				t.Errorf("%s: gradient %d at Ĉ = mean e, Â = mean r² is %v", head, j, g)
			}
		}
	}
}

// The toy of docs/method.md#synthetic-data-and-couples, trained below x = 5 and
// judged on fresh pairs. Known truth: the noise, the error of the mean; C/(A+C) is
// near one in the centre with couples, near nothing with triplets. Plain likelihood, β = 0,
// ruins the mean, and beyond x = 5 the claim is far too small: docs/method.md says so.
func TestJointToy(t *testing.T) {
	if !long() {
		t.Skip("trains networks; DOUBLETAKE_LONG=1 runs it")
	}

	const gamma = 1.5
	inside := func(d triplets.Set) triplets.Set {
		var rows []int
		for i, x := range d.X {
			if x < 5 {
				rows = append(rows, i)
			}
		}

		return d.Select(rows)
	}

	fit := func(couples bool, seed uint64, beta float64) *Model {
		cfg := toyConfig()
		cfg.Head, cfg.Dropout, cfg.Epochs, cfg.Batch, cfg.Schedule, cfg.Seed = Joint, 0, 400, 64, Cosine, seed
		cfg.Beta = beta
		m, _, err := Fit(context.Background(), inside(toyData(1000, gamma, seed, couples)), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}

		return m
	}

	var a, noise, e, c, centre, centreOfCouples, off, plain, beyond, claimed float64

	const seeds = 3
	for seed := range uint64(seeds) {
		fresh := inside(toyData(4000, gamma, 100+seed, false))
		m, likelihood := fit(false, seed, 0.5), fit(false, seed, 0)
		est := estimated(t, m, fresh.X, EstimateOptions{Samples: 2})

		for i, x := range fresh.X {
			a += est.Var[i] - est.Cov[i]
			noise += gamma * gamma * math.Exp(-x*x)
			e += (fresh.Y1[i] - est.Mu[i]) * (fresh.Y2[i] - est.Mu[i])
			c += est.Cov[i]
			off += math.Pow(est.Mu[i]-x*math.Sin(x), 2) / float64(len(fresh.X)*seeds)
			mu, _ := likelihood.Predict([]float64{x})
			plain += math.Pow(mu[0]-x*math.Sin(x), 2) / float64(len(fresh.X)*seeds)
		}

		est = estimated(t, m, []float64{5.2, 5.5, 5.8}, EstimateOptions{Samples: 2})

		for i, x := range []float64{5.2, 5.5, 5.8} {
			beyond, claimed = beyond+math.Pow(est.Mu[i]-x*math.Sin(x), 2), claimed+est.Cov[i]
		}

		for _, couples := range []bool{false, true} {
			if couples {
				m = fit(true, seed, 0.5)
			}

			at := estimated(t, m, []float64{-0.4, -0.2, 0, 0.2, 0.4}, EstimateOptions{Samples: 2})

			share := 0.0
			for k := range at.Cov {
				share += at.Cov[k] / at.Var[k] / 5 / seeds
			}

			if couples {
				centreOfCouples += share
			} else {
				centre += share
			}
		}
	}

	t.Logf("A/noise %.3f, S %.2f, C/(A+C) in the centre %.3f with triplets, %.3f with couples; the mean's squared error "+
		"%.3f, with β = 0 %.3f; S beyond 5 %.0f", a/noise, e/c, centre, centreOfCouples, off, plain, beyond/claimed)

	if math.Abs(a/noise-1) > 0.05 || e/c < 0.5 || e/c > 2 || centre > 0.05 || centreOfCouples < 0.95 {
		t.Error("outside of the expected ranges: A/noise within 5 %, S from 0.5 to 2, below 0.05, above 0.95")
	}

	if plain < 2*off || beyond < 100*claimed {
		t.Error("expected β = 0 to double the error of the mean, and S above 100 beyond 5")
	}
}
