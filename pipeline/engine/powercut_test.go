//go:build linux || darwin

// The disk of these tests knows files by their inodes.

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"doubletake/internal/longtest"
	"doubletake/internal/pack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drive records the state that the disk below a folder has for certain: names and contents
// as they were synced last. After a power cut the disk may also have later changes, in any
// order.
type drive struct {
	top   string
	mu    sync.Mutex
	names map[uint64]map[string]uint64 // durable names of a folder, by inode
	data  map[uint64][]byte            // durable contents of a file
	held  map[uint64]*os.File          // open, so that no inode is used again
	cut   func(d *drive)               // called before and after every sync, with mu held; may be nil
}

func newDrive(top string) *drive {
	return &drive{
		top: top, names: map[uint64]map[string]uint64{}, data: map[uint64][]byte{}, held: map[uint64]*os.File{},
	}
}

func (d *drive) close() {
	for _, f := range d.held {
		f.Close()
	}
}

func inode(path string) (ino uint64, dir bool) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}

	return fi.Sys().(*syscall.Stat_t).Ino, fi.IsDir()
}

// hold notes the inode of a path.
func (d *drive) hold(path string) (ino uint64, dir bool) {
	ino, dir = inode(path)
	if d.held[ino] == nil {
		if f, err := os.Open(path); err == nil {
			d.held[ino] = f
		}
	}

	return ino, dir
}

func (d *drive) syncFile(path string) {
	ino, _ := d.hold(path)
	d.data[ino], _ = os.ReadFile(path)
}

func (d *drive) syncDir(path string) {
	ino, _ := d.hold(path)
	list, _ := os.ReadDir(path)

	d.names[ino] = map[string]uint64{}
	for _, e := range list {
		d.names[ino][e.Name()], _ = d.hold(filepath.Join(path, e.Name()))
	}
}

func (d *drive) syncAll() {
	_ = filepath.WalkDir(d.top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case e.IsDir():
			d.syncDir(path)
		default:
			d.syncFile(path)
		}

		return nil
	})
}

// runSync runs one sync, and may cut the power before and after it.
func (d *drive) runSync(sync func()) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.cut != nil {
		d.cut(d)
	}

	sync()

	if d.cut != nil {
		d.cut(d)
	}
}

// install puts the drive in the place of the disk until the test ends. If whole is true, the
// drive has a call that syncs the whole file system.
func (d *drive) install(t *testing.T, whole bool) {
	t.Helper()

	before := disk
	t.Cleanup(func() { disk = before })
	disk.file = func(f *os.File) error {
		d.runSync(func() { d.syncFile(f.Name()) })
		return nil
	}
	disk.dir = func(path string) error {
		d.runSync(func() { d.syncDir(path) })
		return nil
	}
	disk.all = nil
	if whole {
		disk.all = func(string) error {
			d.runSync(d.syncAll)
			return nil
		}
	}
}

// after writes to a fresh folder what the disk may hold after a power cut now: of
// every name and every content that is not durable the last durable one, the
// present one or nothing, each by itself; contents also in part, or as zeros of the
// right length and time.
func (d *drive) after(t *testing.T, rng *rand.Rand, to string) {
	placed := map[uint64]string{} // files with several names stay one
	ino, _ := inode(d.top)
	d.folder(t, rng, to, d.top, ino, placed)
}

// folder writes a folder that is at path now (or ""), and whose inode is ino.
func (d *drive) folder(t *testing.T, rng *rand.Rand, to, path string, ino uint64, placed map[uint64]string) {
	require.NoError(t, os.MkdirAll(to, 0o755))

	old := d.names[ino]
	now := map[string]uint64{}

	var all []string
	if path != "" {
		list, _ := os.ReadDir(path)
		for _, e := range list {
			now[e.Name()], _ = inode(filepath.Join(path, e.Name()))
			all = append(all, e.Name())
		}
	}

	for n := range old {
		if now[n] == 0 {
			all = append(all, n)
		}
	}

	slices.Sort(all)

	for _, n := range all {
		choice := old[n]
		if old[n] != now[n] {
			choice = []uint64{old[n], now[n], now[n], 0}[rng.IntN(4)]
		}

		if choice == 0 {
			continue
		}

		at := ""
		if choice == now[n] {
			at = filepath.Join(path, n)
		}

		f := d.held[choice]

		var dir bool
		if at != "" {
			_, dir = inode(at)
		} else if fi, err := f.Stat(); err == nil {
			dir = fi.IsDir()
		}

		if dir && at == "" { // it was moved, and has its names still, or removed
			at = fmt.Sprint("/proc/self/fd/", f.Fd())
		}

		if dir {
			d.folder(t, rng, filepath.Join(to, n), at, choice, placed)
			continue
		}

		if first := placed[choice]; first != "" {
			require.NoError(t, os.Link(first, filepath.Join(to, n)))
			continue
		}

		placed[choice] = filepath.Join(to, n)
		d.file(t, rng, filepath.Join(to, n), at, f, choice)
	}
}

