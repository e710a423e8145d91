package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// skipWithout skips a test because something that it needs is missing. If the environment variable is 1, the test fails
// instead.
func skipWithout(t *testing.T, variable, format string, args ...any) {
	t.Helper()

	if os.Getenv(variable) == "1" {
		t.Fatalf(variable+"=1, but "+format, args...)
	}

	t.Skipf("not tested: "+format, args...)
}

// python returns the path of a Python that has modules. If there is none, python skips the test and names the packages
// of Debian.
func python(t *testing.T, modules, packages string) string {
	t.Helper()

	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(path, "-c", "import "+modules).Run() == nil {
			return path
		}
	}

	skipWithout(t, "DOUBLETAKE_REQUIRE_SCIPY", "no python3 has %s (apt-get install %s)", modules, packages)

	return ""
}

// buildDir is the folder of the program that the tests build; "" if no test needs it.
var buildDir string

// build builds the program once for all tests and returns its path.
var build = sync.OnceValues(func() (string, error) {
	var err error
	buildDir, err = os.MkdirTemp("", "wheel-test")
	if err != nil {
		return "", err
	}

	path := filepath.Join(buildDir, "pipeline")
	cmd := exec.Command("go", "build", "-o", path, "doubletake/cmd/pipeline")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	messages, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, messages)
	}

	return path, nil
})

// TestMain removes the program after all tests.
func TestMain(m *testing.M) {
	status := m.Run()

	if buildDir != "" {
		os.RemoveAll(buildDir)
	}

	os.Exit(status)
}

// program returns the path of the program.
func program(t *testing.T) string {
	t.Helper()

	path, err := build()
	require.NoError(t, err)

	return path
}

