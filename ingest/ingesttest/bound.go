package ingesttest

import (
	"cmp"
	"os"
	"testing"
)

// ReportBound compares a measured time or amount of memory with its bound, and prints a line if the measured value is
// above the bound. A test fails for it only with DOUBLETAKE_BOUNDS=1, on a machine that does nothing else: other work
// on a machine changes what is measured, and says nothing about the program. A bound and its measured value have the
// same unit; what names both.
func ReportBound[V cmp.Ordered](t testing.TB, what string, measured, bound V) {
	t.Helper()

	if measured <= bound {
		return
	}

	if os.Getenv("DOUBLETAKE_BOUNDS") == "1" {
		t.Errorf("%s: expected at most %v, measured %v", what, bound, measured)

		return
	}

	t.Logf("above its bound: %s: expected at most %v, measured %v", what, bound, measured)
}
