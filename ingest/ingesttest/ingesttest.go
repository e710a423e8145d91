// Package ingesttest helps to test the readers of file formats and the packages that use
// them. It has small files in memory, a Reader of numbers, and comparisons. Only tests
// import it.
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
)

// WAV has the fields of a WAV file as the format defines them. They may be wrong, to test damaged files.
type WAV struct {
	Tag, Channels, Align, Bits int    // of the fmt chunk; Tag 1 is PCM, 3 is float
	Rate                       uint32 // Hz
	Data                       []byte // contents of the data chunk
	Claim                      uint32 // size of Data in the header of the data chunk
	RIFF                       uint32 // size in the header of the file
	Before, After              []byte // chunks before and after the data chunk
}

// PCM16 returns a WAV file with the 16-bit samples x, frame by frame, at 1000 Hz.
func PCM16(channels int, x ...int16) WAV {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}

	return WAV{Tag: 1, Channels: channels, Align: 2 * channels, Bits: 16, Rate: 1000, Data: b, Claim: uint32(len(b))}
}

// Float32WAV returns a WAV file with the float32 samples in data, frame by frame, at 1000 Hz.
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

// NPY returns an NPY file, version 1.0, with that dtype, memory order and shape.
func NPY(dtype string, fortran bool, data []byte, shape ...int) []byte {
	order := "False"
	axes := ""
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

// Columns returns an NPY file of a matrix of float64, one row per sample and one column per channel, in that memory
// order.
func Columns(fortran bool, channels ...[]float64) []byte {
	data := make([]byte, 8*len(channels)*len(channels[0]))
	for c, x := range channels {
		for i, v := range x {
			place := i*len(channels) + c
			if fortran {
				place = c*len(x) + i
			}

			binary.LittleEndian.PutUint64(data[8*place:], math.Float64bits(v))
		}
	}

	return NPY("<f8", fortran, data, len(channels[0]), len(channels))
}

// Source returns bytes as a file named x.
func Source(b []byte) ingest.Source {
	return ingest.Source{Path: "x", ReaderAt: bytes.NewReader(b), Size: int64(len(b))}
}

// Open opens bytes as a file named x of a format, and closes it when the test ends.
func Open(t testing.TB, f ingest.Format, b []byte, o ingest.Options) ingest.Reader {
	t.Helper()

	r, err := f.Open(Source(b), o)
	if err != nil {
		t.Fatalf("open a file of format %s: %v", f.Name, err)
	}

	t.Cleanup(func() { r.Close() })

	return r
}

// Memory is a Reader of numbers in memory. It is ingest.Quantized.
type Memory struct {
	Header ingest.Info
	X      [][]float64 // [channel][sample]
	Step   float64     // step of the quantisation; 0: none. The limits are −1 and 1 − Step
}

// NewMemory returns a Reader of the channels x, named 1, 2, ….
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

// ReadAll returns all samples of a file, [channel][sample]. Its channels must be equally long.
func ReadAll(t testing.TB, r ingest.Reader) [][]float64 {
	t.Helper()
	info := r.Info()
	chans := make([]int, len(info.Channels))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c] = c
		dst[c] = make([]float64, info.Channels[c].Samples)
	}

	n, err := r.Read(chans, 0, dst)
	if err != nil {
		t.Fatalf("read all samples: %v", err)
	}

	if int64(n) != info.Channels[0].Samples {
		t.Fatalf("read all samples: expected %d, found %d", info.Channels[0].Samples, n)
	}

	return dst
}

// Equal fails the test if got and want do not have the same bits. Any NaN equals any other NaN.
func Equal(t testing.TB, got, want []float64) {
	t.Helper()

	if len(got) != len(want) {
		t.Fatalf("expected %d samples, found %d", len(want), len(got))
	}

	for i := range want {
		sameBits := math.Float64bits(got[i]) == math.Float64bits(want[i])
		bothNaN := math.IsNaN(got[i]) && math.IsNaN(want[i])
		if !sameBits && !bothNaN {
			t.Fatalf("sample %d: expected %v, found %v", i, want[i], got[i])
		}
	}
}

// Refused opens damaged files of a format. It fails the test unless each is refused with a *fault.Error that
// contains Want.
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

// Codes returns the codes of warnings, separated by blanks.
func Codes(ws []ingest.Warning) string {
	codes := make([]string, len(ws))
	for i, w := range ws {
		codes[i] = w.Code
	}

	return strings.Join(codes, " ")
}

// WantDataError fails the test unless err is a *fault.Error that contains
// all texts in want. got is the value that was returned with err, for the message.
func WantDataError(t testing.TB, got any, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("expected an error with %q, found none and the value %v", want, got)
	}

	var de *fault.Error
	if !errors.As(err, &de) {
		t.Fatalf("expected a *fault.Error, found a %T: %v", err, err)
	}

	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("expected an error with %q, found: %v", w, err)
		}
	}
}

// Bounded reports a bound (ReportBound) if do allocates more than base bytes plus times the length of its input. Memory
// that was freed counts, too. To search for inputs that take more memory, fuzz with DOUBLETAKE_BOUNDS=1.
func Bounded(t testing.TB, input []byte, base, times int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)

	what := fmt.Sprintf("bytes allocated for %d bytes of input, %d and %d times the input", len(input), base, times)
	ReportBound(t, what, after.TotalAlloc-before.TotalAlloc, uint64(base+times*len(input)))
}

// Testdata returns the content of a file in the folder testdata.
func Testdata(t testing.TB, name string) []byte {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("read a file of testdata: %v", err)
	}

	return b
}
