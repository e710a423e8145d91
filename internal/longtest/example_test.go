package longtest_test

import (
	"fmt"
	"os"

	"doubletake/internal/longtest"
)

// A test is short, unless DOUBLETAKE_LONG is set.
func ExampleCount() {
	former, set := os.LookupEnv("DOUBLETAKE_LONG")
	os.Unsetenv("DOUBLETAKE_LONG")
	fmt.Println(longtest.Count(10, 1000))

	os.Setenv("DOUBLETAKE_LONG", "1")
	fmt.Println(longtest.Count(10, 1000))

	if set {
		os.Setenv("DOUBLETAKE_LONG", former)
	} else {
		os.Unsetenv("DOUBLETAKE_LONG")
	}
	// Output:
	// 10
	// 1000
}
