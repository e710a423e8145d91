// Package flac reads FLAC files: samples of 4 to 24 bits, up to eight channels. It
// compares the checksums of each frame.
package flac

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Format is FLAC.
var Format = ingest.Format{Name: "flac", Title: "FLAC", Endings: []string{".flac"}, Magic: []string{"fLaC"}, Open: open}

// reader decodes frame after frame. Where it is asked to go back it begins at a
// frame it has passed.
type reader struct {
	src     ingest.Source
	info    ingest.Info
	samples int64

	frames frames
	at     int64  // first sample of the frame decoded last
	marks  []mark // of every frame passed
}

// mark is where a frame begins.
type mark struct{ sample, byte int64 }

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	h, first, err := streamInfo(src)
	if err != nil {
		return nil, err
	}
	r := &reader{src: src, samples: h.samples, marks: []mark{{0, first}}}
	r.frames = frames{src: src, channels: h.channels, bits: h.bits}
	r.frames.goTo(first)
	if h.bits < 4 || h.bits > 24 {
		return nil, &fault.Error{
			Place: "stream info", Want: "4 to 24 bits per sample", Found: strconv.Itoa(h.bits), Hint: "decode it to WAV",
		}
	}
	rate, err := o.Rate(src.Path, "stream info", float64(h.rate), 0)
	if err != nil {
		return nil, err
	}
	r.info = ingest.Info{Path: src.Path, Format: "flac", Encoding: fmt.Sprintf("FLAC %d-bit", h.bits)}
	if r.samples == 0 || o.Truncated == "use" { // a writer into a pipe states no number
		if err := r.count(o); err != nil {
			return nil, err
		}
	}
	r.info.Channels = make([]ingest.Channel, h.channels)
	for i := range r.info.Channels {
		r.info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: r.samples}
	}
	return r, nil
}

// info is what the first block of a file's header states.
type info struct {
	rate, channels, bits int
	samples              int64 // 0: not stated
}

// streamInfo reads the header. It returns the byte of the first frame.
func streamInfo(src ingest.Source) (h info, first int64, err error) {
	fail := func(found string, err error) (info, int64, error) {
		return h, 0, &fault.Error{
			Place: "header", Want: "a FLAC file", Found: found, Hint: "copy it again, or leave it out with exclude", Err: err,
		}
	}
	b := make([]byte, 42)
	if n, err := src.ReadAt(b, 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			return fail("the end of the file", nil)
		}
		return fail("", err)
	}
	if string(b[:4]) != "fLaC" || b[4]&0x7F != 0 || b[5] != 0 || b[6] != 0 || b[7] != 34 {
		return fail("other bytes", nil)
	}
	v := binary.BigEndian.Uint64(b[18:])
	h = info{int(v >> 44), int(v>>41&7) + 1, int(v>>36&31) + 1, int64(v & (1<<36 - 1))}
	first = int64(len(b))
	for n, last := 0, b[4]&0x80 != 0; !last; n++ {
		c := b[:4]
		if k, err := src.ReadAt(c, first); k < len(c) && !errors.Is(err, io.EOF) {
			return fail("", err)
		} else if k < len(c) || n == 1<<14 {
			return fail("no frame after the header", nil)
		}
		last = c[0]&0x80 != 0
		first += 4 + int64(c[1])<<16 + int64(c[2])<<8 + int64(c[3])
	}
	return h, first, nil
}

// count decodes the file to find how many samples there are; fewer than the
// header states are a warning.
func (r *reader) count(o ingest.Options) error {
	stated := r.samples
	r.samples = 0
	var err error
	for err == nil && (stated == 0 || r.samples < stated) {
		if err = r.next(); err == nil {
			r.samples = r.at + int64(r.frames.n)
		}
	}
	if stated > 0 {
		r.samples = min(r.samples, stated)
	}
	switch {
	case r.samples == 0:
		return &fault.Error{
			Want: "samples", Found: "no whole frame", Hint: "record again, or leave it out with exclude", Err: notEOF(err),
		}
	case stated == 0 && o.Truncated != "use" && !errors.Is(err, io.EOF):
		return r.fail(err)
	case r.samples < stated || !errors.Is(err, io.EOF) && err != nil:
		r.info.Warnings = append(r.info.Warnings, ingest.Warning{Path: r.src.Path, Code: "truncated", Text: fmt.Sprintf(
			"the header claims %d samples, there are %d in whole frames: these are used", stated, r.samples)})
	}
	return nil
}

// next decodes the next frame; after the last the error is io.EOF.
func (r *reader) next() error {
	r.at += int64(r.frames.n)
	if r.at > r.marks[len(r.marks)-1].sample {
		r.marks = append(r.marks, mark{r.at, r.frames.at()})
	}
	return r.frames.next()
}

// find goes to the last frame passed that begins at a sample or before it, unless
// frames are to be decoded from here on in any case.
func (r *reader) find(sample int64) {
	i, ok := slices.BinarySearchFunc(r.marks, sample, func(m mark, s int64) int { return cmp.Compare(m.sample, s) })
	if !ok {
		i--
	}
	if m := r.marks[i]; sample < r.at || m.sample > r.at {
		r.frames.goTo(m.byte)
		r.at = m.sample
	}
}

// fail is the error of a frame that cannot be decoded.
func (r *reader) fail(err error) error {
	e := &fault.Error{
		Path: r.src.Path, Place: fmt.Sprintf("sample %d", r.at),
		Hint: "the file is cut short or damaged: copy it again, or leave it out with exclude",
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Want, e.Found = "a whole frame", "the end of the file"
	} else {
		e.Err = err
	}
	return e
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Info implements ingest.Reader.
func (r *reader) Info() ingest.Info { return r.info }

// Close implements ingest.Reader.
func (r *reader) Close() error { return r.src.Close() }

// Quantum implements ingest.Quantized.
func (r *reader) Quantum() (step, low, high float64) {
	step = math.Ldexp(1, 1-r.frames.bits)
	return step, -1, 1 - step
}

// Read implements ingest.Reader.
func (r *reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	n := int(min(int64(want), max(0, r.samples-start)))
	scale := math.Ldexp(1, 1-r.frames.bits)
	for done := 0; done < n; {
		pos := start + int64(done)
		if pos < r.at || pos >= r.at+int64(r.frames.n) {
			r.find(pos)
		}
		for pos >= r.at+int64(r.frames.n) {
			if err := r.next(); err != nil {
				return 0, r.fail(err)
			}
		}
		from := int(pos - r.at)
		m := min(n-done, r.frames.n-from)
		for i, c := range channels {
			to := dst[i][done : done+m]
			for k, v := range r.frames.samples(c)[from : from+m] {
				to[k] = float64(v) * scale
			}
		}
		done += m
	}
	if n < want {
		return n, io.EOF
	}
	return n, nil
}
