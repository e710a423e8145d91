// Package wav reads WAV files: RIFF, RIFX, RF64, BW64 and Wave64 with PCM or IEEE
// float samples, of any size, cut short or left open by a writer that crashed.
package wav

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/sound"
)

// Format is WAV.
var Format = ingest.Format{
	Name: "wav", Title: "WAV", Endings: []string{".wav", ".bwf", ".rf64", ".w64"},
	Magic: []string{"RIFF", "RF64", "RIFX", "BW64", wave64}, Open: open,
}

const (
	pcm        = 0x0001
	ieeeFloat  = 0x0003
	extensible = 0xFFFE

	// maxText bounds the memory for hostile files; real ones hold some hundred bytes
	// of text.
	maxText = 1 << 16

	// wave64 begins a Wave64 file: a GUID, as those of its chunks are. Theirs are
	// four letters, those of RIFF in lower case, and wave64Tail.
	wave64     = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
	wave64Tail = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
)

// tags names format tags people meet; the registered list is longer.
var tags = map[uint16]string{
	0x0002: "Microsoft ADPCM", 0x0006: "A-law", 0x0007: "µ-law", 0x0011: "IMA ADPCM", 0x0016: "G.723 ADPCM",
	0x0031: "GSM 6.10", 0x0040: "G.721 ADPCM", 0x0050: "MPEG", 0x0055: "MP3", 0x0092: "AC-3", 0x00FF: "AAC",
	0x0161: "WMA", 0x1610: "AAC", 0x674F: "Ogg Vorbis", 0xF1AC: "FLAC",
}

// infoNames gives LIST/INFO and bext entries names people understand.
var infoNames = map[string]string{
	"INAM": "title", "IART": "artist", "ICMT": "comment", "ICRD": "date", "ISFT": "software", "ICOP": "copyright",
	"IGNR": "genre", "ISBJ": "subject", "IKEY": "keywords", "IENG": "engineer", "ITCH": "technician", "ISRC": "source",
	"IPRD": "product", "IMED": "medium", "ICMS": "commissioned by", "IARL": "archive", "ILNG": "language", "ITRK": "track",
}

// format is the contents of a fmt chunk.
type format struct {
	at       int64 // byte of the chunk's body
	tag      uint16
	channels int
	rate     uint32
	align    int
	bits     int
	valid    int
}

// file is a WAV file while its header is read.
type file struct {
	sound.File
	order binary.ByteOrder
	fmt   *format
	ds64  int64 // bytes of data by the ds64 chunk, −1 without one
	long  bool  // Wave64
}

// open reads the chunks of a RIFF, RIFX, RF64 or Wave64 file up to its end (data
// are skipped, not read) and returns a reader of its samples.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{order: binary.LittleEndian, ds64: -1}
	f.Src, f.Info = src, ingest.Info{Format: "wav"}
	if src.Size < 12 {
		return nil, f.Fail(src.Size, "a RIFF header of 12 bytes",
			fmt.Sprintf("the end of the file after %s", fault.Plural(src.Size, "byte")), raw.CutShort)
	}
	h, err := f.Header(0, 12)
	if err != nil {
		return nil, err
	}
	first, layout := int64(12), sound.Layout{Header: 8, Align: 2, Decode: func(h []byte) (string, int64, error) {
		return string(h[:4]), int64(f.order.Uint32(h[4:])), nil
	}}
	switch string(h[:4]) {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		f.order = binary.BigEndian
	case "riff":
		f.long, first, layout = true, 40, sound.Layout{Header: 24, Align: 8, Decode: f.guid}
	default:
		return nil, f.Fail(0, `"RIFF", "RIFX", "RF64" or Wave64`, strconv.Quote(string(h[:4])), "this is no WAV file")
	}
	kind, at := string(h[8:]), int64(8)
	if f.long {
		if h, err = f.Header(0, 40); err != nil {
			return nil, err
		}
		if kind, at = "", 24; string(h[:16]) == wave64 && string(h[28:]) == wave64Tail {
			kind = strings.ToUpper(string(h[24:28]))
		}
	}
	if kind != "WAVE" {
		return nil, f.Fail(at, `"WAVE"`, strconv.Quote(kind), "a RIFF file, but not of sound")
	}
	end, err := f.Walk(first, layout, f.chunk)
	if err != nil {
		return nil, err
	}
	if f.fmt == nil {
		hint := ""
		if f.order.Uint32(h[4:]) == 0 || end > src.Size {
			hint = raw.CutShort
		}
		return nil, f.Fail(min(end, src.Size), `a "fmt " chunk`, "the end of the file", hint)
	}
	if !f.HasData {
		return nil, f.Fail(min(end, src.Size), `a "data" chunk`, "the end of the file", sound.NoSamples)
	}
	if err := f.fmt.kind(f); err != nil {
		return nil, err
	}
	f.Channels, f.BigEndian = f.fmt.channels, f.order == binary.BigEndian
	f.RateHz, f.RateAt = float64(f.fmt.rate), f.fmt.at+4
	return f.Open(o)
}

