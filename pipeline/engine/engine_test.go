package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doubletake/internal/kv"
	"doubletake/internal/longtest"
	"doubletake/internal/pack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// world is a small project for tests. Its tasks read files in upper case
// ("read"), count the letters of each file ("count", with a setting), join the
// counts ("join") and judge them for each seed ("fit").
type world struct {
	dir     string            // work directory
	raw     string            // folder of raw files
	files   map[string]string // content by name
	config  map[string]string // settings of count and fit
	version int               // of the count stage
	seeds   int
	folder  string // of its published files: the name of its experiment

	mu  sync.Mutex
	ran []string
}

func newWorld(dir string) *world {
	w := &world{
		dir: filepath.Join(dir, "work"), raw: filepath.Join(dir, "raw"), version: 1, seeds: 2, folder: "all",
		files:  map[string]string{"a": "alpha", "b": "beta", "c": "gamma"},
		config: map[string]string{"count.letter": "a", "fit.rate": "1"},
	}

	return w
}

// written is a world whose files are there.
func written(t *testing.T) *world {
	t.Helper()

	w := newWorld(t.TempDir())
	w.write(t)

	return w
}

func (w *world) write(t require.TestingT) {
	require.NoError(t, os.MkdirAll(w.raw, 0o755))

	old, _ := os.ReadDir(w.raw)
	for _, e := range old {
		if _, ok := w.files[e.Name()]; !ok {
			os.Remove(filepath.Join(w.raw, e.Name()))
		}
	}

	for n, c := range w.files {
		p := filepath.Join(w.raw, n)
		if b, err := os.ReadFile(p); err != nil || string(b) != c {
			require.NoError(t, os.WriteFile(p, []byte(c), 0o644))
		}
	}
}

func (w *world) section(prefix string) []kv.Pair {
	var out []kv.Pair
	for k, v := range w.config {
		if strings.HasPrefix(k, prefix+".") {
			out = append(out, kv.Pair{Key: k, Value: v})
		}
	}

	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })

	return out
}

func (w *world) names() []string {
	var n []string
	for k := range w.files {
		n = append(n, k)
	}

	sort.Strings(n)

	return n
}

func text(kvs []kv.Pair) string {
	var s []string
	for _, kv := range kvs {
		s = append(s, kv.Key+"="+kv.Value)
	}

	return strings.Join(s, ",")
}

// plan returns the tasks of the world. The method oracle returns their expected
// outputs.
func (w *world) plan() *Plan {
	p := &Plan{Dir: w.dir, Stages: []string{"read", "count", "join", "fit"}}
	add := func(t *Task, body func(j *Job) (string, error)) {
		run := func(_ context.Context, j *Job) error {
			w.mu.Lock()
			w.ran = append(w.ran, t.ID)
			w.mu.Unlock()

			s, err := body(j)
			if err != nil {
				return err
			}

			return put(j, "out", s)
		}

		t.Run = run
		p.Tasks = append(p.Tasks, t)
	}

	in := func(j *Job, id string) (string, error) {
		b, err := pack.ReadFile(j.Input(id, "out"))
		return string(b), err
	}

	var counts []Dep
	for _, n := range w.names() {
		read := "read/" + n
		add(&Task{ID: read, Stage: "read", Version: 1, Files: []File{{n, filepath.Join(w.raw, n)}}},
			func(*Job) (string, error) {
				b, err := os.ReadFile(filepath.Join(w.raw, n))
				return strings.ToUpper(string(b)), err
			})

		add(&Task{
			ID: "count/" + n, Stage: "count", Version: w.version, Config: w.section("count"),
			Deps: []Dep{{read, "out"}}, Packed: true,
		}, func(j *Job) (string, error) {
			s, err := in(j, read)
			return fmt.Sprintf("%s:%d:v%d", text(w.section("count")), len(s), w.version), err
		})

		counts = append(counts, Dep{"count/" + n, "out"})
	}

	add(&Task{ID: "join", Stage: "join", Version: 1, Deps: counts, Publish: []Link{{"out", w.folder + "/joined"}}},
		func(j *Job) (string, error) {
			var all []string
			for _, c := range counts {
				s, err := in(j, c.Task)
				if err != nil {
					return "", err
				}

				all = append(all, s)
			}

			return strings.Join(all, "\n"), nil
		})

	for k := range w.seeds {
		add(&Task{
			ID: fmt.Sprintf("fit/%d", k), Stage: "fit", Split: "s", Version: 1, Config: w.section("fit"),
			Local: []kv.Pair{{Key: "seed", Value: fmt.Sprint(k)}},
			Deps:  []Dep{{"join", "out"}}, Publish: []Link{{"out", fmt.Sprintf("%s/fits/%d", w.folder, k)}},
		}, func(j *Job) (string, error) {
			s, err := in(j, "join")
			return fmt.Sprintf("%s|seed %d|%s", text(w.section("fit")), k, s), err
		})
	}

	return p
}

