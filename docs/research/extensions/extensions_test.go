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
// patched files take the place of the repository's while that test is built. Patches are
// built with DOUBLETAKE_LONG=1 alone.
func TestExtensions(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		patch    string
		most     int // files of code that are no tests
		test, of string
	}{
		{"metric", 2, "TestExtension", "./train/score"},
		{"split", 3, "TestExtension", "./pipeline/stages"},
		{"setting", 2, "TestExtension", "./pipeline/config"}, // of the training
	} {
		t.Run(c.patch, func(t *testing.T) {
			patch, err := filepath.Abs(c.patch + ".patch")
			if err != nil {
				t.Fatal(err)
			}

			files := patched(t, root, patch)

			code := 0
			for name := range files {
				if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
					code++
				}
			}

			if t.Logf("%d files of code", code); code > c.most || code == 0 {
				t.Errorf("%s.patch touches %d files of code, expected 1 to %d", c.patch, code, c.most)
			}

			if os.Getenv("DOUBLETAKE_LONG") == "" {
				t.Skip("the patched program is not built; DOUBLETAKE_LONG=1 runs it")
			}

			overlay := filepath.Join(t.TempDir(), "overlay.json")

			replace := map[string]string{}
			for name, path := range files {
				replace[filepath.Join(root, name)] = path
			}

			b, err := json.Marshal(map[string]any{"Replace": replace})
			if err == nil {
				err = os.WriteFile(overlay, b, 0o644)
			}

			if err != nil {
				t.Fatal(err)
			}

			run := exec.Command("go", "test", "-vet=off", "-v", "-overlay", overlay, "-run", c.test+"$", c.of)
			run.Dir = root
			if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: ") {
				t.Errorf("go test -overlay … -run %s %s: %v\n%s", c.test, c.of, err, out)
			}
		})
	}
}

// patched applies a patch to copies of the files it names, and returns their paths by
// their names in the repository.
func patched(t *testing.T, root, patch string) map[string]string {
	t.Helper()

	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}

	dir, files := t.TempDir(), map[string]string{}
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
