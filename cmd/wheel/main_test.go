package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"doubletake/pipeline/predict"
	"doubletake/pipeline/table"
	"doubletake/pipeline/table/tabletest"
	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
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
	if err != nil {
		t.Fatal(err)
	}

	return bin
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()

	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := tab.WriteFile(filepath.Join(dir, name+".arrow")); err != nil {
			t.Fatal(err)
		}

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

// writeModels trains a network of every rule of integration and every kind of
// feedback, and writes its predictions.
func writeModels(t *testing.T, dir string) {
	type expected struct {
		Name          string      `json:"name"`
		X             [][]float64 `json:"x"`
		Mean          []float64   `json:"mean"`
		Variance      []float64   `json:"variance"`
		Cov           []float64   `json:"cov"`
		Delta         []float64   `json:"delta"`
		Kappa         []float64   `json:"kappa"`
		ZigZag        []float64   `json:"zigzag"`
		GivenMean     []float64   `json:"given_mean"`
		GivenVariance []float64   `json:"given_variance"`
	}

	var list []expected
	for i, c := range []struct {
		out      int
		feedback string
		hidden   []int
		plain    bool
	}{
		{1, train.DropWeights, []int{64, 64}, false},
		{1, train.Flag, []int{32}, true},
		{1, train.Constant, []int{20, 10, 12}, false},
		{2, train.DropWeights, []int{64, 64}, false},
		{2, train.Flag, []int{16, 16}, false},
		{3, train.Constant, []int{16}, false},
		{4, train.DropWeights, []int{16, 8}, true},
		{5, train.DropWeights, []int{64, 64}, false},
		{6, train.DropWeights, []int{16}, false},
		{21, train.DropWeights, []int{16}, false},
	} {
		const in, n = 2, 200
		rng := rand.New(rand.NewPCG(uint64(i), 1))

		set := triplets.Set{N: n, In: in, Out: c.out}
		for range n {
			a, b := 3000+2000*rng.Float64(), rng.NormFloat64()
			if c.plain {
				a /= 3000
			}

			set.X = append(set.X, a, b)
			for j := range c.out {
				own := rng.NormFloat64() // of the condition: both outcomes have it

				scale := 1.0
				if !c.plain {
					scale = math.Pow(10, float64(j%3))
				}

				f := math.Sin(b+float64(j)) + a/3000 + 0.5*own
				set.Y1 = append(set.Y1, scale*(f+0.2*rng.NormFloat64()))
				set.Y2 = append(set.Y2, scale*(f+0.2*rng.NormFloat64()))
			}
		}

		cfg := train.DefaultConfig()
		cfg.Hidden, cfg.Feedback, cfg.Standardise, cfg.Epochs, cfg.Kernels, cfg.LearningRate = c.hidden, c.feedback, !c.plain,
			30, "portable", 5e-3
		if c.feedback == train.Constant {
			cfg.FeedbackValue = -2.5
		}

		m, _, err := train.Fit(context.Background(), set, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}

		e := expected{Name: fmt.Sprintf("%d-%s-%d.json", i, c.feedback, c.out)}

		x := set.X[:2*40]
		for k := 0; k < len(x); k += 2 {
			e.X = append(e.X, []float64{x[k], x[k+1]})
		}

		est, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: 2})
		if err != nil {
			t.Fatal(err)
		}

		scale := m.OutcomeScale()
		mean, std := scale.Mean, scale.Std

		fed := make([]float64, len(est.Mu))
		for k := range est.Mu {
			m, s := mean[k%c.out], std[k%c.out]
			e.Mean, e.Variance = append(e.Mean, m+s*est.Mu[k]), append(e.Variance, s*s*est.Var[k])
			e.Cov, e.Delta = append(e.Cov, s*s*est.Cov[k]), append(e.Delta, s*est.Delta[k])
			e.Kappa, e.ZigZag = append(e.Kappa, s*s*est.Kappa[k]), append(e.ZigZag, s*est.ZigZag[k])
			fed[k] = e.Mean[k] + math.Sqrt(e.Variance[k])
		}

		e.GivenMean, e.GivenVariance = m.PredictGiven(x, fed)
		writeJSON(t, filepath.Join(dir, e.Name), m)
		list = append(list, e)
	}

	writeJSON(t, filepath.Join(dir, "models.json"), list)
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

