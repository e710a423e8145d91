package taskfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A task writes its output as JSON, and a later task reads it.
func ExampleWriteJSON() {
	dir, err := os.MkdirTemp("", "taskfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	job := &engine.Job{Dir: dir}
	if err := WriteJSON(job, "levels.json", map[string]float64{"bpf1_db": 71.5}); err != nil {
		fmt.Println(err)
		return
	}

	var levels map[string]float64
	if err := ReadJSON(job.Output("levels.json"), &levels); err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(levels)
	// Output: map[bpf1_db:71.5]
}

// A value of a type that no package has registered would have other bytes after other tasks: it is refused.
func TestGobOfUnregisteredType(t *testing.T) {
	type unregistered struct{ A float64 }

	path := filepath.Join(t.TempDir(), "a.gob")
	assert.ErrorContains(t, WriteGob("rows", path, &unregistered{1}),
		"write rows: the type taskfile.unregistered is not registered")
	assert.NoFileExists(t, path)
}

// Values that JSON cannot hold and files that hold none are errors that name the file.
func TestJSON(t *testing.T) {
	j := &engine.Job{Dir: t.TempDir()}
	path := j.Output("a.json")
	type pair struct{ A, B float64 }

	require.NoError(t, WriteJSON(j, "a.json", pair{1, 0.1}))

	var got pair
	require.NoError(t, ReadJSON(path, &got))
	assert.Equal(t, pair{1, 0.1}, got)

	assert.ErrorContains(t, WriteJSON(j, "a.json", func() {}), "a.json")

	testfile.Write(t, path, "{")

	assert.ErrorContains(t, ReadJSON(path, &got), path)
}
