package app

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/pipeline/config"
)

// The documents agree with the program: their commands are run, their
// configurations parsed, their links followed, their numbers compared.

// repository is the root, seen from this package.
const repository = "../.."

// made matches folders that the program or a tool makes, relative to the root, as .gitignore lists them.
var made = regexp.MustCompile(`^(runs|bin|dist|examples/[^/]+/(runs|data)|(.*/)?node_modules)$`)

// repositoryFiles lists the files of the repository whose names end so, relative to the root.
func repositoryFiles(t *testing.T, ends ...string) (out []string) {
	t.Helper()

	err := filepath.WalkDir(repository, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(repository, p)
		if err != nil {
			return err
		}

		rel = filepath.ToSlash(rel)
		isHidden := strings.HasPrefix(d.Name(), ".") && rel != "." && rel != ".ci"
		if d.IsDir() && (isHidden || made.MatchString(rel)) {
			return fs.SkipDir
		}

		if !d.IsDir() && slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(p, e) }) {
			out = append(out, rel)
		}

		return nil
	})
	require.NoError(t, err)

	return out
}

// documents lists the Markdown files, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()

	out := repositoryFiles(t, ".md")
	for _, name := range []string{"README.md", "docs/how-to.md", "docs/tutorial-rotor.md"} {
		require.True(t, slices.Contains(out, name), "%s is not among the documents %q", name, out)
	}

	return out
}

func document(t *testing.T, name string) string {
	t.Helper()

	b := testfile.Read(t, filepath.Join(repository, name))

	return string(b)
}

// codeBlock is a fenced block of a document.
type codeBlock struct {
	language string // the word behind the fence, "" if there is none
	line     int    // number of its first line
	text     string
}

// codeBlocks returns the fenced blocks in some languages.
func codeBlocks(text string, languages ...string) []codeBlock {
	var blocks []codeBlock
	var content strings.Builder
	isOpen := false
	language := ""
	first := 0 // number of the block's first line
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case !isOpen && isFence:
			isOpen = true
			language = fence
			first = i + 2
			content.Reset()

		case isOpen && isFence:
			isOpen = false
			if slices.Contains(languages, language) {
				blocks = append(blocks, codeBlock{language, first, content.String()})
			}

		case isOpen:
			content.WriteString(line + "\n")
		}
	}

	return blocks
}

var (
	link    = regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	inTicks = regexp.MustCompile(
		"`((?:docs|examples|cmd|pipeline|report|train|dsp|ingest|internal|\\.ci)/[A-Za-z0-9_./-]+)`")
)

// runFiles are the paths in backticks of files in a work directory. They look like paths of the repository.
var runFiles = []string{"report/tables.md"}

// Every relative link leads to a file, and its fragment to a heading there. In the documents of the root and of docs,
// paths of the repository in `backticks` exist too. Other documents write paths relative to their own folders.
func TestDocumentLinks(t *testing.T) {
	links := 0
	for _, doc := range documents(t) {
		text := document(t, doc)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := m[1]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}

			links++
			file, fragment, _ := strings.Cut(to, "#")

			target := doc
			if file != "" {
				target = filepath.Join(filepath.Dir(doc), file)
			}

			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", doc, to)
				continue
			}

			if fragment != "" && !slices.Contains(anchors(document(t, target)), fragment) {
				t.Errorf("%s: %s has no heading #%s, only %q", doc, target, fragment, anchors(document(t, target)))
			}
		}

		if strings.Contains(doc, "/") && !strings.HasPrefix(doc, "docs/") {
			continue
		}

		for _, m := range inTicks.FindAllStringSubmatch(text, -1) {
			if slices.Contains(runFiles, m[1]) {
				continue
			}

			if _, err := os.Stat(filepath.Join(repository, m[1])); err != nil {
				t.Errorf("%s: %s does not exist", doc, m[1])
			}
		}
	}

	assert.GreaterOrEqual(t, links, 10, "only %d relative links were found", links)
}

// anchors are the headings as GitHub names them: lower case, blanks to hyphens,
// all else that is not a letter, digit, hyphen or underscore left out.
func anchors(text string) (out []string) {
	fenced := false
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "```") {
			fenced = !fenced
		}

		if fenced || !strings.HasPrefix(l, "#") {
			continue
		}

		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}

			return -1
		}, strings.TrimSpace(strings.TrimLeft(l, "#"))))
	}

	return out
}

