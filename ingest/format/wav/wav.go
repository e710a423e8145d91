// Package wav reads WAV files: RIFF, RIFX, RF64, BW64 and Wave64 with PCM or IEEE
// float samples, of any size, cut short or left open by a writer that crashed.
package wav

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
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

	// These bound the work on and the memory for hostile files; real ones hold a dozen
	// chunks and some hundred bytes of text.
	maxChunks = 10000
	maxText   = 1 << 16
	maxTexts  = 64

	noSamples = "the file holds no samples: record again, or leave it out with exclude"

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
	src   ingest.Source
	info  ingest.Info
	order binary.ByteOrder
	fmt   *format
	ds64  int64 // bytes of data by the ds64 chunk, −1 without one
	long  bool  // Wave64

	kind     raw.Kind
	encoding string

	hasData bool
	dataAt  int64 // byte of the first sample
	claimAt int64 // byte that states how many there are
	claimed int64 // bytes of data the header claims
	present int64 // bytes from the first sample to the end of the file
	pipe    bool  // the claim is the placeholder of a writer that could not seek back
}

// warn adds a warning.
func (f *file) warn(code, text string) {
	f.info.Warnings = append(f.info.Warnings, ingest.Warning{Path: f.src.Path, Code: code, Text: text})
}

// get fills b from a byte of the header on.
func (f *file) get(b []byte, at int64) error {
	return raw.ReadHeader(f.src, b, at, fault.Plural(int64(len(b)), "byte")+" of header")
}

// header returns n bytes from a byte on, or raises an error.
func (f *file) header(at, n int64) []byte {
	b := make([]byte, n)
	fault.Raise(f.get(b, at))

	return b
}

// open reads the chunks of a RIFF, RIFX, RF64 or Wave64 file up to its end (data
// are skipped, not read) and returns a reader of its samples.
func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	f := &file{src: src, info: ingest.Info{Path: src.Path, Format: "wav"}, order: binary.LittleEndian, ds64: -1}
	f.src.Unless(src.Size >= 12, src.Size, "a RIFF header of 12 bytes",
		"the end of the file after "+fault.Plural(src.Size, "byte"), raw.CutShort)

	h := f.header(0, 12)
	switch string(h[:4]) {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		f.order = binary.BigEndian
	case "riff":
		f.long = true
	default:
		return nil, f.src.Fault(0, `"RIFF", "RIFX", "RF64" or Wave64`, strconv.Quote(string(h[:4])), "this is no WAV file")
	}

	kind, at := string(h[8:]), int64(8)
	if f.long {
		h = f.header(0, 40)
		if kind, at = "", 24; string(h[:16]) == wave64 && string(h[28:]) == wave64Tail {
			kind = strings.ToUpper(string(h[24:28]))
		}
	}

	f.src.Unless(kind == "WAVE", at, `"WAVE"`, strconv.Quote(kind), "a RIFF file, but not of sound")

	end := f.walk()
	hint := ""
	if f.order.Uint32(h[4:]) == 0 || end > src.Size {
		hint = raw.CutShort
	}

	f.src.Unless(f.fmt != nil, min(end, src.Size), `a "fmt " chunk`, "the end of the file", hint)
	f.src.Unless(f.hasData, min(end, src.Size), `a "data" chunk`, "the end of the file", noSamples)
	f.checkFormat()

	return f.samples(o), nil
}

// walk reads chunk after chunk and returns where the last one ends.
func (f *file) walk() int64 {
	at, header, align := int64(12), int64(8), int64(2)
	if f.long {
		at, header, align = 40, 24, 8
	}

	for n := 0; at+header <= f.src.Size; n++ {
		f.src.Unless(n < maxChunks, at, "a sound file", fmt.Sprintf("more than %d chunks", maxChunks), raw.Damaged)

		h := f.header(at, header)
		id, length := string(h[:4]), int64(f.order.Uint32(h[4:]))

		if f.long {
			length = int64(f.order.Uint64(h[16:])) - header // a GUID, and a length that counts the header
			if string(h[4:16]) != wave64Tail {
				id = ""
			}
		}

		f.src.Unless(length >= 0, at, "a chunk's length", strconv.FormatInt(length, 10), raw.Damaged)

		left := f.src.Size - at - header
		length = f.chunk(id, at+header, length, left)
		if length > left {
			break // the claim reaches past the end: nothing can follow
		}

		at += header + length
		at += (align - at%align) % align
	}

	return at
}

