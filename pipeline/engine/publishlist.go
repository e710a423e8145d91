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

// Lists in .cache/published name the files that the program published. With them the program can remove files that
// later results no longer have, without touching files that people put beside them. The files of some folders, such as
// figures, are known only when a task has run: each of these folders has a list. The list of the folder "" has all
// other paths.
//
// A list is durable before the files on it appear, and loses a name after its file is gone for good. The first line of
// a list is the checksum of the folder's name and of the other lines; each other line is a path below the folder, with
// slashes.

// listOf returns the path of the list of a folder, which is relative to the work directory.
func (s *store) listOf(folder string) string {
	sum := sha256.Sum256([]byte(filepath.ToSlash(folder)))
	return s.cache("published", hex.EncodeToString(sum[:8]))
}

// listSum returns the checksum of the list of a folder, as hex. text is the list without its first line.
func listSum(folder, text string) string {
	sum := sha256.Sum256([]byte(filepath.ToSlash(folder) + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// published returns the names on the list of a folder. If the list is lost or damaged, sound is false, and published
// returns the read-only files in the given subfolders instead, because published files are read-only.
func (s *store) published(folder string, subfolders ...string) (names []string, sound bool, err error) {
	data, err := ReadOwn(s.listOf(folder))
	isLost := errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign)
	if err != nil && !isLost {
		return nil, false, fmt.Errorf("publish %s: %w", folder, err)
	}

	sum, text, _ := strings.Cut(string(data), "\n")
	if isLost || sum != listSum(folder, text) {
		return s.readOnly(folder, subfolders...), false, nil
	}

	return slices.DeleteFunc(strings.Split(text, "\n"), func(name string) bool { return name == "" }), true, nil
}

// readOnly lists the read-only files in the given subfolders of folder, as paths below folder.
func (s *store) readOnly(folder string, subfolders ...string) (names []string) {
	root := filepath.Join(s.dir, folder)
	add := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // nothing is there, or nothing of ours
		}

		if fi, err := entry.Info(); err == nil && fi.Mode().Perm()&0o222 == 0 {
			name, _ := filepath.Rel(root, path) // cannot fail: path is below root
			names = append(names, filepath.ToSlash(name))
		}

		return nil
	}

	for _, subfolder := range subfolders {
		_ = filepath.WalkDir(filepath.Join(root, subfolder), add) // add returns no error
	}

	return names
}

// list replaces the list of a folder.
func (s *store) list(folder string, names []string) error {
	text := strings.Join(names, "\n")
	if err := s.writeList(s.listOf(folder), []byte(listSum(folder, text)+"\n"+text)); err != nil {
		return fmt.Errorf("publish %s: %w", folder, err)
	}

	return nil
}

// writeList writes the file of a list, and makes it durable.
func (s *store) writeList(listPath string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(listPath), 0o755); err != nil {
		return err
	}

	if err := s.makeWay(aFile, "published", filepath.Base(listPath)); err != nil {
		return err
	}

	if err := s.place(listPath, func(tmp string) error { return writeSynced(tmp, data) }); err != nil {
		return err
	}

	return disk.dir(filepath.Dir(listPath))
}

// takeAway removes published files, which names lists below folder, and the folders that become empty. If the names are
// not from a sound list, takeAway moves the files to .cache/damaged instead, because they may be a user's.
func (s *store) takeAway(folder string, names []string, sound bool) error {
	remove := os.Remove
	if !sound {
		remove = s.setAside
	}

	gone := map[string]bool{} // folders that lost a file
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}

		path := filepath.Join(s.dir, folder, filepath.FromSlash(name))
		err := remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear %s: %w", folder, err)
		}

		if err == nil {
			gone[filepath.Dir(path)] = true
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

// planned is what the tasks of a plan publish.
type planned struct {
	names map[string]bool // paths below the work directory; the path of a folder, which has a list, ends in a slash
	tops  map[string]bool // first parts of these paths: the folders of experiments
}

// publishedBy returns what the tasks of a plan publish.
func publishedBy(plan *Plan) planned {
	now := planned{names: map[string]bool{}, tops: map[string]bool{}}
	for _, task := range plan.Tasks {
		for _, link := range task.Publish {
			name := filepath.ToSlash(link.Path)
			if strings.HasSuffix(link.Output, "/") {
				name += "/"
			}

			now.names[name] = true
			if top, _, below := strings.Cut(name, "/"); below {
				now.tops[top] = true
			}
		}
	}

	return now
}

// has reports whether the plan publishes a file: by its name, or as a file of a folder.
func (p planned) has(name string) bool {
	if p.names[name] {
		return true
	}

	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if p.names[dir+"/"] {
			return true
		}
	}

	return false
}

