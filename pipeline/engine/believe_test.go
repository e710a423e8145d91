package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/longtest"
	"doubletake/internal/pack"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cacheDamage is a world whose cache is damaged again and again, each time followed by a run.
type cacheDamage struct {
	*world
	tasks   []*Status         // all tasks of the world's plan
	outputs map[string]string // the right output of each task, by ID
	states  int               // number of damaged states that a run has met
	results int               // number of damaged results in them
}

// newCacheDamage returns a world of six files after its first run. Files are not synced while the test runs.
func newCacheDamage(t *testing.T) *cacheDamage {
	t.Helper()

	real := disk
	t.Cleanup(func() { disk = real })

	disk.file = func(*os.File) error { return nil }
	disk.all = nil
	disk.dir = func(string) error { return nil }

	d := &cacheDamage{world: written(t)}
	d.files["d"] = "delta"
	d.files["e"] = "omega"
	d.files["f"] = "phi"
	d.write(t)
	d.succeeds(t, Options{})

	var err error
	d.tasks, err = Assess(d.plan())
	require.NoError(t, err)

	d.outputs, _ = d.oracle()

	return d
}

// check runs the tasks after a damage of the results of the given tasks, which are indices. It checks that the run
// names each of them, moves them to .cache/damaged, and gives the right outputs. Every third time it removes the index
// before the run.
func (d *cacheDamage) check(t *testing.T, damage string, damaged ...int) {
	t.Helper()

	d.states++
	if d.states%3 == 0 {
		require.NoError(t, os.Remove(filepath.Join(d.dir, ".cache", "index")))
	}

	var notes []string
	result, err := d.run(Options{Jobs: 2, Observe: func(e Event) {
		if e.Kind == "note" {
			notes = append(notes, e.Note)
		}
	}})
	require.NoError(t, err)

	for _, i := range damaged {
		require.Contains(t, strings.Join(notes, "\n"), "damaged result "+object(d.world, d.tasks[i]), "%s", damage)
	}

	for id, want := range d.outputs {
		path, ok := result.Output(id, "out")
		require.True(t, ok, "%s", damage)

		text, err := read(path)
		require.NoError(t, err, "%s", damage)
		require.Equal(t, want, text, "%s", damage)
	}

	d.results += len(damaged)
	aside, err := os.ReadDir(filepath.Join(d.dir, ".cache", "damaged"))
	require.NoError(t, err)
	require.Len(t, aside, d.results, "%s", damage)
}

// overwrite replaces the content of a file of the cache, which is read-only.
func overwrite(t *testing.T, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, os.WriteFile(path, content, 0o644))
}

// manifestPlaces returns the places of a character in each name and in each value of a manifest: the first of the name
// and the last of the value. file is the manifest's file, or the file of a packed result, which begins with it.
func manifestPlaces(file []byte) []int {
	var places []int
	begin := bytes.Index(file, []byte("{\n"))
	end := bytes.Index(file, []byte("\n}\n"))
	for place := begin; place < end; {
		line := file[place : place+bytes.IndexByte(file[place:], '\n')+1]
		name := bytes.IndexByte(line, '"') + 1
		value := len(bytes.TrimRight(line, ",\n")) - 2
		for _, k := range []int{name, value} {
			if k > 0 && !bytes.ContainsRune([]byte("{}[]: "), rune(line[k])) {
				places = append(places, place+k)
			}
		}

		place += len(line)
	}

	return places
}

// changeManifests changes one bit of names and values of every manifest, one at a time, at every n-th of their places.
func (d *cacheDamage) changeManifests(t *testing.T, n int) {
	t.Helper()

	for i, st := range d.tasks {
		path := object(d.world, st)
		if !st.Task.Packed {
			path = filepath.Join(path, "manifest.json")
		}

		for _, place := range manifestPlaces(testfile.Read(t, path)) {
			if place%n > 0 {
				continue
			}

			content := testfile.Read(t, path) // a run has made it again, at another time
			content[place] ^= 1
			overwrite(t, path, content)
			d.check(t, fmt.Sprintf("%s: bit of byte %d of the manifest", st.Task.ID, place), i)
		}
	}
}

