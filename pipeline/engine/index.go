package engine

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"unsafe"

	"doubletake/internal/kv"
)

// indexMagic begins the file of the index. Three maps follow, and then a CRC-32 checksum of everything before it. A
// number is a varint, or eight bytes of a float64 as a varint; a text is written as its length in bytes and then its
// bytes; a list or a map is written as the number of its elements and then the elements. The whole index can be
// restored from the objects' manifests, which also list the inputs of each result.
const indexMagic = "doubletake index 9\n"

// indexWriter writes the parts of the index.
type indexWriter struct{ b []byte }

// number writes a number.
func (w *indexWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// text writes a text.
func (w *indexWriter) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

// pairs writes a list of pairs.
func (w *indexWriter) pairs(list []kv.Pair) {
	w.number(uint64(len(list)))
	for _, pair := range list {
		w.text(pair.Key)
		w.text(pair.Value)
	}
}

// stamp writes a stamp.
func (w *indexWriter) stamp(s stamp) {
	w.number(uint64(s.Size))
	w.number(uint64(s.MTime))
	w.number(s.Inode)
	w.number(uint64(s.CTime))
}

// record writes the record of a task.
func (w *indexWriter) record(r *record) {
	w.text(r.Key)
	w.number(uint64(r.Version))
	w.text(r.Config)
	w.pairs(r.Local)

	w.number(uint64(len(r.Outputs)))
	for _, output := range r.Outputs {
		w.text(output.Name)
		w.number(uint64(output.Size))
		w.text(output.SHA256)
		w.text(output.Digest)
	}

	isPacked := uint64(0)
	if r.Packed {
		isPacked = 1
	}

	w.number(isPacked)

	w.number(uint64(len(r.Stamps)))
	for _, s := range r.Stamps {
		w.stamp(s)
	}

	w.number(math.Float64bits(r.Seconds))
}

// file writes the record of a raw file.
func (w *indexWriter) file(f fileRecord) {
	w.stamp(f.Stamp)
	w.text(f.SHA256)
}

// writeMap writes a map in the order of its keys; write writes a value.
func writeMap[T any](w *indexWriter, m map[string]T, write func(v T)) {
	w.number(uint64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.text(key)
		write(m[key])
	}
}

// encode returns the file of the index.
func (ix *index) encode() []byte {
	writer := &indexWriter{[]byte(indexMagic)}
	writeMap(writer, ix.Configs, writer.pairs)
	writeMap(writer, ix.Tasks, writer.record)
	writeMap(writer, ix.Files, writer.file)

	return binary.LittleEndian.AppendUint32(writer.b, crc32.ChecksumIEEE(writer.b))
}

var errIndex = errors.New("damaged index")

// indexReader reads the parts of an index that indexWriter wrote. After a fault it returns zeros and sets err, which
// the caller checks at the end. Several of its methods may be called in one struct literal, whose fields must then be
// in the order of the file: Go calls them from left to right.
type indexReader struct {
	b   string // the rest of the file
	err error
}

// fail notes a fault; the reader then has nothing left to read.
func (r *indexReader) fail() {
	r.b = ""
	r.err = errIndex
}

// number reads a varint.
func (r *indexReader) number() (n uint64) {
	for i := range min(len(r.b), binary.MaxVarintLen64) {
		c := r.b[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 { // the last byte
			r.b = r.b[i+1:]
			return n
		}
	}

	r.fail()

	return 0
}

// count reads the number of the values that follow. A damaged number must not make the reader allocate much, so count
// fails if the rest of the file is too short for that many values of size bytes each.
func (r *indexReader) count(size int) int {
	n := r.number()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}

	return int(n)
}

// text reads a text.
func (r *indexReader) text() (s string) {
	n := r.count(1)
	s = r.b[:n]
	r.b = r.b[n:]

	return s
}

// readList reads a list of values, of at least size bytes each.
func readList[T any](r *indexReader, size int, read func() T) []T {
	var list []T
	for range r.count(size) {
		list = append(list, read())
	}

	return list
}

// readMap reads a map; read reads a value.
func readMap[T any](r *indexReader, read func() T) map[string]T {
	n := r.count(2) // the length of a key and the first byte of a value

	entries := make(map[string]T, n)
	for ; n > 0 && r.err == nil; n-- {
		key := r.text()
		entries[key] = read()
	}

	return entries
}

func (r *indexReader) pair() kv.Pair { return kv.Pair{Key: r.text(), Value: r.text()} }

func (r *indexReader) pairs() []kv.Pair { return readList(r, 2, r.pair) }

func (r *indexReader) stamp() stamp {
	return stamp{Size: int64(r.number()), MTime: int64(r.number()), Inode: r.number(), CTime: int64(r.number())}
}

func (r *indexReader) output() output {
	return output{Name: r.text(), Size: int64(r.number()), SHA256: r.text(), Digest: r.text()}
}

func (r *indexReader) record() *record {
	return &record{
		Key: r.text(), Version: int(r.number()), Config: r.text(), Local: r.pairs(), Outputs: readList(r, 4, r.output),
		Packed: r.number() != 0, Stamps: readList(r, 4, r.stamp), Seconds: math.Float64frombits(r.number()),
	}
}

func (r *indexReader) file() fileRecord { return fileRecord{r.stamp(), r.text()} }

// load reads the index at path. After an error ix must not be used.
func (ix *index) load(path string) error {
	data, err := ReadOwn(path)
	if err != nil {
		return err
	}

	return ix.decode(data)
}

// decode reads the file of an index. After an error ix must not be used. The texts of ix
// share the memory of data, which the caller must not change afterwards.
func (ix *index) decode(data []byte) error {
	text := unsafe.String(unsafe.SliceData(data), len(data))

	end := len(data) - crc32.Size
	if end < 0 || !strings.HasPrefix(text, indexMagic) {
		return errIndex
	}

	if binary.LittleEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[:end]) {
		return errIndex
	}

	reader := &indexReader{b: text[len(indexMagic):end]}
	*ix = index{
		Configs: readMap(reader, reader.pairs), Tasks: readMap(reader, reader.record),
		Files: readMap(reader, reader.file),
	}

	if len(reader.b) > 0 {
		return errIndex
	}

	return reader.err
}

// newIndex returns an empty index.
func newIndex() index {
	return index{Configs: map[string][]kv.Pair{}, Tasks: map[string]*record{}, Files: map[string]fileRecord{}}
}
