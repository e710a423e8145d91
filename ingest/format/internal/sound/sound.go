// Package sound holds what the readers of WAV, AIFF, AU and CAF files share:
// chunks, texts, and the number of frames there are where a header claims another.
package sound

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// maxChunks and maxText bound the work on and the memory for hostile files; real
// ones hold a dozen chunks and some hundred bytes of text.
const (
	maxChunks = 10000
	maxText   = 1 << 16
	maxTexts  = 64
)

// Hints for files that were damaged after the recording or hold nothing.
const (
	Damaged   = "is the file damaged? copy it again, or leave it out with exclude"
	NoSamples = "the file holds no samples: record again, or leave it out with exclude"
	Convert   = "convert the file to PCM, e.g. with sox or ffmpeg"
)

// File is a sound file while its header is read, and at last its description.
type File struct {
	Src  ingest.Source
	Info ingest.Info // path and format; Open adds encoding and channels

	Encoding  string
	Kind      raw.Kind
	BigEndian bool
	Channels  int
	RateHz    float64
	RateAt    int64 // byte that states the rate

	HasData bool
	DataAt  int64 // byte of the first sample
	ClaimAt int64 // byte that states how many there are
	Claimed int64 // bytes of data the header claims
	Present int64 // bytes from the first sample to the end of the file
	Pipe    bool  // the claim is the placeholder of a writer that could not seek back
}

// Fail returns the error of a byte of the file.
func (f *File) Fail(at int64, want, found, hint string) error {
	return &fault.Error{Path: f.Src.Path, Place: fmt.Sprintf("byte %d", at), Want: want, Found: found, Hint: hint}
}

// Warn adds a warning.
func (f *File) Warn(code, text string) {
	f.Info.Warnings = append(f.Info.Warnings, ingest.Warning{Path: f.Src.Path, Code: code, Text: text})
}

// Get fills b from a byte of the header on.
func (f *File) Get(b []byte, at int64) error {
	return raw.ReadHeader(f.Src, b, at, fault.Plural(int64(len(b)), "byte")+" of header")
}

// Header reads n bytes from a byte on.
func (f *File) Header(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	return b, f.Get(b, at)
}

// Layout is how chunks follow each other.
type Layout struct {
	Header int64 // bytes of a chunk's header
	Align  int64 // chunks begin at multiples of so many bytes
	// Decode returns a chunk's name and the length of its body.
	Decode func(header []byte) (id string, length int64, err error)
}

// Walk calls chunk for each chunk from a byte on: body is the byte after the
// chunk's header, left the number of bytes from there to the end of the file.
// chunk returns the length to skip. Walk returns where the last chunk ends.
func (f *File) Walk(at int64, l Layout, chunk func(id string, body, length, left int64) (int64, error)) (int64, error) {
	for n := 0; at+l.Header <= f.Src.Size; n++ {
		if n == maxChunks {
			return at, f.Fail(at, "a sound file", fmt.Sprintf("more than %d chunks", maxChunks), Damaged)
		}
		h, err := f.Header(at, int(l.Header))
		if err != nil {
			return at, err
		}
		id, length, err := l.Decode(h)
		if err != nil {
			return at, err
		}
		if length < 0 {
			return at, f.Fail(at, "a chunk's length", strconv.FormatInt(length, 10), Damaged)
		}
		left := f.Src.Size - at - l.Header
		if length, err = chunk(id, at+l.Header, length, left); err != nil {
			return at, err
		}
		if length > left {
			break // the claim reaches past the end: nothing can follow
		}
		at += l.Header + length
		at += (l.Align - at%l.Align) % l.Align
	}
	return at, nil
}

// Text adds an attribute from the text of a chunk. Damage there is no reason to
// refuse the samples, so a text that cannot be read is left out.
func (f *File) Text(name string, at, length int64) {
	b := make([]byte, min(length, maxText, max(0, f.Src.Size-at)))
	if f.Get(b, at) == nil {
		f.Attribute(name, b)
	}
}

// Attribute adds an attribute unless its text is empty.
func (f *File) Attribute(name string, text []byte) {
	if s := Plain(text); s != "" && len(f.Info.Attributes) < maxTexts {
		f.Info.Attributes = append(f.Info.Attributes, ingest.Attribute{Name: name, Value: s})
	}
}

