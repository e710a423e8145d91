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
// keep is true if the caller is one of several processes that may make the same result. If another process has sealed
// its object first, this object stays, and seal returns nil and no error. seal replaces an object without a manifest.
// Other processes may use the result as soon as it has its name, so seal makes it durable before.
//
// keep is false if the caller holds the lock. seal then replaces an object that is already there, because the run is
// forced or the object is damaged. settle makes the result durable later.
func (s *store) seal(task *Task, key, dir string, m manifest, job *Job, keep bool) (*record, error) {
	r := &record{Key: key, Version: m.Version, Seconds: m.Seconds, Packed: task.Packed}

	wasFirst, err := s.complete(r, dir, m, job, keep)
	if err != nil {
		return nil, fmt.Errorf("seal result: %w", err)
	}

	if !wasFirst {
		return nil, nil
	}

	s.remember(task, r, keep)

	return r, nil
}

// complete describes and writes the result in dir, and gives it its name. With keep, wasFirst is false if another
// process has made the result before.
func (s *store) complete(r *record, dir string, m manifest, job *Job, keep bool) (wasFirst bool, err error) {
	if err := r.describe(dir, job); err != nil {
		return false, err
	}

	m.Outputs = r.Outputs
	if err := r.write(dir, m, job); err != nil {
		return false, err
	}

	if keep {
		if err := s.syncObject(dir, r, dir); err != nil {
			return false, err
		}
	}

	return s.name(r, dir, keep)
}

// name gives a result its name among the objects. With keep, wasFirst is false if another process has made the result
// before.
func (s *store) name(r *record, dir string, keep bool) (wasFirst bool, err error) {
	target := s.object(r.Key)

	taken, err := r.claim(dir, target)
	if err != nil {
		return false, err
	}

	if taken {
		if keep && s.sealed(r.Key) {
			return false, nil
		}

		if err := s.exchange(r, dir, target, keep); err != nil {
			return false, err
		}
	}

	if !keep {
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
// one takes it.
func (s *store) exchange(r *record, dir, target string, keep bool) error {
	s.settling.Lock() // between the two renames settle would not find the object
	defer s.settling.Unlock()

	if !keep { // the old object may be durable, so the new one must be durable too; with keep it already is
		if err := s.syncObject(dir, r, dir); err != nil {
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