// declare adds the paths that a plan publishes to the list of the folder "". It returns a function that removes the
// files that were published before into the folders of the same experiments and are not in the plan, such as the models
// of a split that was renamed. Files of other experiments stay, and stay on the list, because another configuration may
// publish them; declare returns the folders of these experiments.
func (s *store) declare(plan *Plan) (clearFormer func() error, foreign []string, err error) {
	now := publishedBy(plan)
	if err := s.makeWay(aFolder, "published"); err != nil {
		return nil, nil, err
	}

	former, sound, err := s.formerlyPublished(now)
	if err != nil {
		return nil, nil, err
	}

	var gone, others []string // gone: not in the plan any more; others: of experiments that are not in the plan
	for _, name := range former {
		top, _, _ := strings.Cut(name, "/")
		switch {
		case now.has(name): // it stays
		case now.tops[top]:
			gone = append(gone, name)
		default:
			others = append(others, name)
		}
	}

	left := slices.Concat(slices.Collect(maps.Keys(now.names)), others)
	slices.Sort(left)

	if !sound || len(gone) > 0 || !slices.Equal(left, former) {
		all := slices.Concat(left, gone)
		slices.Sort(all)
		if err := s.list("", all); err != nil {
			return nil, nil, err
		}
	}

	clearFormer = func() error {
		if len(gone) == 0 {
			return nil
		}

		if err := s.takeAllAway(gone, sound); err != nil {
			return err
		}

		return s.list("", left)
	}

	return clearFormer, s.foldersOf(others), nil
}

// foldersOf returns the first folders of published names that exist, sorted.
func (s *store) foldersOf(names []string) []string {
	var folders []string
	for _, name := range names {
		top, _, below := strings.Cut(name, "/")
		if !below || slices.Contains(folders, top) {
			continue
		}

		if _, err := os.Stat(filepath.Join(s.dir, top)); err == nil {
			folders = append(folders, top)
		}
	}

	slices.Sort(folders)

	return folders
}

// foreign returns the published names of experiments that are not in the plan, and whether they are from a sound list.
func (s *store) foreign(plan *Plan) (names []string, sound bool, err error) {
	listed, sound, err := s.published("")
	if err != nil {
		return nil, false, err
	}

	now := publishedBy(plan)
	for _, name := range listed {
		top, _, below := strings.Cut(name, "/")
		if below && !now.tops[top] {
			names = append(names, name)
		}
	}

	return names, sound, nil
}

// clearForeign removes the published files of experiments that are not in the plan.
func (s *store) clearForeign(plan *Plan) error {
	names, sound, err := s.foreign(plan)
	if err != nil || len(names) == 0 {
		return err
	}

	if err := s.takeAllAway(names, sound); err != nil {
		return err
	}

	listed, _, err := s.published("")
	if err != nil {
		return err
	}

	return s.list("", slices.DeleteFunc(listed, func(name string) bool { return slices.Contains(names, name) }))
}

// formerlyPublished returns the names on the list of the folder "". If the list lacks an experiment of the plan, as
// after a list was lost, formerlyPublished adds the read-only files in the experiment's folder, and sound is false if
// there are any.
func (s *store) formerlyPublished(now planned) (former []string, sound bool, err error) {
	tops := slices.Sorted(maps.Keys(now.tops))
	former, sound, err = s.published("", tops...)
	if err != nil {
		return nil, false, err
	}

	listed := map[string]bool{}
	for _, name := range former {
		top, _, _ := strings.Cut(name, "/")
		listed[top] = true
	}

	unlisted := slices.DeleteFunc(tops, func(top string) bool { return listed[top] })
	lost := s.readOnly("", unlisted...)

	return append(former, lost...), sound && len(lost) == 0, nil
}

// takeAllAway removes published files. A name that ends in a slash is a folder, whose files are on the folder's own
// list. takeAllAway stops at the first error: files that it did not remove must stay on the lists.
func (s *store) takeAllAway(names []string, sound bool) error {
	var files, folders []string
	for _, name := range names {
		if folder, isFolder := strings.CutSuffix(name, "/"); isFolder {
			folders = append(folders, folder)
		} else {
			files = append(files, name)
		}
	}

	if err := s.takeAway("", files, sound); err != nil {
		return err
	}

	for _, folder := range folders {
		inFolder, sound, err := s.published(filepath.FromSlash(folder), "")
		if err != nil {
			return err
		}

		if err := s.takeAway(folder, inFolder, sound); err != nil {
			return err
		}

		if err := os.RemoveAll(s.listOf(folder)); err != nil {
			return err
		}
	}

	return nil
}