// cited is a section of the method as comments name it.
var cited = regexp.MustCompile(`docs/method\.md#([\p{L}\p{N}_-]+)`)

// draft is the name of the draft of docs/method.md. The repository does not contain the draft, so a reader could not
// follow a citation of it. The sum keeps the name out of this file, which TestMethodCitations reads too.
const draft = "METH" + "OD"

// Every section of docs/method.md that the code names exists, and formulas are
// cited from there alone.
func TestMethodCitations(t *testing.T) {
	sections := anchors(document(t, "docs/method.md"))
	found := 0
	for _, p := range repositoryFiles(t, ".go", ".py", ".md") {
		for i, l := range strings.Split(document(t, p), "\n") {
			if strings.Contains(l, draft) {
				t.Errorf("%s:%d: cite a section of docs/method.md", p, i+1)
			}

			for _, m := range cited.FindAllStringSubmatch(l, -1) {
				found++
				if !slices.Contains(sections, m[1]) {
					t.Errorf("%s:%d: docs/method.md has no section #%s, only %q", p, i+1, m[1], sections)
				}
			}
		}
	}

	assert.NotZero(t, found, "no citation was found")
}

// Every YAML block is a valid configuration after wholeConfiguration has completed it.
func TestDocumentConfigurations(t *testing.T) {
	n := 0
	for _, doc := range documents(t) {
		for _, b := range codeBlocks(document(t, doc), "yaml") {
			n++

			name := fmt.Sprintf("%s (block at line %d)", doc, b.line)
			_, err := config.Parse(name, []byte(wholeConfiguration(b.text)))
			require.NoError(t, err)
		}
	}

	assert.GreaterOrEqual(t, n, 2, "only %d YAML blocks were found", n)
}

// wholeConfiguration returns the smallest configuration that contains a block: the block itself if it states the
// version, an executor beside an experiment, or an experiment with the keys of the block.
func wholeConfiguration(block string) string {
	const source = "ingest: {table: pairs.csv}"

	if strings.Contains(block, "version:") {
		return block
	}

	if strings.HasPrefix(block, "executor:") {
		return "version: 1\nexperiments: {part: {" + source + "}}\n" + block
	}

	keys := strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n    ") // indented below the experiment
	whole := "version: 1\nexperiments:\n  part:\n    " + keys + "\n"

	// Inputs and splits belong to train, so train must be the last key of such a block.
	if strings.Contains(block, "train:") && !strings.Contains(block, "inputs:") {
		whole += "      inputs: [x]\n      splits: {one: {test: {x: 1}}}\n"
	}

	if !strings.Contains(block, "ingest:") {
		whole += "    " + source + "\n"
	}

	return whole
}

var substitution = regexp.MustCompile(`\$\([^)]*\)`)

// Every line of an sh block that begins with the program is one that its flags and
// arguments understand.
func TestDocumentLines(t *testing.T) {
	n := 0
	for _, doc := range documents(t) {
		for _, b := range codeBlocks(document(t, doc), "sh") {
			for i, l := range strings.Split(b.text, "\n") {
				l, _, _ = strings.Cut(substitution.ReplaceAllString(l, "X"), "  #")
				if end := strings.IndexAny(l, "|&;$>"); end >= 0 {
					l = l[:end] // the rest is for the shell
				}

				words := strings.Fields(strings.ReplaceAll(l, "'", ""))
				if len(words) < 2 || path.Base(words[0]) != "pipeline" {
					continue
				}

				if _, err := read(words[1:]); err != nil {
					t.Errorf("%s:%d: %v", doc, b.line+i, err)
				}

				n++
			}
		}
	}

	assert.GreaterOrEqual(t, n, 15, "only %d lines were found", n)
}

// The version has one place, CITATION.cff: .ci/release reads it there, and the changes begin with it.
func TestVersion(t *testing.T) {
	field := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `: (\S+)$`).FindStringSubmatch(document(t, "CITATION.cff"))
		require.NotNil(t, m, "CITATION.cff has no %s", key)
		return m[1]
	}

	newest := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(document(t, "CHANGELOG.md"))
	if want := field("version") + " (unreleased)"; newest == nil || newest[1] != want {
		t.Errorf("the newest changes are those of %q, expected %q as in CITATION.cff", newest, want)
	}
}
