package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The end of a log is its last lines; of one that ends with a panic, the panic,
// because what follows it is stacks.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")

	stack := strings.Repeat("goroutine 1 [running]:\n", 30)
	for in, want := range map[string]string{
		"":                                   "",
		"a\nb\n":                             "a\nb",
		"a\nb\nc\nd":                         "b\nc\nd",
		"a\npanic: no\n\n" + stack:           "panic: no\n\ngoroutine 1 [running]:",
		"panic: 1\nfatal error: 2\n" + stack: "fatal error: 2\ngoroutine 1 [running]:\ngoroutine 1 [running]:",
		"x\xff":                              "x?",
	} {
		if err := os.WriteFile(path, []byte(in), 0o644); err != nil {
			t.Fatal(err)
		}

		if got := tail(path, 3); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}

	if got := tail(path+"none", 3); got != "" {
		t.Error(got)
	}
}

// Messages of sbatch and qsub: from the tests' clusters and Slurm's source.
func TestLater(t *testing.T) {
	for text, want := range map[string]bool{
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)":       true,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":                    true,
		"error: commlib error: got select error (Connection refused)":                                            true,
		"sbatch: error: invalid partition specified: nowhere":                                                    false,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified": false,
		"Unable to run job: unknown queue \"nowhere\".":                                                          false,
	} {
		if later.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
