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

// Garbage is something that Collect lists: an object that no task of the plan refers to, remains of an earlier run, or
// the folder of an experiment that is not in the plan.
type Garbage struct {
	Key   string    `json:"key"`  // of the object, or the name of a remain; "" for the folder of an experiment
	Task  string    `json:"task"` // that made the object, or the folder; "" if no manifest names a task
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"` // the last change of its files
	path  string    // "" for the folder of an experiment
}

// abandoned is the time after which an unchanged folder of a worker is taken for
// the remains of a killed worker.
const abandoned = 7 * 24 * time.Hour

// Collect lists the objects that can be removed from the cache, oldest first: those that are not the result of a task
// of the plan, and remains of interrupted runs and of earlier versions of the program. Folders of experiments that are
// not in the plan come last. Collect does not list the last results of stale tasks, which a partial run still shows.
// With remove it also holds the lock of the work directory, deletes the listed objects, and removes the published files
// of experiments that are not in the plan.
func Collect(plan *Plan, remove bool) ([]Garbage, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}

	if remove {
		unlock, err := lock(plan.Dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}

	store := openStore(plan.Dir)
	list, _, err := store.assessAll(plan, nil)
	if err != nil {
		return nil, err
	}

	garbage, err := store.findGarbage(store.keysOf(list))
	if err != nil {
		return nil, err
	}

	foreign, _, err := store.foreign(plan)
	if err != nil {
		return nil, err
	}

	for _, folder := range store.foldersOf(foreign) {
		garbage = append(garbage, store.foreignFolder(folder))
	}

	if !remove {
		return garbage, nil
	}

	if err := store.remove(garbage, plan); err != nil {
		return nil, err
	}

	return garbage, nil
}

// keysOf returns the keys of the results of the listed tasks: of their present results, and of their last results.
func (s *store) keysOf(list []*Status) map[string]bool {
	keys := map[string]bool{}
	for _, st := range list {
		if st.key != "" {
			keys[st.key] = true
		}

		if last := s.index.Tasks[st.Task.ID]; last != nil {
			keys[last.Key] = true
		}
	}

	return keys
}

// remove deletes garbage, the published files of experiments that are not in the plan, and the records of tasks that
// are not in it. The lock must be held.
func (s *store) remove(garbage []Garbage, plan *Plan) error {
	if err := s.prepare(); err != nil {
		return err
	}

	if err := s.clearForeign(plan); err != nil {
		return err
	}

	for _, object := range garbage {
		if object.path == "" { // a folder of published files, which clearForeign has cleared
			continue
		}

		if err := os.RemoveAll(object.path); err != nil {
			return fmt.Errorf("clear cache: %w", err)
		}
	}

	planned := idsOf(plan.Tasks)
	for id := range s.index.Tasks {
		if !planned[id] {
			delete(s.index.Tasks, id)
			s.dirty = true
		}
	}

	return s.save(true)
}

// workPattern matches the folders of workers in the cache.
const workPattern = "work/*"

// findGarbage lists the objects and other remains in the cache whose names are not in keep, oldest first.
func (s *store) findGarbage(keep map[string]bool) ([]Garbage, error) {
	var garbage []Garbage
	for _, pattern := range []string{"objects/*/*", "scratch/*", workPattern, "damaged/*"} {
		for _, dir := range Matches(s.cache(), pattern) {
			isWorkers := pattern == workPattern && inUse(dir)
			if keep[filepath.Base(dir)] || isWorkers {
				continue
			}

			object, err := measure(dir)
			if err != nil {
				return nil, fmt.Errorf("measure cache: %w", err)
			}

			garbage = append(garbage, object)
		}
	}

	slices.SortFunc(garbage, func(a, b Garbage) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.Key, b.Key)) })

	return garbage, nil
}

// foreignFolder describes the folder of an experiment that is not in the plan. Its files are further names of objects,
// so that they take no memory of their own.
func (s *store) foreignFolder(folder string) Garbage {
	g := Garbage{Task: folder + "/"}
	if info, err := os.Stat(filepath.Join(s.dir, folder)); err == nil {
		g.Made = info.ModTime()
	}

	return g
}

// inUse reports whether a worker may still write to its folder, even if its driver has ended. A folder that
// has not changed for a long time is not in use.
func inUse(dir string) bool {
	fi, err := os.Stat(dir)
	return err != nil || time.Since(fi.ModTime()) < abandoned
}

// measure describes an object, or another file or folder of the cache, with its size and time.
func measure(dir string) (Garbage, error) {
	object := Garbage{Key: filepath.Base(dir), path: dir}

	if manifest, _, err := readManifest(dir); err == nil {
		object.Task = manifest.Task
	}

	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		fi, err := entry.Info()
		if err != nil {
			return err
		}

		object.Bytes += fi.Size()
		if fi.ModTime().After(object.Made) {
			object.Made = fi.ModTime()
		}

		return nil
	})

	return object, err
}
