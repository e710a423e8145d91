package role

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// repeated returns each value as often as the number before it states: repeated(3, 0, 2, 1) is 0, 0, 0, 1, 1.
func repeated(countsAndValues ...float64) []float64 {
	var values []float64
	for i := 0; i < len(countsAndValues); i += 2 {
		values = append(values, slices.Repeat(countsAndValues[i+1:i+2], int(countsAndValues[i]))...)
	}

	return values
}

// Even steps and rises of hand-written values. NaN neither rises nor falls.
func TestSeries(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		values        []float64
		isEven, rises bool
	}{
		"even steps":              {[]float64{1, 2, 3, 4, 5}, true, true},
		"steps with rests":        {[]float64{1, 1, 2, 2, 3, 3}, false, false},
		"steps down":              {[]float64{3, 2, 2, 1}, false, false},
		"two values":              {[]float64{1, 1, 2, 2}, false, false},
		"up and down":             {[]float64{1, 2, 3, 2}, false, false},
		"NaN in the middle":       {[]float64{1, 2, nan, 4}, false, false},
		"NaN first":               {[]float64{nan, 2, 3, 4}, false, false},
		"NaN last":                {[]float64{1, 2, 3, nan}, false, false},
		"infinite at the end":     {[]float64{1, 2, 3, math.Inf(1)}, false, true},
		"infinite at both ends":   {[]float64{math.Inf(-1), 0, math.Inf(1)}, false, true},
		"a thousandth of a step":  {[]float64{0, 1, 2.0005}, true, true},
		"more than a thousandth":  {[]float64{0, 1, 2.002}, false, true},
		"even steps down are not": {[]float64{3, 2, 1}, false, false},
	} {
		got := []bool{isEven(c.values), Rises(c.values)}
		assert.Equal(t, []bool{c.isEven, c.rises}, got, name)
	}
}
