package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gridEngine brings up Debian's Grid Engine with two slots on this machine, and returns a
// project on it.
func gridEngine(t *testing.T) *clusterProject {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_GRIDENGINE") != "1" {
		t.Skip("a real Grid Engine takes minutes: DOUBLETAKE_REQUIRE_GRIDENGINE=1")
	}

	const lib = "/usr/lib/gridengine"
	if _, err := os.Stat(lib + "/sge_execd"); err != nil || os.Geteuid() != 0 {
		t.Fatal("Grid Engine is not installed, or this is not root: apt-get install gridengine-master gridengine-exec " +
			"gridengine-client")
	}

	root, err := os.MkdirTemp("", "sge") // its daemons still write when the test's folders are removed
	require.NoError(t, err)

	port := 20000 + os.Getpid()%20000
	t.Cleanup(func() {
		pids, _ := filepath.Glob(filepath.Join(root, "*.pid"))
		for _, p := range pids {
			b, _ := os.ReadFile(p)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}

		os.RemoveAll(root)
	})

	up := exec.Command("bash", "testdata/gridengine.sh", root, strconv.Itoa(port), "2")
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	x := newClusterProject(t, "sge", "{sge: {partition: all.q, max_running: 4}}", append(os.Environ(), "SGE_ROOT="+root,
		"SGE_CELL=default", fmt.Sprintf("SGE_QMASTER_PORT=%d", port), fmt.Sprintf("SGE_EXECD_PORT=%d", port+1),
		"PATH="+lib+":"+os.Getenv("PATH")))
	x.dir = filepath.Join(x.dir, "o'neill & co")

	require.NoError(t, os.MkdirAll(x.dir, 0o755))

	return x
}

// Expected everywhere: the bytes of a run on this machine.
func TestGridEngine(t *testing.T) {
	x := gridEngine(t)
	x.config(t, clusterRun, "here", "arrays")
	x.run(t, "run", "here.yaml")

	// d is the queue's state, which is disabled.
	t.Run("drained", func(t *testing.T) {
		x.program(t, "qmod", "-d", "all.q")
		x.noPlace(t, `"qstat -f -explain a" says:\n[^;]*all\.q@.* d\b`, func(t *testing.T) {
			x.program(t, "qmod", "-e", "all.q")
		})
	})

	t.Run("arrays", func(t *testing.T) {
		cmd, stderr := x.command(t, "tasks", "arrays.yaml", "--format", "sge", "--parts", "2")

		script, err := cmd.Output()
		require.NoError(t, err, "%v: %s", err, stderr)

		x.program(t, "sh", "-c", string(script))

		if !eventually(func() bool { return x.program(t, "qstat") == "" }) {
			t.Errorf("jobs are left: %s", x.program(t, "qstat", "-f"))
		}

		x.run(t, "run", "arrays.yaml", "--dry-run")
		x.same(t, "arrays")
	})

	t.Run("killed", func(t *testing.T) {
		x.killed(t, func(t *testing.T) {
			x.program(t, "sh", "-c", "qdel -f $(qstat -s r | awk 'NR>2{print $1}' | tail -n1)")
		})
	})

	// A command of the user's, of which no more is known than its words.
	t.Run("command", func(t *testing.T) {
		y := x.in(t.TempDir())
		y.name, y.settings = "command", "{command: qsub -V, status: qstat -f, cancel: qdel, parts: 4}"
		y.config(t, clusterRun, "here", "there")
		y.run(t, "run", "here.yaml")
		y.run(t, "run", "there.yaml", "--executor", "command")
		y.same(t, "there")
	})

	// The job's own name space has an empty folder where the project is. This cluster has no other node: the run says
	// so once, and waits.
	t.Run("node without the folder", func(t *testing.T) {
		starter := filepath.Join(filepath.Dir(x.bin), "starter")
		text := fmt.Sprintf("#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none \"$0\"; exec \"$@\"' \"%s\" \"$@\"\n",
			x.dir)
		require.NoError(t, os.WriteFile(starter, []byte(text), 0o755))

		x.program(t, "qconf", "-mattr", "queue", "starter_method", starter, "all.q")
		x.config(t, clusterRun, "unseen")

		d := x.start(t, "unseen")
		d.says(t, "and can run ")
		d.says(t, "nothing runs: ")

		require.NoError(t, d.cmd.Process.Signal(os.Interrupt))

		if err := d.cmd.Wait(); err == nil || !strings.Contains(d.stderr.String(), "jobs are withdrawn") ||
			strings.Count(d.stderr.String(), "a job on node ") != 1 {
			t.Errorf("%v: %s", err, d.stderr)
		}

		if left := x.program(t, "qstat"); left != "" && !eventually(func() bool { return x.program(t, "qstat") == "" }) {
			t.Errorf("jobs are left: %s", left)
		}
	})

	assert.Contains(t, x.program(t, "qstat", "-f"), "all.q")
}