// calibrations are configurations whose splits are calibrated: over values and blocks of
// a condition and over labels, on many groups, on two and on none, with a rate that enters
// as its logarithm, with two outcomes, in order form, and as coefficients.
const calibrations = `version: 1
workdir: calibrated
experiments:
`

func calibrated(name, file, inputs, honest, test string) string {
	conditions := map[string]string{"wing": "alpha_deg, u_m_s", "rotor": "blades, rpm"}[file]

	return fmt.Sprintf(`  %s:
    ingest: {table: {file: %s.csv, inputs: [%s], run: run}}
    train:
      inputs: [%s]
      model: {hidden: [8]}
      optimizer: {epochs: 2}
      seeds: 1
      honest: {%s}
      splits: {out: {test: {%s}}}
`, name, file, conditions, inputs, honest, test)
}

// writeCalibrated runs a campaign, and writes what its calibrated models predict
// within and beyond the training range.
func writeCalibrated(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	wing, rotor := tabletest.Pairs(rng)
	yaml := calibrations + calibrated("values", "wing", "alpha_deg, u_m_s", "level: 0.9", "u_m_s: 10") +
		calibrated("blocks", "wing", "alpha_deg, u_m_s", "groups: alpha_deg, blocks: 5", "u_m_s: 10") +
		calibrated("two", "wing", "alpha_deg, u_m_s", "prior: library", "u_m_s: {min: 17}") +
		calibrated("labels", "wing", "alpha_deg", "labels: true, level: 0.8", "u_m_s: 10") +
		calibrated("none", "wing", "alpha_deg", "labels: true", "u_m_s: {min: 11}") +
		calibrated("rotor", "rotor", "blades, rpm", "prior: library", "blades: 5") +
		strings.NewReplacer(
			"run: run}", "run: run, units: {lift: N, drag: N}}", "honest:", "form: coefficient(u_m_s)\n      honest:",
		).Replace(calibrated("form", "wing", "alpha_deg, u_m_s", "level: 0.9", "u_m_s: 10"))

	for name, text := range map[string]string{"calibrated.yaml": yaml, "wing.csv": wing, "rotor.csv": rotor} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	c := exec.Command(program(t), "run", "calibrated.yaml", "--to", "train", "--progress", "none")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	type expected struct {
		Split                                          string `json:"split"`
		X                                              [][]float64
		Mean, Claim, Epistemic, Variance, Half, Half68 []float64
		Refused                                        []string
	}

	var list []expected
	for split, at := range map[string][2]float64{
		"values/splits/out": {3, 15}, "blocks/splits/out": {3, 15}, "two/splits/out": {3, 15}, "labels/splits/out": {3},
		"none/splits/out": {3}, "rotor/splits/out": {4, 4000}, "form/splits/out": {3, 15},
	} {
		h, err := honest.Read(filepath.Join(dir, "calibrated", split, "honest.json"))
		if err != nil || h.Calibration == nil || strings.HasPrefix(split, "form") && h.Representation.Form == nil {
			t.Fatalf("%s: %v", split, err)
		}

		in := len(h.Inputs)
		e := expected{Split: split, X: [][]float64{[]float64{4, 18}[:in], []float64{7, 26}[:in]}} // measured
		for range 40 {
			e.X = append(e.X, []float64{at[0] * (1 + 0.9*(2*rng.Float64()-1)), at[1] * (1 + 0.6*(2*rng.Float64()-1))}[:in])
		}

		p, err := h.Predict(context.Background(), slices.Concat(e.X...), 0)
		if err != nil {
			t.Fatal(err)
		}

		e.Mean, e.Claim, e.Epistemic, e.Variance = p.Mu, p.Claim, p.Epistemic, p.Total
		e.Half, e.Half68 = p.Half, p.Half68
		for i, w := range p.Where {
			e.Refused = append(e.Refused, strings.Join(h.Calibration.Uncovered(e.X[i], w), "; "))
		}

		list = append(list, e)
	}

	writeJSON(t, filepath.Join(dir, "calibrated.json"), list)
}

