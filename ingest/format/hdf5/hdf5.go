// Package hdf5 reads HDF5 files: groups, attributes and numeric datasets, in
// pure Go and without writing. MATLAB 7.3 files are HDF5 behind a block of 512
// bytes and are read alike.
//
// The format is that of "HDF5 File Format Specification Version 3.0" (The HDF
// Group): superblocks 0 to 3; object headers 1 and 2; groups as symbol tables,
// link messages and dense links; attributes in headers and dense; contiguous,
// compact and chunked data with all six chunk indexes; the filters deflate,
// shuffle, fletcher32 and h5py's lzf. Every checksum the format has is
// verified. What the package cannot interpret (other filters, virtual
// datasets, external files, …) is an *Error that names it, never a wrong number.
//
// # Hostile files
//
// No length or address of a file is trusted. Open reads the whole structure
// (not the data) and refuses a file whose structure would make it read more
// than 16 times the file's size plus 1 MiB, or 4 times plus 64 MiB if that is less;
// of small files it allocates less than 64 times the size plus 4 MiB, which the fuzz
// test verifies. Reading holds the cache (16 MiB
// unless stated otherwise, or one chunk if that is larger), at most three more
// chunks, 400 KiB, and the nodes on the way to one chunk, independent of the
// file's length. Chunks with filters are refused where they have more than 16 MiB
// and the file's size, or claim more than 1032 times the bytes stored for them, the
// most deflate can reach.
//
// # Parallel use
//
// A File and everything reached from it (Groups, Datasets, Attributes) do not
// change after Open and may be used by any number of goroutines, provided the
// io.ReaderAt may be (an *os.File may). A Reader and a Cache belong to one
// goroutine at a time. Files share nothing.
//
// recording.go decides which dataset is a channel, and the meaning of MATLAB's
// attributes.
package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"doubletake/ingest/fault"
)

// errUnsupported is the Err of faults of files that are right but hold what this
// package does not read.
var errUnsupported = errors.New("not supported")

// atByte returns a fault at a byte of the file.
func atByte(at int64, found string, err error) *fault.Error {
	return &fault.Error{Place: fmt.Sprintf("byte %d", at), Found: found, Err: err}
}

// about adds the object ("dataset /a/b", "group /a") an error concerns to its
// place, unless an object is there already.
func about(err error, object string) error {
	//nolint:errorlint // a copy of a wrapped one would lose what wraps it
	e, ok := err.(*fault.Error)
	if !ok || e.Place != "" && !strings.HasPrefix(e.Place, "byte ") {
		return err
	}

	c := *e
	if c.Place != "" {
		object += ", "
	}

	c.Place = object + c.Place

	return &c
}

const (
	signature = "\x89HDF\r\n\x1a\n"

	maxDepth = 128 // nested groups
	maxRank  = 32  // the format's own limit
)

// File is an open HDF5 file.
type File struct {
	src       source
	version   int
	userBlock int64

	root     *Group
	groups   []*Group
	datasets []*Dataset
	objects  map[uint64]any // header address → *Group, *Dataset or nil
}

// IsHDF5 reports whether r holds an HDF5 superblock at one of the offsets
// where the format allows it: 0, 512, 1024, 2048, …
func IsHDF5(r io.ReaderAt, size int64) bool {
	_, ok, err := findSuperblock(r, size)
	return ok && err == nil
}

func findSuperblock(r io.ReaderAt, size int64) (int64, bool, error) {
	b := make([]byte, len(signature))
	for at := int64(0); at <= size-int64(len(b)); {
		if n, err := r.ReadAt(b, at); n < len(b) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return 0, false, atByte(at, "cannot read", err)
		}

		if string(b) == signature {
			return at, true, nil
		}

		if at == 0 {
			at = 512
		} else {
			at *= 2
		}
	}

	return 0, false, nil
}

