package kv_test

import (
	"fmt"
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ExampleParse reads conditions of a command line. The value between slashes contains a comma.
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

// Spaces around names and values do not count, values may be empty, and an unclosed slash is part of a value.
func TestParse(t *testing.T) {
	for text, want := range map[string][]kv.Pair{
		"":           nil,
		"a= 1 ":      {{Key: "a", Value: "1"}},
		"a=,b=x=y":   {{Key: "a"}, {Key: "b", Value: "x=y"}},
		"a=/x":       {{Key: "a", Value: "/x"}},
		"a= /x,y/ ":  {{Key: "a", Value: "/x,y/"}},
		"a=/,b=/,c=": {{Key: "a", Value: "/,b=/"}, {Key: "c"}},
	} {
		got, err := kv.Parse(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got, "%q", text)
	}
}

// The error quotes the term that is not a name with a value.
func TestParseRefused(t *testing.T) {
	for text, found := range map[string]string{
		"blades":    `"blades"`,
		"blades=3,": `""`,
		"=3":        `"=3"`,
		"a=1,b,c=2": `"b"`,
		",a=1":      `""`,
	} {
		_, err := kv.Parse(text)
		assert.EqualError(t, err, "expected name=value, found "+found, "%q", text)
	}
}
