package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/docs"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// read gives the command of a line with its arguments and does not run it; nil where the line asks for help.
func read(words []string) (c *call, err error) {
	list := commands()
	for _, s := range list {
		s.do = func(given *call) error {
			c = given
			return nil
		}
	}

	err = execute(context.Background(), list, words, io.Discard, io.Discard)

	return c, err
}

// parse gives what `pipeline run` understands of its arguments.
func parse(args ...string) (runOptions, error) {
	c, err := read(append([]string{"run"}, args...))
	if err != nil {
		return runOptions{}, err
	}

	if c == nil || c.Command.Name != "run" {
		return runOptions{}, errors.New("another command is run")
	}

	return parseRun(c)
}

// permutations calls f with every order of the groups, each kept together.
func permutations(groups [][]string, f func(args []string)) {
	if len(groups) == 0 {
		f(nil)
		return
	}

	for i := range groups {
		rest := slices.Concat(groups[:i], groups[i+1:])
		permutations(rest, func(tail []string) { f(slices.Concat(groups[i], tail)) })
	}
}

// Whatever the order of the groups, the same options must come out. Expected values are read off the lines.
func TestEveryOrder(t *testing.T) {
	for _, c := range []struct {
		groups [][]string
		want   runOptions
	}{
		{
			[][]string{{"my.yaml"}, {"--stage", "train"}, {"--force"}},
			runOptions{file: "my.yaml", sel: pipeline.Selection{Stages: []string{"train"}, Force: true}},
		},
		{
			[][]string{{"my.yaml"}, {"--stage=train"}, {"--force"}, {"-jobs=3"}},
			runOptions{file: "my.yaml", jobs: 3, sel: pipeline.Selection{Stages: []string{"train"}, Force: true}},
		},
		{
			[][]string{
				{"my.yaml"},
				{"--from", "dsp", "--to", "report"},
				{"--experiment", "drone"},
				{"--dry-run"},
				{"--explain=true"},
			},
			runOptions{
				file: "my.yaml", dryRun: true, explain: true,
				sel: pipeline.Selection{From: "dsp", To: "report", Experiments: []string{"drone"}},
			},
		},
		{
			[][]string{{"--keep-going"}, {"--json"}, {"--progress", "none"}, {"--split", "2-blades"}, {"--force=false"}},
			runOptions{
				file: "pipeline.yaml", progress: "none", keep: true, json: true,
				sel: pipeline.Selection{Splits: []string{"2-blades"}},
			},
		},
		{
			[][]string{{"--stage", "dsp", "x.yaml", "--stage", "train"}},
			runOptions{file: "x.yaml", sel: pipeline.Selection{Stages: []string{"dsp", "train"}}},
		},
		{
			[][]string{{"--stage=dsp,train"}},
			runOptions{file: "pipeline.yaml", sel: pipeline.Selection{Stages: []string{"dsp", "train"}}},
		},
		{
			[][]string{{"--experiment", "a", "--experiment=b"}},
			runOptions{file: "pipeline.yaml", sel: pipeline.Selection{Experiments: []string{"a", "b"}}},
		},
		// After -- everything is a file's name, whatever it looks like.
		{
			[][]string{{"--stage", "dsp", "--", "-odd.yaml"}},
			runOptions{file: "-odd.yaml", sel: pipeline.Selection{Stages: []string{"dsp"}}},
		},
		{[][]string{{"--", "--force"}}, runOptions{file: "--force"}},
		{[][]string{{"--force", "--"}}, runOptions{file: "pipeline.yaml", sel: pipeline.Selection{Force: true}}},
		// A value that begins with "-" is given with =.
		{
			[][]string{{"--experiment=-a", "x.yaml"}},
			runOptions{file: "x.yaml", sel: pipeline.Selection{Experiments: []string{"-a"}}},
		},
	} {
		c.want.progress, c.want.executor = cmp.Or(c.want.progress, "auto"), "local"
		n := 0
		permutations(c.groups, func(args []string) {
			n++

			got, err := parse(args...)
			if err != nil {
				t.Errorf("%q: %v", args, err)
			} else if !reflect.DeepEqual(normal(got), normal(c.want)) {
				t.Errorf("%q:\n%+v, expected\n%+v", args, got, c.want)
			}
		})

		assert.Equal(t, []int{1, 1, 2, 6, 24, 120}[len(c.groups)], n, "orders of %d words", len(c.groups))
	}
}

// normal makes no list and an empty list the same.
func normal(o runOptions) runOptions {
	for _, l := range []*[]string{&o.sel.Stages, &o.sel.Experiments, &o.sel.Splits} {
		if len(*l) == 0 {
			*l = nil
		}
	}

	return o
}

