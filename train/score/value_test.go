package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The values of two seeds, 0.5 and 0.7, have the mean 0.6 and the deviation 0.2/√2. If one of them is undefined, the
// value is undefined for its reason.
func TestOverSeeds(t *testing.T) {
	a := newNumbers(Parts)
	b := newNumbers(Parts)
	a.set("r2", 0.5)
	b.set("r2", 0.7)

	values := OverSeeds([]Numbers{a, b})
	require.Len(t, values, len(keys(Parts)))
	assert.Equal(t, "r2", values[0].Key)
	assert.True(t, values.Get("nll").Absent(), "a metric of methods")

	r2 := values.Get("r2")
	assertNear(t, 0.6, r2.Mean, 1e-15)
	assertNear(t, 0.2/math.Sqrt2, r2.Std, 1e-15)
	assert.Equal(t, 2, r2.N)
	assert.True(t, r2.Defined())

	b.undefine("one condition only", "r2")

	r2 = OverSeeds([]Numbers{a, b}).Get("r2")
	assert.True(t, math.IsNaN(r2.Mean))
	assert.Equal(t, "one condition only", r2.Reason())
	assert.False(t, r2.Defined())

	assert.Nil(t, OverSeeds(nil))
}

// A value without a finite mean is undefined, and has a reason. So is a value with a stated reason.
func TestValueReason(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Value{}, "not computed"},
		{Value{Mean: 0, N: 1}, ""},
		{Value{Mean: math.NaN(), N: 1}, "not a finite number"},
		{Value{Mean: math.Inf(1), N: 1}, "not a finite number"},
		{Value{Mean: math.Inf(-1), N: 1}, "not a finite number"},
		{Value{Mean: math.NaN(), N: 1, Undefined: "no rows"}, "no rows"},
		{Value{Mean: 1, N: 1, Undefined: "no rows"}, "no rows"},
		{Mean([]float64{1, 3}), ""},
	} {
		assert.Equal(t, c.want, c.v.Reason(), "%+v", c.v)
		assert.Equal(t, c.want == "", c.v.Defined(), "whether %+v is defined", c.v)
	}
}
