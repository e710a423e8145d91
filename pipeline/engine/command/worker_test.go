package command

import (
	"testing"

	"doubletake/internal/must"
)

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
		must.Equal(t, later.MatchString(text), want, "%q", text)
	}
}
