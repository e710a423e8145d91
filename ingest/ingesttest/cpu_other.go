//go:build !unix

package ingesttest

import "time"

// start is when this process began, as far as this package knows.
var start = time.Now()

// CPU returns the time since the process began. The processor time is not read on this system, so that tests that bound
// it also count other processes.
func CPU() time.Duration { return time.Since(start) }
