//go:build !linux && !windows

package program

import "os/exec"

// processGroup is a command. On this system, processes that the command starts are not killed with it.
type processGroup struct{ cmd *exec.Cmd }

// newProcessGroup returns the group of a command that was not started yet.
func newProcessGroup(cmd *exec.Cmd) *processGroup { return &processGroup{cmd} }

// Run runs the command.
func (g *processGroup) Run() error { return g.cmd.Run() }

// Kill does nothing.
func (g *processGroup) Kill() {}
