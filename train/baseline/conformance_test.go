package baseline_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
)

// methods are the methods that the program has.
func methods(t *testing.T) (out []baseline.Info) {
	for _, name := range append([]string{"pair"}, baseline.Compared()...) {
		m, ok := baseline.Describe(name)
		require.True(t, ok, "%v", name)

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
	page := testfile.Read(t, "../../docs/method.md")

	_, costs, _ := bytes.Cut(page, []byte("## What the methods claim and cost"))
	costs, _, _ = bytes.Cut(costs, []byte("\n## "))
	for i, m := range methods(t) {
		if i > 0 && !bytes.Contains(costs, fmt.Appendf(nil, "`%s`", m.Name)) {
			t.Errorf("docs/method.md does not say what %q costs", m.Name)
		}

		require.NotEmpty(t, m.Claim, "docs/method.md does not explain %q", m.Name)
		assert.Contains(t, string(page), "**"+m.Name+"**", "docs/method.md does not explain %q", m.Name)
	}

	if _, ok := baseline.Describe("forest"); ok {
		t.Error("an unknown method is described")
	}
}