// columnContent is a column of a table as testdata/test_doubletake.py expects to read it. Numbers are text, so that
// JSON does not change them, and missing numbers are null.
type columnContent struct {
	Name        string `json:"name"`
	Unit        string `json:"unit"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Values      []any  `json:"values"`
}

// tableContent is a table as testdata/test_doubletake.py expects to read it.
type tableContent struct {
	File     string            `json:"file"`
	Metadata map[string]string `json:"metadata"`
	Columns  []columnContent   `json:"columns"`
}

// writeTables writes tables, and their contents as tables.json.
func writeTables(t *testing.T, dir string) {
	t.Helper()

	var contents []tableContent
	for name, tab := range tabletest.Tables() {
		_, err := tab.WriteFile(filepath.Join(dir, name+".arrow"))
		require.NoError(t, err)

		content := tableContent{File: name + ".arrow", Metadata: map[string]string{}}
		for _, pair := range tab.Meta {
			content.Metadata[pair.Key] = pair.Value
		}

		for i := range tab.Columns {
			content.Columns = append(content.Columns, contentOf(&tab.Columns[i], tab.Rows()))
		}

		contents = append(contents, content)
	}

	b, err := json.Marshal(contents)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tables.json"), b, 0o644))
}

// contentOf returns the content of a column.
func contentOf(c *table.Column, rows int) columnContent {
	content := columnContent{Name: c.Name, Unit: c.Unit, Description: c.Description, Values: []any{}}
	var value func(row int) any
	switch {
	case c.Strings != nil:
		content.Kind = "utf8"
		value = func(row int) any { return c.Strings[row] }

	case c.Bools != nil:
		content.Kind = "bool"
		value = func(row int) any { return c.Bools[row] }

	case c.Ints != nil:
		content.Kind = "int64"
		value = func(row int) any { return strconv.FormatInt(c.Ints[row], 10) }

	case c.Lists != nil:
		content.Kind = "list"
		value = func(row int) any {
			numbers := []string{}
			for _, v := range c.Lists[row] {
				numbers = append(numbers, strconv.FormatFloat(float64(v), 'g', -1, 32))
			}

			return numbers
		}

	default:
		content.Kind = "float64"
		value = func(row int) any {
			if math.IsNaN(c.Floats[row]) {
				return nil
			}

			return strconv.FormatFloat(c.Floats[row], 'g', -1, 64)
		}
	}

	for row := range rows {
		content.Values = append(content.Values, value(row))
	}

	return content
}

// configuration is a project with two experiments on a table of pairs.
const configuration = `version: 1
workdir: runs
experiments:
  wing:
    ingest: &table {table: {file: pairs.csv, inputs: [a, b], run: run, units: {a: deg, lift: N}}}
    train:
      inputs: [a, b]
      model: {hidden: [8]}
      optimizer: {epochs: 20}
      seeds: 2
      estimate: {samples: 20}
      splits: {b3: {test: {b: 3}}, all: {test: none}}
  plain:
    ingest: *table
    train:
      inputs: [a, b]
      model: {hidden: [8]}
      optimizer: {epochs: 2}
      seeds: 1
      honest: {base: none}
      splits: {plain: {test: {b: 3}}}
`

// writeProject writes a configuration and a table of 24 pairs.
func writeProject(t *testing.T, dir string) {
	t.Helper()

	rows := "run,a,b,lift_1,lift_2\n"
	for i := range 24 {
		a := i % 3
		b := i / 3 % 4
		lift := float64(a + b)
		rows += fmt.Sprintf("r%d,%d,%d,%g,%g\n", i, a, b, lift+0.1*float64(i%5), lift+0.1*float64(i%7))
	}

	for name, text := range map[string]string{"pipeline.yaml": configuration, "pairs.csv": rows} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// The package's own tests pass: it reads back the tables as they were written, predicts, judges and runs a project.
// Tests with pandas, xarray and scikit-learn are skipped if these are missing, unless DOUBLETAKE_REQUIRE_SCIPY=1.
func TestPackage(t *testing.T) {
	longtest.Skip(t, "builds the program")

	interpreter := python(t, "numpy", "python3-numpy")
	dir := t.TempDir()
	writeTables(t, dir)
	writeProject(t, dir)

	here, err := os.Getwd()
	require.NoError(t, err)

	tests := exec.Command(interpreter, "-B", "-W", "error", "-m", "unittest", "-q", "test_doubletake")
	tests.Dir = "testdata"
	tests.Env = append(os.Environ(), "DOUBLETAKE_TEST_DATA="+dir, "PYTHONPATH="+here, "DOUBLETAKE_PIPELINE="+program(t))
	output, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.Contains(t, string(output), "OK")

	if os.Getenv("DOUBLETAKE_REQUIRE_SCIPY") == "1" {
		assert.NotContains(t, string(output), "skipped")
	}
}

// The notebook that goes from raw files to a figure runs, and prints what it shows.
func TestNotebook(t *testing.T) {
	testNotebook(t, "notebook.ipynb", `"image/png"`,
		`triplets; alpha_deg [deg], u_inf_m_s [m/s], lift_n_1 [N]`, `% of the held-out values are inside`)
}

// The notebook that judges models of others runs, and prints what it shows.
func TestJudgeNotebook(t *testing.T) {
	testNotebook(t, "judge.ipynb", "879 pairs of 8 propellers", "<Judgement: propeller, 8 groups held out",
		"and 89 ± 11", "and 95 ± 4", // shares that docs/judge.md has
		"propeller=8  calibrated  error 0.")
}

// testNotebook runs a notebook of docs in a folder of its own, beside the data of the propeller stand. The notebook
// must print the same as its committed form shows, apart from digits, which depend on the kernels and the clock. Its
// outputs must contain the wanted texts.
func testNotebook(t *testing.T, name string, wanted ...string) {
	t.Helper()

	if !longtest.IsLong() && os.Getenv("DOUBLETAKE_REQUIRE_JUPYTER") == "" {
		t.Skip("simulates and runs a campaign; DOUBLETAKE_LONG=1 runs it")
	}

	const interpreter = "/usr/bin/python3" // the kernel of Debian's python3-ipykernel is this Python
	if exec.Command(interpreter, "-c", "import nbconvert, ipykernel, matplotlib, numpy").Run() != nil {
		skipWithout(t, "DOUBLETAKE_REQUIRE_JUPYTER", "%s has no nbconvert (apt-get install jupyter-nbconvert "+
			"python3-ipykernel python3-matplotlib python3-numpy)", interpreter)
	}

	here, err := os.Getwd()
	require.NoError(t, err)

	root := filepath.Join(here, "..", "..")
	source := filepath.Join(root, "docs", name)
	stand := filepath.Join("examples", "propeller-stand")
	folder := t.TempDir()
	docs := filepath.Join(folder, "docs")
	committed := testfile.Read(t, source)
	require.NoError(t, os.CopyFS(filepath.Join(folder, stand), os.DirFS(filepath.Join(root, stand))))
	require.NoError(t, os.MkdirAll(docs, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(docs, name), committed, 0o644))

	execute := exec.Command(interpreter, "-m", "nbconvert", "--to", "notebook", "--execute",
		"--ExecutePreprocessor.timeout=500", "--ExecutePreprocessor.record_timing=False", "--output", "out.ipynb", name)
	execute.Dir = docs
	execute.Env = append(os.Environ(), "PYTHONPATH="+here, "DOUBLETAKE_PIPELINE="+program(t), "HOME="+docs,
		"PYTHONDONTWRITEBYTECODE=1")
	output, err := execute.CombinedOutput()
	require.NoError(t, err, "%s", output)

	executed := testfile.Read(t, filepath.Join(docs, "out.ipynb"))
	if *update {
		require.NoError(t, os.WriteFile(source, executed, 0o644))
	} else {
		assert.Equal(t, printedBy(t, executed), printedBy(t, committed), "docs/%s: what its run prints, and what it shows; "+
			"-update writes it anew", name)
	}

	for _, text := range wanted {
		assert.True(t, bytes.Contains(executed, []byte(text)), "an output of docs/%s must contain %s", name, text)
	}
}

// printedBy returns what the cells of a notebook print, with a sign in the place of each number.
func printedBy(t *testing.T, notebook []byte) string {
	t.Helper()

	var content struct {
		Cells []struct {
			Outputs []struct{ Text []string }
		}
	}
	require.NoError(t, json.Unmarshal(notebook, &content))

	var printed strings.Builder
	for _, cell := range content.Cells {
		for _, output := range cell.Outputs {
			printed.WriteString(strings.Join(output.Text, ""))
		}
	}

	return regexp.MustCompile(`[-+.0-9e]*[0-9]`).ReplaceAllString(printed.String(), "#")
}

// Two wheels of the same program have the same bytes, and the program in them is executable.
func TestWheel(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "pipeline")
	require.NoError(t, os.WriteFile(binary, []byte("a program"), 0o755))

	path := wheel(t, filepath.Join(dir, "first"), binary)
	const name = "doubletake-1.2.0.dev3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
	assert.Equal(t, name, filepath.Base(path))

	content := testfile.Read(t, path)
	again := testfile.Read(t, wheel(t, filepath.Join(dir, "second"), binary))
	assert.True(t, bytes.Equal(content, again), "two wheels of the same program must have the same bytes")

	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)

	for _, f := range archive.File {
		want := os.FileMode(0o644)
		if strings.HasSuffix(f.Name, "/scripts/pipeline") {
			want = 0o755
		}

		assert.Equal(t, want, f.Mode(), "mode of %s", f.Name)
	}
}

// The wheel and the archive for Windows have the program under the name that Windows runs.
func TestWheelForWindows(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "pipeline")
	plain := filepath.Join(dir, "new", "plain.zip")
	require.NoError(t, os.WriteFile(binary, []byte("a program"), 0o644))

	args := []string{"-version", "1.2", "-platform", "windows/amd64", "-binary", binary, "-o", dir, "-zip", plain}
	require.NoError(t, run(args, io.Discard))

	for path, name := range map[string]string{
		plain: "pipeline.exe",
		filepath.Join(dir, "doubletake-1.2-py3-none-win_amd64.whl"): "doubletake-1.2.data/scripts/pipeline.exe",
	} {
		archive, err := zip.OpenReader(path)
		require.NoError(t, err)
		defer archive.Close()

		content, err := fs.ReadFile(archive, name)
		require.NoError(t, err)
		assert.Equal(t, "a program", string(content), path)
	}
}

// wheel makes a wheel of a program in a folder and returns its path.
func wheel(t *testing.T, dir, binary string) string {
	t.Helper()

	licence := filepath.Join(t.TempDir(), "LICENSE")
	require.NoError(t, os.WriteFile(licence, []byte("a licence\n"), 0o644))

	var out bytes.Buffer
	require.NoError(t, run([]string{"-version", "1.2.0.dev3", "-binary", binary, "-o", dir, licence}, &out))

	return strings.TrimSpace(out.String())
}

// A wheel installs without network into a fresh environment, and gives the
// program and the package: a run, its tables, its models.
func TestWheelInstalls(t *testing.T) {
	longtest.Skip(t, "makes a virtual environment")

	interpreter := python(t, "numpy, ensurepip, venv", "python3-numpy python3-venv")
	dir := t.TempDir()
	name := wheel(t, dir, program(t))
	env := filepath.Join(dir, "env")
	writeProject(t, dir)
	script := `
import doubletake
assert doubletake.__version__ == "1.2.0.dev3"
for event in doubletake.run("pipeline.yaml"):
    pass
runs = doubletake.Run("runs")
assert runs["wing/triplets"].rows == 24
assert runs.model("wing/b3").predict([1, 3]).mean.shape == (1, 1)
`

	for _, args := range [][]string{
		{interpreter, "-m", "venv", "--system-site-packages", env}, // numpy is the system's
		{filepath.Join(env, "bin/pip"), "install", "--no-index", "--disable-pip-version-check", name},
		{filepath.Join(env, "bin/pipeline"), "version"},
		{filepath.Join(env, "bin/python"), "-c", script},
		{filepath.Join(env, "bin/pip"), "uninstall", "--yes", "doubletake"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin", "PYTHONNOUSERSITE=1")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%q: %s", args, output)
	}

	assert.NoFileExists(t, filepath.Join(env, "bin/pipeline"), "after it was uninstalled")
}

var update = flag.Bool("update", false, "write the notebooks anew")

// Arguments that cannot be used are refused, and nothing is written.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{
			"version",
			[]string{"-version", "v1.2"},
			`-version: expected a version such as 1.2.0 or 1.3.0.dev1, found "v1.2"`,
		},
		{
			"platform",
			[]string{"-platform", "plan9/386"},
			`-platform: expected one of darwin/arm64, linux/amd64, linux/arm64, windows/amd64, found "plan9/386"`,
		},
		{"no program", []string{"-binary", "/nowhere"}, "no such file"},
		{"no licence", []string{"-binary", os.Args[0], "/nowhere"}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dist")
			err := run(append([]string{"-o", dir}, c.args...), io.Discard)
			assert.ErrorContains(t, err, c.want)
			assert.NoDirExists(t, dir)
		})
	}
}
