package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/kv"
)

func ExampleParse() {
	list, err := kv.Parse("blades=3, run=/^a{1,2}/,rpm=2000:9000:500")
	for _, p := range list {
		fmt.Println(p.Key, p.Value)
	}
	fmt.Println(err)
	// Output:
	// blades 3
	// run /^a{1,2}/
	// rpm 2000:9000:500
	// <nil>
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, found string }{
		{"blades", `"blades"`},
		{"blades=3,", `""`},
		{"=3", `"=3"`},
		{"a=1,b,c=2", `"b"`},
		{",a=1", `""`},
	} {
		list, err := kv.Parse(c.text)
		must.Not(t, err == nil || !strings.HasSuffix(err.Error(), "expected name=value, found "+c.found),
			"%q: %v, %v", c.text, list, err)
	}

	for text, want := range map[string][]kv.Pair{
		"":           nil,
		"a= 1 ":      {{Key: "a", Value: "1"}},
		"a=,b=x=y":   {{Key: "a"}, {Key: "b", Value: "x=y"}},
		"a=/x":       {{Key: "a", Value: "/x"}},
		"a=/,b=/,c=": {{Key: "a", Value: "/,b=/"}, {Key: "c"}},
	} {
		if got, err := kv.Parse(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func anyName(string) error { return nil }

// Axes of a grid, and what is none; 3·0.1 is 0.30000000000000004.
func TestAxes(t *testing.T) {
	axes, err := kv.Axes("b=2:5:1, a=-0:1:0.1,c=-1e2", anyName)
	if err != nil || len(axes) != 3 || axes[0].Name != "b" || !slices.Equal(axes[0].Values, []float64{2, 3, 4, 5}) ||
		len(axes[1].Values) != 11 || axes[1].Values[3] != 0.3 || !slices.Equal(axes[2].Values, []float64{-100}) {
		t.Errorf("%+v, %v", axes, err)
	}

	for text, want := range map[string]string{
		"b=5:2:1": "from ≤ to", "b=1:2:0": "step above zero", "b=1:2": "from:to:step", "b=0:1:1e-9": "more than",
		"b=1,b=2": "twice", "a=0:1000:1,b=0:1000:0.5": "more than", "a=one": "expected a number", "a=NaN": "a number",
		"a=": "a number", "a": "name=value",
	} {
		_, err := kv.Axes(text, anyName)
		must.Refuse(t, err, want)
	}

	got := kv.Points([]float64{1, 2}, []float64{3}, []float64{4, 5})
	if want := [][]float64{{1, 3, 4}, {1, 3, 5}, {2, 3, 4}, {2, 3, 5}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("points %v", got)
	}
}

// Whatever the text, Axes returns a bounded grid of numbers or an error.
func FuzzAxes(f *testing.F) {
	for _, s := range []string{"b=0:4:1", "a=1:2:0.25,b=3", "=", "a=1e308:1e309:1", "a=:,;"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		axes, err := kv.Axes(s, anyName)
		points := 1
		for _, a := range axes {
			points *= len(a.Values)
		}

		must.Not(t, err == nil && (points == 0 || points > kv.MaxPoints), "%q: %d points", s, points)
	})
}
