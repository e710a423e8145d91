package app

import (
	"io"
	"os"
	"strconv"
)

// width returns $COLUMNS if w is a terminal. It returns 0 if w is not a terminal, or if $COLUMNS is not a number.
func width(w io.Writer) int {
	if !isTerminal(file(w)) {
		return 0
	}

	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil {
		return 0
	}

	return columns
}

// colour reports whether w is a terminal that wants colours.
func colour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(file(w))
}

// isTerminal reports whether a file, which may be nil, is a terminal.
func isTerminal(file *os.File) bool {
	return file != nil && terminal(file)
}

// file returns the file behind a stream, or nil if the stream is not a file.
func file(w io.Writer) *os.File {
	if p, ok := w.(*printer); ok {
		w = p.w
	}

	f, _ := w.(*os.File)

	return f
}
