// Package ingesttest helps to test readers of file formats and what uses them:
// small files made in memory, a Reader of numbers, and checks that every reader
// must pass. It is imported by tests alone.
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
	return NPYHeader(NPYDict(dtype, fortran, shape...), data)
}

// NPYDict returns the dictionary in the header of an NPY file.
func NPYDict(dtype string, fortran bool, shape ...int) string {
	order := "False"
	if fortran {
		order = "True"
	}

	axes := ""
	for _, n := range shape {
		axes += fmt.Sprintf("%d, ", n)
	}

	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", dtype, order, axes)
}

// NPYHeader returns an NPY file, version 1.0, with that header.
func NPYHeader(header string, data []byte) []byte {
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

// Access fails the test unless a file has these samples, in channels of one length: read
// at once, backwards by threes from channels in another order, one twice, and across
// the end.
func Access(t testing.TB, r ingest.Reader, want [][]float64) {
	t.Helper()

	if n := len(r.Info().Channels); n != len(want) {
		t.Fatalf("%d channels, want %d", n, len(want))
	}

	for c, x := range ReadAll(t, r) {
		Equal(t, x, want[c])
	}

	n, last := len(want[0]), len(want)-1
	dst := [][]float64{make([]float64, 3), make([]float64, 3), make([]float64, 3)}
	for at := n - 3; at >= 0; at-- {
		pick := []int{last, 0, last}
		if got, err := r.Read(pick, int64(at), dst); got != 3 || err != nil {
			t.Fatalf("from %d: %d, %v", at, got, err)
		}

		for i, c := range pick {
			Equal(t, dst[i], want[c][at:at+3])
		}
	}

	for left := range 2 {
		if got, err := r.Read([]int{0}, int64(n-left), dst[:1]); got != left || !errors.Is(err, io.EOF) {
			t.Fatalf("%d before the end: %d, %v", left, got, err)
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
	var s []string
	for _, w := range ws {
		s = append(s, w.Code)
	}

	return strings.Join(s, " ")
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

// Fuzz drains any bytes of a format, without options and with truncated: use. The
// seeds are the files of a pattern. Longer inputs than most bytes are left out.
func Fuzz(f *testing.F, format ingest.Format, pattern string, most int) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < 3 {
		f.Fatal(names, err)
	}

	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > most {
			return
		}

		Drain(t, format, b, ingest.Options{}, 1)
		Drain(t, format, b, ingest.Options{Truncated: "use"}, 1)
	})
}

// Drain opens and reads a file that a fuzz test made: no panic, no hang, errors
// that are *fault.Error, never more samples than perByte times the bytes,
// and the same samples when a part is read again. Opening and reading allocates
// at most 1 MiB and 64 times the file, 8 bytes of each sample by Drain itself
// among it.
func Drain(t *testing.T, f ingest.Format, b []byte, o ingest.Options, perByte int64) {
	Bounded(t, b, 1<<20, 64, func() { drain(t, f, b, o, perByte) })
}

func drain(t *testing.T, f ingest.Format, b []byte, o ingest.Options, perByte int64) {
	if len(b) == 0 {
		return // never opened
	}

	r, err := f.Open(Source(b), o)
	if err != nil {
		var de *fault.Error
		if !errors.As(err, &de) {
			t.Fatalf("%T is no *fault.Error: %v", err, err)
		}

		return
	}

	defer r.Close()

	info := r.Info()
	if len(info.Channels) == 0 {
		t.Fatal("no channels and no error")
	}

	total := int64(0)
	for _, c := range info.Channels {
		if c.Samples <= 0 {
			t.Fatalf("%d samples", c.Samples)
		}
		total += c.Samples
	}

	if total > perByte*int64(len(b)) {
		t.Fatalf("%d samples in %d bytes", total, len(b))
	}

	chans := make([]int, len(info.Channels))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c], dst[c] = c, make([]float64, info.Channels[0].Samples)
	}

	n, err := r.Read(chans, 0, dst)
	if err != nil {
		return
	}

	if int64(n) != info.Channels[0].Samples {
		t.Fatalf("%d samples read of %d", n, info.Channels[0].Samples)
	}

	k := n / 2
	again := [][]float64{make([]float64, n-k)}
	if _, err := r.Read([]int{0}, int64(k), again); err != nil {
		t.Fatal(err)
	}

	Equal(t, again[0], dst[0][k:])
}
