// Package kernel hashes two messages at a time with the SHA instructions of a processor,
// which wait for each other within one message.
package kernel

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"
)

// Pair is two SHA-256 hashes of which the first parts are made together.
type Pair struct {
	state [2][8]uint32 // words F, E, B, A, H, G, D and C, as the instructions take them
	n     int          // bytes of either that are in it
}

// Fast reports whether this machine has the instructions.
func Fast() bool { return fast }

// order has the numbers of a hash's words in the order of a Pair.
var order = [8]int{5, 4, 1, 0, 7, 6, 3, 2}

// magic begins the state of a hash as crypto/sha256 keeps it: eight words, a block
// and the length follow.
const magic = "sha\x03"

// NewPair returns the hashes of two empty messages.
func NewPair() *Pair {
	b, _ := sha256.New().(encoding.BinaryAppender).AppendBinary(nil)

	p := &Pair{}
	for k, w := range order {
		p.state[0][k] = binary.BigEndian.Uint32(b[len(magic)+4*w:])
	}

	p.state[1] = p.state[0]

	return p
}

// Write adds whole blocks of 64 bytes to either message, as many as the shorter of a
// and b holds, and returns how many bytes that is: none if the machine is not Fast.
func (p *Pair) Write(a, b []byte) int {
	n := min(len(a), len(b)) / sha256.BlockSize
	if n == 0 || !fast {
		return 0
	}

	pairSHA(&p.state, &a[0], &b[0], n)

	p.n += n * sha256.BlockSize

	return n * sha256.BlockSize
}

// Sums returns the hashes of two messages.
func Sums(a, b []byte) (sums [2][sha256.Size]byte) {
	p := NewPair()
	n := p.Write(a, b)

	for i, m := range [2][]byte{a, b} {
		h := p.Hash(i)
		h.Write(m[n:])
		h.Sum(sums[i][:0])
	}

	return sums
}

// Hash returns one of the two, to write the rest of its message to.
func (p *Pair) Hash(i int) hash.Hash {
	b := make([]byte, len(magic)+4*len(order)+sha256.BlockSize+8)
	copy(b, magic)

	for k, w := range order {
		binary.BigEndian.PutUint32(b[len(magic)+4*w:], p.state[i][k])
	}

	binary.BigEndian.PutUint64(b[len(b)-8:], uint64(p.n))

	h := sha256.New()
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(b); err != nil {
		panic(err) // the state is not as crypto/sha256 of this Go keeps it
	}

	return h
}
