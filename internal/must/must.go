// Package must has what tests do by the dozen: end at the first error, compare a value
// with the expected one. It is imported by tests, and by packages for tests.
package must

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// T is the part of testing.TB that a test of pgregory.net/rapid has too.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Do fails the test at the caller's line where err is an error, and ends it.
func Do(t T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// Read returns what a file holds.
func Read(t testing.TB, path string) []byte {
	t.Helper()

	b, err := os.ReadFile(path)
	Do(t, err)

	return b
}

// BeLong skips a test that takes seconds of processor time, unless DOUBLETAKE_LONG is set. Does says what it does.
func BeLong(t testing.TB, does string) {
	t.Helper()

	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skipf("%s; DOUBLETAKE_LONG=1 runs it", does)
	}
}

// Often is how often a test does something, or how much of it: long where DOUBLETAKE_LONG is set.
func Often(short, long int) int {
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		return short
	}

	return long
}

// Equal fails the test unless got is want; a list without elements is a nil one. What names the value.
func Equal[V any](t T, got, want V, what string, args ...any) {
	t.Helper()

	if !equal(got, want) {
		t.Errorf("%s: %v, expected %v", fmt.Sprintf(what, args...), got, want)
	}
}

// Be is Equal that ends the test.
func Be[V any](t T, got, want V, what string, args ...any) {
	t.Helper()

	if !equal(got, want) {
		t.Fatal(fmt.Sprintf("%s: %v, expected %v", fmt.Sprintf(what, args...), got, want))
	}
}

func equal(got, want any) bool {
	switch got.(type) {
	case int, int64, float64, string, bool: // at once, for tests that compare millions
		return got == want
	}

	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice && w.Kind() == reflect.Slice &&
		g.Len()+w.Len() == 0 {
		return true
	}

	return reflect.DeepEqual(got, want)
}

// Not fails the test where what must not be is so, with the words for it.
func Not(t T, so bool, format string, args ...any) {
	if so {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// Never is Not that ends the test.
func Never(t T, so bool, format string, args ...any) {
	if so {
		t.Helper()
		t.Fatal(fmt.Sprintf(format, args...))
	}
}

// Near fails the test unless got is want within a tolerance.
func Near(t T, got, want, tolerance float64, what string, args ...any) {
	t.Helper()

	if !(math.Abs(got-want) <= math.Abs(tolerance)) {
		t.Errorf("%s: %v, expected %v ± %.2g", fmt.Sprintf(what, args...), got, want, math.Abs(tolerance))
	}
}

// Contain fails the test unless a text has all parts.
func Contain[V string | []byte](t T, text V, parts ...string) {
	t.Helper()

	for _, p := range parts {
		if !strings.Contains(string(text), p) {
			t.Errorf("no %q in\n%.5000s", p, string(text))
		}
	}
}

// Refuse fails the test unless err is an error whose text has all parts; without a part, or with "" alone, unless
// there is no error.
func Refuse(t T, err error, parts ...string) {
	t.Helper()

	switch {
	case len(parts) == 0 || len(parts) == 1 && parts[0] == "":
		if err != nil {
			t.Errorf("%v, expected no error", err)
		}
	case err == nil:
		t.Errorf("no error, expected %q", parts)
	default:
		Contain(t, err.Error(), parts...)
	}
}

// Write writes a file, and the folders that it lies in.
func Write(t T, path, text string) {
	t.Helper()
	Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// Get returns what a call returns: must.Get(os.Open(path))(t) ends the test where that is an error.
func Get[V any](v V, err error) func(t T) V {
	return func(t T) V {
		t.Helper()
		Do(t, err)

		return v
	}
}