// guid decodes the header of a chunk of Wave64: a GUID, and a length that counts
// the header.
func (f *file) guid(h []byte) (string, int64, error) {
	id := ""
	if string(h[4:16]) == wave64Tail {
		id = string(h[:4])
	}
	return id, int64(f.order.Uint64(h[16:])) - 24, nil
}

// chunk reads a chunk whose body of length bytes begins at byte body, with left
// bytes to the end of the file. It returns the length to skip.
func (f *file) chunk(id string, body, length, left int64) (int64, error) {
	switch {
	case id == "ds64" && f.ds64 < 0:
		var d [16]byte
		if length < 24 || left < 24 {
			return 0, f.Fail(body, "a ds64 chunk of at least 24 bytes", fault.Plural(min(length, left), "byte"), "")
		}
		if err := f.Get(d[:], body); err != nil {
			return 0, err
		}
		v := f.order.Uint64(d[8:])
		if v > math.MaxInt64 {
			return 0, f.Fail(body+8, "a data size", strconv.FormatUint(v, 10)+" bytes", sound.Damaged)
		}
		f.ds64 = int64(v)
	case id == "fmt " && f.fmt == nil:
		var err error
		if f.fmt, err = f.readFormat(body, length, left); err != nil {
			return 0, err
		}
	case id == "data" && !f.HasData:
		f.HasData, f.DataAt, f.ClaimAt, f.Claimed, f.Present = true, body, body-4, length, left
		if f.long {
			f.ClaimAt = body - 8
			return length, nil
		}
		switch {
		case length == math.MaxUint32 && f.ds64 >= 0:
			f.Claimed = f.ds64
		case length == math.MaxUint32:
			f.Pipe = true
		case length == 0 && left > 0 && !f.looksLikeChunk(body):
			f.Pipe = true
		case length >= 0x7FF00000 && length > left:
			// sox and arecord claim about 2 GiB when they cannot seek back.
			f.Pipe = true
		}
		if f.Pipe {
			return left, nil
		}
		return f.Claimed, nil
	case id == "LIST" || id == "bext":
		f.texts(id, body, min(length, left))
	case id == "data":
		f.Warn("extra-data", fmt.Sprintf("a second data chunk at byte %d is not read", body-8))
	}
	return length, nil
}

