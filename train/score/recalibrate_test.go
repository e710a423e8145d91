package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doubletake/train/triplets"
)

// A model that claims a third of its total variance and four times its
// covariance is put right on fresh data; limits are four standard errors of a
// mean of n squared normals.
func TestRecalibrate(t *testing.T) {
	const n = 4000
	s, total, v := honest(21, n, 4)
	for k := range total {
		total[k] /= 3
	}

	r, err := Recalibrate(s, total, v)
	if err != nil {
		t.Fatal(err)
	}

	o := r.Outcomes[0]
	if se := 3 * math.Sqrt(2.0/n); math.Abs(o.TotalFactor-3) > 4*se {
		t.Errorf("σ-scaling %v, want 3 ± %v", o.TotalFactor, se)
	}

	if o.CovFactor == nil || math.Abs(*o.CovFactor-0.25) > 0.04 {
		t.Errorf("covariance factor %v, want 0.25", o.CovFactor)
	}

	if r.Rows != n || r.Runs != n {
		t.Errorf("%d rows, %d runs", r.Rows, r.Runs)
	}

	fresh, ft, fv := honest(22, n, 4)
	for k := range ft {
		ft[k] /= 3
	}

	before := Judge(fresh, ft, fv)
	for _, kind := range []string{Scaled, Isotonic} {
		nt, nv := r.Apply(kind, ft, fv)
		after := Judge(fresh, nt, nv)
		if after.Get("nll") >= before.Get("nll") || after.Get("ence") > 0.08 || before.Get("ence") < 0.5 ||
			math.Abs(after.Get("sum_e_ratio")-1) > 5*after.Get("sum_e_ratio_se") {
			t.Errorf("%s: NLL %v → %v, ENCE %v → %v, Σe/ΣC %v → %v ± %v", kind, before.Get("nll"), after.Get("nll"),
				before.Get("ence"), after.Get("ence"), before.Get("sum_e_ratio"), after.Get("sum_e_ratio"),
				after.Get("sum_e_ratio_se"))
		}
	}

	b, err := json.Marshal(r)

	var back Recalibration
	if err == nil {
		err = json.Unmarshal(b, &back)
	}

	if err != nil || !reflect.DeepEqual(back, *r) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// By hand: bins of ten equal x each; means 1, 4, 2, 5; pooling 4 and 2 to 3.
func TestIsotonicByHand(t *testing.T) {
	var x, y []float64
	for b, m := range []float64{1, 4, 2, 5} {
		for i := range 10 {
			x, y = append(x, float64(b)), append(y, m+float64(i)-4.5)
		}
	}

	want := Curve{X: []float64{0, 1.5, 3}, Y: []float64{1, 3, 5}}
	if c := isotonic(x, y, 0); !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}

	for _, p := range [][2]float64{{-7, 1}, {0, 1}, {0.75, 2}, {2.25, 4}, {3, 5}, {6, 10}} {
		if got := want.At(p[0]); math.Abs(got-p[1]) > 1e-12 {
			t.Errorf("at %v: %v, want %v", p[0], got, p[1])
		}
	}
}

// Whatever the data, the curve never falls, and its mean over the bins it was
// made of is that of the data (a property of isotonic regression).
func TestIsotonicInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "y")
		c := isotonic(x, y, math.Inf(-1))
		for i := 1; i < len(c.X); i++ {
			if c.Y[i] <= c.Y[i-1] || c.X[i] <= c.X[i-1] {
				t.Fatalf("not increasing: %+v", c)
			}
		}

		for _, v := range x {
			if math.IsNaN(c.At(v)) {
				t.Fatalf("no value at %v of %+v", v, c)
			}
		}
	})
}

func TestRecalibrateErrors(t *testing.T) {
	s, total, v := honest(1, 30, 1)
	few := Set{triplets.Set{N: 3, Out: 1, Y1: s.Y1[:3], Y2: s.Y2[:3]}, triplets.Answers{Mu: s.Mu[:3]}}
	if _, err := Recalibrate(few, total[:3], v[:3]); err == nil || !strings.Contains(err.Error(), "at least 10") {
		t.Errorf("three rows: %v", err)
	}

	s.Part = make([]triplets.Part, s.N)
	if _, err := Recalibrate(s, total, v); err == nil || !strings.Contains(err.Error(), "trained on") {
		t.Errorf("training pairs: %v", err)
	}

	s.Part, s.Couples = nil, true
	r, err := Recalibrate(s, total, v)
	if err != nil || r.Outcomes[0].CovFactor != nil || !strings.Contains(r.Outcomes[0].CovWhyNot, "couples") {
		t.Errorf("couples: %+v, %v", r, err)
	}

	if _, c := r.Apply(Isotonic, total, v); !reflect.DeepEqual(c, v) {
		t.Error("a covariance that could not be calibrated was changed")
	}

	total[4] = 0
	if _, err := Recalibrate(s, total, v); err == nil || !strings.Contains(err.Error(), "row 4") {
		t.Errorf("no variance: %v", err)
	}
}

