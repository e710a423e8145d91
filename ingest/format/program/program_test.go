package program_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/format/program"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// The program is cat, and the file is a stream that a converter would write.
func Example() {
	o := ingest.Options{Program: &ingest.Program{Command: []string{"/bin/cat", "{file}"}, Timeout: time.Minute}}
	r, err := program.Open("testdata/stream.arrows", o)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples)
	}

	fmt.Println(r.Info().Attributes)
	// Output:
	// mic 1 Pa 2000 600
	// mic 2 Pa 2000 600
	// Fz N 2000 600
	// [{rate_hz 2000} {rpm 3000}]
}

// The program of the test is the reader too: the environment variable READER says what it does.
func TestMain(m *testing.M) {
	switch os.Getenv("READER") {
	case "":
		os.Exit(m.Run())
	case "copy":
		b, err := os.ReadFile(os.Args[2])
		if err != nil || os.Args[1] != "--in" || len(os.Args) != 3 {
			os.Exit(9)
		}

		_, _ = os.Stdout.Write(b)

	case "fail":
		fmt.Fprintln(os.Stderr, "no licence\x1b[31m for this file")
		os.Exit(3)
	case "sleep":
		fmt.Fprintln(os.Stderr, "reading")
		time.Sleep(time.Minute)
	case "text":
		fmt.Println("time,Fx")
	case "nothing":
	case "leave":
		c := exec.Command("setsid", "sh", "-c", "echo >&2; exec sleep 600")
		c.Stdout = os.Stdout
		in, _ := c.StderrPipe()
		_ = c.Start()
		_, _ = in.Read(make([]byte, 1)) // wait until it has a session of its own: before, it would end with this process

	case "convert": // TestKilled ends this process while its converter runs
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		command := []string{"/bin/sh", "-c", "$SETSID sleep 600 & echo $$ $! >\"$PIDS\"; wait; sleep 600", "{file}"}
		o := ingest.Options{Program: &ingest.Program{Command: command, Timeout: time.Minute}}
		os.Unsetenv("READER")
		_, err := program.Open("testdata/README.md", o.In(ctx, ""))
		stop()
		fmt.Println(err)

	case "too much":
		b := make([]byte, 1<<20)
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				os.Exit(1)
			}
		}
	}

	os.Exit(0)
}

// temporary returns the names of the temporary files of readers in a folder.
func temporary(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "doubletake-reader-*"))
	require.NoError(t, err)

	return names
}

// The recording has the values that testdata/make.go.txt gave to the stream.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("READER", "copy")
	path := filepath.Join(t.TempDir(), "a; echo $HOME `id`.raw") // no shell sees it

	b := testfile.Read(t, "testdata/stream.arrows")
	require.NoError(t, os.WriteFile(path, b, 0o644))

	o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "--in", "{file}"}, Timeout: time.Minute}}
	r, err := program.Open(path, o)
	require.NoError(t, err)

	x := ingesttest.ReadAll(t, r)
	for k, v := range x[0] {
		s := float64(k) / 2000
		require.Equal(t, float64(float32(math.Sin(2*math.Pi*100*s))), v, "sample %d", k)
		require.Equal(t, s, x[2][k], "time of sample %d", k)
	}

	if runtime.GOOS == "linux" {
		assert.Empty(t, temporary(t, dir), "temporary files with a name, which would outlive a killed process")
	}

	require.NoError(t, r.Close())
	assert.Empty(t, temporary(t, dir), "temporary files after Close")

	// A rate that contradicts the program's is an error.
	o.RateHz = 3000
	_, err = program.Open(path, o)
	ingesttest.WantDataError(t, nil, err, "expected a rate of 3000 Hz as configured, found 2000 Hz")
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)

	for _, c := range []struct {
		do      string
		timeout time.Duration
		want    []string
	}{
		{"fail", time.Minute, []string{"it failed; it said:\nno licence\uFFFD[31m for this file\n", "exit status 3"}},
		{"sleep", 3 * time.Second, []string{"it did not end in 3s; it said:\nreading\n", "timeout_s gives it longer"}},
		{"text", time.Minute, []string{"expected an Arrow IPC stream", "docs/readers.md"}},
		{"nothing", time.Minute, []string{"it wrote nothing"}},
		{"leave", time.Minute, []string{"a process that it started keeps its output open", "wait for that process"}},
	} {
		t.Setenv("READER", c.do)
		began := time.Now()
		o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "{file}"}, Timeout: c.timeout}}
		r, err := program.Open("testdata/README.md", o)
		ingesttest.WantDataError(t, r, err, append(c.want, "testdata/README.md: ")...)

		ingesttest.ReportBound(t, "time to end a reader that does "+c.do, time.Since(began), 50*time.Second)
	}

	none := []string{filepath.Join(dir, "none"), "{file}"}
	o := ingest.Options{Program: &ingest.Program{Command: none, Timeout: time.Minute}}
	r, err := program.Open("testdata/README.md", o)
	ingesttest.WantDataError(t, r, err, "reader none: it failed", "no such file")
	assert.ErrorIs(t, err, os.ErrNotExist)

	_, err = program.Open("testdata/none.raw", o)
	require.ErrorIs(t, err, os.ErrNotExist, "a missing file")
	assert.NotContains(t, err.Error(), "reader", "a missing file is no fault of the program")
	assert.Empty(t, temporary(t, dir), "temporary files that are left")
}

// A process is ended while its converter runs, by SIGTERM and by SIGKILL in turns. It leaves no converter, no process
// that the converter started, and no temporary file, even if it ignores SIGHUP, as nohup arranges. After SIGTERM, this
// holds for processes with a session of their own too.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems end the program alone")
	}

	dir := t.TempDir()
	for i := range longtest.Count(4, 20) {
		pids := filepath.Join(t.TempDir(), "pids")
		var out bytes.Buffer

		c := exec.Command(os.Args[0])
		if i%4 > 1 {
			c = exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0])
		}

		c.Env = append(os.Environ(), "READER=convert", "PIDS="+pids, "TMPDIR="+dir)
		c.Stdout = &out
		if i%2 == 0 {
			c.Env = append(c.Env, "SETSID=setsid")
		}

		require.NoError(t, c.Start())

		var shell, child int

		within(t, "the converter does not start", func() bool {
			b, _ := os.ReadFile(pids)
			n, _ := fmt.Sscan(string(b), &shell, &child)

			return n == 2
		})

		s := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2]
		require.NoError(t, c.Process.Signal(s))

		_ = c.Wait()

		within(t, fmt.Sprintf("%v leaves process %d or %d", s, shell, child), func() bool {
			return !running(shell) && !running(child)
		})

		if s == syscall.SIGTERM {
			assert.Contains(t, out.String(), "context canceled", "SIGTERM")
		}
	}

	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, names, "temporary files that are left")
}

// running reports whether a process runs. A process that has ended and waits for its parent does not run.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// within waits until a condition holds, and fails the test with the text what after 20 seconds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		require.False(t, time.Now().After(end), "%v", what)
	}
}

// A program that never stops writing is stopped at 64 times the file and 1 GiB.
func TestTooMuch(t *testing.T) {
	if !longtest.IsLong() { // otherwise the program writes 1 GiB
		defer program.SetBaseOutput(program.SetBaseOutput(16 << 20))
	}

	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("READER", "too much")
	o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "{file}"}, Timeout: 5 * time.Minute}}
	r, err := program.Open("testdata/README.md", o)
	ingesttest.WantDataError(t, r, err, "64 times the file and")
}
