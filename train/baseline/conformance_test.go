package baseline_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
)

// methods are the methods that the program has.
func methods(t *testing.T) []baseline.Info {
	t.Helper()

	var infos []baseline.Info
	for _, name := range append([]string{"pair"}, baseline.Compared()...) {
		m, ok := baseline.Describe(name)
		require.True(t, ok, "%v", name)

		infos = append(infos, m)
	}

	return infos
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

// Every method is described, and the page about the method explains it and names what it costs more than the pair
// model.
func TestMethodsAreDescribed(t *testing.T) {
	page := testfile.Read(t, "../../docs/method.md")

	_, costs, _ := bytes.Cut(page, []byte("## What the methods claim and cost"))
	costs, _, _ = bytes.Cut(costs, []byte("\n## "))
	for _, m := range methods(t) {
		assert.NotEmpty(t, m.Claim, "the claim of %q", m.Name)
		assert.Contains(t, string(page), "**"+m.Name+"**", "docs/method.md does not explain %q", m.Name)
		if m.Name != "pair" {
			assert.Contains(t, string(costs), "`"+m.Name+"`", "docs/method.md does not say what %q costs", m.Name)
		}
	}

	_, ok := baseline.Describe("forest")
	assert.False(t, ok, "an unknown method is described")
}
