package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/pipeline/kv"
)

// The index is one file: a line with its version, four sections, each after its size, and a checksum.
// The sections are every text once; SHA-256 sums, which are texts too, as bytes; what the results were
// made of, which is read when it is asked for; and the records, which refer to the texts by number. All
// of it can be restored from the objects' manifests.
const indexMagic = "doubletake index 7\n"

// indexWriter writes records. Names and digests occur several times, as a task's output
// and as the next one's input.
type indexWriter struct {
	b, inputs, texts, sums []byte
	numbers                map[string]uint64 // of the texts, even, and of the sums, odd
}

func (w *indexWriter) num(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// number returns the number of a text.
func (w *indexWriter) number(s string) uint64 {
	n, ok := w.numbers[s]
	if ok {
		return n
	}

	var sum [sha256.Size]byte
	if len(s) == 2*len(sum) && strings.ToLower(s) == s {
		_, err := hex.Decode(sum[:], []byte(s))
		ok = err == nil
	}

	if ok {
		n = uint64(len(w.sums)/len(sum))<<1 | 1
		w.sums = append(w.sums, sum[:]...)
	} else {
		n = uint64(len(w.numbers)-len(w.sums)/len(sum)) << 1
		w.texts = append(binary.AppendUvarint(w.texts, uint64(len(s))), s...)
	}

	w.numbers[s] = n

	return n
}

func (w *indexWriter) text(s string) { w.num(w.number(s)) }

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

// made writes what a result was made of: of inputs from other tasks the task and the output.
func (w *indexWriter) made(list []input) {
	from := len(w.inputs)
	for _, in := range list {
		task, output, of := strings.Cut(in.Name, arrow)
		w.inputs = binary.AppendUvarint(w.inputs, w.number(task))

		n := uint64(0)
		if of {
			n = w.number(output) + 1
		}

		w.inputs = binary.AppendUvarint(w.inputs, n)
		w.inputs = binary.AppendUvarint(w.inputs, w.number(in.Digest))
	}

	w.num(uint64(len(w.inputs) - from))
}

func (w *indexWriter) record(r *record, inputs []input) {
	w.text(r.Key)
	w.num(uint64(r.Version))
	w.text(r.Config)
	w.pairs(r.Local)
	w.made(inputs)
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
	w := &indexWriter{numbers: make(map[string]uint64, perTask*len(ix.Tasks))}
	w.num(uint64(len(ix.Configs)))

	for _, k := range slices.Sorted(maps.Keys(ix.Configs)) {
		w.text(k)
		w.pairs(ix.Configs[k])
	}

	w.num(uint64(len(ix.Tasks)))

	for _, k := range slices.Sorted(maps.Keys(ix.Tasks)) {
		w.text(k)
		w.record(ix.Tasks[k], ix.Tasks[k].inputs())
	}

	w.num(uint64(len(ix.Files)))

	for _, k := range slices.Sorted(maps.Keys(ix.Files)) {
		w.text(k)
		w.stamp(ix.Files[k].Stamp)
		w.text(ix.Files[k].SHA256)
	}

	w.texts = append(binary.AppendUvarint(nil, uint64(len(w.numbers)-len(w.sums)/sha256.Size)), w.texts...)
	b := []byte(indexMagic)
	for _, section := range [][]byte{w.texts, w.sums, w.inputs, w.b} {
		b = append(binary.AppendUvarint(b, uint64(len(section))), section...)
	}

	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

var errIndex = errors.New("damaged index")

// indexReader reads what indexWriter wrote. After a fault it gives zeros.
type indexReader struct {
	b       string
	texts   []string
	sums    string // as hex, one after the other
	inputs  string
	outputs []output
	stamps  []stamp
	err     error
}

func (r *indexReader) fail() { r.b, r.err = "", errIndex }

func (r *indexReader) num() (n uint64) {
	for i := range min(len(r.b), binary.MaxVarintLen64) {
		c := r.b[i]
		n |= uint64(c&0x7f) << (7 * i)

		if c < 0x80 {
			r.b = r.b[i+1:]
			return n
		}
	}

	r.fail()

	return 0
}

// numbered returns the text of a number.
func (r *indexReader) numbered(n uint64) string {
	const size = 2 * sha256.Size
	switch {
	case n&1 == 0 && n>>1 < uint64(len(r.texts)):
		return r.texts[n>>1]
	case n&1 == 1 && n>>1 < uint64(len(r.sums)/size):
		return r.sums[n>>1*size:][:size]
	}

	r.fail()

	return ""
}

func (r *indexReader) text() string { return r.numbered(r.num()) }

// section reads a section after its size.
func (r *indexReader) section() string {
	n := r.count(1)
	out := r.b[:n]
	r.b = r.b[n:]

	return out
}

// inParts reads a text in parts: a writer that takes bytes would copy it whole.
func inParts(text string) io.Reader { return struct{ io.Reader }{strings.NewReader(text)} }

// hexSums are the sums of a section, as hex.
func hexSums(section string) string {
	var b strings.Builder
	b.Grow(2 * len(section))
	_, _ = io.Copy(hex.NewEncoder(&b), inParts(section)) // which cannot fail

	return b.String()
}

// split finds the texts in the section that holds them.
func split(texts string) []string {
	r := indexReader{b: texts}
	out := make([]string, r.count(1))
	for i := range out {
		n := r.count(1)
		out[i], r.b = r.b[:n], r.b[n:]
	}

	if r.err != nil || len(r.b) > 0 {
		return nil
	}

	return out
}

// count reads how many values follow, of at least size bytes each.
func (r *indexReader) count(size int) int {
	n := r.num()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}

	return int(n)
}

// readList reads as many values as it says first. They share the memory of those read before.
func readList[T any](r *indexReader, free *[]T, read func(r *indexReader) T) []T {
	n := r.count(1)
	if n == 0 {
		return nil
	}

	if n > len(*free) {
		*free = make([]T, max(n, min(4096, len(r.b))))
	}

	out := (*free)[:n:n]
	*free = (*free)[n:]

	for i := range out {
		out[i] = read(r)
	}

	return out
}

func (r *indexReader) stamp() stamp { return stamp{int64(r.num()), int64(r.num()), r.num()} }

func (r *indexReader) pairs() []kv.Pair {
	out := make([]kv.Pair, r.count(2))
	for i := range out {
		out[i] = kv.Pair{Key: r.text(), Value: r.text()}
	}

	if len(out) == 0 {
		return nil
	}

	return out
}

// made passes over what a result was made of.
func (r *indexReader) made() packedInputs {
	n := r.num()
	if n > uint64(len(r.inputs)) {
		r.fail()
		return packedInputs{}
	}

	in := r.inputs[:n]
	r.inputs = r.inputs[n:]

	return packedInputs{in, r}
}

func (r *indexReader) output() output {
	return output{Name: r.text(), Size: int64(r.num()), SHA256: r.text(), Digest: r.text()}
}

func (r *indexReader) record() record {
	return record{
		Key: r.text(), Version: int(r.num()), Config: r.text(), Local: r.pairs(), packed: r.made(),
		Outputs: readList(r, &r.outputs, (*indexReader).output), Packed: r.num() != 0,
		Stamps: readList(r, &r.stamps, (*indexReader).stamp), Seconds: math.Float64frombits(r.num()),
	}
}

// readMap reads as many entries as it says first.
func readMap[T any](r *indexReader, read func() T) map[string]T {
	n := r.count(1)

	out := make(map[string]T, n)
	for ; n > 0 && r.err == nil; n-- {
		k := r.text()
		out[k] = read()
	}

	return out
}

// packedInputs is what a result was made of, as the index has it.
type packedInputs struct {
	b  string
	of *indexReader // has the texts
}

// inputs returns what the result was made of.
func (r *record) inputs() []input {
	in := indexReader{b: r.packed.b}
	if r.packed.of != nil {
		in.texts, in.sums = r.packed.of.texts, r.packed.of.sums
	}

	out := r.Inputs
	for len(in.b) > 0 {
		name, output := in.text(), in.num()
		if output > 0 {
			name += arrow + in.numbered(output-1)
		}

		out = append(out, input{name, in.text()})
	}

	return out
}

// load reads the index at path.
func (ix *index) load(path string) error {
	f, err := OpenOwn(path)
	if err != nil {
		return err
	}
	defer f.Close()

	fi, err := f.Stat()
	if err != nil {
		return err
	}

	var b strings.Builder // of which a string is no copy
	b.Grow(int(fi.Size()))

	if _, err := io.Copy(&b, f); err != nil {
		return err
	}

	return ix.decode(b.String())
}

// decode reads what encode wrote; anything else is an error, and ix is then not to be used.
func (ix *index) decode(text string) error {
	end := len(text) - crc32.Size
	if end < 0 || !strings.HasPrefix(text, indexMagic) {
		return errIndex
	}

	sum := crc32.NewIEEE()
	_, _ = io.Copy(sum, inParts(text[:end]))

	if binary.LittleEndian.Uint32([]byte(text[end:])) != sum.Sum32() {
		return errIndex
	}

	in := &indexReader{b: text[len(indexMagic):end]}
	r := &indexReader{texts: split(in.section()), sums: hexSums(in.section()), inputs: in.section(), b: in.section()}

	if in.err != nil || len(in.b) > 0 {
		return errIndex
	}

	*ix = index{Configs: readMap(r, r.pairs)}

	const least = 10 // bytes of a record
	tasks := make([]record, r.count(least))
	ix.Tasks = make(map[string]*record, len(tasks))

	for i := range tasks {
		k := r.text()
		tasks[i] = r.record()
		ix.Tasks[k] = &tasks[i]
	}

	ix.Files = readMap(r, func() fileRecord { return fileRecord{r.stamp(), r.text()} })

	if len(r.b) > 0 {
		r.fail()
	}

	*r = indexReader{texts: r.texts, sums: r.sums, err: r.err} // which inputs need

	return r.err
}

func newIndex() index {
	return index{Configs: map[string][]kv.Pair{}, Tasks: map[string]*record{}, Files: map[string]fileRecord{}}
}
