package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sameKeyPlan returns a plan of several experiments with the same settings. Their tasks "make" have one key. The
// first experiments, as many as users, also have a task "use". These have different keys, because the names of their
// inputs differ. Each experiment publishes its own files.
func sameKeyPlan(dir string, experiments, users int, packed bool) *Plan {
	plan := &Plan{Dir: dir, Stages: []string{"make", "use"}}
	for i := range experiments {
		made := fmt.Sprintf("make/%d", i)
		maker := &Task{
			ID: made, Stage: "make", Version: 1, Packed: packed,
			Run: func(_ context.Context, job *Job) error { return put(job, "out", "made") },
		}

		user := &Task{
			ID: fmt.Sprintf("use/%d", i), Stage: "use", Version: 1, Deps: []Dep{{made, "out"}},
			Publish: []Link{{"out", fmt.Sprintf("%d/used", i)}},
			Run: func(_ context.Context, job *Job) error {
				text, err := read(job.Input(made, "out"))
				if err != nil {
					return err
				}

				return put(job, "out", text+" used")
			},
		}
		if !packed { // a packed result cannot be published
			maker.Publish = []Link{{"out", fmt.Sprintf("%d/made", i)}}
		}

		plan.Tasks = append(plan.Tasks, maker)
		if i < users {
			plan.Tasks = append(plan.Tasks, user)
		}
	}

	return plan
}

// Tasks with one key do not replace one object under each other, also if the run is forced. Expected: a run makes the
// one result of "make" once, and the result of each task "use", for any number of jobs. Each experiment publishes its
// files.
func TestForcedTasksOfOneKey(t *testing.T) {
	const experiments = 16
	const users = 3
	for _, packed := range []bool{false, true} {
		plan := sameKeyPlan(t.TempDir(), experiments, users, packed)
		for round := range 10 {
			jobs := []int{6, 1, 2}[round%3]
			isForced := round > 0
			result, err := Run(context.Background(), plan, Options{Jobs: jobs, Selection: Selection{Force: isForced}})
			require.NoError(t, err, "round %d, packed %v", round, packed)
			require.Equal(t, 1+users, result.Ran, "tasks that ran in round %d, packed %v", round, packed)
			require.Equal(t, experiments-1, result.Cached, "tasks that took a result in round %d", round)
		}

		for i := range users {
			got, err := os.ReadFile(filepath.Join(plan.Dir, fmt.Sprint(i), "used"))
			require.NoError(t, err)
			require.Equal(t, "made used", string(got))
		}
	}
}
