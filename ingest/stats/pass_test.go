package stats

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/npy"
	"doubletake/ingest/format/text"
	"doubletake/ingest/format/wav"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// passFiles returns files with the same three channels in formats that are read in
// different ways. Channel 0 is noise, channel 1 has equal neighbours, and channel 2 has
// plateaus. The text has a clock before them, and a column with a word behind them.
func passFiles(n int) map[string]func() (ingest.Reader, error) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))

	x := make([][]int16, 3)
	for c := range x {
		x[c] = make([]int16, n)
		for k := range x[c] {
			x[c][k] = int16(4000 * rng.NormFloat64())
			if c == 1 {
				x[c][k] /= 8192 // often the same as before
			}

			if c == 2 && k%9000 < 7 {
				x[c][k] = 32767
			}
		}
	}

	var i16, f32, planes []byte

	var rows strings.Builder
	for k := range n {
		fmt.Fprintf(&rows, "%d.25", k)

		for c := range x {
			i16 = binary.LittleEndian.AppendUint16(i16, uint16(x[c][k]))
			f32 = binary.LittleEndian.AppendUint32(f32, math.Float32bits(float32(x[c][k])/3))
			fmt.Fprintf(&rows, ",%d", x[c][k])
		}

		if k == 5000 {
			rows.WriteString(",off\n")
		} else {
			rows.WriteString(",1\n")
		}
	}

	for c := range x {
		for _, v := range x[c] {
			planes = binary.LittleEndian.AppendUint32(planes, math.Float32bits(float32(v)/3))
		}
	}

	float := make([]byte, 0, 24*n)
	for k := range n {
		for c := range x {
			float = binary.LittleEndian.AppendUint64(float, math.Float64bits(float64(x[c][k])/3))
		}
	}

	file := func(f ingest.Format, b []byte) func() (ingest.Reader, error) {
		return func() (ingest.Reader, error) { return f.Open(ingesttest.Source(b), ingest.Options{}) }
	}

	return map[string]func() (ingest.Reader, error){
		"WAV, 16 bits": file(wav.Format, ingesttest.WAV{
			Tag: 1, Channels: 3, Align: 6, Bits: 16, Rate: 1000, Data: i16,
			Claim: uint32(len(i16)),
		}.Bytes()),
		"WAV, float32":   file(wav.Format, ingesttest.Float32WAV(3, f32).Bytes()),
		"NPY, in planes": file(npy.Format, ingesttest.NPY("<f4", false, planes, 3, n)),
		"NPY, float64":   file(npy.Format, ingesttest.NPY("<f8", false, float, n, 3)),
		"text":           file(text.Format, []byte("time_s,a,b,c,state\n"+rows.String())),
	}
}

// A Pass gives the result of Scan, to the last bit, however the caller reads: in halves of
// segments without the end of each, channel by channel, as float32 or not, not to the end, or
// twice. Expected: Scan of the file, opened again.
func TestPass(t *testing.T) {
	const n = 3*scanBlock + 1234
	files := passFiles(n)

	var names []string
	for k := range files {
		names = append(names, k)
	}

	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "file")
		open := func() ingest.Reader {
			rd, err := files[name]()
			require.NoError(t, err)

			return rd
		}

		rd := open()

		channels := []int{0, 1, 2}
		if name == "text" {
			channels = []int{1, 2, 3}
		}

		channels = channels[:rapid.IntRange(1, 3).Draw(t, "channels")]
		run := ingest.Run{ID: "r", Path: "r", Row1: -1}

		row1 := n
		if rapid.Bool().Draw(t, "part") {
			run.Row0 = int64(rapid.IntRange(0, 9000).Draw(t, "row0"))
			row1 = rapid.IntRange(int(run.Row0)+100, n).Draw(t, "row1")
			run.Row1 = int64(row1)
		}

		for _, c := range channels {
			run.Recordings = append(run.Recordings, ingest.Recording{ID: fmt.Sprint(c), Channels: []int{c}})
		}

		want, wantWarnings, wantErr := Scan(context.Background(), open(), run)

		p := NewPass(rd, run)
		length := row1 - int(run.Row0)
		segments := rapid.IntRange(1, 9).Draw(t, "segments")
		seg := length / 2 / segments
		narrow := p.Exact32() && rapid.Bool().Draw(t, "float32")
		read := func(channels []int, at, n int) {
			if n == 0 {
				return
			}

			var err error
			if narrow {
				dst := make([][]float32, len(channels))
				for i := range dst {
					dst[i] = make([]float32, n)
				}

				_, err = p.Read32(channels, run.Row0+int64(at), dst)
			} else {
				dst := make([][]float64, len(channels))
				for i := range dst {
					dst[i] = make([]float64, n)
				}

				_, err = p.Read(channels, run.Row0+int64(at), dst)
			}

			if wantErr == nil {
				require.NoError(t, err)
			}
		}

		together := len(channels)
		if p.ByChannel() || rapid.IntRange(0, 3).Draw(t, "one by one") == 0 {
			together = 1
		}

		stop := rapid.IntRange(0, 4*segments).Draw(t, "stop") // often never
		for h := range 2 {
			for c := 0; c < len(channels); c += together {
				for g := range segments {
					if stop--; stop == 0 {
						break
					}
					read(channels[c:c+together], h*(length/2)+g*seg, seg)
				}
			}
		}

		if rapid.IntRange(0, 5).Draw(t, "again") == 0 {
			read(channels, 0, min(10, length))
		}

		got, warnings, err := p.Stats(context.Background(), nil)
		a := fmt.Sprintf("%+v %+v %v", got, warnings, err)
		b := fmt.Sprintf("%+v %+v %v", want, wantWarnings, wantErr)
		require.Equal(t, b, a, "%s", name)
	})
}

