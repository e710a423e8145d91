package ingest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/must"
)

// The error for a missing file names similar files; that for a broken link names its target.
func TestPathError(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(dir, "run1.wav"), nil, 0o644),
		os.Symlink("/none/run1.wav", filepath.Join(dir, "run2.wav"))))

	for name, want := range map[string]string{
		"run3.wav": `there is "run1.wav"`, "run2.wav": "it is a link to /none/run1.wav, which is not there",
	} {
		_, err := ingest.OpenSource(filepath.Join(dir, name), "")
		must.Not(t, !errors.Is(err, fs.ErrNotExist), "%s: %v", name, err)

		ingesttest.WantDataError(t, nil, err, want)
	}
}
