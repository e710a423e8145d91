package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"doubletake/internal/pack"
)

// names lists the files of an object that is a folder: the outputs, and then the manifest.
func (r *record) names() []string {
	names := make([]string, 0, len(r.Outputs)+1)
	for _, file := range r.Outputs {
		names = append(names, file.Name)
	}

	return append(names, "manifest.json")
}

// output returns the output with a name, and whether there is one.
func (r *record) output(name string) (output, bool) {
	for _, file := range r.Outputs {
		if file.Name == name {
			return file, true
		}
	}

	return output{}, false
}

// whole reports whether the files of a result have the sizes and times that they had when the result was sealed.
func (s *store) whole(r *record) bool {
	dir := s.object(r.Key)
	if r.Packed {
		return r.unchanged(dir, 0)
	}

	for i, name := range r.names() {
		if !r.unchanged(filepath.Join(dir, name), i) {
			return false
		}
	}

	return true
}

// unchanged reports whether the file at path has the size and the time of r.Stamps[i].
func (r *record) unchanged(path string, i int) bool {
	if i >= len(r.Stamps) {
		return false
	}

	now, kind, err := lookAt(path, linkItself)
	if err != nil || !kind.IsRegular() {
		return false
	}

	return now.Size == r.Stamps[i].Size && now.MTime == r.Stamps[i].MTime
}

// isPack reports whether an object is one file rather than a folder.
func isPack(dir string) bool {
	_, err := Own(dir)
	return err == nil
}

// readManifest reads the manifest of the object dir. It also returns the bytes of the manifest's file.
func readManifest(dir string) (m manifest, data []byte, err error) {
	path := filepath.Join(dir, "manifest.json")
	if isPack(dir) {
		data, err = pack.ReadFile(path)
	} else {
		data, err = ReadOwn(path)
	}

	if err != nil {
		return m, nil, err
	}

	err = json.Unmarshal(data, &m)

	return m, data, err
}

// verify hashes the output in the object dir. It returns an error if the file differs from its description.
func (o output) verify(dir string) error {
	sum, n, err := hashOutput(dir, o.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing", o.Name)
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w", o.Name, err)
	case n != o.Size:
		return fmt.Errorf("expected %d B in %s, found %d B", o.Size, o.Name, n)
	case sum != o.SHA256:
		return fmt.Errorf("%s was changed", o.Name)
	}

	return nil
}

// hashOutput returns the SHA-256 of the output with a name in the object dir, as hex, and its size in bytes.
func hashOutput(dir, name string) (sum string, size int64, err error) {
	if !isPack(dir) {
		return hashFile(filepath.Join(dir, name))
	}

	reader, err := pack.Open(filepath.Join(dir, name))
	if err != nil {
		return "", 0, err
	}
	defer reader.Close()

	return hashOpen(reader)
}

// stampAll sets r.Packed and r.Stamps from the files of the object dir.
func (r *record) stampAll(dir string) error {
	r.Packed = isPack(dir)

	var paths []string
	if r.Packed {
		paths = []string{dir}
	} else {
		for _, name := range r.names() {
			paths = append(paths, filepath.Join(dir, name))
		}
	}

	r.Stamps = nil
	for _, path := range paths {
		st, kind, err := lookAt(path, linkItself)
		if err != nil {
			return err
		}

		if !kind.IsRegular() {
			return &fs.PathError{Op: "open", Path: path, Err: ErrForeign}
		}

		r.Stamps = append(r.Stamps, st)
	}

	return nil
}

// lookup returns the record of the object with the key of st. If no such object exists, r is nil and damage is "". If
// the object is damaged, r is nil and damage is the fault in words.
//
// If the index has a record with that key for the task, and the files still have the sizes and times in the record,
// lookup returns the record. Otherwise it reads the object's manifest and hashes the outputs.
func (s *store) lookup(st *Status) (r *record, damage string) {
	if old := s.last(st.Task.ID); old != nil && old.Key == st.key && s.whole(old) {
		return old, ""
	}

	if s.absent(st.key) {
		return nil, ""
	}

	r, err := s.readVerified(st)
	if err != nil {
		return nil, fmt.Sprintf("%s: %v", s.object(st.key), err)
	}

	s.remember(st.Task, r, false)

	return r, ""
}

// readVerified reads the manifest of the object with the key of st and hashes its outputs. It returns an error if
// one of them is not as the manifest describes it.
func (s *store) readVerified(st *Status) (*record, error) {
	r, err := s.read(st)
	if err != nil {
		return nil, err
	}

	dir := s.object(st.key)
	for _, output := range r.Outputs {
		if err := output.verify(dir); err != nil {
			return nil, err
		}
	}

	if err := r.stampAll(dir); err != nil {
		return nil, err
	}

	r.hashed = true

	return r, nil
}

// read returns the record of the object with the key of st, as its manifest describes it, without stamps.
func (s *store) read(st *Status) (*record, error) {
	manifest, data, err := readManifest(s.object(st.key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("manifest.json is missing")
	case err != nil:
		return nil, fmt.Errorf("manifest.json cannot be read: %w", err)
	case !manifest.describes(st.key, data):
		return nil, errors.New("manifest.json was changed, or belongs to another result")
	}

	return &record{Key: st.key, Version: manifest.Version, Outputs: manifest.Outputs, Seconds: manifest.Seconds}, nil
}

// adopt reads the record of a result that another process has sealed, and adds it to the index. durable is true if the
// result is certainly on the disk. adopt does not hash the files, because a process of this same program has just
// written them. It only compares the sizes of files that are not packed.
func (s *store) adopt(st *Status, durable bool) (*record, error) {
	dir := s.object(st.key)
	r, err := s.read(st)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}

	if err := r.stampAll(dir); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}

	for i, output := range r.Outputs {
		if !r.Packed && r.Stamps[i].Size != output.Size {
			return nil, fmt.Errorf("read result: expected %d B in %s, found %d B", output.Size, output.Name, r.Stamps[i].Size)
		}
	}

	s.remember(st.Task, r, durable)

	return r, nil
}

// sealed reports whether there is an object with that key: a file, or a folder with a manifest.
func (s *store) sealed(key string) bool {
	dir := s.object(key)
	fi, err := os.Lstat(dir)
	if err != nil {
		return false
	}

	if !fi.IsDir() {
		return true
	}

	_, err = os.Stat(filepath.Join(dir, "manifest.json"))

	return err == nil
}

// absent reports whether there is no file or folder of the object with that key.
func (s *store) absent(key string) bool {
	_, err := os.Lstat(s.object(key))
	return errors.Is(err, fs.ErrNotExist)
}
