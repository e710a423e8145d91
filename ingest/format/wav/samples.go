package wav

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
)

// samples returns a reader of the samples that the header describes. Integers are scaled so that full scale is ±1;
// bytes are unsigned with the middle at 128.
func (f *file) samples(o ingest.Options) (ingest.Reader, error) {
	rateAt := f.format.begin + 4
	if f.format.rate == 0 {
		return nil, f.src.Fault(rateAt, "a sampling rate above 0 Hz", "0", raw.Damaged)
	}

	rate, err := o.Rate(f.src.Path, fmt.Sprintf("byte %d", rateAt), float64(f.format.rate), 0)
	if err != nil {
		return nil, err
	}

	l := raw.Layout{
		Offset: f.begin, Channels: f.format.channels, Kind: f.kind, BigEndian: f.order == binary.BigEndian, Scale: 1,
	}
	if f.kind.Integer() {
		l.Scale = math.Ldexp(1, 1-8*f.kind.Bytes())
	}

	if f.kind == raw.U8 {
		l.Bias = 128
	}

	l.Frames, err = f.frames(int64(l.Channels*f.kind.Bytes()), o)
	if err != nil {
		return nil, err
	}

	if l.Frames == 0 {
		return nil, f.src.Fault(f.begin, "samples", "an empty data chunk", noSamples)
	}

	if f.format.bits == 24 && f.kind == raw.I32 {
		if err := f.checkPadding(l); err != nil {
			return nil, err
		}
	}

	f.info.Warnings = append(f.info.Warnings, clock.Odd(f.src.Path, "header", rate)...)
	f.info.Encoding = f.encoding
	f.info.Channels = make([]ingest.Channel, l.Channels)
	for i := range f.info.Channels {
		f.info.Channels[i] = ingest.Channel{
			Name: strconv.Itoa(i + 1), Unit: "full-scale", RateHz: rate, Samples: l.Frames,
		}
	}

	return raw.New(f.src, f.info, l), nil
}

// checkPadding checks that the lowest byte of samples of 24 bits in 4 bytes is zero. arecord and other programs put
// such samples into the lower three bytes; reading them as if they were in the upper three would make them 256 times
// too small. checkPadding reads 4 KiB at each of 64 places spread over the data, and returns an error if a byte is not
// 0.
func (f *file) checkPadding(l raw.Layout) error {
	const places = 64
	b := make([]byte, 1<<12)
	size := 4 * l.Frames * int64(l.Channels) // of the data, in bytes
	lowest := 0                              // index of the lowest byte in a sample
	if l.BigEndian {
		lowest = 3
	}

	for i := range int64(places) {
		begin := size / places * i &^ 3 // a whole number of samples
		b = b[:min(int64(cap(b)), size-begin)]
		if err := raw.ReadHeader(f.src, b, l.Offset+begin, "samples"); err != nil {
			return err
		}

		for k := lowest; k < len(b); k += 4 {
			if b[k] != 0 {
				return f.src.Fault(l.Offset+begin+int64(k), "a padding byte of 0 in samples of 24 bits in 4 bytes",
					strconv.Itoa(int(b[k])), "the samples may lie in the other three bytes: record them in 3 bytes "+
						"(arecord -f S24_3LE) or 32 bits")
			}
		}
	}

	return nil
}

// frames returns the number of whole frames that can be used. frame is the size of a frame in bytes. If the header
// states another number, or if the data do not end with a whole frame, frames adds a warning or returns an error,
// depending on the options.
func (f *file) frames(frame int64, o ingest.Options) (int64, error) {
	present := f.present
	if !f.isPlaceholder && f.stated.bytes <= present {
		present = f.stated.bytes
	}

	frames := present / frame

	var found string

	switch {
	case f.isPlaceholder:
		found = fmt.Sprintf("the header does not know the length (%d bytes, as programs write that stream or are stopped); "+
			"the file has %s", f.stated.number, fault.Plural(frames, "whole frame"))
		hint := "to read them, set truncated: use under ingest"
		warnings, err := raw.Partial(f.src, o, f.stated.at, found, hint, frames > 0)
		f.info.Warnings = append(f.info.Warnings, warnings...)

		return frames, err
	case f.stated.bytes > present:
		found = fmt.Sprintf("the header claims %d frames, there are %d", f.stated.bytes/frame, frames)
	case present%frame != 0:
		found = fmt.Sprintf("%d bytes of data are %d frames of %d bytes and %d bytes more", present, frames, frame,
			present%frame)
	default:
		return frames, nil
	}

	warnings, err := raw.Short(f.src, o, f.stated.at, found, "whole frames", frames > 0)
	f.info.Warnings = append(f.info.Warnings, warnings...)

	return frames, err
}
