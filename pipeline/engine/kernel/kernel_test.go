package kernel

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"
)

// Expected values: crypto/sha256.
func TestPairs(t *testing.T) {
	if !Fast() {
		t.Skip("this processor has no SHA instructions")
	}

	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SliceOfN(rapid.Byte(), 0, 1000)
		both := [2][]byte{message.Draw(t, "a"), message.Draw(t, "b")}

		p, at := NewPair(), 0
		for cut := rapid.IntRange(0, 700); at < 600; {
			to := at + cut.Draw(t, "cut")
			n := p.Write(upTo(both[0], at, to), upTo(both[1], at, to))
			if at += n; n == 0 {
				break
			}
		}

		for i, m := range both {
			h := p.Hash(i)
			h.Write(m[at:])

			want := sha256.Sum256(m)
			if !bytes.Equal(h.Sum(nil), want[:]) || Sums(both[0], both[1])[i] != want {
				t.Fatalf("%d bytes of which %d in pairs: %x, want %x", len(m), at, h.Sum(nil), want)
			}
		}
	})
}

func upTo(m []byte, from, to int) []byte { return m[from:min(to, len(m))] }

func BenchmarkPair(b *testing.B) {
	x, p := make([]byte, 1<<18), NewPair()
	b.SetBytes(2 << 18)
	for b.Loop() {
		p.Write(x, x)
	}
}

func BenchmarkSingle(b *testing.B) {
	x, h := make([]byte, 1<<18), sha256.New()
	b.SetBytes(1 << 18)
	for b.Loop() {
		h.Write(x)
	}
}
