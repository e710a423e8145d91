// Package flac reads FLAC files: samples of 4 to 24 bits, up to eight channels.
// github.com/mewkiz/flac decodes them and compares the checksum of each frame.
package flac

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Format is FLAC.
var Format = ingest.Format{Name: "flac", Title: "FLAC", Endings: []string{".flac"}, Magic: []string{"fLaC"}, Open: open}

// reader decodes frame after frame and begins again where it is asked to go back.
type reader struct {
	src     ingest.Source
	info    ingest.Info
	bits    int
	samples int64

	stream *flac.Stream // nil: at the beginning
	frame  *frame.Frame // nil: none is decoded
	at     int64        // its first sample
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	r := &reader{src: src}
	if err := r.begin(); err != nil {
		return nil, err
	}
	h := r.stream.Info
	r.bits, r.samples = int(h.BitsPerSample), int64(h.NSamples)
	if r.bits < 4 || r.bits > 24 {
		return nil, &fault.Error{
			Place: "stream info", Want: "4 to 24 bits per sample", Found: strconv.Itoa(r.bits), Hint: "decode it to WAV",
		}
	}
	rate, err := o.Rate(src.Path, "stream info", float64(h.SampleRate), 0)
	if err != nil {
		return nil, err
	}
	r.info = ingest.Info{Path: src.Path, Format: "flac", Encoding: fmt.Sprintf("FLAC %d-bit", r.bits)}
	r.info.Channels = make([]ingest.Channel, h.NChannels)
	if r.samples == 0 || o.Truncated == "use" { // a writer into a pipe states no number
		if err := r.count(o); err != nil {
			return nil, err
		}
	}
	for i := range r.info.Channels {
		r.info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: r.samples}
	}
	return r, nil
}

// count decodes the file to find how many samples there are; fewer than the
// header states are a warning.
func (r *reader) count(o ingest.Options) error {
	stated := r.samples
	r.samples = 0
	var err error
	for err == nil && (stated == 0 || r.samples < stated) {
		if err = r.next(); err == nil {
			r.samples = r.at + int64(r.frame.BlockSize)
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

// begin goes to the first frame.
func (r *reader) begin() (err error) {
	r.frame, r.at = nil, 0
	if r.stream, err = flac.New(io.NewSectionReader(r.src, 0, r.src.Size)); err != nil {
		r.stream = nil
		hint := "copy it again, or leave it out with exclude"
		return &fault.Error{Place: "header", Want: "a FLAC file", Hint: hint, Err: err}
	}
	return nil
}

// next decodes the next frame; after the last the error is io.EOF. The library
// panics on some damaged frames.
func (r *reader) next() (err error) {
	if r.stream == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode frame: %v", p)
		}
		if err != nil {
			r.stream = nil // nothing is known beyond it
		}
	}()
	if r.frame != nil {
		r.at += int64(r.frame.BlockSize)
		r.frame = nil
	}
	f, err := r.stream.Next()
	if err != nil {
		return err
	}
	if f.BitsPerSample == 0 {
		f.BitsPerSample = r.stream.Info.BitsPerSample
	}
	if f.Channels.Count() != len(r.info.Channels) || int(f.BitsPerSample) != r.bits {
		return fmt.Errorf("a frame of %d channels and %d bits, the header has %d and %d",
			f.Channels.Count(), f.BitsPerSample, len(r.info.Channels), r.bits)
	}
	if err := f.Parse(); err != nil {
		return err
	}
	for _, s := range f.Subframes {
		if len(s.Samples) != int(f.BlockSize) {
			return fmt.Errorf("a channel of %d samples in a frame of %d", len(s.Samples), f.BlockSize)
		}
	}
	r.frame = f
	return nil
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
	step = math.Ldexp(1, 1-r.bits)
	return step, -1, 1 - step
}

// Read implements ingest.Reader.
func (r *reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	n := int(min(int64(want), max(0, r.samples-start)))
	scale := math.Ldexp(1, 1-r.bits)
	for done := 0; done < n; {
		pos := start + int64(done)
		if r.frame == nil || pos < r.at {
			r.stream, r.frame, r.at = nil, nil, 0
		}
		for r.frame == nil || pos >= r.at+int64(r.frame.BlockSize) {
			if err := r.next(); err != nil {
				return 0, r.fail(err)
			}
		}
		from := int(pos - r.at)
		m := min(n-done, int(r.frame.BlockSize)-from)
		for i, c := range channels {
			for k, v := range r.frame.Subframes[c].Samples[from : from+m] {
				dst[i][done+k] = float64(v) * scale
			}
		}
		done += m
	}
	if n < want {
		return n, io.EOF
	}
	return n, nil
}
