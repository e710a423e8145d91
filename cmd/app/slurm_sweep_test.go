package app

import (
	"path/filepath"
	"strings"
	"testing"
)

// A sweep gives the same bytes on a real cluster, and what its variants share is made
// once there too: of 8 recordings 8 simulations, readings and analyses, of two variants
// with two seeds and one group left out of each training set's three 2·2·(1+3) trainings.
func TestSweepSlurm(t *testing.T) {
	x := realCluster(t)
	for _, work := range []string{"here", "there"} {
		yaml := strings.NewReplacer("WORK", work, "honest: {base: ensemble}", "honest: {base: none}").Replace(clusterRun) +
			"    sweep: {loss.beta: [0, 0.5]}\n    select: {on: blades}\n"
		put(t, x.dir, work+".yaml", yaml)
	}

	x.run(t, "run", "here.yaml")
	x.run(t, "run", "there.yaml", "--executor", "slurm")
	x.same(t, "there")
	objects := func(work string) int {
		list, _ := filepath.Glob(filepath.Join(x.dir, work, ".cache", "objects", "*", "*"))
		return len(list)
	}

	// With conditions.csv and README.txt, the two tables, two reports, the comparison and
	// the page.
	if want := 8 + 2 + 8 + 1 + 8 + 1 + 16 + 2 + 1 + 1; objects("here") != want || objects("there") != want {
		t.Errorf("%d results here, %d on the cluster, expected %d", objects("here"), objects("there"), want)
	}

	if jobs := x.c.Jobs(t, x.dir); jobs == 0 {
		t.Error("no job was submitted")
	}
}
