//go:build unix

package ingest

import (
	"os"
	"syscall"
)

func mapFile(f *os.File, at int64, n int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), at, n, syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(b []byte) { _ = syscall.Munmap(b) }
