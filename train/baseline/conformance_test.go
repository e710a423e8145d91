package baseline_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
)

// methods are the methods that the program has.
func methods(t *testing.T) (out []baseline.Info) {
	for _, name := range append([]string{"pair"}, baseline.Compared()...) {
		m, ok := baseline.Describe(name)
		if !ok {
			t.Fatal(name)
		}

		out = append(out, m)
	}

	return out
}

// Every method that New knows keeps the contract of Method and Predictor.
func TestConformance(t *testing.T) {
	for _, m := range methods(t) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			baselinetest.Conformance(t, m)
		})
	}
}

// A method with networks takes the epochs after which its trainings end: with all of them
// it is the method without, with fewer another one.
func TestStopOfMethods(t *testing.T) {
	data, x := baselinetest.Toy(60, 1), []float64{-2.5, 1.3, 2.7}
	for _, m := range methods(t) {
		if m.Closed {
			continue
		}

		want := baselinetest.Predicted(t, baselinetest.Fitted(t, m, data, 4), x)
		for _, stop := range []int{2, baselinetest.Quick().Config.Epochs} {
			s := baselinetest.Quick()
			s.Config.Stop = stop

			p, err := m.New(s).Fit(t.Context(), data, 4)
			if err != nil {
				t.Errorf("%s: stopped after %d of %d epochs: %v", m.Name, stop, s.Config.Epochs, err)
				continue
			}

			same := slices.Equal(baselinetest.Predicted(t, p, x).Mu, want.Mu)
			if same != (stop == s.Config.Epochs) {
				t.Errorf("%s: stopped after %d of %d epochs: the same as without %v", m.Name, stop, s.Config.Epochs, same)
			}
		}
	}
}

// Every method is described, and the page about the method explains it and names its cost.
func TestMethodsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}

	_, costs, _ := bytes.Cut(page, []byte("## What the methods claim and cost"))
	costs, _, _ = bytes.Cut(costs, []byte("\n## "))
	for i, m := range methods(t) {
		if i > 0 && !bytes.Contains(costs, fmt.Appendf(nil, "`%s`", m.Name)) {
			t.Errorf("docs/method.md does not say what %q costs", m.Name)
		}

		if m.Claim == "" || !bytes.Contains(page, fmt.Appendf(nil, "**%s**", m.Name)) {
			t.Errorf("docs/method.md does not explain %q", m.Name)
		}
	}

	if _, ok := baseline.Describe("forest"); ok {
		t.Error("an unknown method is described")
	}
}
