package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Results become durable in groups. A sealed result has its name at once, and the
// tasks that follow read it from memory; settle makes all that were sealed so far
// reach the disk together, before one of them gets its readable name, before a
// checkpoint goes, and before the index is written. After a power cut the index
// therefore lists durable results alone. Every other object is believed only if
// the digests of its manifest are those of its files.

// Where a disk fails to write, one sync reports the error, and the next one succeeds
// although the data are lost (fsync(2)). So the results that were being written are
// removed, and after any failed sync this process takes no result for durable.

// disk makes files durable. Tests that cut the power put their own in its place.
var disk = struct {
	file func(f *os.File) error    // the contents of a file
	dir  func(path string) error   // the names in a folder
	all  func(within string) error // all that was written to a file system, or errUnable; nil: unknown here
}{(*os.File).Sync, syncDir, syncAll}

// fewFiles is how many files of a group are synced one by one. Many are synced
// with their whole file system, which takes as long as all its other programs
// have left to write.
const fewFiles = 16

// errUnable means that a file system cannot be synced as a whole.
var errUnable = errors.New("cannot sync the whole file system")

// settle makes the results durable that were sealed so far.
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

	files := 0
	for _, r := range pending {
		files++
		if !r.Packed {
			files += len(r.Outputs)
		}
	}

	err := errUnable
	if files > fewFiles && disk.all != nil {
		err = disk.all(s.cache("objects"))
	}

	group := slices.Sorted(maps.Keys(pending))
	if errors.Is(err, errUnable) {
		err = nil
		for _, key := range group {
			if e := s.syncObject(s.object(key), pending[key], s.dir); e != nil && !s.discarded(key) {
				err = errors.Join(err, e)
			}
		}
	}

	if err == nil {
		return nil
	}

	s.broken = fmt.Errorf("write results to the disk: %w; the next run makes again what is lost", err)
	if slices.ContainsFunc(unwritten, func(e error) bool { return errors.Is(err, e) }) {
		for _, key := range group {
			os.RemoveAll(s.object(key))
		}
	}

	return s.broken
}

// discarded reports whether there is no object of that key.
func (s *store) discarded(key string) bool {
	_, err := os.Lstat(s.object(key))
	return errors.Is(err, fs.ErrNotExist)
}

// syncObject makes the files of a result durable, and their names in all folders
// below top.
func (s *store) syncObject(dir string, r *record, top string) error {
	top = filepath.Clean(top)
	dirs := map[string]bool{}
	sync := func(path string) error {
		for d := filepath.Dir(path); len(d) >= len(top) && !dirs[d]; d = filepath.Dir(d) {
			dirs[d] = true
		}
		return syncFile(path)
	}

	var err error
	if r.Packed {
		err = sync(dir)
	} else {
		for _, name := range r.names() {
			err = errors.Join(err, sync(filepath.Join(dir, name)))
		}
	}

	for _, d := range slices.Backward(slices.Sorted(maps.Keys(dirs))) { // the innermost first
		err = errors.Join(err, disk.dir(d))
	}

	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, toSync, 0)
	if err != nil {
		return err
	}

	return errors.Join(disk.file(f), f.Close())
}

// WriteFile writes a small file whole or not at all: aside, synced, renamed.
func WriteFile(path string, b []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}

	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), disk.file(f), f.Close())
	if err == nil {
		err = rename(f.Name(), path)
	}

	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}

	return disk.dir(dir)
}

// saveEvery is the least time between two writes of the index while tasks run. Between writes
// of a large index, saveShare times the time of the last write passes. After a power cut the
// results of that time are made again.
var saveEvery = 5 * time.Second

const saveShare = 20

// save writes the index if it changed; not more often than every few seconds unless
// now. What it lists is durable before it is.
func (s *store) save(now bool) error {
	if s.shared {
		return nil
	}

	if !now && !s.saving.TryLock() {
		return nil
	}

	if now {
		s.saving.Lock()
	}

	defer s.saving.Unlock()
	s.mu.Lock()

	if !s.dirty || !now && time.Since(s.saved) < max(saveEvery, s.pause) {
		s.mu.Unlock()
		return nil
	}

	began := time.Now()

	used := map[string]bool{}
	for _, r := range s.ix.Tasks {
		used[r.Config] = true
	}

	for k := range s.ix.Configs {
		if !used[k] {
			delete(s.ix.Configs, k)
		}
	}

	b, learned := s.ix.encode(), s.learned
	s.dirty, s.learned = false, nil
	s.mu.Unlock()

	err := s.settle()
	if err == nil {
		err = WriteFile(s.cache("index"), b)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.dirty, s.learned = true, append(learned, s.learned...)
		return fmt.Errorf("save index: %w", err)
	}

	s.saved, s.pause = time.Now(), saveShare*time.Since(began)

	for _, p := range learned {
		os.Remove(p)
	}

	os.Remove(s.cache("learned")) // if it is empty

	return nil
}
