package program

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// hangupIgnored reports that this process was started by nohup, or likewise.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// own returns what runs a command, and what ends its group then. It gives a command a
// process group that ends as a whole: when the command is cancelled, and when this process
// is killed. For the latter its session has a terminal whose other side this process holds;
// the kernel hangs up on the group when it goes. The caller must do both on one thread.
func own(cmd *exec.Cmd) (run func() error, end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	mark := "DOUBLETAKE_CONVERTER=" + rand.Text()
	cmd.Env = append(cmd.Environ(), mark)

	kill := func() error {
		if cmd.Process == nil {
			return nil
		}

		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		killMarked(mark)

		return err
	}
	cmd.Cancel = kill

	terminal, side, err := openTerminal()
	if err != nil { // a container may have none
		return cmd.Run, func() { _ = kill() }
	}

	cmd.ExtraFiles = []*os.File{side}
	cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3

	hangup := make(chan os.Signal, 1)
	if hangupIgnored { // a command inherits that; it does not inherit a handler
		signal.Notify(hangup, syscall.SIGHUP)
	}

	return cmd.Run, func() {
		signal.Stop(hangup)
		_ = kill() // what it left running
		_ = terminal.Close()
		_ = side.Close()
	}
}

// killMarked ends the processes that have mark in their environment: children of a command that have sessions of
// their own. One may start another meanwhile.
func killMarked(mark string) {
	const most = 10
	for found, try := true, 0; found && try < most; try++ {
		found = false

		list, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(mark)) {
				continue
			}

			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
	}
}

// openTerminal returns the sides of a pseudo-terminal.
func openTerminal() (terminal, side *os.File, err error) {
	terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}

	n := 0
	if err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	}

	if err == nil {
		side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}

	if err != nil {
		_ = terminal.Close()
		return nil, nil, err
	}

	return terminal, side, nil
}
