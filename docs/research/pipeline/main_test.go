package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const project = `version: 1
experiments:
  drone:
    ingest:
      files: data/*.tape
      pattern: 'b{blades}_r{rpm}.tape'
    dsp: {triplets: split-half-spectrum, segments: 4, outcomes: [overall, centroid]}
    train:
      inputs: [blades, rpm]
      seeds: 1
      model: {hidden: [8]}
      optimizer: {epochs: 5, batch: 8}
      compare: [laplace-kronecker, ridge]
      honest: {base: none}
      splits: {two: {test: {blades: 2}}}
`

// tapes writes recordings of two microphones, louder with every blade and speed.
func tapes(t *testing.T, dir string) {
	rng := rand.New(rand.NewPCG(1, 2))
	for blades := 2; blades <= 4; blades++ {
		for rpm := 3000; rpm <= 6000; rpm += 500 {
			b := append([]byte("TAPE"), 0, 0x10, 0, 0, 2, 0, 0, 0)
			for range 2 * 4096 {
				v := int16(float64(rpm*blades) / 8 * rng.NormFloat64() * math.Exp(0.1*rng.NormFloat64()))
				b = binary.LittleEndian.AppendUint16(b, uint16(v))
			}

			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("b%d_r%d.tape", blades, rpm)), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The program of this folder knows a reader, an outcome, an executor and methods that this module has; the program
// itself refuses them.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}

	tapes(t, filepath.Join(dir, "data"))

	if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}

	own, plain := filepath.Join(dir, "own"), filepath.Join(dir, "plain")
	for to, pkg := range map[string]string{own: ".", plain: "doubletake/cmd/pipeline"} {
		if out, err := exec.Command("go", "build", "-o", to, pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	run := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()

		return string(out), err
	}

	if out, err := run(own, "check"); err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}

	if out, err := run(own, "run", "--progress", "none", "--executor", "turns"); err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}

	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	for _, want := range []string{"ridge", "laplace-kronecker", "centroid_hz", "spectral centroid"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("no %q on the page: %v", want, err)
		}
	}

	out, err := run(plain, "check")
	if err == nil || !strings.Contains(out, `found "laplace-kronecker"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
