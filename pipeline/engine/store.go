package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline/kv"
	"doubletake/pipeline/pack"
)

// WorkdirError reports why the work directory cannot be used.
type WorkdirError struct {
	Dir string
	Err error
}

func (e *WorkdirError) Error() string {
	return fmt.Sprintf("use workdir %s: %v (name another with the key workdir, or make this one writable)", e.Dir, e.Err)
}

func (e *WorkdirError) Unwrap() error { return e.Err }

// FileError reports that a raw file cannot be read.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// stamp identifies an unchanged file without reading it.
type stamp struct {
	Size  int64
	MTime int64 // ns since 1970
	Inode uint64
}

func stampOf(path string, fi fs.FileInfo) stamp {
	return stamp{Size: fi.Size(), MTime: fi.ModTime().UnixNano(), Inode: fileNumber(path, fi)}
}

// record is what the index knows of a task: its last key, what that was made
// of, and the outputs as they were when the object was sealed.
type record struct {
	Key     string
	Version int
	Config  string // digest of the shared slice, in index.Configs
	Local   []kv.Pair
	Inputs  []input // nil where packed has them: see inputs
	packed  packedInputs
	Outputs []output
	Packed  bool    // the object is a file
	Stamps  []stamp // of the outputs, or of the object that holds them
	Seconds float64
}

// fileRecord is one entry of the stat cache.
type fileRecord struct {
	Stamp  stamp
	SHA256 string
}

type index struct {
	Configs map[string][]kv.Pair // shared slices of configuration, by digest
	Tasks   map[string]*record
	Files   map[string]fileRecord // stat cache, by path
}

// store is the cache below the work directory.
type store struct {
	dir     string // the work directory
	objects string // folder of the results
	mu      sync.Mutex
	ix      index
	dirty   bool
	saved   time.Time
	pause   time.Duration // until the index may be written again

	looked  map[string]*hashed       // raw files, while a plan is assessed: each is looked at once
	hashing map[string]chan struct{} // raw files that are being hashed, by path; closed at the end
	holds   bool                     // contents of raw files that are hashed are kept for their tasks

	learned []string // indices left by workers, to be removed once they are in the main one

	pending          map[string]*record // results that may not be durable yet, by key
	settling, saving sync.Mutex         // held by settle and by save
	broken           error              // the disk failed; guarded by settling
}

func (s *store) cache(elem ...string) string {
	return filepath.Join(append([]string{s.dir, ".cache"}, elem...)...)
}

func (s *store) object(key string) string {
	const sep = string(filepath.Separator)
	return s.objects + sep + key[:1] + sep + key // one folder a digit: to make one takes as long as a small result
}

func newStore(dir string) *store {
	s := &store{
		dir: dir, ix: newIndex(), saved: time.Now(), hashing: map[string]chan struct{}{}, pending: map[string]*record{},
	}
	s.objects = s.cache("objects")

	return s
}

// openStore reads the index; a missing or damaged one is empty, because the
// objects' manifests have all of it. It writes nothing.
func openStore(dir string) *store {
	s := newStore(dir)
	if s.ix.load(s.cache("index")) != nil {
		s.ix = newIndex()
	}

	s.learn()

	return s
}

// forget makes the store hash every raw file and every result again.
func (s *store) forget() {
	s.ix.Files = map[string]fileRecord{}
	for _, r := range s.ix.Tasks {
		r.Stamps = nil
	}
}

// prepare makes the folders and clears what an interrupted run left behind;
// the lock must be held.
func (s *store) prepare() error {
	s.clear()

	for _, d := range []string{s.cache("objects"), s.cache("tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return &WorkdirError{s.dir, err}
		}
	}

	return nil
}