// Open reads the structure of a file of size bytes: groups, links, attributes
// and the descriptions of datasets. A structure that contradicts itself is an
// *Error; a dataset or attribute that is sound but not supported is listed with
// its own error (Dataset.Err, Attribute.Err).
func Open(r io.ReaderAt, size int64) (*File, error) { return open(r, size, false) }

func open(r io.ReaderAt, size int64, lax bool) (*File, error) {
	at, ok, err := findSuperblock(r, size)
	if err != nil {
		return nil, err
	}

	if !ok {
		return nil, &fault.Error{Found: "no HDF5 signature at byte 0, 512, 1024, 2048, …"}
	}

	f := &File{userBlock: at, objects: map[uint64]any{}}
	p := &parser{source: source{r: r, base: at, size: size, so: 8, sl: 8, lax: lax}}
	p.left = min(16*size+1<<20, 4*size+64<<20)

	root, err := f.superblock(p)
	if err != nil {
		return nil, err
	}

	f.src = p.source
	w := walker{f: f, p: p, heaps: globalHeaps{}}
	o, err := w.object(root, "/", 0)
	if err != nil {
		return nil, err
	}

	g, ok := o.(*Group)
	if !ok {
		return nil, p.errorf(root, "the root object is no group")
	}

	f.root = g

	return f, nil
}

// superblock reads the superblock and returns the address of the root group.
func (f *File) superblock(p *parser) (uint64, error) {
	const most = 8 + 16 + 8 + 6*8 + 32 // the longest there is
	n := min(most, p.size-p.base)
	b, err := p.bytes(0, uint64(n))
	if err != nil {
		return 0, err
	}

	c := p.cursor(b[8:])
	f.version = int(c.u8())
	var base, eof, driver, root uint64
	driver = undefined
	switch f.version {
	case 0, 1:
		c.skip(4)

		if err := p.sizes(c); err != nil {
			return 0, err
		}

		c.skip(1 + 2 + 2 + 4)

		if f.version == 1 {
			c.skip(4)
		}

		base = c.addr()
		c.addr()
		eof, driver = c.addr(), c.addr()
		c.skip(p.so)
		root = c.addr()

	case 2, 3:
		if err := p.sizes(c); err != nil {
			return 0, err
		}

		c.skip(1)
		base = c.addr()
		ext := c.addr()
		eof, root = c.addr(), c.addr()
		end := 8 + c.off

		sum := c.u32()
		if !c.bad && !p.right(b[:end], sum) {
			return 0, p.errorf(0, "the checksum of the superblock is wrong")
		}

		if ext != undefined && !c.bad {
			ms, err := p.header(ext)
			if err != nil {
				return 0, about(err, "the superblock extension")
			}

			for _, m := range ms {
				if m.kind == msgDriver {
					return 0, p.unsupported("data spread over several files (driver information)")
				}
			}
		}

	default:
		return 0, p.unsupported(fmt.Sprintf("superblock version %d", f.version))
	}

	if c.bad {
		return 0, p.errorf(0, "the file ends within the superblock")
	}

	if driver != undefined {
		return 0, p.unsupported("data spread over several files (driver information)")
	}

	// Addresses count from the superblock, as in the reference library; the end was noted with the base of that time.
	if end := eof - base + uint64(p.base); eof < base || end < uint64(p.base) || end > uint64(p.size) {
		return 0, &fault.Error{Found: fmt.Sprintf("the file is cut off: it should end at byte %d and has %d bytes", end,
			p.size)}
	}

	return root, nil
}

// sizes reads the two bytes that give the sizes of addresses and lengths.
func (p *parser) sizes(c *cursor) error {
	so, sl := int(c.u8()), int(c.u8())
	for _, n := range []int{so, sl} {
		if n != 2 && n != 4 && n != 8 {
			return p.errorf(0, "addresses of %d and lengths of %d bytes: 2, 4 or 8 are possible", so, sl)
		}
	}

	p.so, p.sl = so, sl
	c.so, c.sl = so, sl

	return nil
}

