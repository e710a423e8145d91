package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
)

// Bounds of the raw files whose contents are kept after hashing, so that the task need not read them again.
const (
	holdBytes = 8 << 20 // size of a file
	holdFiles = 4       // files of a task
)

// hashed is a raw file with its hash.
type hashed struct {
	path  string
	sum   string  // SHA-256, as hex; "" if the file could not be read
	stamp stamp   // of the file when it was hashed
	held  *[]byte // the contents; nil if they are not kept
}

// contents is a pool of memory for the contents of raw files.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// release returns the memory of the contents to the pool.
func (x *hashed) release() {
	if x.held != nil {
		contents.Put(x.held)
		x.held = nil
	}
}

// hash returns the hash of a raw file. It does not read a file again that has the same stamp as when it was hashed. If
// hold is true and hash reads the file, it also keeps the contents, unless the file is large.
func (s *store) hash(f File, hold bool) (hashed, error) {
	stamp, err := look(f)
	if err != nil {
		return hashed{path: f.Path}, err
	}

	x := hashed{path: f.Path, stamp: stamp}
	known, done := s.startHash(f.Path, stamp)
	if known != "" {
		x.sum = known
		return x, nil
	}
	defer done()

	wasSettled := s.settled(stamp)
	if err := x.read(f, hold && stamp.Size <= holdBytes); err != nil {
		return x, err
	}

	if s.settled(stamp) {
		s.mu.Lock()
		s.index.Files[f.Path] = fileRecord{stamp, x.sum}
		s.dirty = true
		s.mu.Unlock()
	}

	if !wasSettled {
		x.stamp.CTime = -1 // no file has this stamp, so that hashed.unchanged hashes the file again
	}

	return x, nil
}

// startHash returns the hash of the raw file at path if the index has it for the stamp. Otherwise it returns "", and no
// other task hashes the file until the caller calls done. If another task is hashing the file, startHash waits.
func (s *store) startHash(path string, stamp stamp) (known string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for s.hashing[path] != nil {
		other := s.hashing[path]
		s.mu.Unlock()
		<-other
		s.mu.Lock()
	}

	if r, ok := s.index.Files[path]; ok && r.Stamp == stamp {
		return r.SHA256, nil
	}

	mine := make(chan struct{})
	s.hashing[path] = mine

	return "", func() {
		s.mu.Lock()
		delete(s.hashing, path)
		s.mu.Unlock()
		close(mine)
	}
}

// read sets the hash of a file, and its contents if hold is true. It returns a *FileError if the file changes
// meanwhile. After an error x has neither a hash nor contents.
func (x *hashed) read(file File, hold bool) error {
	if err := x.readOnce(file.Open, hold); err != nil {
		x.sum = ""
		x.release()

		return &FileError{file.Path, err}
	}

	return nil
}

// readOnce sets the hash of the file at path, and its contents if hold is true. It returns an error if the file changes
// meanwhile. After an error it may leave a hash and contents in x, which read drops.
func (x *hashed) readOnce(path string, hold bool) error {
	var size int64
	var err error
	if hold {
		size, err = x.readHeld(path)
	} else {
		x.sum, size, err = hashRaw(path)
	}

	if err != nil {
		return err
	}

	now, _, err := lookAt(path, linkTarget)
	if err != nil {
		return err
	}

	now.CTime = x.stamp.CTime // a change of the attributes alone is allowed
	if now != x.stamp || size != x.stamp.Size {
		return errors.New("it changes while it is read; run again when it is complete")
	}

	return nil
}

// unchanged reports whether a file is as it was when it was hashed. If the stamp differs, perhaps by an attribute
// alone, it hashes the file again.
func (x *hashed) unchanged(file File) bool {
	now, _, err := lookAt(file.Open, linkTarget)
	if err != nil {
		return false
	}

	if now == x.stamp {
		return true
	}

	again := hashed{path: file.Path, stamp: x.stamp}

	return again.read(file, false) == nil && again.sum == x.sum
}

// readHeld sets the hash of the file at path and keeps its contents. It reads and hashes the file part by part, so that
// each part is hashed while the processor's caches still have it. It returns the number of bytes read.
func (x *hashed) readHeld(path string) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()

	x.held = contents.Get().(*[]byte)
	*x.held = slices.Grow((*x.held)[:0], int(x.stamp.Size))[:x.stamp.Size]

	hash := sha256.New()
	for part := range slices.Chunk(*x.held, hashPart) {
		n, err := io.ReadFull(file, part)
		hash.Write(part[:n])

		size += int64(n)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return size, err
		}
	}

	x.sum = hex.EncodeToString(hash.Sum(nil))

	return size, nil
}

// hashPart is the number of bytes that are read and hashed at a time.
const hashPart = 1 << 18

// hashRaw returns the SHA-256 of the raw file at path, as hex, and its size in bytes. A raw file may be a link.
func hashRaw(path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()

	return hashOpen(file)
}

// hashFile returns the SHA-256 of a file of a work directory that Own accepts, as hex, and its size in bytes.
func hashFile(path string) (sum string, size int64, err error) {
	file, err := OpenOwn(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()

	return hashOpen(file)
}

var hashBuffers = sync.Pool{New: func() any { return new([hashPart]byte) }}

// hashOpen returns the SHA-256 of the bytes that a reader gives, as hex, and their number.
func hashOpen(f io.Reader) (sum string, size int64, err error) {
	buffer := hashBuffers.Get().(*[hashPart]byte)
	defer hashBuffers.Put(buffer)

	hash := sha256.New()
	reader := struct{ io.Reader }{f} // without WriteTo, which would not use the buffer
	size, err = io.CopyBuffer(hash, reader, buffer[:])
	if err != nil {
		return "", 0, err
	}

	return hex.EncodeToString(hash.Sum(nil)), size, nil
}