// clear takes away what an interrupted run was writing, here or into the index,
// and checkpoints of tasks whose results are known to be whole and durable; the lock
// must be held.
func (s *store) clear() {
	if kept, _ := os.ReadDir(s.cache("scratch")); len(kept) > 0 && s.settle() == nil {
		for _, r := range s.ix.Tasks {
			if s.whole(r) {
				os.RemoveAll(s.cache("scratch", r.Key))
			}
		}
	}

	os.RemoveAll(s.cache("tmp"))

	left, _ := filepath.Glob(s.cache(".tmp-*"))
	for _, p := range left {
		os.Remove(p)
	}
}

// racy is how close to now a file's change may be before its stamp may miss a
// later change of equal size: the clock of file systems ticks in steps of some
// milliseconds.
const racy = 50 * time.Millisecond

// look returns the stamp of a raw file.
func look(f File) (stamp, error) {
	st, kind, err := lookAt(f.Open, true)
	switch {
	case err != nil:
		return stamp{}, &FileError{f.Path, err}
	case kind.IsDir():
		return stamp{}, &FileError{f.Path, errors.New("it is a folder, expected a file")}
	case !kind.IsRegular(): // reading it may wait for ever
		return stamp{}, &FileError{f.Path, errors.New("it is a FIFO, a socket or a device, expected a file")}
	}

	return st, nil
}

// known reports whether a raw file's hash is known, so that hash need not read
// it. An error is one that reading it would give at once.
func (s *store) known(f File) (bool, error) {
	st, err := look(f)
	if err != nil {
		return false, err
	}

	s.mu.Lock()
	r, ok := s.ix.Files[f.Path]
	s.mu.Unlock()
	if ok && r.Stamp == st {
		return true, nil
	}

	x, err := os.Open(f.Open)
	if err != nil {
		return false, &FileError{f.Path, err}
	}

	return false, x.Close()
}

// whole reports whether a result's files are as they were when it was sealed, by
// their sizes and times.
func (s *store) whole(r *record) bool {
	dir, as := s.object(r.Key), func(path string, i int) bool {
		st, kind, err := lookAt(path, false)
		return err == nil && kind.IsRegular() && i < len(r.Stamps) && st.Size == r.Stamps[i].Size &&
			st.MTime == r.Stamps[i].MTime
	}

	if r.Packed {
		return as(dir, 0)
	}

	for i, o := range r.Outputs {
		if !as(filepath.Join(dir, o.Name), i) {
			return false
		}
	}

	return true
}

// isPack reports whether an object is one file. A link is none.
func isPack(dir string) bool {
	_, err := Own(dir)
	return err == nil
}

// readManifest reads the manifest of an object.
func readManifest(dir string) (m manifest, err error) {
	read, path := ReadOwn, filepath.Join(dir, "manifest.json")
	if isPack(dir) {
		read = pack.ReadFile
	}

	b, err := read(path)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}

	return m, err
}

// hashOutput hashes an output of an object.
func hashOutput(dir, name string) (sum string, size int64, err error) {
	if !isPack(dir) {
		return hashFile(filepath.Join(dir, name))
	}

	r, err := pack.Open(filepath.Join(dir, name))
	if err != nil {
		return "", 0, err
	}
	defer r.Close()

	return hashOpen(r)
}

// stampAll sets the record's stamps to those of the object's files.
func (r *record) stampAll(dir string) error {
	paths := []string{dir}
	if r.Packed = isPack(dir); !r.Packed {
		paths = paths[:0]
		for _, o := range r.Outputs {
			paths = append(paths, filepath.Join(dir, o.Name))
		}
	}

	r.Stamps = nil
	for _, p := range paths {
		fi, err := Own(p)
		if err != nil {
			return err
		}

		r.Stamps = append(r.Stamps, stampOf(p, fi))
	}

	return nil
}