// file writes a file that is at path now, or only held.
func (d *drive) file(t *testing.T, rng *rand.Rand, to, path string, held *os.File, ino uint64) {
	var now []byte
	var fi os.FileInfo

	var err error
	if path != "" {
		now, err = os.ReadFile(path)
		if err == nil {
			fi, err = os.Stat(path)
		}
	} else if fi, err = held.Stat(); err == nil {
		now = make([]byte, fi.Size())
		_, err = held.ReadAt(now, 0)
	}

	if fi == nil { // the contents of a held file may be unreadable, and then are zeros
		require.NoError(t, err)
	}

	kept, durable := d.data[ino]
	if !durable || !bytes.Equal(kept, now) {
		some := rng.IntN(len(now) + 1)
		now = [][]byte{
			now, kept, nil, now[:some], make([]byte, len(now)),
			append(slices.Clone(now[:some]), make([]byte, len(now)-some)...),
		}[rng.IntN(6)]
	}

	require.NoError(t, os.WriteFile(to, now, 0o644))
	require.NoError(t, errors.Join(os.Chmod(to, fi.Mode().Perm()), os.Chtimes(to, fi.ModTime(), fi.ModTime())))
}

// powerPlan is the world's plan with a folder of results, whose names change with
// the configuration, and a task that keeps a checkpoint.
func powerPlan(t *testing.T, w *world) *Plan {
	p := w.plan()
	for _, u := range p.Tasks {
		u.Replaces = u.ID == "join"
	}

	letter := w.config["count.letter"]
	p.Tasks = append(p.Tasks, &Task{
		ID: "draw", Stage: "fit", Version: 1, Config: w.section("count"), Deps: []Dep{{"join", "out"}},
		Publish: []Link{{"figures/", "figures"}},
		Run: func(_ context.Context, j *Job) error {
			err := os.MkdirAll(j.Output("figures/sub"), 0o755)
			for _, n := range []string{"both", "sub/" + letter} {
				err = errors.Join(err, os.WriteFile(j.Output("figures/"+n), []byte("figure "+n+" of "+letter), 0o644))
			}

			return err
		},
	}, &Task{
		ID: "long", Stage: "fit", Version: 2, Config: w.section("count"), Deps: []Dep{{"join", "out"}},
		Run: func(_ context.Context, j *Job) error {
			return os.WriteFile(j.Output("out"), []byte("long "+letter), 0o644)
		},
	})

	return p
}

// published returns what the plan's results are under their readable names, computed
// without the engine.
func published(w *world) map[string]string {
	out, _ := w.oracle()
	letter := w.config["count.letter"]
	m := map[string]string{
		"all/joined": out["join"], "figures/both": "figure both of " + letter,
		"figures/sub/" + letter: "figure sub/" + letter + " of " + letter,
	}

	for k := range w.seeds {
		m[fmt.Sprintf("all/fits/%d", k)] = out[fmt.Sprintf("fit/%d", k)]
	}

	return m
}

// visible returns the files below a work directory that people see.
func visible(t *testing.T, dir string) map[string]string {
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == dir:
			return err
		case e.IsDir() && e.Name() == ".cache":
			return fs.SkipDir
		case e.IsDir() || e.Name() == ".lock":
			return nil
		}

		rel, _ := filepath.Rel(dir, path)
		b, err := os.ReadFile(path)
		m[filepath.ToSlash(rel)] = string(b)

		return err
	})
	require.NoError(t, err)

	return m
}

// A power cut at any moment leaves nothing to repair. The test cuts the power while a plan
// runs from nothing, after an edit, and by force. It rebuilds a state that the disk may have
// then: everything that was synced, and a random choice of the later changes. In this state
// every published file is whole. The next run gives the results of an uninterrupted run, which
// the test computes without the engine. The run after that has nothing to do.
func TestPowerCut(t *testing.T) {
	rounds := longtest.Count(4, 8)
	perRound := longtest.Count(2, 6)
	if longtest.IsStudy() { // half an hour where other work keeps the disk busy
		rounds = 200
		perRound = 12
	}

	every := saveEvery
	t.Cleanup(func() { saveEvery = every })

	cuts := 0
	for round := range rounds {
		rng := rand.New(rand.NewPCG(20, uint64(round)))
		saveEvery = []time.Duration{0, 5 * time.Second}[rng.IntN(2)]
		cuts += powerRound(t, rng, round, perRound)

		require.False(t, t.Failed(), "round %d", round)
	}

	t.Logf("%d power cuts in %d rounds", cuts, rounds)
}