// Plain ends a text at its zero byte and reads bytes that are not UTF-8 as Latin-1.
func Plain(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
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

// Signed sets the encoding of signed integers of that many bits, which lie
// left-justified in whole bytes. It reports whether there are such.
func (f *File) Signed(bits int) bool {
	kinds := []raw.Kind{raw.I8, raw.I16, raw.I24, raw.I32}
	if bits < 1 || bits > 32 {
		return false
	}
	f.Kind, f.Encoding = kinds[(bits-1)/8], fmt.Sprintf("PCM %d-bit", bits)
	return true
}

// Float sets the encoding of floats of 32 or 64 bits.
func (f *File) Float(bits int) bool {
	switch bits {
	case 32:
		f.Kind = raw.F32
	case 64:
		f.Kind = raw.F64
	default:
		return false
	}
	f.Encoding = fmt.Sprintf("IEEE float %d-bit", bits)
	return true
}

// frame is the bytes of a sample of all channels.
func (f *File) frame() int64 { return int64(f.Channels) * int64(f.Kind.Bytes()) }

// Open lays out the samples that the header describes.
func (f *File) Open(o ingest.Options) (ingest.Reader, error) {
	if !(f.RateHz > 0) || math.IsInf(f.RateHz, 0) {
		return nil, f.Fail(f.RateAt, "a sampling rate above 0 Hz", fmt.Sprint(f.RateHz), Damaged)
	}
	rate, err := o.Rate(f.Src.Path, fmt.Sprintf("byte %d", f.RateAt), f.RateHz, 0)
	if err != nil {
		return nil, err
	}
	l := raw.Layout{Offset: f.DataAt, Channels: f.Channels, Kind: f.Kind, BigEndian: f.BigEndian, Scale: 1}
	if f.Kind.Integer() {
		l.Scale = math.Ldexp(1, 1-8*f.Kind.Bytes())
	}
	if f.Kind == raw.U8 {
		l.Bias = 128
	}
	if l.Frames, err = f.frames(o); err != nil {
		return nil, err
	}
	if l.Frames == 0 {
		return nil, f.Fail(f.DataAt, "samples", "an empty data chunk", NoSamples)
	}
	f.Info.Path, f.Info.Encoding = f.Src.Path, f.Encoding
	f.Info.Channels = make([]ingest.Channel, l.Channels)
	for i := range f.Info.Channels {
		f.Info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: l.Frames}
	}
	return raw.New(f.Src, f.Info, l), nil
}

// frames returns the number of whole frames, which, where the header claims
// another number, is an error or a warning depending on the options.
func (f *File) frames(o ingest.Options) (int64, error) {
	frame, present := f.frame(), f.Present
	if !f.Pipe && f.Claimed <= present {
		present = f.Claimed
	}
	frames := present / frame
	var found string
	switch {
	case f.Pipe && f.Claimed == 0:
		found = fmt.Sprintf("the header claims no data, the placeholder of a writer that could not finish the header; "+
			"there are %d whole frames", frames)
	case f.Pipe:
		found = fmt.Sprintf("the header claims %d bytes, the placeholder of a streaming writer; there are %d whole frames",
			f.Claimed, frames)
	case f.Claimed > present:
		found = fmt.Sprintf("the header claims %d frames, there are %d", f.Claimed/frame, frames)
	case present%frame != 0:
		found = fmt.Sprintf("%d bytes of data are %d frames of %d bytes and %d bytes more", present, frames, frame,
			present%frame)
	default:
		return frames, nil
	}
	place := fmt.Sprintf("byte %d", f.ClaimAt)
	switch {
	case frames == 0:
		return 0, &fault.Error{Path: f.Src.Path, Place: place, Found: found, Hint: NoSamples}
	case o.Truncated != "use":
		return 0, &fault.Error{
			Path: f.Src.Path, Place: place, Found: found,
			Hint: "copy the file again, or use its whole frames with truncated: use",
		}
	}
	f.Warn("truncated", found+": these are used")
	return frames, nil
}
