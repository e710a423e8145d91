//go:build unix

package app

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline/runs"
)

//go:embed testdata/slurm.sh
var slurmScript []byte

// slurmCluster is a running Slurm cluster of two nodes, of three processors each.
type slurmCluster struct {
	*clusterProject
	root, script string
	guard        *exec.Cmd // ends the cluster if this process closes hold, or ends
	hold         io.Closer // the guard's standard input
}

// newSlurm brings up a cluster, which ends with the test, or with this process even if it is killed.
func newSlurm(t *testing.T) *slurmCluster {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_SLURM") != "1" {
		t.Skip("a real cluster takes minutes: DOUBLETAKE_REQUIRE_SLURM=1")
	}

	if _, err := os.Stat("/usr/sbin/slurmctld"); err != nil || os.Geteuid() != 0 {
		t.Fatal("Slurm is not installed, or this is not root: apt-get install slurmctld slurmd slurm-client munge")
	}

	const settings = "{slurm: {mem: 300M, time: 10}, train: {time: 20}}"
	c := &slurmCluster{clusterProject: newClusterProject(t, "slurm", settings, nil)}

	var err error
	for range 3 { // a port may have been taken between the look and its use
		if err = c.up(); err == nil {
			t.Cleanup(c.down)
			return c
		}
	}

	t.Fatal(err)

	return nil
}

// up brings up the cluster.
func (c *slurmCluster) up() (err error) {
	base := os.TempDir()
	if len(base) > 60 { // a socket's path has 107 bytes
		base = "/tmp"
	}

	if c.root, err = os.MkdirTemp(base, "slurm-"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(c.root)
		}
	}()

	// An empty HOME: programs that a developer's profile starts must neither delay jobs nor be killed with them.
	c.script = filepath.Join(c.root, "slurm.sh")
	home := filepath.Join(c.root, "home")
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "SLURM_CONF=") || strings.HasPrefix(kv, "HOME=")
	})
	c.env = append(env, "HOME="+home, "SLURM_CONF="+filepath.Join(c.root, "slurm.conf"))

	port, err := freePorts(5)
	if err = errors.Join(err, os.WriteFile(c.script, slurmScript, 0o755), os.Mkdir(home, 0o755)); err != nil {
		return err
	}

	c.guard = exec.Command(c.script, "guard", c.root)
	c.guard.Env = c.env[:len(c.env)-1]                       // it looks for processes that carry SLURM_CONF, and is none
	c.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends this process must not end it
	if c.hold, err = c.guard.StdinPipe(); err != nil {
		return err
	}

	if err := c.guard.Start(); err != nil {
		return err
	}

	// CombinedOutput returns although the daemons stay, because they write to files.
	if out, err := exec.Command(c.script, "up", c.root, strconv.Itoa(port), "test:2:3:Default=YES DefaultTime=10").
		CombinedOutput(); err != nil {
		c.down()
		return fmt.Errorf("start cluster: %w: %s", err, out)
	}

	return nil
}

// down ends the cluster.
func (c *slurmCluster) down() {
	c.hold.Close()
	_ = c.guard.Wait()
}

// runScript runs a command of slurm.sh, such as controller-off or node-off n1.
func (c *slurmCluster) runScript(t *testing.T, args ...string) {
	t.Helper()

	words := append([]string{args[0], c.root}, args[1:]...)
	output, err := exec.Command(c.script, words...).CombinedOutput()
	require.NoError(t, err, "slurm.sh %v: %s", args, output)
}

// jobs counts the jobs of runs in the given states. Each element of an array counts.
func (c *slurmCluster) jobs(t *testing.T, states string) int {
	t.Helper()

	count := 0
	for _, name := range strings.Fields(c.runTool(t, "squeue", "-h", "-r", "--states="+states, "-o", "%j")) {
		if strings.HasPrefix(name, "dt-") {
			count++
		}
	}

	return count
}

