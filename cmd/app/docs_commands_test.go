package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train"
)

// TestDocumentCommands runs every command of the sh blocks of a document, in order, in an empty folder. A block
// ```output shows what the commands of the sh block before it print: the document must have it as they print it now. A
// line "…" stands for lines that are left out. `go test ./cmd/app -run TestDocumentCommands -update` writes what is
// printed now into the blocks; look at the difference, and at the sentences around the blocks.
func TestDocumentCommands(t *testing.T) {
	longtest.Skip(t, "runs the commands of every document")

	root, err := filepath.Abs(repository)
	require.NoError(t, err)

	ran := 0
	compared := 0
	for _, name := range documents(t) {
		isOfPackage := strings.Contains(name, "/") && !strings.HasPrefix(name, "docs/") &&
			!strings.HasPrefix(name, "examples/")
		blocks := codeBlocks(document(t, name), "sh", "output")
		if isOfPackage || len(blocks) == 0 { // notes of a package need its tools
			continue
		}

		t.Run(name, func(t *testing.T) {
			reading := &documentReading{name: name, dir: t.TempDir(), root: root, text: document(t, name)}
			require.NoError(t, os.CopyFS(filepath.Join(reading.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))))
			for _, block := range blocks {
				if block.language == "sh" {
					ran += reading.runBlock(t, block)
					continue
				}

				reading.compareBlock(t, block)
				compared++
			}

			if *update {
				require.NoError(t, os.WriteFile(filepath.Join(repository, name), []byte(reading.text), 0o644))
			}
		})
	}

	assert.GreaterOrEqual(t, ran, 10, "commands that were run")
	assert.GreaterOrEqual(t, compared, 10, "blocks of output that were compared")
}

// documentReading is a reader who types the commands of a document.
type documentReading struct {
	name string
	dir  string // the folder that the commands run in
	root string // of the repository
	text string // of the document, which -update changes

	printed string // what the commands of the last sh block printed

	// replaced is the last command of the document that substitute replaced by a shorter one. It prints something else
	// than the document shows. "" means that every command was run as it is written.
	replaced string
}

// runBlock runs the commands of a block and returns their number.
func (r *documentReading) runBlock(t *testing.T, block codeBlock) int {
	t.Helper()

	r.printed = ""
	count := 0
	for i, line := range strings.Split(strings.TrimSpace(block.text), "\n") {
		line, _, _ = strings.Cut(line, "  #")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		command := substitute(t, line)
		if command != line {
			r.replaced = line
		}

		shell := exec.Command("sh", "-c", command)
		shell.Dir = r.dir
		shell.Env = append(os.Environ(), "ROOT="+r.root)
		output, err := shell.CombinedOutput()
		require.NoError(t, err, "%s:%d: %s\n(run as %s)\n%s", r.name, block.line+i, line, command, output)

		r.printed += strings.ReplaceAll(string(output), r.dir, readersFolder)
		count++
	}

	return count
}

// readersFolder stands in documents for the folder in which a reader works.
const readersFolder = "/home/you"

// compareBlock compares a block with what the commands before it printed.
func (r *documentReading) compareBlock(t *testing.T, block codeBlock) {
	t.Helper()

	require.Empty(t, r.replaced, "%s:%d shows the output of a command that the test replaces by another", r.name,
		block.line)

	printed := strings.Split(strings.TrimSuffix(r.printed, "\n"), "\n")
	shown := strings.Split(strings.TrimSuffix(block.text, "\n"), "\n")
	if compareOutput(shown, printed, withoutTimes) == nil {
		return
	}

	if *update {
		r.text = strings.Replace(r.text, block.text, strings.Join(updateOutput(shown, printed), "\n")+"\n", 1)
		return
	}

	// Numbers of other kernels differ in the last digits.
	form := withoutTimes
	kernels, err := train.KernelSet("auto")
	require.NoError(t, err)
	if kernels != "avx2" {
		form = withoutNumbers
	}

	require.NoError(t, compareOutput(shown, printed, form), "%s:%d; the commands printed:\n%s", r.name, block.line,
		r.printed)
}

// elision is a line of a block that stands for lines that are left out.
const elision = "…"

