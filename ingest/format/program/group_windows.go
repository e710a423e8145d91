package program

import (
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// own returns what runs a command, and what ends its group then: a job of its own, which
// Windows ends as a whole when its last handle is closed, by this process or because it
// was killed. What the command starts within the first instant may be outside of it.
func own(cmd *exec.Cmd) (run func() error, end func()) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return cmd.Run, func() {}
	}

	cmd.Cancel = func() error {
		err := cmd.Process.Kill()
		_ = windows.TerminateJobObject(job, 1)
		return err
	}
	run = func() error {
		if err := cmd.Start(); err != nil {
			return err
		}

		_ = adopt(job, uint32(cmd.Process.Pid)) // without it the command alone is killed

		return cmd.Wait()
	}

	return run, func() { _ = windows.CloseHandle(job) }
}

// adopt puts a process into a job that ends with its handle.
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
