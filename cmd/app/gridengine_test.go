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

// newGridEngine brings up Debian's Grid Engine with two slots on this machine, and returns a project on it.
func newGridEngine(t *testing.T) *clusterProject {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_GRIDENGINE") != "1" {
		t.Skip("a real Grid Engine takes minutes: DOUBLETAKE_REQUIRE_GRIDENGINE=1")
	}

	const lib = "/usr/lib/gridengine"
	require.FileExists(t, lib+"/sge_execd", "Grid Engine is not installed: apt-get install gridengine-master "+
		"gridengine-exec gridengine-client")
	require.Zero(t, os.Geteuid(), "Grid Engine needs root")

	root, err := os.MkdirTemp("", "sge") // its daemons still write when the test's folders are removed
	require.NoError(t, err)
	t.Cleanup(func() {
		killDaemons(root)
		os.RemoveAll(root)
	})

	port := 20000 + os.Getpid()%20000
	output, err := exec.Command("bash", "testdata/gridengine.sh", root, strconv.Itoa(port), "2").CombinedOutput()
	require.NoError(t, err, "%s", output)

	env := append(os.Environ(), "SGE_ROOT="+root, "SGE_CELL=default", fmt.Sprintf("SGE_QMASTER_PORT=%d", port),
		fmt.Sprintf("SGE_EXECD_PORT=%d", port+1), "PATH="+lib+":"+os.Getenv("PATH"))
	p := newClusterProject(t, "sge", "{sge: {partition: all.q, max_running: 4}}", env)
	p.dir = filepath.Join(p.dir, "o'neill & co") // characters that a shell interprets
	require.NoError(t, os.MkdirAll(p.dir, 0o755))

	return p
}

// killDaemons kills the processes whose numbers are in the .pid files of a folder.
func killDaemons(root string) {
	paths, _ := filepath.Glob(filepath.Join(root, "*.pid"))
	for _, path := range paths {
		b, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Runs on a Grid Engine give the bytes of a run on this machine.
func TestGridEngine(t *testing.T) {
	p := newGridEngine(t)
	p.writeConfig(t, clusterRun, "here", "arrays")
	p.run(t, "run", "here.yaml")

	t.Run("disabled queue", func(t *testing.T) {
		p.runTool(t, "qmod", "-d", "all.q")
		const disabled = `"qstat -f -explain a" says:\n[^;]*all\.q@.* d\b` // qstat writes d behind a disabled queue
		p.testNoPlace(t, disabled, func(t *testing.T) {
			p.runTool(t, "qmod", "-e", "all.q")
		})
	})

	t.Run("arrays", func(t *testing.T) {
		cmd, stderr := p.command(t, "tasks", "arrays.yaml", "--format", "sge", "--parts", "2")

		script, err := cmd.Output()
		require.NoError(t, err, "%s", stderr)

		p.runTool(t, "sh", "-c", string(script))
		p.requireNoJobs(t)
		p.requireSameResults(t, "arrays")

		cmd, stderr = p.command(t, "run", "arrays.yaml", "--dry-run")
		pending, err := cmd.Output()
		require.NoError(t, err, "%s", stderr)
		assert.Regexp(t, `(?m)^0 to run, `, string(pending), "tasks that the jobs have left")
	})

	t.Run("kills", func(t *testing.T) {
		p.testKills(t, func(t *testing.T) {
			// qstat prints two lines of heads, and then a line for each running job, with its number first.
			p.runTool(t, "sh", "-c", "qdel -f $(qstat -s r | awk 'NR>2{print $1}' | tail -n1)")
		})
	})

	// The executor "command" does not know Grid Engine: the configuration gives the commands of the scheduler.
	t.Run("commands of the user", func(t *testing.T) {
		other := p.inNewFolder(t)
		other.scheduler = "command"
		other.settings = "{command: qsub -V, status: qstat -f, cancel: qdel, parts: 4}"
		other.writeConfig(t, clusterRun, "here", "there")
		other.run(t, "run", "here.yaml")
		other.run(t, "run", "there.yaml", "--executor", "command")
		other.requireSameResults(t, "there")
	})

	t.Run("node without the folder", func(t *testing.T) { testNodeWithoutFolder(t, p) })
}

// requireNoJobs waits until the Grid Engine has no job.
func (p *clusterProject) requireNoJobs(t *testing.T) {
	t.Helper()

	isEmpty := eventually(func() bool { return p.runTool(t, "qstat") == "" })
	require.True(t, isEmpty, "jobs are left: %s", p.runTool(t, "qstat", "-f"))
}

// testNodeWithoutFolder runs on a cluster whose only node does not see the folder of the project: each job starts in a
// name space of its own, which has an empty folder there. The run prints the name of the node once, waits, and
// withdraws its jobs after an interrupt.
func testNodeWithoutFolder(t *testing.T, p *clusterProject) {
	t.Helper()

	starter := filepath.Join(filepath.Dir(p.bin), "starter")
	text := fmt.Sprintf("#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none \"$0\"; exec \"$@\"' \"%s\" \"$@\"\n",
		p.dir)
	require.NoError(t, os.WriteFile(starter, []byte(text), 0o755))

	p.runTool(t, "qconf", "-mattr", "queue", "starter_method", starter, "all.q")
	p.writeConfig(t, clusterRun, "unseen")

	d := p.start(t, "unseen")
	d.waitForMessage(t, "and can run ")
	d.waitForMessage(t, "nothing runs: ")

	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))

	var exit *exec.ExitError
	require.ErrorAs(t, d.cmd.Wait(), &exit, "end of an interrupted run")

	messages := d.stderr.String()
	assert.Contains(t, messages, "interrupted; withdrew ")
	assert.Equal(t, 1, strings.Count(messages, "a job on node "), "times that the node is named in\n%s", messages)
	p.requireNoJobs(t)
}
