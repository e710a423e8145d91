package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine/slurm/slurmtest"
)

// peerLimit is how long Snakemake is given for what takes this program seconds.
const peerLimit = 4 * time.Minute

// snakefile makes 343 files, each after 0.1 s, and one that needs them all: the
// work of TestShortTasks.
const snakefile = `rule all:
    input: [f"out/{i}" for i in range(343)]
rule one:
    output: touch("out/{i}")
    shell: "sleep 0.1"
`

// TestPeer prints the table of docs/scale.md: 343 tasks of 0.1 s by this
// executor and by Snakemake with --slurm, one after the other, in one cluster of
// 6 slots with the accounting that Snakemake needs. Where neither is at fault
// nothing is concluded from times; the test fails when a run of ours does.
func TestPeer(t *testing.T) {
	if os.Getenv("DOUBLETAKE_PEER") != "1" {
		t.Skip("takes ten minutes and wants snakemake, mariadb-server, slurmdbd and slurm-wlm-mysql-plugin: " +
			"DOUBLETAKE_PEER=1")
	}

	version, err := exec.Command("snakemake", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}

	t.Setenv("SLURMTEST_ACCOUNTING", "1")

	c, err := slurmtest.Up()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Down)
	t.Setenv("SLURM_CONF", c.Conf())
	c.Slurm(t, "sacctmgr", "-i", "add", "account", "lab")
	c.Slurm(t, "sacctmgr", "-i", "add", "user", "root", "account=lab")

	load := func() string { b, _ := os.ReadFile("/proc/loadavg"); return strings.Fields(string(b))[0] }
	all := func() int { return len(strings.Fields(c.Slurm(t, "squeue", "-h", "-r", "--states=all", "-o", "%A"))) }
	var table strings.Builder
	row := func(who string, began time.Time, made, noticed string, jobs int) {
		fmt.Fprintf(&table, "| %s | %.0f s | %s | %s | %d | %s |\n", who, time.Since(began).Seconds(), made, noticed, jobs,
			load())
	}

	y, dir := newToy(t, 343, 100)
	y.Options.Partition = ""
	began, before := time.Now(), all()

	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	y.check(t)
	row("`pipeline run --executor slurm`", began, "343", "343", all()-before)

	for _, jobs := range []string{"6", "343"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Snakefile"), []byte(snakefile), 0o644); err != nil {
			t.Fatal(err)
		}

		c.Ready(t, slurmtest.Test)
		began, before = time.Now(), all()
		messages := &words{}
		cmd := exec.Command("timeout", "--signal=KILL", fmt.Sprint(peerLimit.Seconds()), "snakemake", "--slurm", "-j", jobs,
			"--default-resources", "slurm_account=lab", "slurm_partition=test", "mem_mb=50", "runtime=5")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, messages, messages
		cmd.WaitDelay = 10 * time.Second
		cmd.Env = append(c.Env(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "USER=root") // it asks for these
		err := cmd.Run()
		out, _ := os.ReadDir(filepath.Join(dir, "out"))
		noticed := strings.Count(messages.String(), "Finished job ")

		if len(out) == 0 {
			t.Fatalf("snakemake made nothing: %v: %s", err, messages)
		}

		row(fmt.Sprintf("Snakemake %s `--slurm -j %s`", strings.TrimSpace(string(version)), jobs), began,
			fmt.Sprint(min(len(out), 343)), fmt.Sprint(min(noticed, 343)), all()-before)

		if ids := strings.Fields(c.Slurm(t, "squeue", "-h", "-o", "%A")); len(ids) > 0 {
			c.Slurm(t, "scancel", ids...)
		}
	}

	t.Logf("343 tasks of 0.1 s, 6 slots; Snakemake was ended after %v\n\n| | time | outputs made | noticed by the "+
		"driver | jobs | load |\n|---|---|---|---|---|---|\n%s", peerLimit, table.String())
}
