package app

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// pkg is a package of the module: import path, name, folder and imports.
type pkg struct{ path, name, dir, imports string }

var listed = sync.OnceValues(func() (list []pkg, err error) {
	c := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Dir}}\t{{join .Imports \" \"}}", "./...")
	c.Dir = repository
	out, err := c.Output()
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if f := strings.Split(l, "\t"); len(f) == 4 {
			list = append(list, pkg{f[0], f[1], f[2], f[3]})
		}
	}

	if err == nil && len(list) < 20 {
		err = fmt.Errorf("only %d packages", len(list))
	}

	return list, err
})

// packages lists the packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()

	list, err := listed()
	require.NoError(t, err, "go list: %v", err)

	return list
}

// Every package has a comment, and every package that can be imported has an
// example that is run (it has an Output).
func TestEveryPackageHasAnExample(t *testing.T) {
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join(p.dir, "*.go"))
		require.NoError(t, err)

		comment := ""
		examples := 0 // with an Output

		set := token.NewFileSet()
		for _, name := range files {
			mode := parser.ParseComments
			isTest := strings.HasSuffix(name, "_test.go")
			if !isTest {
				mode |= parser.PackageClauseOnly
			}

			f, err := parser.ParseFile(set, name, nil, mode)
			require.NoError(t, err)

			if !isTest {
				comment += f.Doc.Text()
				continue
			}

			for _, e := range doc.Examples([]*ast.File{f}...) {
				if e.Output != "" {
					examples++
				} else {
					t.Errorf("%s: Example%s never runs: its last comment does not begin with Output:", p.path, e.Name)
				}
			}
		}

		begins := "Package " + p.name + " "
		if p.name == "main" {
			begins = "Command " + path.Base(p.path) + " "
		}

		assert.True(t, strings.HasPrefix(comment, begins),
			"%s: its comment begins %.40q, expected %q", p.path, comment, begins)

		if p.name != "main" {
			assert.NotZero(t, examples, "examples of %s with an Output", p.path)
		}
	}
}

var (
	ticked    = regexp.MustCompile("`([^`]+)`")
	plainFile = regexp.MustCompile(`^[\w*-][\w*./-]*\.(?:json|h5|mat|npy|npz|wav|tdms|svg|csv|gz|txt|txtar|yml|css|mjs)$`)
)

// Every folder testdata has a README with the origin of its files: each file is
// named in it, by name, pattern or folder, and every name in it exists.
// docs/witnesses.md links all of them.
func TestTestdataSources(t *testing.T) {
	overview := document(t, "docs/witnesses.md")
	folders := 0
	files := 0
	for _, readme := range repositoryFiles(t, "testdata/README.md") {
		folders++
		files += checkSources(t, filepath.Join(repository, filepath.Dir(readme)))

		assert.Contains(t, overview, "(../"+readme+")")
	}

	for _, name := range repositoryFiles(t, "") {
		if dir, _, ok := strings.Cut(name, "/testdata/"); ok {
			if _, err := os.Stat(filepath.Join(repository, dir, "testdata/README.md")); err != nil {
				t.Errorf("%s: write into %s/testdata/README.md where every file comes from", name, dir)
			}
		}
	}

	require.GreaterOrEqual(t, folders, 15, "only %d folders with %d files were looked at", folders, files)
	assert.GreaterOrEqual(t, files, 200, "only %d folders with %d files were looked at", folders, files)
}

// checkSources looks at one folder testdata and returns the number of its files.
func checkSources(t *testing.T, dir string) (n int) {
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Errorf("%v: write in it where every file comes from", err)
		return 0
	}

	var tokens []string
	for _, m := range ticked.FindAllStringSubmatch(string(b), -1) {
		tokens = append(tokens, strings.ReplaceAll(m[1], "…", "*"))
	}

	named := map[string]bool{}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}

		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if d.Name() == "node_modules" {
				return fs.SkipDir
			}

			if _, err := os.Stat(filepath.Join(p, "README.md")); rel != "." && err == nil {
				return fs.SkipDir // it has a README of its own
			}

			return nil
		}

		if rel == "README.md" {
			return nil
		}

		n++

		found := false
		for _, k := range tokens {
			whole, _ := path.Match(k, rel)
			base, _ := path.Match(k, path.Base(rel))

			below := strings.HasSuffix(k, "/") && strings.HasPrefix(rel, k)
			if whole || base || below {
				found = true
				named[k] = true
			}
		}

		assert.True(t, found, "%s/README.md has no origin of %s", dir, rel)

		return nil
	})
	require.NoError(t, err)

	for _, k := range tokens {
		there, _ := filepath.Glob(filepath.Join(dir, k)) // also in a folder with a README of its own
		assert.False(t, plainFile.MatchString(k) && !named[k] && len(there) == 0,
			"%s/README.md names %s, which is not there", dir, k)
	}

	return n
}

