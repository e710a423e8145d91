package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	wavPCM        = 0x0001
	wavFloat      = 0x0003
	wavExtensible = 0xFFFE

	// maxChunks and maxText bound the work on and the memory for hostile files;
	// real ones hold a dozen chunks and some hundred bytes of text.
	maxChunks = 10000
	maxText   = 1 << 16
)

// What to do about a file that cannot be what was recorded.
const (
	cutShort  = "the file is cut short: copy it again, or leave it out with exclude"
	damaged   = "is the file damaged? copy it again, or leave it out with exclude"
	noSamples = "the file holds no samples: record again, or leave it out with exclude"
)

// wavTags names format tags people meet; the registered list is longer.
var wavTags = map[uint16]string{
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

// wavFormat is what a fmt chunk says.
type wavFormat struct {
	at       int64 // byte of the chunk's body
	tag      uint16
	channels int
	rate     uint32
	align    int
	bits     int
	valid    int
}

// readHeader fills b from a byte on; want is what a person expects there.
func readHeader(path string, src io.ReaderAt, b []byte, at int64, want string) error {
	n, err := src.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return &DataError{Path: path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read header: %w", err)}
	}
	return &DataError{Path: path, Place: fmt.Sprintf("byte %d", at+int64(n)), Want: want, Found: "the end of the file", Hint: cutShort}
}

// openWAV reads the chunks of a RIFF, RIFX or RF64 file up to its end (data
// are skipped, not read) and returns a reader of its samples.
func openWAV(path string, src io.ReaderAt, size int64, o Options) (*rawReader, error) {
	fail := func(at int64, want, found, hint string) error {
		return &DataError{Path: path, Place: fmt.Sprintf("byte %d", at), Want: want, Found: found, Hint: hint}
	}
	get := func(b []byte, at int64) error {
		return readHeader(path, src, b, at, plural(int64(len(b)), "byte")+" of header")
	}
	if size < 12 {
		return nil, fail(size, "a RIFF header of 12 bytes", fmt.Sprintf("the end of the file after %s", plural(size, "byte")), cutShort)
	}
	var h [12]byte
	if err := get(h[:], 0); err != nil {
		return nil, err
	}
	big := false
	switch string(h[:4]) {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		big = true
	default:
		return nil, fail(0, `"RIFF", "RIFX" or "RF64"`, strconv.Quote(string(h[:4])), "this is no WAV file")
	}
	var bo binary.ByteOrder = binary.LittleEndian
	if big {
		bo = binary.BigEndian
	}
	if string(h[8:]) != "WAVE" {
		return nil, fail(8, `"WAVE"`, strconv.Quote(string(h[8:])), "a RIFF file, but not of sound")
	}
	riffSize := bo.Uint32(h[4:])

	r := &rawReader{src: src, big: big}
	r.info = Info{Path: path, Format: "wav"}
	var (
		wf       *wavFormat
		haveData bool
		dataAt   int64
		claimed  int64 // bytes of data the header claims
		open     bool  // the claim is a streaming writer's placeholder
		present  int64 // bytes of data there are
		ds64     int64 = -1
	)
	at := int64(12)
	for n := 0; at+8 <= size; n++ {
		if n == maxChunks {
			return nil, fail(at, "a WAV file", fmt.Sprintf("more than %d chunks", maxChunks), damaged)
		}
		var ch [8]byte
		if err := get(ch[:], at); err != nil {
			return nil, err
		}
		id, length := string(ch[:4]), int64(bo.Uint32(ch[4:]))
		body := at + 8
		left := size - body
		switch {
		case id == "ds64" && ds64 < 0:
			var d [16]byte
			if length < 24 || left < 24 {
				return nil, fail(body, "a ds64 chunk of at least 24 bytes", plural(min(length, left), "byte"), "")
			}
			if err := get(d[:], body); err != nil {
				return nil, err
			}
			v := bo.Uint64(d[8:])
			if v > math.MaxInt64 {
				return nil, fail(body+8, "a data size", strconv.FormatUint(v, 10)+" bytes", damaged)
			}
			ds64 = int64(v)
		case id == "fmt " && wf == nil:
			f, err := readFmt(path, get, bo, body, length, left)
			if err != nil {
				return nil, err
			}
			wf = f
		case id == "data" && !haveData:
			haveData, dataAt, claimed, present = true, body, length, left
			switch {
			case length == math.MaxUint32 && ds64 >= 0:
				claimed = ds64
			case length == math.MaxUint32:
				open = true
			case length == 0 && left > 0 && !looksLikeChunk(get, bo, body, size):
				open = true
			case length >= 0x7FF00000 && length > left:
				// sox and arecord claim about 2 GiB when they cannot seek back.
				open = true
			}
			length = claimed
			if open {
				length = left
			}
		case id == "LIST" || id == "bext":
			r.info.Attributes = append(r.info.Attributes, wavTexts(get, bo, id, body, min(length, left))...)
		case id == "data":
			r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "extra-data", Text: fmt.Sprintf("a second data chunk at byte %d is not read", at)})
		}
		if length > left {
			break // the claim reaches past the end: nothing can follow
		}
		at = body + length + length&1 // chunks begin at even bytes
	}
	if wf == nil {
		hint := ""
		if riffSize == 0 || at > size {
			hint = cutShort
		}
		return nil, fail(min(at, size), `a "fmt " chunk`, "the end of the file", hint)
	}
	if !haveData {
		return nil, fail(min(at, size), `a "data" chunk`, "the end of the file", noSamples)
	}
	kind, enc, err := wf.kind(path)
	if err != nil {
		return nil, err
	}
	rate, err := checkRate(path, fmt.Sprintf("byte %d", wf.at+4), float64(wf.rate), o.RateHz, 0)
	if err != nil {
		return nil, err
	}
	r.off, r.chans, r.kind = dataAt, wf.channels, kind
	r.scale = 1
	if kind.integer() {
		r.scale = math.Ldexp(1, 1-8*kind.bytes())
	}
	if kind == kindU8 {
		r.bias = 128
	}

	frame := int64(wf.align)
	if !open && claimed <= present {
		present = claimed
	}
	r.frames = present / frame
	if open || claimed > present || present%frame != 0 {
		var what string
		switch {
		case open && claimed == 0:
			what = fmt.Sprintf("the header claims no data, the placeholder of a writer that could not finish the header; there are %d whole frames", r.frames)
		case open:
			what = fmt.Sprintf("the header claims %d bytes, the placeholder of a streaming writer; there are %d whole frames", claimed, r.frames)
		case claimed > present:
			what = fmt.Sprintf("the header claims %d frames, there are %d", claimed/frame, r.frames)
		default:
			what = fmt.Sprintf("%d bytes of data are %d frames of %d bytes and %d bytes more", present, r.frames, frame, present%frame)
		}
		if o.Truncated != "use" || r.frames == 0 {
			hint := "copy the file again, or use its whole frames with truncated: use"
			if r.frames == 0 {
				hint = noSamples
			}
			return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", dataAt-4), Found: what, Hint: hint}
		}
		r.info.Warnings = append(r.info.Warnings, Warning{Path: path, Code: "truncated", Text: what + ": these are used"})
	}
	if r.frames == 0 {
		return nil, fail(dataAt, "samples", "an empty data chunk", noSamples)
	}

	r.info.Encoding = enc
	r.info.Channels = make([]Channel, wf.channels)
	for i := range r.info.Channels {
		r.info.Channels[i] = Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: r.frames}
	}
	return r, nil
}

