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

		now := []string{}
		for _, output := range r.Outputs {
			if name, ok := strings.CutPrefix(output.Name, link.Output); ok {
				now = append(now, name)
			}
		}

		slices.Sort(now)

		former, sound, err := s.published(link.Path, "")
		if err != nil {
			return err
		}

		if sound && slices.Equal(former, now) {
			continue
		}

		var gone []string
		for _, name := range former {
			if _, stays := slices.BinarySearch(now, name); !stays {
				gone = append(gone, name)
			}
		}

		// A name stays on the list until its file is gone.
		if err := s.takeAway(link.Path, gone, sound); err != nil {
			return err
		}

		if err := s.list(link.Path, now); err != nil {
			return err
		}
	}

	return nil
}

// links lists the files that the task publishes of a result. A link to a folder becomes one link for each file in it.
func (t *Task) links(r *record) []Link {
	var list []Link
	for _, link := range t.Publish {
		if !strings.HasSuffix(link.Output, "/") {
			list = append(list, link)
			continue
		}

		for _, output := range r.Outputs {
			if name, ok := strings.CutPrefix(output.Name, link.Output); ok {
				list = append(list, Link{output.Name, filepath.Join(link.Path, filepath.FromSlash(name))})
			}
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
		target := filepath.Join(s.dir, link.Path)
		sourceInfo, err := os.Stat(source)
		if err != nil {
			return fmt.Errorf("publish %s: %w", link.Path, err)
		}

		targetInfo, err := Own(target)
		if err != nil && targetInfo != nil && targetInfo.IsDir() {
			return fmt.Errorf("publish %s: a folder has this name; move it away and run again", target)
		}

		if err == nil && sameContent(sourceInfo, targetInfo) {
			continue
		}

		if err := s.settle(); err != nil {
			return err
		}

		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("publish %s: %w", link.Path, err)
		}

		err = s.place(target, func(tmp string) error { return linkOrCopy(source, tmp, sourceInfo.ModTime()) })
		if err != nil {
			return fmt.Errorf("publish %s: %w", link.Path, err)
		}
	}

	return nil
}

// linkOrCopy makes target a further name of the file source, or a copy with the same time if the file system has no
// hard links.
func linkOrCopy(source, target string, modified time.Time) error {
	if os.Link(source, target) == nil {
		return nil
	}

	data, err := ReadOwn(source)
	if err != nil {
		return err
	}

	if err := writeSynced(target, data); err != nil {
		return err
	}

	return os.Chtimes(target, modified, modified)
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
