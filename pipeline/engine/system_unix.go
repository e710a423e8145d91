//go:build linux || darwin

// This file is for the Unix systems for which the program is released. Other Unix systems lack some of these error
// numbers.

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unwritten are the errors after which data may be lost: the disk failed, is full, has a
// bad sector, did not answer in time, or its connection broke.
var unwritten = []error{
	syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.ENODATA, syscall.EILSEQ, syscall.ETIMEDOUT, syscall.ENOLINK,
}

const (
	errOtherDevice = syscall.EXDEV // a rename to another file system
	toSync         = os.O_RDONLY   // mode to open a file that is to be synced
)

// take locks a file for this process. ok is false if another process has locked it.
func take(file *os.File) (ok bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}

	return err == nil, err
}

// give unlocks a file. Closing the file would not be enough: a child process that is
// just being started may have it open for a moment.
func give(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// lookAt returns the stamp of a file and its type. It describes a link itself unless follow is true. Unlike os.Stat and
// os.Lstat it does not allocate memory. Only with follow, for raw files, the stamp has a CTime, because the CTime of a
// result changes whenever the result gets or loses a name.
func lookAt(path string, follow bool) (st stamp, kind fs.FileMode, err error) {
	var x unix.Stat_t
	for err = unix.EINTR; err == unix.EINTR; { // a signal interrupted the call
		if follow {
			err = unix.Stat(path, &x)
		} else {
			err = unix.Lstat(path, &x)
		}
	}

	if err != nil {
		return st, 0, &fs.PathError{Op: "stat", Path: path, Err: err}
	}

	switch x.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		kind = fs.ModeDir
	default:
		kind = fs.ModeIrregular
	}

	st = stamp{Size: x.Size, MTime: x.Mtim.Nano(), Inode: x.Ino}
	if follow {
		st.CTime = x.Ctim.Nano()
	}

	return st, kind, nil
}

// protect makes a file read-only.
func protect(file *os.File) error { return file.Chmod(0o444) }

// occupied reports whether err, of renaming a folder, means that another folder has the new name.
func occupied(_ string, err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// rename renames a file or a folder. It replaces a file that has the new name.
func rename(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}

	return errors.Join(d.Sync(), d.Close())
}
