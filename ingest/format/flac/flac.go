// Package flac reads FLAC files (RFC 9639) with samples of 4 to 24 bits and up to eight channels.
// github.com/mewkiz/flac decodes the frames and compares their checksums. Files whose frames change the rate, the
// number of bits or the number of channels are refused.
//
// A FLAC file is "fLaC", metadata blocks, and frames, which contain some thousand samples of each channel. A frame can
// be found only by decoding the frames before it, so the reader marks where each frame begins that it has passed.
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

// quiet passes log messages on, except a message of the decoder about each frame at 24 or 176.4 kHz: it asks the user
// for a file of this rate, for the decoder's tests.
type quiet struct{ io.Writer }

func (q quiet) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("frame.Frame.parseHeader")) {
		return len(b), nil
	}
	return q.Writer.Write(b)
}

func init() { log.SetOutput(quiet{log.Writer()}) }

// reader decodes frame after frame. To go back, it begins at a frame that it has passed. It implements ingest.Reader
// and ingest.Quantized.
type reader struct {
	src     ingest.Source
	info    ingest.Info
	header  *meta.StreamInfo
	samples int64 // per channel

	input *bufio.Reader // the file from pos on
	pos   int64         // offset in the file behind the bytes that the decoder took
	frame *frame.Frame  // the frame that was decoded last
	n     int           // samples of frame per channel; 0 if there is none since the last jump
	first int64         // number of the first sample of frame, or of the next frame if n is 0
	marks []mark        // of every frame that was passed, ascending, and of the first frame
}

// mark is where a frame begins.
type mark struct {
	sample int64 // number of the frame's first sample
	byte   int64 // offset of the frame in the file
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	r := &reader{src: src}
	if err := r.readHeader(); err != nil {
		return nil, &fault.Error{
			Place: "header", Want: "a FLAC file", Hint: "copy it again, or leave it out with exclude under ingest", Err: err,
		}
	}

	h := r.header
	if h.BitsPerSample < 4 || h.BitsPerSample > 24 {
		return nil, fault.At("", "stream info", "4 to 24 bits per sample", strconv.Itoa(int(h.BitsPerSample)),
			"decode it to WAV")
	}

	rate, err := o.Rate(src.Path, "stream info", float64(h.SampleRate), 0)
	if err != nil {
		return nil, err
	}

	r.info = ingest.Info{Path: src.Path, Format: "flac", Encoding: fmt.Sprintf("FLAC %d-bit", h.BitsPerSample)}
	if r.samples == 0 || o.Truncated == "use" { // a writer into a pipe states no number
		if err := r.count(o); err != nil {
			return nil, err
		}
	}

	r.info.Channels = make([]ingest.Channel, h.NChannels)
	for i := range r.info.Channels {
		r.info.Channels[i] = ingest.Channel{Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: r.samples}
	}

	return r, nil
}

// readHeader reads the stream info, the first metadata block, skips the other blocks and goes to the first frame.
func (r *reader) readHeader() error {
	begin := int64(len(magic))
	for {
		r.goTo(begin)

		block, err := meta.New((*input)(r))
		if err != nil {
			return err
		}

		if r.header == nil {
			if block.Type != meta.TypeStreamInfo {
				return fmt.Errorf("it begins with a block %v, not with the stream info", block.Type)
			}

			if err := block.Parse(); err != nil {
				return err
			}

			r.header = block.Body.(*meta.StreamInfo)
		}

		begin += 4 + block.Length
		if block.IsLast {
			break
		}
	}

	r.samples = int64(r.header.NSamples)
	r.marks = []mark{{sample: 0, byte: begin}}
	r.goTo(begin)

	return nil
}

// goTo makes the decoder go on at an offset of the file. No frame is decoded then.
func (r *reader) goTo(begin int64) {
	section := io.NewSectionReader(r.src, begin, max(0, r.src.Size-begin))
	if r.input == nil {
		r.input = bufio.NewReaderSize(section, 1<<16)
	} else {
		r.input.Reset(section)
	}

	r.pos = begin
	r.n = 0
}

// input is a reader as the decoder sees it: a stream of bytes. It counts them in pos.
type input reader

// Read implements io.Reader.
func (r *input) Read(b []byte) (int, error) {
	n, err := r.input.Read(b)
	r.pos += int64(n)

	return n, err
}

