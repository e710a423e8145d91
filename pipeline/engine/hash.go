package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
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

	err = x.read(f, hold && x.stamp.Size <= holdBytes)

	s.mu.Lock()
	defer s.mu.Unlock()

	if err == nil && time.Since(time.Unix(0, x.stamp.MTime)) > racy {
		s.ix.Files[f.Path] = fileRecord{x.stamp, x.sum}
		s.dirty = true
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
		if lost != nil || now != x.stamp || size != x.stamp.Size {
			err = errors.New("it changes while it is read; run again when it is complete")
		}
	}

	if err != nil {
		x.release()
		return &FileError{f.Path, err}
	}

	return nil
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
