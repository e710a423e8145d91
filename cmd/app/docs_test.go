package app

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"doubletake/pipeline/config"
)

// The documents agree with the program: their commands are run, their
// configurations parsed, their links followed, their numbers compared.

// repository is the root, seen from this package.
const repository = "../.."

// documents lists the Markdown files, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(repository, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(repository, p)
		if err != nil {
			return err
		}

		if d.IsDir() {
			if n := d.Name(); rel != "." && (strings.HasPrefix(n, ".") || n == "runs" || n == "bin" || n == "node_modules" ||
				n == "data") {
				return fs.SkipDir
			}

			return nil
		}

		if strings.HasSuffix(d.Name(), ".md") {
			out = append(out, filepath.ToSlash(rel))
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, must := range []string{"README.md", "docs/how-to.md", "docs/tutorial-rotor.md"} {
		if !slices.Contains(out, must) {
			t.Fatalf("%s is not among the documents %q", must, out)
		}
	}

	return out
}

func document(t *testing.T, name string) string {
	t.Helper()

	b := contents(t, filepath.Join(repository, name))

	return string(b)
}

type codeBlock struct {
	line int // of its first line
	text string
}

// codeBlocks are the fenced blocks of a language.
func codeBlocks(text, language string) (out []codeBlock) {
	open, fence := false, ""
	var b strings.Builder

	at := 0
	for i, l := range strings.Split(text, "\n") {
		switch {
		case !open && strings.HasPrefix(l, "```"):
			open, fence, at = true, strings.TrimPrefix(l, "```"), i+2
			b.Reset()
		case open && strings.HasPrefix(l, "```"):
			if open = false; fence == language {
				out = append(out, codeBlock{at, b.String()})
			}

		case open:
			b.WriteString(l + "\n")
		}
	}

	return out
}

var (
	link    = regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	inTicks = regexp.MustCompile("`((?:docs|examples|cmd|pipeline|ingest|dsp|train|\\.ci)/[A-Za-z0-9_./-]+)`")
)

// Every relative link leads to a file, and its fragment to a heading there.
// Paths of the repository in `backticks` of the documents for people exist too.
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
			if _, err := os.Stat(filepath.Join(repository, m[1])); err != nil {
				t.Errorf("%s: there is no %s", doc, m[1])
			}
		}
	}

	if links < 10 {
		t.Errorf("only %d relative links were found", links)
	}
}

// anchors are the headings as GitHub names them: lower case, blanks to hyphens,
// all else that is no letter, digit, hyphen or underscore left out.
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

// Every section of docs/method.md that the code names exists, and formulas are
// cited from there alone.
func TestMethodCitations(t *testing.T) {
	sections := anchors(document(t, "docs/method.md"))
	found := 0
	err := filepath.WalkDir(repository, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if d.IsDir() {
			if n := d.Name(); p != repository && (strings.HasPrefix(n, ".") || n == "runs" || n == "bin" || n == "data") {
				return fs.SkipDir
			}
			return nil
		}

		if e := filepath.Ext(p); e != ".go" && e != ".py" && e != ".md" {
			return nil
		}

		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}

		for i, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, "METH"+"OD") { // a document that is not part of the repository
				t.Errorf("%s:%d: cite a section of docs/method.md", p, i+1)
			}

			for _, m := range cited.FindAllStringSubmatch(l, -1) {
				found++
				if !slices.Contains(sections, m[1]) {
					t.Errorf("%s:%d: docs/method.md has no section #%s, only %q", p, i+1, m[1], sections)
				}
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if found == 0 {
		t.Error("no citation was found")
	}
}

