package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
		if err == nil || !strings.HasSuffix(err.Error(), "expected name=value, found "+c.found) {
			t.Errorf("%q: %v, %v", c.text, list, err)
		}
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
