package pipeline_test

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/pipelinetest"
)

// columnName draws a name as people and programs write them: words of our own,
// markup, quotes, Unicode, 200 characters.
func columnName(label string) *rapid.Generator[string] {
	own := []string{
		"run", "recording", "set", "file", "unit", "mean", "weight", "null", "true", "none", "each", "test", "0", "-", "y_1",
		"y_mu",
		"__proto__", "constructor", "a b", "<script>alert(1)</script>", "a&b", "\"x\"", "it's", "`x`", "$x$", "{x}", "{{.}}",
		"x|y", "[x](y)", "α_deg", "速度", "é", "\u202ex", "x: y", "#x", "*x*", "%d%s", "lift_n", "theta (rad)", "p [Pa]",
	}

	return rapid.OneOf(
		rapid.SampledFrom(own),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab_1<>&\"'`|{}[]()$%#*:;,é速\u202e\u0301 /\\")), 1, 12, -1),
		rapid.Custom(func(t *rapid.T) string { return strings.Repeat("名<x", 50)[:rapid.IntRange(150, 200).Draw(t, label)] }),
	)
}

// Any names of columns go through a table of pairs or recordings, training, report and page
// without a panic: the run succeeds or ends with an error of the configuration or
// the data. No name is in the page with markup of its own.
func TestAnyColumnNames(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network for each name")
	}

	few := os.Getenv("DOUBLETAKE_LONG") != "all" // else as many as rapid tries
	if few {
		// Of five names none may go through, but these do.
		for _, kind := range []func(dir, input, outcome string) error{runNamedTable, runNamedRecordings} {
			require.NoError(t, kind(t.TempDir(), "a b", "lift_n"))
		}

		checks := flag.Lookup("rapid.checks").Value
		before := checks.String()
		defer func() { _ = checks.Set(before) }()

		require.NoError(t, checks.Set("5"))
	}

	succeeded := 0
	rapid.Check(t, func(r *rapid.T) {
		input := columnName("bytes").Draw(r, "input")
		outcome := columnName("bytes").Draw(r, "outcome")
		dir := rapidDir(r)
		defer os.RemoveAll(dir)
		run := rapid.SampledFrom([]func(dir, input, outcome string) error{runNamedTable, runNamedRecordings}).Draw(r, "kind")
		err := run(dir, input, outcome)
		var c *config.Error
		var several config.Errors

		var f *fault.Error
		switch {
		case err == nil:
			succeeded++
		case errors.As(err, &c), errors.As(err, &several), errors.As(err, &f):
			return
		default:
			r.Fatalf("input %q, outcome %q: %v", input, outcome, err)
		}

		page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
		if err != nil {
			r.Fatal(err)
		}

		for _, name := range []string{input, outcome} {
			if strings.ContainsAny(name, "<") && len(name) > 2 && strings.Contains(string(page), name) {
				r.Errorf("the page has %q as it is", name)
			}
		}
	})

	if !few {
		assert.NotZero(t, succeeded, "no name went through")
	}

	t.Logf("%d names went through to the page", succeeded)
}

func rapidDir(r *rapid.T) string {
	dir, err := os.MkdirTemp("", "names")
	if err != nil {
		r.Fatal(err)
	}

	return dir
}

// quoted writes a text in YAML's single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

const namedTraining = `
    train:
      inputs: [%s]
      model: {hidden: [4]}
      optimizer: {epochs: 1, batch: 2}
      seeds: 1
      splits: {out: {test: {%[1]s: {min: 6}}}}
`

// runNamedRecordings runs recordings whose outcome and condition have the given
// names.
func runNamedRecordings(dir, input, outcome string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"file", input}}

	files := map[string]string{}
	for i := range 8 {
		v := strconv.Itoa(i)
		rows = append(rows, []string{v + ".txt", v})
		files[v+".txt"] = "F\n" + strings.Repeat(v+"\n"+v+".5\n", 4)
	}

	if err := w.WriteAll(rows); err != nil {
		return err
	}

	files["conditions.csv"] = b.String()
	files["pipeline.yaml"] = "version: 1\nexperiments:\n  a:\n    ingest: {files: \"*.txt\", " +
		"conditions: conditions.csv, columns: {" + quoted(outcome) + ": F}}\n    dsp: {triplets: split-halves}" +
		fmt.Sprintf(namedTraining, quoted(input))

	return pipelinetest.Run(dir, files, engine.Options{Jobs: 1})
}

// runNamedTable runs a table whose columns have the given names.
func runNamedTable(dir, input, outcome string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)

	rows := [][]string{{input, outcome + "_1", outcome + "_2"}}
	for i := range 8 {
		v := strconv.Itoa(i)
		rows = append(rows, []string{v, v + ".5", v})
	}

	if err := w.WriteAll(rows); err != nil {
		return err
	}

	return pipelinetest.Run(dir, map[string]string{
		"t.csv": b.String(),
		"pipeline.yaml": "version: 1\nexperiments:\n  a:\n    ingest:\n      table: {file: t.csv, inputs: [" + quoted(input) +
			"], y1: [" + quoted(outcome+"_1") + "], y2: [" + quoted(outcome+"_2") + "]}" +
			fmt.Sprintf(namedTraining, quoted(input)),
	}, engine.Options{Jobs: 1})
}
