// Package au reads AU files (Sun, NeXT) with integer or IEEE float samples, high
// or low byte first.
package au

import (
	"encoding/binary"
	"fmt"
	"math"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/sound"
)

// Format is AU. A text that begins with ".snd" is not taken for one: the place of
// the data has control bytes.
var Format = ingest.Format{Name: "au", Title: "AU", Endings: []string{".au", ".snd"}, Detect: detect, Open: open}

func detect(head []byte, _ ingest.Source) bool {
	return len(head) >= 5 && (string(head[:5]) == ".snd\x00" || string(head[:4]) == "dns." && ingest.Binary(head[4:]))
}

// encodings names those that are not read.
var encodings = map[uint32]string{
	1: "µ-law", 23: "G.721 ADPCM", 24: "G.722 ADPCM", 25: "G.723 ADPCM", 26: "G.723 ADPCM", 27: "A-law",
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &sound.File{Src: src, Info: ingest.Info{Format: "au"}}
	h, err := f.Header(0, 24)
	if err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if f.BigEndian = h[0] == '.'; f.BigEndian {
		order = binary.BigEndian
	}
	if s := string(h[:4]); s != ".snd" && s != "dns." {
		return nil, f.Fail(0, `".snd" or "dns."`, fmt.Sprintf("%q", s), "this is no AU file")
	}
	word := func(i int) uint32 { return order.Uint32(h[4*i:]) }
	f.DataAt, f.ClaimAt, f.Claimed = int64(word(1)), 8, int64(word(2))
	f.RateHz, f.RateAt = float64(word(4)), 16
	if f.DataAt < 24 || f.DataAt > src.Size {
		return nil, f.Fail(4, fmt.Sprintf("the first sample in a file of %d bytes", src.Size),
			fmt.Sprintf("byte %d", f.DataAt), sound.Damaged)
	}
	f.Present = src.Size - f.DataAt
	if word(2) == math.MaxUint32 { // the writer did not know: all that follows
		f.Claimed = f.Present
	}
	if word(5) == 0 || word(5) > math.MaxUint16 {
		return nil, f.Fail(20, "1 to 65535 channels", fmt.Sprint(word(5)), sound.Damaged)
	}
	f.Channels = int(word(5))
	switch e := word(3); e {
	case 2, 3, 4, 5:
		f.Signed(8 * int(e-1))
	case 6, 7:
		f.Float(32 * int(e-5))
	default:
		name := encodings[e]
		if name == "" {
			name = "unknown"
		}
		return nil, f.Fail(12, "PCM or IEEE float samples", fmt.Sprintf("encoding %d (%s)", e, name), sound.Convert)
	}
	f.Text("comment", 24, f.DataAt-24)
	return f.Open(o)
}
