// Package wav reads WAV files with PCM or IEEE float samples, of any size. It also reads files that are cut short, and
// files whose writer stopped before it wrote the length of the data.
//
// A WAV file is a header of 12 bytes ("RIFF", the length of what follows, "WAVE") and a list of chunks. A chunk is a
// name of 4 bytes, the length of its body in 4 bytes, and the body, padded to an even length (Microsoft and IBM,
// "Multimedia Programming Interface and Data Specifications 1.0"). All numbers are little-endian, except in RIFX
// files. RF64 (EBU Tech 3306) and BW64 (ITU-R BS.2088) have a chunk ds64 with a length of 64 bits for the data. Wave64
// has GUIDs instead of names, lengths of 8 bytes that count the 24 bytes of the chunk's header too, and bodies padded
// to 8 bytes.
//
// open reads the header and walks over the chunks; the chunk "fmt " gives the encoding (sampleformat.go), the chunk
// "data" contains the samples (samples.go), and some others contain texts (texts.go). Package raw reads the samples.
// From Wave64 files, package wav reads no texts but the chunk "bext".
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
)

// Format is WAV.
var Format = ingest.Format{
	Name: "wav", Title: "WAV", Endings: []string{".wav", ".bwf", ".rf64", ".w64"},
	Magic: []string{"RIFF", "RF64", "RIFX", "BW64", wave64}, Open: open,
}

const (
	// maxChunks bounds the work on a damaged file: recordings have about a dozen chunks.
	maxChunks = 10000

	noSamples = "the file holds no samples: record again, or leave it out with exclude under ingest"

	// A Wave64 file begins with the GUID wave64. The GUIDs of its kind and of most chunks are the four letters that a
	// RIFF file has there, in lower case, and wave64Tail. Chunks with other GUIDs are skipped; package wav reads none of
	// them.
	wave64     = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
	wave64Tail = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
)

// file is a WAV file while its header is read.
type file struct {
	src      ingest.Source
	info     ingest.Info
	order    binary.ByteOrder
	isWave64 bool
	ds64     *dataSize // nil without a ds64 chunk

	format   *sampleFormat // of the fmt chunk; nil before it
	kind     raw.Kind      // set by checkFormat
	encoding string        // the format for people; set by checkFormat

	// The following fields are set when the data chunk is found.
	hasData       bool
	begin         int64    // offset of the first sample in the file
	stated        dataSize // by the header
	present       int64    // bytes from the first sample to the end of the file
	isPlaceholder bool     // stated is not a length: the writer was stopped, or could not seek back to write it
}

// dataSize is a statement about the length of the data.
type dataSize struct {
	number uint64 // in the file
	at     int64  // offset of the number in the file
	bytes  int64  // what the number states; negative if it cannot be a length
}

// chunk is the header of a chunk.
type chunk struct {
	name     string // "" if it is a GUID without wave64Tail
	number   uint64 // length of the body in bytes, for Wave64 of the header too, as the file states it
	numberAt int64  // offset of number in the file
	body     int64  // offset of the body in the file
	length   int64  // of the body in bytes, by number; negative if number cannot be a length
	left     int64  // bytes from body to the end of the file
}

// warn adds a warning.
func (f *file) warn(code, text string) {
	f.info.Warnings = append(f.info.Warnings, ingest.Warning{Path: f.src.Path, Code: code, Text: text})
}

// get fills b with bytes of the header, from an offset of the file on.
func (f *file) get(b []byte, begin int64) error {
	return raw.ReadHeader(f.src, b, begin, fault.Plural(int64(len(b)), "byte")+" of header")
}

// header returns n bytes of the header, from an offset of the file on.
func (f *file) header(begin, n int64) ([]byte, error) {
	b := make([]byte, n)
	err := f.get(b, begin)

	return b, err
}

// open reads the headers of all chunks and returns a reader of the samples. It does not read the samples.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{src: src, info: ingest.Info{Path: src.Path, Format: "wav"}, order: binary.LittleEndian}
	if err := f.riff(); err != nil {
		return nil, err
	}

	end, isCut, err := f.walk()
	if err != nil {
		return nil, err
	}

	switch {
	case f.format == nil && f.hasData:
		return nil, src.Fault(end, `a "fmt " chunk`, "the end of the file", raw.Damaged)
	case f.format == nil:
		return nil, src.Fault(end, `a "fmt " chunk`, "the end of the file", raw.CutShort)
	case !f.hasData && isCut:
		return nil, src.Fault(end, `a "data" chunk`, "the end of the file", raw.CutShort)
	case !f.hasData:
		return nil, src.Fault(end, `a "data" chunk`, "the end of the file", noSamples)
	}

	if err := f.checkFormat(); err != nil {
		return nil, err
	}

	return f.samples(o)
}

