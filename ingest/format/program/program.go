// Package program reads files by programs of the user's: one that writes an Arrow
// IPC stream or file to its standard output. It is started without a shell, with a
// time limit; its output is kept in a temporary file, bounded, and verified as an
// Arrow file of anyone's.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/arrow"
	"doubletake/ingest/format/internal/spool"
	"doubletake/internal/lists"
)

// What a program may write: so many times the file, and inAny in addition; and how
// much of its messages is shown.
const (
	timesFile = 64
	maxShown  = 2048
)

var inAny = int64(1 << 30) // a variable for tests

// Open runs the program of the options on a file and opens what it wrote. Attributes,
// rate and units are found as in any Arrow file. Errors are *fault.Error.
func Open(path string, o ingest.Options) (ingest.Reader, error) {
	src, err := ingest.OpenSource(path, o.Name) // it explains what cannot be opened
	if err != nil {
		return nil, err
	}

	if err := src.Close(); err != nil {
		return nil, ingest.PathError(src.Path, err)
	}

	out, err := spool.Temp()
	if err != nil {
		return nil, fmt.Errorf("keep a program's output: %w", err)
	}

	r, err := read(path, src, out, o)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}

	return r, nil
}

// read runs the program and opens out.
func read(path string, src ingest.Source, out *spool.File, o ingest.Options) (ingest.Reader, error) {
	n, err := run(path, src, out, o)
	if err != nil {
		return nil, err
	}

	name := filepath.Base(o.Program.Command[0])
	o.Program, o.Format = nil, ""

	r, err := arrow.OpenOutput(ingest.Source{Path: src.Path, ReaderAt: out, Size: n, Closer: out}, o)
	if err != nil {
		return nil, &fault.Error{
			Path: src.Path, Place: "output of " + name, Err: err,
			Hint: "it must be an Arrow IPC stream: see docs/readers.md",
		}
	}

	return r, nil
}

// run runs the program with out as its standard output and returns how much it wrote.
func run(path string, src ingest.Source, out io.Writer, o ingest.Options) (int64, error) {
	p := *o.Program
	name := filepath.Base(p.Command[0])
	fail := func(found, hint string, err error) error {
		return &fault.Error{Path: src.Path, Place: "reader " + name, Found: found, Hint: hint, Err: err}
	}

	file, err := filepath.Abs(path)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", src.Path, err)
	}

	args := lists.Each(p.Command[1:], func(a string) string { return strings.ReplaceAll(a, "{file}", file) })

	parent := o.Context
	if parent == nil {
		parent = context.Background()
	}

	ctx, cancel := context.WithTimeout(parent, p.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], args...)
	cmd.Dir, cmd.WaitDelay = p.Dir, 2*time.Second
	limit := &bounded{to: out, left: timesFile*src.Size + inAny}
	told := &tail{}
	cmd.Stdout, cmd.Stderr = limit, told

	runtime.LockOSThread() // the system ends the program with the thread that started it
	start, end := own(cmd)
	err = start()

	end()
	runtime.UnlockOSThread()

	most := timesFile*src.Size + inAny
	switch {
	case limit.full:
		return 0, fail(fmt.Sprintf("it writes more than %d bytes, %d times the file and %d MiB", most, timesFile,
			inAny>>20),
			"does it convert one file?", nil)

	case parent.Err() != nil:
		return 0, parent.Err()
	case ctx.Err() != nil:
		return 0, fail(fmt.Sprintf("it did not end in %v%s", p.Timeout, told.String()),
			"timeout_s gives it longer: reader: {program: …, timeout_s: …}", nil)
	case errors.Is(err, exec.ErrWaitDelay):
		return 0, fail("it ended, and a process that it started keeps its output open"+told.String(),
			"it must wait for that process, or close its output: command >/dev/null &", nil)
	case err != nil:
		return 0, fail("it failed"+told.String(), "", err)
	case most-limit.left == 0:
		return 0, fail("it wrote nothing"+told.String(), "it must write an Arrow IPC stream to its standard output", nil)
	}

	return most - limit.left, nil
}

// bounded writes at most so many bytes.
type bounded struct {
	to   io.Writer
	left int64
	full bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		b.full = true
		return 0, errors.New("too much output")
	}

	n, err := b.to.Write(p)
	b.left -= int64(n)

	return n, err
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxShown {
		t.b = bytes.Clone(t.b[len(t.b)-maxShown:])
	}

	return len(p), nil
}

// String is the text as a part of an error message: printable, with its line ends.
func (t *tail) String() string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD"))
	if s == "" {
		return ""
	}

	return "; it said:\n" + strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}

		if r == '\t' {
			return ' '
		}

		return '\uFFFD'
	}, s) + "\n"
}
