package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// makeOne makes one task, as pipeline exec does.
func makeOne(k *Worker, id string) (left int, err error) {
	i := slices.IndexFunc(k.Plan.Tasks, func(t *Task) bool { return t.ID == id })
	return k.MakePart(context.Background(), k.Plan.Tasks[i:i+1], nil, func(*Task, bool) {})
}

// Every task is in one part, in the plan's order. In a wave the weights of two parts differ by
// at most the heaviest task (the bound of the greedy rule, Graham 1969). The same tasks always
// give the same parts.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "parts")

		var tasks []*Task

		heaviest := 0.0
		for i, w := range rapid.SliceOfN(rapid.Float64Range(0, 10), 0, 40).Draw(t, "weights") {
			tasks = append(tasks, &Task{ID: fmt.Sprint(i), Weight: w})
			heaviest = max(heaviest, w)
		}

		join := &Task{ID: "join"}
		for _, x := range tasks {
			join.Deps = append(join.Deps, Dep{Task: x.ID})
		}

		seen := map[*Task]int{}

		var sums []float64
		for i := 1; i <= n; i++ {
			part := Part(append(slices.Clone(tasks), join), i, n)
			require.Equal(t, Part(append(slices.Clone(tasks), join), i, n), part, "another call gives another part")

			sum := 0.0
			last := -1
			for _, x := range part {
				seen[x]++
				sum += x.Weight

				at := slices.Index(append(slices.Clone(tasks), join), x)
				require.Greater(t, at, last, "the part is in the plan's order")
				last = at
			}

			sums = append(sums, sum)
		}

		require.Len(t, seen, len(tasks)+1)
		require.LessOrEqual(t, slices.Max(sums)-slices.Min(sums), heaviest+1e-9)

		for x, k := range seen {
			require.Equal(t, 1, k, "%s is in %d parts", x.ID, k)
		}
	})
}

// The parts of each stage, made in any order, make all tasks of the plan once. The tasks have weights, so that each
// part has some. The last part of a stage also makes the tasks that join its parts, although the raw files have just
// been written, so that their hashes are not kept. A stage whose inputs are missing makes nothing. The second time
// nothing is made. A part reports no task twice. Each part leaves one index, and not one for each task.
func TestMakePart(t *testing.T) {
	w := newWorld(t.TempDir())
	for i := range 12 {
		w.files[fmt.Sprint(i)] = fmt.Sprint("text ", i)
	}

	w.write(t)
	p := w.plan()
	for _, task := range p.Tasks {
		task.Weight = 1
	}

	k := &Worker{Plan: p}

	tasksOf := func(stage string) []*Task {
		var tasks []*Task
		for _, task := range p.Tasks {
			joinsCounts := stage == "count" && task.Stage == "join"
			if task.Stage == stage || joinsCounts {
				tasks = append(tasks, task)
			}
		}

		return tasks
	}

	_, err := k.MakePart(t.Context(), tasksOf("fit"), tasksOf("fit"), nil)
	assert.Error(t, err, "fit cannot be made before the tasks that it needs")

	const n = 4
	for round := range 2 {
		made := 0
		for _, stage := range []string{"read", "count", "fit"} {
			for _, i := range []int{3, 1, 4, 2} {
				reported := map[string]bool{}
				_, err := k.MakePart(t.Context(), Part(tasksOf(stage), i, n), tasksOf(stage), func(task *Task, ran bool) {
					assert.False(t, reported[task.ID], "%s is reported twice", task.ID)
					reported[task.ID] = true
					if ran {
						made++
					}
				})
				require.NoError(t, err)
			}
		}

		assert.Equal(t, []int{len(p.Tasks), 0}[round], made, "round %d: made", round)
	}

	list, err := os.ReadDir(filepath.Join(w.dir, ".cache", "learned"))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(list), 3*n+1, "indices: one for each part of three stages, and one for the join")
	r, err := Run(t.Context(), p, Options{Jobs: 1})
	require.NoError(t, err)
	assert.Zero(t, r.Ran, "tasks that a run makes after the parts")
}