// ready waits until both nodes are idle.
func (c *slurmCluster) ready(t *testing.T) {
	t.Helper()

	areIdle := eventually(func() bool {
		return len(strings.Fields(c.runTool(t, "sinfo", "-h", "-N", "-t", "idle", "-o", "%N"))) == 2
	})
	require.True(t, areIdle, "the nodes do not become idle:\n%s", c.runTool(t, "sinfo", "-N"))
}

// freePorts returns the first of n free ports in a row, below those that the system gives to connections.
func freePorts(n int) (int, error) {
	const first, step, many = 20000, 32, 390
	for i := range many {
		base := first + (os.Getpid()+i)%many*step

		free := true
		for i := range n {
			l, err := net.Listen("tcp", ":"+strconv.Itoa(base+i))
			if err != nil {
				free = false
				break
			}

			l.Close()
		}

		if free {
			return base, nil
		}
	}

	return 0, errors.New("no free ports")
}

// Runs on a real Slurm cluster give the bytes of a run on this machine.
func TestSlurm(t *testing.T) {
	// The project's folder and the work directory are named as nobody should.
	cluster := newSlurm(t)
	cluster.dir = filepath.Join(cluster.dir, "o'neill $(touch evil) %j")
	require.NoError(t, os.MkdirAll(cluster.dir, 0o755))

	cluster.writeConfig(t, clusterRun, "here", "the work\\dir")
	cluster.run(t, "run", "here.yaml")
	t.Run("same bytes", cluster.testSameBytes)
	t.Run("held out", cluster.testHeldOut)
	t.Run("sweep", cluster.testSweep)
	t.Run("killed", func(t *testing.T) {
		cluster.testKills(t, func(t *testing.T) { cluster.runTool(t, "scancel", "--state=RUNNING", "--user=root") })
	})
	t.Run("mixed kernels", cluster.testMixedKernels)
	t.Run("cancelled", cluster.testCancelled)
	t.Run("controller away", cluster.testControllerAway)
	t.Run("nodes full", func(t *testing.T) {
		cluster.runTool(t, "sbatch", "--job-name=other", "--array=1-2", "--exclusive", "--output=/dev/null",
			"--wrap=sleep 600")
		cluster.testNoPlace(t, `says:\n *\d+\S* PENDING (Resources|Priority)`, func(t *testing.T) {
			cluster.runTool(t, "scancel", "--name=other")
		})
	})
	t.Run("nodes drained", func(t *testing.T) {
		cluster.ready(t)
		cluster.runTool(t, "scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=disk")
		cluster.testNoPlace(t, `says:\n *\d+\S* PENDING Nodes required for job are DOWN, DRAINED`, func(t *testing.T) {
			cluster.runTool(t, "scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
		})
	})
	t.Run("blind node", cluster.testBlindNode)

	made, err := filepath.Glob(filepath.Join(cluster.dir, "*evil*"))
	require.NoError(t, err)
	assert.Empty(t, made, "files that a shell made of the folder's name")
}

// testSameBytes compares a run with one on this machine. A second run submits nothing.
func (c *slurmCluster) testSameBytes(t *testing.T) {
	c.run(t, "run", "the work\\dir.yaml", "--executor", "slurm")
	c.requireSameResults(t, "the work\\dir")

	// The trainings of the split: on 3, 4 and 5 blades, and three that leave out one of these numbers each.
	assert.Len(t, c.madeByNodes(t, "rotor/train/on/"), 4, "trainings that nodes made")

	// The records of both runs have equal settings, data and numbers.
	here, _, err := runs.History(filepath.Join(c.dir, "here"))
	require.NoError(t, err)
	require.Len(t, here, 1, "records of the run on this machine")

	there, _, err := runs.History(filepath.Join(c.dir, "the work\\dir"))
	require.NoError(t, err)
	require.Len(t, there, 1, "records of the run on the cluster")
	require.NotEmpty(t, there[0].Metrics, "numbers of the run on the cluster")

	d := runs.DiffRecords(&here[0], &there[0])
	for _, m := range d.Metrics {
		assert.Equal(t, fmt.Sprint(m.B), fmt.Sprint(m.A), "%+v", m)
	}

	require.False(t, d.Unknown, "a record without settings")
	require.NotEmpty(t, here[0].Data, "data of the run on this machine")
	require.Len(t, there[0].Data, len(here[0].Data), "data of the run on the cluster")
	assert.Empty(t, d.Settings)

	jobs := c.jobs(t, "all")
	assert.NotZero(t, jobs, "jobs of the first run")

	messages := c.run(t, "run", "the work\\dir.yaml", "--executor", "slurm")
	assert.Contains(t, messages, "everything is up to date")
	assert.Equal(t, jobs, c.jobs(t, "all"), "jobs after the second run")

	// The trainings' own time limit.
	limits := c.runTool(t, "squeue", "-h", "-r", "--states=all", "-o", "%l")
	assert.Contains(t, limits, "10:00")
	assert.Contains(t, limits, "20:00")
}

// testHeldOut runs report --held-out with the executor, for a split that is in no file. The models are those that the
// report on this machine trains.
func (c *slurmCluster) testHeldOut(t *testing.T) {
	held := []string{"--held-out", "blades=4", "--held-out", "blades = 3"}
	c.run(t, append([]string{"report", "the work\\dir.yaml", "--executor", "slurm"}, held...)...)
	c.run(t, append([]string{"report", "here.yaml"}, held...)...)
	c.requireSameResults(t, "the work\\dir")
}

// madeByNodes returns the tasks with a prefix that the run of testSameBytes made, and asserts that nodes made them, not
// the driver.
func (c *slurmCluster) madeByNodes(t *testing.T, prefix string) (made []string) {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)

	manifests, _ := filepath.Glob(filepath.Join(c.dir, "the work\\\\dir", ".cache", "objects", "*", "*", "manifest.json"))
	for _, m := range manifests {
		b, err := os.ReadFile(m)
		require.NoError(t, err)

		var manifest struct{ Task, Host string }
		require.NoError(t, json.Unmarshal(b, &manifest), m)

		if strings.HasPrefix(manifest.Task, prefix) {
			made = append(made, manifest.Task)
			assert.NotEqual(t, host, manifest.Host, "the driver must not make %s", manifest.Task)
		}
	}

	return made
}

