package extensions

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each extension touches at most so many files of code, and its own test passes: the
// patched files take the place of the repository's while the tests are built, once for
// all patches, with DOUBLETAKE_LONG=1 alone.
func TestExtensions(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}

	run := exec.Command("go", "test", "-vet=off", "-v", "-overlay", "", "-run", "TestExtension$")
	dir, replace := t.TempDir(), map[string]string{}
	for _, c := range []struct {
		patch string
		most  int // files of code that are not tests
		of    string
	}{
		{"metric", 2, "./train/score"},
		{"split", 3, "./pipeline/stages"},
		{"setting", 2, "./pipeline/config"}, // of the training
	} {
		code := 0
		for name, path := range patched(t, root, dir, c.patch+".patch") {
			replace[filepath.Join(root, name)] = path
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				code++
			}
		}

		if t.Logf("%s.patch: %d files of code", c.patch, code); code > c.most || code == 0 {
			t.Errorf("%s.patch touches %d files of code, expected 1 to %d", c.patch, code, c.most)
		}

		run.Args = append(run.Args, c.of)
	}

	if os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skip("the patched program is not built; DOUBLETAKE_LONG=1 runs it")
	}

	overlay := filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, b, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}

	run.Dir, run.Args[5] = root, overlay
	if out, err := run.CombinedOutput(); err != nil || strings.Count(string(out), "--- PASS: ") < 3 {
		t.Errorf("%v: %v\n%s", run.Args, err, out)
	}
}

// patched applies a patch to copies of the files it names in dir, and returns their paths by
// their names in the repository.
func patched(t *testing.T, root, dir, patch string) map[string]string {
	t.Helper()

	patch, err := filepath.Abs(patch)
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`).FindAllStringSubmatch(string(text), -1) {
		files[m[1]] = filepath.Join(dir, filepath.FromSlash(m[1]))
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m[1])))
		if os.IsNotExist(err) {
			continue // the patch makes it
		}

		if err == nil {
			err = os.MkdirAll(filepath.Dir(files[m[1]]), 0o755)
		}

		if err == nil {
			err = os.WriteFile(files[m[1]], b, 0o644)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	apply := exec.Command("git", "apply", patch)
	apply.Dir = dir
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply %s: %v\n%s", filepath.Base(patch), err, out)
	}

	return files
}
