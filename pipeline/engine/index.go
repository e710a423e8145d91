package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"doubletake/pipeline/kv"
)

// The index is one file: a line with its version, every text once, the records, which
// refer to the texts by number, and a checksum. All of it can be restored from the
// objects' manifests.
const indexMagic = "doubletake index 5\n"

// indexWriter writes records. Names and digests occur several times, as a task's output
// and as the next one's input.
type indexWriter struct {
	b     []byte
	texts []byte
	at    map[string]uint64 // number of each text
}

func (w *indexWriter) num(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *indexWriter) text(s string) {
	n, ok := w.at[s]
	if !ok {
		n = uint64(len(w.at))
		w.at[s] = n
		w.texts = append(binary.AppendUvarint(w.texts, uint64(len(s))), s...)
	}

	w.num(n)
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
}

func (w *indexWriter) record(r *record) {
	w.text(r.Key)
	w.num(uint64(r.Version))
	w.text(r.Config)
	w.pairs(r.Local)
	w.num(uint64(len(r.Inputs)))

	for _, in := range r.Inputs {
		w.text(in.Name)
		w.text(in.Digest)
	}

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

func (ix *index) encode() []byte {
	const perTask = 6 // texts of its own, roughly
	w := &indexWriter{at: make(map[string]uint64, perTask*len(ix.Tasks))}
	w.num(uint64(len(ix.Configs)))

	for _, k := range slices.Sorted(maps.Keys(ix.Configs)) {
		w.text(k)
		w.pairs(ix.Configs[k])
	}

	w.num(uint64(len(ix.Tasks)))

	for _, k := range slices.Sorted(maps.Keys(ix.Tasks)) {
		w.text(k)
		w.record(ix.Tasks[k])
	}

	w.num(uint64(len(ix.Files)))

	for _, k := range slices.Sorted(maps.Keys(ix.Files)) {
		w.text(k)
		w.stamp(ix.Files[k].Stamp)
		w.text(ix.Files[k].SHA256)
	}

	b := binary.AppendUvarint([]byte(indexMagic), uint64(len(w.at)))
	b = slices.Concat(binary.AppendUvarint(b, uint64(len(w.texts))), w.texts, w.b)

	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

var errIndex = errors.New("damaged index")

// indexReader reads what indexWriter wrote. After a fault it gives zeros.
type indexReader struct {
	b     []byte
	texts []string
	err   error
}

func (r *indexReader) num() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.b, r.err = nil, errIndex
		return 0
	}

	r.b = r.b[k:]

	return n
}

func (r *indexReader) text() string {
	n := r.num()
	if n >= uint64(len(r.texts)) {
		r.err = errIndex
		return ""
	}

	return r.texts[n]
}

// readTexts reads all texts, which share one piece of memory.
func (r *indexReader) readTexts() {
	count, size := r.num(), r.num()
	if size > uint64(len(r.b)) || count > size { // each has its length before it
		r.b, r.err = nil, errIndex
		return
	}

	records, all := r.b[size:], string(r.b[:size])
	r.b, r.texts = r.b[:size], make([]string, count)

	for i := range r.texts {
		n := r.num()
		if n > uint64(len(r.b)) {
			r.b, r.err = nil, errIndex
			return
		}

		at := uint64(len(all) - len(r.b))
		r.texts[i], r.b = all[at:at+n], r.b[n:]
	}

	r.b = records
}

// readList reads as many values as it says first, of at least one byte each.
func readList[T any](r *indexReader, read func() T) []T {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.b, r.err = nil, errIndex
		return nil
	}

	if n == 0 {
		return nil
	}

	out := make([]T, n)
	for i := range out {
		out[i] = read()
	}

	return out
}

func (r *indexReader) pair() kv.Pair    { return kv.Pair{Key: r.text(), Value: r.text()} }
func (r *indexReader) input() input     { return input{Name: r.text(), Digest: r.text()} }
func (r *indexReader) stamp() stamp     { return stamp{int64(r.num()), int64(r.num()), r.num()} }
func (r *indexReader) pairs() []kv.Pair { return readList(r, r.pair) }

func (r *indexReader) output() output {
	return output{Name: r.text(), Size: int64(r.num()), SHA256: r.text(), Digest: r.text()}
}

func (r *indexReader) record() *record {
	return &record{
		Key: r.text(), Version: int(r.num()), Config: r.text(), Local: r.pairs(), Inputs: readList(r, r.input),
		Outputs: readList(r, r.output), Packed: r.num() != 0, Stamps: readList(r, r.stamp),
		Seconds: math.Float64frombits(r.num()),
	}
}

// readMap reads as many entries as it says first.
func readMap[T any](r *indexReader, read func() T) map[string]T {
	out := map[string]T{}
	for n := r.num(); n > 0 && r.err == nil; n-- {
		k := r.text()
		out[k] = read()
	}

	return out
}

// decode reads what encode wrote; anything else is an error, and ix is then
// not to be used.
func (ix *index) decode(b []byte) error {
	n := len(b) - 4
	if n < len(indexMagic) || !bytes.HasPrefix(b, []byte(indexMagic)) ||
		crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
		return errIndex
	}

	r := &indexReader{b: b[len(indexMagic):n]}
	r.readTexts()

	*ix = index{
		Configs: readMap(r, r.pairs), Tasks: readMap(r, r.record),
		Files: readMap(r, func() fileRecord { return fileRecord{r.stamp(), r.text()} }),
	}

	if len(r.b) > 0 {
		r.err = errIndex
	}

	return r.err
}

func newIndex() index {
	return index{Configs: map[string][]kv.Pair{}, Tasks: map[string]*record{}, Files: map[string]fileRecord{}}
}
