package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// docs/judge.md shows what the program prints of the committed predictions of scikit-learn, and names no other
// numbers of it.
func TestJudgeSample(t *testing.T) {
	blocks := codeBlocks(document(t, "docs/judge.md"), "")
	if len(blocks) != 1 {
		t.Fatalf("docs/judge.md has %d blocks, expected one sample", len(blocks))
	}

	c := command(filepath.Join(repository, "examples", "propeller-stand"), "judge", "sklearn-gp.csv", "--against",
		"pairs.csv", "--groups", "propeller")

	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	if got, want := strings.TrimSpace(string(out)), strings.TrimSpace(blocks[0].text); got != want {
		t.Errorf("docs/judge.md shows\n%s\nthe program prints\n%s", want, got)
	}
}