// Every name in Go that CONTRIBUTING.md writes, such as `ingest.Open`, exists.
func TestContributingNames(t *testing.T) {
	dirs := map[string]string{}
	for _, p := range packages(t) {
		if _, taken := dirs[p.name]; !taken {
			dirs[p.name] = p.dir
		}
	}

	n := 0
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w+)`").FindAllStringSubmatch(document(t, "CONTRIBUTING.md"),
		-1) {
		if dirs[m[1]] == "" {
			continue // the standard library's
		}

		files, err := filepath.Glob(filepath.Join(dirs[m[1]], "*.go"))
		require.NoError(t, err)

		declared := regexp.MustCompile(`(?m)^(?:func|type|var|const) ` + m[2] + `\b`)
		found := false
		for _, f := range files {
			b := testfile.Read(t, f)

			found = found || declared.Match(b)
		}

		if n++; !found {
			t.Errorf("CONTRIBUTING.md names %s.%s, which does not exist", m[1], m[2])
		}
	}

	assert.GreaterOrEqual(t, n, 6, "only %d names", n)
}

// Every test that a page names exists.
func TestDocumentTests(t *testing.T) {
	names := map[string]bool{}
	goFiles(t, func(_ string, content []byte) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(content, -1) {
			names[string(m[1])] = true
		}
	})

	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}

	n := 0
	for _, page := range pages {
		b := testfile.Read(t, page)

		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllSubmatch(b, -1) {
			if n++; !names[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", filepath.Base(page), m[1])
			}
		}
	}

	assert.GreaterOrEqual(t, n, 20, "only %d names", n)
}

// goFiles calls see with the path in the repository and the content of every Go
// file, those of the generators' modules too.
func goFiles(t *testing.T, see func(name string, content []byte)) {
	t.Helper()
	files := repositoryFiles(t, ".go")
	for _, name := range files {
		see(name, testfile.Read(t, filepath.Join(repository, name)))
	}

	if n := len(files); n < 500 {
		t.Errorf("only %d files", n)
	}
}

// No line of Go is longer than 120 columns; a tab is one.
func TestLineWidth(t *testing.T) {
	goFiles(t, func(name string, content []byte) {
		at := 0
		for line := range strings.Lines(string(content)) {
			at++
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 120 {
				t.Errorf("%s:%d: expected at most 120 columns, found %d: wrap the line", name, at, n)
			}
		}
	})
}

// A verb such as %.2g prints 150 as 1.5e+02. Texts for people write numbers by fault.Digits, unless the unit behind the
// verb keeps the number small: shares in per cent, angles, levels, and the factor of a normal law.
func TestNumbersWithoutExponents(t *testing.T) {
	short := regexp.MustCompile(`%\.[234]g(.{0,8})`)
	small := regexp.MustCompile(`^( %%|°| dB| times | × )`)
	goFiles(t, func(name string, content []byte) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "docs/research/") {
			return
		}

		for _, found := range short.FindAllSubmatch(content, -1) {
			assert.Regexp(t, small, string(found[1]), "%s: %s may print an exponent: use fault.Digits", name, found[0])
		}
	})
}

// severalThings are nouns behind a number that is always above 1 or is a limit, by their texts. Their code checks the
// number before.
var severalThings = []string{
	// cmd/app
	"%d tasks of %s", "%d earlier runs;", "%d lines in all", "%d splits in all", "%d settings that differ",
	"%d numbers that changed less", "%d measurements at most", "%d channels have several", "%d kinds of columns",
	"%d rows that are a table of results", "%d folders deep",
	// pipeline
	"%d tasks failed", "%d characters, too long", "%d variants", "%d blocks,", "%d processors,", "%d jobs,",
	"tried %d times", "started %d times", "%d more reasons", "%d rows of %s, %s",
}

// A number in front of a noun may be 1. Texts write both by fault.Plural, unless the number is always above 1.
func TestNumbersBeforeNouns(t *testing.T) {
	plural := regexp.MustCompile(`(?:\w+ )?%d (?:[a-z]+ )?[a-z]+[^su]s\b.{0,40}`)
	used := map[string]bool{}
	goFiles(t, func(name string, content []byte) {
		isMine := strings.HasPrefix(name, "cmd/app/") || strings.HasPrefix(name, "pipeline/")
		if !isMine || strings.HasSuffix(name, "_test.go") {
			return
		}

		for _, text := range plural.FindAllString(string(content), -1) {
			i := slices.IndexFunc(severalThings, func(known string) bool { return strings.Contains(text, known) })
			if i < 0 {
				t.Errorf("%s: %q may say 1 and a plural: use fault.Plural", name, text)
				continue
			}

			used[severalThings[i]] = true
		}
	})

	for _, known := range severalThings {
		assert.True(t, used[known], "no text has %q: remove it from the list", known)
	}
}

// longFunctions are the functions that may be longer than 100 lines, at most
// five, each with its reason.
var longFunctions = map[string]string{} // "path of the file, name of the function": reason

// No function outside the tests is longer than 100 lines.
func TestFunctionLength(t *testing.T) {
	assert.LessOrEqual(t, len(longFunctions), 5,
		"expected at most 5 long functions, found %d: split some", len(longFunctions))

	goFiles(t, func(name string, content []byte) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}

		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}

		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || longFunctions[name+" "+fn.Name.Name] != "" {
				continue
			}

			body := content[set.Position(fn.Pos()).Offset:set.Position(fn.End()).Offset]
			n := 0
			for line := range bytes.Lines(body) { // blank lines cost nothing: they separate the steps
				if len(bytes.TrimSpace(line)) > 0 {
					n++
				}
			}

			assert.LessOrEqual(t, n, 100,
				"%s: expected at most 100 lines, found %d in %s: split it by what its parts do", name, n, fn.Name.Name)
		}
	})
}
