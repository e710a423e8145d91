package main

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
	{[]string{"run", "--executor", "s"}, []string{"slurm"}},
	{[]string{"report", "--format", ""}, []string{"html", "md", "tex", "json", "csv"}},
	{[]string{"tasks", "--format", ""}, []string{"tsv", "json", "dot", "mermaid"}},
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
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
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

func TestBashCompletion(t *testing.T) {
	script := completionScript(t, "bash")
	complete := func(words []string) []string {
		c := exec.Command("bash", "-c",
			fmt.Sprintf(`source %s; COMP_WORDS=(pipeline %s); COMP_CWORD=%d; _pipeline; printf '%%s\n' "${COMPREPLY[@]}"`,
				script, quoted(words), len(words)))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Fields(string(out))
	}
	for _, c := range completionCases {
		wantOffers(t, c.words, complete(c.words), c.want)
	}
	// bash splits a line at "=".
	wantOffers(t, nil, complete([]string{"run", "--stage", "=", "tr"}), []string{"train"})
	wantOffers(t, nil, complete([]string{"run", "--stage", "="}), []string{"simulate", "ingest", "dsp", "train", "report"})
	folder, bin := nameFolder(t)
	names := func(words []string) []string {
		out, err := inFolder(folder, bin, exec.Command("bash", "-c",
			fmt.Sprintf(`source %s; COMP_WORDS=(pipeline %s); COMP_CWORD=%d; _pipeline; printf '%%s\n' "${COMPREPLY[@]}"`,
				script, quoted(words), len(words)))).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	}
	for _, c := range nameCases {
		want := slices.Clone(c.want)
		for i, w := range want { // quoted for bash
			want[i] = regexp.MustCompile(`[ $()]`).ReplaceAllString(w, `\$0`)
		}
		wantOffers(t, c.words, names(c.words), want)
	}
	wantOffers(t, nil, names([]string{"run", "--split", "blades", "=", ""}), []string{"2", "3", "4"})
	wantOffers(t, nil, names([]string{"run", "--split", "=", "blades", "=", "3"}), []string{"3"})
	// Nothing of its own where a file is wanted: bash then completes file names.
	wantOffers(t, nil, complete([]string{"run", "pipe"}), nil)
	wantOffers(t, nil, complete([]string{"predict", "--conditions", ""}), nil)
}

func TestFishCompletion(t *testing.T) {
	script := completionScript(t, "fish")
	empty := t.TempDir() // so that no file names are offered
	folder, bin := nameFolder(t)
	for _, c := range nameCases {
		out, err := inFolder(folder, bin, exec.Command("fish", "--no-config", "-c",
			fmt.Sprintf("source %s; complete -C '%s'", script,
				strings.Join(append([]string{"pipeline"}, c.words...), " ")))).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], "\t") // the flag's description
		}
		wantOffers(t, c.words, got, c.want)
	}
	for _, c := range append(completionCases, struct{ words, want []string }{
		[]string{"run", "--stage=tr"},
		[]string{"--stage=train"},
	}) {
		cmd := exec.Command("fish", "--no-config", "-c",
			fmt.Sprintf("source %s; cd %s; complete -C '%s'", script, empty,
				strings.Join(append([]string{"pipeline"}, c.words...), " ")))
		cmd.Env = append(os.Environ(), "HOME="+empty)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			word, _, _ := strings.Cut(l, "\t")
			got = append(got, word)
		}
		wantOffers(t, c.words, got, c.want)
	}
}

// zsh completes only at a terminal, so its two helpers are replaced by ones that
// print their arguments; the specifications were tried by hand.
func TestZshCompletion(t *testing.T) {
	script := completionScript(t, "zsh")
	ask := func(words ...string) string {
		c := exec.Command("zsh", "-f", "-c", fmt.Sprintf(`compdef() { }
_arguments() { print -rl -- "$@" }; _describe() { print -rl -- ${(P)argv[-1]} }
source %s; words=(pipeline %s); CURRENT=%d; _pipeline`, script, quoted(words), len(words)+1))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{""}, "status:list tasks that are up to date, stale or missing, and why\n"},
		{[]string{"run", ""}, "*--stage=[only this stage (repeatable)\\: simulate, ingest, dsp, train or " +
			"report]:value:(simulate ingest dsp train report)\n"},
		{[]string{"run", ""}, "--force[also make tasks that are up to date]\n"},
		{[]string{"tasks", ""}, "--format=[tsv, json, or the stages as a graph\\: dot, mermaid]:" +
			"value:(tsv json dot mermaid)\n"},
		{[]string{"simulate", ""}, "1:simulate:(rotor airfoil toy)\n"},
		{[]string{"help", ""}, "predict:"},
		{[]string{"run", ""}, "*--split=[only this split's models (repeatable)]:value:_pipeline_names splits\n"},
	} {
		if got := ask(c.words...); !strings.Contains(got, c.want) {
			t.Errorf("pipeline %q: %q is missing in\n%s", c.words, c.want, got)
		}
	}
}

// The names zsh offers: compadd, which needs a terminal, prints its arguments.
func TestZshNames(t *testing.T) {
	script := completionScript(t, "zsh")
	folder, bin := nameFolder(t)
	for _, c := range nameCases {
		kind := "experiments"
		if slices.Index(c.words, "--split") == len(c.words)-2 {
			kind = "splits"
		}
		out, err := inFolder(folder, bin, exec.Command("zsh", "-f", "-c", fmt.Sprintf(`compdef() { }
_arguments() { _pipeline_names -J group %s }
compadd() { [[ "$1 $2 $3 $4" == "-J group -a found" ]] && print -rl -- $found }
source %s; words=(pipeline %s); CURRENT=%d; _pipeline`,
			kind, script, quoted(c.words), len(c.words)+1))).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var want []string // zsh itself leaves out what does not begin as the word does
		for _, n := range strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }) {
			if strings.HasPrefix(n, c.words[len(c.words)-1]) {
				want = append(want, n)
			}
		}
		wantOffers(t, c.words, want, c.want)
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
			!slices.Contains([]string{`.\"`, ".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", ".RS", ".RE", ".nf", ".fi"}, macro) {
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
