package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Errors of a scheduler that is away pass, and errors of the settings do not. The messages of sbatch and qsub are from
// the clusters that the tests of cmd/app start, and from the source of Slurm.
func TestPassing(t *testing.T) {
	for text, want := range map[string]bool{
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)":       true,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":                    true,
		"error: commlib error: got select error (Connection refused)":                                            true,
		"sbatch: error: invalid partition specified: nowhere":                                                    false,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified": false,
		"Unable to run job: unknown queue \"nowhere\".":                                                          false,
	} {
		assert.Equal(t, want, passing.MatchString(text), "%q", text)
	}
}