// Every fault of the command line: exit status 2, nothing on standard output,
// one message on standard error. The messages are written by hand.
func TestUsageErrors(t *testing.T) {
	const commands = "run, status, check, report, simulate"
	for _, c := range []struct{ line, want string }{
		{"rnu", `unknown command "rnu"; did you mean "run"? (the commands are ` + commands},
		{"xyzzy pipeline.yaml", `unknown command "xyzzy" (the commands are ` + commands},
		{"--stage train run", `expected a command before --stage: pipeline COMMAND [flags] [FILE]; the commands are ` +
			commands},
		{"help rnu", `unknown command or topic "rnu"; did you mean "run"? (the commands are ` + commands},
		{"help run nonsense", `pipeline help takes one command or topic, found run nonsense`},
		{"--help run nonsense", `pipeline help takes one command or topic, found run nonsense`},
		{"help budget --help tables", `pipeline help takes one command or topic, found budget tables`},
		{"--help rnu", `unknown command or topic "rnu"; did you mean "run"? (the commands are ` + commands},
		{"--version x", `pipeline version takes no argument, found x; leave it out`},
		{"run --forse", `unknown flag --forse of pipeline run; did you mean --force?`},
		{"run pipeline.yaml --forse", `unknown flag --forse of pipeline run; did you mean --force?`},
		{"run pipeline.yaml --stages=train", `unknown flag --stages of pipeline run; did you mean --stage?`},
		{"run --xyzzyx", `unknown flag --xyzzyx of pipeline run; pipeline run --help lists them`},
		{"status --force", `unknown flag --force of pipeline status; `},
		{"run --stage", `--stage of pipeline run wants a value, found the end of the line`},
		{
			"run --stage --force",
			`--stage of pipeline run wants a value, found --force; if that is the value, write --stage=--force`,
		},
		{"run --stage=", `--stage of pipeline run wants a value, found an empty one`},
		{"run --jobs many", `--jobs of pipeline run wants a whole number, found "many"`},
		{"run --jobs 1.5", `--jobs of pipeline run wants a whole number, found "1.5"`},
		{"run --force=yes", `--force of pipeline run is true or false, found "yes"`},
		{"run -5", `"-5" begins with "-" but is not a flag of pipeline run; if a file is meant, write ./-5`},
		{"run -", `"-" begins with "-" but is not a flag of pipeline run; if a file is meant, write ./-`},
		{"run a.yaml b.yaml", `pipeline run takes [FILE], found a.yaml b.yaml; pipeline run --help shows an example`},
		{
			"run --force true",
			`true: no such file; name your configuration as the argument FILE, or write one with pipeline init`,
		},
		{"version x", `pipeline version takes no argument, found x; leave it out`},
		{
			"simulate rotor",
			`pipeline simulate takes rotor|airfoil|toy DIR, found rotor; pipeline simulate --help shows an example`,
		},
		{"simulate rotor DIR --seed -1", `--seed of pipeline simulate wants a whole number, not negative, found "-1"`},
		{"simulate toy DIR --rate-hz 5", `--rate-hz does not belong to the toy campaign`},
		{"simulate toy DIR --jobs=-1", `--jobs wants a number of files, found -1`},
		{"tasks --parts 3", `--parts belongs to array jobs: give --format with one of `},
		{"tasks --format json --parts 3", `--parts belongs to array jobs: give --format with one of `},
		{"tasks --format slurm --image x", `--image belongs to --format k8s`},
		{"graph --json --format dot", `pipeline graph: --json and --format exclude each other`},
		{"log --config 1 --diff 2", `pipeline log: --config and --diff exclude each other`},
		{"suggest rotor --count 3 --batch 2", `--count belongs to a ranking; --batch and --budget decide how many `},
		{"suggest rotor --count 3 --cost rpm=1 --budget 9", `--count belongs to a ranking; --batch and --budget decide `},
		{"budget rotor --csv --tex", `pipeline budget: --csv and --tex exclude each other`},
		{"predict rotor --json --csv", `pipeline predict: --json and --csv exclude each other`},
		{"predict rotor --conditions c.csv --given --json", `pipeline predict: --given and --json exclude each other`},
		{"predict rotor --conditions c.csv --given --level 0.9", `pipeline predict: --given and --level exclude each other`},
		{"predict rotor --conditions c.csv --given --network", `pipeline predict: --given and --network exclude each other`},
		{
			"predict rotor --conditions c.csv --given --csv --only network",
			`pipeline predict: --given and --only exclude each other`,
		},
		{
			"predict rotor --conditions c.csv --given --extrapolate",
			`pipeline predict: --given and --extrapolate exclude each other`,
		},
	} {
		t.Run(c.line, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 2, run(strings.Fields(c.line), &stdout, &stderr), "exit status")
			assert.Empty(t, stdout.String(), "standard output")

			assert.Regexp(t, "^pipeline: "+regexp.QuoteMeta(c.want), stderr.String())
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "lines of\n%s", &stderr)
		})
	}
}

