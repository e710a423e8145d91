package engine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Results become durable in groups. A sealed result has its name at once, and the tasks that follow read it from
// memory. settle makes all results that were sealed so far durable together: before one of them gets its readable name,
// before a former result is removed, and before the index is written. After a power cut the index therefore lists
// durable results only. Objects that it does not list are used only if their files have the digests that their
// manifests list.

// If a disk fails to write, one sync reports the error, and the next one succeeds
// although the data are lost (fsync(2)). So after a failed sync the results that were being written are
// removed, and this process takes no further result for durable.

// disk makes files durable. Tests that simulate power cuts replace its functions.
var disk = struct {
	file func(file *os.File) error // makes the contents of a file durable
	dir  func(path string) error   // makes the names in a folder durable
	all  func(dir string) error    // makes the whole file system durable, or returns errUnable; nil: not on this system
}{(*os.File).Sync, syncDir, syncAll}

// fewFiles is the number of files up to which a group is synced file by file. More files are synced
// with their whole file system. That is faster for them, but also waits for the data of other
// programs.
const fewFiles = 16

// errUnable means that a file system cannot be synced as a whole.
var errUnable = errors.New("cannot sync the whole file system")

// settle makes the results durable that were sealed so far. After an error it returns the same error for ever.
func (s *store) settle() error {
	s.settling.Lock()
	defer s.settling.Unlock()
	s.mu.Lock()
	pending := s.pending
	s.pending = map[string]*record{}
	s.mu.Unlock()

	if s.broken != nil || len(pending) == 0 {
		return s.broken
	}

	err := s.syncGroup(pending)
	if err == nil {
		return nil
	}

	s.broken = fmt.Errorf("write results to the disk: %w; the next run makes again what is lost", err)
	if isUnwritten(err) {
		for key := range pending {
			os.RemoveAll(s.object(key))
		}
	}

	return s.broken
}

// syncGroup makes results, given by their keys, durable: with their whole file system if they have many files, and
// otherwise one by one.
func (s *store) syncGroup(results map[string]*record) error {
	files := 0
	for _, record := range results {
		files++
		if !record.Packed {
			files += len(record.Outputs)
		}
	}

	if files > fewFiles && disk.all != nil {
		err := disk.all(s.cache("objects"))
		if !errors.Is(err, errUnable) {
			return err
		}
	}

	var errs error
	for _, key := range slices.Sorted(maps.Keys(results)) {
		err := s.syncObject(s.object(key), results[key], s.dir)
		if err != nil && !s.absent(key) { // a result that was removed meanwhile need not be durable
			errs = errors.Join(errs, err)
		}
	}

	return errs
}

// isUnwritten reports whether an error means that data did not reach the disk.
func isUnwritten(err error) bool {
	for _, cause := range unwritten {
		if errors.Is(err, cause) {
			return true
		}
	}

	return false
}

// syncObject makes the files of a result in the folder dir durable, or the file dir if the result is packed. It also
// makes their names durable, and the names of all folders around them up to the folder top. It syncs everything even
// after an error, and returns all errors.
func (s *store) syncObject(dir string, r *record, top string) error {
	files := []string{dir}
	if !r.Packed {
		files = nil
		for _, name := range r.names() {
			files = append(files, filepath.Join(dir, name))
		}
	}

	top = filepath.Clean(top)
	folders := map[string]bool{}
	var errs error
	for _, path := range files {
		errs = errors.Join(errs, syncFile(path))
		for folder := filepath.Dir(path); len(folder) >= len(top) && !folders[folder]; folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}

	for _, folder := range slices.Backward(slices.Sorted(maps.Keys(folders))) { // the innermost first
		errs = errors.Join(errs, disk.dir(folder))
	}

	return errs
}

// syncFile makes the contents of a file durable.
func syncFile(path string) error {
	file, err := os.OpenFile(path, toSync, 0)
	if err != nil {
		return err
	}

	return errors.Join(disk.file(file), file.Close())
}

// WriteFile writes a small file, so that after a power cut the file is either complete or as it was before: it writes
// the file under another name, makes it durable and renames it.
func WriteFile(path string, data []byte) error {
	tmp, err := writeAside(filepath.Dir(path), data)
	if err == nil {
		err = errors.Join(rename(tmp, path), disk.dir(filepath.Dir(path)))
	}

	if err != nil {
		os.Remove(tmp) // if it is still there
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}

// writeAside writes a file under a fresh name in a folder and makes its contents durable. It returns the path of the
// file also after an error, or "" if the file could not be created.
func writeAside(dir string, data []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return "", err
	}

	_, err = file.Write(data)

	return file.Name(), errors.Join(err, file.Chmod(0o644), disk.file(file), file.Close())
}

// saveEvery is the least time between two writes of the index while tasks run. After a power cut the
// results since the last write are hashed again, or made again if they are lost. It is a variable for tests.
var saveEvery = 5 * time.Second

// saveShare is the least time between two writes of a large index, in times that the last write took.
const saveShare = 20

// save writes the index if it has changed. It first makes the results durable that the index lists. If now is false,
// save does nothing while another goroutine writes the index, or if the last write was a moment ago.
func (s *store) save(now bool) error {
	if s.shared {
		return nil
	}

	if now {
		s.saving.Lock()
	} else if !s.saving.TryLock() {
		return nil
	}
	defer s.saving.Unlock()

	began := time.Now()
	data, learned := s.snapshot(now)
	if data == nil {
		return nil
	}

	if err := s.write(data); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dirty = true
		s.learned = append(learned, s.learned...)

		return fmt.Errorf("save index: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = time.Now()
	s.pause = saveShare * time.Since(began)

	for _, path := range learned {
		os.Remove(path)
	}

	os.Remove(s.cache("learned")) // succeeds only if the folder is empty

	return nil
}

// snapshot returns the index as the bytes of its file, and takes the index for written: it clears s.dirty and
// s.learned, which save sets again after an error. learned has the paths of the indices of workers that the index now
// contains. Before that, snapshot drops settings that no task has any more. It returns nil data and changes nothing if
// the index has not changed, or if now is false and the last write was a moment ago.
func (s *store) snapshot(now bool) (data []byte, learned []string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	isEarly := !now && time.Since(s.saved) < max(saveEvery, s.pause)
	if !s.dirty || isEarly {
		return nil, nil
	}

	used := map[string]bool{}
	for _, record := range s.index.Tasks {
		used[record.Config] = true
	}

	for key := range s.index.Configs {
		if !used[key] {
			delete(s.index.Configs, key)
		}
	}

	learned = s.learned
	s.dirty = false
	s.learned = nil

	return s.index.encode(), learned
}

// write writes the file of the index, after the results that it lists are durable.
func (s *store) write(data []byte) error {
	if err := s.settle(); err != nil {
		return err
	}

	return WriteFile(s.cache("index"), data)
}
