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

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
)

// The index is one file: a line with its version, three maps, in which every text follows its length and
// every list its number of values, and a checksum. All of it can be restored from the objects' manifests,
// which alone have what a result was made of.
const indexMagic = "doubletake index 9\n"

// indexWriter writes records.
type indexWriter struct{ b []byte }

func (w *indexWriter) num(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *indexWriter) text(s string) {
	w.num(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *indexWriter) pairs(list []kv.Pair) {
	w.num(uint64(len(list)))
	for _, p := range list {
		w.text(p.Key)
		w.text(p.Value)
	}
}

func (w *indexWriter) stamp(s stamp) {
	w.num(uint64(s.Size))
	w.num(uint64(s.MTime))
	w.num(s.Inode)
	w.num(uint64(s.CTime))
}

func (w *indexWriter) record(r *record) {
	w.text(r.Key)
	w.num(uint64(r.Version))
	w.text(r.Config)
	w.pairs(r.Local)

	w.num(uint64(len(r.Outputs)))
	for _, o := range r.Outputs {
		w.text(o.Name)
		w.num(uint64(o.Size))
		w.text(o.SHA256)
		w.text(o.Digest)
	}

	packed := uint64(0)
	if r.Packed {
		packed = 1
	}

	w.num(packed)

	w.num(uint64(len(r.Stamps)))
	for _, s := range r.Stamps {
		w.stamp(s)
	}

	w.num(math.Float64bits(r.Seconds))
}

func (w *indexWriter) file(f fileRecord) {
	w.stamp(f.Stamp)
	w.text(f.SHA256)
}

func writeMap[T any](w *indexWriter, m map[string]T, write func(v T)) {
	w.num(uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		write(m[k])
	}
}

func (ix *index) encode() []byte {
	w := &indexWriter{[]byte(indexMagic)}
	writeMap(w, ix.Configs, w.pairs)
	writeMap(w, ix.Tasks, w.record)
	writeMap(w, ix.Files, w.file)

	return binary.LittleEndian.AppendUint32(w.b, crc32.ChecksumIEEE(w.b))
}

var errIndex = errors.New("damaged index")

// indexReader reads what indexWriter wrote. After a fault it gives zeros.
type indexReader struct {
	b   string
	err error
}

func (r *indexReader) num() (n uint64) {
	for i := range min(len(r.b), binary.MaxVarintLen64) {
		c := r.b[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return n
		}
	}

	r.b, r.err = "", errIndex

	return 0
}

// count reads how many values follow, of at least size bytes each.
func (r *indexReader) count(size int) int {
	n := r.num()
	if n > uint64(len(r.b)/size) {
		r.b, r.err = "", errIndex
		return 0
	}

	return int(n)
}

func (r *indexReader) text() (s string) {
	n := r.count(1)
	s, r.b = r.b[:n], r.b[n:]

	return s
}

// readList reads as many values as it says first, of at least size bytes each.
func readList[T any](r *indexReader, size int, read func() T) []T {
	return lists.Make(r.count(size), func(int) T { return read() })
}

// readMap reads as many entries as it says first.
func readMap[T any](r *indexReader, read func() T) map[string]T {
	n := r.count(2)

	out := make(map[string]T, n)
	for ; n > 0 && r.err == nil; n-- {
		k := r.text()
		out[k] = read()
	}

	return out
}

func (r *indexReader) pair() kv.Pair { return kv.Pair{Key: r.text(), Value: r.text()} }

func (r *indexReader) pairs() []kv.Pair { return readList(r, 2, r.pair) }

func (r *indexReader) stamp() stamp {
	return stamp{Size: int64(r.num()), MTime: int64(r.num()), Inode: r.num(), CTime: int64(r.num())}
}

func (r *indexReader) output() output {
	return output{Name: r.text(), Size: int64(r.num()), SHA256: r.text(), Digest: r.text()}
}

func (r *indexReader) record() *record {
	return &record{
		Key: r.text(), Version: int(r.num()), Config: r.text(), Local: r.pairs(), Outputs: readList(r, 4, r.output),
		Packed: r.num() != 0, Stamps: readList(r, 4, r.stamp), Seconds: math.Float64frombits(r.num()),
	}
}

func (r *indexReader) file() fileRecord { return fileRecord{r.stamp(), r.text()} }

// load reads the index at path.
func (ix *index) load(path string) error {
	b, err := ReadOwn(path)
	if err != nil {
		return err
	}

	return ix.decode(b)
}

// decode reads what encode wrote; anything else is an error, and ix is then not to be used. The texts of ix
// are those of b, which nobody changes any more.
func (ix *index) decode(b []byte) error {
	text := unsafe.String(unsafe.SliceData(b), len(b))

	end := len(b) - crc32.Size
	if end < 0 || !strings.HasPrefix(text, indexMagic) ||
		binary.LittleEndian.Uint32(b[end:]) != crc32.ChecksumIEEE(b[:end]) {
		return errIndex
	}

	r := &indexReader{b: text[len(indexMagic):end]}
	*ix = index{Configs: readMap(r, r.pairs), Tasks: readMap(r, r.record), Files: readMap(r, r.file)}
	if len(r.b) > 0 {
		return errIndex
	}

	return r.err
}

func newIndex() index {
	return index{Configs: map[string][]kv.Pair{}, Tasks: map[string]*record{}, Files: map[string]fileRecord{}}
}
