package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

// absent skips a test, or fails it where the environment requires what it needs.
func absent(t *testing.T, require, format string, args ...any) {
	t.Helper()

	if os.Getenv(require) == "1" {
		t.Fatalf(require+"=1, but "+format, args...)
	}

	t.Skipf("not tested: "+format, args...)
}

// python returns a Python with a module.
func python(t *testing.T, module, debian string) string {
	t.Helper()

	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import "+module).Run() == nil {
			return p
		}
	}

	absent(t, "DOUBLETAKE_REQUIRE_SCIPY", "no python3 has %s (apt-get install %s)", module, debian)

	return ""
}

// buildDir is where built put the program; "" if no test asked for it.
var buildDir string

var built = sync.OnceValues(func() (string, error) {
	var err error
	if buildDir, err = os.MkdirTemp("", "wheel-test"); err != nil {
		return "", err
	}

	bin := filepath.Join(buildDir, "pipeline")
	c := exec.Command("go", "build", "-o", bin, "doubletake/cmd/pipeline")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}

	return bin, err
})

func TestMain(m *testing.M) {
	status := m.Run()

	if buildDir != "" {
		os.RemoveAll(buildDir)
	}

	os.Exit(status)
}

func program(t *testing.T) string {
	t.Helper()

	bin, err := built()
	require.NoError(t, err)

	return bin
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()

	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}

	require.NoError(t, err)
}

// writeTables writes tables, and their contents: numbers as text, null where
// they are missing.
func writeTables(t *testing.T, dir string) {
	type column struct {
		Name        string `json:"name"`
		Unit        string `json:"unit"`
		Description string `json:"description"`
		Kind        string `json:"kind"`
		Values      []any  `json:"values"`
	}

	type file struct {
		File     string            `json:"file"`
		Metadata map[string]string `json:"metadata"`
		Columns  []column          `json:"columns"`
	}

	var files []file
	for name, tab := range tabletest.Tables() {
		_, err := tab.WriteFile(filepath.Join(dir, name+".arrow"))
		require.NoError(t, err)

		f := file{File: name + ".arrow", Metadata: map[string]string{}}
		for _, kv := range tab.Meta {
			f.Metadata[kv.Key] = kv.Value
		}

		for i := range tab.Columns {
			c := &tab.Columns[i]
			j := column{c.Name, c.Unit, c.Description, kind(c), []any{}}
			for r := range tab.Rows() {
				var v any
				switch {
				case c.Strings != nil:
					v = c.Strings[r]
				case c.Bools != nil:
					v = c.Bools[r]
				case c.Ints != nil:
					v = strconv.FormatInt(c.Ints[r], 10)
				case c.Lists != nil:
					l := []string{}
					for _, x := range c.Lists[r] {
						l = append(l, strconv.FormatFloat(float64(x), 'g', -1, 32))
					}

					v = l

				case c.Floats[r] == c.Floats[r]:
					v = strconv.FormatFloat(c.Floats[r], 'g', -1, 64)
				}

				j.Values = append(j.Values, v)
			}

			f.Columns = append(f.Columns, j)
		}

		files = append(files, f)
	}

	writeJSON(t, filepath.Join(dir, "tables.json"), files)
}

func kind(c *table.Column) string {
	switch {
	case c.Strings != nil:
		return "utf8"
	case c.Bools != nil:
		return "bool"
	case c.Ints != nil:
		return "int64"
	case c.Lists != nil:
		return "list"
	}

	return "float64"
}

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

