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
	"regexp"
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
	guard        *exec.Cmd // ends the cluster when this process closes hold, or ends
	hold         io.Closer
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

func (c *slurmCluster) up() (err error) {
	base := os.TempDir()
	if len(base) > 60 { // a socket's path has 107 bytes
		base = "/tmp"
	}

	if c.root, err = os.MkdirTemp(base, "slurm-"); err != nil {
		return err
	}

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

	// Daemons that stay have files for output.
	if out, err := exec.Command(c.script, "up", c.root, strconv.Itoa(port), "test:2:3:Default=YES DefaultTime=10").
		CombinedOutput(); err != nil {
		c.down()
		return fmt.Errorf("start cluster: %w: %s", err, out)
	}

	return nil
}

func (c *slurmCluster) down() {
	c.hold.Close()
	_ = c.guard.Wait()
}

// do runs one of the commands of slurm.sh: controller-off, node-off n1, …
func (c *slurmCluster) do(t *testing.T, args ...string) {
	t.Helper()

	if out, err := exec.Command(c.script, append([]string{args[0], c.root}, args[1:]...)...).CombinedOutput(); err != nil {
		t.Fatalf("slurm.sh %v: %v: %s", args, err, out)
	}
}

// jobs counts the jobs of runs, each of an array, in the states named.
func (c *slurmCluster) jobs(t *testing.T, states string) int {
	t.Helper()
	return strings.Count("\n"+c.program(t, "squeue", "-h", "-r", "--states="+states, "-o", "%j"), "\ndt-")
}

// ready waits until both nodes are idle.
func (c *slurmCluster) ready(t *testing.T) {
	t.Helper()

	if !eventually(func() bool {
		return len(strings.Fields(c.program(t, "sinfo", "-h", "-N", "-t", "idle", "-o", "%N"))) == 2
	}) {
		t.Fatalf("the nodes do not become idle:\n%s", c.program(t, "sinfo", "-N"))
	}
}

// freePorts finds n free ports in a row, below those that the system gives to
// connections.
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