func writeProject(t *testing.T, dir string) {
	t.Helper()

	rows := "run,a,b,lift_1,lift_2\n"
	for i := range 24 {
		a, b := i%3, i/3%4
		rows += fmt.Sprintf("r%d,%d,%d,%g,%g\n", i, a, b, float64(a+b)+0.1*float64(i%5), float64(a+b)+0.1*float64(i%7))
	}

	for name, text := range map[string]string{"pipeline.yaml": configuration, "pairs.csv": rows} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The package's own tests, with Python and numpy alone: tables and models of
// this program read back equal, and a run.
func TestPackage(t *testing.T) {
	p := python(t, "numpy", "python3-numpy")
	dir := t.TempDir()
	writeTables(t, dir)
	writeModels(t, dir)
	writeProject(t, dir)
	writeCalibrated(t, dir)

	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}

	c := exec.Command(p, "-B", "-W", "error", "-m", "unittest", "-q")
	c.Dir = "testdata"
	c.Env = append(os.Environ(), "DOUBLETAKE_TEST_DATA="+dir, "PYTHONPATH="+here)
	if os.Getenv("DOUBLETAKE_LONG") == "" { // the program is not built: what the package does itself
		c.Args = append(c.Args, "test_doubletake.Tables", "test_doubletake.Program",
			"test_doubletake.Models.test_equal_to_the_program",
			"test_doubletake.Models.test_calibrated_equal_to_the_program", "test_doubletake.Models.test_cells",
			"test_doubletake.Models.test_scaled_erfc")
	} else {
		c.Args = append(c.Args, "test_doubletake")
		c.Env = append(c.Env, "DOUBLETAKE_PIPELINE="+program(t))
	}

	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	} else if !strings.Contains(string(out), "OK") || strings.Contains(string(out), "skipped") {
		t.Fatalf("%s", out)
	}
}

// The notebooks run in a folder of their own: one from raw files to a figure, one with models of others.
func TestNotebook(t *testing.T) {
	notebook(t, "notebook.ipynb", `"image/png"`,
		`triplets; alpha_deg [deg], u_inf_m_s [m/s], lift_n_1 [N]`, `% of the held-out values are inside`)
}

