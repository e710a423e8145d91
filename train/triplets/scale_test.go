package triplets

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected by hand: 1, 2, 3, 4 have the mean 2.5 and the variance 1.25. Twice 1e9 and twice 1e9+4 have the mean 1e9+2
// and the deviation 2.
func TestScaleOf(t *testing.T) {
	s := ScaleOf(2, []float64{1, 1e9, 2, 1e9}, []float64{3, 1e9 + 4, 4, 1e9 + 4})
	assert.Equal(t, []float64{2.5, 1e9 + 2}, s.Mean)
	assert.Equal(t, []float64{math.Sqrt(1.25), 2}, s.Std)

	constant := ScaleOf(1, []float64{0.1, 0.1, 0.1})
	assert.Equal(t, []float64{0.1}, constant.Mean, "mean of a constant column")
	assert.Equal(t, []float64{0}, constant.Std, "deviation of a constant column")
}

// A scale has a finite mean and a positive finite deviation of each column.
func TestScaleCheck(t *testing.T) {
	assert.NoError(t, Identity(2).Check("outcome", 2))

	for _, c := range []struct {
		s    Scale
		want string
	}{
		{Identity(1), "expected 2 outcome means and standard deviations, found 1 and 1"},
		{Scale{[]float64{0, 1}, []float64{1, 0}}, "a positive standard deviation for outcome 1, found 1 and 0"},
		{Scale{[]float64{math.NaN(), 1}, []float64{1, 1}}, "outcome 0"},
		{Scale{[]float64{0, math.Inf(1)}, []float64{1, 1}}, "outcome 1"},
		{Scale{[]float64{0, 0}, []float64{1, math.Inf(1)}}, "outcome 1"},
	} {
		assert.ErrorContains(t, c.s.Check("outcome", 2), c.want)
	}
}

// Levels, shifts and variances change to the units of the outcomes, each in its way, and back. Expected by hand, for
// one column with the mean 10 and the deviation 2.
func TestAnswersScale(t *testing.T) {
	s := Scale{[]float64{10}, []float64{2}}
	a := Answers{
		Mu: []float64{1}, Var: []float64{3}, CovRaw: []float64{0.5}, Cov: []float64{-0.25},
		Delta: []float64{0.125}, Kappa: []float64{7}, ZigZag: []float64{0.75},
	}

	own := a.Own(s)
	for i, want := range []float64{12, 12, 2, -1, 0.25, 28, 1.5} {
		c := AnswerColumns[i]
		assert.Equal(t, want, (*c.Field(&own))[0], "%s", c.Suffix)

		back := own.Standardised(s)
		assert.Equal(t, (*c.Field(&a))[0], (*c.Field(&back))[0], "%s, changed back", c.Suffix)
	}
}

// Rows of answers are whole conditions. A column that the answers do not have stays absent.
func TestAnswersRows(t *testing.T) {
	part := Answers{Mu: []float64{1, 2, 3, 4}}.Rows([]int{1, 1, 0}, 2)
	assert.Equal(t, []float64{3, 4, 3, 4, 1, 2}, part.Mu)
	assert.Nil(t, part.Var)
	assert.Nil(t, part.Own(Identity(2)).Cov, "in other units")
}

// The identity changes no bit. Standardised values, changed back, differ by rounding at most. An absent column stays
// absent.
func TestScaleRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))

	v := make([]float64, 3000)
	for i := range v {
		v[i] = rng.NormFloat64() * math.Pow(10, float64(i%7-3))
	}

	assert.Equal(t, v, Identity(3).Standardise(v))
	assert.Equal(t, v, Identity(3).Own(v))

	s := ScaleOf(3, v)
	for i, x := range s.Own(s.Standardise(v)) {
		require.InDelta(t, v[i], x, 4e-16*(math.Abs(v[i])+s.Std[i%3]), "value %d", i)
	}

	assert.Nil(t, s.Standardise(nil))
	assert.Nil(t, s.Own(nil))
}
