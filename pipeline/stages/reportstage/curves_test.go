package reportstage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/simulate"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/triplets"
)

// polar is a campaign of a wing: nine angles at four speeds, y = angle·speed.
func polar(t *testing.T, angle string) *detail {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "run recording %s[deg] u[m/s] y_1[N] y_2[N]\n", angle)

	for _, u := range []int{10, 20, 30, 40} {
		for a := range 9 {
			fmt.Fprintf(&text, "r%d%d r%d%d %d %d %d %d\n", u, a, u, a, a, u, a*u, a*u+1)
		}
	}

	return details(t, stagetest.Table(text.String()), angle+", u", false)
}

// models trains two small networks on the rows of a detail.
func models(t *testing.T, d *detail) []*train.Model {
	t.Helper()
	var out []*train.Model
	c := train.DefaultConfig()
	c.Hidden, c.Epochs, c.Kernels = []int{4}, 2, "portable"
	for seed := range uint64(2) {
		c.Seed = seed
		m, _, err := train.Fit(context.Background(), d.set, c, nil)
		if err != nil {
			t.Fatal(err)
		}

		out = append(out, m)
	}

	return out
}

// held marks the conditions that hold a rule as the test part of a new split.
func held(d *detail, rule func(x []float64) bool) *report.SplitDetail {
	d.d.Splits = append(d.d.Splits, report.SplitDetail{Name: "s"})
	sp := &d.d.Splits[len(d.d.Splits)-1]
	for c := range len(d.d.X) / d.set.In {
		sp.Test = append(sp.Test, rule(d.d.X[c*d.set.In:(c+1)*d.set.In]))
	}

	return sp
}

// Profiles run along the input with most values, at a held-out place and at one
// where nothing was held out. Their numbers are those of Model.Estimate in the
// outcomes' units.
func TestProfiles(t *testing.T) {
	d := polar(t, "angle")
	list := models(t, d)

	sp := held(d, func(x []float64) bool { return x[1] == 20 && x[0] >= 3 && x[0] <= 5 })
	if err := d.curves(context.Background(), sp, list); err != nil {
		t.Fatal(err)
	}

	if len(sp.Profiles) != 2 || len(sp.Maps) != 1 {
		t.Fatalf("%d profiles, %d maps", len(sp.Profiles), len(sp.Maps))
	}

	p, q := sp.Profiles[0], sp.Profiles[1]
	if p.Input != 0 || p.At[1] != 20 || q.At[1] != 30 {
		t.Errorf("along %d at %v and %v", p.Input, p.At, q.At)
	}

	// Nine whole angles from 0 to 8 are too many to stay themselves: 121 places from 0
	// (no negative ones) to 8 + 15 %.
	if len(p.Grid) != 121 || p.Grid[0] != 0 || math.Abs(p.Grid[120]-9.2) > 1e-12 {
		t.Errorf("%d places from %g to %g", len(p.Grid), p.Grid[0], p.Grid[len(p.Grid)-1])
	}

	if !slices.Equal(p.Trained, [][2]float64{{0, 2}, {6, 8}}) || p.HeldOut {
		t.Errorf("trained over %v", p.Trained)
	}

	if !slices.Equal(q.Trained, [][2]float64{{0, 8}}) {
		t.Errorf("trained over %v", q.Trained)
	}

	for k, m := range list {
		for _, i := range []int{0, 60, 120} {
			est, err := m.Estimate(context.Background(), []float64{p.Grid[i], 20}, train.EstimateOptions{Samples: 2})
			if err != nil {
				t.Fatal(err)
			}

			s := m.OutcomeScale()
			want := []float64{s.Mean[0] + s.Std[0]*est.Mu[0], s.Std[0] * s.Std[0] * est.Var[0], s.Std[0] * s.Std[0] * est.Cov[0]}
			if got := []float64{p.Mu[k][i], p.Var[k][i], p.Cov[k][i]}; !alike(got, want) {
				t.Errorf("model %d at %g: %v, expected %v", k, p.Grid[i], got, want)
			}
		}
	}

	if p.TrueSigma != nil {
		t.Error("a law of data that have none")
	}
}

// A map holds the mean covariance over the models, on a grid of two inputs.
func TestMaps(t *testing.T) {
	d := polar(t, "theta_deg")
	list := models(t, d)

	sp := held(d, func(x []float64) bool { return x[1] == 20 })
	if err := d.curves(context.Background(), sp, list); err != nil {
		t.Fatal(err)
	}

	if len(sp.Profiles) != 0 { // directivities are drawn instead
		t.Errorf("%d profiles along an angle of the microphones", len(sp.Profiles))
	}

	m := sp.Maps[0]
	if m.XInput != 0 || m.YInput != 1 || len(m.X) != 24 || len(m.Y) != 16 || len(m.Cov) != 24*16 || m.At[1] != 20 {
		t.Fatalf("%+v", m)
	}

	for _, i := range []int{0, 100, 383} {
		x := []float64{m.X[i%24], m.Y[i/24]}

		want := 0.0
		for _, model := range list {
			a, err := answers(context.Background(), model, x)
			if err != nil {
				t.Fatal(err)
			}

			want += a.Cov[0] / 2
		}

		if !alike([]float64{m.Cov[i]}, []float64{want}) {
			t.Errorf("at %v: %g, expected %g", x, m.Cov[i], want)
		}
	}

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	if err := d.curves(cancelled, sp, list); err == nil || !strings.Contains(err.Error(), "evaluate model: ") {
		t.Error(err)
	}
}

