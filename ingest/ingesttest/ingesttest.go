// Package ingesttest helps to test readers of file formats and what uses them:
// small files made in memory, a Reader of numbers, and comparisons. It is imported by
// tests alone.
package ingesttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// WAV describes a WAV file by the format's definition, right or wrong.
type WAV struct {
	Tag, Channels, Align, Bits int
	Rate                       uint32
	Data                       []byte
	Claim                      uint32 // size in the data chunk's header
	RIFF                       uint32 // size in the file's header
	Before, After              []byte // chunks around the data
}

// PCM16 is a WAV file of 16-bit frames at 1000 Hz.
func PCM16(channels int, x ...int16) WAV {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}

	return WAV{Tag: 1, Channels: channels, Align: 2 * channels, Bits: 16, Rate: 1000, Data: b, Claim: uint32(len(b))}
}

// Float32WAV is a WAV file of the float32 frames in data at 1000 Hz.
func Float32WAV(channels int, data []byte) WAV {
	return WAV{Tag: 3, Channels: channels, Align: 4 * channels, Bits: 32, Rate: 1000, Data: data, Claim: uint32(len(data))}
}

// Bytes returns the file.
func (w WAV) Bytes() []byte {
	le := binary.LittleEndian
	b := append(le.AppendUint32([]byte("RIFF"), w.RIFF), "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(le.AppendUint16(b, uint16(w.Tag)), uint16(w.Channels))
	b = le.AppendUint32(le.AppendUint32(b, w.Rate), w.Rate*uint32(w.Align))
	b = le.AppendUint16(le.AppendUint16(b, uint16(w.Align)), uint16(w.Bits))
	b = append(append(b, w.Before...), "data"...)
	b = append(le.AppendUint32(b, w.Claim), w.Data...)

	return append(b, w.After...)
}

// NPY returns an NPY file, version 1.0, of that dtype, memory order and shape.
func NPY(dtype string, fortran bool, data []byte, shape ...int) []byte {
	order, axes := "False", ""
	if fortran {
		order = "True"
	}

	for _, n := range shape {
		axes += fmt.Sprintf("%d, ", n)
	}

	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", dtype, order, axes)
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))

	return append(append(b, header...), data...)
}

// Columns returns an NPY file of float64, samples × channels, in that memory order.
func Columns(fortran bool, channels ...[]float64) []byte {
	data := make([]byte, 8*len(channels)*len(channels[0]))
	for c, x := range channels {
		for i, v := range x {
			at := i*len(channels) + c
			if fortran {
				at = c*len(x) + i
			}

			binary.LittleEndian.PutUint64(data[8*at:], math.Float64bits(v))
		}
	}

	return NPY("<f8", fortran, data, len(channels[0]), len(channels))
}

// Source returns bytes as a file named x.
func Source(b []byte) ingest.Source {
	return ingest.Source{Path: "x", ReaderAt: bytes.NewReader(b), Size: int64(len(b))}
}

// Open opens bytes as a file named x of a format, until the test ends.
func Open(t testing.TB, f ingest.Format, b []byte, o ingest.Options) ingest.Reader {
	t.Helper()

	r, err := f.Open(Source(b), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { r.Close() })

	return r
}

// Memory is a Reader of numbers. It is ingest.Quantized.
type Memory struct {
	Header ingest.Info
	X      [][]float64 // by channel
	Step   float64     // of the quantisation; the limits are −1 and 1 − Step
}

// NewMemory returns a Reader of channels named 1, 2, ….
func NewMemory(x ...[]float64) *Memory {
	m := &Memory{X: x, Header: ingest.Info{Path: "m", Format: "npy"}}
	for i := range x {
		m.Header.Channels = append(m.Header.Channels, ingest.Channel{Name: fmt.Sprint(i + 1), Samples: int64(len(x[i]))})
	}

	return m
}

// Info implements ingest.Reader.
func (m *Memory) Info() ingest.Info { return m.Header }

// Close implements ingest.Reader.
func (m *Memory) Close() error { return nil }

// Quantum implements ingest.Quantized.
func (m *Memory) Quantum() (step, low, high float64) { return m.Step, -1, 1 - m.Step }

// Read implements ingest.Reader.
func (m *Memory) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := 0
	for i, c := range channels {
		n = copy(dst[i], m.X[c][start:])
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// ReadAll reads every channel of a file whose channels have one length.
func ReadAll(t testing.TB, r ingest.Reader) [][]float64 {
	t.Helper()
	info := r.Info()
	chans := make([]int, len(info.Channels))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c], dst[c] = c, make([]float64, info.Channels[c].Samples)
	}

	if n, err := r.Read(chans, 0, dst); err != nil || int64(n) != info.Channels[0].Samples {
		t.Fatalf("read all: %d, %v", n, err)
	}

	return dst
}

// Equal fails the test unless the bits of got are those of want; NaN equals NaN.
func Equal(t testing.TB, got, want []float64) {
	t.Helper()

	if len(got) != len(want) {
		t.Fatalf("%d samples, want %d", len(got), len(want))
	}

	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("sample %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// Refused opens damaged files of a format, which must be refused with these words.
func Refused(t testing.TB, f ingest.Format, files []struct {
	File []byte
	Want string
},
) {
	t.Helper()

	for _, d := range files {
		r, err := f.Open(Source(d.File), ingest.Options{})
		WantDataError(t, r, err, d.Want)
	}
}

// Codes joins the codes of warnings.
func Codes(ws []ingest.Warning) string {
	return strings.Join(lists.Each(ws, func(w ingest.Warning) string { return w.Code }), " ")
}

// WantDataError fails the test unless err is a *fault.Error that contains
// all of want. got is the value returned with it.
func WantDataError(t testing.TB, got any, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, but %v", got)
	}

	var de *fault.Error
	if !errors.As(err, &de) {
		t.Fatalf("%T is no *fault.Error: %v", err, err)
	}

	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is missing in: %v", w, err)
		}
	}
}

// Bounded fails the test if do allocates more, given back or not, than base bytes
// and times the length of its input.
func Bounded(t testing.TB, input []byte, base, times int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)

	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(base+times*len(input)) {
		t.Fatalf("%d bytes of input allocated %d, expected at most %d and %d times as much", len(input), used, base, times)
	}
}

// Testdata reads a file of the folder testdata.
func Testdata(t testing.TB, name string) []byte {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}

	return b
}
