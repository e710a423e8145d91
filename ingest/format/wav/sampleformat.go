package wav

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// Format tags of sample formats that are read, and of formats that name theirs in an extension (RFC 2361).
const (
	pcm        = 0x0001
	ieeeFloat  = 0x0003
	extensible = 0xFFFE
)

// tags has the names of other format tags that people meet, for messages. RFC 2361 registers more.
var tags = map[uint16]string{
	0x0002: "Microsoft ADPCM", 0x0006: "A-law", 0x0007: "µ-law", 0x0011: "IMA ADPCM", 0x0016: "G.723 ADPCM",
	0x0031: "GSM 6.10", 0x0040: "G.721 ADPCM", 0x0050: "MPEG", 0x0055: "MP3", 0x0092: "AC-3", 0x00FF: "AAC",
	0x0161: "WMA", 0x1610: "AAC", 0x674F: "Ogg Vorbis", 0xF1AC: "FLAC",
}

// sampleFormat is the contents of a fmt chunk.
type sampleFormat struct {
	begin    int64  // offset of the chunk's body in the file
	tag      uint16 // format tag; the tag in the extension if there is an extension
	channels int
	rate     uint32 // sampling rate in Hz
	align    int    // bytes of a frame
	bits     int    // bits of a sample
	valid    int    // bits of a sample that are used; 0 if not stated
}

// readFormat reads a fmt chunk. The body has these numbers, in the file's byte order (Microsoft, "Multiple Channel
// Audio Data and WAVE Files"):
//
//	 0  2 bytes: format tag
//	 2  2 bytes: number of channels
//	 4  4 bytes: sampling rate in Hz
//	 8  4 bytes: bytes per second
//	12  2 bytes: bytes per frame
//	14  2 bytes: bits per sample
//
// and if the format tag is extensible:
//
//	16  2 bytes: length of what follows, 22
//	18  2 bytes: valid bits per sample
//	20  4 bytes: loudspeakers of the channels
//	24 16 bytes: GUID of the sub-format
func (f *file) readFormat(c chunk) (*sampleFormat, error) {
	switch {
	case c.length < 16:
		return nil, f.src.Fault(c.numberAt, "a fmt chunk of at least 16 bytes", fault.Plural(c.length, "byte"), "")
	case c.left < 16:
		return nil, f.src.Fault(c.body, "16 bytes of format", "the end of the file", raw.CutShort)
	}

	const extensibleSize = 40
	n := min(c.length, c.left, extensibleSize)

	b, err := f.header(c.body, n)
	if err != nil {
		return nil, err
	}

	x := &sampleFormat{
		begin: c.body, tag: f.order.Uint16(b[0:]), channels: int(f.order.Uint16(b[2:])), rate: f.order.Uint32(b[4:]),
		align: int(f.order.Uint16(b[12:])), bits: int(f.order.Uint16(b[14:])),
	}
	if x.tag != extensible {
		return x, nil
	}

	if n != extensibleSize {
		return nil, f.src.Fault(c.body, "an extensible format of 40 bytes", fault.Plural(n, "byte"), "")
	}

	x.valid = int(f.order.Uint16(b[18:]))

	tag, ok := f.subFormat(b[24:extensibleSize])
	if !ok {
		return nil, f.src.Fault(c.body+24, "the sub-format PCM or IEEE float", fmt.Sprintf("GUID %x", b[24:40]), "")
	}

	x.tag = tag

	return x, nil
}

// subFormat returns the format tag in the GUID of a sub-format. It returns false if the GUID does not contain a tag. A
// GUID with a tag is, in the file's byte order, a number of 4 bytes whose lower half is the tag, the number 0 in 2
// bytes and the number 0x0010 in 2 bytes, and then the 8 bytes of tail. In RIFX files, sox writes only the tag
// big-endian and the other numbers little-endian.
func (f *file) subFormat(guid []byte) (tag uint16, ok bool) {
	const tail = "\x80\x00\x00\xaa\x00\x38\x9b\x71"
	if string(guid[8:]) != tail {
		return 0, false
	}

	if string(guid[2:8]) == "\x00\x00\x00\x00\x10\x00" {
		return f.order.Uint16(guid), true
	}

	first := f.order.Uint32(guid)
	second := f.order.Uint16(guid[4:])
	third := f.order.Uint16(guid[6:])

	return uint16(first), first <= math.MaxUint16 && second == 0 && third == 0x0010
}

// checkFormat checks that the format is read, and sets the kind of samples and the name of the encoding.
func (f *file) checkFormat() error {
	x := f.format
	switch {
	case x.tag != pcm && x.tag != ieeeFloat:
		return f.src.Fault(x.begin, "PCM or IEEE float samples",
			fmt.Sprintf("format 0x%04X (%s)", x.tag, cmp.Or(tags[x.tag], "unknown")),
			"convert the file to PCM, e.g. with sox or ffmpeg")
	case x.channels == 0:
		return f.src.Fault(x.begin+2, "at least one channel", "0", raw.Damaged)
	}

	bits := strconv.Itoa(x.bits)
	f.encoding = "PCM " + bits + "-bit"

	switch {
	case x.tag == ieeeFloat:
		f.encoding = "IEEE float " + bits + "-bit"
		switch x.bits {
		case 32:
			f.kind = raw.F32
		case 64:
			f.kind = raw.F64
		default:
			return f.src.Fault(x.begin+14, "32 or 64 bits per float sample", bits, "")
		}
	case x.bits == 24 && x.align == 4*x.channels: // left-justified in four bytes, as scipy reads them too
		f.kind = raw.I32
		f.encoding = "PCM 24-bit in 4 bytes"
	case x.bits < 1 || x.bits > 32:
		return f.src.Fault(x.begin+14, "1 to 32 bits per PCM sample", bits, "")
	default: // left-justified in 1 to 4 whole bytes
		f.kind = []raw.Kind{raw.U8, raw.I16, raw.I24, raw.I32}[(x.bits-1)/8]
	}

	frame := x.channels * f.kind.Bytes()
	if x.align != frame {
		want := fmt.Sprintf("%d bytes per frame (%s of %d bits)", frame, fault.Plural(int64(x.channels), "channel"), x.bits)
		return f.src.Fault(x.begin+12, want, strconv.Itoa(x.align), raw.Damaged)
	}

	if x.tag == pcm && x.valid > 0 && x.valid < x.bits {
		f.encoding += fmt.Sprintf(" (%d valid)", x.valid)
	}

	return nil
}
