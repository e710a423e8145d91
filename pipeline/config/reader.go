package config

import (
	"slices"
	"strings"
)

// Reader is a program that converts files no format reads.
type Reader struct {
	// the program and its arguments; {file} is the path of the file. It writes an Arrow IPC stream to its
	// standard output
	Program []string `key:"program" short:"yes"`

	// any text, part of the key: a new one reads the files again. The program and the files among its
	// arguments need none: they are hashed
	Version string `key:"version"`

	// longest time for one file in s
	TimeoutS float64 `key:"timeout_s"`
}

func (r *Reader) setDefaults() { r.TimeoutS = 600 }

func (r *Reader) validate(_ *File, e *Experiment, key string, fail failFunc) {
	switch {
	case len(r.Program) == 0 || r.Program[0] == "":
		fail(key, `expected a program and its arguments, e.g. [python3, convert.py, "{file}"], found none`)
	case !slices.ContainsFunc(r.Program[1:], func(a string) bool { return strings.Contains(a, "{file}") }):
		fail(key, `expected "{file}" among the arguments of %s: the file to convert`, r.Program[0])
	case e.Ingest.Format != "":
		fail(key, "the program writes Arrow IPC; leave format out")
	}

	fail.above(key+".timeout_s", "a time", r.TimeoutS, 1e6)
}
