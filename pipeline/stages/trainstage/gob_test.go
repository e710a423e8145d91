package trainstage

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/pipeline/stages/plan"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Equal values are equal bytes in whatever order a process writes them, and whichever it
// does not write. This test runs itself, because gob's numbers last as long as a process.
func TestGobOrder(t *testing.T) {
	const order = "DOUBLETAKE_GOB_ORDER"
	if kinds := os.Getenv(order); kinds != "" {
		path := filepath.Join(t.TempDir(), "x")
		for _, kind := range strings.Fields(kinds) {
			v := map[string]any{
				"data": triplets.Set{N: 1, X: []float64{1}}, "rows": honest.ProcessRows{GroupInputs: []int{1}},
				"honest": &interval.Result{Absent: "x"},
			}[kind]

			if err := plan.WriteGob(kind, path, v); err != nil {
				t.Fatal(err)
			}

			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			fmt.Printf("%s %x\n", kind, sha256.Sum256(b))
		}

		return
	}

	first := map[string]string{}
	for _, kinds := range []string{"data rows honest", "honest rows data", "rows"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGobOrder$")
		cmd.Env = append(os.Environ(), order+"="+kinds)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}

		for _, line := range strings.Split(string(out), "\n")[:len(strings.Fields(kinds))] {
			kind, sum, _ := strings.Cut(line, " ")
			if first[kind] == "" {
				first[kind] = sum
			}

			if first[kind] != sum {
				t.Errorf("%s: other bytes in the order %q", kind, kinds)
			}
		}
	}

	if len(first) != 3 {
		t.Errorf("files: %v", first)
	}
}