// count decodes the file to count its samples, at most as many as the header states, and sets samples. It adds a
// warning if there are fewer than the header states, or if a frame is damaged and the options allow the use of the
// frames before it. It returns an error if there are no samples, or if the options do not allow this.
func (r *reader) count(o ingest.Options) error {
	stated := r.samples
	r.samples = 0

	var err error
	for err == nil && (stated == 0 || r.samples < stated) {
		err = r.next()
		if err == nil {
			r.samples = r.first + int64(r.n)
		}
	}

	if stated > 0 {
		r.samples = min(r.samples, stated)
	}

	ended := errors.Is(err, io.EOF)
	isDamaged := err != nil && !ended
	switch {
	case r.samples == 0:
		if ended {
			err = nil // the end of the file is not an error to show
		}

		return &fault.Error{
			Want: "samples", Found: "no whole frame", Hint: "record again, or leave it out with exclude under ingest", Err: err,
		}
	case stated == 0 && o.Truncated != "use" && !ended:
		return r.fail(err)
	case stated == 0 && isDamaged:
		r.info.Warnings = append(r.info.Warnings, ingest.Warn(r.src.Path, "truncated",
			"a frame is damaged: the %d samples before it are used, and the header does not state how many there were",
			r.samples))
	case r.samples < stated:
		r.info.Warnings = append(r.info.Warnings, ingest.Warn(r.src.Path, "truncated",
			"the header claims %d samples, there are %d in whole frames: these are used", stated, r.samples))
	}

	return nil
}

// next decodes the next frame and marks its beginning. After the last frame, the error is io.EOF. After an error, the
// frame is still the next one.
func (r *reader) next() error {
	r.first += int64(r.n)
	r.n = 0
	if r.first > r.marks[len(r.marks)-1].sample {
		r.marks = append(r.marks, mark{sample: r.first, byte: r.pos})
	}

	begin := r.pos
	if err := r.decode(); err != nil {
		r.goTo(begin)
		return err
	}

	r.n = int(r.frame.BlockSize)

	return nil
}

// decode decodes a frame and checks that its form is that of the header. A panic of the decoder becomes an error.
func (r *reader) decode() (err error) {
	defer func() {
		if recover() != nil { // its text is about Go, not about the file
			err = errors.New("the decoder failed on it")
		}
	}()

	r.frame, err = frame.New((*input)(r))
	if err != nil {
		return err
	}

	f := r.frame
	h := r.header
	if f.BitsPerSample == 0 {
		f.BitsPerSample = h.BitsPerSample
	}

	if f.BlockSize == 0 {
		return errors.New("a frame of 65536 samples")
	}

	rateDiffers := f.SampleRate != 0 && f.SampleRate != h.SampleRate
	if f.Channels.Count() != int(h.NChannels) || f.BitsPerSample != h.BitsPerSample || rateDiffers {
		return fmt.Errorf("a frame of %d channels, %d bits and %d Hz, the header has %d, %d and %d Hz",
			f.Channels.Count(), f.BitsPerSample, f.SampleRate, h.NChannels, h.BitsPerSample, h.SampleRate)
	}

	return f.Parse()
}

// find goes to the last marked frame that begins at or before a sample. It stays at the present frame if the sample is
// behind it and no marked frame is nearer.
func (r *reader) find(sample int64) {
	i, ok := slices.BinarySearchFunc(r.marks, sample, func(m mark, s int64) int { return cmp.Compare(m.sample, s) })
	if !ok {
		i-- // the mark before the sample; the first mark is sample 0
	}

	m := r.marks[i]
	if sample < r.first || m.sample > r.first {
		r.goTo(m.byte)
		r.first = m.sample
	}
}

// fail returns the error of a frame that cannot be decoded.
func (r *reader) fail(err error) error {
	e := fault.At(r.src.Path, fmt.Sprintf("sample %d", r.first), "", "",
		"the file is cut short or damaged: copy it again, or leave it out with exclude under ingest")

	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Want = "a whole frame"
		e.Found = "the end of the file"
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
		if pos < r.first || pos >= r.first+int64(r.n) {
			r.find(pos)
		}

		for pos >= r.first+int64(r.n) {
			if err := r.next(); err != nil {
				return 0, r.fail(err)
			}
		}

		begin := int(pos - r.first)
		count := min(n-done, r.n-begin)
		for i, c := range channels {
			x := dst[i][done : done+count]
			for k, v := range r.frame.Subframes[c].Samples[begin : begin+count] {
				x[k] = float64(v) * scale
			}
		}

		done += count
	}

	if n < want {
		return n, io.EOF
	}

	return n, nil
}
