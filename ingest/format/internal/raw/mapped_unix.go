//go:build unix

package raw

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a part of a file that will be read in order: the system then
// fetches from the disk what comes next before it is wanted.
func mapFile(f *os.File, at int64, n int) ([]byte, error) {
	b, err := unix.Mmap(int(f.Fd()), at, n, unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	}
	return b, err
}

func unmap(b []byte) { _ = unix.Munmap(b) }
