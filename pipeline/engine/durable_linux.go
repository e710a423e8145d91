package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// syncs lists the file systems whose syncfs waits for the disk and reports its errors.
// Others, such as FUSE, may return at once; an overlay does not report the errors of the
// file system below it.
var syncs = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
}

// hasSyncErrors reports whether the kernel's syncfs reports errors of the disk. It does since Linux 5.8 (syncfs(2)).
var hasSyncErrors = sync.OnceValue(func() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}

	var major, minor int // 0 if the release is not a version
	_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)

	return major > 5 || major == 5 && minor >= 8
})

// syncAll makes everything durable that was written to the file system of a folder. It returns errUnable if the system
// cannot do that for certain.
func syncAll(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()

	var st unix.Statfs_t
	if err := unix.Fstatfs(int(folder.Fd()), &st); err != nil {
		return errUnable
	}

	kind := int64(st.Type) //nolint:unconvert // the type differs between processors
	if !slices.Contains(syncs, kind) || !hasSyncErrors() {
		return errUnable
	}

	err = unix.Syncfs(int(folder.Fd()))
	isForbidden := errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP)
	if isForbidden { // as in a sandbox
		return errUnable
	}

	return err
}