// published returns the paths of the published files of the world, and the tasks whose output they are.
func (w *world) published() map[string]string {
	tasks := map[string]string{w.folder + "/joined": "join"}
	for k := range w.seeds {
		tasks[fmt.Sprintf("%s/fits/%d", w.folder, k)] = fmt.Sprintf("fit/%d", k)
	}

	return tasks
}

// visible returns the contents of all files of the work directory by their paths, except for the cache and the
// lock.
func (w *world) visible(t require.TestingT) map[string]string {
	contents := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".cache":
			return filepath.SkipDir
		case entry.IsDir() || entry.Name() == ".lock":
			return nil
		}

		content, err := os.ReadFile(path)
		contents[strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(w.dir)+"/")] = string(content)

		return err
	})
	require.NoError(t, err)

	return contents
}

// ownFiles returns the visible files in the folder of the world's experiment.
func (w *world) ownFiles(t require.TestingT) map[string]string {
	files := w.visible(t)
	maps.DeleteFunc(files, func(path, _ string) bool { return !strings.HasPrefix(path, w.folder+"/") })

	return files
}

// oracle computes, without the engine, the output of every task, and a text that
// contains everything that the output is made from.
func (w *world) oracle() (outputs, signs map[string]string) {
	outputs = map[string]string{}
	signs = map[string]string{}

	var joined, joinSign []string
	for _, n := range w.names() {
		up := strings.ToUpper(w.files[n])
		outputs["read/"+n] = up
		signs["read/"+n] = n + "\x00" + w.files[n]
		cfg := text(w.section("count"))
		out := fmt.Sprintf("%s:%d:v%d", cfg, len(up), w.version)
		outputs["count/"+n] = out
		signs["count/"+n] = fmt.Sprint(w.version, "\x00", cfg, "\x00", n, up)
		joined = append(joined, out)
		joinSign = append(joinSign, n+"="+out)
	}

	j := strings.Join(joined, "\n")
	outputs["join"] = j
	signs["join"] = strings.Join(joinSign, "\x00")
	for k := range w.seeds {
		id := fmt.Sprintf("fit/%d", k)
		outputs[id] = fmt.Sprintf("%s|seed %d|%s", text(w.section("fit")), k, j)
		signs[id] = fmt.Sprint(k, "\x00", text(w.section("fit")), "\x00", j)
	}

	return outputs, signs
}

func (w *world) run(o Options) (*Result, error) {
	w.ran = nil
	r, err := Run(context.Background(), w.plan(), o)
	sort.Strings(w.ran)
	return r, err
}

// succeeds runs the world's tasks, and checks that none fails.
func (w *world) succeeds(t *testing.T, o Options) {
	t.Helper()

	_, err := w.run(o)
	require.NoError(t, err)
}

// makes runs the world's tasks, and checks that none fails and that exactly the tasks of want run: their IDs in
// alphabetical order, or "nothing".
func (w *world) makes(t *testing.T, o Options, want string) {
	t.Helper()

	w.succeeds(t, o)
	require.Equal(t, want, cmp.Or(strings.Join(w.ran, " "), "nothing"))
}

// editedWorld is a world that is edited at random.
type editedWorld struct {
	*world

	// seen has the ID and the ingredients of each task that has run, joined by a NUL.
	seen map[string]bool

	// former has the files that the world published under former names of the experiment, by the name.
	former map[string]map[string]string
}

// editKinds is the number of kinds of edits.
const editKinds = 12

// edit makes a random edit. step is the number of the edit.
func (w *editedWorld) edit(rt *rapid.T, step int) {
	switch rapid.IntRange(0, editKinds-1).Draw(rt, "edit") {
	case 0: // change a file
		name := rapid.SampledFrom(w.names()).Draw(rt, "file")
		w.files[name] = rapid.SampledFrom([]string{"x", "alpha", "ALPHA", "longer text"}).Draw(rt, "content")

	case 1: // touch a file
		name := rapid.SampledFrom(w.names()).Draw(rt, "file")
		later := time.Now().Add(time.Hour)
		require.NoError(rt, os.Chtimes(filepath.Join(w.raw, name), later, later))

	case 2: // change a setting
		w.config["count.letter"] = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "letter")

	case 3: // another key appears or goes
		if _, ok := w.config["fit.decay"]; ok {
			delete(w.config, "fit.decay")
		} else {
			w.config["fit.decay"] = "0"
		}

	case 4: // add a file
		w.files[fmt.Sprintf("n%d", step)] = "new"

	case 5: // remove a file
		if len(w.files) > 1 {
			delete(w.files, w.names()[0])
		}

	case 6: // the stage's code changes
		w.version++

	case 7: // one more seed
		w.seeds++

	case 8: // the index is lost
		require.NoError(rt, os.RemoveAll(filepath.Join(w.dir, ".cache", "index")))

	case 9:
		w.rename(rt)

	case 10: // one seed less
		w.seeds = max(w.seeds-1, 1)

	case 11:
		w.collect(rt)
	}
}

