package engine

import (
	"io"
	"strings"
)

// Tail returns the last lines of a log. If a panic begins before them, in the last 8 KiB, Tail returns the first lines
// of the panic instead, because the lines after them are stacks. Tail returns "" if the log cannot be read.
func Tail(path string, lines int) string {
	const most = 8 << 10 // bytes that are read from the end

	file, err := OpenOwn(path)
	if err != nil {
		return ""
	}
	defer file.Close()

	if fi, err := file.Stat(); err == nil && fi.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}

	data, _ := io.ReadAll(io.LimitReader(file, most))
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n") // after an error of reading: the lines before it
	first := max(0, len(all)-lines)

	for i := first - 1; i >= 0; i-- {
		if strings.HasPrefix(all[i], "panic: ") || strings.HasPrefix(all[i], "fatal error: ") {
			first = i // stacks follow
			break
		}
	}

	return strings.ToValidUTF8(strings.Join(all[first:min(first+lines, len(all))], "\n"), "?")
}
