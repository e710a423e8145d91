package flac

import (
	"encoding/binary"
	"os"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// Values that the format reserves are refused though the checksums are right.
func TestReserved(t *testing.T) {
	whole, err := os.ReadFile("testdata/order0.flac")
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := streamInfo(ingesttest.Source(whole))
	if err != nil {
		t.Fatal(err)
	}
	f := frames{src: ingesttest.Source(whole), channels: 1, bits: 16}
	f.goTo(first)
	if err := f.next(); err != nil || f.n != 576 {
		t.Fatal(f.n, err)
	}
	end := int(f.at())
	head := 5 // bytes of the frame's header without its checksum
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   string
	}{
		{"no frame", func(b []byte) { b[1] = 0 }, "no frame begins here"},
		{"size", func(b []byte) { b[2] &= 0x0F }, "reserved values"},
		{"rate", func(b []byte) { b[2] |= 0x0F }, "reserved values"},
		{"two channels", func(b []byte) { b[3] |= 0x10 }, "a frame of 2 channels and 16 bits, the header has 1 and 16"},
		{"24 bits", func(b []byte) { b[3] |= 0x0C }, "a frame of 1 channels and 24 bits, the header has 1 and 16"},
		{"subframe", func(b []byte) { b[head+1] = 5 << 1 }, "reserved type"},
		{"reserved bit", func(b []byte) { b[head+1] |= 0x80 }, "reserved bit"},
		{"residuals", func(b []byte) { b[head+2], b[head+1] = 0xC0, 8<<1 }, "reserved coding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := append([]byte{}, whole[:end]...)
			frame := b[first:]
			c.change(frame)
			frame[head] = crc8(frame[:head])
			binary.BigEndian.PutUint16(frame[len(frame)-2:], crc16(frame[:len(frame)-2]))
			r, err := open(ingesttest.Source(b), ingest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			n, err := r.Read([]int{0}, 0, [][]float64{make([]float64, 10)})
			ingesttest.WantDataError(t, n, err, "sample 0: ", c.want)
		})
	}
}

// A residual takes 32 bits at most: ten zeros, a one and 30 more bits are 34.
func TestRiceTooWide(t *testing.T) {
	b := make([]byte, 32)
	b[1] = 0x20
	if s := make([]int32, 1); (&bitReader{b: b}).rice(s, 30) {
		t.Errorf("read as %d", s[0])
	}
}
