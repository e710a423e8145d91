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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run trusts nothing in the cache without checking it. The test changes one bit of every name and every value of
// every manifest (a third of them without DOUBLETAKE_LONG=1), exchanges every pair of results of one stage, with and
// without the index, and changes a bit of the outputs that tasks read. Each time the run names the damage, moves it to
// .cache/damaged, and gives the results of a run from scratch.
func TestNothingBelieved(t *testing.T) {
	real := disk
	t.Cleanup(func() { disk = real })

	disk.file = func(*os.File) error { return nil }
	disk.all = nil
	disk.dir = func(string) error { return nil }

	w := written(t)
	w.files["d"] = "delta"
	w.files["e"] = "omega"
	w.files["f"] = "phi"
	w.write(t)

	w.succeeds(t, Options{})

	list, err := Assess(w.plan())
	require.NoError(t, err)

	outputs, _ := w.oracle()
	index := filepath.Join(w.dir, ".cache", "index")
	damaged := filepath.Join(w.dir, ".cache", "damaged")
	states := 0
	n := 0
	every := longtest.Count(3, 1)
	look := func(what string, harm ...int) {
		t.Helper()

		if states++; states%3 == 0 {
			require.NoError(t, os.Remove(index))
		}

		var notes []string
		res, err := w.run(Options{Jobs: 2, Observe: func(e Event) {
			if e.Kind == "note" {
				notes = append(notes, e.Note)
			}
		}})
		require.NoError(t, err)

		for _, i := range harm {
			text := strings.Join(notes, "\n")
			require.Contains(t, text, "damaged result "+object(w, list[i]), "%s", what)
		}

		for id, want := range outputs {
			path, ok := res.Output(id, "out")
			b, err := read(path)
			require.True(t, ok, "%s", what)
			require.NoError(t, err, "%s", what)
			require.Equal(t, want, b, "%s", what)
		}

		n += len(harm)
		aside, _ := os.ReadDir(damaged)
		require.Len(t, aside, n, "%s", what)
	}

	for i, st := range list {
		path := object(w, st)
		if !st.Task.Packed {
			path = filepath.Join(path, "manifest.json")
		}

		whole, err := os.ReadFile(path)
		require.NoError(t, err)

		begin := bytes.Index(whole, []byte("{\n"))
		end := bytes.Index(whole, []byte("\n}\n"))
		for place := begin; place < end; {
			line := whole[place : place+bytes.IndexByte(whole[place:], '\n')+1]
			text := bytes.TrimRight(line, ",\n")
			for _, k := range []int{bytes.IndexByte(line, '"') + 1, len(text) - 2} {
				if k <= 0 || bytes.IndexByte([]byte("{}[]: "), line[k]) >= 0 || (place+k)%every > 0 {
					continue // no name, no value, or one of those left out
				}

				whole, err := os.ReadFile(path) // made again, at another time
				require.NoError(t, err)

				bad := bytes.Clone(whole)
				bad[place+k] ^= 1

				require.NoError(t, os.Chmod(path, 0o644))
				require.NoError(t, os.WriteFile(path, bad, 0o644))
				look(fmt.Sprintf("%s: %q", st.Task.ID, bad[place:place+len(line)]), i)
			}

			place += len(line)
		}
	}

	for i, a := range list {
		for k, b := range list[:i] {
			if a.Task.Stage == b.Task.Stage {
				x := object(w, a)
				y := object(w, b)
				require.NoError(t, os.Rename(x, x+"-"))
				require.NoError(t, os.Rename(y, x))
				require.NoError(t, os.Rename(x+"-", y))
				look(a.Task.ID+" and "+b.Task.ID+" exchanged", i, k)
			}
		}
	}

	for i, st := range list {
		for _, u := range list {
			if !slices.Contains(u.Task.Deps, Dep{st.Task.ID, "out"}) {
				continue
			}

			path := object(w, st)
			if !st.Task.Packed {
				path = filepath.Join(path, "out")
			}

			fi, err := os.Stat(path)
			require.NoError(t, err)
			b, err := os.ReadFile(path)
			require.NoError(t, err)

			b[bytes.Index(b, []byte(outputs[st.Task.ID]))] ^= 1

			require.NoError(t, os.Chmod(path, 0o644))
			require.NoError(t, os.WriteFile(path, b, 0o644))
			require.NoError(t, os.Chtimes(path, fi.ModTime(), fi.ModTime()))
			require.NoError(t, os.RemoveAll(object(w, u)))
			look(fmt.Sprintf("%s, which %s reads, at the same time and size", st.Task.ID, u.Task.ID), i)
		}
	}

	t.Logf("%d states", states)
	assert.GreaterOrEqual(t, states, 500/every)
}

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
