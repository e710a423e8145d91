package program

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// The key of a program holds its command, its version, and the digests of it and of
// the files among its arguments; those are computed here by crypto/sha256.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "convert.sh")
	find := func(r *setting.Reader) (string, *ingest.Program) {
		t.Helper()
		found, settings, err := Find(r, setting.Project{Dir: dir})
		require.NoError(t, err)

		var lines []string
		for _, own := range settings {
			lines = append(lines, own.Name+"="+own.Value)
		}

		return strings.Join(lines, "\n"), found
	}

	sum := func(path string) string {
		b, err := os.ReadFile(path)
		require.NoError(t, err)

		return fmt.Sprintf("%x", sha256.Sum256(b))
	}

	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ncat \"$2\"\n"), 0o755))

	got, p := find(&setting.Reader{Program: []string{"./convert.sh", "--fast", "{file}"}, Version: "2", TimeoutS: 1.5})

	want := "reader=[./convert.sh, --fast, {file}]\nreader.version=2\n" +
		"reader: sha256 of ./convert.sh=" + sum(script)
	assert.Equal(t, want, got, "settings")

	if p.Command[0] != script || p.Dir != dir || p.Timeout.Seconds() != 1.5 {
		t.Errorf("%+v", p)
	}

	// One of the same name in PATH is another program, also where the configuration's
	// folder is the one the process is in.
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "convert.sh"), []byte("#!/bin/sh\n"), 0o755))

	t.Setenv("PATH", other+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(dir)

	here, _, err := Find(&setting.Reader{Program: []string{"./convert.sh", "{file}"}}, setting.Project{Dir: "."})
	require.NoError(t, err)
	assert.Equal(t, script, here.Command[0], "program")

	// A script among the arguments of an interpreter: a change of it is another key.
	first, _ := find(&setting.Reader{Program: []string{"sh", "convert.sh", "{file}"}})
	if !strings.Contains(first, "sha256 of sh=") || !strings.Contains(first, "sha256 of convert.sh="+sum(script)) {
		t.Error(first)
	}

	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexit 1\n"), 0o755))

	if second, _ := find(&setting.Reader{Program: []string{"sh", "convert.sh", "{file}"}}); second == first {
		t.Error("a changed script has the same key")
	}
}