// looksLikeChunk reports whether a chunk that fits the file begins at a byte: an
// empty data chunk followed by others is then really empty.
func (f *file) looksLikeChunk(at int64) bool {
	if f.Src.Size-at < 8 {
		return false
	}
	var h [8]byte
	if f.Get(h[:], at) != nil {
		return false
	}
	for _, c := range h[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return at+8+int64(f.order.Uint32(h[4:])) <= f.Src.Size
}

func (f *file) readFormat(body, length, left int64) (*format, error) {
	if length < 16 {
		return nil, f.Fail(body-4, "a fmt chunk of at least 16 bytes", fault.Plural(length, "byte"), "")
	}
	if left < 16 {
		return nil, f.Fail(body, "16 bytes of format", "the end of the file", raw.CutShort)
	}
	var b [40]byte
	n := min(length, left, 40)
	if err := f.Get(b[:n], body); err != nil {
		return nil, err
	}
	bo := f.order
	x := &format{
		at: body, tag: bo.Uint16(b[0:]), channels: int(bo.Uint16(b[2:])), rate: bo.Uint32(b[4:]),
		align: int(bo.Uint16(b[12:])), bits: int(bo.Uint16(b[14:])),
	}
	if x.tag == extensible {
		if n < 40 {
			return nil, f.Fail(body, "an extensible format of 40 bytes", fault.Plural(n, "byte"), "")
		}
		x.valid = int(bo.Uint16(b[18:]))
		// The sub-format is a GUID: four bytes whose lower half is the tag, two
		// zero, two 0x0010, in the file's byte order, then eight as they are.
		// sox, in RIFX, turns only the tag and leaves the rest little-endian.
		const tail = "\x80\x00\x00\xaa\x00\x38\x9b\x71"
		g := b[24:40]
		switch {
		case string(g[2:8]) == "\x00\x00\x00\x00\x10\x00" && string(g[8:]) == tail:
			x.tag = bo.Uint16(g)
		case bo.Uint32(g) <= math.MaxUint16 && bo.Uint16(g[4:]) == 0 && bo.Uint16(g[6:]) == 0x0010 && string(g[8:]) == tail:
			x.tag = uint16(bo.Uint32(g))
		default:
			return nil, f.Fail(body+24, "the sub-format PCM or IEEE float", fmt.Sprintf("GUID %x", g), "")
		}
	}
	return x, nil
}

// kind checks the format and names the encoding.
func (f *format) kind(in *file) error {
	fail := func(off int64, want, found, hint string) error {
		return in.Fail(f.at+off, want, found, hint)
	}
	if f.tag != pcm && f.tag != ieeeFloat {
		name, ok := tags[f.tag]
		if !ok {
			name = "unknown"
		}
		return fail(0, "PCM or IEEE float samples", fmt.Sprintf("format 0x%04X (%s)", f.tag, name),
			sound.Convert)
	}
	if f.channels == 0 {
		return fail(2, "at least one channel", "0", sound.Damaged)
	}
	// Samples of 24 bits in four bytes lie left-justified, as scipy reads them too.
	padded := f.tag == pcm && f.bits == 24 && f.align == 4*f.channels
	switch {
	case padded:
		in.Signed(32)
		in.Encoding = "PCM 24-bit in 4 bytes"
	case f.tag == ieeeFloat && !in.Float(f.bits):
		return fail(14, "32 or 64 bits per float sample", strconv.Itoa(f.bits), "")
	case f.tag == pcm && !in.Signed(f.bits):
		return fail(14, "1 to 32 bits per PCM sample", strconv.Itoa(f.bits), "")
	case in.Kind == raw.I8:
		in.Kind = raw.U8
	}
	if want := f.channels * in.Kind.Bytes(); f.align != want {
		return fail(12, fmt.Sprintf("%d bytes per frame (%s of %d bits)", want, fault.Plural(int64(f.channels), "channel"),
			f.bits), strconv.Itoa(f.align), sound.Damaged)
	}
	if f.tag == pcm && f.valid > 0 && f.valid < f.bits {
		in.Encoding += fmt.Sprintf(" (%d valid)", f.valid)
	}
	return nil
}

// texts adds the texts of a LIST/INFO or bext chunk; damage in there is no reason
// to refuse the samples, so what cannot be read is left out.
func (f *file) texts(id string, at, length int64) {
	b := make([]byte, min(length, maxText))
	if f.Get(b, at) != nil {
		return
	}
	if id == "bext" {
		for _, field := range []struct {
			name     string
			from, to int
		}{
			{"description", 0, 256},
			{"originator", 256, 288},
			{"originator reference", 288, 320},
			{"date", 320, 330},
			{"time", 330, 338},
		} {
			if len(b) >= field.to {
				f.Attribute(field.name, b[field.from:field.to])
			}
		}
		return
	}
	if len(b) < 4 || string(b[:4]) != "INFO" {
		return
	}
	for b = b[4:]; len(b) >= 8; {
		key, n := string(b[:4]), int64(f.order.Uint32(b[4:]))
		b = b[8:]
		n = min(n, int64(len(b)))
		name, ok := infoNames[key]
		if !ok {
			name = sound.Plain([]byte(key))
		}
		f.Attribute(name, b[:n])
		b = b[min(n+n&1, int64(len(b))):]
	}
}
