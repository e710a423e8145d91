// Package caf reads CAF files (Apple's Core Audio Format) with integer or IEEE
// float samples, high or low byte first.
package caf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/sound"
)

// Format is CAF.
var Format = ingest.Format{
	Name: "caf", Title: "CAF", Endings: []string{".caf"}, Magic: []string{"caff\x00"}, Open: open,
}

// encodings names those that are not read.
var encodings = map[string]string{
	"alac": "Apple Lossless", "aac ": "AAC", "ima4": "IMA ADPCM", "ulaw": "µ-law", "alaw": "A-law", ".mp3": "MP3",
	"opus": "Opus", "flac": "FLAC",
}

// maxInfo bounds the texts of an info chunk that are looked at.
const maxInfo = 1 << 16

type file struct {
	sound.File
	described bool
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{File: sound.File{Src: src, Info: ingest.Info{Format: "caf"}}}
	h, err := f.Header(0, 8)
	if err != nil {
		return nil, err
	}
	if string(h[:4]) != "caff" || binary.BigEndian.Uint16(h[4:]) != 1 {
		return nil, f.Fail(0, `"caff" of version 1`, strconv.Quote(string(h[:6])), "this is no CAF file")
	}
	end, err := f.Walk(8, sound.Layout{Header: 12, Align: 1, Decode: func(h []byte) (string, int64, error) {
		n := int64(binary.BigEndian.Uint64(h[4:]))
		if n == -1 && string(h[:4]) == "data" {
			n = math.MaxInt64 // to the end of the file
		}
		return string(h[:4]), n, nil
	}}, f.chunk)
	switch {
	case err != nil:
		return nil, err
	case !f.described:
		return nil, f.Fail(min(end, src.Size), `a "desc" chunk`, "the end of the file", raw.CutShort)
	case !f.HasData:
		return nil, f.Fail(min(end, src.Size), `a "data" chunk`, "the end of the file", sound.NoSamples)
	}
	return f.Open(o)
}

func (f *file) chunk(id string, body, length, left int64) (int64, error) {
	switch {
	case id == "desc" && !f.described:
		if length < 32 {
			return 0, f.Fail(body-8, "a desc chunk of 32 bytes", fault.Plural(length, "byte"), sound.Damaged)
		}
		f.described = true
		return length, f.describe(body)
	case id == "data" && !f.HasData:
		if length < 4 || left < 4 {
			return 0, f.Fail(body-8, "a data chunk of at least 4 bytes", fault.Plural(min(length, left), "byte"), raw.CutShort)
		}
		f.HasData, f.ClaimAt, f.DataAt, f.Claimed, f.Present = true, body-8, body+4, length-4, left-4
		if length == math.MaxInt64 {
			f.Claimed = f.Present
			return left, nil
		}
	case id == "info":
		f.texts(body, min(length, left, maxInfo))
	}
	return length, nil
}

// texts reads an info chunk: a count, then names and values that end with zeros.
func (f *file) texts(at, length int64) {
	b, err := f.Header(at, int(length))
	if err != nil || len(b) < 4 {
		return
	}
	var name []byte
	for b = b[4:]; len(b) > 0; {
		i := slices.Index(b, 0)
		if i < 0 {
			return
		}
		if name == nil {
			name = b[:i:i]
		} else {
			f.Attribute(sound.Plain(name), b[:i])
			name = nil
		}
		b = b[i+1:]
	}
}

// describe reads the desc chunk.
func (f *file) describe(at int64) error {
	b, err := f.Header(at, 32)
	if err != nil {
		return err
	}
	be := binary.BigEndian
	f.RateHz, f.RateAt = math.Float64frombits(be.Uint64(b)), at
	id, flags := string(b[8:12]), be.Uint32(b[12:])
	packet, frames, channels, bits := be.Uint32(b[16:]), be.Uint32(b[20:]), be.Uint32(b[24:]), int(be.Uint32(b[28:]))
	if id != "lpcm" {
		name := encodings[id]
		if name == "" {
			name = "unknown"
		}
		return f.Fail(at+8, "PCM or IEEE float samples", fmt.Sprintf("format %q (%s)", id, name), sound.Convert)
	}
	if channels == 0 || channels > math.MaxUint16 {
		return f.Fail(at+24, "1 to 65535 channels", fmt.Sprint(channels), sound.Damaged)
	}
	f.Channels, f.BigEndian = int(channels), flags&2 == 0
	if flags&1 != 0 && !f.Float(bits) {
		return f.Fail(at+28, "32 or 64 bits per float sample", strconv.Itoa(bits), "")
	}
	if flags&1 == 0 && !f.Signed(bits) {
		return f.Fail(at+28, "1 to 32 bits per sample", strconv.Itoa(bits), "")
	}
	if want := uint32(f.Channels * f.Kind.Bytes()); packet != want || frames != 1 {
		return f.Fail(at+16, fmt.Sprintf("packets of %d bytes and 1 frame (%s of %d bits)", want,
			fault.Plural(int64(f.Channels), "channel"), bits), fmt.Sprintf("%d bytes and %d frames", packet, frames),
			sound.Convert)
	}
	return nil
}