// compareOutput returns an error if a block shows another text than was printed. Lines are equal if form makes the same
// of both. Lines between two elisions must follow each other.
func compareOutput(shown, printed []string, form func(line string) string) error {
	next := 0        // the printed line that comes next
	maySkip := false // an elision stands before the line that is shown next
	for len(shown) > 0 {
		if shown[0] == elision {
			maySkip = true
			shown = shown[1:]
			continue
		}

		segment := firstSegment(shown)
		start := findSegment(segment, printed, next, maySkip, form)
		if start < 0 {
			return fmt.Errorf("not printed at this place: %q", firstAbsent(segment, printed, form))
		}

		next = start + len(segment)
		shown = shown[len(segment):]
		maySkip = false
	}

	if next < len(printed) && !maySkip {
		return fmt.Errorf("not shown: %q", printed[next])
	}

	return nil
}

// firstSegment returns the lines up to the first elision.
func firstSegment(shown []string) []string {
	if end := slices.Index(shown, elision); end >= 0 {
		return shown[:end]
	}

	return shown
}

// findSegment returns the number of the first printed line of a segment, from the line next on, or -1. Without maySkip
// the segment must begin at next.
func findSegment(segment, printed []string, next int, maySkip bool, form func(line string) string) int {
	for start := next; start+len(segment) <= len(printed); start++ {
		isEqual := func(a, b string) bool { return form(a) == form(b) }
		if slices.EqualFunc(segment, printed[start:start+len(segment)], isEqual) {
			return start
		}

		if !maySkip {
			break
		}
	}

	return -1
}

// firstAbsent returns the first line of a segment that was not printed anywhere, or its first line.
func firstAbsent(segment, printed []string, form func(line string) string) string {
	for _, line := range segment {
		isLine := func(other string) bool { return form(other) == form(line) }
		if !slices.ContainsFunc(printed, isLine) {
			return line
		}
	}

	return segment[0]
}

var (
	machineTime = regexp.MustCompile(`\d+(\.\d+)? s\b`)
	anyNumber   = regexp.MustCompile(`[-\d.]*\d`)
	blanks      = regexp.MustCompile(` +`)
)

// withoutTimes returns a line without the digits of times, which depend on the machine.
func withoutTimes(line string) string { return machineTime.ReplaceAllString(line, "N s") }

// withoutNumbers returns a line with a letter in the place of each number, and single blanks.
func withoutNumbers(line string) string {
	return blanks.ReplaceAllString(anyNumber.ReplaceAllString(line, "N"), " ")
}

// updateOutput replaces the lines of a block by printed lines. Elisions divide the block into segments. updateOutput
// looks for a printed line like the first line of a segment and for one like its last line. It ignores their numbers.
// It replaces the segment by the printed lines from the one to the other, or keeps the segment if it finds no such
// lines.
func updateOutput(shown, printed []string) []string {
	var lines []string
	next := 0
	for rest := shown; len(rest) > 0; {
		if rest[0] == elision {
			lines = append(lines, elision)
			rest = rest[1:]
			continue
		}

		segment := firstSegment(rest)
		isFirst := len(rest) == len(shown)
		isLast := len(rest) == len(segment)
		rest = rest[len(segment):]

		start := next
		if !isFirst {
			start = lineLike(segment[0], printed, next)
		}

		end := len(printed) - 1
		if !isLast {
			end = lineLike(segment[len(segment)-1], printed, start)
		}

		if start < 0 || end < start {
			lines = append(lines, segment...)
			continue
		}

		lines = append(lines, printed[start:end+1]...)
		next = end + 1
	}

	return lines
}

// lineLike returns the number of the first printed line, from the line next on, that is equal to a line, or otherwise
// equal but for numbers. It returns -1 if there is none.
func lineLike(line string, printed []string, next int) int {
	next = max(next, 0)
	for _, form := range []func(string) string{withoutTimes, withoutNumbers} {
		isLike := func(other string) bool { return form(other) == form(line) }
		if k := slices.IndexFunc(printed[next:], isLike); k >= 0 {
			return next + k
		}
	}

	return -1
}

