package score

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every metric has a unique key, a symbol, a meaning and an input. Tables show it as it is or in hundredths.
func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		assert.False(t, seen[m.Key], "the key %s occurs once", m.Key)
		assert.NotEmpty(t, m.Symbol, "symbol of %s", m.Key)
		assert.NotEmpty(t, m.What, "meaning of %s", m.Key)
		assert.NotZero(t, m.Uses, "inputs of %s", m.Key)
		assert.Contains(t, []float64{1, 100}, m.Factor, "factor of %s", m.Key)
		assert.Contains(t, []string{"1", "nat", "sd", "sd²", "sd⁴"}, m.Unit, "unit of %s", m.Key)

		seen[m.Key] = true
		assert.Equal(t, m.What, MetricOf(m.Key).What, "%s is found by its key", m.Key)
	}
}

// The numbers that compare the network with other methods have both inputs, parts of a split and methods. Expected: R²,
// the measured squared error, and the ratio of errors and claims with its standard error.
func TestMetricsOfPartsAndMethods(t *testing.T) {
	methods := keys(Methods)
	var shared []string
	for _, key := range keys(Parts) {
		if slices.Contains(methods, key) {
			shared = append(shared, key)
		}
	}

	assert.Equal(t, []string{"r2", "e", "sum_e_ratio", "sum_e_ratio_se"}, shared)
}
