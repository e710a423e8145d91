package app

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goList returns what `go list` prints in the repository.
func goList(t *testing.T, args ...string) string {
	t.Helper()

	c := exec.Command("go", append([]string{"list"}, args...)...)
	c.Dir = repository
	printed, err := c.Output()

	reason := "" // what go list wrote to its standard error
	var failure *exec.ExitError
	if errors.As(err, &failure) {
		reason = string(failure.Stderr)
	}

	require.NoError(t, err, "go list %q: %s", args, reason)

	return string(printed)
}

// Each module that the source imports itself has a row with its purpose.
func TestPurposesOfModules(t *testing.T) {
	_, purposes, found := strings.Cut(document(t, "docs/licences.md"), "## Why each is there")
	require.True(t, found, "docs/licences.md says why each module is there")

	direct := strings.Fields(goList(t, "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all"))
	require.NotEmpty(t, direct, "modules that the source imports itself")

	for _, m := range direct {
		assert.Contains(t, purposes, "\n| "+m, "the purpose of a module")
	}
}

// licenceRow is a row of the table of modules in docs/licences.md.
type licenceRow struct {
	module, version, licence string
	isInProgram              bool
}

// licenceRows returns the table of modules in docs/licences.md.
func licenceRows(t *testing.T) []licenceRow {
	t.Helper()

	row := regexp.MustCompile(`(?m)^\| (\S+\.\S+) \| (v\S+) \| ([^|]+) \| (yes|no) \|$`)
	var rows []licenceRow
	for _, m := range row.FindAllStringSubmatch(document(t, "docs/licences.md"), -1) {
		rows = append(rows, licenceRow{module: m[1], version: m[2], licence: m[3], isInProgram: m[4] == "yes"})
	}

	require.NotEmpty(t, rows, "rows of docs/licences.md")

	return rows
}

// docs/licences.md lists exactly the modules of go.mod, with their versions, and marks the modules that `go list -deps`
// finds in the program.
func TestListedModules(t *testing.T) {
	requirement := regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+) (v\S+)`)
	want := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(document(t, "go.mod"), -1) {
		want[m[1]] = m[2]
	}

	inProgram := strings.Fields(goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/pipeline"))

	listed := map[string]string{}
	for _, r := range licenceRows(t) {
		listed[r.module] = r.version
		assert.Equal(t, slices.Contains(inProgram, r.module), r.isInProgram, `%s: column "in the program"`, r.module)
	}

	assert.Equal(t, want, listed, "modules and versions of go.mod")
}

// licenceSentences has a sentence of the text of each licence. A text has the first licence in this list whose sentence
// it contains.
var licenceSentences = []struct{ licence, sentence string }{
	{"Apache-2.0", "Apache License"},
	{"FTL", "The FreeType License"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
	{"ISC", "distribute this software for any purpose with or without fee"},
	{"BSD-3-Clause", "endorse or promote products"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
}

// licenceOf returns the licence with the given text, or "none that is known".
func licenceOf(text string) string {
	for _, s := range licenceSentences {
		if strings.Contains(text, s.sentence) {
			return s.licence
		}
	}

	return "none that is known"
}

// licenceText returns the text of the LICENSE file in a folder, with single blanks between its words, or "" if the
// folder has none.
func licenceText(dir string) string {
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "UNLICENSE"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return strings.Join(strings.Fields(strings.ReplaceAll(string(b), ">", "")), " ")
		}
	}

	return ""
}

// docs/licences.md names the licence of each module, as recognised by a sentence in the LICENSE file of the module
// cache.
func TestLicences(t *testing.T) {
	folders := map[string]string{}
	for _, l := range strings.Split(goList(t, "-m", "-f", "{{.Path}}\t{{.Dir}}", "all"), "\n") {
		module, dir, ok := strings.Cut(l, "\t")
		if ok && dir != "" { // a module without a folder is not in the module cache: nothing here needs it
			folders[module] = dir
		}
	}

	filesRead := 0
	for _, r := range licenceRows(t) {
		text := ""
		if dir, ok := folders[r.module]; ok {
			text = licenceText(dir)
		}

		if text == "" {
			continue
		}

		filesRead++
		assert.Contains(t, r.licence, licenceOf(text), "licence of %s", r.module)
	}

	assert.GreaterOrEqual(t, filesRead, 10, "LICENSE files that were read")
}
