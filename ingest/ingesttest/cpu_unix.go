//go:build unix

package ingesttest

import (
	"syscall"
	"time"
)

// CPU returns the processor time that this process has used. Unlike the time of day, it
// does not depend on other processes.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