// riff reads the header of the file: 12 bytes, or the 40 bytes of Wave64, which are a GUID, a length of 8 bytes and
// another GUID. riff sets the byte order, and isWave64.
func (f *file) riff() error {
	if f.src.Size < 12 {
		return f.src.Fault(f.src.Size, "a RIFF header of 12 bytes",
			"the end of the file after "+fault.Plural(f.src.Size, "byte"), raw.CutShort)
	}

	head, err := f.header(0, 12)
	if err != nil {
		return err
	}

	kindAt := int64(8)
	kind := string(head[8:])

	switch id := string(head[:4]); id {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		f.order = binary.BigEndian
	case "riff":
		f.isWave64 = true
		kindAt = 24
		kind, err = f.wave64Kind()
	default:
		err = f.src.Fault(0, `"RIFF", "RIFX", "RF64" or Wave64`, strconv.Quote(id), "this is no WAV file")
	}

	if err != nil {
		return err
	}

	if kind != "WAVE" {
		return f.src.Fault(kindAt, `"WAVE"`, strconv.Quote(kind), "a RIFF file, but not of sound")
	}

	return nil
}

// wave64Kind reads the header of a Wave64 file and returns its kind in capital letters, such as "WAVE". It returns ""
// if the GUID of the kind does not end with wave64Tail.
func (f *file) wave64Kind() (string, error) {
	head, err := f.header(0, 40)
	if err != nil {
		return "", err
	}

	if string(head[:16]) != wave64 {
		return "", f.src.Fault(0, "the GUID of Wave64", fmt.Sprintf("GUID %x", head[:16]), "this is no WAV file")
	}

	if string(head[28:]) != wave64Tail {
		return "", nil
	}

	return strings.ToUpper(string(head[24:28])), nil
}

// headerSize returns the length of a chunk's header in bytes.
func (f *file) headerSize() int64 {
	if f.isWave64 {
		return 24
	}

	return 8
}

// padded returns the first offset at or behind end at which a chunk may begin.
func (f *file) padded(end int64) int64 {
	align := int64(2)
	if f.isWave64 {
		align = 8
	}

	return end + (align-end%align)%align
}

// chunkAt reads the header of the chunk that begins at an offset of the file.
func (f *file) chunkAt(begin int64) (chunk, error) {
	size := f.headerSize()
	c := chunk{body: begin + size, left: f.src.Size - begin - size}

	head, err := f.header(begin, size)
	if err != nil {
		return c, err
	}

	if !f.isWave64 {
		c.name = string(head[:4])
		c.numberAt = begin + 4
		c.number = uint64(f.order.Uint32(head[4:]))
		c.length = int64(c.number)

		return c, nil
	}

	if string(head[4:16]) == wave64Tail {
		c.name = string(head[:4])
	}

	c.numberAt = begin + 16
	c.number = f.order.Uint64(head[16:])
	c.length = int64(c.number) - size

	return c, nil
}

// walk reads chunk after chunk and returns the offset at which the last chunk ends. If the body of the last chunk
// reaches beyond the end of the file, walk returns the offset at which this chunk begins, and true. If bytes behind
// the data are no chunk, walk ends there with a warning.
func (f *file) walk() (end int64, isCut bool, err error) {
	begin := int64(12)
	if f.isWave64 {
		begin = 40
	}

	for n := 0; begin+f.headerSize() <= f.src.Size; n++ {
		if n == maxChunks {
			return 0, false, f.src.Fault(begin, "a sound file", fmt.Sprintf("more than %d chunks", maxChunks), raw.Damaged)
		}

		c, err := f.chunkAt(begin)
		if err != nil {
			return 0, false, err
		}

		if f.hasData && !f.isChunk(c) {
			f.warn("extra-data", fmt.Sprintf("%d bytes behind the samples, from byte %d on, are not read: they are no chunk "+
				"(if the recording should be longer, the writer stopped before it wrote the length)", f.src.Size-begin, begin))

			return begin, false, nil
		}

		length, err := f.read(c)
		if err != nil {
			return 0, false, err
		}

		if length > c.left {
			return begin, true, nil
		}

		begin = f.padded(c.body + length)
	}

	return min(begin, f.src.Size), false, nil // a writer may leave out the last byte of padding
}

