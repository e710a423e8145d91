package app

import (
	"os"

	"golang.org/x/sys/windows"
)

// terminal reports whether a file is a console, and has it understand colours: Windows
// 10 of 2016 and later do.
func terminal(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())

	return windows.GetConsoleMode(h, &mode) == nil &&
		windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
