// Package program reads a file by a program of the user that writes an Arrow IPC stream or file to its standard output.
// The program is started without a shell and with a time limit. Its output is kept in a temporary file of limited size,
// and is verified like any other Arrow file.
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
)

// outputPerByte is the number of bytes that a program may write for each byte of the file, in addition to baseOutput.
const outputPerByte = 64

// baseOutput is the number of bytes that a program may write for any file. It is a variable, so that tests can change
// it.
var baseOutput = int64(1 << 30)

// maxShown is the number of bytes of the program's messages that are shown, the last ones.
const maxShown = 2048

// killDelay is how long to wait for the end of the output after the program ended or was killed.
const killDelay = 2 * time.Second

// Open runs the program of the options on a file and opens its output as a recording. Attributes, rates and units are
// found as in any Arrow file. Errors about the program and its output are *fault.Error.
func Open(path string, o ingest.Options) (ingest.Reader, error) {
	src, err := ingest.OpenSource(path, o.Name) // only for its errors, its name and its size
	if err != nil {
		return nil, err
	}

	if err := src.Close(); err != nil {
		return nil, ingest.PathError(src.Path, err)
	}

	output, err := spool.Temp()
	if err != nil {
		return nil, fmt.Errorf("keep a program's output: %w", err)
	}

	r, err := read(path, src, output, o)
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}

	return r, nil
}

// read runs the program and opens its output, which the returned reader closes.
func read(path string, src ingest.Source, output *spool.File, o ingest.Options) (ingest.Reader, error) {
	n, err := run(path, src, output, o)
	if err != nil {
		return nil, err
	}

	name := filepath.Base(o.Program.Command[0])
	o.Program = nil
	o.Format = ""

	r, err := arrow.OpenOutput(ingest.Source{Path: src.Path, ReaderAt: output, Size: n, Closer: output}, o)
	if err != nil {
		return nil, &fault.Error{
			Path: src.Path, Place: "output of " + name, Err: err,
			Hint: "it must be an Arrow IPC stream: see docs/readers.md",
		}
	}

	return r, nil
}

// run runs the program, which writes to output, and returns the number of bytes that it wrote.
func run(path string, src ingest.Source, output io.Writer, o ingest.Options) (int64, error) {
	file, err := filepath.Abs(path)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", src.Path, err)
	}

	parent := o.Context
	if parent == nil {
		parent = context.Background()
	}

	ctx, cancel := context.WithTimeout(parent, o.Program.Timeout)
	defer cancel()

	most := outputPerByte*src.Size + baseOutput
	limited := &bounded{w: output, left: most}
	messages := &tail{}

	cmd := command(ctx, o.Program, file)
	cmd.Stdout = limited
	cmd.Stderr = messages
	err = runGroup(cmd)

	written := most - limited.left
	fail := &fault.Error{Path: src.Path, Place: "reader " + filepath.Base(o.Program.Command[0])}
	switch {
	case limited.full:
		fail.Found = fmt.Sprintf("it writes more than %d bytes, %d times the file and %d MiB", most, outputPerByte,
			baseOutput>>20)
		fail.Hint = "does it convert one file?"
	case parent.Err() != nil:
		return 0, parent.Err()
	case ctx.Err() != nil:
		fail.Found = fmt.Sprintf("it did not end in %v%s", o.Program.Timeout, messages)
		fail.Hint = "timeout_s gives it longer: reader: {program: …, timeout_s: …}"
	case errors.Is(err, exec.ErrWaitDelay):
		fail.Found = "it ended, and a process that it started keeps its output open" + messages.String()
		fail.Hint = "it must wait for that process, or close its output: command >/dev/null &"
	case err != nil:
		fail.Found = "it failed" + messages.String()
		fail.Err = err
	case written == 0:
		fail.Found = "it wrote nothing" + messages.String()
		fail.Hint = "it must write an Arrow IPC stream to its standard output"
	default:
		return written, nil
	}

	return 0, fail
}

// command returns the command that runs a program on a file.
func command(ctx context.Context, program *ingest.Program, file string) *exec.Cmd {
	var args []string
	for _, arg := range program.Command[1:] {
		args = append(args, strings.ReplaceAll(arg, "{file}", file))
	}

	cmd := exec.CommandContext(ctx, program.Command[0], args...)
	cmd.Dir = program.Dir
	cmd.WaitDelay = killDelay

	return cmd
}

// runGroup runs a command, and ends the processes that it left running.
func runGroup(cmd *exec.Cmd) error {
	runtime.LockOSThread() // Linux kills the program when the thread ends that started it
	defer runtime.UnlockOSThread()

	group := newProcessGroup(cmd)
	defer group.Kill()

	return group.Run()
}

// bounded writes at most a number of bytes to w.
type bounded struct {
	w    io.Writer
	left int64 // bytes that may still be written
	full bool  // a write was refused
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		b.full = true
		return 0, errors.New("too much output")
	}

	n, err := b.w.Write(p)
	b.left -= int64(n)

	return n, err
}

// tail keeps the last maxShown bytes that are written to it.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxShown {
		t.b = bytes.Clone(t.b[len(t.b)-maxShown:])
	}

	return len(p), nil
}

// String returns the text as the end of an error message, with characters that cannot be printed replaced. It returns
// "" if there is no text.
func (t *tail) String() string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD"))
	if s == "" {
		return ""
	}

	return "; it said:\n" + strings.Map(printable, s) + "\n"
}

// printable returns r if it can be printed, and otherwise a rune in its place.
func printable(r rune) rune {
	switch {
	case r == '\n' || unicode.IsPrint(r):
		return r
	case r == '\t':
		return ' '
	}

	return '\uFFFD'
}
