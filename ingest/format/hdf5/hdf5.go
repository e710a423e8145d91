// Package hdf5 reads HDF5 files: groups, attributes and datasets of numbers and strings. It does not write. MATLAB 7.3
// files are HDF5 files behind a block of 512 bytes.
//
// # Structure
//
// The format is "HDF5 File Format Specification Version 3.0" (The HDF Group), whose headings comments cite. A
// superblock (hdf5.go) has the address of the root group. Groups and datasets are objects. An object has a header
// (header.go) with messages. The messages of a group list its links to other objects (link.go); the messages of a
// dataset describe its type (types.go), its shape (dataspace.go) and where its elements lie (dataset.go). Both have
// attributes (attribute.go). Elements lie together, or in chunks, which an index finds (index.go, arrayindex.go,
// btree2.go) and which filters may have compressed (filter.go). read.go reads elements.
//
// recording.go decides which datasets are channels; conventions.go and matlab.go contain what the writers of files
// agree on beyond the format.
//
// # What is read
//
// Superblocks 0 to 3; object headers 1 and 2; groups as symbol tables, link messages and dense links; attributes in
// headers and dense attributes; contiguous, compact and chunked data with all six chunk indexes; the filters deflate,
// shuffle, fletcher32 and h5py's lzf. Every checksum of the format is verified. For anything else (other filters,
// virtual datasets, external files, numbers of odd sizes, …) the package returns a *fault.Error that names it, and
// never a wrong number.
//
// # Hostile files
//
// No length or address of a file is trusted. Open reads the whole structure but not the data. It refuses a file whose
// structure would make it read more than 16 times the size of the file plus 1 MiB, or more than 4 times the size plus
// 64 MiB if that is less. For small files it allocates less than 64 times the size plus 4 MiB, which the fuzz test
// verifies.
//
// Reading needs memory for the cache (16 MiB unless stated otherwise, or one chunk if that is larger), for at most
// three more chunks, 400 KiB, and for the nodes of the index on the way to one chunk. Chunks with filters are refused
// if they have more bytes than 16 MiB plus the size of the file, or more than 1032 times the bytes that are stored for
// them, the largest ratio of deflate.
//
// # Parallel use
//
// A File and everything reached from it (Groups, Datasets, Attributes) do not change after Open. Any number of
// goroutines may use them, if the io.ReaderAt allows it, as an *os.File does. A Reader and a Cache belong to one
// goroutine at a time. Files share nothing.
package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// errUnsupported is the Err of errors about files that are not damaged but contain something that this package does not
// read.
var errUnsupported = errors.New("not supported")

// atByte returns an error at an offset of the file.
func atByte(offset int64, found string, err error) *fault.Error {
	return &fault.Error{Place: fmt.Sprintf("byte %d", offset), Found: found, Err: err}
}

