package role

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