// reads counts how often each sample of a file was asked for.
type reads struct {
	*ingesttest.Memory
	count [][]int
}

func (r *reads) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n, err := r.Memory.Read(channels, start, dst)
	for _, c := range channels {
		for k := range n {
			r.count[c][start+int64(k)]++
		}
	}

	return n, err
}

// A Pass asks the Reader for every sample exactly once, also for samples that the
// caller does not read.
func TestPassOnce(t *testing.T) {
	const n = 20000
	rng := rand.New(rand.NewPCG(1, 9))

	r := &reads{Memory: ingesttest.NewMemory(make([]float64, n), make([]float64, n), make([]float64, n))}
	for c := range r.X {
		for k := range r.X[c] {
			r.X[c][k] = rng.NormFloat64()
		}
		r.count = append(r.count, make([]int, n))
	}

	run := ingest.Run{
		ID: "r", Path: "m", Row0: 100, Row1: n - 100,
		Recordings: []ingest.Recording{{Channels: []int{0}}, {Channels: []int{2}}},
	}

	p := NewPass(r, run)
	for _, at := range []int64{100, 3100, 9900, 12900} {
		_, err := p.Read([]int{0, 2}, at, [][]float64{make([]float64, 3000), make([]float64, 3000)})
		require.NoError(t, err)
	}

	_, _, err := p.Stats(context.Background(), nil)
	require.NoError(t, err)

	for c := range r.count {
		for k, got := range r.count[c] {
			want := 1
			if k < 100 || k >= n-100 {
				want = 0
			}

			if got != want {
				t.Fatalf("channel %d, sample %d was read %d times, expected %d", c, k, got, want)
			}
		}
	}
}

// A sample that is not a number is reported in the same way as by Scan.
func TestPassNaN(t *testing.T) {
	x := make([]float64, 5000)
	for k := range x {
		x[k] = float64(k % 7)
	}

	x[4000] = math.NaN()
	run := ingest.Run{ID: "r", Path: "m", Row1: -1, Recordings: []ingest.Recording{{Channels: []int{0}}}}
	p := NewPass(ingesttest.NewMemory(x), run)
	_, err := p.Read([]int{0}, 0, [][]float64{make([]float64, 5000)})
	require.NoError(t, err)

	_, _, err = p.Stats(context.Background(), nil)

	_, _, want := Scan(context.Background(), ingesttest.NewMemory(x), run)
	require.Error(t, want)
	assert.EqualError(t, err, want.Error())
}

// broken is a Reader that fails from a sample on, and then for ever.
type broken struct {
	*ingesttest.Memory
	from   int64
	failed bool
}

func (b *broken) Read(channels []int, start int64, dst [][]float64) (int, error) {
	if b.failed || start+int64(len(dst[0])) > b.from {
		b.failed = true
		return 0, &fault.Error{Path: "m", Found: fmt.Sprintf("the disk fails at %d", start)}
	}

	return b.Memory.Read(channels, start, dst)
}