// A block is refused if it shows a line that was not printed, leaves out a line without an elision, or changes the
// order of the lines.
func TestCompareOutput(t *testing.T) {
	printed := []string{"wrote a.csv", "one 1.5 dB", "two 2.5 dB", "took 1.25 s"}
	for _, c := range []struct {
		name  string
		shown []string
		want  string // part of the error, "" for none
	}{
		{"the whole text", printed, ""},
		{"another time", []string{"wrote a.csv", "one 1.5 dB", "two 2.5 dB", "took 7 s"}, ""},
		{"elisions at both ends", []string{"…", "one 1.5 dB", "two 2.5 dB", "…"}, ""},
		{"elision within", []string{"wrote a.csv", "…", "took 1.25 s"}, ""},
		{"no elision at the end", []string{"wrote a.csv"}, `not shown: "one 1.5 dB"`},
		{"no elision at the beginning", []string{"one 1.5 dB", "…"}, `not printed at this place: "one 1.5 dB"`},
		{"another number", []string{"…", "one 1.6 dB", "…"}, `not printed at this place: "one 1.6 dB"`},
		{"another order", []string{"…", "two 2.5 dB", "…", "one 1.5 dB", "…"}, `not printed at this place: "one 1.5 dB"`},
		{"a line left out", []string{"…", "one 1.5 dB", "took 1.25 s"}, `not printed at this place: "one 1.5 dB"`},
	} {
		err := compareOutput(c.shown, printed, withoutTimes)
		if c.want == "" {
			assert.NoError(t, err, c.name)
			continue
		}

		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// A segment is replaced by the printed lines if its first and last line were printed, with any numbers and any lines
// between them. Other segments stay.
func TestUpdateOutput(t *testing.T) {
	printed := []string{"wrote a.csv", "one 1.5 dB", "two 2.5 dB", "took 1.25 s"}
	for _, c := range []struct {
		name        string
		shown, want []string
	}{
		{"a number", []string{"…", "one 1.6 dB", "…"}, []string{"…", "one 1.5 dB", "…"}},
		{"a new line", []string{"…", "one 1.6 dB", "took 2 s"}, []string{"…", "one 1.5 dB", "two 2.5 dB", "took 1.25 s"}},
		{"a new first line", []string{"one 1.5 dB", "…"}, []string{"wrote a.csv", "one 1.5 dB", "…"}},
		{"nothing like it", []string{"…", "other", "…"}, []string{"…", "other", "…"}},
	} {
		assert.Equal(t, c.want, updateOutput(c.shown, printed), c.name)
	}
}

// goCommand matches a command of the Go tools with its variables, such as a benchmark.
var goCommand = regexp.MustCompile(`^((?:[A-Z_]+=\S+ )*)go (test|run) (?P<words>.*)$`)

// firstSplit is a split of the simulated airfoil. init calls the experiment like the folder.
const firstSplit = `FOLDER/runs/FOLDER/splits/"$(ls FOLDER/runs/FOLDER/splits | head -1)"`

// substitute returns a shorter command that is run instead of one that takes long or needs the reader's own files. It
// returns any other command as it is.
func substitute(t *testing.T, command string) string {
	t.Helper()

	switch command {
	case "go run -v ./cmd/pipeline run pipeline.yaml":
		// The configuration of the root is read whole; package pipeline runs it.
		return `mkdir -p root && cp "$ROOT/pipeline.yaml" root && pipeline run root/pipeline.yaml --dry-run`
	case "go test ./...":
		return `cd "$ROOT" && go list ./... >/dev/null`
	case "go build -o bin/pipeline ./cmd/pipeline":
		return `d=$PWD && cd "$ROOT" && go build -o "$d/bin/pipeline" ./cmd/pipeline`
	case "bin/pipeline init FOLDER": // any folder: a simulated one, with one small network in the place of five
		return `bin/pipeline simulate airfoil FOLDER --duration-s 1 && ` + command +
			` && sed -i -e '/^ *optimizer:/d' -e 's/seeds: 5/seeds: 1\n      optimizer: {epochs: 3}` +
			`\n      estimate: {samples: 20}/' FOLDER/pipeline.yaml`
	case "bin/pipeline suggest FOLDER/runs/EXPERIMENT/splits/SPLIT":
		return "bin/pipeline suggest " + firstSplit
	case "bin/pipeline predict FOLDER/runs/EXPERIMENT/splits/SPLIT --at rpm=4000":
		return "bin/pipeline predict " + firstSplit + " --at alpha_deg=4,u_inf_m_s=9"
	}

	match := goCommand.FindStringSubmatch(command)
	if match == nil {
		return command
	}

	// Benchmarks and longer comparisons are not run, but their package must be there.
	for _, word := range strings.Fields(match[goCommand.SubexpIndex("words")]) {
		if strings.HasPrefix(word, "./") {
			return `cd "$ROOT" && go list ` + word
		}
	}

	return command
}
