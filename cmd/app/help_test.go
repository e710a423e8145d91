package app

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/docs"
)

// overstrike is how a terminal shows bold and underlined text.
var overstrike = regexp.MustCompile(".\x08")

// The values that a flag takes its help names; so neither is forgotten when the
// other changes.
func TestChoicesAreDocumented(t *testing.T) {
	n := 0
	for _, c := range commands() {
		for _, o := range c.flags {
			if o.name == "from" || o.name == "to" { // --stage lists them
				continue
			}

			for _, v := range o.choices {
				if n++; !slices.Contains(strings.FieldsFunc(o.usage,
					func(r rune) bool { return strings.ContainsRune(" ,;:()", r) }), v) {
					t.Errorf("pipeline %s --%s takes %q, its help is %q", c.name, o.name, v, o.usage)
				}
			}
		}
	}

	assert.GreaterOrEqual(t, n, 25, "only %d choices", n)
}

// `help NAME` begins with what `NAME --help` prints for every command, and lists each flag. If there is a document of
// the same name, it follows.
func TestHelpOfEveryCommand(t *testing.T) {
	documents := 0
	for _, c := range commands() {
		if c.name == "help" { // the help of the program
			continue
		}

		text := printedBy(t, "help", c.name)
		after, ok := strings.CutPrefix(text, printedBy(t, c.name, "--help"))
		assert.True(t, ok, "pipeline help %s does not begin with the help of the command:\n%s", c.name, text)

		for _, o := range c.flags {
			assert.Contains(t, text, "--"+o.name, "pipeline help %s", c.name)
		}

		page, ok := docs.FindPage(c.name)
		if !ok {
			assert.Empty(t, after, "pipeline help %s", c.name)
			continue
		}

		assert.Equal(t, "\nDOCUMENT:\n\n"+page.Text, after, "pipeline help %s", c.name)
		documents++
	}

	assert.GreaterOrEqual(t, documents, 6, "documents with the name of a command")
}

// Every command's help has an example, which is a line of that command that its
// flags and arguments understand.
func TestHelpExamples(t *testing.T) {
	lines := 0
	for _, c := range commands() {
		var example string
		c.paragraphs(func(line string) { example = line }, func(string) {})

		if !strings.HasPrefix(example, "pipeline "+c.name) {
			t.Errorf("pipeline %s has the example %q", c.name, example)
			continue
		}

		for _, l := range strings.Split(example, ", then ") {
			l, _, _ = strings.Cut(l, " > ")

			x, err := read(strings.Fields(l)[1:])
			if err != nil || x.Command.Name != c.name && c.name != "tasks" {
				t.Errorf("%s: %v", l, err)
			}

			lines++
		}
	}

	assert.GreaterOrEqual(t, lines, 16, "only %d examples", lines)
}

// The man page is read by mandoc, which knows the macros, without an error (it
// warns that there is no date, which is by intent); it names every command, and
// no line begins with a control character that was meant as text.
func TestManPage(t *testing.T) {
	var out, stderr strings.Builder
	if code := run([]string{"man"}, &out, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}

	for _, l := range strings.Split(out.String(), "\n") {
		assert.False(t, strings.HasPrefix(l, "'"), "a line begins with a control character: %s", l)

		if macro, _, _ := strings.Cut(l, " "); strings.HasPrefix(l, ".") &&
			!slices.Contains([]string{".nh", ".TH", ".SH", ".SS", ".TP", ".PP", ".EX", ".EE"}, macro) {
			t.Errorf("an unknown macro: %s", l)
		}
	}

	for _, c := range commands() {
		assert.Contains(t, out.String(), ".SS pipeline "+c.name+" ")
	}

	if _, err := exec.LookPath("mandoc"); err != nil {
		require.Empty(t, os.Getenv("DOUBLETAKE_REQUIRE_MANDOC"), "DOUBLETAKE_REQUIRE_MANDOC is set, but there is no mandoc")
		t.Skip("there is no mandoc")
	}

	lint := exec.Command("mandoc", "-T", "lint", "-W", "error")
	lint.Stdin = strings.NewReader(out.String())
	if text, err := lint.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}

	show := exec.Command("mandoc", "-T", "ascii")
	show.Stdin = strings.NewReader(out.String())
	text, err := show.Output()
	require.NoError(t, err)

	plain := strings.Join(strings.Fields(overstrike.ReplaceAllString(string(text), "")), " ")
	assert.Contains(t, plain, "--held-out VALUE")
	assert.Contains(t, plain, "pipeline report pipeline.yaml --held-out blades=3")
	assert.Contains(t, plain, "130 interrupted")
}
