// Package tape reads the files of a recorder: "TAPE", the rate in Hz and the channels as
// uint32, then frames of int16. Limits: full scale is 32768.
package tape

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Format is that of the recorder.
var Format = ingest.Format{Name: "tape", Title: "TAPE", Endings: []string{".tape"}, Magic: []string{"TAPE"}, Open: open}

const header = 12

type reader struct {
	ingest.Source
	info   ingest.Info
	frames int64
}

func open(src ingest.Source, _ ingest.Options) (ingest.Reader, error) {
	b := make([]byte, header)
	if _, err := src.ReadAt(b, 0); err != nil {
		return nil, &fault.Error{Path: src.Path, Place: "byte 0", Want: "12 bytes of header", Err: err}
	}

	rate, channels := binary.LittleEndian.Uint32(b[4:]), int64(binary.LittleEndian.Uint32(b[8:]))
	if rate == 0 || channels == 0 || channels > (src.Size-header)/2 {
		return nil, &fault.Error{
			Path: src.Path, Place: "byte 4", Want: "a rate and channels that the file has samples of",
			Found: fmt.Sprintf("%d Hz and %d channels", rate, channels), Hint: "is the file cut short?",
		}
	}

	r := &reader{Source: src, frames: (src.Size - header) / 2 / channels}
	r.info = ingest.Info{Path: src.Path, Format: "tape", Encoding: "PCM 16-bit"}
	for i := range channels {
		r.info.Channels = append(r.info.Channels, ingest.Channel{
			Name: strconv.FormatInt(i+1, 10), Unit: "full-scale", RateHz: float64(rate), Samples: r.frames,
		})
	}

	return r, nil
}

func (r *reader) Info() ingest.Info { return r.info }

// Read reads the frames it is asked for at once.
func (r *reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	width := int64(2 * len(r.info.Channels))
	n := min(int64(ingest.CheckRead(len(r.info.Channels), channels, start, dst)), max(r.frames-start, 0))

	b := make([]byte, n*width)
	if _, err := r.ReadAt(b, header+start*width); err != nil && n > 0 {
		return 0, fmt.Errorf("%s: read frame %d: %w", r.Path, start, err)
	}

	for i, c := range channels {
		for k := range n {
			v := int16(binary.LittleEndian.Uint16(b[k*width+int64(2*c):]))
			dst[i][k] = float64(v) / 32768
		}
	}

	if len(dst) > 0 && int(n) < len(dst[0]) {
		return int(n), io.EOF
	}

	return int(n), nil
}
