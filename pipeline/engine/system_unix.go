//go:build unix

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
	toSync         = os.O_RDONLY   // how a file is opened that is to be synced
)

// take locks a file for this process; ok is false where another process has it.
func take(f *os.File) (ok bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}

	return err == nil, err
}

// give ends what take began. Closing alone would leave it to a child process that is
// just being started and holds the file until it is.
func give(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lookAt returns the stamp of a file and of which kind it is, that of a link itself unless follow. It is
// os.Stat and os.Lstat without what they allocate.
func lookAt(path string, follow bool) (st stamp, kind fs.FileMode, err error) {
	var x unix.Stat_t
	for err = unix.EINTR; err == unix.EINTR; { //nolint:errorlint // as the system returns it
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
	if follow { // of results it changes with each of their names
		st.CTime = x.Ctim.Nano()
	}

	return st, kind, nil
}

// protect makes a file read-only.
func protect(f *os.File) error { return f.Chmod(0o444) }

// occupied reports that a folder could not be renamed because its new name has another.
func occupied(_ string, err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// rename gives a file or a folder its name; a file that has that name goes.
func rename(from, to string) error { return os.Rename(from, to) }

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}

	return errors.Join(d.Sync(), d.Close())
}