// rename gives the experiment another name. The files under the present name stay.
func (w *editedWorld) rename(rt *rapid.T) {
	w.former[w.folder] = w.ownFiles(rt)
	w.folder = rapid.SampledFrom([]string{"all", "some", "others"}).Draw(rt, "name")
	delete(w.former, w.folder)
}

// collect removes what the plan does not need: the results of other ingredients, and the files under former names.
func (w *editedWorld) collect(rt *rapid.T) {
	_, err := Collect(w.plan(), true)
	require.NoError(rt, err)

	clear(w.seen)
	clear(w.former)

	_, ingredients := w.oracle()
	for id, text := range ingredients {
		w.seen[id+"\x00"+text] = true
	}
}

// newTasks returns the IDs of the tasks whose ingredients were never seen before, in alphabetical order, and remembers
// the ingredients, which are given by ID.
func (w *editedWorld) newTasks(ingredients map[string]string) []string {
	var ids []string
	for id, text := range ingredients {
		if !w.seen[id+"\x00"+text] {
			ids = append(ids, id)
		}

		w.seen[id+"\x00"+text] = true
	}

	slices.Sort(ids)

	return ids
}

// expectedFiles returns the contents of all files below the work directory that people see, by path. outputs has the
// output of each task, by ID.
func (w *editedWorld) expectedFiles(outputs map[string]string) map[string]string {
	files := map[string]string{}
	for path, task := range w.published() {
		files[path] = outputs[task]
	}

	for _, left := range w.former {
		maps.Copy(files, left)
	}

	return files
}

// After any sequence of edits exactly the tasks whose ingredients were never
// seen before run, and every output is what a run from scratch would give. After
// a change of the experiment's name, the files under the former name stay until gc,
// and each run names their folder. No other file is left.
func TestRandomEdits(t *testing.T) {
	if !longtest.IsStudy() {
		flag.Set("rapid.checks", "15")
		durableAtOnce(t) // TestPowerCut syncs files
	}

	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "engine")
		require.NoError(rt, err)
		defer os.RemoveAll(dir)

		w := &editedWorld{world: newWorld(dir), seen: map[string]bool{}, former: map[string]map[string]string{}}
		for step := range rapid.IntRange(2, 6).Draw(rt, "steps") {
			if step > 0 {
				w.edit(rt, step)
			}

			w.write(rt)
			outputs, ingredients := w.oracle()
			result, err := w.run(Options{Jobs: rapid.IntRange(1, 4).Draw(rt, "jobs")})
			require.NoError(rt, err)
			require.Equal(rt, w.newTasks(ingredients), w.ran, "step %d ran", step)
			require.ElementsMatch(rt, slices.Collect(maps.Keys(w.former)), result.Foreign, "step %d, other folders", step)
			require.Equal(rt, w.expectedFiles(outputs), w.visible(rt), "step %d, files", step)
		}
	})
}

// The reasons name the key, file or version that changed, as old → new.
func TestReasons(t *testing.T) {
	w := written(t)

	w.succeeds(t, Options{})

	reasons := func() string {
		list, err := Assess(w.plan())
		require.NoError(t, err)

		var out []string
		for _, s := range list {
			if s.State != UpToDate {
				for _, r := range s.Reasons {
					out = append(out, s.Task.ID+": "+r.String())
				}
			}
		}

		return strings.Join(out, "\n")
	}

	got := reasons()
	require.Equal(t, "", got, "just made, yet stale")

	w.config["count.letter"] = "z"
	delete(w.config, "fit.rate")
	want := `count/a: count.letter: a → z
count/b: count.letter: a → z
count/c: count.letter: a → z
join: count/a must run first
join: count/b must run first
join: count/c must run first
fit/0: fit.rate: 1 → none
fit/0: join must run first
fit/1: fit.rate: 1 → none
fit/1: join must run first`

	got = reasons()
	assert.Equal(t, want, got)

	w.config = map[string]string{"count.letter": "a", "fit.rate": "1"}
	w.version = 2

	got = reasons()
	assert.True(t, strings.HasPrefix(got, "count/a: the program's count stage changed: version 1 → 2\n"))

	w.version = 1
	w.files["b"] = "other"
	w.write(t)

	// Digests from sha256sum of "beta" and "other".
	got = reasons()
	assert.True(t, strings.HasPrefix(got, "read/b: b changed: f44e64e7 → d9298a10\n"))
}

// A partial run makes the selected tasks. It refuses to begin if a task that it does not select must run first.
func TestPartialRuns(t *testing.T) {
	w := written(t)

	var lack *NotReadyError
	_, err := w.run(Options{Selection: Selection{Stages: []string{"fit"}}})
	require.ErrorAs(t, err, &lack, "fit without join")
	require.Equal(t, "join", lack.Needs.Task.ID, "fit without join")

	assert.Empty(t, w.ran, "a refused run ran %v", w.ran)

	_, err = w.run(Options{Selection: Selection{To: "count"}})
	require.NoError(t, err, "up to count")
	require.Len(t, w.ran, 6, "up to count")

	w.makes(t, Options{Selection: Selection{From: "join"}}, "fit/0 fit/1 join")

	w.makes(t, Options{Selection: Selection{Stages: []string{"fit"}, Force: true}}, "fit/0 fit/1")

	w.makes(t, Options{}, "nothing")
}

