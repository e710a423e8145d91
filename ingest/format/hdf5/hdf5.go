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
// datasets, external files, numbers of odd sizes, …) is a *fault.Error that names it, never
// a wrong number.
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
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
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

// in adds the object that do concerns to what it raises.
func in(object string, do func()) { fault.Raise(about(fault.Try(do), object)) }

const (
	signature = "\x89HDF\r\n\x1a\n"

	maxDepth = 128 // nested groups
	maxRank  = 32  // the format's own limit
)

// File is an open HDF5 file.
type File struct {
	src     source
	version int // of the superblock, 0 to 3

	// Groups and datasets come once each, depth first in the order of the links, the root first,
	// under the first path that reaches them by hard links.
	groups   []*Group
	datasets []*Dataset
	objects  map[uint64]any // header address → *Group, *Dataset or nil
}

// findSuperblock looks for a superblock where the format allows it: at byte 0, 512, 1024, 2048, …
func findSuperblock(r io.ReaderAt, size int64) (int64, bool, error) {
	b := make([]byte, len(signature))
	for at := int64(0); at <= size-int64(len(b)); at = max(512, 2*at) {
		if err := raw.ReadFull(r, b, at); err != nil {
			return 0, false, atByte(at, "cannot read", err)
		}

		if string(b) == signature {
			return at, true, nil
		}
	}

	return 0, false, nil
}

// Open reads the structure of a file of size bytes: groups, links, attributes
// and the descriptions of datasets. A structure that contradicts itself is an
// *Error; a dataset or attribute that is sound but not supported is listed with
// its own error (Dataset.Err, Attribute.Err).
func Open(r io.ReaderAt, size int64) (*File, error) { return open(r, size, false) }

func open(r io.ReaderAt, size int64, lax bool) (_ *File, err error) {
	defer fault.Catch(&err)

	at, ok, err := findSuperblock(r, size)
	fault.Raise(err)

	if !ok {
		return nil, &fault.Error{Found: "no HDF5 signature at byte 0, 512, 1024, 2048, …"}
	}

	f := &File{objects: map[uint64]any{}}
	p := &parser{source: source{r: r, base: at, size: size, lax: lax}}
	p.left = min(16*size+1<<20, 4*size+64<<20)
	root := f.superblock(p)
	f.src = p.source

	w := walker{f: f, p: p, heaps: globalHeaps{}}
	w.object(root, "/", 0)
	_, ok = f.objects[root].(*Group)
	p.unless(ok, root, "the root object is no group")

	return f, nil
}

// superblock reads the superblock and returns the address of the root group.
func (f *File) superblock(p *parser) (root uint64) {
	const most = 8 + 16 + 8 + 6*8 + 32 // the longest there is

	b := p.bytes(0, uint64(min(most, p.size-p.base)))
	c := p.cursor(b, 0, "the file ends within the superblock")
	c.skip(8)
	f.version = int(c.u8())

	var base, eof uint64

	driver := uint64(undefined)

	switch f.version {
	case 0, 1:
		c.skip(4)
		p.sizes(c)
		c.skip(1 + 2 + 2 + 4 + 4*f.version)

		base = c.u64()
		c.skip(8)
		eof, driver = c.u64(), c.u64()
		c.skip(8)
		root = c.u64()
	case 2, 3:
		p.sizes(c)
		c.skip(1)

		base = c.u64()
		ext := c.u64()
		eof, root = c.u64(), c.u64()
		end := c.off
		p.unless(p.right(b[:end], c.u32()), 0, "the checksum of the superblock is wrong")

		if ext != undefined {
			var ms []message

			in("the superblock extension", func() { ms = p.header(ext) })

			if slices.ContainsFunc(ms, func(m message) bool { return m.kind == msgDriver }) {
				driver = ext
			}
		}
	default:
		unsupported("superblock version %d", f.version)
	}

	supported(driver == undefined, "data spread over several files (driver information)")

	// Addresses count from the superblock, as in the reference library; the end was noted with the base of that time.
	end := eof - base + uint64(p.base)
	p.unless(eof >= base && end >= uint64(p.base) && end <= uint64(p.size), undefined,
		"the file is cut off: it should end at byte %d and has %d bytes", end, p.size)

	return root
}

// sizes reads the two bytes that give the sizes of addresses and lengths.
func (p *parser) sizes(c *cursor) {
	so, sl := c.u8(), c.u8()
	supported(so == 8 && sl == 8, "addresses of %d and lengths of %d bytes (8 are usual)", so, sl)
}

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
	return [...]string{"hard link", "soft link", "external link", "user-defined link"}[k]
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
	Path string
	Attributes
	// Links come in the order of their creation where the file recorded it,
	// else sorted by name.
	Links []Link
}

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

// object reads the object whose header is at addr, and what its links lead to.
func (w *walker) object(addr uint64, path string, depth int) {
	if _, ok := w.f.objects[addr]; ok {
		return
	}

	w.p.unless(depth <= maxDepth, addr, "groups are nested more than %d deep", maxDepth)
	w.p.charge(int64(len(path)) + 512)
	w.f.objects[addr] = nil

	var ms []message

	in("object "+path, func() { ms = w.p.header(addr) })

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

		in("dataset "+path, func() {
			d.Attributes = w.attributes(ms)
			w.dataset(d, ms)
		})

		w.f.objects[addr] = d
		w.f.datasets = append(w.f.datasets, d)
	case isGroup: // else a named datatype
		g := &Group{Path: path}

		in("group "+path, func() {
			g.Attributes = w.attributes(ms)
			g.Links = w.p.links(ms)
		})

		w.f.objects[addr] = g
		w.f.groups = append(w.f.groups, g)

		for _, l := range g.Links {
			if l.Kind == HardLink {
				w.object(l.addr, join(path, l.Name), depth+1)
			}
		}
	}
}

// cut returns b up to its first NUL.
func cut(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
