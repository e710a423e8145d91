// Package aiff reads AIFF and AIFC files with integer or IEEE float samples,
// high or low byte first, cut short or left open by a writer into a pipe.
package aiff

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/sound"
)

// Format is AIFF.
var Format = ingest.Format{
	Name: "aiff", Title: "AIFF", Endings: []string{".aiff", ".aif", ".aifc"}, Detect: detect, Open: open,
}

func detect(head []byte, _ ingest.Source) bool {
	return len(head) >= 12 && string(head[:4]) == "FORM" && (string(head[8:12]) == "AIFF" || string(head[8:12]) == "AIFC")
}

// compressions names those people meet.
var compressions = map[string]string{
	"ulaw": "µ-law", "ULAW": "µ-law", "alaw": "A-law", "ALAW": "A-law", "ima4": "IMA ADPCM", "MAC3": "MACE 3:1",
	"MAC6": "MACE 6:1", "QDMC": "QDesign", "GSM ": "GSM 6.10", "G722": "G.722", "dwvw": "DWVW",
}

var textChunks = map[string]string{"NAME": "title", "AUTH": "artist", "(c) ": "copyright", "ANNO": "comment"}

// file is an AIFF file while its header is read.
type file struct {
	sound.File
	aifc   bool
	common int64 // byte of the COMM chunk's body; 0: none yet
	frames int64 // that COMM claims
	bits   int
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{File: sound.File{Src: src, Info: ingest.Info{Format: "aiff"}, BigEndian: true}}
	h, err := f.Header(0, 12)
	if err != nil {
		return nil, err
	}
	if !detect(h, src) {
		return nil, f.Fail(0, `"FORM", a size and "AIFF" or "AIFC"`, strconv.Quote(string(h)), "this is no AIFF file")
	}
	f.aifc = string(h[8:]) == "AIFC"
	end, err := f.Walk(12, sound.Layout{Header: 8, Align: 2, Decode: func(h []byte) (string, int64, error) {
		return string(h[:4]), int64(binary.BigEndian.Uint32(h[4:])), nil
	}}, f.chunk)
	switch {
	case err != nil:
		return nil, err
	case f.common == 0:
		return nil, f.Fail(min(end, src.Size), `a "COMM" chunk`, "the end of the file", raw.CutShort)
	case !f.HasData:
		return nil, f.Fail(min(end, src.Size), `an "SSND" chunk`, "the end of the file", sound.NoSamples)
	}
	// COMM counts the samples; SSND may hold padding after them.
	size := int64(f.Channels) * int64(f.Kind.Bytes())
	switch {
	case f.Pipe: // a length nothing can have
	case f.frames == 0 && f.Claimed > 0:
		f.Pipe, f.Claimed = true, 0 // the writer did not come back to COMM
	case f.frames*size != f.Claimed:
		f.ClaimAt, f.Claimed = f.common+2, f.frames*size
	}
	return f.Open(o)
}

func (f *file) chunk(id string, body, length, left int64) (int64, error) {
	switch {
	case id == "COMM" && f.common == 0:
		f.common = body
		if err := f.readCommon(length); err != nil {
			return 0, err
		}
	case id == "SSND" && !f.HasData:
		if length < 8 || left < 8 {
			return 0, f.Fail(body-4, "a data chunk of at least 8 bytes", fault.Plural(min(length, left), "byte"), raw.CutShort)
		}
		h, err := f.Header(body, 8)
		if err != nil {
			return 0, err
		}
		offset := int64(binary.BigEndian.Uint32(h))
		if offset > length-8 {
			return 0, f.Fail(body, fmt.Sprintf("the first sample in a chunk of %d bytes", length),
				fmt.Sprintf("byte %d", offset), sound.Damaged)
		}
		f.HasData, f.ClaimAt, f.DataAt = true, body-4, body+8+offset
		f.Claimed, f.Present = length-8-offset, max(0, left-8-offset)
		// sox claims about 2 GiB when it cannot seek back.
		f.Pipe = length > left && (length >= 0x7F000000 && length < 0x7F001000 || length == math.MaxUint32)
	default:
		if name := textChunks[id]; name != "" {
			f.Text(name, body, min(length, left))
		}
	}
	return length, nil
}

// readCommon reads the COMM chunk.
func (f *file) readCommon(length int64) error {
	need := int64(18)
	if f.aifc {
		need = 22
	}
	if length < need {
		return f.Fail(f.common-4, fmt.Sprintf("a COMM chunk of at least %d bytes", need), fault.Plural(length, "byte"), "")
	}
	b, err := f.Header(f.common, int(need))
	if err != nil {
		return err
	}
	be := binary.BigEndian
	f.Channels, f.frames, f.bits = int(be.Uint16(b)), int64(be.Uint32(b[2:])), int(be.Uint16(b[6:]))
	f.RateHz, f.RateAt = extended(b[8:18]), f.common+8
	if f.Channels == 0 {
		return f.Fail(f.common, "at least one channel", "0", sound.Damaged)
	}
	compression := "NONE"
	if f.aifc {
		compression = string(b[18:22])
	}
	bits := f.bits
	ok := false
	switch compression {
	case "NONE", "twos":
		ok = f.Signed(bits)
	case "sowt":
		f.BigEndian = false
		ok = f.Signed(bits)
	case "raw ":
		f.Kind, f.Encoding = raw.U8, "PCM 8-bit"
		ok = bits == 8
	case "in24", "42n1", "in32", "23ni": // libsndfile writes the names of little-endian ones backwards
		f.BigEndian = compression[:2] == "in"
		if bits = 32; compression == "in24" || compression == "42n1" {
			bits = 24
		}
		ok = f.Signed(bits)
	case "fl32", "FL32":
		ok, bits = f.Float(32), 32
	case "fl64", "FL64":
		ok, bits = f.Float(64), 64
	default:
		name := compressions[compression]
		if name == "" {
			name = "unknown"
		}
		return f.Fail(f.common+18, "PCM or IEEE float samples", fmt.Sprintf("compression %q (%s)", compression, name),
			sound.Convert)
	}
	if !ok {
		return f.Fail(f.common+6, "1 to 32 bits per sample", fmt.Sprintf("%d, compression %q", bits, compression), "")
	}
	return nil
}

// extended reads a float of 80 bits.
func extended(b []byte) float64 {
	e := int(binary.BigEndian.Uint16(b))
	v := math.Ldexp(float64(binary.BigEndian.Uint64(b[2:])), e&0x7FFF-16383-63)
	if e&0x8000 != 0 {
		v = -v
	}
	return v
}
