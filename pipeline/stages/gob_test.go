package stages

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/internal/testfile"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/train/triplets"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A value has the same bytes whatever values the process wrote before it, or did not write. The test runs itself in
// other processes, because the numbers that gob gives to types last as long as a process.
func TestGobOrder(t *testing.T) {
	const order = "DOUBLETAKE_GOB_ORDER"
	if kinds := os.Getenv(order); kinds != "" {
		path := filepath.Join(t.TempDir(), "x")
		for _, kind := range strings.Fields(kinds) {
			v := map[string]any{
				"data":       triplets.Set{N: 1, X: []float64{1}},
				"background": &Background{Warnings: []ingest.Warning{{Text: "x"}}},
			}[kind]

			require.NoError(t, taskfile.WriteGob(kind, path, v))

			b := testfile.Read(t, path)

			fmt.Printf("%s %x\n", kind, sha256.Sum256(b))
		}

		return
	}

	first := map[string]string{}
	for _, kinds := range []string{"data background", "background data", "background"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGobOrder$")
		cmd.Env = append(os.Environ(), order+"="+kinds)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)

		for _, line := range strings.Split(string(out), "\n")[:len(strings.Fields(kinds))] {
			kind, sum, _ := strings.Cut(line, " ")
			if first[kind] == "" {
				first[kind] = sum
			}

			assert.Equal(t, first[kind], sum, "digest of %s in the order %q", kind, kinds)
		}
	}

	assert.Len(t, first, 2, "kinds that were written")
}
