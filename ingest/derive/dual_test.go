package derive

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The expected derivatives are closed forms and, for every function, a central difference. The expected values are
// those that AddOutcomes computes without derivatives.
func TestDifferentiate(t *testing.T) {
	const (
		x = 0.7
		y = 1.9
	)
	for text, want := range map[string][2]float64{
		"x*y - x/y + 3":                    {y - 1/y, x + x/(y*y)},
		"x^2*y^-3":                         {2 * x / (y * y * y), -3 * x * x / math.Pow(y, 4)},
		"x**y":                             {y * math.Pow(x, y-1), math.Pow(x, y) * math.Log(x)},
		"20*log10(x/y)":                    {20 / math.Ln10 / x, -20 / math.Ln10 / y},
		"-(+x)":                            {-1, 0},
		"x > y and not (x == y) ? x : y*y": {0, 2 * y},
		"x <= y || x >= 1 ? x*y : 0":       {y, x},
		"atan2(x, y)":                      {y / (x*x + y*y), -x / (x*x + y*y)},
		"hypot(x, y)":                      {x / math.Hypot(x, y), y / math.Hypot(x, y)},
		"min(x, y) + 2*max(x, y)":          {1, 2},
		"k*pi*x":                           {2 * math.Pi, 0},
		"sqrt(x)*exp(y)":                   {0.5 / math.Sqrt(x) * math.Exp(y), math.Sqrt(x) * math.Exp(y)},
		"tan(x)*acos(x)":                   {(1+math.Tan(x)*math.Tan(x))*math.Acos(x) - math.Tan(x)/math.Sqrt(1-x*x), 0},
	} {
		s, err := New([]Definition{{"half", "z/2"}, {"z", text}}, map[string]float64{"k": 2}, nil, nil, []string{"x", "y"})
		require.NoError(t, err)

		plain := map[string]float64{"x": x, "y": y}
		require.NoError(t, s.AddOutcomes(plain, nil))

		dual := map[string]Dual{"x": {x, []float64{1, 0}}, "y": {y, []float64{0, 1}}}
		s.Differentiate(dual, nil)

		// A constant has no derivatives, D is then nil. The formula "half" halves z and its derivatives.
		got := dual["half"]
		slopes := [2]float64{}
		copy(slopes[:], got.D)
		for i, w := range want {
			assert.InDelta(t, w/2, slopes[i], 1e-12*math.Max(1, math.Abs(w)), "%s, by %s", text, "xy"[i:i+1])
		}

		assert.Equal(t, plain["half"], got.Value, "%s: the value is the same as by AddOutcomes", text)
	}

	for _, name := range unaryFunctions {
		const h = 1e-5
		above, _ := unaryValue(name, x+h)
		below, _ := unaryValue(name, x-h)
		_, slope := unaryValue(name, x)
		assert.InDelta(t, (above-below)/(2*h), slope, 1e-8, "%s", name)
	}
}

// Both branches of a choice are numbers, or both comparisons.
func TestChoice(t *testing.T) {
	for _, text := range []string{
		"a > 1 ? 1 : (2 > 1)", "(a > 1 ? 1 : true)*2", "sqrt(a > 1 ? 1 : true)", "a > 1 ? a : sqrt",
	} {
		_, err := New([]Definition{{"q", text}}, nil, []string{"a"}, nil, nil)
		assert.Error(t, err, "%s", text)
	}

	_, err := New([]Definition{{"q", "a > 1 ? a : 2"}}, nil, []string{"a"}, nil, nil)
	require.NoError(t, err)
}
