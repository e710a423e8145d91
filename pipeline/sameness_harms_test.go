package pipeline_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// harms are what must not change any result. Each returns its description, or "" if it did nothing.
var harms = []func(p *editedProject, t *testing.T) string{
	(*editedProject).killRun, (*editedProject).runInTwoProcesses, (*editedProject).exchangeResults,
	(*editedProject).removeCache, (*editedProject).flipCache, (*editedProject).collectGarbage,
	(*editedProject).reportHeldOut, (*editedProject).linkData, (*editedProject).linkFile, (*editedProject).linkRuns,
}

// harm does one of harms in half of the cases, and returns its description. In the other half it returns "".
func (p *editedProject) harm(t *testing.T) string {
	t.Helper()

	if k := p.rng.IntN(2 * len(harms)); k < len(harms) {
		return harms[k](p, t)
	}

	return ""
}

// work returns the work directory of the project.
func (p *editedProject) work() string { return filepath.Join(p.dir, "runs") }

// cache returns a path below the cache of the project.
func (p *editedProject) cache(names ...string) string {
	return filepath.Join(append([]string{p.work(), ".cache"}, names...)...)
}

// killRun starts a run of the project in a process of its own and kills it after at most 0.4 s.
func (p *editedProject) killRun(t *testing.T) string {
	t.Helper()

	cmd := p.startRun(t)
	time.Sleep(time.Duration(p.rng.IntN(400)) * time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed

	return "killed"
}

// runInTwoProcesses runs the project in two processes at the same time. One of them may find the work directory locked.
func (p *editedProject) runInTwoProcesses(t *testing.T) string {
	t.Helper()

	first := p.startRun(t)
	second := p.startRun(t)
	require.NoError(t, first.Wait())
	require.NoError(t, second.Wait())

	return "run in two processes"
}

// runVariable is the environment variable that names the project that TestRunInProcess runs.
const runVariable = "DOUBLETAKE_RUN_IN_PROCESS"

// startRun starts a run of the project in a process of its own.
func (p *editedProject) startRun(t *testing.T) *exec.Cmd {
	t.Helper()

	cmd := exec.Command(os.Args[0], "-test.run=^TestRunInProcess$")
	cmd.Env = append(os.Environ(), runVariable+"="+p.dir)
	require.NoError(t, cmd.Start())

	return cmd
}

// TestRunInProcess is the process that startRun starts.
func TestRunInProcess(t *testing.T) {
	dir := os.Getenv(runVariable)
	if dir == "" {
		t.Skip("started by TestSameness")
	}

	p := &editedProject{dir: dir}
	p.readConfig(t, testfile.Read(t, filepath.Join(dir, "pipeline.yaml")))
	p.run(t)
}

// exchangeResults exchanges two results of the cache.
func (p *editedProject) exchangeResults(t *testing.T) string {
	t.Helper()

	objects, err := filepath.Glob(p.cache("objects", "*", "*"))
	require.NoError(t, err)

	if len(objects) < 2 {
		return ""
	}

	first := 1 + p.rng.IntN(len(objects)-1)
	second := p.rng.IntN(first)
	exchange(t, objects[first], objects[second])

	return "two results of the cache exchanged"
}

// removeCache removes a part of the cache, or all of it.
func (p *editedProject) removeCache(t *testing.T) string {
	t.Helper()

	part := p.pick([]string{"index", "published", "objects", ""})
	if part == "published" || part == "" {
		p.loseLists(t)
	}

	require.NoError(t, os.RemoveAll(p.cache(part)))

	return "part of the cache removed: " + part
}

// flipCache changes a bit of a file of the cache.
func (p *editedProject) flipCache(t *testing.T) string {
	t.Helper()

	files := filesBelow(p.cache())
	if len(files) == 0 {
		return ""
	}

	path := p.pick(files)
	if filepath.Dir(path) == p.cache("published") {
		p.loseLists(t)
	}

	p.flipBit(t, path, 0)

	return "bit of " + strings.TrimPrefix(path, p.cache())
}

// loseLists notes that the lists of published files may be lost. Until an experiment runs again, no run knows that its
// folder was published.
func (p *editedProject) loseLists(t *testing.T) {
	t.Helper()

	entries, err := os.ReadDir(p.work())
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}

	for _, entry := range entries {
		if entry.Name() != ".cache" {
			p.unlisted[entry.Name()] = true
		}
	}
}

