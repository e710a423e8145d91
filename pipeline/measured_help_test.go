package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// study skips a test that belongs to the studies by simulation, which docs/research/studies runs
// before a release.
func study(t testing.TB) {
	t.Helper()

	if os.Getenv("DOUBLETAKE_LONG") != "all" {
		t.Skip("a study: docs/research/studies runs it")
	}
}

// long skips a test that takes seconds of processor time, and says what it does.
func long(t testing.TB, does string) {
	t.Helper()
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skipf("%s; DOUBLETAKE_LONG=1 runs it", does)
	}
}

// measuredData returns the path of a folder of measured data, or skips by name.
func measuredData(t testing.TB, parts ...string) string {
	t.Helper()
	return elsewhere(t, "DOUBLETAKE_REAL", "real", "measured data", parts...)
}

// referenceData returns the path of a file of the reference's data, or skips by name.
func referenceData(t testing.TB, parts ...string) string {
	t.Helper()
	return elsewhere(t, "DOUBLETAKE_REFERENCE", "reference", "reference data", parts...)
}

func elsewhere(t testing.TB, env, folder, what string, parts ...string) string {
	t.Helper()

	root := os.Getenv(env)
	if root == "" {
		root = filepath.Join("..", "..", "shared", folder)
	}

	path, err := filepath.Abs(filepath.Join(append([]string{root}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s %s is not here (%s names the folder)", what, filepath.Join(parts...), env)
	}

	return path
}

// example copies an example's files into a folder of the test, with a link
// `data` to the measurements, as examples/README.md asks of its reader.
func example(t testing.TB, name, data string) string {
	t.Helper()
	dir := t.TempDir()

	from := filepath.Join("..", "examples", name)
	for _, f := range []string{"pipeline.yaml", "conditions.csv"} {
		b, err := os.ReadFile(filepath.Join(from, f))
		if errors.Is(err, os.ErrNotExist) && f != "pipeline.yaml" {
			continue
		}

		if err != nil {
			t.Fatal(err)
		}

		write(t, dir, f, string(b))
	}

	if err := os.Symlink(data, filepath.Join(dir, "data")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}

	return dir
}

// runIn runs the pipeline.yaml of a folder and returns its reports. Any error,
// which the command would turn into an exit status other than 0, fails the test.
func runIn(t testing.TB, dir string, experiments ...string) map[string]report.Experiment {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	sel := engine.Selection{Experiments: experiments}
	res, err := p.Run(context.Background(), engine.Options{Selection: sel, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}

	list, err := p.Reports(res, sel)
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]report.Experiment{}
	for _, e := range list {
		out[e.Name] = e
	}

	return out
}

// tripletsIn runs the pipeline.yaml of a folder up to the triplets.
func tripletsIn(t testing.TB, dir string) {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err == nil {
		_, err = p.Run(context.Background(), engine.Options{Selection: engine.Selection{To: "dsp"}, Jobs: 2})
	}

	if err != nil {
		t.Fatal(err)
	}
}

// metrics is what a reader of metrics.json finds, after CONTRACT; null numbers
// stay nil.
type metrics struct {
	Experiment string   `json:"experiment"`
	Data       string   `json:"data"`
	Pairs      string   `json:"pairs"`
	Warnings   []string `json:"warnings"`
	Splits     []struct {
		Name    string     `json:"name"`
		HeldOut string     `json:"held_out"`
		Seeds   int        `json:"seeds"`
		Train   setMetrics `json:"train"`
		Test    setMetrics `json:"test"`
	} `json:"splits"`
}

type setMetrics struct {
	R2     number `json:"r2"`
	AbsCov number `json:"abs_cov"`
	E      number `json:"e"`
}

type number struct {
	Mean *float64 `json:"mean"`
	Std  *float64 `json:"std"`
}

func readMetrics(t testing.TB, dir, experiment string) metrics {
	t.Helper()

	b := contents(t, filepath.Join(dir, "runs", experiment, "report", "metrics.json"))

	var m metrics
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}

	return m
}

func readTable(t testing.TB, parts ...string) *table.Table {
	t.Helper()
	return stagetest.Read(t, filepath.Join(parts...))
}

func column(t testing.TB, tab *table.Table, name string) []float64 {
	t.Helper()
	return stagetest.Floats(t, tab, name)
}

// amend changes the pipeline.yaml of a folder by pairs of old and new text. Each old text must be there once.
func amend(t testing.TB, dir string, change ...string) {
	t.Helper()

	path := filepath.Join(dir, "pipeline.yaml")
	b := contents(t, path)

	text := string(b)
	for i := 0; i < len(change); i += 2 {
		if n := strings.Count(text, change[i]); n != 1 {
			t.Fatalf("%s has %q %d times", path, change[i], n)
		}
		text = strings.Replace(text, change[i], change[i+1], 1)
	}

	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// number6 writes a number as the balance's files do.
func number6(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// tryIn runs the pipeline.yaml of a folder for its error, one task at a time: of several
// faults the first is then always the same.
func tryIn(dir string) error {
	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return err
	}

	_, err = p.Run(context.Background(), engine.Options{Selection: engine.Selection{To: "dsp"}, Jobs: 1})

	return err
}