func TestJudgeNotebook(t *testing.T) {
	notebook(t, "judge.ipynb", "879 pairs of 8 propellers", "<Judgement: propeller, 8 groups held out: ",
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
	if err != nil {
		t.Fatal(err)
	}

	root := filepath.Join(here, "..", "..")
	source, dir := filepath.Join(root, "docs", name), filepath.Join(t.TempDir(), "docs")
	stand := filepath.Join("examples", "propeller-stand")

	b, err := os.ReadFile(source)
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "..", stand), os.DirFS(filepath.Join(root, stand)))
	}

	if err := errors.Join(err, os.MkdirAll(dir, 0o755)); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		t.Fatal(err)
	}

	c := exec.Command(p, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=500",
		"--ExecutePreprocessor.record_timing=False",
		"--output", "out.ipynb", name)
	c.Dir = dir
	c.Env = append(os.Environ(), "PYTHONPATH="+here, "DOUBLETAKE_PIPELINE="+program(t), "HOME="+dir,
		"PYTHONDONTWRITEBYTECODE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	out, err := os.ReadFile(filepath.Join(dir, "out.ipynb"))
	if err != nil {
		t.Fatal(err)
	}

	// Its outputs are those of this run, but for digits, which belong to the kernels and the clock.
	if now, shown := printed(t, out), printed(t, b); *update {
		if err := os.WriteFile(source, out, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != shown {
		t.Errorf("docs/%s shows\n%s\nits run prints\n%s\nrenew it with -update", name, shown, now)
	}

	for _, want := range wanted {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no output of docs/%s has %s", name, want)
		}
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
	if err := json.Unmarshal(notebook, &n); err != nil {
		t.Fatal(err)
	}

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
	if err := os.WriteFile(binary, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}

	one, two := wheel(t, filepath.Join(dir, "1"), binary), wheel(t, filepath.Join(dir, "2"), binary)

	const name = "doubletake-1.2.0.dev3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
	if filepath.Base(one) != name {
		t.Errorf("the wheel is called %s", one)
	}

	a, err1 := os.ReadFile(one)

	b, err2 := os.ReadFile(two)
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two wheels of the same program differ, %v", err)
	}

	z, err := zip.NewReader(bytes.NewReader(a), int64(len(a)))
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range z.File {
		want := uint32(0o100644)
		if strings.HasSuffix(f.Name, "/scripts/pipeline") {
			want = 0o100755
		}

		if f.ExternalAttrs>>16 != want {
			t.Errorf("%s has mode %o, expected %o", f.Name, f.ExternalAttrs>>16, want)
		}
	}
}

// The wheel and the archive for Windows have the program under the name that Windows runs.
func TestWheelForWindows(t *testing.T) {
	dir := t.TempDir()

	binary, plain := filepath.Join(dir, "pipeline"), filepath.Join(dir, "plain.zip")
	if err := os.WriteFile(binary, []byte("a program"), 0o644); err != nil {
		t.Fatal(err)
	}

	args := []string{"-version", "1.2", "-platform", "windows/amd64", "-binary", binary, "-o", dir, "-zip", plain}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}

	for name, member := range map[string]string{
		plain: "pipeline.exe",
		filepath.Join(dir, "doubletake-1.2-py3-none-win_amd64.whl"): "doubletake-1.2.data/scripts/pipeline.exe",
	} {
		z, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()

		f, err := z.Open(member)
		if err != nil {
			t.Fatal(err)
		}

		if b, err := io.ReadAll(f); err != nil || string(b) != "a program" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// wheel makes a wheel of a program in dir and returns its path.
func wheel(t *testing.T, dir, binary string) string {
	t.Helper()

	licence := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(licence, []byte("a licence\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := run([]string{"-version", "1.2.0.dev3", "-binary", binary, "-o", dir, licence}, &out); err != nil {
		t.Fatal(err)
	}

	return strings.TrimSpace(out.String())
}

// A wheel installs without network into a fresh environment, and gives the
// program and the package: a run, its tables, its models.
func TestWheelInstalls(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skip("makes a virtual environment; DOUBLETAKE_LONG=1 runs it")
	}

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
runs = doubletake.load("runs")
assert runs["wing/triplets"].rows == 24
assert runs.model("wing/splits/b3").predict([1, 3]).mean.shape == (1, 1)
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

var update = flag.Bool("update", false, "write doubletake/_columns.py and the notebook anew")

// The frame of the Python package has the columns of the program's list.
func TestColumns(t *testing.T) {
	want := `"""The columns of predictions, and the attributes of a Prediction that hold them. Made from the
program's list by: go test ./cmd/wheel -run TestColumns -update"""

COLUMNS = (
`

	for _, c := range predict.Columns {
		if c.Python != "" {
			want += fmt.Sprintf("    (%q, %q),\n", c.Name("%s"), c.Python)
		}
	}

	want += ")\n"

	const path = "doubletake/_columns.py"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s differs from the program's list (%v); renew it with -update", path, err)
	}
}

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
		if err := run(append(c.args, "-o", t.TempDir()), new(bytes.Buffer)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %s", c.args, err, c.want)
		}
	}
}
