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
	"doubletake/internal/longtest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/pipelinetest"
)

// awkwardNames are names of columns as people and programs write them: words that this program uses itself, words of
// YAML and JavaScript, markup, quotes and Unicode.
var awkwardNames = []string{
	"run", "recording", "set", "file", "unit", "mean", "weight", "null", "true", "none", "each", "test", "0", "-", "y_1",
	"y_mu",
	"__proto__", "constructor", "a b", "<script>alert(1)</script>", "a&b", "\"x\"", "it's", "`x`", "$x$", "{x}", "{{.}}",
	"x|y", "[x](y)", "α_deg", "速度", "é", "\u202ex", "x: y", "#x", "*x*", "%d%s", "lift_n", "theta (rad)", "p [Pa]",
}

// columnName draws a name of a column: an awkward one, one of up to 12 awkward characters, or one of 150 to 200 bytes,
// which may end within a character.
func columnName() *rapid.Generator[string] {
	characters := []rune("ab_1<>&\"'`|{}[]()$%#*:;,é速\u202e\u0301 /\\")

	return rapid.OneOf(
		rapid.SampledFrom(awkwardNames),
		rapid.StringOfN(rapid.RuneFrom(characters), 1, 12, -1),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("名<x", 50)[:rapid.IntRange(150, 200).Draw(t, "bytes")]
		}),
	)
}

// The folder of an experiment must not take the place of a report on all experiments.
func TestExperimentNamedLikeAReport(t *testing.T) {
	for name, report := range map[string]string{
		"report.html": "report.html", "Report.HTML": "report.html", "report.md": "report.md",
	} {
		yaml := "version: 1\nexperiments: {" + name + ": {ingest: {simulate: {campaign: toy}}}}\n"
		words := "experiments." + name + ": expected another name: in the work directory " + report + " is a report"
		assertRefuses(t, t.TempDir(), yaml, words)
	}
}

// namedRun runs a campaign whose input and outcome have the given names.
type namedRun func(dir, input, outcome string) error

// Whatever the names of columns, a table of pairs or recordings go through training, report and page without a panic:
// the run succeeds, or it ends with an error of the configuration or the data. No name is in the page as markup.
func TestAnyColumnNames(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network for each name")
	}

	runsAll := longtest.IsStudy() // as many names as rapid draws; otherwise five
	if !runsAll {
		// It can happen that none of five random names goes through. These two always do.
		require.NoError(t, runNamedTable(t.TempDir(), "a b", "lift_n"))
		require.NoError(t, runNamedRecordings(t.TempDir(), "a b", "lift_n"))

		checks := flag.Lookup("rapid.checks").Value
		before := checks.String()
		defer func() { _ = checks.Set(before) }()

		require.NoError(t, checks.Set("5"))
	}

	succeeded := 0
	rapid.Check(t, func(r *rapid.T) {
		input := columnName().Draw(r, "input")
		outcome := columnName().Draw(r, "outcome")
		run := rapid.SampledFrom([]namedRun{runNamedTable, runNamedRecordings}).Draw(r, "kind")

		dir, err := os.MkdirTemp("", "names")
		require.NoError(r, err)
		defer os.RemoveAll(dir)

		err = run(dir, input, outcome)
		if isUsersFault(err) {
			return
		}

		require.NoError(r, err, "input %q, outcome %q", input, outcome)

		succeeded++

		page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
		require.NoError(r, err)

		for _, name := range []string{input, outcome} {
			if strings.Contains(name, "<") && len(name) > 2 { // shorter names occur in the page's own markup
				assert.False(r, strings.Contains(string(page), name), "the page must escape %q", name)
			}
		}
	})

	if runsAll {
		assert.NotZero(t, succeeded, "names that went through")
	}

	t.Logf("%d names went through to the page", succeeded)
}

// isUsersFault reports whether an error is one of the configuration or of the data.
func isUsersFault(err error) bool {
	var one *config.Error
	var several config.Errors
	var data *fault.Error

	return errors.As(err, &one) || errors.As(err, &several) || errors.As(err, &data)
}

// quoted writes a text in YAML's single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// namedTraining is the training of an experiment whose input is inserted twice.
const namedTraining = `
    train:
      inputs: [%s]
      model: {hidden: [4]}
      optimizer: {epochs: 1, batch: 2}
      seeds: 1
      splits: {out: {test: {%[1]s: {min: 6}}}}
`

// runNamedRecordings runs eight recordings whose condition and outcome have the given names.
func runNamedRecordings(dir, input, outcome string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"file", input}}

	files := map[string]string{}
	for i := range 8 {
		value := strconv.Itoa(i)
		name := value + ".txt"
		rows = append(rows, []string{name, value})
		files[name] = "F\n" + strings.Repeat(value+"\n"+value+".5\n", 4)
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

// runNamedTable runs a table of eight pairs whose input and outcome have the given names.
func runNamedTable(dir, input, outcome string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)

	rows := [][]string{{input, outcome + "_1", outcome + "_2"}}
	for i := range 8 {
		value := strconv.Itoa(i)
		rows = append(rows, []string{value, value + ".5", value})
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
