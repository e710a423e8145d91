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

// In adds a path only to an error that has none, and keeps the words of any other error.
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
	small := filepath.Join(dir, "small")
	large := filepath.Join(dir, "large")
	fifo := filepath.Join(dir, "fifo")
	for _, f := range []string{small, large} {
		require.NoError(t, os.WriteFile(f, []byte("text"), 0o644))
	}

	require.NoError(t, os.Truncate(large, 3<<30)) // it has no blocks
	require.NoError(t, syscall.Mkfifo(fifo, 0o644))

	b, err := fault.ReadFile(small, 4, "a text")
	require.NoError(t, err)
	assert.Equal(t, "text", string(b))

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
		require.ErrorAs(t, err, &data, "%s", path)
		require.Equal(t, path, data.Path)
		assert.Contains(t, err.Error(), want, "%s", path)
	}

	_, err = fault.ReadFile(small+"er", 3, "a text")
	require.ErrorIs(t, err, fs.ErrNotExist, "a missing file")

	ingesttest.ReportBound(t, "time to refuse what is not a small file", time.Since(start), time.Minute)
}
