package arrays_test

import (
	"math"
	"testing"

	"doubletake/ingest/format/internal/arrays"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Integers limit the stored numbers, and floats beside packed integers limit the values: stored numbers 0 to 5 with
// scale_factor 0.5 have the values 0 to 2.5 (NetCDF Users Guide, appendix A). The two limits may have different types.
func TestPackingLimits(t *testing.T) {
	integers := func(v ...float64) arrays.Numbers { return arrays.Numbers{Values: v, Integer: true} }
	floats := func(v ...float64) arrays.Numbers { return arrays.Numbers{Values: v} }

	nan := math.NaN()
	for _, c := range []struct {
		name       string
		attributes map[string]arrays.Numbers
		want       []float64
	}{
		{"no limits", nil, []float64{0, 0.5, 1, 1.5, 2, 2.5}},
		{
			"integers",
			map[string]arrays.Numbers{"valid_min": integers(1), "valid_max": integers(4)},
			[]float64{nan, 0.5, 1, 1.5, 2, nan},
		},
		{
			"floats",
			map[string]arrays.Numbers{"valid_min": floats(1), "valid_max": floats(1.5)},
			[]float64{nan, nan, 1, 1.5, nan, nan},
		},
		{
			"a float and an integer",
			map[string]arrays.Numbers{"valid_min": floats(1), "valid_max": integers(4)},
			[]float64{nan, nan, 1, 1.5, 2, nan},
		},
		{
			"an integer and a float",
			map[string]arrays.Numbers{"valid_min": integers(1), "valid_max": floats(1.5)},
			[]float64{nan, 0.5, 1, 1.5, nan, nan},
		},
		{
			"a range of integers",
			map[string]arrays.Numbers{"valid_range": integers(2, 3)},
			[]float64{nan, nan, 1, 1.5, nan, nan},
		},
		{
			"a range of floats",
			map[string]arrays.Numbers{"valid_range": floats(2, 3)},
			[]float64{nan, nan, nan, nan, 2, 2.5},
		},
		{"a missing value", map[string]arrays.Numbers{"missing_value": integers(2)}, []float64{0, 0.5, nan, 1.5, 2, 2.5}},
	} {
		attribute := func(name string) (arrays.Numbers, bool) {
			if name == "scale_factor" {
				return floats(0.5), true
			}

			numbers, ok := c.attributes[name]

			return numbers, ok
		}

		p, err := arrays.NewPacking(arrays.Stored{Bits: 16, Integer: true, Signed: true}, nil, attribute)
		require.NoError(t, err, c.name)

		x := []float64{0, 1, 2, 3, 4, 5}
		p.Apply(x)

		for i, want := range c.want {
			if math.IsNaN(want) {
				assert.True(t, math.IsNaN(x[i]), "%s: stored %d is %g", c.name, i, x[i])
			} else {
				assert.Equal(t, want, x[i], "%s: stored %d", c.name, i)
			}
		}
	}
}