// Every YAML block is a valid configuration, or the part of one experiment's
// section, which is put into the smallest configuration there is.
func TestDocumentConfigurations(t *testing.T) {
	n := 0
	for _, doc := range documents(t) {
		for _, b := range codeBlocks(document(t, doc), "yaml") {
			n++

			if strings.HasPrefix(b.text, "executor:") { // a top-level key
				b.text = "version: 1\nexperiments: {part: {ingest: {table: pairs.csv}}}\n" + b.text
			}

			if !strings.Contains(b.text, "version:") {
				b.text = "version: 1\nexperiments:\n  part:\n    " + strings.ReplaceAll(strings.TrimSpace(b.text), "\n", "\n    ") +
					"\n"
				if strings.Contains(b.text, "train:") && !strings.Contains(b.text, "inputs:") { // the last key
					b.text += "      inputs: [x]\n      splits: {one: {test: {x: 1}}}\n"
				}

				if !strings.Contains(b.text, "ingest:") {
					b.text += "    ingest: {table: pairs.csv}\n"
				}
			}

			if _, err := config.Parse(fmt.Sprintf("%s (block at line %d)", doc, b.line), []byte(b.text)); err != nil {
				t.Error(err)
			}
		}
	}

	if n < 2 {
		t.Errorf("only %d YAML blocks were found", n)
	}
}

// measuredData is where the measured recordings lie, "" where they are not.
func measuredData(t *testing.T) string {
	t.Helper()

	dir := os.Getenv("DOUBLETAKE_REAL")
	if dir == "" {
		dir = filepath.Join(repository, "..", "shared", "real")
	}

	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("DOUBLETAKE_REQUIRE_REAL") != "" {
			t.Fatalf("DOUBLETAKE_REQUIRE_REAL is set, but there are no measured data in %s", dir)
		}
		return ""
	}

	return dir
}

// Every line of an sh block that begins with the program is one that its flags and
// arguments understand.
func TestDocumentLines(t *testing.T) {
	n := 0
	for _, doc := range documents(t) {
		for _, b := range codeBlocks(document(t, doc), "sh") {
			for i, l := range strings.Split(b.text, "\n") {
				l, _, _ = strings.Cut(l, "  #")
				if end := strings.IndexAny(l, "|&;$>"); end >= 0 {
					l = l[:end] // the rest is for the shell
				}

				words := strings.Fields(strings.ReplaceAll(l, "'", ""))
				if len(words) < 2 || path.Base(words[0]) != "pipeline" {
					continue
				}

				if _, err := arrange(newApp(io.Discard, io.Discard), words[1:]); err != nil {
					t.Errorf("%s:%d: %v", doc, b.line+i, err)
				}

				n++
			}
		}
	}

	if n < 15 {
		t.Errorf("only %d lines were found", n)
	}
}

// Every command of an sh block is run, in order, in an empty folder of the
// document's own; a command that is not expected to work would fail here. Long
// ones are shortened by substitute.
func TestDocumentCommands(t *testing.T) {
	long(t, "runs the commands of every document")

	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}

	ran := 0
	for _, doc := range documents(t) {
		if strings.Contains(doc, "/") && !strings.HasPrefix(doc, "docs/") && !strings.HasPrefix(doc, "examples/") {
			continue // notes of a package need its tools
		}

		blocks := codeBlocks(document(t, doc), "sh")
		if len(blocks) == 0 {
			continue
		}

		t.Run(doc, func(t *testing.T) {
			dir := t.TempDir()
			for _, b := range blocks {
				for i, l := range strings.Split(strings.TrimSpace(b.text), "\n") {
					l, _, _ = strings.Cut(l, "  #")
					l = strings.TrimSpace(l)
					if l == "" || strings.HasPrefix(l, "#") {
						continue
					}

					command := substitute(t, l)
					c := exec.Command("sh", "-c", command)
					c.Dir = dir
					c.Env = append(os.Environ(), "ROOT="+root)
					if out, err := c.CombinedOutput(); err != nil {
						t.Fatalf("%s:%d: %s\n(run as %s)\n%v\n%s", doc, b.line+i, l, command, err, out)
					}

					ran++
				}
			}
		})
	}

	if ran < 10 {
		t.Errorf("only %d commands were run", ran)
	}
}

var benchmark = regexp.MustCompile(`^((?:[A-Z_]+=\S+ )*)go (test|run) (.*)$`)

