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

// A setting rests at a level for ten samples on average, at three levels or more. The expected answers follow from the
// definition: a value that is missing is neither a level nor the end of a rest.
func TestRests(t *testing.T) {
	var measured, narrow []float64
	for i := range 90 {
		measured = append(measured, float64(i*i%17))
		narrow = append(narrow, 1000+float64(i/30))
	}

	nan := math.NaN()
	for name, c := range map[string]struct {
		values []float64
		want   bool
	}{
		"three levels":                         {repeated(30, 0, 30, 5, 30, 10), true},
		"three levels, which just rest":        {repeated(10, 0, 10, 5, 10, 10), true},
		"three levels, 29 samples":             {repeated(10, 0, 10, 5, 9, 10), false},
		"three levels of 6.7 samples":          {repeated(7, 0, 7, 1, 6, 2), false},
		"two levels":                           {repeated(50, 0, 50, 1), false},
		"two levels, one after the other":      {repeated(30, 0, 30, 1, 30, 0), false},
		"two levels and missing values":        {repeated(50, 0, 47, 1, 3, nan), false},
		"missing values first":                 {repeated(3, nan, 50, 0, 47, 1), false},
		"three levels and missing values":      {repeated(30, 0, 3, nan, 30, 5, 30, 10), true},
		"three levels, each value beside NaN":  {repeated(15, 0, 1, nan, 15, 0, 30, 5, 1, nan, 30, 10), true},
		"missing values between two of a rest": {repeated(5, 0, 1, nan, 5, 0, 10, 5, 10, 10), true},
		"only missing values":                  {repeated(90, nan), false},
		"measured":                             {measured, false},
		"hardly varies":                        {narrow, false},
		"empty":                                {nil, false},
	} {
		assert.Equal(t, c.want, Rests(c.values), name)
	}
}

// Steps, orders and rises of hand-written values. NaN neither rises nor falls.
func TestSeries(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		values                    []float64
		isEven, isStepwise, rises bool
	}{
		"even steps":              {[]float64{1, 2, 3, 4, 5}, true, true, true},
		"steps with rests":        {[]float64{1, 1, 2, 2, 3, 3}, false, true, false},
		"steps down":              {[]float64{3, 2, 2, 1}, false, true, false},
		"two values":              {[]float64{1, 1, 2, 2}, false, false, false},
		"up and down":             {[]float64{1, 2, 3, 2}, false, false, false},
		"NaN in the middle":       {[]float64{1, 2, nan, 4}, false, false, false},
		"NaN first":               {[]float64{nan, 2, 3, 4}, false, false, false},
		"NaN last":                {[]float64{1, 2, 3, nan}, false, false, false},
		"infinite at the end":     {[]float64{1, 2, 3, math.Inf(1)}, false, true, true},
		"infinite at both ends":   {[]float64{math.Inf(-1), 0, math.Inf(1)}, false, true, true},
		"a thousandth of a step":  {[]float64{0, 1, 2.0005}, true, true, true},
		"more than a thousandth":  {[]float64{0, 1, 2.002}, false, true, true},
		"even steps down are not": {[]float64{3, 2, 1}, false, true, false},
	} {
		got := []bool{isEven(c.values), IsStepwise(c.values), Rises(c.values)}
		assert.Equal(t, []bool{c.isEven, c.isStepwise, c.rises}, got, name)
	}
}
