package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"sort"

	"doubletake/pipeline/kv"
)

// The index is one small binary file, because a run that has nothing to do
// spends its time reading it: a magic word, a table of all texts (each once),
// the records with texts as numbers, and a checksum. All of it can be restored
// from the objects' manifests.
const indexMagic = "doubletake index 2\n"

type indexWriter struct {
	texts []byte
	n     int
	ids   map[string]uint64
	body  []byte
}

func (w *indexWriter) num(v uint64) { w.body = binary.AppendUvarint(w.body, v) }
func (w *indexWriter) int(v int64)  { w.body = binary.AppendVarint(w.body, v) }

func (w *indexWriter) text(s string) {
	id, ok := w.ids[s]
	if !ok {
		id = uint64(w.n)
		w.ids[s] = id
		w.n++
		w.texts = binary.AppendUvarint(w.texts, uint64(len(s)))
		w.texts = append(w.texts, s...)
	}
	w.num(id)
}

func (w *indexWriter) kvs(list []kv.Pair) {
	w.num(uint64(len(list)))
	for _, kv := range list {
		w.text(kv.Key)
		w.text(kv.Value)
	}
}

func (w *indexWriter) stamp(s stamp) {
	w.int(s.Size)
	w.int(s.MTime)
	w.num(s.Inode)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (ix *index) encode() []byte {
	w := &indexWriter{ids: map[string]uint64{}}
	w.num(uint64(len(ix.Configs)))
	for _, k := range sortedKeys(ix.Configs) {
		w.text(k)
		w.kvs(ix.Configs[k])
	}
	w.num(uint64(len(ix.Tasks)))
	for _, id := range sortedKeys(ix.Tasks) {
		r := ix.Tasks[id]
		w.text(id)
		w.text(r.Key)
		w.int(int64(r.Version))
		w.text(r.Config)
		w.kvs(r.Local)
		w.num(uint64(len(r.Inputs)))
		for _, in := range r.Inputs {
			w.text(in.Name)
			w.text(in.Digest)
		}
		w.num(uint64(len(r.Outputs)))
		for i, o := range r.Outputs {
			w.text(o.Name)
			w.int(o.Size)
			w.text(o.SHA256)
			w.text(o.Digest)
			var st stamp // of a file that is to be hashed again
			if i < len(r.Stamps) {
				st = r.Stamps[i]
			}
			w.stamp(st)
		}
		w.num(math.Float64bits(r.Seconds))
	}
	w.num(uint64(len(ix.Files)))
	for _, p := range sortedKeys(ix.Files) {
		w.text(p)
		w.text(ix.Files[p].SHA256)
		w.stamp(ix.Files[p].stamp)
	}
	out := []byte(indexMagic)
	out = binary.AppendUvarint(out, uint64(w.n))
	out = append(append(out, w.texts...), w.body...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

var errIndex = errors.New("damaged index")

type indexReader struct {
	b     string
	at    int
	texts []string
	bad   bool
}

func (r *indexReader) num() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if r.at >= len(r.b) {
			r.bad = true
			return 0
		}
		c := r.b[r.at]
		r.at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *indexReader) int() int64 {
	u := r.num()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a length, which cannot be more than the bytes that are left.
func (r *indexReader) count() int {
	n := r.num()
	if n > uint64(len(r.b)-r.at) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *indexReader) text() string {
	id := r.num()
	if id >= uint64(len(r.texts)) {
		r.bad = true
		return ""
	}
	return r.texts[id]
}

func (r *indexReader) kvs() []kv.Pair {
	n := r.count()
	if n == 0 {
		return nil
	}
	out := make([]kv.Pair, n)
	for i := range out {
		out[i] = kv.Pair{Key: r.text(), Value: r.text()}
	}
	return out
}

func (r *indexReader) stamp() stamp { return stamp{r.int(), r.int(), r.num()} }

// decode reads what encode wrote; anything else is an error, and ix is then
// not to be used.
func (ix *index) decode(b []byte) error {
	n := len(b) - 4
	if n < len(indexMagic) || !bytes.HasPrefix(b, []byte(indexMagic)) ||
		crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
		return errIndex
	}
	r := &indexReader{b: string(b[:n]), at: len(indexMagic)}
	r.texts = make([]string, r.count())
	for i := range r.texts {
		l := r.count()
		if r.bad {
			return errIndex
		}
		r.texts[i] = r.b[r.at : r.at+l]
		r.at += l
	}
	ix.Configs = make(map[string][]kv.Pair)
	for range r.count() {
		k := r.text()
		ix.Configs[k] = r.kvs()
	}
	tasks := r.count()
	ix.Tasks = make(map[string]*record, tasks)
	all := make([]record, tasks)
	for i := range all {
		id, rec := r.text(), &all[i]
		rec.Key, rec.Version, rec.Config, rec.Local = r.text(), int(r.int()), r.text(), r.kvs()
		rec.Inputs = make([]input, r.count())
		for j := range rec.Inputs {
			rec.Inputs[j] = input{r.text(), r.text()}
		}
		n := r.count()
		rec.Outputs, rec.Stamps = make([]output, n), make([]stamp, n)
		for j := range n {
			rec.Outputs[j] = output{Name: r.text(), Size: r.int(), SHA256: r.text(), Digest: r.text()}
			rec.Stamps[j] = r.stamp()
		}
		rec.Seconds = math.Float64frombits(r.num())
		if r.bad {
			return errIndex
		}
		ix.Tasks[id] = rec
	}
	ix.Files = make(map[string]fileRecord)
	for range r.count() {
		p, sum := r.text(), r.text()
		ix.Files[p] = fileRecord{r.stamp(), sum}
	}
	if r.bad || r.at != len(r.b) {
		return errIndex
	}
	return nil
}
