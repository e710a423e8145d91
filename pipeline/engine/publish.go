package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// unpublish removes from the task's folders the files that an earlier result published
// there and r does not have, such as the figures of a split that is gone.
func (s *store) unpublish(task *Task, r *record) error {
	for _, link := range task.Publish {
		if !strings.HasSuffix(link.Output, "/") {
			continue
		}

		if err := s.unpublishFolder(link.Path, r.namesBelow(link.Output)); err != nil {
			return err
		}
	}

	return nil
}

// unpublishFolder removes the published files of a folder that are not among now, and makes now the folder's list.
func (s *store) unpublishFolder(folder string, now []string) error {
	former, sound, err := s.published(folder, "")
	if err != nil {
		return err
	}

	if sound && slices.Equal(former, now) {
		return nil
	}

	var gone []string
	for _, name := range former {
		if !slices.Contains(now, name) {
			gone = append(gone, name)
		}
	}

	// A name stays on the list until its file is gone.
	if err := s.takeAway(folder, gone, sound); err != nil {
		return err
	}

	return s.list(folder, now)
}

// namesBelow returns the names of the outputs below a folder, which ends in a slash, without the folder and sorted.
func (r *record) namesBelow(folder string) []string {
	var names []string
	for _, output := range r.Outputs {
		if name, ok := strings.CutPrefix(output.Name, folder); ok {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}

// links lists the files that the task publishes of a result. A link to a folder becomes one link for each file in it.
func (t *Task) links(r *record) []Link {
	var list []Link
	for _, link := range t.Publish {
		if !strings.HasSuffix(link.Output, "/") {
			list = append(list, link)
			continue
		}

		for _, name := range r.namesBelow(link.Output) {
			list = append(list, Link{link.Output + name, filepath.Join(link.Path, filepath.FromSlash(name))})
		}
	}

	return list
}

// publish makes the outputs appear under their readable names, as further
// names of the object's (read-only) files, or as copies if the file system
// has no hard links. It leaves correct files alone. It removes files that an earlier result
// published into one of the task's folders and that this result does not have.
func (s *store) publish(task *Task, r *record) error {
	if err := s.unpublish(task, r); err != nil {
		return err
	}

	for _, link := range task.links(r) {
		source := filepath.Join(s.object(r.Key), link.Output)
		if err := s.publishFile(source, filepath.Join(s.dir, link.Path)); err != nil {
			return fmt.Errorf("publish %s: %w", link.Path, err)
		}
	}

	return nil
}

// publishFile makes the file source of an object appear as target, unless it is there already.
func (s *store) publishFile(source, target string) error {
	sourceInfo, err := os.Stat(source)
	if err != nil {
		return err
	}

	targetInfo, err := Own(target)
	if err != nil && targetInfo != nil && targetInfo.IsDir() {
		return fmt.Errorf("a folder has the name %s; move it away and run again", target)
	}

	if err == nil && sameContent(sourceInfo, targetInfo) {
		return nil
	}

	if err := s.settle(); err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	return s.place(target, func(tmp string) error {
		if os.Link(source, tmp) == nil {
			return nil
		}

		return copyFile(source, tmp, sourceInfo.ModTime()) // the file system has no hard links
	})
}

// copyFile makes target a read-only copy of an object's file, with the time of that file.
func copyFile(source, target string, modified time.Time) error {
	data, err := ReadOwn(source)
	if err != nil {
		return err
	}

	if err := writeSynced(target, data); err != nil {
		return err
	}

	if err := os.Chtimes(target, modified, modified); err != nil {
		return err
	}

	file, err := os.Open(target)
	if err != nil {
		return err
	}

	return errors.Join(protect(file), file.Close())
}

// sameContent reports whether two files are one, or have the same size and time.
func sameContent(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// placeRetries is the number of times that place tries again.
const placeRetries = 3

// place creates the file target: write writes it under another name in the folder tmp of the cache, and place renames
// it. The next run clears tmp, so that a killed process leaves nothing among the results. A run that starts may clear
// tmp while a worker uses it; place then calls write again. Several workers may place the same file at a time.
func (s *store) place(target string, write func(tmp string) error) error {
	folder := s.cache("tmp")
	name := aside()
	for try := 0; ; try++ {
		err := placeOnce(filepath.Join(folder, name), target, write)
		if err == nil || try == placeRetries {
			return err
		}

		switch {
		case errors.Is(err, errOtherDevice): // target is on another file system than the cache: write beside target
			folder = filepath.Dir(target)
			name = ".tmp-" + name
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
}

// placeOnce calls write to make the file tmp, and renames tmp to target.
func placeOnce(tmp, target string, write func(tmp string) error) error {
	// Rename does nothing if tmp and target are two names of one file, as if another worker was first. tmp then remains.
	defer os.Remove(tmp)

	if err := os.MkdirAll(filepath.Dir(tmp), 0o755); err != nil {
		return err
	}

	if err := write(tmp); err != nil {
		return err
	}

	return rename(tmp, target)
}

// writeSynced writes a file and makes its contents durable, but not its name.
func writeSynced(path string, data []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}

	_, err = file.Write(data)

	return errors.Join(err, disk.file(file), file.Close())
}
