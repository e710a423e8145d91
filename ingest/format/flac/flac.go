// Package flac reads FLAC files by github.com/mewkiz/flac: samples of 4 to 24 bits,
// up to eight channels. The checksums of each frame are compared. Files whose frames
// change rate, bits or channels are refused.
package flac

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"slices"
	"strconv"

	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Format is FLAC.
var Format = ingest.Format{
	Name: "flac", Title: "FLAC", Endings: []string{".flac"}, Magic: []string{magic}, Open: open,
}

const magic = "fLaC"

// quiet drops what the decoder logs of every frame at 24 or 176.4 kHz: that its own
// tests have no such file.
type quiet struct{ io.Writer }

func (q quiet) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("frame.Frame.parseHeader")) {
		return len(b), nil
	}
	return q.Writer.Write(b)
}

func init() { log.SetOutput(quiet{log.Writer()}) }

// reader decodes frame after frame. Where it is asked to go back it begins at a
// frame it has passed.
type reader struct {
	src     ingest.Source
	info    ingest.Info
	header  *meta.StreamInfo
	samples int64

	in    *bufio.Reader
	pos   int64 // byte after what the decoder took
	frame *frame.Frame
	n     int    // samples of the frame decoded last, 0 before the first
	at    int64  // its first sample
	marks []mark // of every frame passed
}

// mark is where a frame begins.
type mark struct{ sample, byte int64 }

func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	r := &reader{src: src}
	if err := fault.Try(r.readHeader); err != nil {
		return nil, &fault.Error{
			Place: "header", Want: "a FLAC file", Hint: "copy it again, or leave it out with exclude", Err: err,
		}
	}

	h := r.header
	if h.BitsPerSample < 4 || h.BitsPerSample > 24 {
		return nil, fault.At("", "stream info", "4 to 24 bits per sample", strconv.Itoa(int(h.BitsPerSample)),
			"decode it to WAV")
	}

	rate := fault.Get(o.Rate(src.Path, "stream info", float64(h.SampleRate), 0))

	r.info = ingest.Info{Path: src.Path, Format: "flac", Encoding: fmt.Sprintf("FLAC %d-bit", h.BitsPerSample)}
	if r.samples == 0 || o.Truncated == "use" { // a writer into a pipe states no number
		fault.Raise(r.count(o))
	}

	r.info.Channels = make([]ingest.Channel, h.NChannels)
	for i := range r.info.Channels {
		r.info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: r.samples}
	}

	return r, nil
}

// readHeader reads the stream info and goes to the first frame.
func (r *reader) readHeader() {
	at := int64(len("fLaC"))
	for last := false; !last; {
		r.goTo(at)

		block := fault.Get(meta.New((*input)(r)))

		if r.header == nil {
			fault.Unless(block.Type == meta.TypeStreamInfo,
				fmt.Errorf("it begins with a block %v, not with the stream info", block.Type))

			fault.Raise(block.Parse())

			r.header = block.Body.(*meta.StreamInfo)
		}

		at, last = at+4+block.Length, block.IsLast
	}

	r.samples, r.marks = int64(r.header.NSamples), []mark{{0, at}}
	r.goTo(at)
}

// goTo goes on at a byte of the file.
func (r *reader) goTo(at int64) {
	section := io.NewSectionReader(r.src, at, max(0, r.src.Size-at))
	if r.in == nil {
		r.in = bufio.NewReaderSize(section, 1<<16)
	} else {
		r.in.Reset(section)
	}

	r.pos, r.n = at, 0
}

// input is the reader as the decoder reads it; it counts bytes.
type input reader

// Read implements io.Reader.
func (in *input) Read(b []byte) (int, error) {
	n, err := in.in.Read(b)
	in.pos += int64(n)
	return n, err
}

