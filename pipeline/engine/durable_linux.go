package engine

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// syncs are the file systems whose syncfs waits for the disk. Others, such as FUSE,
// may return at once.
var syncs = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC,
}

// syncAll makes all durable that was written to the file system of a folder.
func syncAll(within string) error {
	d, err := os.Open(within)
	if err != nil {
		return err
	}
	defer d.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(d.Fd()), &st); err != nil || !slices.Contains(syncs, int64(st.Type)) {
		return errUnable
	}
	err = unix.Syncfs(int(d.Fd()))
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		return errUnable // a sandbox may forbid it
	}
	return err
}
