package ingeststage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// campaignIn writes files into a folder and returns a builder of the experiment
// "x" whose sections are given as YAML in one line each.
func campaignIn(t *testing.T, files map[string]string, ingest, dsp string) *plan.Builder {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	yaml := fmt.Sprintf("version: 1\nexperiments:\n  x:\n    ingest: %s\n    dsp: %s\n", ingest, dsp)
	f, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Builder{
		File: f, Exp: &f.Experiments[0], Plan: &engine.Plan{Dir: filepath.Join(dir, "runs")},
		At: "experiments.x",
	}
}

// planned is campaignIn with the stage's tasks.
func planned(t *testing.T, files map[string]string, ingest, dsp string) *plan.Builder {
	t.Helper()
	b := campaignIn(t, files, ingest, dsp)
	if err := Plan(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// refused expects that planning fails with an error that holds want.
func refused(t *testing.T, files map[string]string, ingest, dsp, want string) {
	t.Helper()
	if err := Plan(campaignIn(t, files, ingest, dsp)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ingest: %s, dsp: %s\n got %v\nwant %s", ingest, dsp, err, want)
	}
}

// read reads a file of the campaign as its task does.
func read(b *plan.Builder, i int) (*FileResult, error) {
	r := b.Raw[i]
	return (&file{b, b.Source, nil, b.PerFile[i], b.Sidecars[r.Name], nil, r.Name, r.File.Open}).read(context.Background())
}

// npy encodes channels of equal length as an NPY file of shape (samples,
// channels).
func npy(channels ...[]float64) string {
	var b bytes.Buffer
	n := len(channels[0])
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, len(channels))
	head += strings.Repeat(" ", 127-10-len(head)) + "\n"
	b.WriteString("\x93NUMPY\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))
	b.WriteString(head)
	for i := range n {
		for _, c := range channels {
			_ = binary.Write(&b, binary.LittleEndian, c[i])
		}
	}
	return b.String()
}

// constant returns n times v.
func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// count returns 0 … n−1 times step.
func count(n int, step float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = step * float64(i)
	}
	return x
}

// ids lists the tasks of a plan.
func ids(b *plan.Builder) string {
	var out []string
	for _, t := range b.Plan.Tasks {
		out = append(out, t.ID)
	}
	return strings.Join(out, " ")
}

// value returns a setting of a task's key.
func value(kvs []engine.KV, key string) (string, bool) {
	for _, kv := range kvs {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// num writes a number as round reads it back.
func num(v float64) string { return fmt.Sprintf("%.6f", v) }

// round returns the number that num writes.
func round(v float64) float64 {
	var r float64
	fmt.Sscan(num(v), &r)
	return r
}