// chunk reads a chunk whose body of length bytes begins at byte body, with left
// bytes to the end of the file. It returns the length to skip.
func (f *file) chunk(id string, body, length, left int64) int64 {
	switch {
	case id == "ds64" && f.ds64 < 0:
		f.src.Unless(length >= 24 && left >= 24, body, "a ds64 chunk of at least 24 bytes",
			fault.Plural(min(length, left), "byte"), "")

		v := f.order.Uint64(f.header(body, 16)[8:])
		f.src.Unless(v <= math.MaxInt64, body+8, "a data size", strconv.FormatUint(v, 10)+" bytes", raw.Damaged)
		f.ds64 = int64(v)
	case id == "fmt " && f.fmt == nil:
		f.fmt = f.readFormat(body, length, left)
	case id == "data" && !f.hasData:
		f.hasData, f.dataAt, f.claimAt, f.claimed, f.present = true, body, body-4, length, left
		if f.long {
			f.claimAt = body - 8
			return length
		}

		switch {
		case length == math.MaxUint32 && f.ds64 >= 0:
			f.claimed = f.ds64
		case length == math.MaxUint32:
			f.pipe = true
		case length == 0 && left > 0 && !f.looksLikeChunk(body):
			f.pipe = true
		case length >= 0x7FF00000 && length > left:
			// sox and arecord claim about 2 GiB when they cannot seek back.
			f.pipe = true
		}

		if f.pipe {
			return left
		}

		return f.claimed

	case id == "LIST" || id == "bext":
		f.texts(id, body, min(length, left))

	case id == "data":
		f.warn("extra-data", fmt.Sprintf("a second data chunk at byte %d is not read", body-8))
	}

	return length
}

// looksLikeChunk reports whether a chunk that fits the file begins at a byte: an
// empty data chunk followed by others is then really empty.
func (f *file) looksLikeChunk(at int64) bool {
	if f.src.Size-at < 8 {
		return false
	}

	var h [8]byte
	if f.get(h[:], at) != nil {
		return false
	}

	return !slices.ContainsFunc(h[:4], func(c byte) bool { return c < ' ' || c > '~' }) &&
		at+8+int64(f.order.Uint32(h[4:])) <= f.src.Size
}

func (f *file) readFormat(body, length, left int64) *format {
	f.src.Unless(length >= 16, body-4, "a fmt chunk of at least 16 bytes", fault.Plural(length, "byte"), "")
	f.src.Unless(left >= 16, body, "16 bytes of format", "the end of the file", raw.CutShort)

	n := min(length, left, 40)
	b := f.header(body, n)
	bo := f.order
	x := &format{
		at: body, tag: bo.Uint16(b[0:]), channels: int(bo.Uint16(b[2:])), rate: bo.Uint32(b[4:]),
		align: int(bo.Uint16(b[12:])), bits: int(bo.Uint16(b[14:])),
	}

	if x.tag == extensible {
		f.src.Unless(n == 40, body, "an extensible format of 40 bytes", fault.Plural(n, "byte"), "")

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
			f.src.Unless(false, body+24, "the sub-format PCM or IEEE float", fmt.Sprintf("GUID %x", g), "")
		}
	}

	return x
}

// checkFormat checks the format and names the encoding.
func (f *file) checkFormat() {
	x := f.fmt
	unless := func(ok bool, off int64, want, found, hint string) { f.src.Unless(ok, x.at+off, want, found, hint) }

	unless(x.tag == pcm || x.tag == ieeeFloat, 0, "PCM or IEEE float samples",
		fmt.Sprintf("format 0x%04X (%s)", x.tag, cmp.Or(tags[x.tag], "unknown")),
		"convert the file to PCM, e.g. with sox or ffmpeg")
	unless(x.channels > 0, 2, "at least one channel", "0", raw.Damaged)

	bits := strconv.Itoa(x.bits)
	f.encoding = "PCM " + bits + "-bit"

	switch {
	case x.tag == ieeeFloat:
		unless(x.bits == 32 || x.bits == 64, 14, "32 or 64 bits per float sample", bits, "")

		f.encoding = "IEEE float " + bits + "-bit"
		if f.kind = raw.F32; x.bits == 64 {
			f.kind = raw.F64
		}
	case x.bits == 24 && x.align == 4*x.channels: // left-justified in four bytes, as scipy reads them too
		f.kind, f.encoding = raw.I32, "PCM 24-bit in 4 bytes"
	default: // left-justified in whole bytes
		unless(x.bits >= 1 && x.bits <= 32, 14, "1 to 32 bits per PCM sample", bits, "")
		f.kind = []raw.Kind{raw.U8, raw.I16, raw.I24, raw.I32}[(x.bits-1)/8]
	}

	want := x.channels * f.kind.Bytes()
	unless(x.align == want, 12, fmt.Sprintf("%d bytes per frame (%s of %d bits)", want,
		fault.Plural(int64(x.channels), "channel"), x.bits), strconv.Itoa(x.align), raw.Damaged)

	if x.tag == pcm && x.valid > 0 && x.valid < x.bits {
		f.encoding += fmt.Sprintf(" (%d valid)", x.valid)
	}
}

