//go:build !unix

package ingesttest

import "time"

// start is the time at which this package was initialised, shortly after the process began.
var start = time.Now()

// CPU returns the time since start. This package does not know the processor time on this system, so that a measured
// time also contains the time of other processes.
func CPU() time.Duration { return time.Since(start) }
