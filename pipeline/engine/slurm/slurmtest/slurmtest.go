//go:build unix

// Package slurmtest brings up a real Slurm cluster on this machine for tests.
// Where Slurm is not installed, or the test is not root, tests skip by name,
// unless DOUBLETAKE_REQUIRE_SLURM=1 makes that a failure. On Debian the packages
// are slurmctld, slurmd, slurm-client and munge.
package slurmtest

import (
	_ "embed"
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
	"time"
)

//go:embed cluster.sh
var script []byte

// Partition is a partition on nodes of its own.
type Partition struct {
	Name        string
	Nodes, CPUs int    // how many nodes, and processors of each; they need not exist
	Options     string // further words of its line in slurm.conf
}

// Test is the partition of every cluster, its default: 6 jobs at a time.
var Test = Partition{Name: "test", Nodes: 3, CPUs: 2, Options: "Default=YES DefaultTime=10"}

// Cluster is a running cluster.
type Cluster struct {
	Dir, script string
	parts       []Partition
	guard       *exec.Cmd // ends the cluster when this process closes hold, or ends
	hold        io.Closer
}

// Up starts a cluster of the partition Test and others. It returns nil and why
// where there can be none. Down ends it; so does the end of this process, even
// if it is killed.
func Up(others ...Partition) (*Cluster, error) {
	for _, c := range []string{"slurmctld", "slurmd", "munged", "sbatch"} {
		if _, err := exec.LookPath(c); err != nil {
			if _, err := os.Stat("/usr/sbin/" + c); err != nil {
				return nil, fmt.Errorf("%s is not installed", c)
			}
		}
	}

	if os.Geteuid() != 0 {
		return nil, errors.New("starting a cluster needs root")
	}

	var last error
	for range 3 { // a port may have been taken between the look and its use
		c, err := start(append([]Partition{Test}, others...))
		if err == nil {
			return c, nil
		}

		last = err
	}

	return nil, last
}

func start(parts []Partition) (*Cluster, error) {
	base := os.TempDir()
	if len(base) > 60 { // a socket's path has 107 bytes
		base = "/tmp"
	}

	dir, err := os.MkdirTemp(base, "slurm-")
	if err != nil {
		return nil, err
	}

	c := &Cluster{Dir: dir, script: filepath.Join(dir, "cluster.sh"), parts: parts}
	if err := os.WriteFile(c.script, script, 0o755); err != nil {
		return nil, err
	}

	if err := os.Mkdir(filepath.Join(dir, "home"), 0o755); err != nil {
		return nil, err
	}

	nodes := 0

	var words []string
	for _, p := range parts {
		nodes += p.Nodes
		words = append(words, fmt.Sprintf("%s:%d:%d:%s", p.Name, p.Nodes, p.CPUs, p.Options))
	}

	port, err := freePorts(nodes + 4)
	if err != nil {
		return nil, err
	}

	c.guard = exec.Command(c.script, "guard", dir)
	c.guard.Env = c.Env()[:len(c.Env())-1]                   // it looks for processes that carry SLURM_CONF, and is none
	c.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends this process must not end it
	if c.hold, err = c.guard.StdinPipe(); err != nil {
		return nil, err
	}

	if err := c.guard.Start(); err != nil {
		return nil, err
	}

	if out, err := c.run(append([]string{"up", strconv.Itoa(port)}, words...)...); err != nil {
		c.Down()
		return nil, fmt.Errorf("start cluster: %w: %s", err, out)
	}

	return c, nil
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

// Required skips the test, or fails it where Slurm is required, when there is
// no cluster.
func Required(t testing.TB, c *Cluster, why error) {
	t.Helper()

	if c != nil {
		return
	}

	if os.Getenv("DOUBLETAKE_REQUIRE_SLURM") == "1" {
		t.Fatalf("Slurm is required here: %v", why)
	}

	t.Skipf("no Slurm cluster: %v", why)
}

// Conf is the path of the cluster's slurm.conf, for SLURM_CONF.
func (c *Cluster) Conf() string { return filepath.Join(c.Dir, "slurm.conf") }

// Env is this process's environment with SLURM_CONF of this cluster, which is
// its last entry. Its HOME is empty: jobs with setup commands are login shells,
// and programs started by a developer's profile (for example a version manager
// that takes a lock) must neither delay jobs nor be killed with them.
func (c *Cluster) Env() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "SLURM_CONF=") || strings.HasPrefix(kv, "HOME=")
	})
	return append(env, "HOME="+filepath.Join(c.Dir, "home"), "SLURM_CONF="+c.Conf())
}

func (c *Cluster) run(args ...string) (string, error) {
	cmd := exec.Command(c.script, append([]string{args[0], c.Dir}, args[1:]...)...)
	// Daemons that stay must not hold pipes of ours: they have files for output.
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Do runs one of cluster.sh's commands: controller-off, node-off n1, …
func (c *Cluster) Do(t testing.TB, args ...string) string {
	t.Helper()

	out, err := c.run(args...)
	if err != nil {
		t.Errorf("cluster.sh %v: %v: %s", args, err, out)
	}

	return out
}

// Slurm runs one of Slurm's commands. A controller that is too busy is asked
// again.
func (c *Cluster) Slurm(t testing.TB, name string, args ...string) string {
	t.Helper()

	for try := 1; ; try++ {
		cmd := exec.Command(name, args...)
		cmd.Env = c.Env()
		out, err := cmd.CombinedOutput()
		if err == nil {
			return strings.TrimSpace(string(out))
		}

		if try == 5 {
			t.Errorf("%s %v: %v: %s", name, args, err, out)
			return ""
		}

		time.Sleep(time.Second)
	}
}

// Jobs counts the array elements of real work (not probes) for a work directory
// below dir that the controller remembers, in the states named (all when none
// is).
func (c *Cluster) Jobs(t testing.TB, dir string, states ...string) int {
	t.Helper()

	s := "all"
	if len(states) > 0 {
		s = strings.Join(states, ",")
	}

	n := 0
	for _, l := range strings.Split(c.Slurm(t, "squeue", "-h", "-r", "--states="+s, "-o", "%j %Z"), "\n") {
		name, at, _ := strings.Cut(l, " ")
		if strings.HasPrefix(name, "dt-") && !strings.HasPrefix(name, "dt-probe-") && strings.HasPrefix(at, dir) {
			n++
		}
	}

	return n
}

// Ready waits until every node of a partition is idle again.
func (c *Cluster) Ready(t testing.TB, p Partition) {
	t.Helper()

	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if out := c.Slurm(t, "sinfo", "-h", "-N", "-p", p.Name, "-t", "idle", "-o",
			"%N"); len(strings.Fields(out)) == p.Nodes {
			return
		}

		if time.Now().After(end) {
			t.Fatalf("the nodes do not become idle:\n%s", c.Slurm(t, "sinfo", "-N"))
		}
	}
}

// Logs returns the ends of the daemons' logs, to be shown when a test fails.
func (c *Cluster) Logs() string {
	if c == nil {
		return ""
	}

	out, _ := c.run("logs")

	return out
}

// Down ends the cluster with its jobs and removes it.
func (c *Cluster) Down() {
	if c != nil {
		c.hold.Close()
		_ = c.guard.Wait()
	}
}
