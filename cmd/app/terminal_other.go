//go:build !windows

package app

import "os"

// terminal reports whether a file is a character device, as terminals are. /dev/null is one too, and takes any text.
func terminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
