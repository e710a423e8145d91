package app

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// completionCases are lines that end where the tab key is pressed, and what must
// be offered there, written by hand from the commands' help.
var completionCases = []struct {
	words []string
	want  []string
}{
	{[]string{"st"}, []string{"status"}},
	{[]string{"s"}, []string{"status", "simulate", "suggest", "schema", "serve"}},
	{[]string{"run", "--stage", ""}, []string{"simulate", "ingest", "dsp", "train", "report"}},
	{[]string{"run", "pipeline.yaml", "--stage", "dsp", "--to", "r"}, []string{"report"}},
	{[]string{"run", "--f"}, []string{"--from", "--force"}},
	{[]string{"run", "--executor", "s"}, []string{"sge", "slurm"}},
	{[]string{"report", "--format", ""}, []string{"html", "md", "tex", "json", "csv"}},
	{
		[]string{"tasks", "--format", ""},
		[]string{"tsv", "json", "dot", "mermaid", "pbs", "torque", "sge", "htcondor", "k8s", "slurm"},
	},
	{[]string{"export", "runs", "--format", "c"}, []string{"csv"}},
	{[]string{"simulate", "ro"}, []string{"rotor"}},
	{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}},
	{[]string{"help", "pre"}, []string{"predict"}},
}

// nameCases are lines in a folder with a pipeline.yaml and an other.yaml.
var nameCases = []struct {
	words []string
	want  []string
}{
	{[]string{"run", "--experiment", ""}, []string{"rotor", "one $(touch hit) more", "toy"}},
	{[]string{"run", "--experiment", "r"}, []string{"rotor"}},
	{[]string{"status", "--experiment", "toy", "--split", ""}, []string{"right"}},
	{[]string{"run", "--split", "b"}, []string{"blades=2", "blades=3", "blades=4"}},
	{[]string{"report", "other.yaml", "--experiment", ""}, []string{"elsewhere"}},
	{[]string{"tasks", "--split", "x"}, nil},
}

// nameFolder makes that folder, and one that has the program under its name.
// An experiment's name is hostile: no shell may take it for a command.
func nameFolder(t *testing.T) (folder, bin string) {
	t.Helper()
	folder, bin = t.TempDir(), t.TempDir()

	const toy = "    ingest: {simulate: {campaign: toy, triplets: 40}}\n    train: {inputs: [x], splits: {right: {test: " +
		"{x: {min: 3}}}}}\n"
	for name, text := range map[string]string{
		"pipeline.yaml": "version: 1\nexperiments:\n  rotor:\n    ingest: {simulate: {campaign: rotor, blades: [2, 3, " +
			"4]}}\n" +
			"    dsp: {triplets: split-half-spectrum}\n    train: {inputs: [blades, rpm, theta_deg], splits: {each: blades}}\n" +
			"  toy:\n" + toy + "  one $(touch hit) more:\n" + toy,
		"other.yaml": "version: 1\nexperiments:\n  elsewhere:\n" + toy,
	} {
		put(t, folder, name, text)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(self, filepath.Join(bin, "pipeline")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}

	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(folder, "hit")); err == nil {
			t.Error("a name was run as a command")
		}
	})

	return folder, bin
}

// inFolder runs a shell there, with the program in front of its path.
func inFolder(folder, bin string, c *exec.Cmd) *exec.Cmd {
	c.Dir = folder
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+folder)
	return c
}

// overstrike is how a terminal shows bold and underlined text.
var overstrike = regexp.MustCompile(".\x08")

// completionScript writes a shell's completion to a file.
func completionScript(t *testing.T, shell string) string {
	t.Helper()

	if _, err := exec.LookPath(shell); err != nil {
		if os.Getenv("DOUBLETAKE_REQUIRE_SHELLS") != "" {
			t.Fatalf("DOUBLETAKE_REQUIRE_SHELLS is set, but there is no %s", shell)
		}
		t.Skip("there is no " + shell)
	}

	var out, stderr strings.Builder
	if code := run([]string{"completion", shell}, &out, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}

	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}

	return path
}

func wantOffers(t *testing.T, words, got, want []string) {
	t.Helper()
	slices.Sort(got)
	got = slices.Compact(got)

	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("pipeline %q offers %q, expected %q", words, got, want)
	}
}

// quoted makes words of a shell; none of them holds a quote.
func quoted(words []string) string {
	return "'" + strings.Join(words, "' '") + "'"
}