// lookup returns the record of the object of that key if it is there and
// whole. The index's record of the task is used if it has that key;
// otherwise the object's manifest is read and its outputs are hashed. damage
// describes the fault of an object that exists but is not whole.
func (s *store) lookup(t *Task, key string) (r *record, damage string) {
	s.mu.Lock()
	old := s.ix.Tasks[t.ID]
	s.mu.Unlock()

	if old != nil && old.Key == key && s.whole(old) {
		return old, ""
	}

	dir := s.object(key)
	r, err := readRecord(key, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err == nil {
			return nil, "manifest.json is missing"
		}
		return nil, ""
	}

	if err != nil {
		return nil, "manifest.json cannot be read"
	}

	for _, o := range r.Outputs {
		sum, n, err := hashOutput(dir, o.Name)
		switch {
		case err != nil:
			return nil, o.Name + " is missing"
		case n != o.Size:
			return nil, fmt.Sprintf("%s has %d bytes, expected %d", o.Name, n, o.Size)
		case sum != o.SHA256:
			return nil, o.Name + " was changed"
		}
	}

	if r.stampAll(dir) != nil {
		return nil, "a file is missing"
	}

	s.remember(t, r, false)

	return r, ""
}

// readRecord reads what the manifest of an object says.
func readRecord(key, dir string) (*record, error) {
	m, err := readManifest(dir)

	return &record{Key: key, Version: m.Version, Inputs: m.Inputs, Outputs: m.Outputs, Seconds: m.Seconds}, err
}

func configDigest(kvs []kv.Pair) string {
	buffer := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buffer)
	b := (*buffer)[:0]
	for _, kv := range kvs {
		for _, s := range []string{kv.Key, kv.Value} {
			b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
			b = append(b, s...)
		}
	}

	*buffer = b
	sum := sha256.Sum256(b)

	return hex.EncodeToString(sum[:8])
}

// remember puts the record of a result into the index; durable: the result is on
// the disk for certain.
func (s *store) remember(t *Task, r *record, durable bool) {
	r.Config, r.Local = configDigest(t.Config), t.Local
	s.mu.Lock()
	defer s.mu.Unlock()

	if !durable {
		s.pending[r.Key] = r
	}

	s.ix.Configs[r.Config] = t.Config
	s.ix.Tasks[t.ID] = r
	s.dirty = true
}

// aside returns a fresh name for what is being written; no process on any machine has it.
func aside() string { return rand.Text() }

// seal makes the scratch folder the object of that key: hashes its files, writes
// the manifest, renames the folder. What a packed task made is written there as a file.
// An object that is already there (a forced run, or a damaged one) is moved away first,
// unless keep: then it was made by another process meanwhile and stays, and the record is
// nil. With keep others may take the result at once, which is therefore made durable before
// it has its name; without, settle does that.
func (s *store) seal(t *Task, key, dir string, m manifest, j *Job, keep bool) (*record, error) {
	r := &record{Key: key, Version: m.Version, Inputs: m.Inputs, Seconds: m.Seconds, Packed: t.Packed}

	write := r.fill
	if r.Packed {
		write = r.pack
	}

	err := write(dir, m, j)
	if err == nil && keep {
		err = s.syncObject(dir, r, dir)
	}

	if err == nil {
		var there bool
		if there, err = s.name(r, dir, keep); there && err == nil {
			return nil, nil
		}
	}

	if err != nil {
		return nil, fmt.Errorf("seal result: %w", err)
	}

	s.remember(t, r, keep)

	return r, nil
}

// name gives a result its name among the objects; there: with keep, another process was
// first.
func (s *store) name(r *record, dir string, keep bool) (there bool, err error) {
	to := s.object(r.Key)
	up := filepath.Dir(to)

	taken := func(err error) bool { return err != nil && occupied(to, err) }
	if r.Packed { // a file would take the place of another
		_, err := os.Lstat(to)
		taken = func(error) bool { return err == nil }
	}

	if !taken(nil) {
		err = rename(dir, to)
		if errors.Is(err, fs.ErrNotExist) { // the first object of its folder
			if err = os.MkdirAll(up, 0o755); err == nil {
				err = rename(dir, to)
			}
		}
	}

	if taken(err) {
		if keep && sealed(s, r.Key) {
			return true, nil
		}

		away := dir + "-old"
		s.settling.Lock() // settle would miss the object between the two
		defer s.settling.Unlock()

		err = nil
		if !keep { // what takes the place of a durable result is durable
			err = s.syncObject(dir, r, dir)
		}

		if err == nil {
			err = errors.Join(rename(to, away), rename(dir, to), disk.dir(up))
		}

		if err == nil {
			os.RemoveAll(away)
		}
	}

	if err == nil && keep {
		err = errors.Join(disk.dir(up), disk.dir(filepath.Dir(up)))
	}

	return false, err
}

