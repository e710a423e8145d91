package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A report is bounded, holds whole lines, and is no progress of a task: only a
// checkpoint is.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	s := openStore(dir)
	j := &Job{scratch: s.cache("scratch", "key")}
	for range 10000 {
		j.Report(map[string]int{"epoch": 1})
	}

	path := filepath.Join(j.scratch, ReportFile)
	b, err := os.ReadFile(path)

	line := []byte("{\"epoch\":1}\n")
	if err != nil || len(b) > reportSize || len(b) < reportSize-2*len(line) || !bytes.Equal(b,
		bytes.Repeat(line, len(b)/len(line))) {
		t.Errorf("%d bytes, %v", len(b), err)
	}

	w := &Work{Key: "key", r: &runner{s: s}}
	if at := w.Progress(); !at.IsZero() {
		t.Errorf("a report is taken for progress: %v", at)
	}

	then := time.Now().Add(-time.Minute).Round(time.Second)

	checkpoint := filepath.Join(j.scratch, "checkpoint")
	if err := os.WriteFile(checkpoint, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	if err := os.Chtimes(checkpoint, then, then); err != nil {
		t.Fatal(err)
	}

	if at := w.Progress(); !at.Equal(then) {
		t.Errorf("progress at %v, expected the checkpoint's %v", at, then)
	}
}

// A journal keeps its time young while nothing happens, and bounds an error's text.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	w := newJournal(dir, "run.jsonl", true, []Line{{Event: "run"}})
	w.add(Line{Event: "failed", Text: string(bytes.Repeat([]byte("x"), 1<<20))})

	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(w.path, hour, hour); err != nil {
		t.Fatal(err)
	}

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		fi, err := os.Stat(w.path)
		if err != nil || time.Now().After(end) {
			t.Fatal("the line is not written: ", err)
		}

		if fi.ModTime().After(hour.Add(time.Minute)) && fi.Size() > journalText {
			break
		}
	}

	if err := os.Chtimes(w.path, hour, hour); err != nil {
		t.Fatal(err)
	}

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