// read reads a chunk and returns the number of bytes to skip behind its header.
func (f *file) read(c chunk) (int64, error) {
	if c.name == "data" && !f.hasData {
		return f.data(c)
	}

	if c.length < 0 {
		return 0, f.wrongLength(c)
	}

	var err error
	switch {
	case c.name == "ds64" && f.ds64 == nil:
		err = f.readDS64(c)
	case c.name == "fmt " && f.format == nil:
		f.format, err = f.readFormat(c)
	case c.name == "LIST" || c.name == "bext":
		f.texts(c.name, c.body, min(c.length, c.left))
	case c.name == "data":
		f.warn("extra-data", fmt.Sprintf("a second data chunk, whose samples begin at byte %d, is not read", c.body))
	}

	return c.length, err
}

// wrongLength returns an error about a chunk whose length cannot be true. Only Wave64 has such lengths: they count the
// header.
func (f *file) wrongLength(c chunk) error {
	want := fmt.Sprintf("a length of a chunk, which is at least %d bytes", f.headerSize())
	return f.src.Fault(c.numberAt, want, strconv.FormatUint(c.number, 10), raw.Damaged)
}

// readDS64 reads a ds64 chunk (EBU Tech 3306). The body has the size of the file in bytes 0 to 7, the size of the data
// in bytes 8 to 15, and the number of samples in bytes 16 to 23.
func (f *file) readDS64(c chunk) error {
	if c.length < 24 || c.left < 24 {
		return f.src.Fault(c.body, "a ds64 chunk of at least 24 bytes", fault.Plural(min(c.length, c.left), "byte"), "")
	}

	b, err := f.header(c.body, 16)
	if err != nil {
		return err
	}

	size := f.order.Uint64(b[8:])
	if size > math.MaxInt64 && size != math.MaxUint64 { // the latter is a placeholder
		return f.src.Fault(c.body+8, "a data size", strconv.FormatUint(size, 10)+" bytes", raw.Damaged)
	}

	f.ds64 = &dataSize{number: size, at: c.body + 8, bytes: int64(size)}

	return nil
}

// data notes where the data begin and how many bytes the header states. It returns the number of bytes to skip.
func (f *file) data(c chunk) (int64, error) {
	f.hasData = true
	f.begin = c.body
	f.present = c.left
	f.stated = dataSize{number: c.number, at: c.numberAt, bytes: c.length}

	if !f.isWave64 && c.number == math.MaxUint32 && f.ds64 != nil { // the length is in the ds64 chunk
		f.stated = *f.ds64
	}

	f.isPlaceholder = f.isUsualPlaceholder() && !f.isWhole(c.body, f.stated.bytes)

	switch {
	case f.isPlaceholder:
		return c.left, nil
	case c.length < 0:
		return 0, f.wrongLength(c)
	}

	return f.stated.bytes, nil
}

// isUsualPlaceholder reports whether programs write the stated length of the data while they do not know the length. If
// a program is then stopped, or writes to a pipe and cannot seek back, this length stays in the file.
func (f *file) isUsualPlaceholder() bool {
	n := f.stated.number

	isLargest := n == math.MaxInt64 || n == math.MaxUint64 // ffmpeg, in fields of 64 bits
	isEmpty := n == 0 || f.isWave64 && n == 24             // libsndfile, which counts the header
	isNear4GiB := n >= 0xFFFF0000 && n <= math.MaxUint32   // ffmpeg, in fields of 32 bits
	isNear2GiB := n >= 0x7FFF0000 && n <= 0x80000000       // sox 0x7FFFF000, arecord 0x7FFFFF00

	return isLargest || isEmpty || isNear4GiB || isNear2GiB
}

// isWhole reports whether a chunk with this body and length ends at the end of the file, or before another chunk.
func (f *file) isWhole(body, length int64) bool {
	if length < 0 || length > f.src.Size-body {
		return false
	}

	next := f.padded(body + length)
	if next >= f.src.Size {
		return true
	}

	c, err := f.chunkAt(next)

	return err == nil && f.isChunk(c) && c.length <= c.left
}

// isChunk reports whether c looks like the header of a chunk. In RIFF files, its name has four printable letters. The
// GUIDs of Wave64 may be any bytes, so for Wave64 isChunk only checks that the length is possible.
func (f *file) isChunk(c chunk) bool {
	if f.isWave64 {
		return c.length >= 0
	}

	for _, letter := range []byte(c.name) {
		if letter < ' ' || letter > '~' {
			return false
		}
	}

	return true
}
