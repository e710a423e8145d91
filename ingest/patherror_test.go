package ingest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// The error for a missing file names similar files; that for a broken link names its target.
func TestPathError(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "run1.wav"), nil, 0o644),
		os.Symlink("/none/run1.wav", filepath.Join(dir, "run2.wav"))); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"run3.wav": `there is "run1.wav"`, "run2.wav": "it is a link to /none/run1.wav, which is not there",
	} {
		_, err := ingest.OpenSource(filepath.Join(dir, name), "")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}

		ingesttest.WantDataError(t, nil, err, want)
	}
}