// byValue is a Reader that cannot be compared with another.
type byValue struct {
	ingest.Reader
	_ []int
}

// A fault that ends a Scan ends a Pass with the same error, after any reads of
// the caller. Expected: the error of Scan for another Reader of the same file.
func TestPassEnds(t *testing.T) {
	x := make([]float64, 3*scanBlock)
	for k := range x {
		x[k] = float64(k % 11)
	}

	nan := slices.Clone(x)
	nan[10] = math.NaN()
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()

	row1 := int64(2*scanBlock + 5)
	for _, c := range []struct {
		name     string
		ctx      context.Context
		open     func() ingest.Reader
		row1     int64
		channels []int
		start, n int64 // what passes
	}{
		{"cancelled", cancelled, func() ingest.Reader { return ingesttest.NewMemory(x) }, -1, []int{0}, 0, 100},
		{
			"fails while it passes", background,
			func() ingest.Reader { return &broken{Memory: ingesttest.NewMemory(x), from: 50} }, -1,
			[]int{0},
			0, 100,
		},
		{
			"fails in the tail", background,
			func() ingest.Reader { return &broken{Memory: ingesttest.NewMemory(x), from: 20000} }, -1,
			[]int{0},
			0, 16000,
		},
		{
			"fails after a NaN", background,
			func() ingest.Reader { return &broken{Memory: ingesttest.NewMemory(nan), from: 20000} }, -1,
			[]int{0},
			0, 16000,
		},
		{
			"fails in a channel that is read along", background,
			func() ingest.Reader { return &broken{Memory: ingesttest.NewMemory(x, x), from: 20000} }, -1,
			[]int{0},
			0, 24000,
		},
		{"a channel twice", background, func() ingest.Reader { return ingesttest.NewMemory(x, x) }, -1, []int{0, 0}, 0, 300},
		{
			"a channel of no recording", background, func() ingest.Reader { return ingesttest.NewMemory(x, x) }, -1,
			[]int{0, 1},
			0, 300,
		},
		{
			"behind the run", background, func() ingest.Reader { return ingesttest.NewMemory(x) }, row1,
			[]int{0},
			row1 + 100,
			50,
		},
		{
			"over the end of the run", background, func() ingest.Reader { return ingesttest.NewMemory(x) }, row1,
			[]int{0},
			row1 - 100, 150,
		},
		{
			"no pointer", background, func() ingest.Reader { return byValue{Reader: ingesttest.NewMemory(x)} }, -1,
			[]int{0},
			0,
			9000,
		},
	} {
		run := ingest.Run{ID: "r", Path: "m", Row1: c.row1, Recordings: []ingest.Recording{{Channels: []int{0}}}}
		want, wantWarnings, wantErr := Scan(c.ctx, c.open(), run)
		p := NewPass(c.open(), run)

		dst := make([][]float64, len(c.channels))
		for i := range dst {
			dst[i] = make([]float64, c.n)
		}

		_, _ = p.Read(c.channels, c.start, dst)

		got, warnings, err := p.Stats(c.ctx, func(context.Context) (ingest.Reader, error) { return c.open(), nil })
		a := fmt.Sprintf("%+v %+v %v", got, warnings, err)
		b := fmt.Sprintf("%+v %+v %v", want, wantWarnings, wantErr)
		assert.Equal(t, b, a, "%s", c.name)
	}
}

// A Pass keeps only a block of the channels that it reads along, even if the caller
// reads everything at once. The 16 channels would take 16 × 8 bytes for each of n
// samples. The bound is half of that.
func TestPassMemory(t *testing.T) {
	const n = 200000

	x := make([][]float64, 17)
	for c := range x {
		x[c] = make([]float64, n)
		for k := range x[c] {
			x[c][k] = float64((k*7 + c) % 1001)
		}
	}

	m := ingesttest.NewMemory(x...)
	run := ingest.Run{ID: "r", Path: "m", Row1: -1, Recordings: []ingest.Recording{{Channels: []int{0}}}}
	dst := [][]float64{make([]float64, n)}
	ingesttest.Bounded(t, nil, 16*8*n/2, 0, func() {
		p := NewPass(m, run)
		_, err := p.Read([]int{0}, 0, dst)
		require.NoError(t, err)

		_, _, err = p.Stats(context.Background(), nil)
		require.NoError(t, err)
	})

	assert.Equal(t, x[0], dst[0], "the samples that the caller gets are the file's")
}
