package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// unwritten are the errors after which data may be lost: see durable.go.
var unwritten = []error{
	windows.ERROR_CRC, windows.ERROR_WRITE_FAULT, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_FULL,
	windows.ERROR_SEM_TIMEOUT, windows.ERROR_IO_DEVICE, windows.ERROR_UNEXP_NET_ERR, windows.ERROR_NETNAME_DELETED,
}

const (
	errOtherDevice = windows.ERROR_NOT_SAME_DEVICE // a rename to another volume
	toSync         = os.O_RDWR                     // FlushFileBuffers wants write access
)

// whence returns the place of the locked byte, far after the end of the text in the file: locks of Windows are
// mandatory, and other processes must be able to read the text.
func whence() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// take locks a file for this process. ok is false if another process has locked it.
func take(f *os.File) (ok bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, whence())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}

	return err == nil, err
}

// give unlocks a file.
func give(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, whence()) }

// fileNumber returns the number of a file in its volume, or 0 if the system does not tell it.
func fileNumber(path string) uint64 {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0
	}

	h, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return 0
	}
	defer windows.CloseHandle(h) //nolint:errcheck // nothing was written

	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(h, &info) != nil {
		return 0
	}

	return uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
}

// lookAt returns the stamp of a file and its type. It describes a link itself unless follow is true. Only with follow
// the stamp has the file's number.
func lookAt(path string, follow bool) (st stamp, kind fs.FileMode, err error) {
	stat := os.Lstat
	if follow {
		stat = os.Stat
		st.Inode = fileNumber(path)
	}

	fi, err := stat(path)
	if err != nil {
		return stamp{}, 0, err
	}

	st.Size = fi.Size()
	st.MTime = fi.ModTime().UnixNano()

	return st, fi.Mode().Type(), nil
}

// protect does nothing: on Windows a read-only file cannot be synced, replaced or removed by any of its
// names.
func protect(*os.File) error { return nil }

// occupied reports whether something has the name target, after a folder could not be renamed to it.
func occupied(target string, _ error) bool {
	_, err := os.Lstat(target)
	return err == nil
}

// patience is how long rename waits for a file that another program has open.
const patience = 2 * time.Second

// rename renames a file or a folder. It replaces a file that has the new name. Windows neither renames nor replaces a
// file that a program has open. Virus scanners and programs that show the progress have a file open for moments, so
// rename tries again for a while; a spreadsheet may have it open for hours.
func rename(oldPath, newPath string) error {
	a, err := windows.UTF16PtrFromString(oldPath)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldPath, New: newPath, Err: err}
	}

	b, err := windows.UTF16PtrFromString(newPath)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldPath, New: newPath, Err: err}
	}

	start := time.Now()
	for pause := time.Millisecond; ; pause *= 2 {
		err = windows.MoveFileEx(a, b, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			break
		}

		fi, e := os.Lstat(newPath)
		if e == nil && fi.IsDir() {
			break // a folder is never replaced
		}

		if e == nil && fi.Mode()&0o200 == 0 {
			_ = os.Chmod(newPath, 0o666) // somebody made it read-only
		}

		if time.Since(start) > patience {
			err = fmt.Errorf("%w (another program has it open: close it there)", err)
			break
		}

		time.Sleep(pause)
	}

	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldPath, New: newPath, Err: err}
	}

	return nil
}

// syncDir does nothing: Windows has no call for it, and rename returns only when the new name is durable.
func syncDir(string) error { return nil }
