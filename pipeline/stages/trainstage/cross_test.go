package trainstage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/stages/stagetest"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// knowsNothing predicts zero with a claim far too small, and keeps the sets that it was
// fitted on.
type knowsNothing struct{ seen *[]triplets.Set }

func (m knowsNothing) Fit(_ context.Context, data triplets.Set, _ uint64) (baseline.Predictor, error) {
	*m.seen = append(*m.seen, data)
	return m, nil
}

func (m knowsNothing) Predict(_ context.Context, x []float64) (*baseline.Prediction, error) {
	p := &baseline.Prediction{N: len(x), Out: 1}
	for range x {
		p.Mu, p.Total, p.Epistemic = append(p.Mu, 0), append(p.Total, 0.0101), append(p.Epistemic, 1e-4)
	}

	return p, nil
}

// Simulation with known truth: in each of nine groups the outcome is 1 or −1 with a
// noise of 0.1, so that the squared error of a method that predicts zero is 1 in every
// group, 10,000 times its claim. The scale is learned from the trainings without one group
// each, which see neither it nor the held-out one.
func TestCrossedMethodIsCalibrated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var text strings.Builder
	text.WriteString("run recording x y_1 y_2\n")

	for g := range 9 {
		for k := range 8 {
			y := float64(1 - 2*(g%2))
			fmt.Fprintf(&text, "r%d-%d a %d %g %g\n", g, k, g, y+0.1*r.NormFloat64(), y+0.1*r.NormFloat64())
		}
	}

	tab := stagetest.Table(text.String())
	b := stagetest.New(t, "{inputs: [x], honest: {methods: true}, splits: {four: {test: {x: 4}}}}", tab)
	set, err := Triplets(b.Experiment, tab)
	if err != nil {
		t.Fatal(err)
	}

	s := b.Train.Splits[0]
	if set, err = Split(b.Experiment, set, tab, s); err != nil {
		t.Fatal(err)
	}

	condition, ok := Crosses(b.Experiment, s)
	if condition != "x" || !ok {
		t.Fatalf("groups of %q, %v", condition, ok)
	}

	var seen []triplets.Set
	m := knowsNothing{&seen}
	z, _ := tab.Floats("x")

	full, err := m.Predict(context.Background(), set.Of(triplets.Test).X)
	if err != nil {
		t.Fatal(err)
	}

	l := (&planner{exp: b.Experiment}).learner(s, condition)
	l.Base = "ensemble"
	fit := func(data triplets.Set, x []float64) (mu, claim, noise []float64, err error) {
		if _, err := m.Fit(context.Background(), data, 1); err != nil {
			return nil, nil, nil, err
		}

		p, err := m.Predict(context.Background(), x)
		claim, noise = parts(p)

		return p.Mu, claim, noise, err
	}

	claim, noise := parts(full)
	c, err := l.Method(context.Background(), set, z, fit, full.Mu, claim, noise)
	if err != nil || c.Absent != "" || c.Calibration.K != 8 || c.Calibration.Scale.Prior.Name != "networks" {
		t.Fatalf("%+v, %v", c, err)
	}

	if r := c.Record; !(r.RatioAfter >= 0.5 && r.RatioAfter <= 2) || r.After.Coverage != 1 {
		t.Errorf("Σe/Σ(scaled variance) %v, covers %v; known: error 1 in every group", r.RatioAfter, r.After.Coverage)
	}

	var left []float64
	for _, d := range seen {
		if d.N != 7*8 || slices.Contains(d.X, 4) || len(slices.Compact(slices.Clone(d.Group))) != 7 {
			t.Errorf("trained on %d rows with x of %v", d.N, slices.Compact(slices.Sorted(slices.Values(d.X))))
		}

		for g := range 9 {
			if g != 4 && !slices.Contains(d.X, float64(g)) {
				left = append(left, float64(g))
			}
		}
	}

	if !slices.Equal(left, []float64{0, 1, 2, 3, 5, 6, 7, 8}) {
		t.Errorf("left out %v", left)
	}

	// Nothing of the held-out outcomes enters what is learned: with others the same scale
	// makes the ratio that of their errors.
	for _, i := range set.RowsOf(triplets.Test) {
		set.Y1[i], set.Y2[i] = 3*set.Y1[i], 3*set.Y2[i]
	}

	d, err := l.Method(context.Background(), set, z, fit, full.Mu, claim, noise)
	if err != nil || !(math.Abs(d.Record.RatioAfter/9/c.Record.RatioAfter-1) < 1e-12) {
		t.Errorf("%+v after %+v: %v", d, c, err)
	}

	// An input that varies in one group alone cannot be learned without it.
	constant := func(triplets.Set, []float64) (mu, claim, noise []float64, err error) {
		return nil, nil, nil, fmt.Errorf("fit gp: %w", &train.ConstantInputError{Value: 4})
	}
	d, err = l.Method(context.Background(), set, z, constant, full.Mu, claim, noise)
	if err != nil || d.Absent != "without x 0: x is constant (4)" || d.Record != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// The tasks depend on the full training and the triplets, one for each method and seed;
// without the setting there is none, and the tasks of the methods have the same keys.
func TestCrossTasks(t *testing.T) {
	const settings = "{inputs: [x], seeds: 2, compare: [gp, constant], honest: {base: none%s}, " +
		"splits: {high: {test: {x: {min: 4}}}}}"
	planned := func(more string) *stagetest.Experiment {
		b := stagetest.New(t, fmt.Sprintf(settings, more), stagetest.Wave())
		if _, err := Plan(b.Experiment, b.Ing, b.Trip); err != nil {
			t.Fatal(err)
		}

		return b
	}

	with, without := planned(", methods: true").Keys(), planned("").Keys()

	crossed := 0
	for id, key := range with {
		if strings.HasSuffix(id, "left-out") {
			crossed++
		} else if without[id] != key {
			t.Errorf("%s has another key", id)
		}
	}

	if crossed != 6 || len(with) != len(without)+6 {
		t.Errorf("%d calibrations among %d tasks, %d without", crossed, len(with), len(without))
	}
}
