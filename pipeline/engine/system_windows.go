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

// whence is where the locked byte lies: locks are mandatory, and the text of the file
// must remain readable.
func whence() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// take locks a file for this process; ok is false where another process has it.
func take(f *os.File) (ok bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, whence())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}

	return err == nil, err
}

func give(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, whence()) }

// fileNumber is the number of a file in its volume, 0 where the system does not tell it.
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
	defer windows.CloseHandle(h) //nolint:errcheck // it was only asked

	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(h, &info) != nil {
		return 0
	}

	return uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
}

// lookAt returns the stamp of a file and of which kind it is, that of a link itself, without the file's
// number, unless follow.
func lookAt(path string, follow bool) (st stamp, kind fs.FileMode, err error) {
	stat := os.Lstat
	if follow {
		stat, st.Inode = os.Stat, fileNumber(path)
	}

	fi, err := stat(path)
	if err != nil {
		return stamp{}, 0, err
	}

	st.Size, st.MTime = fi.Size(), fi.ModTime().UnixNano()

	return st, fi.Mode().Type(), nil
}

// protect leaves a file writable: the attribute belongs to all names of a file, and
// with it none of them can be synced, replaced or removed.
func protect(*os.File) error { return nil }

// occupied reports that a folder could not be renamed because its new name has another.
func occupied(to string, _ error) bool {
	_, err := os.Lstat(to)
	return err == nil
}

// patience is how long a file is waited for that another program has open.
const patience = 2 * time.Second

// rename gives a file or a folder its name; a file that has that name goes. Nothing that
// any program has open can be renamed or replaced: virus scanners and readers of the
// progress have it for moments, a spreadsheet for hours.
func rename(from, to string) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}

	b, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}

	for start, pause := time.Now(), time.Millisecond; ; pause *= 2 {
		err = windows.MoveFileEx(a, b, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			break
		}

		fi, e := os.Lstat(to)
		if e == nil && fi.IsDir() {
			break // a folder is never replaced
		}

		if e == nil && fi.Mode()&0o200 == 0 {
			_ = os.Chmod(to, 0o666) // made read-only by someone
		}

		if time.Since(start) > patience {
			err = fmt.Errorf("%w (another program has it open: close it there)", err)
			break
		}

		time.Sleep(pause)
	}

	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}

	return nil
}

// syncDir does nothing: there is no call for it. rename waits for the names it makes.
func syncDir(string) error { return nil }
