package format

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/stats"
	"doubletake/internal/must"
)

// largeWAV is a file of more than 4 GiB that exists only in the program: a header,
// frames of two 16-bit samples made of their number, and a chunk of text at the end.
type largeWAV struct {
	head, tail []byte
	frames     int64
}

func (f *largeWAV) size() int64 { return int64(len(f.head)) + 4*f.frames + int64(len(f.tail)) }

// sample is a hash of the frame's number and the channel.
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

// Recordings beyond 4 GiB, by EBU Tech 3306 (RF64) and ITU-R BS.2088 (BW64): the
// sizes are in ds64, those of the RIFF and data chunks are 0xFFFFFFFF. Expected
// are the samples the file was made of, on both sides of 2, 4 and 5 GiB and at its
// end, and a text after them; memory does not grow with the length.
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
		must.Never(t, err != nil, "%s: %v", id, err)

		info := r.Info()
		if len(info.Channels) != 2 || info.Channels[1].Samples != f.frames || info.Channels[1].RateHz != 51200 ||
			len(info.Warnings) > 0 {
			t.Fatalf("%s: %+v", id, info)
		}

		must.Contain(t, fmt.Sprint(info.Attributes), "rotor")

		dst := [][]float64{make([]float64, 1000), make([]float64, 1000)}
		for _, at := range []int64{0, 1<<29 - 500, 1<<30 - 500, 5<<28 - 500, f.frames - 1000} {
			if n, err := r.Read([]int{0, 1}, at, dst); n != 1000 || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s from %d: %d, %v", id, at, n, err)
			}

			for c, x := range dst {
				for i, v := range x {
					must.Be(t, v, float64(f.sample(at+int64(i), c))/32768, "%s: channel %d, frame %d", id, c+1,
						at+int64(i))
				}
			}
		}

		if n, err := r.Read([]int{0, 1}, f.frames-10, dst); n != 10 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d frames at the end, %v", id, n, err)
		}

		runtime.ReadMemStats(&after)

		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%s: %d bytes allocated", id, grown)
		}

		// A file cut short is an error with both lengths.
		_, err = open(ingest.Source{Path: "large.wav", ReaderAt: f, Size: 5 << 30}, ingest.Options{})
		must.Refuse(t, err, fmt.Sprintf("the header claims %d frames, there are %d", f.frames, (5<<30-len(f.head))/4))
	}
}

// Readers of one file are used in parallel: each gives what the first one gave,
// for every file of the truth matrices. The race detector watches.
func TestReadersInParallel(t *testing.T) {
	files := 0
	for _, dir := range []string{"truth", "arrays"} {
		list := must.Get(filepath.Glob(filepath.Join("testdata", dir, "*.*")))(t)

		for _, path := range list {
			first, err := Open(path, ingest.Options{})
			if err != nil || filepath.Ext(path) == ".json" {
				continue // refused files; truth.json
			}

			files++
			info := first.Info()
			sums, _, err := stats.Describe(context.Background(), first)
			first.Close()
			must.Do(t, err)

			want := fmt.Sprintf("%+v", sums)

			var wg sync.WaitGroup
			for range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()

					r, err := Open(path, ingest.Options{})
					if err != nil {
						t.Error(err)
						return
					}
					defer r.Close()

					must.Equal(t, fmt.Sprintf("%+v", r.Info()), fmt.Sprintf("%+v", info), "%s", path)

					s, _, err := stats.Describe(context.Background(), r)
					if got := fmt.Sprintf("%+v", s); err != nil || got != want {
						t.Errorf("%s: %s, %v; the first had %s", path, got, err, want)
					}
				}()
			}

			wg.Wait()
		}
	}

	must.Not(t, files < 30, "only %d files", files)
}
