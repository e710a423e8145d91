package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/contrast.md shows what the program prints and draws of examples/propeller-stand (measured).
func TestContrastPage(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(repository, "examples", "propeller-stand"))); err != nil {
		t.Fatal(err)
	}

	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}

	text := document(t, "docs/contrast.md")
	t.Chdir(dir)

	program := func(args ...string) (out, notes string) {
		var stdout, stderr bytes.Buffer
		if code := run(args, &stdout, &stderr); code != 0 {
			t.Fatalf("%q: exit status %d: %s", args, code, &stderr)
		}

		return stdout.String(), stderr.String()
	}

	program("run", "pipeline.yaml", "--experiment", "blades", "--to", "dsp", "--progress", "none")

	args := []string{
		"contrast", "runs/blades", "--a", "propeller=1", "--b", "propeller=2", "--unit", "/^[a-m]/", "--limit", "0.2",
	}
	out, notes := program(append(args, "--figure", "contrast.svg")...)

	svg, err1 := os.ReadFile("contrast.svg")

	drawn, err2 := os.ReadFile(filepath.Join(root, "docs", "contrast-measured.svg"))
	if err1 != nil || err2 != nil || !bytes.Equal(svg, drawn) {
		t.Errorf("docs/contrast-measured.svg is not what the program draws: %v, %v", err1, err2)
	}

	for l := range strings.Lines(notes + out) {
		if l = strings.TrimRight(l, " \n"); !strings.Contains(text, l+"\n") {
			t.Errorf("docs/contrast.md has no line %q", l)
		}
	}

	var doc struct {
		Outcomes []struct {
			Low    float64
			UnitsA int `json:"units_a"`
			Curves []struct{ Points []struct{ Low float64 } }
		}
	}

	out, _ = program(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Outcomes[0].UnitsA != 12 ||
		doc.Outcomes[0].Low < 0.19 ||
		len(doc.Outcomes[0].Curves[0].Points) < 5 {
		t.Errorf("%v, %+v", err, doc)
	}

	for _, bad := range [][]string{
		{"contrast"},
		{"contrast", "runs/blades", "--a", "propeller=1"},
		append(args, "--alpha", "1"),
		append(args, "--figure", "x.svg", "--a", "propeller=1,run=/^a/", "--b", "propeller=2,run=/^b/"),
	} {
		var stdout, stderr bytes.Buffer
		if code := run(bad, &stdout, &stderr); code != 2 {
			t.Errorf("%q: exit status %d: %s", bad, code, &stderr)
		}
	}
}
