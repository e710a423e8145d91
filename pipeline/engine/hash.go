package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
)

// holdBytes is the size up to which the contents of a raw file are kept for the task that
// has it hashed, and holdFiles how many a task keeps.
const holdBytes, holdFiles = 8 << 20, 4

// hashed is the content hash of a raw file and its stamp then.
type hashed struct {
	path  string
	sum   string
	stamp stamp
	held  *[]byte // the contents; nil where they are not kept
}

// contents has memory for the contents of raw files.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// release gives the memory of the contents back.
func (x *hashed) release() {
	if x.held != nil {
		contents.Put(x.held)
		x.held = nil
	}
}

// hash returns the content hash of a raw file; unchanged files are not read again. Of one
// that is read hold keeps the contents, unless it is large.
func (s *store) hash(f File, hold bool) (x hashed, err error) {
	x.path = f.Path
	if x.stamp, err = look(f); err != nil {
		return x, err
	}

	s.mu.Lock()

	for s.hashing[f.Path] != nil { // for another task
		other := s.hashing[f.Path]
		s.mu.Unlock()
		<-other
		s.mu.Lock()
	}

	if r, ok := s.ix.Files[f.Path]; ok && r.Stamp == x.stamp {
		s.mu.Unlock()
		x.sum = r.SHA256

		return x, nil
	}

	mine := make(chan struct{})
	s.hashing[f.Path] = mine
	s.mu.Unlock()

	stamp, fresh := x.stamp, !s.settled(x.stamp)
	err = x.read(f, hold && x.stamp.Size <= holdBytes)
	settled := err == nil && s.settled(stamp)

	s.mu.Lock()
	defer s.mu.Unlock()

	if settled {
		s.ix.Files[f.Path] = fileRecord{stamp, x.sum}
		s.dirty = true
	}

	if fresh { // a change may leave the stamp as it is: unchanged hashes the file again
		x.stamp.CTime = -1
	}

	delete(s.hashing, f.Path)
	close(mine)

	return x, err
}

// read hashes a file. One that changes meanwhile is an error.
func (x *hashed) read(f File, hold bool) error {
	var size int64
	var err error

	if hold {
		size, err = x.readHeld(f.Open)
	} else {
		x.sum, size, err = hashFile(f.Open)
	}

	if err == nil {
		now, _, lost := lookAt(f.Open, true)
		if now.CTime = x.stamp.CTime; lost != nil || now != x.stamp || size != x.stamp.Size {
			err = errors.New("it changes while it is read; run again when it is complete")
		}
	}

	if err != nil {
		x.release()
		return &FileError{f.Path, err}
	}

	return nil
}

// unchanged reports whether the file is as it was when it was hashed. Where only its attributes were
// changed, or its contents with the time put back, it is hashed again.
func (x *hashed) unchanged(f File) bool {
	now, _, err := lookAt(f.Open, true)
	if err != nil || now == x.stamp {
		return err == nil
	}

	again := hashed{path: f.Path, stamp: x.stamp}

	return again.read(f, false) == nil && again.sum == x.sum
}

// readHeld hashes a file part by part, each while the caches have it, and keeps its contents.
func (x *hashed) readHeld(path string) (size int64, err error) {
	f, err := OpenOwn(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()

	x.held = contents.Get().(*[]byte)
	*x.held = slices.Grow((*x.held)[:0], int(x.stamp.Size))[:x.stamp.Size]

	h := sha256.New()
	for part := range slices.Chunk(*x.held, 1<<18) {
		n, err := io.ReadFull(f, part)
		h.Write(part[:n])

		size += int64(n)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return size, err
		}
	}

	x.sum = hex.EncodeToString(h.Sum(nil))

	return size, nil
}
