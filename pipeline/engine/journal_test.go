package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/internal/must"
)

// A journal keeps its time young while nothing happens, and bounds an error's text.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	w := newJournal(dir, []Line{{Event: "run"}})
	w.add(Line{Event: "failed", Text: string(bytes.Repeat([]byte("x"), 1<<20))})

	hour := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		fi, err := os.Stat(w.path)
		must.Never(t, err != nil || time.Now().After(end), "the line is not written: %v", err)

		if fi.ModTime().After(hour.Add(time.Minute)) && fi.Size() > journalText {
			break
		}
	}

	must.Do(t, os.Chtimes(w.path, hour, hour))

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if fi, err := os.Stat(w.path); err != nil || time.Now().After(end) {
			t.Fatal("the time of the file stays: ", err)
		} else if fi.ModTime().After(hour.Add(time.Minute)) {
			break
		}
	}

	w.close(nil)

	if b, err := os.ReadFile(w.path); err != nil || len(b) > journalText+1000 || bytes.Count(b, []byte("\n")) != 3 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
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
		must.Do(t, os.WriteFile(path, []byte(in), 0o644))
		must.Equal(t, Tail(path, 3), want, "%q", in)
	}

	must.Equal(t, Tail(path+"none", 3), "", "got")
}
