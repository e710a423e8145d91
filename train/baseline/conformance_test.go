package baseline_test

import (
	"bytes"
	"fmt"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
)

// methods are the methods that the program has.
func methods(t *testing.T) (out []baseline.Info) {
	for _, name := range append([]string{"pair"}, baseline.Compared()...) {
		m, ok := baseline.Describe(name)
		must.Never(t, !ok, "%v", name)

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

// Every method is described, and the page about the method explains it and names its cost.
func TestMethodsAreDescribed(t *testing.T) {
	page := must.Read(t, "../../docs/method.md")

	_, costs, _ := bytes.Cut(page, []byte("## What the methods claim and cost"))
	costs, _, _ = bytes.Cut(costs, []byte("\n## "))
	for i, m := range methods(t) {
		if i > 0 && !bytes.Contains(costs, fmt.Appendf(nil, "`%s`", m.Name)) {
			t.Errorf("docs/method.md does not say what %q costs", m.Name)
		}

		must.Not(t, m.Claim == "" || !bytes.Contains(page, fmt.Appendf(nil, "**%s**", m.Name)),
			"docs/method.md does not explain %q", m.Name)
	}

	if _, ok := baseline.Describe("forest"); ok {
		t.Error("an unknown method is described")
	}
}
