package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"doubletake/internal/kv"
)

// WorkdirError reports why the work directory cannot be used.
type WorkdirError struct {
	Dir string
	Err error
}

func (e *WorkdirError) Error() string {
	remedy := "name another with the key workdir, or make this one writable"
	if errors.Is(e.Err, syscall.ENOTDIR) || errors.Is(e.Err, syscall.EISDIR) || errors.Is(e.Err, ErrForeign) {
		remedy = "a file is in the place of a folder, or a folder in that of a file: move it away, or name another workdir"
	}

	return fmt.Sprintf("cannot use the work directory %s: %v (%s)", e.Dir, e.Err, remedy)
}

func (e *WorkdirError) Unwrap() error { return e.Err }

// FileError reports that a raw file cannot be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// record describes the last result of a task: its key, the settings it was made of, and
// its outputs as they were when the object was sealed.
type record struct {
	Key     string
	Version int       // of the stage's code
	Config  string    // digest of Task.Config, by which index.Configs has it
	Local   []kv.Pair // Task.Local
	Outputs []output
	Packed  bool    // the object is one file, a pack
	Stamps  []stamp // of the files that record.names lists, or of the pack; nil: the result must be hashed again
	Seconds float64 // that the task took

	hashed bool // this process has hashed the outputs
}

// fileRecord is the hash of a raw file, and the stamp that the file had then.
type fileRecord struct {
	Stamp  stamp
	SHA256 string
}

// index is the contents of the file .cache/index.
type index struct {
	Configs map[string][]kv.Pair  // settings that tasks share (Task.Config), by their digest
	Tasks   map[string]*record    // last result of each task, by its ID
	Files   map[string]fileRecord // hashes of raw files, by path
}

// store is the cache below the work directory. A result goes through it in these steps: lookup finds out whether it is
// there (lookup.go); seal gives it its name (seal.go); settle makes it durable, together with others (durable.go);
// publish gives its files their readable names (publish.go); save writes the index, which lists durable results only.
type store struct {
	dir     string // the work directory
	objects string // folder of the results

	mu    sync.Mutex // guards index, dirty, saved, pause, hashing, learned and pending
	index index
	dirty bool          // index has changed since it was written
	saved time.Time     // when index was last written
	pause time.Duration // least time between two writes of index

	looked  map[string]*hashed       // raw files by path, while a plan is assessed: each is looked at once; otherwise nil
	hashing map[string]chan struct{} // raw files that are being hashed, by path; the channel is closed at the end
	shared  bool                     // another process may hold the lock: the index is not written
	holds   bool                     // the contents of hashed raw files are kept for the tasks that read them

	explains bool // Status.Reasons must be complete, even if that takes reading manifests

	locked  bool          // this process holds the lock: it may write to the work directory
	ticking sync.Once     // measures tick and late
	tick    time.Duration // a file that changes after this time gets another time stamp
	late    time.Duration // by how much the clock of the file system is behind the clock of this machine

	learned []string // indices that workers left, to be removed once the main index has their contents

	pending  map[string]*record // results that may not be durable yet, by key
	settling sync.Mutex         // held while results are made durable
	saving   sync.Mutex         // held while the index is written
	broken   error              // why a sync failed: no result counts as durable any more; guarded by settling
}

// cache returns a path below the cache's folder.
func (s *store) cache(elem ...string) string {
	return filepath.Join(append([]string{s.dir, ".cache"}, elem...)...)
}

// object returns the path of the object with a key. There is one folder for each first digit of a key and not more,
// because creating a folder takes as long as writing a small result.
func (s *store) object(key string) string {
	const sep = string(filepath.Separator)
	return s.objects + sep + key[:1] + sep + key
}

// newStore returns a store with an empty index.
func newStore(dir string) *store {
	s := &store{
		dir: dir, index: newIndex(), saved: time.Now(), hashing: map[string]chan struct{}{}, pending: map[string]*record{},
	}
	s.objects = s.cache("objects")

	return s
}

// last returns the record of a task's last result, or nil if there is none.
func (s *store) last(task string) *record {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.index.Tasks[task]
}