// count decodes the file to find how many samples there are; fewer than the
// header states are a warning.
func (r *reader) count(o ingest.Options) error {
	stated := r.samples
	r.samples = 0

	var err error
	for err == nil && (stated == 0 || r.samples < stated) {
		if err = r.next(); err == nil {
			r.samples = r.at + int64(r.n)
		}
	}

	if stated > 0 {
		r.samples = min(r.samples, stated)
	}

	switch {
	case r.samples == 0:
		if errors.Is(err, io.EOF) {
			err = nil
		}

		return &fault.Error{
			Want: "samples", Found: "no whole frame", Hint: "record again, or leave it out with exclude", Err: err,
		}

	case stated == 0 && o.Truncated != "use" && !errors.Is(err, io.EOF):
		return r.fail(err)
	case r.samples < stated || !errors.Is(err, io.EOF) && err != nil:
		r.info.Warnings = append(r.info.Warnings, ingest.Warn(r.src.Path, "truncated",
			"the header claims %d samples, there are %d in whole frames: these are used", stated, r.samples))
	}

	return nil
}

// next decodes the next frame; after the last the error is io.EOF.
func (r *reader) next() error {
	r.at, r.n = r.at+int64(r.n), 0
	if r.at > r.marks[len(r.marks)-1].sample {
		r.marks = append(r.marks, mark{r.at, r.pos})
	}

	begin := r.pos
	if err := r.decode(); err != nil {
		r.goTo(begin) // the frame is still the next one
		return err
	}

	r.n = int(r.frame.BlockSize)

	return nil
}

// decode decodes a frame. A panic of the decoder is an error of the file.
func (r *reader) decode() (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the decoder failed on it")
		}
	}()

	if r.frame, err = frame.New((*input)(r)); err != nil {
		return err
	}

	f, h := r.frame, r.header
	if f.BitsPerSample == 0 {
		f.BitsPerSample = h.BitsPerSample
	}

	if f.BlockSize == 0 {
		return errors.New("a frame of 65536 samples")
	}

	rate := f.SampleRate != 0 && f.SampleRate != h.SampleRate
	if f.Channels.Count() != int(h.NChannels) || f.BitsPerSample != h.BitsPerSample || rate {
		return fmt.Errorf("a frame of %d channels, %d bits and %d Hz, the header has %d, %d and %d Hz",
			f.Channels.Count(), f.BitsPerSample, f.SampleRate, h.NChannels, h.BitsPerSample, h.SampleRate)
	}

	return f.Parse()
}

// find goes to the last frame passed that begins at a sample or before it, unless
// frames are to be decoded from here on in any case.
func (r *reader) find(sample int64) {
	i, ok := slices.BinarySearchFunc(r.marks, sample, func(m mark, s int64) int { return cmp.Compare(m.sample, s) })
	if !ok {
		i--
	}

	if m := r.marks[i]; sample < r.at || m.sample > r.at {
		r.goTo(m.byte)
		r.at = m.sample
	}
}

// fail is the error of a frame that cannot be decoded.
func (r *reader) fail(err error) error {
	e := fault.At(r.src.Path, fmt.Sprintf("sample %d", r.at), "", "",
		"the file is cut short or damaged: copy it again, or leave it out with exclude")

	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Want, e.Found = "a whole frame", "the end of the file"
	} else {
		e.Err = err
	}

	return e
}

// Info implements ingest.Reader.
func (r *reader) Info() ingest.Info { return r.info }

// Close implements ingest.Reader.
func (r *reader) Close() error { return r.src.Close() }

// Quantum implements ingest.Quantized.
func (r *reader) Quantum() (step, low, high float64) {
	step = math.Ldexp(1, 1-int(r.header.BitsPerSample))
	return step, -1, 1 - step
}

// Read implements ingest.Reader.
func (r *reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	n := int(min(int64(want), max(0, r.samples-start)))

	scale, _, _ := r.Quantum()

	for done := 0; done < n; {
		pos := start + int64(done)
		if pos < r.at || pos >= r.at+int64(r.n) {
			r.find(pos)
		}

		for pos >= r.at+int64(r.n) {
			if err := r.next(); err != nil {
				return 0, r.fail(err)
			}
		}

		from := int(pos - r.at)
		m := min(n-done, r.n-from)
		for i, c := range channels {
			to := dst[i][done : done+m]
			for k, v := range r.frame.Subframes[c].Samples[from : from+m] {
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
