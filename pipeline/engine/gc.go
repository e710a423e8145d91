package engine

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Garbage is one object that no task of the plan refers to.
type Garbage struct {
	Key   string    `json:"key"`
	Task  string    `json:"task"` // that made it, "" where its manifest cannot be read
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	path  string
}

// abandoned is how long a worker's folder must lie unchanged to be taken for
// what a killed worker left.
const abandoned = 7 * 24 * time.Hour

// Collect lists what can go from the cache, oldest first: objects that are no
// task's result now, and leftovers of interrupted runs and of earlier
// versions. Results of tasks that are up to date are kept, and so are the last
// results of stale ones (they are what a partial run still shows). With remove
// it deletes them; it holds the lock of the work directory then.
func Collect(p *Plan, remove bool) ([]Garbage, error) {
	if remove {
		unlock, err := lock(p.Dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}

	s := openStore(p.Dir)
	list, _, err := s.assessAll(p, nil)
	if err != nil {
		return nil, err
	}

	keep, planned := map[string]bool{}, map[string]bool{}
	for _, st := range list {
		planned[st.Task.ID] = true
		if st.key != "" {
			keep[st.key] = true
		}

		if r := s.ix.Tasks[st.Task.ID]; r != nil {
			keep[r.Key] = true
		}
	}

	var out []Garbage
	for _, kind := range []string{"objects/*", "scratch", "work", "damaged"} {
		dirs, err := filepath.Glob(filepath.Join(s.cache(), filepath.FromSlash(kind), "*"))
		if err != nil {
			return nil, fmt.Errorf("list cache: %w", err)
		}

		for _, d := range dirs {
			if keep[filepath.Base(d)] || kind == "work" && inUse(d) {
				continue
			}

			g, err := measure(d)
			if err != nil {
				return nil, fmt.Errorf("measure cache: %w", err)
			}

			out = append(out, g)
		}
	}

	slices.SortFunc(out, func(a, b Garbage) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.Key, b.Key)) })

	if !remove {
		return out, nil
	}

	s.clear()

	for _, g := range out {
		if err := os.RemoveAll(g.path); err != nil {
			return nil, fmt.Errorf("clear cache: %w", err)
		}
	}

	for id := range s.ix.Tasks {
		if !planned[id] {
			delete(s.ix.Tasks, id)
			s.dirty = true
		}
	}

	return out, s.save(true)
}

// inUse reports whether a worker may be at its folder, whether or not its driver runs; of a
// dead one nothing changes any more.
func inUse(dir string) bool {
	fi, err := os.Stat(dir)
	return err != nil || time.Since(fi.ModTime()) < abandoned
}

// measure describes a folder of the cache.
func measure(dir string) (Garbage, error) {
	g := Garbage{Key: filepath.Base(dir), path: dir}

	if m, _, err := readManifest(dir); err == nil {
		g.Task = m.Task
	}

	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}

		fi, err := e.Info()
		if err == nil {
			g.Bytes += fi.Size()
			if fi.ModTime().After(g.Made) {
				g.Made = fi.ModTime()
			}
		}

		return err
	})

	return g, err
}
