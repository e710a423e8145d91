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

	for i := range 999 {
		if err := os.Link(filepath.Join(dir, "first.wav"), filepath.Join(dir, fmt.Sprintf("r%d.wav", 1000+i))); err != nil {
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

// A clock whose unit is doubtful is told by check, once for all files: whole numbers
// without a unit (DuckDB wrote the file), and seconds that are microseconds.
func TestCheckClock(t *testing.T) {
	dir := t.TempDir()

	b, err := os.ReadFile("../ingest/format/parquet/testdata/times/integer.parquet")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"a1.parquet", "a2.parquet"} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	rows := "time (s),x\n"
	for i := range 100 {
		rows += fmt.Sprintf("%d,%d\n", 100*i, i%7)
	}

	write(t, dir, "b1.csv", rows)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  a:
    ingest: {files: "*.parquet", pattern: "a{n}.parquet", columns: {lift_n: x}}
    dsp: {triplets: random-samples}
  b:
    ingest: {files: "*.csv", pattern: "b{n}.csv", columns: {lift_n: x}}
    dsp: {triplets: random-samples}
`)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	w, err := p.CheckFiles(t.Context())
	if err != nil || len(w) != 2 || w[0].Code != "clock-unit" || !strings.Contains(w[0].Text, "(in 2 of 2 files)") ||
		w[1].Code != "odd-rate" || !strings.Contains(w[1].Text, "0.01 Hz is a rate outside 0.1 Hz … 10 MHz") {
		t.Errorf("warnings %v, %v", w, err)
	}
}