// Help goes to standard output with status 0, wherever it is asked for, and
// shows an example and the exit statuses.
func TestHelp(t *testing.T) {
	all := commands()

	lines := [][]string{nil, {"help"}, {"help", "help"}}
	for _, flag := range []string{"--help", "-help", "-h"} {
		lines = append(lines, []string{flag}, []string{"help", flag}, []string{flag, "run"}, []string{"run", flag})
	}
	for _, c := range all {
		if c.name == "help" {
			continue
		}

		lines = append(lines, []string{c.name, "--help"}, []string{c.name, "x.yaml", "-h"})
		lines = append(lines, []string{"help", c.name, "--help"}, []string{"help", "--help", c.name})
		if _, document := docs.FindPage(c.name); !document {
			lines = append(lines, []string{"help", c.name})
		}
	}

	require.GreaterOrEqual(t, len(lines), 4+3*6, "only %d commands", len(all))

	for _, args := range lines {
		help := printedBy(t, args...)
		assert.Contains(t, help, "Example: pipeline ")
		assert.Contains(t, help, "Exit status: 0 success")
		assert.Contains(t, help, "USAGE:")

		for _, a := range args {
			if c := find(all, a); c != nil && a != "help" {
				assert.Contains(t, help, "pipeline "+c.name, "%q must show the help of the command", args)
			}
		}
	}

	// A document comes before the command of its name, and names that.
	assert.Contains(t, printedBy(t, "help", "idea"), "# The idea\n")
	assert.Contains(t, printedBy(t, "help", "idea", "--help"), "# The idea\n")
	assert.Contains(t, printedBy(t, "help", "tables"), "triplets.arrow\n")

	assert.Contains(t, printedBy(t, "contrast", "--help"), "\n   --a value ", "flags of one letter have two hyphens")
	assert.Contains(t, printedBy(t, "judge", "--help"), "pipeline judge [flags] PREDICTIONS --against PAIRS\n")

	assert.Regexp(t, "^doubletake pipeline ", printedBy(t, "--version"))
}

// printedBy runs the program, which must succeed and write nothing to standard error, and returns its standard output.
func printedBy(t *testing.T, args ...string) string {
	t.Helper()

	var stdout, stderr bytes.Buffer
	require.Zero(t, run(args, &stdout, &stderr), "%q: exit status", args)
	require.Empty(t, stderr.String(), "%q: standard error", args)

	return stdout.String()
}

// Whatever the words: nothing is dropped silently. Either the line is refused,
// or every flag's value and every file name has arrived.
func TestNothingDropped(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"--force", "--stage", "--stage=dsp", "train", "x.yaml", "--", "-", "-5", "--jobs",
		"3", "--experiment=a", "--json", "--jsn", "--to", "ingest",
	})

	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(word, 0, 6).Draw(t, "args")
		o, err := parse(args...)
		if err != nil {
			return
		}

		var given []string
		lastJobs := ""

		add := func(s ...string) { given = append(given, s...) }
		for i, p := 0, false; i < len(args); i++ {
			switch a := args[i]; {
			case p, !strings.HasPrefix(a, "-"):
				add("FILE " + a)
			case a == "--":
				p = true
			case a == "--stage", a == "--to", a == "--jobs":
				i++
				add(a + " " + args[i])

				if a == "--jobs" {
					lastJobs = args[i]
				}

			case strings.Contains(a, "="):
				add(strings.Replace(a, "=", " ", 1))
			default:
				add(a)
			}
		}

		for _, g := range given {
			k, v, _ := strings.Cut(g, " ")

			ok := false
			switch k {
			case "FILE":
				ok = o.file == v
			case "--force":
				ok = o.sel.Force
			case "--json":
				ok = o.json
			case "--stage":
				ok = slices.Contains(o.sel.Stages, v)
			case "--experiment":
				ok = slices.Contains(o.sel.Experiments, v)
			case "--to":
				ok = o.sel.To != "" // the last one counts
			case "--jobs":
				ok = strconv.Itoa(o.jobs) == lastJobs
			}

			require.True(t, ok, "%q: %q did not arrive: %+v", args, g, o)
		}
	})
}

// The command that a refused partial run names must be one a shell reads right.
func TestFirstRun(t *testing.T) {
	lacks := &engine.NotReadyError{Needs: &engine.Status{Task: &engine.Task{Stage: "dsp", Experiment: "my rotor"}}}
	for _, c := range []struct {
		o    runOptions
		want string
	}{
		{runOptions{file: "pipeline.yaml"}, "pipeline run --to dsp"},
		{runOptions{file: "a/b.yaml"}, "pipeline run a/b.yaml --to dsp"},
		{runOptions{file: "it's mine.yaml"}, `pipeline run 'it'\''s mine.yaml' --to dsp`},
		{
			runOptions{file: "pipeline.yaml", sel: pipeline.Selection{Experiments: []string{"my rotor"}}},
			"pipeline run --experiment 'my rotor' --to dsp",
		},
	} {
		assert.Equal(t, c.want, firstRun(c.o, lacks))
	}
}

// A command that panics is a fault of the program, with the stack in a file, and exit status 1.
func TestCommandPanics(t *testing.T) {
	list := commands()
	for _, s := range list {
		s.do = func(c *call) error { return fmt.Errorf("%s", c.args[len(c.args)]) }
	}

	err := execute(t.Context(), list, []string{"check", "pipeline.yaml"}, io.Discard, io.Discard)
	status, text := pipeline.ExitStatus(err)
	assert.Equal(t, pipeline.ExitFailed, status, "exit status")
	assert.Contains(t, text, "a fault of the program, please report it: runtime error")
	assert.Contains(t, text, "TestCommandPanics")
	assert.Contains(t, text, "; send the file ")
}
