package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// Two tasks fail at a time. Expected: the status of the gravest error, and a line for each task, whose order is the
// order of the errors. No error means success.
func TestExitStatusOfSeveralTasks(t *testing.T) {
	failed := func(id string, err error) error { return &engine.TaskError{Task: &engine.Task{ID: id}, Err: err} }
	unreadable := func(path string) error { return &engine.FileError{Path: path, Err: errors.New("bad")} }
	data := fault.At("c.wav", "", "samples", "none", "")
	key := &config.Error{File: "pipeline.yaml", Text: "no such key"}
	plain := errors.New("out of memory")

	for _, c := range []struct {
		name          string
		first, second error
		status        int
		lines         [2]string
	}{
		{
			"two files", unreadable("a.wav"), unreadable("b.wav"), ExitData,
			[2]string{"read a.wav: bad", "read b.wav: bad"},
		},
		{
			"a file and another failure", unreadable("a.wav"), plain, ExitData,
			[2]string{"read a.wav: bad", "two: out of memory"},
		},
		{
			"data and configuration", data, key, ExitUsage,
			[2]string{data.Error(), key.Error()},
		},
	} {
		status, text := ExitStatus(errors.Join(failed("one", c.first), failed("two", c.second)))
		assert.Equal(t, c.status, status, "exit status of %s", c.name)
		assert.Equal(t, fmt.Sprintf("2 tasks failed:\n  %s\n  %s", c.lines[0], c.lines[1]), text, "text of %s", c.name)
	}

	status, text := ExitStatus(errors.Join(failed("one", key), failed("two", key)))
	assert.Equal(t, ExitUsage, status, "exit status of one error in two tasks")
	assert.Equal(t, key.Error(), text, "text of one error in two tasks")

	status, text = ExitStatus(nil)
	assert.Equal(t, ExitSuccess, status, "exit status without an error")
	assert.Equal(t, "", text, "text without an error")
}