// pack writes a packed task's outputs and its manifest as one file.
func (r *record) pack(path string, m manifest, j *Job) error {
	files := make([]pack.File, 1, 1+len(j.packed))
	for _, p := range j.packed {
		data := p.Bytes()
		sum := sha256.Sum256(data)
		r.Outputs = append(r.Outputs, output{p.name, int64(len(data)), hex.EncodeToString(sum[:]), j.digests[p.name]})
		files = append(files, pack.File{Name: p.name, Data: data})
	}

	b, err := r.manifest(m)
	if err != nil {
		return err
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()

	files[0] = pack.File{Name: "manifest.json", Data: b}
	if err = pack.Write(f, files...); err == nil {
		err = protect(f)
	}

	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}

	return r.stampAll(path)
}

// manifest returns the manifest of a result whose outputs are known.
func (r *record) manifest(m manifest) ([]byte, error) {
	m.Outputs = r.Outputs
	b, err := json.MarshalIndent(m, "", "  ")

	return append(b, '\n'), err
}

// fill describes what a task wrote into its folder, and writes the manifest beside it.
func (r *record) fill(dir string, m manifest, j *Job) error {
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n, _ := filepath.Rel(dir, p)
			names = append(names, filepath.ToSlash(n))
		}

		return err
	})
	if err != nil {
		return err
	}

	sort.Strings(names)

	for _, n := range names {
		o, st, err := sealFile(filepath.Join(dir, n))
		if err != nil {
			return err
		}

		o.Name, o.Digest = n, j.digests[n]
		r.Outputs, r.Stamps = append(r.Outputs, o), append(r.Stamps, st)
	}

	b, err := r.manifest(m)
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644)
}

// sealFile makes a file read-only and describes it.
func sealFile(path string) (o output, st stamp, err error) {
	f, err := OpenOwn(path)
	if err != nil {
		return o, st, err
	}
	defer f.Close()

	if o.SHA256, o.Size, err = hashOpen(f); err != nil {
		return o, st, err
	}

	if err := protect(f); err != nil {
		return o, st, err
	}

	fi, err := f.Stat()
	if err != nil {
		return o, st, err
	}

	return o, stampOf(path, fi), nil
}

// links lists what the task publishes of a result, folders written out.
func (t *Task) links(r *record) []Link {
	var out []Link
	for _, l := range t.Publish {
		if !strings.HasSuffix(l.Output, "/") {
			out = append(out, l)
			continue
		}

		for _, o := range r.Outputs {
			if name, ok := strings.CutPrefix(o.Name, l.Output); ok {
				out = append(out, Link{o.Name, filepath.Join(l.Path, filepath.FromSlash(name))})
			}
		}
	}

	return out
}

