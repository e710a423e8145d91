package numbers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/numbers"
)

func ExampleObject() {
	o := numbers.Object{"mean", 0.1, "std", math.NaN(), "n", 3, "range", []numbers.Float{-1, numbers.NaN}}
	b, err := json.Marshal(o)
	fmt.Println(string(b), err)
	// Output: {"mean":0.1,"std":null,"n":3,"range":[-1,null]} <nil>
}

// written writes a number as JSON and reads it back.
func written(t *testing.T, v float64) float64 {
	t.Helper()

	b, err := json.Marshal(numbers.Float(v))
	require.NoError(t, err)

	var got numbers.Float
	require.NoError(t, json.Unmarshal(b, &got), "%g is written as %s", v, b)

	return float64(got)
}

// A number that is written reads back to its bits, negative zero as zero, and anything that is not finite as NaN.
func TestFloat(t *testing.T) {
	for _, v := range []float64{0.1, -2.5, 1e300} {
		assert.Equal(t, v, written(t, v))
	}

	assert.Equal(t, math.Float64bits(0), math.Float64bits(written(t, math.Copysign(0, -1))), "negative zero")

	for _, v := range []float64{math.NaN(), math.Inf(-1), math.Inf(1)} {
		assert.True(t, math.IsNaN(written(t, v)), "%g", v)
	}
}

// An object without members is written as such, and one with a value that JSON does not have is refused.
func TestObjectWrites(t *testing.T) {
	b, err := json.Marshal(numbers.Object(nil))
	require.NoError(t, err)
	assert.Equal(t, "{}", string(b))

	_, err = json.Marshal(numbers.Object{"f", func() {}})
	assert.ErrorContains(t, err, "unsupported type")
}

// An object of pointers reads the JSON that it has written. Of other JSON it takes the members that it has, and refuses
// members of another kind.
func TestObjectReads(t *testing.T) {
	var a, b float64

	var n int
	o := numbers.Object{"a", &a, "n", &n, "of", numbers.Object{"b", &b}}
	for text, want := range map[string]string{
		`{"a":0.5,"n":3,"of":{"b":null}}`: `{"a":0.5,"n":3,"of":{"b":null}}`,
		`{"n":4,"x":1,"of":{"b":2}}`:      `{"a":null,"n":4,"of":{"b":2}}`,
	} {
		require.NoError(t, json.Unmarshal([]byte(text), &o))

		got, err := json.Marshal(o)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), text)
	}

	for _, text := range []string{`{"a":"x"}`, `[1]`, `{"of":3}`} {
		assert.Error(t, json.Unmarshal([]byte(text), &o), text)
	}
}
