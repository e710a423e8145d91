package fault_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doubletake/ingest/fault"
	"doubletake/internal/must"
)

// Larger files are refused by their size, and what is no regular file at once.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	small, large, fifo := filepath.Join(dir, "small"), filepath.Join(dir, "large"), filepath.Join(dir, "fifo")
	for _, f := range []string{small, large} {
		must.Do(t, os.WriteFile(f, []byte("text"), 0o644))
	}

	if err := os.Truncate(large, 3<<30); err != nil { // it has no blocks
		t.Fatal(err)
	}

	must.Do(t, syscall.Mkfifo(fifo, 0o644))

	if b, err := fault.ReadFile(small, 4, "a text"); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}

	start := time.Now()

	for path, want := range map[string]string{
		small:       "expected a text of at most 0 MiB, found 4 bytes",
		large:       "expected a text of at most 0 MiB, found 3221225472 bytes",
		fifo:        "expected a file, found a FIFO",
		dir:         "expected a file, found a directory",
		"/dev/zero": "expected a file, found a device",
	} {
		_, err := fault.ReadFile(path, 3, "a text")

		var data *fault.Error
		must.Not(t, !errors.As(err, &data) || data.Path != path || !strings.Contains(err.Error(), want),
			"%s: %v, want %s", path, err, want)
	}

	if _, err := fault.ReadFile(small+"er", 3, "a text"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}

	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}