// substitute returns the command to run instead of l.
func substitute(t *testing.T, l string) string {
	t.Helper()
	less := func(file string) string { // one small network in the place of five
		return ` && sed -i -e '/^ *optimizer:/d' -e 's/seeds: 5/seeds: 1\n      optimizer: {epochs: 3}` +
			`\n      estimate: {samples: 20}/' ` + file
	}

	switch l {
	case "go run ./cmd/pipeline run pipeline.yaml":
		// The configuration of the root is read whole; TestReadmeSample runs it.
		return `mkdir -p root && cp "$ROOT/pipeline.yaml" root && pipeline run root/pipeline.yaml --dry-run`
	case "go test ./...":
		return `cd "$ROOT" && go list ./... >/dev/null`
	case "go build -o bin/pipeline ./cmd/pipeline":
		return `d=$PWD && cd "$ROOT" && go build -o "$d/bin/pipeline" ./cmd/pipeline`
	case "bin/pipeline init FOLDER": // any folder: a simulated one
		return `bin/pipeline simulate airfoil FOLDER --duration-s 1 && ` + l + less("FOLDER/pipeline.yaml")
	case "pipeline init rotor":
		return l + less("rotor/pipeline.yaml")
	case "git clone https://github.com/PrincetonUniversity/MAE224-Spring2021":
		data := measuredData(t)
		if data == "" {
			t.Skip("the balance files of Princeton MAE224 are not here: commands that need them are not run")
		}

		return `mkdir -p MAE224-Spring2021/Lab4/MATLAB_Scripts/expdata && cp -r "` + data +
			`/princeton-mae224-lift-drag" "MAE224-Spring2021/Lab4/MATLAB_Scripts/expdata/force data"`

	case "pipeline init wing":
		return l + less("wing/pipeline.yaml")
	}

	// Benchmarks and longer comparisons: the package is there.
	if m := benchmark.FindStringSubmatch(l); m != nil {
		for _, w := range strings.Fields(m[3]) {
			if strings.HasPrefix(w, "./") {
				return `cd "$ROOT" && go list ` + w
			}
		}
	}

	return l
}

// The sample of the README is what the default configuration prints: the lines
// of the drone, verbatim where the kernels are those that made it, else R² and E|cov|
// on the held-out sets within twice their printed spread over seeds.
func TestReadmeSample(t *testing.T) {
	long(t, "runs the drone of the default configuration")

	var sample string
	for _, b := range codeBlocks(document(t, "README.md"), "") {
		if strings.HasPrefix(b.text, "drone: simulated data") {
			sample = b.text
		}
	}

	if sample == "" {
		t.Fatal("README.md has no sample that begins with drone: simulated data")
	}

	dir := t.TempDir()
	put(t, dir, "pipeline.yaml", document(t, "pipeline.yaml"))

	c := exec.Command("pipeline", "run", "pipeline.yaml", "--experiment", "drone", "--progress", "none")
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}

	version, err := exec.Command("pipeline", "version").Output()
	if err != nil {
		t.Fatal(err)
	}

	got := string(out)
	same := strings.Contains(string(version), "kernels avx2") // those of the sample
	lines := strings.Split(got, "\n")
	number := regexp.MustCompile(`(\d+\.\d+) ± (\d+\.\d+)`)

	compared := 0
	for _, want := range strings.Split(strings.TrimSpace(sample), "\n") {
		if same {
			if compared++; !slices.Contains(lines, want) {
				t.Errorf("the default run does not print %q any more; it prints\n%s", want, got[:min(len(got), 1500)])
				return
			}

			continue
		}

		name, _, _ := strings.Cut(want, " ")
		if !strings.HasSuffix(name, "-blades") || len(number.FindAllString(want, 2)) != 2 {
			continue // no line of the table
		}

		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") })
		if i < 0 {
			t.Errorf("no line begins with %s", name)
			continue
		}

		w, g := number.FindAllStringSubmatch(want, 2), number.FindAllStringSubmatch(lines[i], 2)
		if len(w) != 2 || len(g) != 2 {
			t.Errorf("%q and %q do not hold R² and E|cov|", want, lines[i])
			continue
		}

		for k := range w {
			a, _ := strconv.ParseFloat(w[k][1], 64)
			b, _ := strconv.ParseFloat(g[k][1], 64)

			sd, _ := strconv.ParseFloat(w[k][2], 64)
			if compared++; math.Abs(a-b) > 2*sd {
				t.Errorf("%s: %g, the README has %g ± %g", name, b, a, sd)
			}
		}
	}

	if compared < 4 {
		t.Errorf("only %d lines or numbers were compared", compared)
	}
}