// looksLikeChunk reports whether at `at` a chunk begins that fits the file: an
// empty data chunk followed by others is then really empty.
func looksLikeChunk(get func([]byte, int64) error, bo binary.ByteOrder, at, size int64) bool {
	if size-at < 8 {
		return false
	}
	var h [8]byte
	if get(h[:], at) != nil {
		return false
	}
	for _, c := range h[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return at+8+int64(bo.Uint32(h[4:])) <= size
}

func readFmt(path string, get func([]byte, int64) error, bo binary.ByteOrder, body, length, left int64) (*wavFormat, error) {
	if length < 16 {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", body-4), Want: "a fmt chunk of at least 16 bytes", Found: plural(length, "byte")}
	}
	if left < 16 {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", body), Want: "16 bytes of format", Found: "the end of the file", Hint: cutShort}
	}
	var b [40]byte
	n := min(length, left, 40)
	if err := get(b[:n], body); err != nil {
		return nil, err
	}
	f := &wavFormat{
		at: body, tag: bo.Uint16(b[0:]), channels: int(bo.Uint16(b[2:])), rate: bo.Uint32(b[4:]),
		align: int(bo.Uint16(b[12:])), bits: int(bo.Uint16(b[14:])),
	}
	if f.tag == wavExtensible {
		if n < 40 {
			return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", body), Want: "an extensible format of 40 bytes", Found: plural(n, "byte")}
		}
		f.valid = int(bo.Uint16(b[18:]))
		// The sub-format is a GUID: four bytes whose lower half is the tag, two
		// zero, two 0x0010, in the file's byte order, then eight as they are.
		// sox, in RIFX, turns only the tag and leaves the rest little-endian.
		const tail = "\x80\x00\x00\xaa\x00\x38\x9b\x71"
		g := b[24:40]
		switch {
		case string(g[2:8]) == "\x00\x00\x00\x00\x10\x00" && string(g[8:]) == tail:
			f.tag = bo.Uint16(g)
		case bo.Uint32(g) <= math.MaxUint16 && bo.Uint16(g[4:]) == 0 && bo.Uint16(g[6:]) == 0x0010 && string(g[8:]) == tail:
			f.tag = uint16(bo.Uint32(g))
		default:
			return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", body+24), Want: "the sub-format PCM or IEEE float", Found: fmt.Sprintf("GUID %x", g)}
		}
	}
	return f, nil
}

// kind checks the format and names the encoding.
func (f *wavFormat) kind(path string) (sampleKind, string, error) {
	fail := func(off int64, want, found, hint string) (sampleKind, string, error) {
		return 0, "", &DataError{Path: path, Place: fmt.Sprintf("byte %d", f.at+off), Want: want, Found: found, Hint: hint}
	}
	if f.tag != wavPCM && f.tag != wavFloat {
		name, ok := wavTags[f.tag]
		if !ok {
			name = "unknown"
		}
		return fail(0, "PCM or IEEE float samples", fmt.Sprintf("format 0x%04X (%s)", f.tag, name), "convert the file to PCM, e.g. with sox or ffmpeg")
	}
	if f.channels == 0 {
		return fail(2, "at least one channel", "0", damaged)
	}
	if f.rate == 0 {
		return fail(4, "a sampling rate above 0 Hz", "0", damaged)
	}
	var kind sampleKind
	if f.tag == wavFloat {
		switch f.bits {
		case 32:
			kind = kindF32
		case 64:
			kind = kindF64
		default:
			return fail(14, "32 or 64 bits per float sample", strconv.Itoa(f.bits), "")
		}
	} else {
		// PCM of other widths lies left-justified in whole bytes.
		switch (f.bits + 7) / 8 {
		case 1:
			kind = kindU8
		case 2:
			kind = kindI16
		case 3:
			kind = kindI24
		case 4:
			kind = kindI32
		default:
			return fail(14, "1 to 32 bits per PCM sample", strconv.Itoa(f.bits), "")
		}
	}
	if want := f.channels * kind.bytes(); f.align != want {
		return fail(12, fmt.Sprintf("%d bytes per frame (%s of %d bits)", want, plural(int64(f.channels), "channel"), f.bits), strconv.Itoa(f.align), damaged)
	}
	if f.tag == wavFloat {
		return kind, fmt.Sprintf("IEEE float %d-bit", f.bits), nil
	}
	enc := fmt.Sprintf("PCM %d-bit", f.bits)
	if f.valid > 0 && f.valid < f.bits {
		enc += fmt.Sprintf(" (%d valid)", f.valid)
	}
	return kind, enc, nil
}

// wavTexts returns the texts of a LIST/INFO or bext chunk; damage in there is
// no reason to refuse the samples, so what cannot be read is left out.
func wavTexts(get func([]byte, int64) error, bo binary.ByteOrder, id string, at, length int64) []Attribute {
	b := make([]byte, min(length, maxText))
	if get(b, at) != nil {
		return nil
	}
	var as []Attribute
	add := func(name string, text []byte) {
		if s := wavText(text); s != "" && len(as) < 64 {
			as = append(as, Attribute{Name: name, Value: s})
		}
	}
	if id == "bext" {
		for _, f := range []struct {
			name     string
			from, to int
		}{{"description", 0, 256}, {"originator", 256, 288}, {"originator reference", 288, 320}, {"date", 320, 330}, {"time", 330, 338}} {
			if len(b) >= f.to {
				add(f.name, b[f.from:f.to])
			}
		}
		return as
	}
	if len(b) < 4 || string(b[:4]) != "INFO" {
		return nil
	}
	for b = b[4:]; len(b) >= 8; {
		key, n := string(b[:4]), int64(bo.Uint32(b[4:]))
		b = b[8:]
		n = min(n, int64(len(b)))
		name, ok := infoNames[key]
		if !ok {
			name = wavText([]byte(key))
		}
		add(name, b[:n])
		b = b[min(n+n&1, int64(len(b))):]
	}
	return as
}

// wavText ends a text at its zero byte and takes what is not UTF-8 as Latin-1.
func wavText(b []byte) string {
	if i := strings.IndexByte(string(b), 0); i >= 0 {
		b = b[:i]
	}
	s := string(b)
	if !utf8.ValidString(s) {
		rs := make([]rune, len(b))
		for i, c := range b {
			rs[i] = rune(c)
		}
		s = string(rs)
	}
	return strings.TrimSpace(s)
}
