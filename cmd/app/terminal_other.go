//go:build !windows

package app

import "os"

// terminal reports whether a file is a terminal, which understands colours.
func terminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