// openStore returns a store with the index of the work directory. If the index is missing or damaged, it starts with
// an empty one: the objects' manifests contain the same facts. It writes nothing.
func openStore(dir string) *store {
	s := newStore(dir)
	if s.index.load(s.cache("index")) != nil {
		s.index = newIndex()
	}

	s.learn()

	return s
}

// forget drops the stamps of all files from the index, so that every raw file and every result is hashed again.
func (s *store) forget() {
	s.index.Files = map[string]fileRecord{}
	for _, record := range s.index.Tasks {
		record.Stamps = nil
	}
}

// prepare creates the folders of the cache and removes what an interrupted run left behind.
// The lock must be held.
func (s *store) prepare() error {
	s.clear()

	folders := []string{"tmp", "objects"}
	for _, digit := range strings.Split("0123456789abcdef", "") {
		folders = append(folders, filepath.Join("objects", digit))
	}

	for _, dir := range folders {
		if err := s.makeWay(aFolder, dir); err != nil {
			return err
		}
	}

	for _, dir := range []string{s.cache("objects"), s.cache("tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return &WorkdirError{s.dir, err}
		}
	}

	return s.makeWay(aFile, "index")
}

// clear removes unfinished results and unfinished copies of the index, which an interrupted run may have left. The lock
// must be held.
func (s *store) clear() {
	os.RemoveAll(s.cache("tmp"))

	for _, path := range Matches(s.cache(), ".tmp-*") {
		os.Remove(path)
	}
}

// Matches returns the paths of the files and folders below dir that match a pattern of fs.Glob, sorted. dir itself is
// not a pattern, so that its name may have brackets.
func Matches(dir, pattern string) []string {
	names, _ := fs.Glob(os.DirFS(dir), pattern) // it fails only for a malformed pattern
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, filepath.FromSlash(name))
	}

	return paths
}

// setAside moves a file or folder to .cache/damaged: a damaged one, or one that occupies a path of the cache.
func (s *store) setAside(path string) error {
	target := s.cache("damaged", filepath.Base(path)+"-"+aside())

	err := moveDurably(path, target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // if it is gone, another process has moved it
		return &WorkdirError{s.dir, err}
	}

	return nil
}

// moveDurably renames a file or folder, creates the folder of its new name, and makes the loss of the old name durable.
func moveDurably(path, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	if err := rename(path, target); err != nil {
		return err
	}

	return disk.dir(filepath.Dir(path))
}

// Values of folder, a parameter of makeWay.
const (
	aFile   = false
	aFolder = true
)

// makeWay moves away anything of the wrong type that occupies a path of the cache, which is to be a folder or a file.
func (s *store) makeWay(folder bool, elem ...string) error {
	path := s.cache(elem...)
	fi, err := os.Lstat(path)
	if err != nil {
		return nil //nolint:nilerr // the function that creates the file or folder reports the error
	}

	rightType := fi.Mode().IsRegular()
	if folder {
		rightType = fi.IsDir()
	}

	if rightType {
		return nil
	}

	return s.setAside(path)
}

// remember puts the record of a task's result into the index, and completes it with the task's settings. If durable is
// true, the result is on the disk for certain; otherwise it becomes pending, and settle makes it durable.
func (s *store) remember(task *Task, r *record, durable bool) {
	r.Config = configDigest(task.Config)
	r.Local = task.Local
	s.mu.Lock()
	defer s.mu.Unlock()

	if !durable {
		s.pending[r.Key] = r
	}

	s.index.Configs[r.Config] = task.Config
	s.index.Tasks[task.ID] = r
	s.dirty = true
}

// aside returns a fresh name for a file that is being written. No process on any machine uses the same name.
func aside() string { return rand.Text() }

// learn adds the indices that workers left in .cache/learned to the store's index.
func (s *store) learn() {
	list, _ := os.ReadDir(s.cache("learned"))
	for _, entry := range list {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}

		path := s.cache("learned", entry.Name())

		var workers index
		if workers.load(path) != nil { // it is damaged: its results are found by their manifests
			continue
		}

		maps.Copy(s.index.Configs, workers.Configs)
		maps.Copy(s.index.Tasks, workers.Tasks)
		maps.Copy(s.index.Files, workers.Files)
		s.learned = append(s.learned, path)
		s.dirty = true
	}
}