// samples lays out the samples that the header describes.
func (f *file) samples(o ingest.Options) ingest.Reader {
	rateAt := f.fmt.at + 4
	f.src.Unless(f.fmt.rate > 0, rateAt, "a sampling rate above 0 Hz", "0", raw.Damaged)
	rate := fault.Get(o.Rate(f.src.Path, fmt.Sprintf("byte %d", rateAt), float64(f.fmt.rate), 0))

	l := raw.Layout{
		Offset: f.dataAt, Channels: f.fmt.channels, Kind: f.kind, BigEndian: f.order == binary.BigEndian, Scale: 1,
	}
	if f.kind.Integer() {
		l.Scale = math.Ldexp(1, 1-8*f.kind.Bytes())
	}

	if f.kind == raw.U8 {
		l.Bias = 128
	}

	l.Frames = f.frames(int64(l.Channels*f.kind.Bytes()), o)
	f.src.Unless(l.Frames > 0, f.dataAt, "samples", "an empty data chunk", noSamples)

	if f.fmt.bits == 24 && f.kind == raw.I32 {
		f.padding(l)
	}

	f.info.Warnings = append(f.info.Warnings, clock.Odd(f.src.Path, "header", rate)...)

	f.info.Encoding = f.encoding
	f.info.Channels = lists.Make(l.Channels, func(i int) ingest.Channel {
		return ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: l.Frames}
	})

	return raw.New(f.src, f.info, l)
}

// padding checks that the lowest byte of samples of 24 bits in 4 bytes is zero, at 64
// places of the data: arecord and others put the samples into the lower three bytes,
// which would be read 256 times too small.
func (f *file) padding(l raw.Layout) {
	b := make([]byte, 1<<12)
	size := 4 * l.Frames * int64(l.Channels)

	for i := range int64(64) {
		at := size / 64 * i &^ 3
		b = b[:min(int64(cap(b)), size-at)]
		fault.Raise(raw.ReadHeader(f.src, b, l.Offset+at, "samples"))

		for k := 0; k < len(b); k += 4 {
			pad := k
			if l.BigEndian {
				pad += 3
			}

			if b[pad] != 0 {
				f.src.Unless(false, l.Offset+at+int64(pad), "a padding byte of 0 in samples of 24 bits in 4 bytes",
					strconv.Itoa(int(b[pad])), "the samples may lie in the other three bytes: record them in 3 bytes "+
						"(arecord -f S24_3LE) or 32 bits")
			}
		}
	}
}

// frames returns the number of whole frames of so many bytes, which, where the
// header claims another number, is an error or a warning depending on the options.
func (f *file) frames(frame int64, o ingest.Options) int64 {
	present := f.present
	if !f.pipe && f.claimed <= present {
		present = f.claimed
	}

	frames := present / frame

	var found string

	switch {
	case f.pipe && f.claimed == 0:
		found = fmt.Sprintf("the header claims no data, the placeholder of a writer that could not finish the header; "+
			"there are %d whole frames", frames)
	case f.pipe:
		found = fmt.Sprintf("the header claims %d bytes, the placeholder of a streaming writer; there are %d whole frames",
			f.claimed, frames)
	case f.claimed > present:
		found = fmt.Sprintf("the header claims %d frames, there are %d", f.claimed/frame, frames)
	case present%frame != 0:
		found = fmt.Sprintf("%d bytes of data are %d frames of %d bytes and %d bytes more", present, frames, frame,
			present%frame)
	default:
		return frames
	}

	f.info.Warnings = append(f.info.Warnings,
		fault.Get(raw.Short(f.src, o, f.claimAt, found, "whole frames", frames > 0))...)

	return frames
}

// attribute adds an attribute unless its text is empty.
func (f *file) attribute(name string, text []byte) {
	if s := raw.Text(text); s != "" && len(f.info.Attributes) < maxTexts {
		f.info.Attributes = append(f.info.Attributes, ingest.Attribute{Name: name, Value: s})
	}
}

// texts adds the texts of a LIST/INFO or bext chunk; damage in there is no reason
// to refuse the samples, so what cannot be read is left out.
func (f *file) texts(id string, at, length int64) {
	b := make([]byte, min(length, maxText))
	if f.get(b, at) != nil {
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
				f.attribute(field.name, b[field.from:field.to])
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
			name = raw.Text([]byte(key))
		}

		f.attribute(name, b[:n])
		b = b[min(n+n&1, int64(len(b))):]
	}
}
