package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes all durable that was written to the file system of a folder.
func syncAll(within string) error {
	d, err := os.Open(within)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
