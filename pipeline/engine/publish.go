package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What the program published is on lists in .cache/published, so that it can take away what later results do not
// hold, and nothing that people put beside it: one list for each folder whose files are known when a task has run
// (figures), and one of all other paths. A list is durable before the files on it appear, and loses a name after its
// file is gone for good. Its first line is the checksum of the folder and of the rest.

// listOf is the path of the list of a folder below the work directory.
func (s *store) listOf(folder string) string {
	sum := sha256.Sum256([]byte(filepath.ToSlash(folder)))
	return s.cache("published", hex.EncodeToString(sum[:8]))
}

func listSum(folder, text string) string {
	sum := sha256.Sum256([]byte(filepath.ToSlash(folder) + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// published reads the list of a folder. In place of one that is lost or damaged it lists the files in the folders
// within that are read-only, as published ones are; then sound is false.
func (s *store) published(folder string, within ...string) (names []string, sound bool, err error) {
	b, err := ReadOwn(s.listOf(folder))
	if sum, text, _ := strings.Cut(string(b), "\n"); err == nil && sum == listSum(folder, text) {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(n string) bool { return n == "" }), true, nil
	}

	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrForeign) {
		return nil, false, fmt.Errorf("publish %s: %w", folder, err)
	}

	return s.readOnly(folder, within...), false, nil
}

// readOnly lists the files of a folder, in the folders within, that are read-only as published ones are.
func (s *store) readOnly(folder string, within ...string) (names []string) {
	root := filepath.Join(s.dir, folder)
	for _, w := range within {
		_ = filepath.WalkDir(filepath.Join(root, w), func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // nothing is there, or nothing of ours
			}

			if fi, err := d.Info(); err == nil && fi.Mode().Perm()&0o222 == 0 {
				n, _ := filepath.Rel(root, p)
				names = append(names, filepath.ToSlash(n))
			}

			return nil
		})
	}

	return names
}

// list writes the list of a folder.
func (s *store) list(folder string, names []string) error {
	text, at := strings.Join(names, "\n"), s.listOf(folder)

	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil {
		err = s.makeWay(false, "published", filepath.Base(at))
	}

	if err == nil {
		err = s.place(at, func(tmp string) error { return writeSynced(tmp, []byte(listSum(folder, text)+"\n"+text)) })
	}

	if err == nil {
		err = disk.dir(filepath.Dir(at))
	}

	if err != nil {
		return fmt.Errorf("publish %s: %w", folder, err)
	}

	return nil
}

// takeAway removes published files, and the folders that they leave empty. What is not on a sound list is moved to
// .cache/damaged: it may be somebody's.
func (s *store) takeAway(folder string, names []string, sound bool) error {
	gone := map[string]bool{} // folders that lost a file

	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}

		p, err := filepath.Join(s.dir, folder, filepath.FromSlash(name)), error(nil)
		if sound {
			err = os.Remove(p)
		} else {
			err = s.setAside(p)
		}

		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear %s: %w", folder, err)
		}

		if err == nil {
			gone[filepath.Dir(p)] = true
		}
	}

	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(gone))) {
		for len(dir) > len(filepath.Clean(s.dir)) && os.Remove(dir) == nil {
			dir = filepath.Dir(dir)
		}

		if err := disk.dir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear %s: %w", folder, err)
		}
	}

	return nil
}

// unpublish removes from the task's folders what an earlier result published
// there and r does not hold, such as the figures of a split that is gone.
func (s *store) unpublish(t *Task, r *record) error {
	for _, l := range t.Publish {
		if !strings.HasSuffix(l.Output, "/") {
			continue
		}

		now := []string{}
		for _, o := range r.Outputs {
			if name, ok := strings.CutPrefix(o.Name, l.Output); ok {
				now = append(now, name)
			}
		}

		slices.Sort(now)

		before, sound, err := s.published(l.Path, "")
		if err != nil {
			return err
		}

		if sound && slices.Equal(before, now) {
			continue
		}

		before = slices.DeleteFunc(before, func(n string) bool {
			_, stays := slices.BinarySearch(now, n)
			return stays
		})

		if err := errors.Join(s.takeAway(l.Path, before, sound), s.list(l.Path, now)); err != nil {
			return err
		}
	}

	return nil
}

