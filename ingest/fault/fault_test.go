package fault_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts that are not known are left out.
func ExampleError() {
	for _, e := range []*fault.Error{
		{Path: "run.tdms", Place: "byte 28", Want: "a segment's tag", Found: "zeros", Hint: "copy the file again"},
		{Place: "variable x", Err: io.ErrUnexpectedEOF},
		{Found: "an empty archive"},
	} {
		fmt.Println(e)
	}

	fmt.Println(errors.Is(&fault.Error{Err: io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF))
	// Output:
	// run.tdms: byte 28: expected a segment's tag, found zeros (copy the file again)
	// variable x: unexpected EOF
	// an empty archive
	// true
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fault.Error{Place: "byte 3", Found: "zeros"}, "a.mat: byte 3: zeros"},
		{fmt.Errorf("read block: %w", &fault.Error{Place: "byte 3", Found: "zeros"}), "a.mat: byte 3: zeros"},
		{&fault.Error{Path: "b.mat", Found: "zeros"}, "b.mat: zeros"},
		{fmt.Errorf("scan: %w", &fault.Error{Path: "b.mat", Found: "zeros"}), "scan: b.mat: zeros"},
		{io.ErrUnexpectedEOF, "a.mat: read: unexpected EOF"},
	} {
		err := fault.In("a.mat", c.err)
		require.Error(t, err, "In(%v) = %v, expected %s", c.err, err, c.want)
		require.Equal(t, c.want, err.Error(), "In(%v) = %v, expected %s", c.err, err, c.want)
		assert.ErrorAs(t, err, new(*fault.Error), "In(%v) = %v, expected %s", c.err, err, c.want)
	}

	require.NoError(t, fault.In("a.mat", nil))
}

// ReadFile refuses larger files by their size, and anything but regular files without waiting.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	small, large, fifo := filepath.Join(dir, "small"), filepath.Join(dir, "large"), filepath.Join(dir, "fifo")
	for _, f := range []string{small, large} {
		require.NoError(t, os.WriteFile(f, []byte("text"), 0o644))
	}

	if err := os.Truncate(large, 3<<30); err != nil { // it has no blocks
		t.Fatal(err)
	}

	require.NoError(t, syscall.Mkfifo(fifo, 0o644))

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
		require.ErrorAs(t, err, &data, "%s: %v, want %s", path, err, want)
		require.Equal(t, path, data.Path, "%s: %v, want %s", path, err, want)
		assert.Contains(t, err.Error(), want, "%s: %v, want %s", path, err, want)
	}

	if _, err := fault.ReadFile(small+"er", 3, "a text"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}

	ingesttest.ReportBound(t, "time to refuse what is not a small file", time.Since(start), time.Minute)
}
