// Package bench_test runs the benches with little work, to see that they still run against
// the program and their peers. Their figures then mean nothing.
package bench_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// python skips a test where Python lacks a module, or fails it where it must be there.
func python(t *testing.T, modules string) {
	t.Helper()

	if err := exec.Command("/usr/bin/python3", "-c", "import "+modules).Run(); err != nil {
		if os.Getenv("DOUBLETAKE_REQUIRE_SCIPY") != "" {
			t.Fatalf("python3 without one of %s: %v", modules, err)
		}
		t.Skipf("python3 has not all of %s", modules)
	}
}

// shows runs a command from the module's folder and checks that it prints some words.
func shows(t *testing.T, environment string, words []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = ".."
	c.Env = append(os.Environ(), environment)

	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}

	for _, part := range words {
		assert.Contains(t, string(out), part)
	}
}

func TestTrain(t *testing.T) {
	reference := os.Getenv("DOUBLETAKE_REFERENCE")
	if reference == "" {
		reference = filepath.Join("..", "..", "..", "..", "shared", "reference")
	}

	if _, err := os.Stat(reference); err != nil {
		t.Skip(err)
	}

	// A peer that is not installed, torch or numba, is named in a line.
	args := []string{"run", "./bench/train", "-rounds", "1", "-short", "-only", "kernels,cores,cost"}
	if exec.Command("/usr/bin/python3", "-c", "import torch").Run() == nil {
		args[len(args)-1] = "peers,cov,kernels,cores,cost"
	}

	shows(t, "", []string{"Kernel sets", "| portable |", "Cost of drone training"}, "go", args...)
}

func TestSignals(t *testing.T) {
	python(t, "numpy, scipy.signal")
	bin := filepath.Join(t.TempDir(), "bench")
	shows(t, "", nil, "go", "build", "-o", bin, "./bench/dsp")
	shows(t, "SECONDS=1", []string{"| analyse, WAV |", "real transform of 51 200 float64"},
		"/usr/bin/python3", "bench/dsp/bench.py", bin, "1")
}

// The readers find the same sums as Python's.
func TestReaders(t *testing.T) {
	python(t, "numpy, scipy.io, h5py")
	shows(t, "", []string{"| WAV, 16 bit |", "| HDF5, float32, contiguous |", "| text, 6 digits, commas |"},
		"go", "run", "./bench/ingest", "-rows", "32768", "-python", "/usr/bin/python3")
}

func TestNothingToDo(t *testing.T) {
	python(t, "numpy, scipy.io")

	if _, err := os.Stat("/usr/bin/time"); err != nil {
		t.Skip(err)
	}

	shows(t, "ANGLES=1", []string{"pipeline "}, "bench/engine/noop.sh", "1")
}

func TestWholeProcesses(t *testing.T) {
	python(t, "numpy, scipy.signal")
	shows(t, "", []string{"pipeline least ", "scipy    least "}, "bench/engine/whole.sh", "1")
}

func TestScale(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pipeline")
	build := exec.Command("go", "build", "-o", program, "./cmd/pipeline")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}

	words := []string{"| 504 rows × 18 outcomes, six splits |", "| 2,000 rows × 50 outcomes, ten splits |"}
	shows(t, "", words, "go", "run", "./bench/scale", "-short", "-only", "504x18,2000x50x10", program)
}

func TestGP(t *testing.T) {
	python(t, "sklearn, numpy")
	words := []string{"| conditions | ours, s | scikit-learn, s | ratio |", "| 30 |"}
	shows(t, "", words, "go", "run", "./bench/gp", "-rounds", "1", "-sizes", "30")
}
