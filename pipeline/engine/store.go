package engine

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pack"
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

	return fmt.Sprintf("use workdir %s: %v (%s)", e.Dir, e.Err, remedy)
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
	CTime int64 // of raw files, where the system has it: the last change of the file's contents or attributes, ns
}

// record is what the index knows of a task: its last key, the settings it was made of, and
// the outputs as they were when the object was sealed.
type record struct {
	Key     string
	Version int
	Config  string // digest of the shared slice, in index.Configs
	Local   []kv.Pair
	Outputs []output
	Packed  bool    // the object is a file
	Stamps  []stamp // of the outputs, or of the object that holds them
	Seconds float64

	hashed bool // the outputs, by this process
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
	shared  bool                     // another process may hold the lock: the index is not written
	holds   bool                     // contents of raw files that are hashed are kept for their tasks

	explains bool // all reasons are wanted, also those that only a manifest tells

	locked     bool // by this process: the work directory may be written
	ticking    sync.Once
	tick, late time.Duration // see settled

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

// last is the record of a task's last result, nil without one.
func (s *store) last(task string) *record {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.ix.Tasks[task]
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

	digits := strings.Split("0123456789abcdef", "")
	below := lists.Each(digits, func(digit string) string { return filepath.Join("objects", digit) })
	for _, d := range append([]string{"tmp", "objects"}, below...) {
		if err := s.makeWay(true, d); err != nil {
			return err
		}
	}

	for _, d := range []string{s.cache("objects"), s.cache("tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return &WorkdirError{s.dir, err}
		}
	}

	return s.makeWay(false, "index")
}

// clear takes away what an interrupted run was writing, here or into the index; the lock
// must be held.
func (s *store) clear() {
	os.RemoveAll(s.cache("tmp"))

	left, _ := filepath.Glob(s.cache(".tmp-*"))
	for _, p := range left {
		os.Remove(p)
	}
}

// slowTick is the coarsest step of the clock of a file system, that of FAT.
const slowTick = 2 * time.Second

// settled reports whether a file changed so long ago that a later change gives it another stamp: the clocks of file
// systems tick in steps, some of whole seconds, and may differ from this machine's.
func (s *store) settled(st stamp) bool {
	last := max(st.MTime, st.CTime) // the time of a file may be put back
	age := time.Since(time.Unix(0, last))
	if age > 2*slowTick { // of a clock that is late by no more than that
		return true
	}

	s.ticking.Do(s.measureTick)

	tick := s.tick
	if last%int64(time.Second) == 0 {
		tick = slowTick
	}

	return age-s.late > tick
}

// measureTick measures by how much the time of a file changes at least, in the work directory, and how late that
// clock is.
func (s *store) measureTick() {
	s.tick = slowTick

	path := s.cache(".tmp-" + aside())
	defer os.Remove(path)

	var first time.Time
	for began := time.Now(); s.locked && time.Since(began) < slowTick; time.Sleep(time.Millisecond) {
		if os.WriteFile(path, []byte{0}, 0o644) != nil {
			return
		}

		fi, err := os.Stat(path)
		switch {
		case err != nil:
			return
		case first.IsZero():
			first, s.late = fi.ModTime(), time.Since(fi.ModTime())
		case !fi.ModTime().Equal(first):
			const margin = 3 // the times of two files may be a tick apart already
			s.tick = max(margin*fi.ModTime().Sub(first), margin*time.Millisecond)
			return
		}
	}
}

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

// names are those of the files of an object that is a folder.
func (r *record) names() []string {
	return append(lists.Each(r.Outputs, func(o output) string { return o.Name }), "manifest.json")
}

// output returns the output of a name.
func (r *record) output(name string) (output, bool) {
	return lists.Find(r.Outputs, func(o output) bool { return o.Name == name })
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

	for i, name := range r.names() {
		if !as(filepath.Join(dir, name), i) {
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
func readManifest(dir string) (m manifest, b []byte, err error) {
	read, path := ReadOwn, filepath.Join(dir, "manifest.json")
	if isPack(dir) {
		read = pack.ReadFile
	}

	if b, err = read(path); err == nil {
		err = json.Unmarshal(b, &m)
	}

	return m, b, err
}

// verify hashes an output of an object.
func (o output) verify(dir string) error {
	sum, n, err := hashOutput(dir, o.Name)
	switch {
	case err != nil:
		return fmt.Errorf("%s is missing", o.Name)
	case n != o.Size:
		return fmt.Errorf("%s has %d bytes, expected %d", o.Name, n, o.Size)
	case sum != o.SHA256:
		return fmt.Errorf("%s was changed", o.Name)
	}

	return nil
}

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
		paths = lists.Each(r.names(), func(name string) string { return filepath.Join(dir, name) })
	}

	r.Stamps = nil
	for _, p := range paths {
		st, kind, err := lookAt(p, false)
		if err == nil && !kind.IsRegular() {
			err = &fs.PathError{Op: "open", Path: p, Err: ErrForeign}
		}

		if err != nil {
			return err
		}

		r.Stamps = append(r.Stamps, st)
	}

	return nil
}

// lookup returns the record of the object with the key of st if it is there and
// whole. The index's record of the task is used if it has that key;
// otherwise the object's manifest is read and its outputs are hashed. damage
// describes the fault of an object that exists but is not whole.
func (s *store) lookup(st *Status) (r *record, damage string) {
	if old := s.last(st.Task.ID); old != nil && old.Key == st.key && s.whole(old) {
		return old, ""
	}

	dir := s.object(st.key)
	if s.discarded(st.key) {
		return nil, ""
	}

	r, err := s.read(st)
	for i := 0; err == nil && i < len(r.Outputs); i++ {
		err = r.Outputs[i].verify(dir)
	}

	if err == nil {
		err = r.stampAll(dir)
		r.hashed = true
	}

	if err != nil {
		return nil, fmt.Sprintf("%s: %v", dir, err)
	}

	s.remember(st.Task, r, false)

	return r, ""
}

// read reads the manifest of the object with the key of st.
func (s *store) read(st *Status) (*record, error) {
	m, b, err := readManifest(s.object(st.key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("manifest.json is missing")
	case err != nil:
		return nil, errors.New("manifest.json cannot be read")
	case !m.describes(st, b):
		return nil, errors.New("manifest.json was changed, or is that of another result")
	}

	return &record{Key: st.key, Version: m.Version, Outputs: m.Outputs, Seconds: m.Seconds}, nil
}

// setAside moves what is damaged, or in the way of a file or folder of the cache, to .cache/damaged.
func (s *store) setAside(path string) error {
	to := s.cache("damaged", filepath.Base(path)+"-"+aside())

	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = rename(path, to)
	}

	if err == nil {
		err = disk.dir(filepath.Dir(path))
	}

	if err == nil || errors.Is(err, fs.ErrNotExist) { // another process was first
		return nil
	}

	return &WorkdirError{s.dir, err}
}

// makeWay sets aside what has the name of a file of the cache and is none, or that of a folder.
func (s *store) makeWay(folder bool, elem ...string) error {
	path := s.cache(elem...)
	fi, err := os.Lstat(path)
	if err != nil || fi.IsDir() == folder && (folder || fi.Mode().IsRegular()) {
		return nil //nolint:nilerr // making it tells
	}

	return s.setAside(path)
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
	r := &record{Key: key, Version: m.Version, Seconds: m.Seconds, Packed: t.Packed}

	err := r.describe(dir, j)
	if err == nil {
		m.Outputs = r.Outputs
		err = r.write(dir, m, j)
	}

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
		if keep && s.sealed(r.Key) {
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

// describe lists what a task wrote, into its folder unless it is packed.
func (r *record) describe(dir string, j *Job) error {
	for _, p := range j.packed {
		sum := sha256.Sum256(p.Bytes())
		r.Outputs = append(r.Outputs, output{p.name, int64(p.Len()), hex.EncodeToString(sum[:]), j.digests[p.name]})
	}

	if r.Packed {
		return nil
	}

	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		o, err := sealFile(p)
		name, _ := filepath.Rel(dir, p)
		o.Name = filepath.ToSlash(name)
		o.Digest = j.digests[o.Name]
		r.Outputs = append(r.Outputs, o)

		return err
	})
	slices.SortFunc(r.Outputs, func(a, b output) int { return cmp.Compare(a.Name, b.Name) })

	return err
}

// write writes the manifest beside the outputs, with them as one file if they are packed.
func (r *record) write(path string, m manifest, j *Job) error {
	b, err := m.encode(r.Key)
	switch {
	case err != nil:
	case r.Packed:
		err = r.pack(path, b, j)
	default:
		err = os.WriteFile(filepath.Join(path, "manifest.json"), b, 0o644)
	}

	if err != nil {
		return err
	}

	return r.stampAll(path)
}

func (r *record) pack(path string, manifest []byte, j *Job) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}

	outputs := lists.Each(j.packed, func(p packed) pack.File { return pack.File{Name: p.name, Data: p.Bytes()} })
	if err = pack.Write(f, append([]pack.File{{Name: "manifest.json", Data: manifest}}, outputs...)...); err == nil {
		err = protect(f)
	}

	return errors.Join(err, f.Close())
}

// sealFile makes a file read-only and describes it.
func sealFile(path string) (o output, err error) {
	f, err := OpenOwn(path)
	if err != nil {
		return o, err
	}
	defer f.Close()

	if o.SHA256, o.Size, err = hashOpen(f); err != nil {
		return o, err
	}

	return o, protect(f)
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

		b, err := Own(to)
		if err != nil && b != nil && b.IsDir() {
			return fmt.Errorf("publish %s: a folder has this name; move it away and run again", to)
		}

		if err == nil {
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