// A raw file that was changed with its size and time kept is found by the time of its last change (ctime). A result
// that was changed so is found only if all files are hashed.
func TestVerify(t *testing.T) {
	w := written(t)
	past := time.Now().Add(-time.Hour)
	age := func(p string) {
		require.NoError(t, os.Chtimes(p, past, past))
	}

	for _, n := range w.names() {
		age(filepath.Join(w.raw, n))
	}

	w.succeeds(t, Options{})

	w.files["a"] = "aaaaa"
	w.write(t)
	age(filepath.Join(w.raw, "a"))

	// The system keeps a time that nobody sets.
	w.makes(t, Options{}, "count/a read/a")

	// A result that was changed in place is found where all are read.
	res, err := w.run(Options{})
	require.NoError(t, err)
	require.Empty(t, w.ran)

	for _, task := range []string{"join", "fit/0", "fit/1"} {
		out, ok := res.Output(task, "out")
		st, err := os.Stat(out)
		require.True(t, ok, "%v", out)
		require.NoError(t, err)

		b, err := os.ReadFile(out)
		require.NoError(t, err)

		b[0] ^= 1
		err = errors.Join(os.Chmod(out, 0o644), os.WriteFile(out, b, 0o644), os.Chtimes(out, st.ModTime(), st.ModTime()))
		require.NoError(t, err)
	}

	// The index is written while some are not made again yet.
	every := saveEvery
	saveEvery = 0
	t.Cleanup(func() { saveEvery = every })

	w.makes(t, Options{Selection: Selection{Verify: true}}, "fit/0 fit/1 join")
}

// settle waits until the files are settled. It shortens the tick of the clock, because a store without a lock assumes a
// tick of seconds.
func settle(s *store) {
	s.ticking.Do(func() { s.tick = time.Millisecond })
	time.Sleep(20 * time.Millisecond)
}

// readLaterWorld is a world whose raw files were written long ago, so that their hashes are kept.
type readLaterWorld struct {
	*world
	order []string // the tasks that the last run started
}

// newReadLaterWorld writes the files of the world.
func newReadLaterWorld(t *testing.T) *readLaterWorld {
	t.Helper()

	w := &readLaterWorld{world: written(t)}
	for _, name := range w.names() {
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(w.raw, name), past, past))
	}

	return w
}

// plan returns the world's plan, in which the task count of a file reads the file too. All tasks have the same weight.
func (w *readLaterWorld) plan() *Plan {
	plan := w.world.plan()
	for _, task := range plan.Tasks {
		task.Weight = 1
		if name, ok := strings.CutPrefix(task.ID, "count/"); ok {
			task.Files = []File{{name, filepath.Join(w.raw, name)}}
		}
	}

	return plan
}

// run runs the plan, and keeps the order of the tasks that start.
func (w *readLaterWorld) run(t *testing.T, o Options) (*Result, error) {
	t.Helper()

	w.order = nil
	o.Observe = func(event Event) {
		if event.Kind == "start" {
			w.order = append(w.order, event.Task.ID)
		}
	}

	return Run(t.Context(), w.plan(), o)
}

