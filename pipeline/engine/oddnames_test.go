package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bracketed is a name that a folder can have, and that a pattern of package filepath would misread: "runs [1" is not a
// valid pattern, and the pattern "[12]" does not match the folder "[12]".
const bracketed = "runs [12] [x"

// A work directory may have a name with brackets. Gc finds the same garbage there as anywhere: the result of the task
// whose setting changed, and the folder that a killed run left.
func TestCollectInBracketedFolder(t *testing.T) {
	w := newWorld(filepath.Join(t.TempDir(), bracketed))
	w.write(t)
	w.succeeds(t, Options{})

	w.config["fit.rate"] = "2"
	w.succeeds(t, Options{})
	require.NoError(t, os.MkdirAll(filepath.Join(w.dir, ".cache", "damaged", "left"), 0o755))

	garbage, err := Collect(w.plan(), true)
	require.NoError(t, err)

	var found []string
	for _, object := range garbage {
		name := object.Task
		if name == "" {
			name = object.Key
		}
		found = append(found, name)
	}
	assert.ElementsMatch(t, []string{"fit/0", "fit/1", "left"}, found)

	garbage, err = Collect(w.plan(), false)
	require.NoError(t, err)
	assert.Empty(t, garbage, "after gc")
}

// In a work directory whose name has brackets, a run removes the unfinished index of a killed run.
func TestClearInBracketedFolder(t *testing.T) {
	w := newWorld(filepath.Join(t.TempDir(), bracketed))
	w.write(t)
	w.succeeds(t, Options{})

	left := filepath.Join(w.dir, ".cache", ".tmp-killed")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	w.makes(t, Options{}, "nothing")
	assert.NoFileExists(t, left)
}

// The results of a task that was made again since are genuine too: their manifests are in the cache, also if the name
// of the work directory has brackets. An edited file is not.
func TestGenuineInBracketedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), bracketed)
	plan := figures(dir)
	plan.Tasks[0].ID = "a/draw"
	_, err := Run(t.Context(), plan, Options{Jobs: 1})
	require.NoError(t, err)

	old := filepath.Join(dir, "a", "report", "figures", "one.svg")
	copied := filepath.Join(t.TempDir(), "one.svg")
	content, err := os.ReadFile(old)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, ".cache", "index"))) // the manifests alone know the result

	isGenuine := Genuine(old)
	assert.NoError(t, isGenuine(copied))

	require.NoError(t, os.WriteFile(copied, []byte("edited"), 0o600))

	var edited *FileError
	assert.ErrorAs(t, isGenuine(copied), &edited)
}

// Gc of a project that was never run has nothing to remove, and saves the hashes of the raw files that it read: an
// index that has changed stands for them here.
func TestCollectBeforeFirstRun(t *testing.T) {
	w := written(t)
	s := newStore(w.dir)
	s.dirty = true

	require.NoError(t, os.MkdirAll(w.dir, 0o755)) // as lock does
	require.NoError(t, s.remove(nil, w.plan()))
	assert.FileExists(t, filepath.Join(w.dir, ".cache", "index"))
}

// Gc refuses a plan that Run refuses, instead of reading a task that is not there.
func TestCollectFaultyPlan(t *testing.T) {
	_, err := Collect(&Plan{Dir: t.TempDir(), Tasks: []*Task{{ID: "a", Deps: []Dep{{"b", "out"}}}}}, false)
	assert.EqualError(t, err, "plan: task a needs b, which does not come before it")
}

// A file system without hard links has copies of results, which are read-only like the results: a lost list of
// published files is restored from read-only files.
func TestCopyIsReadOnly(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source")
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(source, []byte("1"), 0o600))

	made := time.Unix(1_700_000_000, 0)
	require.NoError(t, copyFile(source, target, made))

	fi, err := os.Stat(target)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o444), fi.Mode().Perm())
	assert.True(t, fi.ModTime().Equal(made), "the time is that of the source, found %v", fi.ModTime())
}

// A part's plan may be cut off or edited. A task without a key is an error of the plan, which the worker reports.
func TestSpecWithoutKey(t *testing.T) {
	w := written(t)

	var fault *SpecError
	_, err := (&Worker{Plan: w.plan()}).Make(t.Context(), Spec{Task: "read/a"})
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, "read/a: the driver's plan has no key for it; start the run again", fault.Error())
}

// A path that was published as a file and is now a folder of published files is on the list as a folder, although the
// list has as many names as before. The expected list follows from the plan.
func TestPublishFileBecomesFolder(t *testing.T) {
	plan := figures(t.TempDir())
	s := openStore(plan.Dir)
	require.NoError(t, s.list("", []string{"a/report/figures/one.svg"}))

	_, _, err := s.declare(plan)
	require.NoError(t, err)

	names, sound, err := s.published("")
	require.NoError(t, err)
	assert.True(t, sound)
	assert.Equal(t, []string{"a/report/figures/"}, names)
}
