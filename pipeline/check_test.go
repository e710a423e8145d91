package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/pipeline"
)

// A thousand recordings are checked by their headers. One of another rate is named.
func TestCheckThousandFiles(t *testing.T) {
	dir := t.TempDir()
	x := make([]float64, 3000)
	writeWAV(t, filepath.Join(dir, "first.wav"), 6000, x)

	b, err := os.ReadFile(filepath.Join(dir, "first.wav"))
	if err != nil {
		t.Fatal(err)
	}

	for i := range 999 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%d.wav", 1000+i)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Remove(filepath.Join(dir, "first.wav")); err != nil {
		t.Fatal(err)
	}

	writeWAV(t, filepath.Join(dir, "r3000.wav"), 8000, x)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.wav", pattern: "r{rpm}.wav", constants: {blades: 2}}
    dsp: {triplets: split-half-spectrum}
`)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	w, err := p.CheckFiles(t.Context())
	if err != nil {
		t.Error(err)
	}

	if len(w) != 1 || !strings.Contains(w[0].Text, "6000 Hz in 999 (first r1000.wav), 8000 Hz in 1 (first r3000.wav)") {
		t.Errorf("warnings %v", w)
	}
}