// testSweep runs a sweep of two variants, which share on a cluster too what they have in common. The counts are by
// hand: 8 recordings are simulated, read and analysed once, and each variant has two seeds of four trainings, one of
// the training set and one without each of its three groups.
func (c *slurmCluster) testSweep(t *testing.T) {
	project := c.inNewFolder(t)
	project.writeConfig(t, strings.Replace(clusterRun, "honest: {base: ensemble}", "honest: {base: none}", 1)+
		"    sweep: {loss.beta: [0, 0.5]}\n    select: {on: blades}\n", "here", "there")
	project.run(t, "run", "here.yaml")
	project.run(t, "run", "there.yaml", "--executor", "slurm")
	project.requireSameResults(t, "there")

	objects := func(work string) int {
		list, _ := filepath.Glob(filepath.Join(project.dir, work, ".cache", "objects", "*", "*"))
		return len(list)
	}

	const (
		simulated = 8 + 2 // with conditions.csv and README.txt
		read      = 8 + 1 // with the joined table
		analysed  = 8 + 1
		trained   = 2 * 2 * (1 + 3)
		reported  = 2 + 1 + 1 // with the comparison and the page
		results   = simulated + read + analysed + trained + reported
	)
	assert.Equal(t, results, objects("here"), "results here")
	assert.Equal(t, results, objects("there"), "results on the cluster")
}

