package app

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gridEngine brings up Debian's Grid Engine with two slots on this machine, and returns a
// project on it, for which a run on this machine has made here.
func gridEngine(t *testing.T) *slurmProject {
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
	if err != nil {
		t.Fatal(err)
	}

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

	x := &slurmProject{bin: filepath.Join(t.TempDir(), "pipeline"), dir: filepath.Join(t.TempDir(), "o'neill & co")}
	x.env = append(os.Environ(), "SGE_ROOT="+root, "SGE_CELL=default", fmt.Sprintf("SGE_QMASTER_PORT=%d", port),
		fmt.Sprintf("SGE_EXECD_PORT=%d", port+1), "PATH="+lib+":"+os.Getenv("PATH"))

	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		t.Fatal(err)
	}

	if out, err := exec.Command("go", "build", "-o", x.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return x
}

// program runs a program of the cluster's.
func (x *slurmProject) program(t *testing.T, words ...string) string {
	t.Helper()

	c := exec.Command("/usr/bin/env", words...)
	c.Env, c.Dir = x.env, x.dir

	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", words, err, out)
	}

	return string(out)
}

// start starts a run by qsub.
func (x *slurmProject) start(t *testing.T, file string) (ended chan error, stop func(os.Signal) error,
	stderr fmt.Stringer,
) {
	t.Helper()

	cmd, stderr := x.command(t, "run", file, "--executor", "command", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	return ended, cmd.Process.Signal, stderr
}

const byQsub = "executor:\n  command: qsub -V\n  status: qstat -f -explain a\n  parts: 4\n"

// Expected everywhere: the bytes of a run on this machine.
func TestGridEngine(t *testing.T) {
	x := gridEngine(t)
	write := func(text, work string) {
		text = strings.NewReplacer("WORK", work, "executor:\n", byQsub).Replace(text)
		put(t, x.dir, work+".yaml", text)
	}

	for _, work := range []string{"here", "arrays"} {
		write(clusterRun, work)
	}

	x.run(t, "run", "here.yaml")

	// A cluster that takes no work is reported within 15 s, with its own words: d is the queue's state, which is
	// disabled. When it does, the run goes on: the default campaign.
	t.Run("drained", func(t *testing.T) {
		y := *x
		y.dir = t.TempDir()

		whole, err := os.ReadFile(filepath.Join(repository, "pipeline.yaml"))
		for work, executor := range map[string]string{"here": "", "there": byQsub} {
			text := strings.Replace(string(whole), "workdir: runs\n", "workdir: "+work+"\n"+executor, 1)
			err = errors.Join(err, os.WriteFile(filepath.Join(y.dir, work+".yaml"), []byte(text), 0o644))
		}

		if err != nil {
			t.Fatal(err)
		}

		y.run(t, "run", "here.yaml")
		x.program(t, "qmod", "-d", "all.q")

		ended, _, stderr := y.start(t, "there.yaml")
		began := time.Now()

		if !eventually(func() bool { return strings.Contains(stderr.String(), `nothing runs: `) }) {
			t.Errorf("nothing is reported: %s", stderr)
		}

		took := time.Since(began)
		t.Logf("reported after %.0f s", took.Seconds())

		if took > 25*time.Second { // 15 s, and a start on a busy machine
			t.Errorf("reported after %s", took)
		}

		if !regexp.MustCompile(`"qstat -f -explain a" says:\n[^;]*all\.q@.* d\b`).MatchString(stderr.String()) {
			t.Errorf("the scheduler's reason is not named: %s", stderr)
		}

		if strings.Contains(stderr.String(), " left") {
			t.Errorf("time left while nothing runs: %s", stderr)
		}

		x.program(t, "qmod", "-e", "all.q")

		if err := <-ended; err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}

		t.Logf("the default campaign after %.0f s", time.Since(began).Seconds())
		y.same(t, "there")
	})

	t.Run("arrays", func(t *testing.T) {
		cmd, stderr := x.command(t, "tasks", "arrays.yaml", "--format", "sge", "--parts", "2")

		script, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}

		x.program(t, "sh", "-c", string(script))

		if !eventually(func() bool { return x.program(t, "qstat") == "" }) {
			t.Errorf("jobs are left: %s", x.program(t, "qstat", "-f"))
		}

		x.run(t, "run", "arrays.yaml", "--dry-run")
		x.same(t, "arrays")
	})

	t.Run("killed worker, aborted job", func(t *testing.T) {
		y := *x
		y.dir = t.TempDir()

		for _, work := range []string{"here", "there"} {
			text := strings.NewReplacer("WORK", work, "executor:\n", byQsub, "seeds: 1", "seeds: 2", "15000",
				"40000").Replace(longRun)
			put(t, y.dir, work+".yaml", text)
		}

		y.run(t, "run", "here.yaml")

		ended, _, stderr := y.start(t, "there.yaml")

		pids := map[int]bool{} // of the trainings
		cache := filepath.Join(y.dir, "there", ".cache")
		if !eventually(func() bool {
			left, _ := filepath.Glob(filepath.Join(cache, "scratch", "*", "checkpoint"))

			links, _ := filepath.Glob("/proc/[0-9]*/exe")
			for _, l := range links {
				if exe, err := os.Readlink(l); err == nil && strings.HasPrefix(exe, cache) {
					pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(l)))
					pids[pid] = true
				}
			}

			return len(left) > 0
		}) {
			t.Fatalf("no training: %s", stderr)
		}

		for pid := range pids {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				break
			}
		}

		x.program(t, "sh", "-c", "qdel -f $(qstat -s r | awk 'NR>2{print $1}' | tail -n1)")

		if err := <-ended; err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}

		if !strings.Contains(stderr.String(), "tried again, attempt 2 of 3: its process has shown no sign of life for 3") {
			t.Errorf("no word of it: %s", stderr)
		}

		y.same(t, "there")
	})

	// The job's own name space has an empty folder where the project is.
	t.Run("node without the folder", func(t *testing.T) {
		starter := filepath.Join(filepath.Dir(x.bin), "starter")
		text := fmt.Sprintf("#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none \"$0\"; exec \"$@\"' \"%s\" \"$@\"\n",
			x.dir)
		if err := os.WriteFile(starter, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}

		x.program(t, "qconf", "-mattr", "queue", "starter_method", starter, "all.q")
		write(clusterRun, "unseen")

		ended, stop, stderr := x.start(t, "unseen.yaml")
		if !eventually(func() bool { return strings.Contains(stderr.String(), `see whether the nodes can run `) }) {
			t.Errorf("nothing is reported: %s", stderr)
		}

		if err := stop(os.Interrupt); err != nil {
			t.Fatal(err)
		}

		if err := <-ended; err == nil || !strings.Contains(stderr.String(), "parts are withdrawn") {
			t.Errorf("%v: %s", err, stderr)
		}
	})

	if !bytes.Contains([]byte(x.program(t, "qstat", "-f")), []byte("all.q")) {
		t.Error("the cluster did not live to the end")
	}
}