// about returns an error with the name of the object that it concerns ("dataset /a/b", "group /a") at the front of its
// place. It returns the error itself if the place names an object already, and nil if the error is nil.
func about(err error, object string) error {
	//nolint:errorlint // a copy of a wrapped error would lose its wrapping
	e, ok := err.(*fault.Error)
	if !ok {
		return err
	}

	namesObject := e.Place != "" && !strings.HasPrefix(e.Place, "byte ")
	if namesObject {
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

	maxDepth = 128 // nesting of groups
	maxRank  = 32  // axes of a dataset, a limit of the format
)

// File is an open HDF5 file.
type File struct {
	src     source
	version int // of the superblock, 0 to 3

	// Groups and datasets are in depth-first order of the links, the root group first. Each is listed once, under the
	// first path by which hard links reach it.
	groups   []*Group
	datasets []*Dataset
	objects  map[uint64]any // *Group or *Dataset by the address of its header; nil for other objects
}

// findSuperblock returns the offset of the superblock in the file. It looks where the format allows one: at byte 0,
// 512, 1024, 2048, … It returns false if there is none.
func findSuperblock(r io.ReaderAt, size int64) (int64, bool, error) {
	b := make([]byte, len(signature))
	for offset := int64(0); offset <= size-int64(len(b)); offset = max(512, 2*offset) {
		if err := raw.ReadFull(r, b, offset); err != nil {
			return 0, false, atByte(offset, "cannot read", err)
		}

		if string(b) == signature {
			return offset, true, nil
		}
	}

	return 0, false, nil
}

// Open reads the structure of a file of size bytes: groups, links, attributes and the descriptions of datasets. If the
// structure contradicts itself, it returns a *fault.Error. A dataset or attribute that is not supported is listed with
// its own error.
func Open(r io.ReaderAt, size int64) (*File, error) { return open(r, size, false) }

// open does what Open does. If lax is set, it does not verify checksums.
func open(r io.ReaderAt, size int64, lax bool) (*File, error) {
	base, ok, err := findSuperblock(r, size)
	if err != nil {
		return nil, err
	}

	if !ok {
		return nil, &fault.Error{Found: "no HDF5 signature at byte 0, 512, 1024, 2048, …"}
	}

	p := &parser{source: source{r: r, base: base, size: size, lax: lax}}
	p.left = min(16*size+1<<20, 4*size+64<<20)

	file := &File{src: p.source, objects: map[uint64]any{}}
	root, err := file.superblock(p)
	if err != nil {
		return nil, err
	}

	w := walker{f: file, p: p, heaps: globalHeaps{}}
	if err := w.object(root, "/", 0); err != nil {
		return nil, err
	}

	if _, ok := file.objects[root].(*Group); !ok {
		return nil, p.errorf(root, "the root object is not a group")
	}

	return file, nil
}

// superblock reads the superblock ("Disk Format: Level 0A - Format Signature and Superblock") and returns the address
// of the root group's header. Behind the signature (8 bytes) and the version (1 byte), versions 0 and 1 have
//
//	4 bytes       versions of other structures
//	2 bytes       sizes of addresses and of lengths
//	9 or 13       one byte, ranks of B-trees, flags
//	8 bytes each  base address, free space, end of the file, driver information
//	8 bytes each  the root group's symbol table entry: offset of its name, address of its header
//
// and versions 2 and 3 have
//
//	2 bytes       sizes of addresses and of lengths
//	1 byte        flags
//	8 bytes each  base address, superblock extension, end of the file, address of the root group's header
//	4 bytes       checksum
func (f *File) superblock(p *parser) (root uint64, err error) {
	defer decode.Catch(&err)

	const most = 8 + 16 + 8 + 6*8 + 32 // bytes of the longest superblock

	b := p.bytes(0, uint64(min(most, p.size-p.base)))
	fields := p.cursor(b, 0, "the file ends within the superblock")
	fields.skip(8)
	f.version = int(fields.u8())

	var base, eof uint64
	driver := uint64(undefined) // address of driver information: the data are in several files

	switch f.version {
	case 0, 1:
		fields.skip(4)
		p.sizes(fields)
		fields.skip(1 + 2 + 2 + 4 + 4*f.version)

		base = fields.u64()
		fields.skip(8)
		eof = fields.u64()
		driver = fields.u64()
		fields.skip(8)
		root = fields.u64()
	case 2, 3:
		p.sizes(fields)
		fields.skip(1)

		base = fields.u64()
		extension := fields.u64()
		eof = fields.u64()
		root = fields.u64()
		end := fields.pos
		p.unless(p.sumMatches(b[:end], fields.u32()), 0, "the checksum of the superblock is wrong")

		if extension != undefined {
			ms, err := p.tryHeader(extension)
			decode.Raise(about(err, "the superblock extension"))

			if slices.ContainsFunc(ms, func(msg message) bool { return msg.kind == msgDriver }) {
				driver = extension
			}
		}
	default:
		unsupported("superblock version %d", f.version)
	}

	supported(driver == undefined, "data spread over several files (driver information)")

	// Addresses count from the superblock, as in the reference library. The base address in the superblock may be an older
	// one, from before something was put in front of the file; the end of the file counts from that one.
	end := eof - base + uint64(p.base)
	inFile := end >= uint64(p.base) && end <= uint64(p.size)
	p.unless(eof >= base && inFile, undefined,
		"the file is cut off: it should end at byte %d and has %d bytes", end, p.size)

	return root, nil
}

// sizes reads the sizes of addresses and of lengths. Only 8 bytes are supported.
func (p *parser) sizes(fields *cursor) {
	addresses := fields.u8()
	lengths := fields.u8()
	supported(addresses == 8 && lengths == 8, "addresses of %d and lengths of %d bytes (8 are usual)", addresses, lengths)
}

// LinkKind is the kind of a link.
type LinkKind int

// The kinds of links.
const (
	HardLink     LinkKind = iota // to an object of this file
	SoftLink                     // to a path of this file
	ExternalLink                 // to a path of another file
	OtherLink                    // defined by an application
)

// String returns the name of a kind of links.
func (k LinkKind) String() string {
	return [...]string{"hard link", "soft link", "external link", "user-defined link"}[k]
}

// Link is an entry of a group.
type Link struct {
	Name   string
	Kind   LinkKind
	Target string // path of a SoftLink, "file:path" of an ExternalLink; "" for a HardLink

	addr    uint64 // of the object's header, for a HardLink
	order   int64  // order of creation, if ordered is set
	ordered bool
}

// Group is a folder of the file.
type Group struct {
	Path string
	Attributes
	Links []Link // in the order of their creation if the file recorded it, and otherwise sorted by name
}

// join returns the path of an object in a group.
func join(group, name string) string {
	if group == "/" {
		return "/" + name
	}
	return group + "/" + name
}

// walker reads the tree of objects, each object once.
type walker struct {
	f     *File
	p     *parser
	heaps globalHeaps // that were read
}

// object reads the object whose header is at addr, and the objects to which its links lead. depth is the number of
// groups around it.
func (w *walker) object(addr uint64, path string, depth int) error {
	if _, ok := w.f.objects[addr]; ok {
		return nil
	}

	ms, err := w.objectHeader(addr, path, depth)
	if err != nil {
		return err
	}

	isGroup := false
	isDataset := false
	for _, msg := range ms {
		switch msg.kind {
		case msgSymbolTable, msgLinkInfo, msgLink, msgGroupInfo:
			isGroup = true
		case msgLayout:
			isDataset = true
		}
	}

	switch {
	case isDataset:
		dataset := &Dataset{Path: path, src: w.f.src}
		if err := w.dataset(dataset, ms); err != nil {
			return about(err, "dataset "+path)
		}

		w.f.objects[addr] = dataset
		w.f.datasets = append(w.f.datasets, dataset)

		return nil
	case isGroup:
		return w.group(addr, path, ms, depth)
	default: // a datatype with a name, which is not listed
		return nil
	}
}

// objectHeader returns the messages in the header of an object, and marks the object as read.
func (w *walker) objectHeader(addr uint64, path string, depth int) (ms []message, err error) {
	defer decode.Catch(&err)

	w.p.unless(depth <= maxDepth, addr, "groups are nested more than %d deep", maxDepth)
	w.p.charge(int64(len(path)) + 512)
	w.f.objects[addr] = nil

	ms, err = w.p.tryHeader(addr)

	return ms, about(err, "object "+path)
}

// group reads the group whose header at addr has the given messages, and the objects in it.
func (w *walker) group(addr uint64, path string, ms []message, depth int) error {
	group := &Group{Path: path}
	if err := w.content(group, ms); err != nil {
		return about(err, "group "+path)
	}

	w.f.objects[addr] = group
	w.f.groups = append(w.f.groups, group)

	for _, link := range group.Links {
		if link.Kind != HardLink {
			continue
		}

		if err := w.object(link.addr, join(path, link.Name), depth+1); err != nil {
			return err
		}
	}

	return nil
}

// content reads the attributes and links of a group from the messages of its header.
func (w *walker) content(group *Group, ms []message) (err error) {
	defer decode.Catch(&err)

	group.Attributes = w.attributes(ms)
	group.Links = w.p.links(ms)

	return nil
}

// cut returns b up to its first NUL.
func cut(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