// SuperblockVersion returns 0 to 3.
func (f *File) SuperblockVersion() int { return f.version }

// UserBlock returns the number of bytes in front of the HDF5 part, which are
// the application's own; 512 in MATLAB 7.3 files, 0 in most others.
func (f *File) UserBlock() int64 { return f.userBlock }

// Groups lists every group once, depth first, the root first, under the first
// path that reaches it by hard links.
func (f *File) Groups() []*Group { return append([]*Group(nil), f.groups...) }

// Datasets lists every dataset once, depth first in the order of the links,
// under the first path that reaches it by hard links.
func (f *File) Datasets() []*Dataset { return append([]*Dataset(nil), f.datasets...) }

// LinkKind is the kind of a link.
type LinkKind int

// The kinds of links.
const (
	HardLink     LinkKind = iota // to an object of this file
	SoftLink                     // to a path of this file
	ExternalLink                 // to a path of another file
	OtherLink                    // an application's own
)

func (k LinkKind) String() string {
	switch k {
	case HardLink:
		return "hard link"
	case SoftLink:
		return "soft link"
	case ExternalLink:
		return "external link"
	default:
		return "user-defined link"
	}
}

// Link is an entry of a group.
type Link struct {
	Name   string
	Kind   LinkKind
	Target string // SoftLink: the path; ExternalLink: "file:path"

	addr    uint64
	order   int64
	ordered bool
}

// Group is a folder of the file.
type Group struct {
	Path       string
	Attributes []Attribute
	// Links come in the order of their creation where the file recorded it,
	// else sorted by name.
	Links []Link
}

// Attribute returns the attribute of that name.
func (g *Group) Attribute(name string) (Attribute, bool) { return findAttribute(g.Attributes, name) }

func join(group, name string) string {
	if group == "/" {
		return "/" + name
	}
	return group + "/" + name
}

// walker reads the tree of objects, each once.
type walker struct {
	f     *File
	p     *parser
	heaps globalHeaps
}

// object reads the object whose header is at addr.
func (w *walker) object(addr uint64, path string, depth int) (any, error) {
	if o, ok := w.f.objects[addr]; ok {
		return o, nil
	}

	if depth > maxDepth {
		return nil, w.p.errorf(addr, "groups are nested more than %d deep", maxDepth)
	}

	if err := w.p.charge(int64(len(path)) + 512); err != nil {
		return nil, err
	}

	w.f.objects[addr] = nil
	ms, err := w.p.header(addr)
	if err != nil {
		return nil, about(err, "object "+path)
	}

	var isGroup, isDataset bool
	for _, m := range ms {
		switch m.kind {
		case msgSymbolTable, msgLinkInfo, msgLink, msgGroupInfo:
			isGroup = true
		case msgLayout:
			isDataset = true
		}
	}

	switch {
	case isDataset:
		d := &Dataset{Path: path, src: w.f.src}
		if d.Attributes, err = w.attributes(ms); err == nil {
			err = w.dataset(d, ms)
		}

		if err != nil {
			return nil, about(err, "dataset "+path)
		}

		w.f.objects[addr] = d
		w.f.datasets = append(w.f.datasets, d)

		return d, nil

	case isGroup:
		g := &Group{Path: path}
		if g.Attributes, err = w.attributes(ms); err == nil {
			g.Links, err = w.p.links(ms)
		}

		if err != nil {
			return nil, about(err, "group "+path)
		}

		w.f.objects[addr] = g
		w.f.groups = append(w.f.groups, g)
		for _, l := range g.Links {
			if l.Kind == HardLink {
				if _, err := w.object(l.addr, join(path, l.Name), depth+1); err != nil {
					return nil, err
				}
			}
		}

		return g, nil
	}

	return nil, nil // a named datatype
}

// cut returns b up to its first NUL.
func cut(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
