package slurmtest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The cluster ends with the process that started it, even if that is killed
// while a job runs: no process of it is left, nor its folder.
func TestEndsWithItsProcess(t *testing.T) {
	if os.Getenv("SLURMTEST_CHILD") != "" {
		c, err := Up()
		if err != nil {
			t.Fatal(err)
		}

		c.Slurm(t, "sbatch", "--chdir="+c.Dir, "--output=/dev/null", "--wrap", "sleep 600")

		for c.Slurm(t, "squeue", "-h", "-t", "RUNNING") == "" {
			time.Sleep(50 * time.Millisecond)
		}

		fmt.Println("up in " + c.Dir)
		time.Sleep(time.Hour)
	}

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_SLURM") != "1" {
		t.Skip("starts a real cluster: DOUBLETAKE_REQUIRE_SLURM=1")
	}

	cmd := exec.Command(os.Args[0], "-test.run", "^TestEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), "SLURMTEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	dir, messages := "", ""
	for sc := bufio.NewScanner(out); dir == "" && sc.Scan(); messages += sc.Text() + "\n" {
		dir, _ = strings.CutPrefix(sc.Text(), "up in ")
		if dir == sc.Text() {
			dir = ""
		}
	}

	if dir == "" {
		t.Fatalf("no cluster: %s", messages)
	}

	if n := len(owned(dir)); n < 5 { // munged, slurmctld, slurmd, slurmstepd, the job
		t.Errorf("%d processes are found of a running cluster", n)
	}

	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(dir)

		left := owned(dir)
		if os.IsNotExist(err) && len(left) == 0 {
			break
		}

		if time.Now().After(end) {
			t.Fatalf("after a minute processes are left: %v; folder: %v", left, err)
		}
	}
}

// owned lists the processes that carry the cluster's SLURM_CONF.
func owned(dir string) []string {
	var pids []string

	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range all {
		b, _ := os.ReadFile(p)
		if bytes.Contains(append([]byte{0}, b...), []byte("\x00SLURM_CONF="+dir+"/slurm.conf\x00")) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}

	return pids
}
