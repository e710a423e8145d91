package ingeststage

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/setting"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// The key of a program holds its command, its version, and the digests of it and of
// the files among its arguments; those are computed here by crypto/sha256.
func TestFindReader(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "convert.sh")
	find := func(r *setting.Reader) (string, *Source) {
		t.Helper()
		b := plan.Experiment{File: &config.File{Dir: dir}, Key: "experiments.e"}

		src := &Source{Ingest: setting.Campaign{Reader: r}}
		findReader(b, src)

		var lines []string
		for _, p := range src.Reader {
			lines = append(lines, p.Key+"="+p.Value)
		}

		return strings.Join(lines, "\n"), src
	}

	sum := func(path string) string {
		b, err := os.ReadFile(path)
		require.NoError(t, err)

		return fmt.Sprintf("%x", sha256.Sum256(b))
	}

	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ncat \"$2\"\n"), 0o755))

	got, src := find(&setting.Reader{Program: []string{"./convert.sh", "--fast", "{file}"}, Version: "2", TimeoutS: 1.5})

	want := "ingest.reader=[./convert.sh, --fast, {file}]\ningest.reader.version=2\n" +
		"ingest.reader: sha256 of ./convert.sh=" + sum(script)
	assert.Equal(t, want, got, "settings")

	if p := src.Options.Program; p.Command[0] != script || p.Dir != dir || p.Timeout.Seconds() != 1.5 {
		t.Errorf("%+v", p)
	}

	// One of the same name in PATH is another program, also where the configuration's
	// folder is the one the process is in.
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "convert.sh"), []byte("#!/bin/sh\n"), 0o755))

	t.Setenv("PATH", other+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(dir)

	here := &Source{Ingest: setting.Campaign{Reader: &setting.Reader{Program: []string{"./convert.sh", "{file}"}}}}
	findReader(plan.Experiment{File: &config.File{Dir: "."}, Key: "experiments.e"}, here)
	assert.Equal(t, script, here.Options.Program.Command[0], "program")

	// A script among the arguments of an interpreter: a change of it is another key.
	first, _ := find(&setting.Reader{Program: []string{"sh", "convert.sh", "{file}"}})
	if !strings.Contains(first, "sha256 of sh=") || !strings.Contains(first, "sha256 of convert.sh="+sum(script)) {
		t.Error(first)
	}

	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexit 1\n"), 0o755))

	if second, _ := find(&setting.Reader{Program: []string{"sh", "convert.sh", "{file}"}}); second == first {
		t.Error("a changed script has the same key")
	}

	if got, src := find(nil); got != "" || src.Options.Program != nil {
		t.Errorf("without a reader: %q", got)
	}
}
