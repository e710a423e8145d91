package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// syncs are the file systems whose syncfs waits for the disk and reports its errors.
// Others, such as FUSE, may return at once; an overlay does not know the errors of the
// file system below it.
var syncs = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
}

// reports reports whether the kernel's syncfs does so: since Linux 5.8 (syncfs(2)).
var reports = sync.OnceValue(func() bool {
	var u unix.Utsname

	var major, minor int
	if unix.Uname(&u) == nil {
		_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	}

	return major > 5 || major == 5 && minor >= 8
})

// syncAll makes all durable that was written to the file system of a folder.
func syncAll(within string) error {
	d, err := os.Open(within)
	if err != nil {
		return err
	}
	defer d.Close()

	var st unix.Statfs_t
	if err := unix.Fstatfs(int(d.Fd()), &st); err != nil || !slices.Contains(syncs, int64(st.Type)) ||
		!reports() {
		return errUnable
	}

	err = unix.Syncfs(int(d.Fd()))
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return errUnable // a sandbox may forbid it
	}

	return err
}