// The version has one place, CITATION.cff: .ci/release reads it there, and the changes begin with it.
func TestVersion(t *testing.T) {
	field := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `: (\S+)$`).FindStringSubmatch(document(t, "CITATION.cff"))
		if m == nil {
			t.Fatalf("CITATION.cff has no %s", key)
		}
		return m[1]
	}

	newest := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(document(t, "CHANGELOG.md"))
	if want := field("version") + ", " + field("date-released"); newest == nil || newest[1] != want {
		t.Errorf("the newest changes are those of %q, expected %q as in CITATION.cff", newest, want)
	}
}

// docs/licences.md lists exactly go.mod's modules, marks those in the program as
// `go list -deps` does, and names the licence of the LICENSE file in the module
// cache, recognised by a sentence.
func TestLicences(t *testing.T) {
	sentences := []struct{ licence, text string }{
		{"Apache-2.0", "Apache License"},
		{"FTL", "The FreeType License"},
		{"MPL-2.0", "Mozilla Public License Version 2.0"},
		{"MIT", "Permission is hereby granted, free of charge, to any person"},
		{"Unlicense", "This is free and unencumbered software released into the public domain"},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
		{"BSD-3-Clause", "endorse or promote products"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	}

	require := regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+) (v\S+)`)

	want := map[string]string{}
	for _, m := range require.FindAllStringSubmatch(document(t, "go.mod"), -1) {
		want[m[1]] = m[2]
	}

	list := func(args ...string) string {
		c := exec.Command("go", append([]string{"list"}, args...)...)
		c.Dir = repository
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go list %q: %v", args, err)
		}

		return string(out)
	}

	// The modules that the source imports itself have a row with their purpose.
	for _, m := range strings.Fields(list("-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")) {
		if !strings.Contains(document(t, "docs/licences.md"), "| "+strings.TrimSuffix(m, "/chromedp")) {
			t.Errorf("docs/licences.md does not say what %s is for", m)
		}
	}

	inProgram := strings.Fields(list("-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/pipeline"))

	dirs := map[string]string{}
	for _, l := range strings.Split(list("-m", "-f", "{{.Path}}\t{{.Dir}}", "all"), "\n") {
		if p, d, ok := strings.Cut(l, "\t"); ok {
			dirs[p] = d
		}
	}

	row := regexp.MustCompile(`(?m)^\| (\S+\.\S+) \| (v\S+) \| ([^|]+) \| (yes|no) \|$`)

	seen, read := map[string]bool{}, 0
	for _, m := range row.FindAllStringSubmatch(document(t, "docs/licences.md"), -1) {
		path, version, licence := m[1], m[2], m[3]
		seen[path] = true
		if want[path] != version {
			t.Errorf("%s %s is listed, go.mod has %q", path, version, want[path])
		}

		if (m[4] == "yes") != slices.Contains(inProgram, path) {
			t.Errorf("%s: column \"in the program\" is %s", path, m[4])
		}

		var text string
		for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "UNLICENSE"} {
			if b, err := os.ReadFile(filepath.Join(dirs[path], name)); dirs[path] != "" && err == nil {
				text = strings.Join(strings.Fields(strings.ReplaceAll(string(b), ">", "")), " ")
			}
		}

		if text == "" {
			continue // not in the module cache: nothing here needs it
		}

		read++

		found := "none that is known"
		for _, s := range sentences {
			if strings.Contains(text, s.text) {
				found = s.licence
				break
			}
		}

		if !strings.Contains(licence, found) {
			t.Errorf("%s: %s is listed, its LICENSE is %s", path, licence, found)
		}
	}

	for path := range want {
		if !seen[path] {
			t.Errorf("%s is missing in docs/licences.md", path)
		}
	}

	if read < 10 {
		t.Errorf("only %d LICENSE files were read", read)
	}
}
