package derive

import (
	"testing"

	"doubletake/internal/must"
)

// Both branches of a choice are numbers, or both comparisons.
func TestChoice(t *testing.T) {
	for _, text := range []string{
		"a > 1 ? 1 : (2 > 1)", "(a > 1 ? 1 : true)*2", "sqrt(a > 1 ? 1 : true)", "a > 1 ? a : sqrt",
	} {
		if _, err := New([]Definition{{"q", text}}, nil, []string{"a"}, nil, nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}

	_, err := New([]Definition{{"q", "a > 1 ? a : 2"}}, nil, []string{"a"}, nil, nil)
	must.Do(t, err)
}
