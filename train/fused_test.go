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

	"doubletake/internal/longtest"
)

// "kernels: portable" gives the same bytes on any machine. So the compiler must not fuse a product and a sum anywhere
// in train or below, on an architecture where it may. The test reads the compiled code for arm64, and expects none of
// the instructions FMADD, FMSUB, FNMADD and FNMSUB. Only subtractPortable has them, because it calls math.FMA.
func TestNothingFused(t *testing.T) {
	longtest.Skip(t, "compiles the package for arm64")

	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}

	bin := filepath.Join(t.TempDir(), "train.test")
	build := exec.Command("go", "test", "-c", "-o", bin, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "cross-compile: %s", output)

	asm, err := exec.Command("go", "tool", "objdump", "-s", "doubletake/train", bin).Output()
	require.NoError(t, err)

	fused := regexp.MustCompile(`\bFN?M(ADD|SUB)[SD]\b`)

	multiplications := 0
	isAllowed := false // the line is in subtractPortable
	for line := range strings.Lines(string(asm)) {
		if strings.HasPrefix(line, "TEXT ") {
			isAllowed = strings.Contains(line, ".subtractPortable(")
		}

		isTest := strings.Contains(line, "_test.go:")
		if isAllowed || isTest {
			continue
		}

		if strings.Contains(line, "FMUL") {
			multiplications++
		}

		assert.False(t, fused.MatchString(line), "a fused product and sum: %s", strings.TrimSpace(line))
	}

	assert.GreaterOrEqual(t, multiplications, 100, "multiplications that were read")
}
