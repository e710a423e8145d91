package format

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// largeWAV is a file of more than 4 GiB that exists only in the program: a header, frames of two samples of 16 bits
// that follow from the frame's number, and a chunk of text at the end.
type largeWAV struct {
	head, tail []byte
	frames     int64
}

func (f *largeWAV) size() int64 { return int64(len(f.head)) + 4*f.frames + int64(len(f.tail)) }

// sample returns the sample of a frame and a channel, a hash of both.
func (f *largeWAV) sample(frame int64, channel int) int16 {
	h := uint64(2*frame+int64(channel)) * 0x9E3779B97F4A7C15
	return int16(h >> 48)
}

func (f *largeWAV) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		k := at + int64(i)
		data := k - int64(len(f.head))
		switch {
		case k >= f.size():
			return i, io.EOF
		case data < 0:
			p[i] = f.head[k]
		case data >= 4*f.frames:
			p[i] = f.tail[data-4*f.frames]
		default:
			v := uint16(f.sample(data/4, int(data%4)/2))
			p[i] = byte(v >> (8 * (data % 2)))
		}
	}

	return len(p), nil
}

// Recordings of more than 4 GiB have their sizes in the chunk ds64, and 0xFFFFFFFF as the lengths of the RIFF and data
// chunks (EBU Tech 3306 for RF64, ITU-R BS.2088 for BW64). The samples on both sides of 2, 4 and 5 GiB and at the end
// are right, and so is a text behind them. Memory does not grow with the length.
func TestWAVBeyond4GiB(t *testing.T) {
	le := binary.LittleEndian
	for _, id := range []string{"RF64", "BW64"} {
		f := &largeWAV{frames: 5<<28 + 12345} // 5 GiB and a little
		f.tail = append(le.AppendUint32([]byte("LIST"), 4+8+6), "INFOINAM"...)
		f.tail = append(le.AppendUint32(f.tail, 6), "rotor\x00"...)
		head := append(le.AppendUint32([]byte(id), math.MaxUint32), "WAVEds64"...)
		head = le.AppendUint32(head, 28)
		sizeAt := len(head)
		head = append(head, make([]byte, 28)...)
		head = append(le.AppendUint32(append(head, "fmt "...), 16), 1, 0, 2, 0)
		head = le.AppendUint32(le.AppendUint32(head, 51200), 51200*4)
		head = append(head, 4, 0, 16, 0)
		f.head = le.AppendUint32(append(head, "data"...), math.MaxUint32)
		le.PutUint64(f.head[sizeAt:], uint64(f.size()-8))
		le.PutUint64(f.head[sizeAt+8:], uint64(4*f.frames))
		le.PutUint64(f.head[sizeAt+16:], uint64(f.frames))

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		r, err := open(ingest.Source{Path: "large.wav", ReaderAt: f, Size: f.size()}, ingest.Options{})
		require.NoError(t, err, "%s: %v", id, err)

		info := r.Info()
		require.Len(t, info.Channels, 2, "%s: channels", id)
		require.Equal(t, f.frames, info.Channels[1].Samples, "%s: frames", id)
		require.Equal(t, 51200.0, info.Channels[1].RateHz, "%s: rate", id)
		require.Empty(t, info.Warnings, "%s: warnings", id)

		assert.Contains(t, fmt.Sprint(info.Attributes), "rotor")

		dst := [][]float64{make([]float64, 1000), make([]float64, 1000)}
		for _, at := range []int64{0, 1<<29 - 500, 1<<30 - 500, 5<<28 - 500, f.frames - 1000} {
			n, err := r.Read([]int{0, 1}, at, dst)
			require.NoError(t, err, "%s from %d on", id, at)
			require.Equal(t, 1000, n, "%s from %d on: frames read", id, at)

			for c, x := range dst {
				for i, v := range x {
					require.Equal(t, float64(f.sample(at+int64(i), c))/32768, v, "%s: channel %d, frame %d", id, c+1, at+int64(i))
				}
			}
		}

		n, err := r.Read([]int{0, 1}, f.frames-10, dst)
		require.ErrorIs(t, err, io.EOF, "%s: read beyond the end", id)
		assert.Equal(t, 10, n, "%s: frames before the end", id)

		runtime.ReadMemStats(&after)

		ingesttest.ReportBound(t, "bytes allocated to read parts of a file of 5 GiB, "+id,
			after.TotalAlloc-before.TotalAlloc, 8<<20)

		// A file cut short is an error with both lengths.
		_, err = open(ingest.Source{Path: "large.wav", ReaderAt: f, Size: 5 << 30}, ingest.Options{})
		assert.ErrorContains(t, err,
			fmt.Sprintf("the header claims %d frames, there are %d", f.frames, (5<<30-len(f.head))/4))
	}
}

// Several goroutines read each file of the truth tests at the same time, with a Reader of their own. Each gets the same
// samples. The race detector finds shared state.
func TestReadersInParallel(t *testing.T) {
	files := 0
	for _, dir := range []string{"truth", "arrays"} {
		list, err := filepath.Glob(filepath.Join("testdata", dir, "*.*"))
		require.NoError(t, err)

		for _, path := range list {
			first, err := Open(path, ingest.Options{})
			if err != nil || filepath.Ext(path) == ".json" {
				continue // refused files; truth.json
			}

			files++
			info := first.Info()
			sums, _, err := stats.Describe(context.Background(), first)
			first.Close()
			require.NoError(t, err)

			want := fmt.Sprintf("%+v", sums)

			var wg sync.WaitGroup
			for range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()

					r, err := Open(path, ingest.Options{})
					if !assert.NoError(t, err, "%s", path) {
						return
					}
					defer r.Close()

					assert.Equal(t, fmt.Sprintf("%+v", info), fmt.Sprintf("%+v", r.Info()), "%s", path)

					s, _, err := stats.Describe(context.Background(), r)
					assert.NoError(t, err, "%s", path)
					assert.Equal(t, want, fmt.Sprintf("%+v", s), "%s: statistics, compared with the first reader's", path)
				}()
			}

			wg.Wait()
		}
	}

	assert.GreaterOrEqual(t, files, 30, "only %d files", files)
}