// The program itself on a real cluster. Expected everywhere: the bytes of a run on this machine.
func TestSlurm(t *testing.T) {
	// The project's folder and the work directory are named as nobody should.
	x := newSlurm(t)
	x.dir = filepath.Join(x.dir, "o'neill $(touch evil) %j")
	require.NoError(t, os.MkdirAll(x.dir, 0o755))

	x.config(t, clusterRun, "here", "the work\\dir")
	x.run(t, "run", "here.yaml")
	t.Run("same bytes", x.sameBytes)
	t.Run("held out", x.heldOut)
	t.Run("sweep", x.sweep)
	t.Run("killed", func(t *testing.T) {
		x.killed(t, func(t *testing.T) { x.program(t, "scancel", "--state=RUNNING", "--user=root") })
	})
	t.Run("mixed kernels", x.mixedKernels)
	t.Run("cancelled", x.cancelled)
	t.Run("controller away", x.controllerAway)
	t.Run("nodes full", func(t *testing.T) {
		x.program(t, "sbatch", "--job-name=other", "--array=1-2", "--exclusive", "--output=/dev/null", "--wrap=sleep 600")
		x.noPlace(t, `says:\n *\d+\S* PENDING (Resources|Priority)`, func(t *testing.T) {
			x.program(t, "scancel", "--name=other")
		})
	})
	t.Run("nodes drained", func(t *testing.T) {
		x.ready(t)
		x.program(t, "scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=disk")
		x.noPlace(t, `says:\n *\d+\S* PENDING Nodes required for job are DOWN, DRAINED`, func(t *testing.T) {
			x.program(t, "scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
		})
	})
	t.Run("blind node", x.blindNode)

	if list, _ := filepath.Glob(filepath.Join(x.dir, "*evil*")); len(list) > 0 {
		t.Errorf("a shell made %q", list)
	}
}

// The same bytes as on this machine; the second run submits nothing.
func (c *slurmCluster) sameBytes(t *testing.T) {
	c.run(t, "run", "the work\\dir.yaml", "--executor", "slurm")
	c.same(t, "the work\\dir")

	// The trainings that leave a group out: on 3, 4 and 5 blades, and on two of them each.
	if made := c.madeByNodes(t, "rotor/train/on/"); len(made) != 4 {
		t.Errorf("nodes made %q, expected 4 trainings", made)
	}

	// The records of both runs have the same configuration's keys, data and numbers.
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

	assert.Empty(t, d.Settings)

	jobs := c.jobs(t, "all")

	s := c.run(t, "run", "the work\\dir.yaml", "--executor", "slurm")
	if n := c.jobs(t, "all"); !strings.Contains(s, "everything is up to date") || jobs == 0 || n != jobs {
		t.Errorf("the second run: %d jobs after %d, %s", n, jobs, s)
	}

	// The trainings' own time limit.
	limits := c.program(t, "squeue", "-h", "-r", "--states=all", "-o", "%l")
	assert.Contains(t, limits, "10:00")
	assert.Contains(t, limits, "20:00")
}

// report --held-out uses the executor too, for a split that is in no file. The
// models are those that the local report trains.
func (c *slurmCluster) heldOut(t *testing.T) {
	held := []string{"--held-out", "blades=4", "--held-out", "blades = 3"}
	c.run(t, append([]string{"report", "the work\\dir.yaml", "--executor", "slurm"}, held...)...)
	c.run(t, append([]string{"report", "here.yaml"}, held...)...)
	c.same(t, "the work\\dir")
}

// madeByNodes lists the tasks with a prefix that sameBytes' runs have made, and fails
// the test if the driver made one.
func (c *slurmCluster) madeByNodes(t *testing.T, prefix string) (made []string) {
	t.Helper()
	host, _ := os.Hostname()

	manifests, _ := filepath.Glob(filepath.Join(c.dir, "the work\\\\dir", ".cache", "objects", "*", "*", "manifest.json"))
	for _, m := range manifests {
		var doc struct{ Task, Host string }
		if b, err := os.ReadFile(m); err != nil || json.Unmarshal(b, &doc) != nil {
			t.Fatal(m, err)
		}

		if strings.HasPrefix(doc.Task, prefix) {
			made = append(made, doc.Task)
			assert.NotEqual(t, host, doc.Host, "%s was made by the driver", doc.Task)
		}
	}

	return made
}

// What the variants of a sweep share is made once on a cluster too: of 8 recordings 8 simulations, readings and
// analyses, of two variants with two seeds and one group left out of each training set's three 2·2·(1+3) trainings.
func (c *slurmCluster) sweep(t *testing.T) {
	y := c.in(t.TempDir())
	y.config(t, strings.Replace(clusterRun, "honest: {base: ensemble}", "honest: {base: none}", 1)+
		"    sweep: {loss.beta: [0, 0.5]}\n    select: {on: blades}\n", "here", "there")
	y.run(t, "run", "here.yaml")
	y.run(t, "run", "there.yaml", "--executor", "slurm")
	y.same(t, "there")

	objects := func(work string) int {
		list, _ := filepath.Glob(filepath.Join(y.dir, work, ".cache", "objects", "*", "*"))
		return len(list)
	}

	// With conditions.csv and README.txt, the two tables, two reports, the comparison and
	// the page.
	if want := 8 + 2 + 8 + 1 + 8 + 1 + 16 + 2 + 1 + 1; objects("here") != want || objects("there") != want {
		t.Errorf("%d results here, %d on the cluster, expected %d", objects("here"), objects("there"), want)
	}
}

// A node whose numeric kernels are others refuses its tasks, by name and with the key that mends it. Here the
// environment of the jobs makes them other.
func (c *slurmCluster) mixedKernels(t *testing.T) {
	if out, _ := exec.Command(c.bin, "version", "--json").Output(); strings.Contains(string(out), `"portable"`) {
		t.Skip("this machine has the portable kernels alone")
	}

	y := c.in(t.TempDir())
	y.settings = "{slurm: {setup: ['export DOUBLETAKE_KERNELS=portable']}}"
	y.config(t, clusterRun, "mixed")

	cmd, stderr := y.command(t, "run", "mixed.yaml", "--executor", "slurm", "--progress", "plain")
	err := cmd.Run()

	var exit *exec.ExitError
	if s := stderr.String(); !errors.As(err, &exit) || exit.ExitCode() != 2 ||
		!strings.Contains(s, "does not agree with the machine of the run") ||
		!strings.Contains(s, `with the key kernels) is "portable" there and "`) {
		t.Errorf("%v: %s", err, s)
	}
}

// An interrupt cancels the jobs, and so does pipeline cancel, whether the driver lives or not. A next run succeeds.
func (c *slurmCluster) cancelled(t *testing.T) {
	y := c.in(t.TempDir())
	y.config(t, longRun, "there")
	y.program(t, c.bin, "run", "there.yaml", "--to", "dsp", "--progress", "none") // trainings are left, which last

	empty := func(what string) {
		t.Helper()

		if !eventually(func() bool { return c.jobs(t, "PENDING,RUNNING,COMPLETING") == 0 }) {
			t.Fatalf("after %s jobs stay:\n%s", what, c.program(t, "squeue"))
		}
	}

	running := func() *clusterDriver {
		t.Helper()

		d := y.start(t, "there")
		require.True(t, eventually(func() bool { return c.jobs(t, "RUNNING") > 0 }), "no job runs: %s", d.stderr)

		return d
	}

	d := running()
	_ = d.cmd.Process.Signal(os.Interrupt)

	var exit *exec.ExitError
	if err := d.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 ||
		!strings.Contains(d.stderr.String(), " jobs are withdrawn") {
		t.Errorf("%v: %s", err, d.stderr)
	}

	empty("an interrupt")

	for _, driver := range []string{"lives", "is dead"} {
		d := running()
		if driver == "is dead" {
			_ = d.cmd.Process.Kill()
			_ = d.cmd.Wait()
		}

		cancel, stderr := y.command(t, "cancel", "there.yaml")
		out, err := cancel.Output()
		require.NoError(t, err, "%q, %v: %s", out, err, stderr)
		assert.True(t, regexp.MustCompile(`^cancelled [1-9]\d* jobs\n$`).Match(out), "%q, %v: %s", out, err, stderr)

		if driver == "lives" {
			if err := d.cmd.Wait(); err == nil || !strings.Contains(d.stderr.String(), "cancelled by pipeline cancel") {
				t.Errorf("%v: %s", err, d.stderr)
			}
		}

		empty("pipeline cancel")
	}

	y.config(t, clusterRun, "there")
	y.run(t, "run", "there.yaml", "--executor", "slurm")
}

// A controller that is away when the driver comes to submit is waited for.
func (c *slurmCluster) controllerAway(t *testing.T) {
	y := c.in(t.TempDir())
	y.config(t, clusterRun, "here", "there")
	y.run(t, "run", "here.yaml")

	c.do(t, "controller-off")
	d := y.start(t, "there")
	d.says(t, "jobs cannot be submitted now")
	c.do(t, "controller-on")
	d.ends(t)
	y.same(t, "there")
}

// A node cannot see the project's folder: its tasks are made on the other node, and the run names it once.
func (c *slurmCluster) blindNode(t *testing.T) {
	y := c.in(t.TempDir())
	y.config(t, clusterRun, "here", "there")
	y.run(t, "run", "here.yaml")

	c.ready(t)
	c.do(t, "node-off", "n1")
	c.do(t, "node-blind", "n1", y.dir)
	c.ready(t)

	d := y.start(t, "there")
	d.ends(t)
	t.Logf("%s", d.stderr)

	if s := d.stderr.String(); strings.Count(s, `a job on node "n1" `) != 1 || strings.Contains(s, "attempt") {
		t.Errorf("%s", s)
	}

	y.same(t, "there")
}
