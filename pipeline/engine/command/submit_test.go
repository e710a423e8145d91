package command

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/engine/job"
)

// Errors of a scheduler that is away pass, and errors of the settings do not. The messages of sbatch and qsub are from
// the clusters that the tests of cmd/app start, and from the sources of Slurm and PBS.
func TestPassing(t *testing.T) {
	for text, want := range map[string]bool{
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)": true,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":              true,
		"error: commlib error: got select error (Connection refused)":                                      true,
		"qsub: cannot connect to server pbs (errno=15010)":                                                 true,
		"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying":                     true,
		"signal: killed: ": true,
		"sbatch: error: invalid partition specified: interconnect":                                               false,
		"sbatch: error: invalid partition specified: nowhere":                                                    false,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified": false,
		"Unable to run job: unknown queue \"nowhere\".":                                                          false,
	} {
		assert.Equal(t, want, passing.MatchString(text), "%q", text)
	}
}

// A site's submit filter prints messages with numbers before the scheduler prints the identifier of the job. Expected:
// the identifiers that the commands of scripts.tmpl print on the standard output, according to their manuals, and for a
// user's command the first number that it printed.
func TestIdentifier(t *testing.T) {
	for _, c := range []struct{ name, scheduler, script, want string }{
		{"sbatch", "slurm", "echo 'sbatch: warning: 3 of 20 hours left' >&2; echo '17;cluster'", "17"},
		{"qsub of PBS", "pbs", "echo 'project 4711 is charged'; echo '17[].host'", "17"},
		{"qsub of Grid Engine", "sge", "echo 17.1-4:1; echo '2 slots' >&2", "17"},
		{"condor_submit", "htcondor", "echo 'WARNING: 1 line' >&2; echo '17.0 - 17.1'", "17"},
		{"messages without identifier", "slurm", "echo 'sbatch: warning: 3 of 20 hours left' >&2", ""},
		{"user's command", "", "echo 'Job <17> is submitted'; echo '2 slots' >&2", "17"},
		{"user's command without line end", "", "printf 17; echo 2 slots >&2", "17"},
		{"user's command on stderr", "", "echo 'Job <17> is submitted' >&2", "17"},
	} {
		t.Run(c.name, func(t *testing.T) {
			array := job.Array{Dir: t.TempDir(), Name: "dt"}
			require.NoError(t, os.Mkdir(partDir(array, 1), 0o755))
			e := &Executor{ctx: t.Context(), options: Options{Scheduler: job.Find(c.scheduler)}}

			id, err := e.callSubmit(&submission{command: []string{"sh", "-c", c.script}, path: "script"}, array)
			require.NoError(t, err)
			assert.Equal(t, c.want, id)
		})
	}
}

// Jobs of trainings have their own limit, 4, beside the limit of all jobs. Expected: worked out by hand.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		parts, maxRunning, train int // executor.parts, max_running of all jobs, max_running of the trainings
		other, trainings         int // parts in the queue
		room                     int // for trainings
	}{
		{16, 0, 4, 0, 0, 4},
		{16, 0, 4, 10, 0, 4}, // other jobs do not count against the limit of the trainings
		{16, 0, 4, 10, 3, 1},
		{16, 0, 4, 14, 0, 2}, // but against the limit of all
		{16, 0, 4, 16, 0, 0},
		{16, 12, 4, 10, 0, 2},  // max_running of all jobs replaces parts
		{16, 0, 0, 10, 2, 4},   // the trainings have no limit of their own
		{16, 0, 40, 10, 0, 30}, // a limit above that of all
	} {
		all := job.Settings{MaxRunning: c.maxRunning}
		e := &Executor{options: Options{Settings: all, Parts: c.parts}}
		for i := range c.other + c.trainings {
			s := &submission{}
			if i < c.trainings {
				s.group = "train"
			}
			e.parts = append(e.parts, &part{submission: s})
		}

		assert.Equal(t, c.room, e.room("train", job.Settings{MaxRunning: c.train}), "%+v", c)
	}
}