// Noise that is skewed, Exp(1) − 1 in units of a σ that is right: the normal
// quantiles are wrong, the recalibrated ones right on fresh data. Expected
// values: the law's quantiles −ln(1−p) − 1 and, of its 95 % interval between the
// 2.5 and 97.5 % quantiles, coverage and width; errors of four standard errors
// of an empirical quantile, √(p(1−p)/n)/density.
func TestRecalibrateQuantiles(t *testing.T) {
	const n = 4000
	skewed := func(seed uint64) (Set, []float64) {
		rng := rand.New(rand.NewPCG(seed, 1))

		s, total := Set{Set: triplets.Set{N: n, Out: 1}}, []float64{}
		for range n {
			mu, sd := rng.NormFloat64(), 0.5+rng.Float64()
			s.Mu = append(s.Mu, mu)
			s.Y1, s.Y2 = append(s.Y1, mu+sd*(rng.ExpFloat64()-1)), append(s.Y2, mu+sd*(rng.ExpFloat64()-1))
			total = append(total, sd*sd)
		}

		return s, total
	}

	s, total := skewed(31)
	r, err := Recalibrate(s, total, nil)
	if err != nil {
		t.Fatal(err)
	}

	o := r.Outcomes[0]
	if len(o.QuantileMap.X) != 39 {
		t.Fatalf("%d levels", len(o.QuantileMap.X))
	}

	for _, p := range []float64{0.025, 0.1, 0.5, 0.9, 0.975} {
		want := -math.Log(1-p) - 1

		se := math.Sqrt(p*(1-p)/(2*n)) / (1 - p)
		if got := o.Sigmas(math.Sqrt2 * math.Erfinv(2*p-1)); math.Abs(got-want) > 4*se {
			t.Errorf("quantile %g is %v σ, want %v ± %v", p, got, want, se)
		}
	}

	fresh, ft := skewed(32)
	before, after := Judge(fresh, ft, nil), r.JudgeQuantiles(fresh, ft, nil)
	worst := func(q []QuantilePoint) float64 {
		w := 0.0
		for _, p := range q {
			w = max(w, math.Abs(p.Observed-p.Level))
		}

		return w
	}

	if b, a := worst(before.Quantiles), worst(after.Quantiles); b < 0.05 || a > 0.03 ||
		len(after.Quantiles) != len(before.Quantiles) {
		t.Errorf("largest distance of a share from its level %v → %v", b, a)
	}

	if math.Abs(after.Get("coverage95")-0.95) > 0.015 || after.Get("crps") >= before.Get("crps") {
		t.Errorf("coverage %v, CRPS %v → %v", after.Get("coverage95"), before.Get("crps"), after.Get("crps"))
	}

	if !math.IsNaN(after.Get("nll")) || after.Reason("nll") == "" || !math.IsNaN(after.Get("ence")) ||
		after.Get("r2") != before.Get("r2") || after.Get("e") != before.Get("e") {
		t.Errorf("%+v", after)
	}

	// With the map of the standard normal itself nothing changes, but that the
	// CRPS is a sum of 200 pinball losses.
	same := &Recalibration{Outcomes: []OutcomeRecalibration{{
		TotalFactor: 1,
		QuantileMap: Curve{X: []float64{-1, 1}, Y: []float64{-1, 1}},
	}}}

	q := same.JudgeQuantiles(fresh, ft, nil)
	if math.Abs(q.Get("crps")-before.Get("crps")) > 2e-3*before.Get("crps") ||
		math.Abs(q.Get("width95")-before.Get("width95")) > 1e-12 ||
		math.Abs(q.Get("coverage68")-before.Get("coverage68")) > 1e-9 ||
		math.Abs(q.Get("coverage95")-before.Get("coverage95")) > 1e-9 ||
		math.Abs(worst(q.Quantiles)-worst(before.Quantiles)) > 1e-9 {
		t.Errorf("the normal's own map: %+v, want %+v", q, before)
	}

	none := &Recalibration{Outcomes: []OutcomeRecalibration{{TotalFactor: 1}}}
	if q := none.JudgeQuantiles(fresh, ft, nil); q.Reason("crps") != "no quantile map was learned" ||
		!math.IsNaN(q.Get("coverage95")) {
		t.Errorf("without a map: %v, %q", q.Get("coverage95"), q.Reason("crps"))
	}
}
