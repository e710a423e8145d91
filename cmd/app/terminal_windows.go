package app

import (
	"os"

	"golang.org/x/sys/windows"
)

// terminal reports whether a file is a console that shows colours, and switches colours on. Consoles before Windows 10
// of 2016 cannot show them.
func terminal(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())

	return windows.GetConsoleMode(h, &mode) == nil &&
		windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
