//go:build !linux && !windows

package program

import "os/exec"

// own leaves a command as it is: when it is cancelled it is killed, not what it started.
func own(cmd *exec.Cmd) (run func() error, end func()) { return cmd.Run, func() {} }
