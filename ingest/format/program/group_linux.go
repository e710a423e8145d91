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

// hangupIgnored reports whether this process ignored SIGHUP when it was started, as nohup arranges.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// processGroup is a command and the processes that it starts, which end together: when the command is cancelled, and
// when this process is killed.
//
// The command has a session of its own, so that one signal reaches its process group. The session has a terminal,
// whose other side this process keeps open: when this process ends in any way, the kernel closes that side and sends
// SIGHUP to the group. Processes that left the session are found by a mark in their environment.
type processGroup struct {
	cmd      *exec.Cmd
	mark     string         // variable in the environment of all processes that the command starts
	terminal *os.File       // the side of the terminal that this process keeps; nil if the system has no terminals
	side     *os.File       // the side of the command; nil if the system has no terminals
	hangup   chan os.Signal // receives SIGHUP, which nobody reads: see newProcessGroup
}

// newProcessGroup returns the group of a command that was not started yet. The caller must call Run and then Kill, both
// on one thread.
func newProcessGroup(cmd *exec.Cmd) *processGroup {
	g := &processGroup{cmd: cmd, mark: "DOUBLETAKE_CONVERTER=" + rand.Text(), hangup: make(chan os.Signal, 1)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(cmd.Environ(), g.mark)
	cmd.Cancel = g.signal

	terminal, side, err := openTerminal()
	if err != nil { // a container may have no terminals
		return g
	}

	g.terminal = terminal
	g.side = side
	cmd.ExtraFiles = []*os.File{side}
	cmd.SysProcAttr.Setctty = true
	cmd.SysProcAttr.Ctty = 3 // the number of the first of ExtraFiles in the command

	if hangupIgnored { // a command inherits that a signal is ignored, but not that it is handled
		signal.Notify(g.hangup, syscall.SIGHUP)
	}

	return g
}

// Run runs the command.
func (g *processGroup) Run() error { return g.cmd.Run() }

// signal kills the processes of the group and those with its mark. It does nothing if the command was not started.
func (g *processGroup) signal() error {
	if g.cmd.Process == nil {
		return nil
	}

	err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	killMarked(g.mark)

	return err
}

// Kill ends the processes that the command left running.
func (g *processGroup) Kill() {
	signal.Stop(g.hangup)
	_ = g.signal() // usually the group has ended already, which is the error
	if g.terminal != nil {
		_ = g.terminal.Close()
		_ = g.side.Close()
	}
}

// killMarked kills the processes that have mark in their environment: processes of the group that have sessions of
// their own. It repeats the search, at most maxTries times, because a process may start another one meanwhile.
func killMarked(mark string) {
	const maxTries = 10
	found := true
	for try := 0; found && try < maxTries; try++ {
		found = false

		list, _ := filepath.Glob("/proc/[0-9]*/environ") // Glob fails only for a bad pattern
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, []byte(mark)) {
				continue
			}

			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				killed := syscall.Kill(pid, syscall.SIGKILL) == nil
				found = found || killed
			}
		}
	}
}

// openTerminal opens both sides of a new pseudo-terminal (pty(7)).
func openTerminal() (terminal, side *os.File, err error) {
	terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}

	side, err = openSide(terminal)
	if err != nil {
		_ = terminal.Close()
		return nil, nil, err
	}

	return terminal, side, nil
}

// openSide unlocks and opens the other side of a pseudo-terminal.
func openSide(terminal *os.File) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}

	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}

	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
}
