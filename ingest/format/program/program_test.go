package program_test

import (
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/format/program"
	"doubletake/ingest/ingesttest"
)

// The program here is cat, and the file what a converter would write.
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

// The test's own program is the reader: it does what READER says.
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

// temporary returns the temporary files of readers.
func temporary(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "doubletake-reader-*"))
	if err != nil {
		t.Fatal(err)
	}

	return names
}

// Expected values are those testdata/make.go.txt gave to the stream.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("READER", "copy")
	path := filepath.Join(t.TempDir(), "a; echo $HOME `id`.raw") // no shell sees it

	b, err := os.ReadFile("testdata/stream.arrows")
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}

	o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "--in", "{file}"}, Timeout: time.Minute}}
	r, err := program.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}

	x := ingesttest.ReadAll(t, r)
	for k, v := range x[0] {
		s := float64(k) / 2000
		if v != float64(float32(math.Sin(2*math.Pi*100*s))) || x[2][k] != s {
			t.Fatalf("sample %d: %g, %g", k, v, x[2][k])
		}
	}

	if len(temporary(t, dir)) != 1 {
		t.Error("the output is kept elsewhere")
	}

	if err := r.Close(); err != nil || len(temporary(t, dir)) != 0 {
		t.Errorf("after Close: %v, %v", temporary(t, dir), err)
	}

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
		{
			"sleep", 3 * time.Second,
			[]string{"it did not end in 3s; it said:\nreading\n", "timeout_s gives it longer"},
		},
		{"text", time.Minute, []string{"expected an Arrow IPC stream", "docs/readers.md"}},
		{"nothing", time.Minute, []string{"it wrote nothing"}},
	} {
		t.Setenv("READER", c.do)
		began := time.Now()
		o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "{file}"}, Timeout: c.timeout}}
		r, err := program.Open("testdata/README.md", o)
		ingesttest.WantDataError(t, r, err, append(c.want, "testdata/README.md: ")...)

		if d := time.Since(began); c.do == "sleep" && d > 50*time.Second {
			t.Errorf("it was stopped after %v", d)
		}
	}

	none := []string{filepath.Join(dir, "none"), "{file}"}
	o := ingest.Options{Program: &ingest.Program{Command: none, Timeout: time.Minute}}
	r, err := program.Open("testdata/README.md", o)
	ingesttest.WantDataError(t, r, err, "reader none: it failed", "no such file")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("not fs.ErrNotExist")
	}

	if _, err = program.Open("testdata/none.raw", o); err == nil || strings.Contains(err.Error(), "reader") {
		t.Errorf("a missing file: %v", err)
	}

	if got := temporary(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A program that never stops writing is stopped at 64 times the file and 1 GiB.
func TestTooMuch(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") == "" { // else it writes 1 GiB
		defer program.SetInAny(program.SetInAny(16 << 20))
	}

	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("READER", "too much")
	o := ingest.Options{Program: &ingest.Program{Command: []string{os.Args[0], "{file}"}, Timeout: 5 * time.Minute}}
	r, err := program.Open("testdata/README.md", o)
	ingesttest.WantDataError(t, r, err, "64 times the file and")
}
