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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/stagetest"
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
	require.NoError(t, err)

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

		require.NoError(t, err)

		write(t, dir, f, string(b))
	}

	if err := os.Symlink(data, filepath.Join(dir, "data")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}

	return dir
}

// kept is a test whose folders last until all tests of the package have ended.
type kept struct{ testing.TB }

// keptFolders is where they are.
var keptFolders string

func (k kept) TempDir() string {
	dir, err := os.MkdirTemp(keptFolders, "")
	if err != nil {
		k.Fatal(err)
	}

	return dir
}

func TestMain(m *testing.M) {
	var err error
	if keptFolders, err = os.MkdirTemp("", "pipeline"); err != nil {
		panic(err)
	}

	status := m.Run()
	os.RemoveAll(keptFolders)
	os.Exit(status)
}

// configurations are the default one, examples and those of testdata/pins, each with what makes its folder.
var configurations = []struct {
	name string
	make func(t testing.TB) (dir string)
}{
	{"default", func(t testing.TB) string { return configured(t, filepath.Join("..", "pipeline.yaml")) }},
	{"methods", func(t testing.TB) string { return configured(t, "testdata/pins/methods.yaml") }},
	{"constructions", func(t testing.TB) string { return configured(t, "testdata/pins/constructions.yaml") }},
	{"tunnel-acquisition", func(t testing.TB) string {
		return example(t, "tunnel-acquisition", absolute(t, filepath.Join("testdata", "tunnel")))
	}},
	{"princeton-balance", measured("princeton-balance", "princeton-mae224-lift-drag")},
	{"lcav-propeller", measured("lcav-propeller", "lcav-crazyflie-propeller", "propellers")},
	{"lcav-microphones", measured("lcav-microphones", "lcav-crazyflie-propeller", "propellers_only_4mics")},
	{"cyclone-balance", measured("cyclone-balance", "cyclone-ojf-force-balance")},
	{"crisscl-motor", measured("crisscl-motor", "crisscl-motor-9450-propeller")},
}

// measured returns what makes the folder of an example of measured data.
func measured(name string, data ...string) func(t testing.TB) string {
	return func(t testing.TB) string { return example(t, name, measuredData(t, data...)) }
}

// finished are the configurations that ran, by name.
var finished = map[string]*finishedRun{}

type finishedRun struct {
	dir string
	all map[string]report.Experiment
}

// finishedIn returns the folder of one of the configurations after a whole run, and its reports. There is one run
// for all tests: they change nothing in the folder.
func finishedIn(t testing.TB, name string) (dir string, all map[string]report.Experiment) {
	t.Helper()
	longtest.Skip(t, "runs "+name)

	if finished[name] == nil {
		for _, c := range configurations {
			if c.name == name {
				dir := c.make(kept{t})
				finished[name] = &finishedRun{dir, runIn(t, dir)}
			}
		}
	}

	return finished[name].dir, finished[name].all
}

// runIn runs the pipeline.yaml of a folder and returns its reports. Any error,
// which the command would turn into an exit status other than 0, fails the test.
func runIn(t testing.TB, dir string, experiments ...string) map[string]report.Experiment {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	sel := engine.Selection{Experiments: experiments}
	res, err := p.Run(context.Background(), engine.Options{Selection: sel, Jobs: 2})
	require.NoError(t, err)

	list, err := p.Reports(res, sel)
	require.NoError(t, err)

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

	require.NoError(t, err)
}

// tripletsOf writes a configuration into a folder, runs it up to the triplets and reads those of an experiment.
func tripletsOf(t testing.TB, dir, experiment, yaml string) *table.Table {
	t.Helper()
	write(t, dir, "pipeline.yaml", yaml)
	tripletsIn(t, dir)

	return readTable(t, dir, "runs", experiment, "triplets.arrow")
}

// has reports a column that has other values.
func has(t testing.TB, tab *table.Table, name string, want []float64) {
	t.Helper()

	assert.Equal(t, want, column(t, tab, name), "%s is", name)
}

// refuses writes a configuration into a folder, whose run must fail with these words.
func refuses(t testing.TB, dir, yaml, words string) {
	t.Helper()
	write(t, dir, "pipeline.yaml", yaml)
	says(t, tryIn(dir), words)
}

// says reports an error that has not these words.
func says(t testing.TB, err error, words string) {
	t.Helper()

	if words == "" {
		assert.NoError(t, err)
	} else {
		assert.ErrorContains(t, err, words)
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

	b := testfile.Read(t, filepath.Join(dir, "runs", experiment, "report", "metrics.json"))

	var m metrics
	require.NoError(t, json.Unmarshal(b, &m))

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
	b := testfile.Read(t, path)

	text := string(b)
	for i := 0; i < len(change); i += 2 {
		require.Equal(t, 1, strings.Count(text, change[i]), "%s has %q times", path, change[i])
		text = strings.Replace(text, change[i], change[i+1], 1)
	}

	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
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