// publish makes the outputs appear under their readable names, as further
// names of the object's (read-only) files, or as copies where the file system
// knows no links. Correct files are left alone; files that an earlier result
// published into a folder and this one does not are removed.
func (s *store) publish(t *Task, r *record) error {
	if err := s.unpublish(t, r); err != nil {
		return err
	}

	for _, l := range t.links(r) {
		from, to := filepath.Join(s.object(r.Key), l.Output), filepath.Join(s.dir, l.Path)
		a, err := os.Stat(from)
		if err != nil {
			return fmt.Errorf("publish %s: %w", l.Path, err)
		}

		if b, err := Own(to); err == nil {
			if os.SameFile(a, b) || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) {
				continue
			}
		}

		if err := s.settle(); err != nil {
			return err
		}

		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("publish %s: %w", l.Path, err)
		}

		err = s.place(to, func(tmp string) error {
			if os.Link(from, tmp) == nil {
				return nil
			}

			b, err := ReadOwn(from)
			if err == nil {
				err = writeSynced(tmp, b)
			}

			if err == nil {
				err = os.Chtimes(tmp, a.ModTime(), a.ModTime())
			}

			return err
		})
		if err != nil {
			return fmt.Errorf("publish %s: %w", l.Path, err)
		}
	}

	return nil
}

// place has a file made aside and renames it to its name. Aside is the folder
// that the next run clears, so that a kill leaves nothing among the results. A
// run that starts may clear it while a worker uses it, which then makes the
// file again. Several workers may place the same file at a time.
func (s *store) place(to string, write func(tmp string) error) error {
	at, name := s.cache("tmp"), aside()
	for try := 0; ; try++ {
		tmp := filepath.Join(at, name)

		err := os.MkdirAll(at, 0o755)
		if err == nil {
			err = write(tmp)
		}

		if err == nil {
			err = rename(tmp, to)
		}

		os.Remove(tmp) // it also stays when another worker was first: renaming a file onto its own other name does nothing

		switch {
		case try > 2:
			return err
		case errors.Is(err, errOtherDevice):
			at, name = filepath.Dir(to), ".tmp-"+name // a results folder on another file system
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
}

// writeSynced writes a file whose contents are then durable, its name not yet.
func writeSynced(path string, b []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}

	_, err = f.Write(b)

	return errors.Join(err, disk.file(f), f.Close())
}

// unpublish removes from the task's folders what an earlier result published
// there and r does not hold, such as the figures of a split that is gone. The
// cache keeps a list per folder; files that people put there are not on it. The
// list is durable before the files on it appear, and loses a name after its file
// is gone for good.
func (s *store) unpublish(t *Task, r *record) error {
	for _, l := range t.Publish {
		if !strings.HasSuffix(l.Output, "/") {
			continue
		}

		var now []string
		for _, o := range r.Outputs {
			if name, ok := strings.CutPrefix(o.Name, l.Output); ok {
				now = append(now, name)
			}
		}

		sort.Strings(now)
		sum := sha256.Sum256([]byte(filepath.ToSlash(l.Path)))
		list := s.cache("published", hex.EncodeToString(sum[:8]))
		before, err := ReadOwn(list) // what is no file is replaced by one
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrForeign) {
			return fmt.Errorf("publish %s: %w", l.Path, err)
		}

		text := strings.Join(now, "\n")
		if err == nil && string(before) == text {
			continue
		}

		gone := map[string]bool{} // folders that lost a file
		for _, name := range strings.Split(string(before), "\n") {
			if i := sort.SearchStrings(now, name); name == "" || i < len(now) && now[i] == name ||
				!filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\x00") {
				continue
			}

			path := filepath.Join(s.dir, l.Path, filepath.FromSlash(name))
			err := os.Remove(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clear %s: %w", l.Path, err)
			}

			if err == nil {
				gone[filepath.Dir(path)] = true
			}
		}

		for dir := range gone {
			if err := disk.dir(dir); err != nil {
				return fmt.Errorf("clear %s: %w", l.Path, err)
			}
		}

		err = os.MkdirAll(filepath.Dir(list), 0o755)
		if err == nil {
			err = s.place(list, func(tmp string) error { return writeSynced(tmp, []byte(text)) })
		}

		if err == nil {
			err = disk.dir(filepath.Dir(list))
		}

		if err != nil {
			return fmt.Errorf("publish %s: %w", l.Path, err)
		}
	}

	return nil
}