func writeProject(t *testing.T, dir string) {
	t.Helper()

	rows := "run,a,b,lift_1,lift_2\n"
	for i := range 24 {
		a, b := i%3, i/3%4
		rows += fmt.Sprintf("r%d,%d,%d,%g,%g\n", i, a, b, float64(a+b)+0.1*float64(i%5), float64(a+b)+0.1*float64(i%7))
	}

	for name, text := range map[string]string{"pipeline.yaml": configuration, "pairs.csv": rows} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// The package's own tests: tables read back equal, predictions, judgements and a run. Those with pandas, xarray and
// scikit-learn run where these are.
func TestPackage(t *testing.T) {
	longtest.Skip(t, "builds the program")

	p := python(t, "numpy", "python3-numpy")
	dir := t.TempDir()
	writeTables(t, dir)
	writeProject(t, dir)

	here, err := os.Getwd()
	require.NoError(t, err)

	c := exec.Command(p, "-B", "-W", "error", "-m", "unittest", "-q", "test_doubletake")
	c.Dir = "testdata"
	c.Env = append(os.Environ(), "DOUBLETAKE_TEST_DATA="+dir, "PYTHONPATH="+here, "DOUBLETAKE_PIPELINE="+program(t))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	} else if !strings.Contains(string(out), "OK") || strings.Contains(string(out), "skipped") &&
		os.Getenv("DOUBLETAKE_REQUIRE_SCIPY") == "1" {
		t.Fatalf("%s", out)
	}
}

// The notebooks run in a folder of their own: one from raw files to a figure, one with models of others.
func TestNotebook(t *testing.T) {
	notebook(t, "notebook.ipynb", `"image/png"`,
		`triplets; alpha_deg [deg], u_inf_m_s [m/s], lift_n_1 [N]`, `% of the held-out values are inside`)
}

func TestJudgeNotebook(t *testing.T) {
	notebook(t, "judge.ipynb", "879 pairs of 8 propellers", "<Judgement: propeller, 8 groups held out",
		"and 89 ± 11", "and 95 ± 4", // shares that docs/judge.md has
		"propeller=8  calibrated  error 0.")
}

// notebook runs a notebook of docs, with the data of the propeller stand where the sources have them; its
// outputs have the texts wanted.
func notebook(t *testing.T, name string, wanted ...string) {
	t.Helper()

	if os.Getenv("DOUBLETAKE_LONG") == "" && os.Getenv("DOUBLETAKE_REQUIRE_JUPYTER") == "" {
		t.Skip("simulates and runs a campaign; DOUBLETAKE_LONG=1 runs it")
	}

	const p = "/usr/bin/python3" // the kernel of Debian's python3-ipykernel is this Python
	if exec.Command(p, "-c", "import nbconvert, ipykernel, matplotlib, numpy").Run() != nil {
		absent(t, "DOUBLETAKE_REQUIRE_JUPYTER", "%s has no nbconvert (apt-get install jupyter-nbconvert python3-ipykernel "+
			"python3-matplotlib python3-numpy)", p)
	}

	here, err := os.Getwd()
	require.NoError(t, err)

	root := filepath.Join(here, "..", "..")
	source, dir := filepath.Join(root, "docs", name), filepath.Join(t.TempDir(), "docs")
	stand := filepath.Join("examples", "propeller-stand")

	b, err := os.ReadFile(source)
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "..", stand), os.DirFS(filepath.Join(root, stand)))
	}

	require.NoError(t, errors.Join(err, os.MkdirAll(dir, 0o755)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))

	c := exec.Command(p, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=500",
		"--ExecutePreprocessor.record_timing=False",
		"--output", "out.ipynb", name)
	c.Dir = dir
	c.Env = append(os.Environ(), "PYTHONPATH="+here, "DOUBLETAKE_PIPELINE="+program(t), "HOME="+dir,
		"PYTHONDONTWRITEBYTECODE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	executed := testfile.Read(t, filepath.Join(dir, "out.ipynb"))

	// Its outputs are those of this run, but for digits, which belong to the kernels and the clock.
	if now, shown := printed(t, executed), printed(t, b); *update {
		require.NoError(t, os.WriteFile(source, executed, 0o644))
	} else if now != shown {
		t.Errorf("docs/%s shows\n%s\nits run prints\n%s\nrenew it with -update", name, shown, now)
	}

	for _, want := range wanted {
		assert.True(t, bytes.Contains(executed, []byte(want)), "no output of docs/%s has %s", name, want)
	}
}

