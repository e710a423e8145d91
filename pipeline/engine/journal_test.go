package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A journal keeps its time young while nothing happens, and bounds an error's text.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	w := newJournal(dir, []Line{{Event: "run"}})
	w.add(Line{Event: "failed", Text: string(bytes.Repeat([]byte("x"), 1<<20))})

	hour := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		fi, err := os.Stat(w.path)
		require.NoError(t, err, "the line is not written: %v", err)
		require.False(t, time.Now().After(end), "the line is not written: %v", err)

		if fi.ModTime().After(hour.Add(time.Minute)) && fi.Size() > journalText {
			break
		}
	}

	require.NoError(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if fi, err := os.Stat(w.path); err != nil || time.Now().After(end) {
			t.Fatal("the time of the file stays: ", err)
		} else if fi.ModTime().After(hour.Add(time.Minute)) {
			break
		}
	}

	w.close(nil)

	b, err := os.ReadFile(w.path)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), journalText+1000)
	assert.Equal(t, 3, bytes.Count(b, []byte("\n")))
}

// The end of a log is its last lines; of one that ends with a panic, the panic,
// because what follows it is stacks.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")

	stack := strings.Repeat("goroutine 1 [running]:\n", 30)
	for in, want := range map[string]string{
		"":                                   "",
		"a\nb\n":                             "a\nb",
		"a\nb\nc\nd":                         "b\nc\nd",
		"a\npanic: no\n\n" + stack:           "panic: no\n\ngoroutine 1 [running]:",
		"panic: 1\nfatal error: 2\n" + stack: "fatal error: 2\ngoroutine 1 [running]:\ngoroutine 1 [running]:",
		"x\xff":                              "x?",
	} {
		require.NoError(t, os.WriteFile(path, []byte(in), 0o644))
		assert.Equal(t, want, Tail(path, 3), "%q", in)
	}

	assert.Empty(t, Tail(path+"none", 3), "got")
}
