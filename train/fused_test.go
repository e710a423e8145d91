package train

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The portable promise: "kernels: portable" gives the same bytes on any
// machine, so the compiler must not have fused a product and a sum anywhere in
// train or train/kernel on an architecture where it may. Looks at the arm64
// code of the whole package (instructions FMADD, FMSUB, FNMADD, FNMSUB).
func TestNothingFused(t *testing.T) {
	if testing.Short() || os.Getenv("DOUBLETAKE_LONG") == "" {
		t.Skip("long test: set DOUBLETAKE_LONG=1")
	}

	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}

	bin := filepath.Join(t.TempDir(), "train.test")
	build := exec.Command("go", "test", "-c", "-o", bin, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cross-compile: %v\n%s", err, out)
	}

	asm, err := exec.Command("go", "tool", "objdump", "-s", "doubletake/train", bin).Output()
	require.NoError(t, err)

	fused := regexp.MustCompile(`\bFN?M(ADD|SUB)[SD]\b`)

	seen := 0
	multiplied := 0
	asked := false
	for line := range strings.Lines(string(asm)) {
		if strings.HasPrefix(line, "TEXT ") {
			asked = strings.Contains(line, ".fusedPortable(") // by math.FMA
		}

		if asked || strings.Contains(line, "_test.go:") {
			continue
		}

		if strings.Contains(line, "FMUL") {
			multiplied++
		}

		if fused.MatchString(line) {
			seen++
			t.Errorf("fused: %s", strings.TrimSpace(line))
		}
	}

	assert.GreaterOrEqual(t, multiplied, 100, "only %d multiplications seen: nothing was checked", multiplied)
}