// In a new work directory no raw file is hashed before the run begins, unless other processes make the tasks, or a
// partial run must know the state of a task that is not part of it. Then all three files are.
func TestFilesReadBeforeRun(t *testing.T) {
	w := newReadLaterWorld(t)
	for _, c := range []struct {
		name string
		o    Options
		want int // files hashed before the run begins
	}{
		{"all", Options{}, 0},
		{"here", Options{Executor: Local{2}}, 0},
		{"elsewhere", Options{Executor: &elsewhere{}}, 3},
		{"part, from a task that is not part of it", Options{Selection: Selection{From: "count"}}, 3},
		{"up to a stage", Options{Selection: Selection{To: "count"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := w.plan()
			s := openStore(w.dir)
			settle(s)

			list, _, err := s.assessAll(plan, s.readLater(plan, c.o))
			require.NoError(t, err)
			assert.Len(t, s.index.Files, c.want)

			if c.want == 0 {
				assert.Equal(t, Missing, list[0].State)
				assert.Equal(t, "a was not read yet", list[0].Because())
			}
		})
	}
}

// Raw files are hashed when the turn of their tasks comes, and the tasks of one file follow each other, so that a file
// of a large campaign is read from the disk once. The expected order follows from this rule.
func TestReadLater(t *testing.T) {
	w := newReadLaterWorld(t)
	_, err := w.run(t, Options{Jobs: 1})
	require.NoError(t, err)

	want := []string{"read/a", "count/a", "read/b", "count/b", "read/c", "count/c", "join", "fit/0", "fit/1"}
	assert.Equal(t, want, w.order)
}

// Without the index the hashes of the files are unknown, but all results are there: partial runs are not refused, and
// nothing is made again.
func TestReadLaterWithoutIndex(t *testing.T) {
	w := newReadLaterWorld(t)
	_, err := w.run(t, Options{Jobs: 2})
	require.NoError(t, err)

	for _, selection := range []Selection{{Stages: []string{"fit"}}, {Stages: []string{"read", "join"}}, {}} {
		require.NoError(t, os.Remove(filepath.Join(w.dir, ".cache", "index")))

		result, err := w.run(t, Options{Jobs: 2, Selection: selection})
		require.NoError(t, err, "%v", selection.Stages)
		assert.Empty(t, w.order, "%v: tasks that start", selection.Stages)
		assert.Zero(t, result.Ran, "%v: tasks that run", selection.Stages)
	}
}

// A folder in the place of a raw file is reported before anything is made, although the file's turn would come last.
func TestReadLaterUnreadable(t *testing.T) {
	w := newReadLaterWorld(t)
	last := filepath.Join(w.raw, "c")
	require.NoError(t, os.Remove(last))
	require.NoError(t, os.Mkdir(last, 0o755))

	var unreadable *FileError
	_, err := w.run(t, Options{Jobs: 2})
	require.ErrorAs(t, err, &unreadable)
	assert.Equal(t, "c", unreadable.Path)
	assert.Empty(t, w.order, "tasks that start")
}

// elsewhere stands for an executor in other processes. It makes the tasks in this process.
type elsewhere struct{ Local }

// If several tasks need the hash of a file at the same time, one of them hashes it, and the others wait.
func TestHashOnce(t *testing.T) {
	dir := t.TempDir()
	f := File{"big", filepath.Join(dir, "big")}
	require.NoError(t, os.WriteFile(f.Open, bytes.Repeat([]byte("0123456789abcdef"), 1<<18), 0o644))

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(f.Open, old, old))

	s := openStore(dir)
	settle(s)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x, err := s.hash(f, false)

			// From: for i in $(seq 262144); do printf 0123456789abcdef; done | sha256sum
			assert.NoError(t, err)
			assert.Equal(t, "3cab7815c40973b8fb036c7a2a69b3649882622a4a0a2f1a980efa4ef8545577", x.sum)
			assert.EqualValues(t, 1<<22, x.stamp.Size)
		})
	}

	wg.Wait()

	require.Empty(t, s.hashing, "%d still being hashed, %d known", len(s.hashing), len(s.index.Files))
	assert.Len(t, s.index.Files, 1, "%d still being hashed, %d known", len(s.hashing), len(s.index.Files))
}

// A task gets the contents of its raw file as they were hashed. It gets no contents of a large file, and none of a file
// that was hashed before. Expected values: crypto/sha256.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir)

	for _, size := range []int{0, 1, 1<<18 - 1, 1 << 18, 1<<18 + 1, 400_000, holdBytes, holdBytes + 1} {
		f := File{"raw", filepath.Join(dir, fmt.Sprint(size))}
		b := bytes.Repeat([]byte{byte(size), 7, byte(size >> 8)}, size/3+1)[:size]
		then := time.Now().Add(-time.Hour)

		require.NoError(t, errors.Join(os.WriteFile(f.Open, b, 0o644), os.Chtimes(f.Open, then, then)))

		settle(s)
		x, err := s.hash(f, true)
		require.NoError(t, err, "%d bytes", size)
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(b)), x.sum, "%d bytes", size)

		if size > holdBytes {
			assert.Nil(t, x.held, "the contents of %d bytes are kept", size)
			continue
		}

		j := &Job{held: []hashed{x}}
		assert.True(t, bytes.Equal(b, j.Held("raw")), "the contents of %d bytes", size)
		assert.Nil(t, j.Held("other"), "the contents of a file that the task does not read")

		x.release()

		again, err := s.hash(f, true)
		require.NoError(t, err, "%d bytes, hashed again", size)
		require.Nil(t, again.held, "%d bytes, hashed again", size)
		assert.Equal(t, x.sum, again.sum, "%d bytes, hashed again", size)
	}
}

