// Package wav reads WAV files with PCM or IEEE float samples, of any size, also if they are cut short or were left open
// by a writer that crashed.
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

	// A Wave64 file begins with the GUID wave64. Its chunks are named by GUIDs too: by the four letters of the RIFF
	// chunk in lower case, followed by wave64Tail.
	wave64     = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"
	wave64Tail = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
)

// file is a WAV file while its header is read.
type file struct {
	src      ingest.Source
	info     ingest.Info
	order    binary.ByteOrder
	isWave64 bool
	ds64     int64 // bytes of data by the ds64 chunk, −1 without one

	format   *sampleFormat // of the fmt chunk; nil before it
	kind     raw.Kind      // set by checkFormat
	encoding string        // the format for people; set by checkFormat

	// The following fields are set when the data chunk is found.
	hasData       bool
	begin         int64 // offset of the first sample in the file
	statedAt      int64 // offset of the field that states the number of bytes
	stated        int64 // bytes of data by the header
	present       int64 // bytes from the first sample to the end of the file
	isPlaceholder bool  // stated is not a length: the writer could not seek back to write it
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
	f := &file{src: src, info: ingest.Info{Path: src.Path, Format: "wav"}, order: binary.LittleEndian, ds64: -1}

	head, err := f.riff()
	if err != nil {
		return nil, err
	}

	end, isCut, err := f.walk()
	if err != nil {
		return nil, err
	}

	isUnfinished := f.order.Uint32(head[4:]) == 0 // the writer never stated the length of the file
	formatHint := ""
	dataHint := noSamples
	if isUnfinished || isCut {
		formatHint = raw.CutShort
	}

	if isCut {
		dataHint = raw.CutShort
	}

	switch {
	case f.format == nil:
		return nil, src.Fault(end, `a "fmt " chunk`, "the end of the file", formatHint)
	case !f.hasData:
		return nil, src.Fault(end, `a "data" chunk`, "the end of the file", dataHint)
	}

	if err := f.checkFormat(); err != nil {
		return nil, err
	}

	return f.samples(o)
}

// riff reads the header of the file and returns it: 12 bytes, or the 40 bytes of Wave64, which are a GUID, a length of
// 8 bytes and another GUID. riff sets the byte order, and isWave64.
func (f *file) riff() ([]byte, error) {
	if f.src.Size < 12 {
		return nil, f.src.Fault(f.src.Size, "a RIFF header of 12 bytes",
			"the end of the file after "+fault.Plural(f.src.Size, "byte"), raw.CutShort)
	}

	head, err := f.header(0, 12)
	if err != nil {
		return nil, err
	}

	switch id := string(head[:4]); id {
	case "RIFF", "RF64", "BW64":
	case "RIFX":
		f.order = binary.BigEndian
	case "riff":
		f.isWave64 = true
	default:
		return nil, f.src.Fault(0, `"RIFF", "RIFX", "RF64" or Wave64`, strconv.Quote(id), "this is no WAV file")
	}

	kind := string(head[8:])
	kindAt := int64(8)
	if f.isWave64 {
		head, err = f.header(0, 40)
		if err != nil {
			return nil, err
		}

		kind = ""
		kindAt = 24
		if string(head[:16]) == wave64 && string(head[28:]) == wave64Tail {
			kind = strings.ToUpper(string(head[24:28]))
		}
	}

	if kind != "WAVE" {
		return nil, f.src.Fault(kindAt, `"WAVE"`, strconv.Quote(kind), "a RIFF file, but not of sound")
	}

	return head, nil
}