// collectGarbage removes what the cache does not need any more. A configuration that is refused has no garbage.
func (p *editedProject) collectGarbage(t *testing.T) string {
	t.Helper()

	project, err := pipeline.Load(filepath.Join(p.dir, "pipeline.yaml"))
	if err != nil {
		return ""
	}

	_, err = project.Collect(true)
	require.NoError(t, err)

	return "garbage collected"
}

// heldOutRules are arguments of report --held-out by kind of project.
var heldOutRules = map[string]string{
	"table": "a=3", "force": "alpha_deg=0", "sound": "rpm=3000", "toy": "x=3:4",
}

// reportHeldOut makes the report with a further split, as pipeline report --held-out does. It may be
// refused or fail because of the data, as the run of a configuration may.
func (p *editedProject) reportHeldOut(t *testing.T) string {
	t.Helper()

	splits, err := pipeline.HeldOut([]string{heldOutRules[p.kind]})
	require.NoError(t, err)

	project, err := pipeline.Load(filepath.Join(p.dir, "pipeline.yaml"), splits...)
	if err != nil {
		return ""
	}

	experiment := p.pick(slices.Sorted(maps.Keys(p.experiments())))
	_, err = project.Run(t.Context(), pipeline.Options{
		Selection: pipeline.Selection{Experiments: []string{experiment}}, Jobs: 2, KeepGoing: true,
	})
	if err != nil {
		var fault *engine.PanicError
		require.NotErrorAs(t, err, &fault)

		return "report of a further split of " + experiment + " failed: " + err.Error()
	}

	return "report of a further split of " + experiment
}

// linkData replaces the folder of data by a symbolic link to it, once.
func (p *editedProject) linkData(t *testing.T) string {
	t.Helper()
	return p.link(t, filepath.Join(p.dir, "data"), "folder of data linked")
}

// linkFile replaces a file of data by a symbolic link to it.
func (p *editedProject) linkFile(t *testing.T) string {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(p.dir, "data", "*"))
	require.NoError(t, err)

	if len(files) == 0 {
		return ""
	}

	path := p.pick(files)

	return p.link(t, path, "file "+filepath.Base(path)+" linked")
}

// linkRuns replaces the work directory by a symbolic link to it, once.
func (p *editedProject) linkRuns(t *testing.T) string {
	t.Helper()
	return p.link(t, p.work(), "work directory linked")
}

// A file, the folder of data and the work directory may be symbolic links: a run then gives byte for byte what it gives
// without the link, with a cache and without one.
func TestLinks(t *testing.T) {
	for what, link := range map[string]func(p *editedProject, t *testing.T) string{
		"file": (*editedProject).linkFile, "folder of data": (*editedProject).linkData,
		"work directory": (*editedProject).linkRuns,
	} {
		p := newEditedProject(t, rand.New(rand.NewPCG(54, 3)), "table")
		p.saveConfig(t)
		want := p.run(t)
		require.Empty(t, want.failure, what)
		require.NotEmpty(t, link(p, t), what)

		cached, fresh := p.runTwice(t)
		assert.Empty(t, cached.difference(want), "%s, with a cache", what)
		assert.Empty(t, fresh.difference(want), "%s, without a cache", what)
	}
}

// link moves a file or a folder to another place and replaces it by a symbolic link. It returns what, or "" if there
// is none, or if it is a link already.
func (p *editedProject) link(t *testing.T, path, what string) string {
	t.Helper()

	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return ""
	}

	place := filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.Rename(path, place))
	require.NoError(t, os.Symlink(place, path))

	return what
}
