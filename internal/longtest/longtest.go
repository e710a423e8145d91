// Package longtest decides how much a test does: little by default, and more if the environment variable
// DOUBLETAKE_LONG is set, as it is in the continuous checks. Only tests, and packages for tests, import it.
package longtest

import (
	"os"
	"testing"
)

// variable is the environment variable that asks for long tests.
const variable = "DOUBLETAKE_LONG"

// Skip skips a test unless DOUBLETAKE_LONG is set. Tests that take seconds of processor time call it, with the reason
// for the time.
func Skip(t testing.TB, reason string) {
	t.Helper()

	if !IsLong() {
		t.Skipf("%s; %s=1 runs it", reason, variable)
	}
}

// SkipUnlessStudy skips a test that belongs to the studies by simulation unless DOUBLETAKE_LONG is "all".
// docs/research/studies runs the studies before a release, and when the package that they test changes.
func SkipUnlessStudy(t testing.TB) {
	t.Helper()

	if !IsStudy() {
		t.Skipf("a study; %s=all runs it", variable)
	}
}

// IsLong reports whether DOUBLETAKE_LONG is set.
func IsLong() bool { return os.Getenv(variable) != "" }

// IsStudy reports whether DOUBLETAKE_LONG is "all". Tests then run whole studies, and compare their figures with the
// documents that state them.
func IsStudy() bool { return os.Getenv(variable) == "all" }

// Count returns long if DOUBLETAKE_LONG is set, and short otherwise: how often a test does something.
func Count(short, long int) int {
	if !IsLong() {
		return short
	}

	return long
}
