package raw

import (
	"errors"
	"os"
	"runtime/debug"
	"unsafe"
)

const (
	windowBytes = 4 << 20 // mapped at a time: mapped pages count as the process's memory
	leastMapped = 1 << 20 // of a smaller file reading is as fast
)

// window shows a part of a file as memory: samples are taken from the page
// cache without being copied out of it first, which is a quarter of the time a
// pass over them takes. The zero value shows nothing.
type window struct {
	f  *os.File
	at int64  // offset in the file of the first byte
	b  []byte // the mapping; nil: none
}

// bytes shows n bytes at an offset. They are valid until the next call; reading
// them may fault. It reports whether they could be mapped.
func (w *window) bytes(at int64, n int) ([]byte, bool) {
	if i := at - w.at; i >= 0 && i+int64(n) <= int64(len(w.b)) {
		return w.b[i : i+int64(n)], true
	}
	w.close()
	from := at &^ int64(os.Getpagesize()-1)
	b, err := mapFile(w.f, from, max(windowBytes, int(at-from)+n))
	if err != nil {
		return nil, false
	}
	w.at, w.b = from, b
	return b[at-from:][:n], true
}

// holds reports whether an address lies in the mapping.
func (w *window) holds(addr uintptr) bool {
	return len(w.b) > 0 && addr-uintptr(unsafe.Pointer(&w.b[0])) < uintptr(len(w.b))
}

func (w *window) close() {
	if w.b != nil {
		unmap(w.b)
	}
	w.b = nil
}

// readMapped is readFrames by way of a window. It reports whether dst holds what
// is in the file: not where it cannot be mapped, or is not as long as it was, or
// the disk fails, for all of which reading has an error message.
func readMapped[T floats](r *Reader, channels []int, start int64, dst [][]T, n int) (ok bool) {
	// What lies behind the end of a file that became shorter, or cannot be
	// fetched, faults; but for the rest of its last page, which is zero.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if x := recover(); x != nil {
			if f, is := x.(interface{ Addr() uintptr }); !is || !r.window.holds(f.Addr()) {
				panic(x)
			}
			ok = false
		}
	}()
	if eachBlock(r, channels, start, dst, n, func(at int64, n int) ([]byte, error) {
		b, ok := r.window.bytes(at, n)
		if !ok {
			return nil, errors.ErrUnsupported
		}
		return b, nil
	}) != nil {
		return false
	}
	st, err := r.window.f.Stat()
	return err == nil && st.Size() >= r.Offset+(start+int64(n))*int64(r.Kind.Bytes()*r.Channels)
}