// ask runs a shell's code after its completion was loaded, in a folder with the program in
// front of the path, and returns the lines it prints.
func ask(t *testing.T, folder, bin string, shell ...string) []string {
	t.Helper()

	out, err := inFolder(folder, bin, exec.Command(shell[0], shell[1:]...)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

func TestBashCompletion(t *testing.T) {
	script := completionScript(t, "bash")
	folder, bin := nameFolder(t)
	complete := func(words ...string) []string {
		return ask(t, folder, bin, "bash", "-c",
			fmt.Sprintf(`source %s; COMP_WORDS=(pipeline %s); COMP_CWORD=%d; _pipeline; printf '%%s\n' "${COMPREPLY[@]}"`,
				script, quoted(words), len(words)))
	}

	for _, c := range slices.Concat(completionCases, nameCases) {
		want := slices.Clone(c.want)
		for i, w := range want { // quoted for bash
			want[i] = regexp.MustCompile(`[ $()]`).ReplaceAllString(w, `\$0`)
		}

		wantOffers(t, c.words, complete(c.words...), want)
	}

	// bash splits a line at "=".
	for _, c := range []struct{ words, want []string }{
		{[]string{"run", "--stage", "=", "tr"}, []string{"train"}},
		{[]string{"run", "--stage", "="}, []string{"simulate", "ingest", "dsp", "train", "report"}},
		{[]string{"run", "--split", "blades", "=", ""}, []string{"2", "3", "4"}},
		{[]string{"run", "--split", "=", "blades", "=", "3"}, []string{"3"}},
		// Nothing of its own where a file is wanted: bash then completes file names.
		{[]string{"run", "pipe"}, nil},
		{[]string{"predict", "--conditions", ""}, nil},
	} {
		wantOffers(t, c.words, complete(c.words...), c.want)
	}
}

func TestFishCompletion(t *testing.T) {
	long(t, "starts fish for every case")

	script := completionScript(t, "fish")

	folder, bin := nameFolder(t)
	for _, c := range append(slices.Concat(completionCases, nameCases), []struct{ words, want []string }{
		{[]string{"run", "--stage=tr"}, []string{"--stage=train"}},
		{[]string{"run", "pipe"}, []string{"pipeline.yaml"}}, // a file
	}...) {
		if c.want == nil {
			continue // fish then offers files
		}

		got := ask(t, folder, bin, "fish", "--no-config", "-c",
			fmt.Sprintf("source %s; complete -C '%s'", script, strings.Join(append([]string{"pipeline"}, c.words...), " ")))
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], "\t") // what it is about
		}

		wantOffers(t, c.words, got, c.want)
	}
}

// zsh completes only at a terminal, so its two helpers are replaced by ones that print what
// they are to offer; the script itself was tried by hand.
func TestZshCompletion(t *testing.T) {
	long(t, "starts zsh for every case")

	script := completionScript(t, "zsh")

	folder, bin := nameFolder(t)
	for _, c := range append(slices.Concat(completionCases, nameCases), []struct{ words, want []string }{
		{[]string{"run", "--stage=tr"}, []string{"--stage=train"}},
		{[]string{"run", "pipe"}, []string{"files"}},
	}...) {
		got := ask(t, folder, bin, "zsh", "-f", "-c", fmt.Sprintf(`compdef() { }
_describe() { print -rl -- ${(P)argv[-1]} }; _files() { print files }
source %s; words=(pipeline %s); CURRENT=%d; _pipeline`, script, quoted(c.words), len(c.words)+1))
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], ":") // what it is about
		}

		if c.want == nil {
			c.want = []string{"files"}
		}

		wantOffers(t, c.words, got, c.want)
	}
}

// What completions offer for a value, the flag's help names; so neither is
// forgotten when the other changes.
func TestChoicesAreDocumented(t *testing.T) {
	n := 0
	for _, c := range visible(newApp(io.Discard, io.Discard)) {
		for _, o := range options(c) {
			if o.name == "from" || o.name == "to" { // --stage lists them
				continue
			}

			for _, v := range o.choices {
				if n++; !slices.Contains(strings.FieldsFunc(o.usage,
					func(r rune) bool { return strings.ContainsRune(" ,;:()", r) }), v) {
					t.Errorf("pipeline %s --%s offers %q, its help is %q", c.Name, o.name, v, o.usage)
				}
			}
		}
	}

	if n < 25 {
		t.Errorf("only %d choices", n)
	}
}

// Every command's help has an example, which is a line of that command that its
// flags and arguments understand.
func TestHelpExamples(t *testing.T) {
	app := newApp(io.Discard, io.Discard)

	lines := 0
	for _, c := range visible(app) {
		var example string
		for _, p := range strings.Split(c.Description, "\n\n") {
			if e, ok := strings.CutPrefix(p, "Example: "); ok {
				example = e
			}
		}

		if !strings.HasPrefix(example, "pipeline "+c.Name) {
			t.Errorf("pipeline %s has the example %q", c.Name, example)
			continue
		}

		for _, l := range strings.Split(example, ", then ") {
			l, _, _ = strings.Cut(l, " > ")
			words := strings.Fields(l)[1:]
			app := newApp(io.Discard, io.Discard)

			ran := ""
			for _, x := range app.Commands {
				x.Action = func(*cli.Context) error { ran = x.Name; return nil }
			}

			args, err := arrange(app, words)
			if err == nil {
				err = app.Run(append([]string{"pipeline"}, args...))
			}

			if err != nil || ran != words[0] {
				t.Errorf("%s: runs %q, %v", l, ran, err)
			}

			lines++
		}
	}

	if lines < 16 {
		t.Errorf("only %d examples", lines)
	}
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
		if strings.HasPrefix(l, "'") {
			t.Errorf("a line begins with a control character: %s", l)
		}

		if macro, _, _ := strings.Cut(l, " "); strings.HasPrefix(l, ".") &&
			!slices.Contains([]string{".nh", ".TH", ".SH", ".SS", ".TP", ".PP", ".EX", ".EE"}, macro) {
			t.Errorf("an unknown macro: %s", l)
		}
	}

	for _, c := range visible(newApp(io.Discard, io.Discard)) {
		if !strings.Contains(out.String(), ".SS pipeline "+c.Name+" ") {
			t.Errorf("pipeline %s is missing", c.Name)
		}
	}

	if _, err := exec.LookPath("mandoc"); err != nil {
		if os.Getenv("DOUBLETAKE_REQUIRE_SHELLS") != "" {
			t.Fatal("DOUBLETAKE_REQUIRE_SHELLS is set, but there is no mandoc")
		}
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
	if err != nil {
		t.Fatal(err)
	}

	plain := strings.Join(strings.Fields(overstrike.ReplaceAllString(string(text), "")), " ")
	for _, want := range []string{
		"--held-out VALUE", "pipeline report pipeline.yaml --held-out blades=3",
		"130 interrupted",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is not on the page that mandoc shows:\n%s", want, plain)
		}
	}
}
