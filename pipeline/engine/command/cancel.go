package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// maxCancelTime is how long a command that cancels a job may take.
const maxCancelTime = 20 * time.Second

// Cancel cancels the jobs of a work directory, even if their driver no longer lives, and returns how many parts had not
// ended. A driver that still lives notices that its jobs were cancelled, and ends.
func Cancel(workdir string) (int, error) {
	dir, err := filepath.Abs(workdir)
	if err != nil {
		return 0, fmt.Errorf("find workdir: %w", err)
	}

	return withdraw(context.Background(), folder(dir)), nil
}

// withdraw cancels the jobs that a driver noted below root, removes their parts, and returns how many parts had not
// ended. Without a file of jobs there is nothing to cancel.
func withdraw(ctx context.Context, root string) int {
	text, err := os.ReadFile(jobsFile(root))
	if err != nil {
		return 0
	}

	os.Remove(jobsFile(root))

	open := 0
	for _, path := range engine.Matches(root, "parts/*/"+planFile) {
		if sign, _ := readLife(filepath.Dir(path)); !sign.Ended {
			open++
		}
	}

	for line := range strings.Lines(string(text)) {
		var words []string
		if json.Unmarshal([]byte(line), &words) == nil && len(words) > 0 {
			// The error is dropped: the scheduler does not know jobs that have ended.
			_, _ = callWithin(ctx, maxCancelTime, root, words)
		}
	}

	clearParts(root)

	return open
}

// clearParts removes the folders of all parts. The folder around them stays: a job that does not find it would conclude
// that its node does not see the work directory.
func clearParts(root string) {
	for _, path := range engine.Matches(root, "parts/*") {
		os.RemoveAll(path)
	}
}

// cancelOpen cancels the submissions with parts that may be in the queue, and removes the file of jobs. Errors are
// dropped: the scheduler does not know jobs that have ended.
func (e *Executor) cancelOpen() {
	for _, s := range e.submissions {
		if s.open == 0 || s.id == "" {
			continue
		}

		if words, err := s.cancel(s.id); err == nil {
			_, _ = callWithin(context.WithoutCancel(e.ctx), maxCancelTime, e.root, words)
		}
	}

	os.Remove(jobsFile(e.root))
}
