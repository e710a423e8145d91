package engine

import (
	"errors"
	"os"
	"time"
)

// stamp tells whether a file is unchanged without reading it: two equal stamps mean the same contents, if the file is
// settled.
type stamp struct {
	Size  int64  // bytes
	MTime int64  // last change of the contents, in ns since 1970; people can set it back
	Inode uint64 // number of the file in its file system
	CTime int64  // last change of contents or attributes, in ns since 1970; 0 for results and on Windows
}

// What lookAt, which returns the stamp of a file, describes if a path is a link.
const (
	linkItself = false
	linkTarget = true
)

// slowTick is the coarsest step of a file system's clock: FAT has it.
const slowTick = 2 * time.Second

// settled reports whether a file changed so long ago that any later change gives it another stamp. The clocks of file
// systems tick in steps, some of whole seconds, and may be behind this machine's clock.
func (s *store) settled(st stamp) bool {
	last := max(st.MTime, st.CTime) // people can set back MTime
	age := time.Since(time.Unix(0, last))
	if age > 2*slowTick { // enough for any tick of a clock that is at most slowTick behind
		return true
	}

	s.ticking.Do(s.measureTick)

	tick := s.tick
	if last%int64(time.Second) == 0 { // the file may lie on another file system, with a coarser clock
		tick = slowTick
	}

	return age-s.late > tick
}

// measureTick sets s.tick and s.late: it writes a file in the work directory until the file's time changes. If it
// cannot measure them, the tick is slowTick.
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
			first = fi.ModTime()
			s.late = time.Since(fi.ModTime())
		case !fi.ModTime().Equal(first):
			const margin = 3 // the times of two files may be a tick apart already
			s.tick = max(margin*fi.ModTime().Sub(first), margin*time.Millisecond)
			return
		}
	}
}

// look returns the stamp of a raw file. It returns a *FileError if the file cannot be read.
func look(file File) (stamp, error) {
	st, kind, err := lookAt(file.Open, linkTarget)
	switch {
	case err != nil:
		return stamp{}, &FileError{file.Path, err}
	case kind.IsDir():
		return stamp{}, &FileError{file.Path, errors.New("it is a folder, expected a file")}
	case !kind.IsRegular(): // reading it might never end
		return stamp{}, &FileError{file.Path, errors.New("it is a FIFO, a socket or a device, expected a file")}
	}

	return st, nil
}

// known reports whether the hash of a raw file is known, so that hash need not read
// the file. If it is not known and the file cannot be opened, known returns the error.
func (s *store) known(f File) (bool, error) {
	st, err := look(f)
	if err != nil {
		return false, err
	}

	s.mu.Lock()
	r, ok := s.index.Files[f.Path]
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