// printed is what the cells of a notebook print, without digits.
func printed(t *testing.T, notebook []byte) string {
	t.Helper()

	var n struct {
		Cells []struct {
			Outputs []struct{ Text []string }
		}
	}
	require.NoError(t, json.Unmarshal(notebook, &n))

	var b strings.Builder
	for _, c := range n.Cells {
		for _, o := range c.Outputs {
			b.WriteString(strings.Join(o.Text, ""))
		}
	}

	return regexp.MustCompile(`[-+.0-9e]*[0-9]`).ReplaceAllString(b.String(), "#")
}

// Two wheels of the same program are equal; the program in it is executable.
func TestWheel(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "pipeline")
	require.NoError(t, os.WriteFile(binary, []byte("a program"), 0o755))

	one, two := wheel(t, filepath.Join(dir, "1"), binary), wheel(t, filepath.Join(dir, "2"), binary)

	const name = "doubletake-1.2.0.dev3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
	assert.Equal(t, name, filepath.Base(one), "the wheel is called %s", one)

	a, err1 := os.ReadFile(one)

	b, err2 := os.ReadFile(two)
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two wheels of the same program differ, %v", err)
	}

	z, err := zip.NewReader(bytes.NewReader(a), int64(len(a)))
	require.NoError(t, err)

	for _, f := range z.File {
		want := uint32(0o100644)
		if strings.HasSuffix(f.Name, "/scripts/pipeline") {
			want = 0o100755
		}

		assert.Equal(t, want, f.ExternalAttrs>>16, "%s has mode", f.Name)
	}
}

// The wheel and the archive for Windows have the program under the name that Windows runs.
func TestWheelForWindows(t *testing.T) {
	dir := t.TempDir()

	binary, plain := filepath.Join(dir, "pipeline"), filepath.Join(dir, "plain.zip")
	require.NoError(t, os.WriteFile(binary, []byte("a program"), 0o644))

	args := []string{"-version", "1.2", "-platform", "windows/amd64", "-binary", binary, "-o", dir, "-zip", plain}
	require.NoError(t, run(args, io.Discard))

	for name, member := range map[string]string{
		plain: "pipeline.exe",
		filepath.Join(dir, "doubletake-1.2-py3-none-win_amd64.whl"): "doubletake-1.2.data/scripts/pipeline.exe",
	} {
		z, err := zip.OpenReader(name)
		require.NoError(t, err)
		defer z.Close()

		f, err := z.Open(member)
		require.NoError(t, err)

		if b, err := io.ReadAll(f); err != nil || string(b) != "a program" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// wheel makes a wheel of a program in dir and returns its path.
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

	p := python(t, "numpy, ensurepip, venv", "python3-numpy python3-venv")
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
		{p, "-m", "venv", "--system-site-packages", env}, // numpy is the system's
		{filepath.Join(env, "bin/pip"), "install", "--no-index", "--disable-pip-version-check", name},
		{filepath.Join(env, "bin/pipeline"), "version"},
		{filepath.Join(env, "bin/python"), "-c", script},
		{filepath.Join(env, "bin/pip"), "uninstall", "--yes", "doubletake"},
	} {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH=/usr/bin:/bin", "PYTHONNOUSERSITE=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}

	if _, err := os.Stat(filepath.Join(env, "bin/pipeline")); err == nil {
		t.Error("uninstall leaves the program")
	}
}

var update = flag.Bool("update", false, "write the notebooks anew")

// What cannot be built is refused before anything is written.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-version", "v1.2"}, `-version: expected a version such as 1.2.0 or 1.3.0.dev1, found "v1.2"`},
		{
			[]string{"-platform", "plan9/386"},
			`-platform: expected one of darwin/arm64, linux/amd64, linux/arm64, windows/amd64, found "plan9/386"`,
		},
		{[]string{"-binary", "/nowhere"}, "no such file"},
	} {
		if err := run(append(c.args, "-o", t.TempDir()), new(bytes.Buffer)); c.want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
}
