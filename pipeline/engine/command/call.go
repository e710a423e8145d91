package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// output is what a command printed.
type output struct{ stdout, stderr string }

// all returns the standard output, and behind it the messages.
func (o output) all() string { return strings.TrimSpace(o.stdout + "\n" + o.stderr) }

// callWithin is call with a limit on the time that the command may take.
func callWithin(ctx context.Context, longest time.Duration, dir string, words []string) (output, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()

	return call(ctx, dir, words)
}

// call runs a command in the folder dir and returns what it printed. An error contains it too. The environment has no
// variables that change what Slurm's commands do: the driver may itself run in a job, and the user may have set options
// for other jobs.
func call(ctx context.Context, dir string, words []string) (output, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // a child of the command may live on and keep its output open
	cmd.Env = slices.DeleteFunc(os.Environ(), changesSlurm)

	err := cmd.Run()
	printed := output{stdout.String(), stderr.String()}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return printed, nil
	}

	return printed, fmt.Errorf("%w: %s", err, printed.all())
}

// changesSlurm reports whether a variable of the environment, NAME=VALUE, changes what Slurm's commands do. SLURM_CONF
// does not: it is the path of the cluster's configuration, without which the commands do not find the cluster.
func changesSlurm(variable string) bool {
	if strings.HasPrefix(variable, "SLURM_CONF=") {
		return false
	}

	for _, prefix := range []string{"SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}

	return false
}