// testMixedKernels runs on nodes with other numeric kernels, which the environment of the jobs chooses. The nodes
// refuse their tasks, and the message names the key that mends it.
func (c *slurmCluster) testMixedKernels(t *testing.T) {
	version, err := exec.Command(c.bin, "version", "--json").Output()
	require.NoError(t, err)
	if strings.Contains(string(version), `"portable"`) {
		t.Skip("this machine has the portable kernels alone")
	}

	project := c.inNewFolder(t)
	project.settings = "{slurm: {setup: ['export DOUBLETAKE_KERNELS=portable']}}"
	project.writeConfig(t, clusterRun, "mixed")

	cmd, stderr := project.command(t, "run", "mixed.yaml", "--executor", "slurm", "--progress", "plain")
	require.Error(t, cmd.Run())
	assert.Equal(t, 2, cmd.ProcessState.ExitCode(), "exit status")
	assert.Contains(t, stderr.String(), "does not agree with the machine of the run")
	assert.Contains(t, stderr.String(), `with the key kernels) is "portable" there and "`)
}

// testCancelled interrupts a run, which cancels the jobs. pipeline cancel does so too, whether the driver lives or not.
// The next run succeeds.
func (c *slurmCluster) testCancelled(t *testing.T) {
	project := c.inNewFolder(t)
	project.writeConfig(t, longRun, "there")
	project.runTool(t, c.bin, "run", "there.yaml", "--to", "dsp", "--progress", "none") // trainings are left, which last

	requireNoJobs := func(after string) {
		t.Helper()

		isEmpty := eventually(func() bool { return c.jobs(t, "PENDING,RUNNING,COMPLETING") == 0 })
		require.True(t, isEmpty, "jobs stay after %s:\n%s", after, c.runTool(t, "squeue"))
	}

	startJobs := func() *clusterDriver {
		t.Helper()

		d := project.start(t, "there")
		require.True(t, eventually(func() bool { return c.jobs(t, "RUNNING") > 0 }), "no job runs: %s", d.stderr)

		return d
	}

	d := startJobs()
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Error(t, d.cmd.Wait(), "end of an interrupted run")
	assert.Equal(t, 130, d.cmd.ProcessState.ExitCode(), "exit status")
	assert.Contains(t, d.stderr.String(), "interrupted; withdrew ")

	requireNoJobs("an interrupt")

	for _, isDriverDead := range []bool{false, true} {
		d := startJobs()
		if isDriverDead {
			d.kill()
		}

		cancel, stderr := project.command(t, "cancel", "there.yaml")
		output, err := cancel.Output()
		require.NoError(t, err, "%s", stderr)
		assert.Regexp(t, `^cancelled [1-9]\d* jobs?\n$`, string(output))

		if !isDriverDead {
			require.Error(t, d.cmd.Wait(), "end of a cancelled run")
			assert.Contains(t, d.stderr.String(), "cancelled by pipeline cancel")
		}

		requireNoJobs("pipeline cancel")
	}

	project.writeConfig(t, clusterRun, "there")
	project.run(t, "run", "there.yaml", "--executor", "slurm")
}

// testControllerAway runs while the controller is off. The driver waits for it.
func (c *slurmCluster) testControllerAway(t *testing.T) {
	project := c.inNewFolder(t)
	project.writeConfig(t, clusterRun, "here", "there")
	project.run(t, "run", "here.yaml")

	c.runScript(t, "controller-off")
	d := project.start(t, "there")
	d.waitForMessage(t, "jobs cannot be submitted now")
	c.runScript(t, "controller-on")
	d.waitForEnd(t)
	project.requireSameResults(t, "there")
}

// testBlindNode runs on a cluster in which one node does not see the folder of the project. The other node runs its
// tasks, and the run names it once.
func (c *slurmCluster) testBlindNode(t *testing.T) {
	project := c.inNewFolder(t)
	project.writeConfig(t, clusterRun, "here", "there")
	project.run(t, "run", "here.yaml")

	c.ready(t)
	c.runScript(t, "node-off", "n1")
	c.runScript(t, "node-blind", "n1", project.dir)
	c.ready(t)

	d := project.start(t, "there")
	d.waitForEnd(t)
	t.Logf("%s", d.stderr)

	messages := d.stderr.String()
	assert.Equal(t, 1, strings.Count(messages, "a job on node n1 "), "times that the node is named in\n%s", messages)
	assert.NotContains(t, messages, "attempt")
	project.requireSameResults(t, "there")
}
