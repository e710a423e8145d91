package predict

import (
	"errors"
	"strings"
	"testing"

	"doubletake/ingest/fault"
)

func TestParseConditions(t *testing.T) {
	names := []string{"a", "b"}
	x, err := parseConditions(strings.NewReader("\ufeffa, other,b\n# a remark\n1,x,2\n -3e2 ,,4\n"), names)
	if err != nil || len(x) != 4 || x[0] != 1 || x[1] != 2 || x[2] != -300 || x[3] != 4 {
		t.Errorf("%v, %v", x, err)
	}

	for _, c := range []struct{ text, want string }{
		{"", "expected a header with the columns a, b"},
		{"a,c\n1,2\n", "line 1: expected a column b, found a, c"},
		{"a,b,a\n1,2,3\n", "one column a, found two"},
		{"a,b\n1,two\n", `line 2, column b: expected a number, found "two"`},
		{"a,b\n1,2\n3\n", "rows of equal length"},
		{"a,b\n1,NaN\n", "expected a number"},
		{"a,b\n", "at least one condition"},
	} {
		_, err := parseConditions(strings.NewReader(c.text), names)

		var data *fault.Error
		if !errors.As(err, &data) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Whatever the bytes, the result is whole rows of finite numbers or an error.
func FuzzParseConditions(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "b,a\n\"1\",2\n", "a,b\n1\n", "a;b\n1;2\n", "\ufeffa,b\n1e999,2\n"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		x, err := parseConditions(strings.NewReader(s), []string{"a", "b"})
		if err == nil && (len(x) == 0 || len(x)%2 != 0) {
			t.Errorf("%q gives %v", s, x)
		}
	})
}