// A damaged or lost result, a folder or a pack, is noticed, named and made again. A lost index is made again from the
// results, without running a task.
func TestDamage(t *testing.T) {
	w := written(t)

	w.succeeds(t, Options{})

	outputs, _ := w.oracle()
	list, err := Assess(w.plan())
	require.NoError(t, err)

	change := func(p string) error {
		b, err := os.ReadFile(p)
		b[len(b)-1] ^= 1

		return errors.Join(err, os.WriteFile(p, b, 0o644))
	}
	cut := func(p string) error { return os.Truncate(p, 1) }
	empty := func(p string) error { return os.Truncate(p, 0) }

	for i, c := range []struct {
		task string // "": the index
		harm func(path string) error
	}{
		{"join", change},
		{"join", cut},
		{"join", os.Remove},
		{"count/a", change},
		{"count/a", cut},
		{"count/a", empty},
		{"count/a", os.Remove},
		{"", os.Remove},
	} {
		path := filepath.Join(w.dir, ".cache", "index")
		named := ""
		made := "nothing"
		k := slices.IndexFunc(list, func(s *Status) bool { return s.Task.ID == c.task })
		if k >= 0 {
			path = object(w, list[k])
			named = list[k].key
			made = c.task
			if !list[k].Task.Packed {
				path = filepath.Join(path, "out")
				named = "out"
			}
		}

		require.NoError(t, errors.Join(os.Chmod(path, 0o644), c.harm(path)))

		now, err := Assess(w.plan())
		require.NoError(t, err)

		if k >= 0 {
			assert.Equal(t, Stale, now[k].State, "%d, %s", i, c.task)
			assert.Equal(t, "damaged", now[k].Reasons[0].Kind, "%d, %s", i, c.task)

			because := now[k].Because()
			isNamed := strings.Contains(because, named) || strings.Contains(because, "gone from the cache")
			assert.True(t, isNamed, "%d, %s: %s", i, c.task, because)
		}

		w.makes(t, Options{}, made)

		for _, st := range list {
			b, err := read(filepath.Join(object(w, st), "out"))
			require.NoError(t, err, "%d, %s", i, c.task)
			assert.Equal(t, outputs[st.Task.ID], b, "%d, %s", i, c.task)
		}
	}
}

func put(j *Job, output, text string) error {
	w, err := j.Create(output)
	if err != nil {
		return err
	}

	_, err = io.WriteString(w, text)

	return errors.Join(err, w.Close())
}

// A task that fails stops the tasks that depend on it, and leaves nothing half done. A raw file that changes while a
// task reads it, or is missing, is an error about the file.
func TestFailures(t *testing.T) {
	w := written(t)
	boom := errors.New("boom")
	plan := func() *Plan {
		p := w.plan()
		i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "count/b" })
		p.Tasks[i].Run = func(_ context.Context, j *Job) error {
			return errors.Join(put(j, "half", "half done"), boom)
		}

		return p
	}

	res, err := Run(context.Background(), plan(), Options{KeepGoing: true})

	var te *TaskError
	require.ErrorIs(t, err, boom)
	require.ErrorAs(t, err, &te)
	require.Equal(t, "count/b", te.Task.ID)
	require.ErrorIs(t, err, ErrFailed)

	assert.Equal(t, 5, res.Ran, "tasks that do not depend on count/b: three reads and two counts")

	assert.NoDirExists(t, filepath.Join(w.dir, "all"), "the folder that join publishes into")

	left, _ := filepath.Glob(filepath.Join(w.dir, ".cache", "tmp", "*"))
	assert.Empty(t, left, "partial output")

	half, _ := filepath.Glob(filepath.Join(w.dir, ".cache", "objects", "*", "*", "half"))
	assert.Empty(t, half, "partial output")

	// A raw file that changes while its task runs spoils the result.
	p := w.plan()
	i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "read/a" })
	was := p.Tasks[i].Run
	p.Tasks[i].Run = func(ctx context.Context, j *Job) error {
		defer os.WriteFile(filepath.Join(w.raw, "a"), []byte("changed meanwhile"), 0o644)
		return was(ctx, j)
	}

	var fe *FileError
	_, err = Run(context.Background(), p,
		Options{Selection: Selection{Stages: []string{"read"}, Force: true}})
	require.ErrorAs(t, err, &fe, "a file changed while it was read")
	assert.Equal(t, "a", fe.Path, "a file changed while it was read")

	os.Remove(filepath.Join(w.raw, "a"))

	_, err = w.run(Options{})
	require.ErrorAs(t, err, &fe, "a missing file")
	assert.Equal(t, "a", fe.Path, "a missing file")
}

// An interrupted run returns the error of its context. The next run makes the tasks that were not made.
func TestInterrupt(t *testing.T) {
	w := written(t)
	ctx, cancel := context.WithCancel(context.Background())
	p := w.plan()
	i := slices.IndexFunc(p.Tasks, func(t *Task) bool { return t.ID == "join" })
	p.Tasks[i].Run = func(ctx context.Context, _ *Job) error { cancel(); <-ctx.Done(); return ctx.Err() }
	_, err := Run(ctx, p, Options{Jobs: 2})
	require.ErrorIs(t, err, context.Canceled)

	w.makes(t, Options{}, "fit/0 fit/1 join")
}

// A locked work directory refuses a second lock and names the process that holds it. A work directory below a file is
// an error about the work directory.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	require.NoError(t, err)

	var le *LockedError
	_, err = lock(dir)
	require.ErrorAs(t, err, &le, "second lock")
	assert.Contains(t, le.Holder, fmt.Sprintf("process %d", os.Getpid()), "second lock")

	unlock()

	unlock, err = lock(dir)
	require.NoError(t, err, "after unlocking")

	unlock()

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))

	var we *WorkdirError
	_, err = lock(filepath.Join(file, "runs"))
	assert.ErrorAs(t, err, &we, "a workdir below a file")
}