// exchangeResults exchanges the results of every two tasks of one stage, one pair at a time.
func (d *cacheDamage) exchangeResults(t *testing.T) {
	t.Helper()

	for i, first := range d.tasks {
		for k, second := range d.tasks[:i] {
			if first.Task.Stage != second.Task.Stage {
				continue
			}

			a := object(d.world, first)
			b := object(d.world, second)
			require.NoError(t, os.Rename(a, a+"-"))
			require.NoError(t, os.Rename(b, a))
			require.NoError(t, os.Rename(a+"-", b))
			d.check(t, first.Task.ID+" and "+second.Task.ID+" exchanged", i, k)
		}
	}
}

// changeInputs changes a bit of each output that another task reads, one at a time. It keeps the time and the size of
// the file, and removes the result of the other task, so that a run makes this task again.
func (d *cacheDamage) changeInputs(t *testing.T) {
	t.Helper()

	for i, st := range d.tasks {
		for _, reader := range d.tasks {
			if !slices.Contains(reader.Task.Deps, Dep{st.Task.ID, "out"}) {
				continue
			}

			path := object(d.world, st)
			if !st.Task.Packed {
				path = filepath.Join(path, "out")
			}

			before, err := os.Stat(path)
			require.NoError(t, err)

			content := testfile.Read(t, path)
			content[bytes.Index(content, []byte(d.outputs[st.Task.ID]))] ^= 1
			overwrite(t, path, content)
			require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
			require.NoError(t, os.RemoveAll(object(d.world, reader)))
			d.check(t, fmt.Sprintf("%s, which %s reads, at the same time and size", st.Task.ID, reader.Task.ID), i)
		}
	}
}

// A run trusts nothing in the cache without checking it: neither manifests, nor which result is whose, nor the outputs
// that tasks read. Each time the run names the damage and gives the results of a run from scratch. Without
// DOUBLETAKE_LONG=1 the test changes a third of the places in manifests.
func TestNothingBelieved(t *testing.T) {
	d := newCacheDamage(t)
	every := longtest.Count(3, 1)
	d.changeManifests(t, every)
	d.exchangeResults(t)
	d.changeInputs(t)

	t.Logf("%d states", d.states)
	assert.GreaterOrEqual(t, d.states, 500/every)
}

// object returns the path of the result of a task in the cache.
func object(w *world, st *Status) string {
	return filepath.Join(w.dir, ".cache", "objects", st.key[:1], st.key)
}

// A run removes files, and their folders, that an earlier plan of the same experiment published and the present plan
// does not. Files that people put there, and files of other experiments, stay. If the list of published files is lost
// or damaged, the run moves the files to .cache/damaged instead.
func TestRenamed(t *testing.T) {
	for _, harm := range []func(list string){
		func(string) {},
		func(list string) { require.NoError(t, os.Remove(list)) },
		func(list string) { require.NoError(t, os.WriteFile(list, []byte("all/x"), 0o644)) },
	} {
		w := written(t)
		plan := func(names ...string) *Plan {
			p := w.plan()
			for i, n := range names {
				p.Tasks[len(p.Tasks)-1-i].Publish = []Link{{"out", n}}
			}

			return p
		}

		run := func(p *Plan, s Selection) {
			_, err := Run(t.Context(), p, Options{Selection: s})
			require.NoError(t, err)
		}

		run(plan("all/splits/old/model", "other/model"), Selection{})

		mine := filepath.Join(w.dir, "all", "splits", "notes.txt")
		require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o644))
		harm((&store{dir: w.dir}).listOf(""))

		now := plan("all/splits/new/model", "all/splits/new/card")
		run(now, Selection{Stages: []string{"join"}}) // a partial run removes nothing
		want := []string{"all/joined", "all/splits/notes.txt", "all/splits/old/model", "other/model"}

		for range 2 {
			var got []string
			for _, glob := range []string{"all/*", "all/splits/*", "all/splits/*/*", "other/*"} {
				list, err := filepath.Glob(filepath.Join(w.dir, glob))
				require.NoError(t, err)

				for _, p := range list {
					if _, err := Own(p); err == nil {
						n, _ := filepath.Rel(w.dir, p)
						got = append(got, filepath.ToSlash(n))
					}
				}
			}

			slices.Sort(got)
			assert.Equal(t, want, got)

			run(now, Selection{})
			want = []string{"all/joined", "all/splits/new/card", "all/splits/new/model", "all/splits/notes.txt", "other/model"}
		}

		assert.NoDirExists(t, filepath.Join(w.dir, "all", "splits", "old"), "the folder that became empty")
	}
}

func read(path string) (string, error) {
	b, err := pack.ReadFile(path)
	return string(b), err
}
