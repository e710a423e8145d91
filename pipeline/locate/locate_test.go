package locate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/pipeline/locate"
)

// ExamplePairs finds the pairs in a table of a user's. No configuration has an experiment of that name.
func ExamplePairs() {
	source, experiment, err := locate.Pairs("testdata/wing.csv", "")
	if err != nil {
		fmt.Println(err)
	}

	fmt.Println(source.Path, experiment == nil)
	// Output: testdata/wing.csv true
}

// project makes a folder the working directory. The folder has a configuration of two experiments, one with a sweep,
// their pairs, and two other tables.
func project(t *testing.T) {
	t.Helper()

	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"pipeline.yaml": `version: 1
workdir: out
experiments:
  wing:
    ingest: {table: pairs.csv}
    train: {inputs: [x], splits: {each: x}}
    sweep: {loss.beta: [0, 1]}
  fan: {ingest: {table: pairs.csv}}
`,
		"pairs.csv": "run,day,x,y_1,y_2\na,mon,1,2,3\n",
		"no.csv":    "x,y\n1,2\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}

	require.NoError(t, os.MkdirAll(filepath.Join("out", "wing", "beta=1"), 0o700))

	triplets := table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"a"}},
		{Name: "recording", Strings: []string{"a"}},
		{Name: "x", Floats: []float64{1}},
		{Name: "y_1", Floats: []float64{2}},
		{Name: "y_2", Floats: []float64{3}},
	}}
	for _, name := range []string{"wing", "fan"} {
		require.NoError(t, os.MkdirAll(filepath.Join("out", name, "splits", "x=1"), 0o700))

		_, err := triplets.WriteFile(filepath.Join("out", name, "triplets.arrow"))
		require.NoError(t, err)
	}
}

// Pairs are opened by the name of an experiment or a split, by their folders, or as a table. A triplets.arrow in the
// folder of an experiment knows its experiment, any other table does not. A variant of a sweep has the pairs of its
// experiment.
func TestOpen(t *testing.T) {
	project(t)

	triplets := []string{"run", "recording", "x", "y_1", "y_2"}
	for _, c := range []struct {
		name, dir, experiment, split string
		columns                      []string
	}{
		{name: "fan", dir: "out/fan", experiment: "fan", columns: triplets},
		{name: "out/fan", dir: "out/fan", experiment: "fan", columns: triplets},
		{name: "fan/x=1", dir: "out/fan", experiment: "fan", split: "x=1", columns: triplets},
		{name: "out/fan/splits/x=1", dir: "out/fan", experiment: "fan", split: "x=1", columns: triplets},
		{name: "out/wing/beta=1", dir: "out/wing/beta=1", experiment: "wing/beta=1", columns: triplets},
		{name: "wing/beta=1", dir: "out/wing/beta=1", experiment: "wing/beta=1", columns: triplets},
		{name: "fan/", dir: "out/fan", experiment: "fan", columns: triplets},
		{name: "fan/x=1/", dir: "out/fan", experiment: "fan", split: "x=1", columns: triplets},
		{name: "out/fan/triplets.arrow", experiment: "fan", columns: triplets},
		{name: "pairs.csv", columns: []string{"run", "recording", "x", "day", "y_1", "y_2"}},
	} {
		source, found, err := locate.Pairs(c.name, "")
		require.NoError(t, err, c.name)

		opened, err := source.Open(nil)
		require.NoError(t, err, c.name)

		var columns []string
		for _, column := range opened.Columns {
			columns = append(columns, column.Name)
		}

		experiment := ""
		if found != nil {
			experiment = found.Name
		}

		assert.Equal(t, c.dir, filepath.ToSlash(opened.Dir), "%s: folder", c.name)
		assert.Equal(t, c.experiment, experiment, "%s: experiment", c.name)
		assert.Equal(t, c.split, opened.Split, "%s: split", c.name)
		assert.Equal(t, c.columns, columns, "%s: columns", c.name)
	}
}

// An experiment hides a folder of its name that has no results, such as the folder of its recordings. It hides neither
// a folder with results nor ./NAME, which is a path. A folder in the folder of recordings is hidden by a split only.
func TestHiddenFolders(t *testing.T) {
	for _, c := range []struct {
		folder, file, name string // a folder, a file in it, and what the user names
		pairs, path        string
	}{
		{folder: "fan", file: "a.csv", name: "fan", pairs: "out/fan/triplets.arrow", path: "out/fan"},
		{folder: "fan", file: "a.csv", name: "fan/", pairs: "out/fan/triplets.arrow", path: "out/fan"},
		{folder: "fan", file: "a.csv", name: "./fan", pairs: "fan/triplets.arrow", path: "./fan"},
		{folder: "fan", file: "triplets.arrow", name: "fan", pairs: "fan/triplets.arrow", path: "fan"},
		{folder: "fan/splits/x=1", file: "metrics.json", name: "fan", pairs: "fan/triplets.arrow", path: "fan"},
		{
			folder: "fan/splits/x=1", file: "metrics.json", name: "fan/splits/x=1", pairs: "fan/triplets.arrow",
			path: "fan/splits/x=1",
		},
		{
			folder: "fan/x=1", file: "a.csv", name: "fan/x=1", pairs: "out/fan/triplets.arrow",
			path: "out/fan/splits/x=1",
		},
		{folder: "fan/day 1", file: "a.csv", name: "fan/day 1", pairs: "fan/day 1/triplets.arrow", path: "fan/day 1"},
		{folder: "raw", file: "a.csv", name: "raw", pairs: "raw/triplets.arrow", path: "raw"},
	} {
		project(t)
		require.NoError(t, os.MkdirAll(c.folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(c.folder, c.file), nil, 0o600))

		source, _, err := locate.Pairs(c.name, "")
		require.NoError(t, err, c.name)

		path, err := locate.Path(c.name)
		require.NoError(t, err, c.name)

		assert.Equal(t, c.pairs, filepath.ToSlash(source.Path), "%s beside %s/%s: pairs", c.name, c.folder, c.file)
		assert.Equal(t, c.path, filepath.ToSlash(path), "%s beside %s/%s: path", c.name, c.folder, c.file)
	}
}

// The experiment of a name is known before its first run, too.
func TestBeforeFirstRun(t *testing.T) {
	project(t)
	require.NoError(t, os.RemoveAll("out"))
	require.NoError(t, os.Mkdir("fan", 0o700))

	source, experiment, err := locate.Pairs("fan", "")
	require.NoError(t, err)
	require.NotNil(t, experiment)
	assert.Equal(t, "fan", experiment.Name)

	_, err = source.Open(nil)
	assert.ErrorContains(t, err, "out/fan: expected an experiment")
}

// A name that means nothing, and a table without pairs, are errors that say what was expected.
func TestOpenNothing(t *testing.T) {
	project(t)

	_, _, err := locate.Pairs("fin", "")
	assert.ErrorContains(t, err, "the experiments of pipeline.yaml are fan, wing")

	_, _, err = locate.Pairs("fan/x=2", "")
	assert.ErrorContains(t, err, `expected a split of fan, found none of the name "x=2" (its splits are x=1)`)

	source, _, err := locate.Pairs("no.csv", "")
	require.NoError(t, err)

	_, err = source.Open(nil)
	assert.ErrorContains(t, err, "expected pairs of columns named NAME_1 and NAME_2")
}