// The engine imports the standard library, the key-value pair, packs of files, lists and parallel calls, which
// import nothing of the project: it must not know microphones, networks or configuration files.
func TestImports(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	require.NoError(t, err)

	for _, i := range p.Imports {
		room := strings.TrimPrefix(i, "doubletake/internal/")
		if slices.Contains([]string{"kv", "pack", "lists", "parallel"}, room) || strings.HasPrefix(i, "golang.org/x/sys/") {
			continue
		}

		own := strings.HasPrefix(i, "doubletake/")
		require.False(t, own, "the engine imports %s; expected the standard library, x/sys, kv, pack, lists and parallel", i)
		assert.False(t, strings.Contains(strings.SplitN(i, "/", 2)[0], "."),
			"the engine imports %s; expected the standard library, x/sys, kv, pack, lists and parallel", i)
	}
}

// A plan with an ID twice, or with a task before one that it needs, is an error.
func TestPlanFaults(t *testing.T) {
	run := func(context.Context, *Job) error { return nil }
	for _, p := range []*Plan{
		{Tasks: []*Task{{ID: "a", Run: run}, {ID: "a", Run: run}}},
		{Tasks: []*Task{{ID: "a", Run: run, Deps: []Dep{{"b", "out"}}}, {ID: "b", Run: run}}},
	} {
		assert.Error(t, p.Check(), "plan %v was accepted", p.Tasks)
	}
}

// A disk that fails to write reports the error once. The run fails, and the results that were being written are made
// again, although the next sync would succeed. Results that could not be synced for another reason are neither listed
// nor removed.
func TestFailingDisk(t *testing.T) {
	before := disk
	t.Cleanup(func() { disk = before })

	for _, c := range []struct {
		err  error
		lost bool
	}{
		{syscall.EIO, true},
		{syscall.ENODATA, true}, // a bad place of the disk
		{syscall.ETIMEDOUT, true},
		{syscall.EMFILE, false},
		{syscall.EINVAL, false},
	} {
		w := newWorld(t.TempDir())
		w.write(t)
		failed := false
		fail := func(path string) error {
			if failed || !strings.Contains(path, "objects") {
				return nil
			}

			failed = true

			return c.err
		}

		disk.file = func(f *os.File) error { return fail(f.Name()) }
		disk.all = fail

		_, err := w.run(Options{Jobs: 1, KeepGoing: true})
		require.ErrorIs(t, err, c.err)

		assert.NoFileExists(t, filepath.Join(w.dir, ".cache", "index"), "an index of results that were not written")

		first := w.ran[0]

		_, err = w.run(Options{Jobs: 1})
		require.NoError(t, err, "the run after %v", c.err)
		assert.Equal(t, c.lost, slices.Contains(w.ran, first), "the run after %v makes %s again", c.err, first)
	}
}

// Collect lists and removes the results that no task of the present plan refers to, and keeps the others.
func TestCollect(t *testing.T) {
	w := written(t)

	w.succeeds(t, Options{})

	w.files["a"] = "changed" // seven letters for five: its count, the join and both fits change with it
	w.config["fit.rate"] = "2"
	w.write(t)

	w.succeeds(t, Options{})

	tasks := func(list []Garbage) (ids []string) {
		for _, g := range list {
			ids = append(ids, g.Task)
		}

		sort.Strings(ids)

		return ids
	}

	want := []string{"count/a", "fit/0", "fit/1", "join", "read/a"}

	list, err := Collect(w.plan(), false)
	require.NoError(t, err)
	require.Equal(t, want, tasks(list), "preview")

	for _, g := range list {
		assert.NotZero(t, g.Bytes, g.Task)
	}

	_, callErr := Collect(w.plan(), true)
	require.NoError(t, callErr)

	list, err = Collect(w.plan(), false)
	require.NoError(t, err, "after collecting")
	assert.Empty(t, list, "after collecting")

	w.makes(t, Options{}, "nothing")
}

// The index comes back as it was written, and a damaged one is noticed.
func TestIndex(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	outputs := []output{
		{"out", 12, "s1", ""}, {"a", 1, sum, ""}, {"c", 2, strings.ToUpper(sum), "→"}, {"b", 0, "s2", "d2"},
	}
	ix := index{
		Configs: map[string][]kv.Pair{"c1": {{Key: "a.b", Value: "1"}, {Key: "a.c", Value: ""}}, "c2": nil},
		Tasks: map[string]*record{
			"x/y": {
				Key: "k", Version: 3, Config: "c1", Local: []kv.Pair{{Key: "seed", Value: "0"}}, Outputs: outputs,
				Stamps:  []stamp{{12, -5, 7, 0}, {0, 1 << 60, 8, 9}},
				Seconds: 0.25, Packed: true,
			},
			"z": {},
		},
		Files: map[string]fileRecord{"päth": {Stamp: stamp{1, 2, 3, 4}, SHA256: "s3"}},
	}

	b := ix.encode()

	var got index
	require.NoError(t, got.decode(b))

	assert.Equal(t, ix, got, "came back as")

	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x41
		require.Error(t, got.decode(c), "a change or cut at byte %d went unnoticed", i)
		require.Error(t, got.decode(b[:i]), "a change or cut at byte %d went unnoticed", i)
	}
}

