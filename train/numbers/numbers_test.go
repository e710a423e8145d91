package numbers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/train/numbers"
)

func ExampleObject() {
	o := numbers.Object{"mean", 0.1, "std", math.NaN(), "n", 3, "range", []numbers.Float{-1, numbers.NaN}}
	b, err := json.Marshal(o)
	fmt.Println(string(b), err)
	// Output: {"mean":0.1,"std":null,"n":3,"range":[-1,null]} <nil>
}

// What is written reads back: null as NaN, a number to its bits, negative zero as zero.
func TestFloat(t *testing.T) {
	for _, v := range []float64{0.1, math.Copysign(0, -1), 1e300, math.NaN(), math.Inf(-1)} {
		b, err := json.Marshal(numbers.Float(v))
		require.NoError(t, err)

		want := v + 0
		if math.IsInf(v, 0) {
			want = math.NaN()
		}

		var got numbers.Float
		if err := json.Unmarshal(b, &got); err != nil || math.Float64bits(float64(got)) != math.Float64bits(want) &&
			!(math.IsNaN(want) && math.IsNaN(float64(got))) {
			t.Errorf("%g: %s reads as %g, %v", v, b, got, err)
		}
	}

	if b, err := json.Marshal(numbers.Object{"f", func() {}}); err == nil {
		t.Errorf("a function is %s", b)
	}

	if b, err := json.Marshal(numbers.Object(nil)); err != nil || string(b) != "{}" {
		t.Errorf("an empty object is %s, %v", b, err)
	}
}

// An object of pointers reads the JSON that it has written.
func TestObjectReads(t *testing.T) {
	var a, b float64

	var n int
	o := numbers.Object{"a", &a, "n", &n, "of", numbers.Object{"b", &b}}
	for text, want := range map[string]string{
		`{"a":0.5,"n":3,"of":{"b":null}}`: `{"a":0.5,"n":3,"of":{"b":null}}`,
		`{"n":4,"x":1,"of":{"b":2}}`:      `{"a":null,"n":4,"of":{"b":2}}`,
	} {
		require.NoError(t, json.Unmarshal([]byte(text), &o))

		if got, err := json.Marshal(o); err != nil || string(got) != want {
			t.Errorf("%s reads as %s, %v", text, got, err)
		}
	}

	for _, text := range []string{`{"a":"x"}`, `[1]`, `{"of":3}`} {
		if err := json.Unmarshal([]byte(text), &o); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
