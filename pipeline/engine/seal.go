package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"doubletake/internal/pack"
)

// seal makes the scratch folder dir the object of a key: it hashes the files, writes the manifest and renames the
// folder. If the task is packed, seal writes its outputs as one file at dir, and renames that.
//
// If shared is true, no lock is held and other processes may make the same result. The first object stays: if another
// process has sealed it, seal returns nil and no error. The result is durable before it has its name.
//
// Otherwise the caller holds the lock. seal replaces the object, and settle makes the result durable later.
func (s *store) seal(task *Task, key, dir string, m manifest, job *Job, shared bool) (*record, error) {
	r := &record{Key: key, Version: m.Version, Seconds: m.Seconds, Packed: task.Packed}

	wasFirst, err := s.complete(r, dir, m, job, shared)
	if err != nil {
		return nil, fmt.Errorf("seal result: %w", err)
	}

	if !wasFirst {
		return nil, nil
	}

	s.remember(task, r, shared)

	return r, nil
}

// complete describes and writes the result in dir, and gives it its name. If shared is true and another process has
// made the result before, wasFirst is false.
func (s *store) complete(r *record, dir string, m manifest, job *Job, shared bool) (wasFirst bool, err error) {
	if err := r.describe(dir, job); err != nil {
		return false, err
	}

	m.Outputs = r.Outputs
	if err := r.write(dir, m, job); err != nil {
		return false, err
	}

	if shared {
		top := dir // name makes the folders above durable, after dir has its final name
		if err := s.syncObject(dir, r, top); err != nil {
			return false, err
		}
	}

	return s.name(r, dir, shared)
}

// name gives a result its name among the objects. If shared is true and another process has made the result before,
// wasFirst is false.
func (s *store) name(r *record, dir string, shared bool) (wasFirst bool, err error) {
	target := s.object(r.Key)

	taken, err := r.claim(dir, target)
	if err != nil {
		return false, err
	}

	if taken {
		if shared && s.sealed(r.Key) {
			return false, nil
		}

		if err := s.exchange(r, dir, target, shared); err != nil {
			return false, err
		}
	}

	if !shared {
		return true, nil
	}

	folder := filepath.Dir(target)

	return true, errors.Join(disk.dir(folder), disk.dir(filepath.Dir(folder)))
}

// claim renames dir to target. If an object has that name, claim leaves both alone and reports it as taken.
func (r *record) claim(dir, target string) (taken bool, err error) {
	if r.Packed { // renaming a file would replace the other one
		if _, err := os.Lstat(target); err == nil {
			return true, nil
		}
	}

	err = rename(dir, target)
	if errors.Is(err, fs.ErrNotExist) { // the first object of its folder
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return false, err
		}

		err = rename(dir, target)
	}

	if err != nil && !r.Packed && occupied(target, err) {
		return true, nil
	}

	return false, err
}

// exchange replaces the object at target by the result in dir. The old object must have left its name before the new
// one takes it. If the new one cannot take it, the object is missing, and the next run makes it again.
func (s *store) exchange(r *record, dir, target string, shared bool) error {
	s.settling.Lock() // between the two renames settle would not find the object
	defer s.settling.Unlock()

	if !shared { // the old object may be durable, so the new one must be durable too; a shared one already is
		top := dir // name makes the folders above durable, after dir has its final name
		if err := s.syncObject(dir, r, top); err != nil {
			return err
		}
	}

	away := dir + "-old"
	if err := rename(target, away); err != nil {
		return err
	}

	if err := rename(dir, target); err != nil {
		return err
	}

	if err := disk.dir(filepath.Dir(target)); err != nil {
		return err
	}

	os.RemoveAll(away)

	return nil
}

// describe sets r.Outputs: the outputs in memory of a task that is packed, otherwise the files that the task wrote to
// dir, by name.
func (r *record) describe(dir string, job *Job) error {
	if r.Packed {
		for _, p := range job.packed {
			sum := sha256.Sum256(p.Bytes())
			r.Outputs = append(r.Outputs, output{p.name, int64(p.Len()), hex.EncodeToString(sum[:]), job.digests[p.name]})
		}

		return nil
	}

	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		file, err := sealFile(path)
		if err != nil {
			return err
		}

		name, _ := filepath.Rel(dir, path) // cannot fail: path is below dir
		file.Name = filepath.ToSlash(name)
		file.Digest = job.digests[file.Name]
		r.Outputs = append(r.Outputs, file)

		return nil
	})
	if err != nil {
		return err
	}

	slices.SortFunc(r.Outputs, func(a, b output) int { return cmp.Compare(a.Name, b.Name) })

	return nil
}

// write writes the manifest beside the outputs. If the task is packed, it writes the manifest and the outputs as one
// file at path. It sets the stamps of the record.
func (r *record) write(path string, m manifest, job *Job) error {
	data, err := m.encode(r.Key)
	if err != nil {
		return err
	}

	if r.Packed {
		err = r.pack(path, data, job)
	} else {
		err = os.WriteFile(filepath.Join(path, "manifest.json"), data, 0o644)
	}

	if err != nil {
		return err
	}

	return r.stampAll(path)
}

// pack writes the manifest and the outputs of a packed task as one read-only file at path.
func (r *record) pack(path string, manifest []byte, job *Job) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}

	files := []pack.File{{Name: "manifest.json", Data: manifest}}
	for _, p := range job.packed {
		files = append(files, pack.File{Name: p.name, Data: p.Bytes()})
	}

	if err := pack.Write(file, files...); err != nil {
		return errors.Join(err, file.Close())
	}

	return errors.Join(protect(file), file.Close())
}

// sealFile makes a file read-only and returns its size and hash.
func sealFile(path string) (o output, err error) {
	file, err := OpenOwn(path)
	if err != nil {
		return o, err
	}
	defer file.Close()

	if o.SHA256, o.Size, err = hashOpen(file); err != nil {
		return o, err
	}

	return o, protect(file)
}