// Decoding any bytes ends without a panic, also if their checksum is right.
func FuzzIndex(f *testing.F) {
	ix := index{Tasks: map[string]*record{"t": {Outputs: []output{{"o", 1, "s", "d"}}, Stamps: []stamp{{1, 2, 3, 4}}}}}
	f.Add(ix.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var got index
		_ = got.decode(b)
		b = append([]byte(indexMagic), b...)
		_ = got.decode(binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
	})
}

// Because lists up to five reasons. Of more reasons it lists four and counts the others: of 6 it counts 2, of 40 it
// counts 36.
func TestBecause(t *testing.T) {
	gone := func(n int) (out []Reason) {
		for i := range n {
			out = append(out, Reason{Kind: "gone", Name: string(rune('a' + i))})
		}
		return out
	}

	because := func(n int) string {
		s := Status{Reasons: append(gone(n), Reason{Kind: "upstream", Name: "u"})}
		return s.Because()
	}

	for _, n := range []int{1, 5} {
		assert.NotContains(t, because(n), "more reasons", "%d reasons", n)
	}

	for n, more := range map[int]int{6: 2, 40: 36} {
		end := fmt.Sprintf("; and %d more reasons; u must run first", more)
		assert.True(t, strings.HasSuffix(because(n), end), "%d reasons: %s", n, because(n))
	}
}

// A panic of a task is the task's error, with the place of the panic in the function below. The other tasks are made.
func TestPanic(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw.wav")
	require.NoError(t, os.WriteFile(raw, nil, 0o644))

	p := &Plan{Dir: t.TempDir(), Stages: []string{"dsp"}, Tasks: []*Task{
		{ID: "bad", Stage: "dsp", Files: []File{{raw, raw}}, Run: func(context.Context, *Job) error {
			var none []int
			return fmt.Errorf("%d", none[len(raw)])
		}},
		{ID: "good", Stage: "dsp", Run: func(context.Context, *Job) error { return nil }},
	}}

	r, err := Run(t.Context(), p, Options{Jobs: 2, KeepGoing: true})

	var fault *PanicError
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, raw, fault.File)
	assert.Equal(t, 1, r.Ran)
	require.True(t, strings.HasPrefix(fault.Place, "doubletake/pipeline/engine.TestPanic.func1, line "))
	assert.Contains(t, err.Error(), "bad: a fault of the program reading "+raw+", please report it: runtime error: ")
	assert.True(t, strings.HasSuffix(err.Error(), "; send the file "+fault.Kept))

	b, err := os.ReadFile(fault.Kept)
	require.NoError(t, err, "the file with the stack: %.300s", b)
	assert.Contains(t, string(b), "engine_test.go", "the file with the stack: %.300s", b)

	p.Tasks[0].Run = p.Tasks[1].Run // the work directory is free
	r, err = Run(t.Context(), p, Options{Jobs: 2})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Ran, "tasks after the panic")
}

// A task must read the bytes that were hashed. A raw file that is too large to be kept is written in place while the
// task reads it, with its size and time kept. That is an error, even within a tick of the clock after the file was
// made.
func TestWrittenMeanwhile(t *testing.T) {
	for round := range longtest.Count(4, 10) {
		raw := filepath.Join(t.TempDir(), "raw.wav")
		b := make([]byte, holdBytes+1)
		require.NoError(t, os.WriteFile(raw, b, 0o644))
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(raw, old, old))

		if round == 0 {
			time.Sleep(2 * time.Second)
		}

		p := &Plan{Dir: t.TempDir(), Stages: []string{"dsp"}, Tasks: []*Task{
			{ID: "a", Stage: "dsp", Files: []File{{raw, raw}}, Run: func(context.Context, *Job) error {
				b[len(b)/2] = 1
				f, err := os.OpenFile(raw, os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = f.WriteAt(b, 0)

				return errors.Join(err, f.Close(), os.Chtimes(raw, old, old))
			}},
		}}

		_, err := Run(t.Context(), p, Options{Jobs: 1})
		assert.ErrorContains(t, err, "it changed while it was read")
	}
}

// durableAtOnce puts a disk that has nothing to sync in the place of the real one, until the
// test ends.
func durableAtOnce(t *testing.T) {
	before := disk
	t.Cleanup(func() { disk = before })
	disk.file = func(*os.File) error { return nil }
	disk.dir = func(string) error { return nil }
	disk.all = func(string) error { return nil }
}
