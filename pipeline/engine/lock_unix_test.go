//go:build linux || darwin

package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lock is free once it is given back, even while a child process that is
// just being started still holds a copy of the open file; dup makes one.
func TestLockOfChild(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	require.NoError(t, err)

	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}

	copied := -1
	for _, e := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == filepath.Join(dir, ".lock") {
			fd, _ := strconv.Atoi(e.Name())
			number, err := syscall.Dup(fd)
			require.NoError(t, err)
			copied = number
		}
	}

	require.GreaterOrEqual(t, copied, 0, "the lock is no open file")

	defer syscall.Close(copied)

	_, err = lock(dir)
	assert.Error(t, err, "a second lock while the first is held")

	unlock()

	unlock, err = lock(dir)
	require.NoError(t, err)

	unlock()
}
