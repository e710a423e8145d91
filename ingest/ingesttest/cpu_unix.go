//go:build unix

package ingesttest

import (
	"syscall"
	"time"
)

// CPU is the processor time that this process has taken: unlike the time of day it
// does not depend on what else runs on the machine.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no arguments that are given here
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