// A place where something is held out moves to the nearest value that is not.
func TestTrainedPlace(t *testing.T) {
	values := [][]float64{{1, 2, 3}, {10, 20, 30, 40}, {5, 6}}
	for _, c := range []struct {
		held [][]float64
		want []float64
	}{
		{[][]float64{nil, nil, nil}, []float64{9, 30, 6}},
		{[][]float64{{1, 2, 3}, {30}, nil}, []float64{9, 20, 6}},
		{[][]float64{nil, {20, 30}, {6}}, []float64{9, 40, 5}},
		{[][]float64{nil, {10, 20, 30, 40}, nil}, []float64{9, 8, 6}}, // nothing is free
	} {
		if got := trainedPlace(0, []float64{9, 8, 7}, values, c.held); !slices.Equal(got, c.want) {
			t.Errorf("held out %v: %v, expected %v", c.held, got, c.want)
		}
	}
}

// Stretches join neighbouring values that were trained on.
func TestStretches(t *testing.T) {
	d := polar(t, "angle")
	for _, c := range []struct {
		rule func(x []float64) bool
		want [][2]float64
		all  bool
	}{
		{func([]float64) bool { return false }, [][2]float64{{0, 8}}, false},
		{func(x []float64) bool { return x[0] == 0 || x[0] == 4 }, [][2]float64{{1, 3}, {5, 8}}, false},
		{func(x []float64) bool { return x[0] != 4 }, [][2]float64{{4, 4}}, false},
		{func(x []float64) bool { return x[1] == 10 }, nil, true},
	} {
		got, all := d.stretches(held(d, c.rule), 0, []float64{0, 10})
		if !slices.Equal(got, c.want) || all != c.all {
			t.Errorf("%v, %v; expected %v, %v", got, all, c.want, c.all)
		}
	}

	if got, all := d.stretches(held(d, func([]float64) bool { return true }), 0, []float64{0, 11}); got != nil || all {
		t.Errorf("a speed that was not measured: %v, %v", got, all)
	}
}

// The noise of the toy is shown with its profile: γ·exp(−x²/2).
func TestLaw(t *testing.T) {
	tab := stagetest.Table("run recording x y_1 y_2\na a 1 1 2\nb b 2 2 3")
	toy := simulate.DefaultToy()
	toy.Gamma = 3
	d := newDetail(tab, details(t, tab, "x", false).set, false, &toy)
	p := report.Profile{Grid: []float64{0, 1, 2}}
	d.law(&p)

	if !alike(p.TrueSigma, []float64{3, 3 * math.Exp(-0.5), 3 * math.Exp(-2)}) {
		t.Errorf("%v", p.TrueSigma)
	}

	x := &experiment{}
	if x.toy() != nil {
		t.Error("a toy that is none")
	}

	x.ing.Pairs = &ingeststage.Pairs{Toy: &toy}
	if x.toy() != &toy {
		t.Error("the toy is not found")
	}
}

func TestNearest(t *testing.T) {
	if v := nearest([]float64{1, 4, 9}, 6); v != 4 {
		t.Errorf("%g", v)
	}

	if v := nearest([]float64{1, 3}, 2); v != 1 { // the first of two
		t.Errorf("%g", v)
	}
}

// The trust of outcomes is named by outcome.
func TestTrustOf(t *testing.T) {
	set := triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{
		{Name: "lift", Unit: "N"}, {Name: "moment", Unit: "N·m"}, {Name: "drag", Unit: "N"},
	}, []float64{1, 2}, make([]float64, 6), []float64{1, 1, 1, 1, 1, 1})
	set.Part = []triplets.Part{triplets.Train, triplets.Test}
	set.Run = []int{0, 1}
	set.Scale = triplets.Identity(3)
	a := triplets.Answers{Mu: make([]float64, 6), Var: []float64{9, 9, 9, 1, 4, 1}, Cov: make([]float64, 6)}
	got := networkTrust(set, a)
	if len(got) != 3 || got[0].Outcome != "lift" || got[0].Unit != "N" || got[1].Unit != "N·m" || got[1].Values != 2 ||
		got[2].Outcome != "drag" {
		t.Fatalf("%+v", got)
	}

	// Of the test row alone: σ is 1 and 2, all values lie inside.
	if got[0].ClaimedSigma != 1 || got[1].ClaimedSigma != 2 || got[0].Inside != 1 {
		t.Errorf("%+v", got)
	}
}
