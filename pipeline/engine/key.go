package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"sync"

	"doubletake/internal/kv"
)

// settings returns all settings that the task reads.
func (t *Task) settings() []kv.Pair { return append(slices.Clone(t.Config), t.Local...) }

// inputs returns the inputs of a task with their digests. digests has the digests of the raw files and then the digests
// of the outputs of other tasks, in the order of t.Files and t.Deps. If the last digests are missing, inputs leaves out
// their inputs.
func (t *Task) inputs(digests []string) []input {
	list := make([]input, len(digests))
	for i, digest := range digests {
		list[i].Digest = digest
		if i < len(t.Files) {
			list[i].Name = t.Files[i].Path
			continue
		}

		dep := t.Deps[i-len(t.Files)]
		list[i].Name = dep.Task + arrow + dep.Output
	}

	return list
}

// arrow separates the task and the output in the name of an input.
const arrow = " → "

// keyWriter hashes the parts of a key. A text is written after its length, so that different parts never give the same
// bytes. Bytes are collected and hashed together: a plan may have 100,000 keys of many short texts.
type keyWriter struct {
	hash hash.Hash
	data []byte // not hashed yet
}

// keyBytes is the number of bytes that a keyWriter collects.
const keyBytes = 1 << 14

// number writes a number.
func (w *keyWriter) number(n int) { w.data = append(strconv.AppendInt(w.data, int64(n), 10), ':') }

// text writes a text, which is given in parts.
func (w *keyWriter) text(parts ...string) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}

	w.number(size)

	for _, part := range parts {
		w.data = append(w.data, part...)
	}

	if len(w.data) > keyBytes {
		w.hash.Write(w.data)
		w.data = w.data[:0]
	}
}

// keyBuffers is a pool of memory for the bytes of keys.
var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// key computes the task's key. digests has the digests of its raw files and then the digests of its inputs from other
// tasks, in the order of t.Files and t.Deps.
func (t *Task) key(digests []string) string {
	buffer := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buffer)

	w := keyWriter{sha256.New(), (*buffer)[:0]}
	w.text("doubletake object 1")
	w.text(t.Stage)
	w.number(t.Version)

	for _, settings := range [][]kv.Pair{t.Config, t.Local} {
		w.number(len(settings))
		for _, setting := range settings {
			w.text(setting.Key)
			w.text(setting.Value)
		}
	}

	w.number(len(digests))
	for i, digest := range digests {
		if i < len(t.Files) {
			w.text(t.Files[i].Path)
		} else {
			dep := t.Deps[i-len(t.Files)]
			w.text(dep.Task, arrow, dep.Output)
		}

		w.text(digest)
	}

	w.hash.Write(w.data)
	*buffer = w.data
	var sum [sha256.Size]byte

	return hex.EncodeToString(w.hash.Sum(sum[:0]))
}

// configDigest returns a short digest of a list of pairs, as hex.
func configDigest(pairs []kv.Pair) string {
	buffer := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buffer)
	data := (*buffer)[:0]
	for _, pair := range pairs {
		for _, text := range []string{pair.Key, pair.Value} {
			data = append(strconv.AppendInt(data, int64(len(text)), 10), ':')
			data = append(data, text...)
		}
	}

	*buffer = data
	sum := sha256.Sum256(data)
	const enough = 8 // bytes: the digests of a plan's few lists never collide

	return hex.EncodeToString(sum[:enough])
}
