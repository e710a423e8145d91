package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/engine/slurm/job"
)

// commandTime is how long a command of Slurm's may take; they wait for a
// controller that does not answer, by the cluster's MessageTimeout.
const commandTime = 90 * time.Second

// environment is the driver's without what a job it may itself run in, or the
// user's habits, would make sbatch and squeue do otherwise.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		if k == "SLURM_CONF" {
			return false
		}

		prefixes := []string{"SLURM_", "SBATCH_", "SLURMD_", "SQUEUE_", "SCANCEL_", "SINFO_", "SALLOC_", "SRUN_"}

		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k, p) })
	})
}

// call runs one command of Slurm's, without a shell, and returns its output.
func call(ctx context.Context, stdin string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Stdin = strings.NewReader(stdin)
	c.Env = environment()
	c.WaitDelay = time.Second
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	if err := c.Run(); err != nil {
		text := strings.TrimSpace(bad.String())
		if errors.Is(err, exec.ErrNotFound) {
			return "", &UnavailableError{name}
		}

		text = cmp.Or(text, err.Error())

		return "", fmt.Errorf("%s: %s", name, text)
	}

	return out.String(), nil
}

// UnavailableError reports that a command of Slurm's is not on this machine.
type UnavailableError struct{ Command string }

func (e *UnavailableError) Error() string {
	return e.Command + " is not here: run on a machine that submits to the cluster, or with --executor local"
}

// row is one array element in squeue's output.
type row struct {
	name          string
	job           string // of the array
	index         int    // -1: the array as a whole, of which nothing began
	state, reason string
	node          string
}

const rowFormat = "%j|%F|%K|%T|%N|%r"

func parseRows(out string) []row {
	var rows []row
	for _, l := range strings.Split(out, "\n") {
		f := strings.SplitN(l, "|", 6)
		if len(f) < 6 {
			continue
		}

		i, err := strconv.Atoi(f[2])
		if err != nil {
			i = -1
		}

		rows = append(rows, row{f[0], f[1], i, f[3], f[5], f[4]})
	}

	return rows
}

// ended reports whether a state is a last one. States that are not known here
// are taken for going on: a job is never thought dead by mistake.
func ended(state string) bool {
	switch state {
	case "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
		"TIMEOUT", "LAUNCH_FAILED", "RECONFIG_FAIL":
		return true
	}

	return false
}

// squeue returns the state of every array element under these names. Ended jobs
// are among them for as long as the controller remembers them.
func squeue(ctx context.Context, names []string) ([]row, error) {
	out, err := call(ctx, "", "squeue", "--noheader", "--array", "--states=all", "--name="+strings.Join(names, ","),
		"--format="+rowFormat)
	if err != nil {
		return nil, err
	}

	return parseRows(out), nil
}

// passing reports whether an error of sbatch is one that goes by: the
// controller is away or busy, or has as many jobs as it takes.
func passing(err error, inHand bool) bool {
	t := strings.ToLower(err.Error())
	for _, s := range []string{
		"unable to contact slurm controller", "socket timed out", "temporarily unable", "connection refused",
		"connection timed out", "zero bytes",
		"standby", "resource temporarily unavailable", "connect failure", "transport endpoint", "signal: killed",
		"deadline exceeded", "send/recv", "communication", "please retry", "network is unreachable", "connection reset",
		"unexpected message", "protocol authentication error", "munge", "job submit limit exceeded temporarily",
	} {
		if strings.Contains(t, s) {
			return true
		}
	}

	return inHand && strings.Contains(t, "submit limit") // of this user: there will be room again
}

// indices writes array indices as sbatch and scancel read them: 0-3,7.
func indices(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}

		if i == j {
			parts = append(parts, strconv.Itoa(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}

		i = j + 1
	}

	return strings.Join(parts, ",")
}

// cluster is what the executor asks about the cluster, once.
type cluster struct {
	maxArray int // elements of an array
	slots    int // jobs that could run at a time
}

func askCluster(ctx context.Context, s job.Settings) cluster {
	c := cluster{maxArray: 1000, slots: 32}
	if out, err := call(ctx, "", "scontrol", "show", "config"); err == nil {
		for _, l := range strings.Split(out, "\n") {
			k, v, _ := strings.Cut(l, "=")
			if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && strings.TrimSpace(k) == "MaxArraySize" && n > 0 {
				c.maxArray = min(n, 1000)
			}
		}
	}

	if out, err := call(ctx, "", "sinfo", "--noheader", "--format=%C|%P"); err == nil {
		if cpus := processors(out, s.Partition); cpus > 0 {
			c.slots = max(1, cpus/max(1, s.CPUs))
		}
	}

	return c
}

// processors counts the processors of partitions (a,b), or of the default one,
// that could do work now, from lines of allocated/idle/other/total|partition.
func processors(out, partitions string) int {
	cpus := 0
	for _, l := range strings.Split(out, "\n") {
		counts, name, _ := strings.Cut(strings.TrimSpace(l), "|")
		name, isDefault := strings.CutSuffix(name, "*")

		f := strings.Split(counts, "/")
		if len(f) != 4 || partitions == "" && !isDefault || partitions != "" &&
			!slices.Contains(strings.Split(partitions, ","), name) {
			continue
		}

		allocated, err1 := strconv.Atoi(f[0])

		idle, err2 := strconv.Atoi(f[1])
		if err1 == nil && err2 == nil {
			cpus += allocated + idle
		}
	}

	return cpus
}
