package program

import (
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a command with a job of its own. Windows ends all processes of a job when the last handle of the job
// is closed, which also happens when this process is killed. Processes that the command starts before Run has put it
// into the job are not in the job.
type processGroup struct {
	cmd *exec.Cmd
	job windows.Handle // 0 if Windows could not create it
}

// newProcessGroup returns the group of a command that was not started yet. The caller must call Run and then Kill.
func newProcessGroup(cmd *exec.Cmd) *processGroup {
	g := &processGroup{cmd: cmd}

	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}

	g.job = job
	cmd.Cancel = g.cancel

	return g
}

// cancel kills the command and the processes of its job.
func (g *processGroup) cancel() error {
	err := g.cmd.Process.Kill()
	_ = windows.TerminateJobObject(g.job, 1)

	return err
}

// Run runs the command in the job.
func (g *processGroup) Run() error {
	if err := g.cmd.Start(); err != nil {
		return err
	}

	if g.job != 0 {
		_ = adopt(g.job, uint32(g.cmd.Process.Pid)) // if it fails, only the command is killed
	}

	return g.cmd.Wait()
}

// Kill closes the job, and so ends the processes that the command left running.
func (g *processGroup) Kill() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}

// adopt puts the process with a number into a job, and makes the job end when its last handle is closed.
func adopt(job windows.Handle, pid uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return err
	}

	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(p) //nolint:errcheck // it was only read

	return windows.AssignProcessToJobObject(job, p)
}