// declare lists what the plan publishes. clear removes what was published before into the folders of the same
// experiments and is not in the plan, such as the models of a split that was renamed.
func (s *store) declare(p *Plan) (clear func() error, err error) {
	now, tops := map[string]bool{}, map[string]bool{}

	for _, t := range p.Tasks {
		for _, l := range t.Publish {
			name := filepath.ToSlash(l.Path)
			if strings.HasSuffix(l.Output, "/") {
				name += "/" // has a list of its own
			}

			now[name] = true
			if top, _, below := strings.Cut(name, "/"); below {
				tops[top] = true
			}
		}
	}

	if err := s.makeWay(true, "published"); err != nil {
		return nil, err
	}

	before, sound, err := s.published("", slices.Sorted(maps.Keys(tops))...)
	if err != nil {
		return nil, err
	}

	listed := map[string]bool{}
	for _, n := range before {
		top, _, _ := strings.Cut(n, "/")
		listed[top] = true
	}

	// No file is listed of an experiment that was not in the plan when a list was lost.
	unlisted := slices.DeleteFunc(slices.Sorted(maps.Keys(tops)), func(top string) bool { return listed[top] })
	if lost := s.readOnly("", unlisted...); len(lost) > 0 {
		before, sound = append(before, lost...), false
	}

	inFolder := func(name string) bool {
		for name = path.Dir(name); name != "." && !now[name+"/"]; {
			name = path.Dir(name)
		}
		return name != "."
	}

	var gone, others []string // others: of experiments that are not in the plan
	for _, n := range before {
		top, _, _ := strings.Cut(n, "/")
		switch {
		case now[n] || inFolder(n):
		case tops[top]:
			gone = append(gone, n)
		default:
			others = append(others, n)
		}
	}

	left := slices.Concat(slices.Collect(maps.Keys(now)), others)
	slices.Sort(left)

	if !sound || len(gone) > 0 || len(left) != len(before) {
		all := slices.Concat(left, gone)
		slices.Sort(all)
		err = s.list("", all)
	}

	return func() error {
		if len(gone) == 0 {
			return nil
		}

		files, folders := gone[:0:0], []string{}
		for _, n := range gone {
			if folder, is := strings.CutSuffix(n, "/"); is {
				folders = append(folders, folder)
			} else {
				files = append(files, n)
			}
		}

		err := s.takeAway("", files, sound)
		for _, f := range folders {
			names, sound, _ := s.published(filepath.FromSlash(f), "")
			err = errors.Join(err, s.takeAway(f, names, sound), os.RemoveAll(s.listOf(f)))
		}

		return errors.Join(err, s.list("", left))
	}, err
}

// Genuine returns a function that reports files of the work directory around a path that are not those of one result:
// they were damaged, edited or exchanged. Without results of their experiment, as in a folder that was copied or after
// gc, it reports none.
func Genuine(at string) func(files ...string) error {
	none := func(...string) error { return nil }
	at, err := filepath.Abs(at)
	dir := at
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".cache", "objects")); err == nil {
			break
		} else if dir == filepath.Dir(dir) {
			return none
		}
	}

	if err != nil {
		return none
	}

	type content struct{ name, sum string }
	known := map[content]map[string]bool{} // the results that have it
	below, _ := filepath.Rel(dir, at)
	experiment, _, _ := strings.Cut(filepath.ToSlash(below), "/")
	learn := func(key, task string, list []output) {
		if !strings.HasPrefix(task, experiment+"/") {
			return
		}

		for _, o := range list {
			c := content{path.Base(o.Name), o.SHA256}
			if known[c] == nil {
				known[c] = map[string]bool{}
			}
			known[c][key] = true
		}
	}

	s := openStore(dir)
	for task, r := range s.ix.Tasks {
		learn(r.Key, task, r.Outputs)
	}

	genuine := func(files []string) error {
		var all map[string]bool
		for i, f := range files {
			sum, _, err := hashFile(f)
			if err != nil {
				return nil //nolint:nilerr // who reads the file reports it
			}

			of := maps.Clone(known[content{filepath.Base(f), sum}])
			maps.DeleteFunc(of, func(key string, _ bool) bool { return i > 0 && !all[key] })
			if all = of; len(of) == 0 {
				return &FileError{f, errors.New("damaged, changed or exchanged since a run made it; " +
					"pipeline run --verify makes it again")}
			}
		}

		return nil
	}

	return func(files ...string) error {
		if genuine(files) == nil {
			return nil
		}

		objects, _ := filepath.Glob(s.cache("objects", "*", "*")) // the index may be older
		for _, o := range objects {
			if m, _, err := readManifest(o); err == nil {
				learn(filepath.Base(o), m.Task, m.Outputs)
			}
		}

		if len(known) == 0 {
			return nil
		}

		return genuine(files)
	}
}