// powerRound runs a plan on a drive whose power is cut at up to perRound moments, checks the state after each cut, and
// returns the number of cuts. In a third of the rounds the drive cannot sync the whole file system. In a quarter the
// tasks are made one by one without the lock, as by pipeline exec.
func powerRound(t *testing.T, rng *rand.Rand, round, perRound int) (cuts int) {
	t.Helper()

	root := t.TempDir()
	w := newWorld(filepath.Join(root, "live"))
	for i := range 6 {
		w.files[fmt.Sprint("more", i)] = fmt.Sprint("content ", i)
	}

	w.write(t)
	require.NoError(t, os.MkdirAll(w.dir, 0o755))

	d := newDrive(w.dir)
	defer d.close()
	d.install(t, round%3 != 2)

	run := powerRun
	if round%4 == 3 {
		run = powerExec
	}

	versions := []map[string]string{published(w)}
	if rng.IntN(4) > 0 { // a finished run before
		run(t, w, Options{Jobs: 2})
		d.syncAll()
	}

	w.config["count.letter"] = []string{"a", "b", "b", "b"}[rng.IntN(4)]
	versions = append(versions, published(w))

	cutter := &powerCutter{t: t, rng: rng, root: root, most: perRound}
	d.cut = cutter.offer
	// One task at a time, so that nothing changes while a state is taken.
	run(t, w, Options{Jobs: 1, Selection: Selection{Force: rng.IntN(4) == 0}})
	d.runSync(func() {}) // a last moment to cut the power
	d.cut = nil
	durableAtOnce(t) // nothing is recorded from here on

	for _, dir := range cutter.states {
		checkPublished(t, dir, versions)

		after := newWorld(root)
		after.dir = dir
		after.raw = w.raw
		after.files = w.files
		after.config = w.config
		powerCheck(t, after)
	}

	return len(cutter.states)
}

// powerRun runs the plan of a world.
func powerRun(t *testing.T, w *world, o Options) {
	t.Helper()

	_, err := Run(t.Context(), powerPlan(t, w), o)
	require.NoError(t, err)
}

// powerExec makes the tasks of a world one by one, without the lock. A forced run has the lock all the same, because
// single tasks cannot be forced.
func powerExec(t *testing.T, w *world, o Options) {
	t.Helper()

	if o.Force {
		powerRun(t, w, o)
		return
	}

	plan := powerPlan(t, w)
	for _, task := range plan.Tasks {
		_, err := makeOne(&Worker{Plan: plan}, task.ID)
		require.NoError(t, err)
	}
}

// powerCutter chooses moments of a run at which the power is cut, all equally likely, and keeps the states of the disk
// after the cuts. It does not know how many moments come, so that it draws a reservoir sample: moment n takes the place
// of a random earlier one with the probability most/n.
type powerCutter struct {
	t       *testing.T
	rng     *rand.Rand
	root    string   // folder of the states
	most    int      // number of states to keep
	moments int      // moments so far
	states  []string // folders with the states of the disk
}

// offer is called at each moment of the run at which the power may be cut.
func (c *powerCutter) offer(d *drive) {
	c.moments++
	slot := c.rng.IntN(c.moments)
	if len(c.states) < c.most {
		slot = len(c.states)
		c.states = append(c.states, filepath.Join(c.root, fmt.Sprint("cut", slot)))
	}

	if slot < c.most {
		require.NoError(c.t, os.RemoveAll(c.states[slot]))
		d.after(c.t, c.rng, c.states[slot])
	}
}

// checkPublished checks that each published file in a work directory has the content of a version of the plan.
func checkPublished(t *testing.T, dir string, versions []map[string]string) {
	t.Helper()

	for name, found := range visible(t, dir) {
		var wanted []string
		for _, version := range versions {
			if content, ok := version[name]; ok {
				wanted = append(wanted, content)
			}
		}

		assert.Contains(t, wanted, found, "%s: %s after the power cut", dir, name)
	}
}

// powerCheck checks the next two runs in a work directory after a power cut.
func powerCheck(t *testing.T, w *world) {
	t.Helper()

	res, err := Run(context.Background(), powerPlan(t, w), Options{Jobs: 2})
	require.NoError(t, err, "%s: the next run", w.dir)
	assert.Equal(t, published(w), visible(t, w.dir), "%s: files that the next run has published", w.dir)

	outputs, _ := w.oracle()
	for task, want := range outputs {
		path, ok := res.Output(task, "out")
		require.True(t, ok, "%s: task %s has an output", w.dir, task)

		b, err := pack.ReadFile(path)
		require.NoError(t, err, "%s: task %s", w.dir, task)
		assert.Equal(t, want, string(b), "%s: task %s", w.dir, task)
	}

	for _, kind := range []string{"tmp", ".tmp-*", "published/.*"} {
		left, _ := filepath.Glob(filepath.Join(w.dir, ".cache", kind))
		assert.Empty(t, left, "%s: unfinished files", w.dir)
	}

	res, err = Run(context.Background(), powerPlan(t, w), Options{Selection: Selection{Verify: true}})
	require.NoError(t, err, "%s: the run after the next", w.dir)
	assert.Zero(t, res.Ran, "%s: tasks that the run after the next makes", w.dir)
}
