package derive

import "testing"

// Both branches of a choice are numbers, or both comparisons.
func TestChoice(t *testing.T) {
	for _, text := range []string{
		"a > 1 ? 1 : (2 > 1)", "(a > 1 ? 1 : true)*2", "sqrt(a > 1 ? 1 : true)", "a > 1 ? a : sqrt",
	} {
		if _, err := New([]Definition{{"q", text}}, nil, []string{"a"}, nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}

	if _, err := New([]Definition{{"q", "a > 1 ? a : 2"}}, nil, []string{"a"}, nil); err != nil {
		t.Error(err)
	}
}
