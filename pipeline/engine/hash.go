package engine

import (
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"doubletake/pipeline/engine/kernel"
)

const (
	// pairBytes is the size up to which raw files are hashed in pairs: the second is still
	// in memory when its turn comes.
	pairBytes = 64 << 20
	// holdBytes is the size up to which the contents of a raw file are kept for the task
	// that reads it, and holdFiles how many wait for theirs.
	holdBytes, holdFiles = 8 << 20, 4
)

// canPair: two files are hashed together in less time than one after the other.
var canPair = kernel.Fast() && readsAhead

// reading is a raw file that is hashed.
type reading struct {
	file  File
	stamp stamp
	f     *os.File
	held  []byte // where its contents go; nil: nowhere
	part  []byte // what was read last
	ended bool
	size  int64
	sum   string
	err   error
}

// hash returns the content hash of a raw file; unchanged files are not read again. If
// it has to be read, one of next, which are to be hashed after it, is read with it.
func (s *store) hash(f File, next ...File) (string, stamp, error) {
	st, err := look(f)
	if err != nil {
		return "", stamp{}, err
	}

	s.mu.Lock()

	for s.hashing[f.Path] != nil { // for another task
		other := s.hashing[f.Path]
		s.mu.Unlock()
		<-other
		s.mu.Lock()
	}

	if r, ok := s.ix.Files[f.Path]; ok && r.Stamp == st {
		s.mu.Unlock()
		return r.SHA256, st, nil
	}

	mine := make(chan struct{})
	files := s.prepareHash(mine, &reading{file: f, stamp: st}, next)
	s.mu.Unlock()

	hashFiles(files)
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, r := range files {
		s.learnHash(r)
		delete(s.hashing, r.file.Path)
	}

	close(mine)

	return files[0].sum, st, files[0].err
}

// prepareHash returns the files to hash, first and perhaps one of next, which it marks as
// being hashed; the store's mutex is held.
func (s *store) prepareHash(mine chan struct{}, first *reading, next []File) []*reading {
	files := []*reading{first}
	s.hashing[first.file.Path] = mine
	for _, f := range next {
		if !canPair || first.stamp.Size > pairBytes || len(files) == 2 {
			break
		}

		st, err := look(f)
		if err == nil && st.Size <= pairBytes && s.ix.Files[f.Path].Stamp != st && s.hashing[f.Path] == nil {
			files = append(files, &reading{file: f, stamp: st})
			s.hashing[f.Path] = mine
		}
	}

	for _, r := range files {
		if s.holds && r.stamp.Size <= holdBytes {
			i := slices.IndexFunc(s.spare, func(b []byte) bool { return int64(cap(b)) >= r.stamp.Size })
			if i >= 0 {
				r.held = s.spare[i][:r.stamp.Size]
				s.spare = slices.Delete(s.spare, i, i+1)
			} else {
				r.held = make([]byte, r.stamp.Size)
			}
		}
	}

	return files
}

// learnHash puts the hash of a raw file into the index. A file that changed while it was
// read has an error instead. The store's mutex is held.
func (s *store) learnHash(r *reading) {
	if r.err == nil {
		now, _, err := lookAt(r.file.Open, true)
		if err != nil || now != r.stamp || r.size != r.stamp.Size {
			r.err = errors.New("it changes while it is read; run again when it is complete")
		}
	}

	if r.err != nil {
		r.sum, r.err = "", &FileError{r.file.Path, r.err}
		s.giveBack(r)
		return
	}

	if time.Since(time.Unix(0, r.stamp.MTime)) > racy {
		s.ix.Files[r.file.Path] = fileRecord{r.stamp, r.sum}
		s.dirty = true
	}

	if r.held != nil {
		s.held = append(s.held, r)
		if len(s.held) > holdFiles {
			s.giveBack(s.held[0])
			s.held = slices.Delete(s.held, 0, 1)
		}
	}
}

// release gives back the memory of files' contents.
func (s *store) release(files ...*reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(files...)
}

// giveBack is release with the store's mutex held.
func (s *store) giveBack(files ...*reading) {
	for _, r := range files {
		if r.held != nil && len(s.spare) < holdFiles {
			s.spare = append(s.spare, r.held[:0])
		}
		r.held = nil
	}
}

// take returns those of a task's raw files of which the contents are held. They are the
// caller's, to release.
func (s *store) take(st *Status) (files []*reading) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for i, f := range st.Task.Files {
		k := slices.IndexFunc(s.held, func(r *reading) bool { return r.file == f && r.stamp == st.stamps[i] })
		if k >= 0 {
			files = append(files, s.held[k])
			s.held = slices.Delete(s.held, k, k+1)
		}
	}

	return files
}

// hashFiles hashes one file or two at a time.
func hashFiles(files []*reading) {
	b := hashBuffers.Get().(*[1 << 18]byte)
	defer hashBuffers.Put(b)

	together := len(files) == 2
	for _, r := range files {
		if r.f, r.err = OpenOwn(r.file.Open); r.err != nil {
			together = false
			continue
		}
		defer r.f.Close()

		if len(files) == 2 {
			readAhead(r.f)
		}
	}

	const half = len(b) / 2
	pair := kernel.NewPair()

	done := 0 // bytes of the parts that are in pair
	for together {
		for i, r := range files {
			r.next(b[i*half:][:half])
			together = together && !r.ended
		}

		done = pair.Write(files[0].part, files[1].part)
	}

	for i, r := range files {
		if r.err != nil {
			continue
		}

		h := pair.Hash(i)
		h.Write(r.part[min(done, len(r.part)):])

		for !r.ended {
			r.next(b[i*half:][:half])
			h.Write(r.part)
		}

		r.sum = hex.EncodeToString(h.Sum(nil))
	}
}

// next reads the next part of the file, to where its contents go, or to part.
func (r *reading) next(part []byte) {
	full := len(part)
	if r.held != nil {
		part = r.held[min(int(r.size), len(r.held)):]
		part = part[:min(full, len(part))]
	}

	n, err := io.ReadFull(r.f, part)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.err = err
	}

	r.part, r.size, r.ended = part[:n], r.size+int64(n), n < full
}
