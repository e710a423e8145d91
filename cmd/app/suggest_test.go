package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/suggest.md shows what the program prints of examples/rm2-turbine (measured): the first three in rank, and the
// plan by the costs that it states.
func TestSuggestPage(t *testing.T) {
	text := document(t, "docs/suggest.md")

	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(repository, "examples", "rm2-turbine"))); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(dir, "pipeline.yaml")

	stated := "    suggest: {cost: {tow_speed_m_s: 20 min, tsr: 2 min, repeat: 10 min}, budget: 3 h}\n"

	config, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(config, stated...), 0o644)
	}

	if err != nil || !strings.Contains(text, strings.TrimSpace(stated)) {
		t.Fatalf("other costs than docs/suggest.md: %v", err)
	}

	run := command(dir, "run", "pipeline.yaml", "--to", "train", "--split", "tow_speed_m_s=0.8", "--progress", "none")

	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	suggest := []string{
		"suggest", "runs/turbine/splits/tow_speed_m_s=0.8", "--grid", "tow_speed_m_s=0.4:1.2:0.2,tsr=1:5:0.25",
	}
	for _, args := range [][]string{append(suggest, "--count", "3"), suggest} {
		out, err := command(dir, args...).CombinedOutput()
		if err != nil || bytes.Count(out, []byte("\n")) < 6 {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}

		for l := range strings.Lines(string(out)) {
			if !strings.Contains(text, l) {
				t.Errorf("docs/suggest.md has no line %q", l)
			}
		}
	}
}