// walk reads chunk after chunk and returns the offset at which the last chunk ends. If the body of the last chunk
// reaches beyond the end of the file, walk returns the offset at which this chunk begins, and true.
func (f *file) walk() (end int64, isCut bool, err error) {
	begin := int64(12) // offset of the next chunk
	headerSize := int64(8)
	align := int64(2) // offsets of chunks are multiples of it
	if f.isWave64 {
		begin = 40
		headerSize = 24
		align = 8
	}

	for n := 0; begin+headerSize <= f.src.Size; n++ {
		if n == maxChunks {
			return 0, false, f.src.Fault(begin, "a sound file", fmt.Sprintf("more than %d chunks", maxChunks), raw.Damaged)
		}

		head, err := f.header(begin, headerSize)
		if err != nil {
			return 0, false, err
		}

		id := string(head[:4])
		length := int64(f.order.Uint32(head[4:]))
		if f.isWave64 {
			length = int64(f.order.Uint64(head[16:])) - headerSize // the stated length counts the header
			if string(head[4:16]) != wave64Tail {
				id = ""
			}
		}

		if length < 0 {
			return 0, false, f.src.Fault(begin, "a chunk's length", strconv.FormatInt(length, 10), raw.Damaged)
		}

		left := f.src.Size - begin - headerSize

		length, err = f.chunk(id, begin+headerSize, length, left)
		if err != nil {
			return 0, false, err
		}

		if length > left {
			return begin, true, nil
		}

		begin += headerSize + length
		begin += (align - begin%align) % align
	}

	return min(begin, f.src.Size), false, nil // a writer may leave out the last byte of padding
}

// chunk reads a chunk whose body begins at offset body. length is the stated length of the body, and left the number of
// bytes from body to the end of the file. chunk returns the length to skip, which differs from the stated one for data.
func (f *file) chunk(id string, body, length, left int64) (int64, error) {
	var err error
	switch {
	case id == "ds64" && f.ds64 < 0:
		f.ds64, err = f.readDS64(body, length, left)
		return length, err
	case id == "fmt " && f.format == nil:
		f.format, err = f.readFormat(body, length, left)
		return length, err
	case id == "data" && !f.hasData:
		return f.data(body, length, left), nil
	case id == "LIST" || id == "bext":
		f.texts(id, body, min(length, left))
	case id == "data":
		f.warn("extra-data", fmt.Sprintf("a second data chunk, whose samples begin at byte %d, is not read", body))
	}

	return length, nil
}

// readDS64 reads a ds64 chunk (EBU Tech 3306) and returns the size of the data in bytes. The body has the size of the
// file in bytes 0 to 7, the size of the data in bytes 8 to 15, and the number of samples in bytes 16 to 23.
func (f *file) readDS64(body, length, left int64) (int64, error) {
	if length < 24 || left < 24 {
		return 0, f.src.Fault(body, "a ds64 chunk of at least 24 bytes", fault.Plural(min(length, left), "byte"), "")
	}

	b, err := f.header(body, 16)
	if err != nil {
		return 0, err
	}

	size := f.order.Uint64(b[8:])
	if size > math.MaxInt64 {
		return 0, f.src.Fault(body+8, "a data size", strconv.FormatUint(size, 10)+" bytes", raw.Damaged)
	}

	return int64(size), nil
}

// leastPlaceholder is the least length that sox and arecord write if they cannot seek back: about 2 GiB.
const leastPlaceholder = 0x7FF00000

// data notes where the data begin and how many bytes the header states. It returns the length to skip. Method chunk
// explains the arguments.
func (f *file) data(body, length, left int64) int64 {
	f.hasData = true
	f.begin = body
	f.statedAt = body - 4
	f.stated = length
	f.present = left
	if f.isWave64 {
		f.statedAt = body - 8
		return length
	}

	switch {
	case length == math.MaxUint32 && f.ds64 >= 0: // the length is in the ds64 chunk
		f.stated = f.ds64
	case length == math.MaxUint32:
		f.isPlaceholder = true
	case length == 0 && left > 0 && !f.looksLikeChunk(body):
		f.isPlaceholder = true
	case length >= leastPlaceholder && length > left:
		f.isPlaceholder = true
	}

	if f.isPlaceholder {
		return left
	}

	return f.stated
}

// looksLikeChunk reports whether a chunk begins at an offset: four printable letters, and a length that fits into the
// file. data uses it for a data chunk of length 0: if another chunk follows, the data chunk is really empty.
func (f *file) looksLikeChunk(begin int64) bool {
	if f.src.Size-begin < 8 {
		return false
	}

	var head [8]byte
	if f.get(head[:], begin) != nil {
		return false
	}

	for _, c := range head[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}

	return begin+8+int64(f.order.Uint32(head[4:])) <= f.src.Size
}
