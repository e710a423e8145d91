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

	if os.Getenv(variable) == "" {
		t.Skipf("%s; %s=1 runs it", reason, variable)
	}
}

// Count returns long if DOUBLETAKE_LONG is set, and short otherwise: how often a test does something.
func Count(short, long int) int {
	if os.Getenv(variable) == "" {
		return short
	}

	return long
}
