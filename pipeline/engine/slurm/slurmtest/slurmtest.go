// Package slurmtest brings up a real Slurm cluster on this machine for tests:
// three nodes of two processors, partitions test (the default) and brief (one
// minute). Where Slurm is not installed, or the test is not root, tests skip by
// name, unless DOUBLETAKE_REQUIRE_SLURM=1 makes that a failure. On Debian the
// packages are slurmctld, slurmd, slurm-client and munge.
package slurmtest

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed cluster.sh
var script []byte

// Slots is how many one-processor jobs run at a time.
const Slots = 6

// Cluster is a running cluster.
type Cluster struct{ Dir, script string }

// Up starts a cluster and sets SLURM_CONF for this process. It returns nil and
// why where there can be none. Down must be called.
func Up() (*Cluster, error) {
	for _, c := range []string{"slurmctld", "slurmd", "munged", "sbatch"} {
		if _, err := exec.LookPath(c); err != nil {
			if _, err := os.Stat("/usr/sbin/" + c); err != nil {
				return nil, fmt.Errorf("%s is not installed", c)
			}
		}
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("starting a cluster needs root")
	}
	dir, err := os.MkdirTemp("", "slurm-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir, filepath.Join(dir, "cluster.sh")}
	if err := os.WriteFile(c.script, script, 0o755); err != nil {
		return nil, err
	}
	port, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	if out, err := c.run("up", strconv.Itoa(port), "3", "2"); err != nil {
		c.Down()
		return nil, fmt.Errorf("start cluster: %w: %s", err, out)
	}
	if err := os.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf")); err != nil {
		return nil, err
	}
	return c, nil
}

// freePorts finds n free ports in a row.
func freePorts(n int) (int, error) {
	for base := 20000 + os.Getpid()%4000*8; base < 60000; base += 8 {
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
	return 0, fmt.Errorf("no free ports")
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
		t.Fatalf("cluster.sh %v: %v: %s", args, err, out)
	}
	return out
}

// Slurm runs one of Slurm's commands.
func (c *Cluster) Slurm(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Jobs counts the array elements of real work (not probes) that the controller
// remembers, in the states named (all when none is).
func (c *Cluster) Jobs(t testing.TB, states ...string) int {
	t.Helper()
	s := "all"
	if len(states) > 0 {
		s = strings.Join(states, ",")
	}
	n := 0
	for _, l := range strings.Split(c.Slurm(t, "squeue", "-h", "-r", "--states="+s, "-o", "%j"), "\n") {
		if strings.HasPrefix(l, "dt-") && !strings.HasPrefix(l, "dt-probe-") {
			n++
		}
	}
	return n
}

// Ready waits until every node is idle again.
func (c *Cluster) Ready(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command("sinfo", "-h", "-N", "-p", "test", "-t", "idle", "-o", "%N").Output()
		if err == nil && len(strings.Fields(string(out))) == 3 {
			return
		}
		if time.Now().After(end) {
			state, _ := exec.Command("sinfo", "-N").CombinedOutput()
			t.Fatalf("the nodes do not become idle:\n%s", state)
		}
	}
}

// Down ends the cluster and removes it.
func (c *Cluster) Down() {
	if c != nil {
		_, _ = c.run("down")
		os.RemoveAll(c.Dir)
	}
}
