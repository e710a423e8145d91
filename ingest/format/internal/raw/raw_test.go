package raw

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/stats"
	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// info describes a file with the given number of channels.
func info(channels int) ingest.Info {
	return ingest.Info{Path: "x", Channels: make([]ingest.Channel, channels)}
}

// writeFrames writes frames. Sample k of channel c is k·channels + c, modulo 2^15 for integers of 16 bits.
func writeFrames(t *testing.T, channels, frames, bits int) string {
	t.Helper()
	size := bits / 8
	data := make([]byte, size*channels*frames)
	for i := range channels * frames {
		if bits == 32 {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)))
		} else {
			binary.LittleEndian.PutUint16(data[2*i:], uint16(i%(1<<15)))
		}
	}

	path := filepath.Join(t.TempDir(), "large.raw")
	require.NoError(t, os.WriteFile(path, append(make([]byte, header), data...), 0o644))

	return path
}

// header is the number of bytes before the first sample.
const header = 44

// openFrames opens what writeFrames wrote.
func openFrames(t *testing.T, path string, channels, frames, bits int) *Reader {
	t.Helper()

	src, err := ingest.OpenSource(path, "")
	require.NoError(t, err)

	l := Layout{Offset: header, Frames: int64(frames), Channels: channels, Kind: F32, Scale: 1}
	if bits == 16 {
		l.Kind = I16
		l.Scale = 1. / (1 << 15)
	}

	described := info(channels)
	described.Path = path
	for i := range described.Channels {
		described.Channels[i].Samples = int64(frames)
	}

	return New(src, described, l)
}

// Samples are those that were written. Reads begin anywhere, go back, and take several chunks. Chunks do not end with
// frames. In one file a frame is longer than a block, and in another it is as long as a chunk.
func TestFrames(t *testing.T) {
	for _, c := range []struct{ channels, frames, bits int }{
		{13, 100_001, 32}, {3, 900_000, 16}, {10, 200_001, 16}, {8, 150_000, 32}, {9001, 301, 32}, {65535, 40, 32},
	} {
		t.Run(fmt.Sprintf("%d channels of %d bits", c.channels, c.bits), func(t *testing.T) {
			path := writeFrames(t, c.channels, c.frames, c.bits)
			raw := openFrames(t, path, c.channels, c.frames, c.bits)
			want := func(ch int, k int64) float64 {
				i := int(k)*c.channels + ch
				if c.bits == 32 {
					return float64(float32(i))
				}

				return float64(i%(1<<15)) / (1 << 15)
			}

			channels := make([]int, c.channels)
			wide := make([][]float64, c.channels)
			narrow := make([][]float32, c.channels)

			for ch := range channels {
				channels[ch] = ch
			}

			for _, span := range [][2]int{
				{0, c.frames / 12},
				{c.frames - 5, 5},
				{c.frames / 8, 1},
				{1, c.frames - 1},
				{c.frames / 7, 3 * c.frames / 4},
				{c.frames / 9, 8 * c.frames / 9},
			}[:longtest.Count(4, 6)] {
				for ch := range channels {
					wide[ch] = make([]float64, span[1])
					narrow[ch] = make([]float32, span[1])
				}

				n, err := raw.Read(channels, int64(span[0]), wide)
				require.NoError(t, err, "Read of %v", span)
				require.Equal(t, span[1], n, "samples of Read of %v", span)

				m, err := raw.Read32(channels, int64(span[0]), narrow)
				require.NoError(t, err, "Read32 of %v", span)
				require.Equal(t, span[1], m, "samples of Read32 of %v", span)

				for ch := range channels {
					for k, v := range wide[ch] {
						if w := want(ch, int64(span[0]+k)); v != w || narrow[ch][k] != float32(w) {
							t.Fatalf("channel %d, sample %d: %v and %v, want %v", ch, span[0]+k, v, narrow[ch][k], w)
						}
					}
				}
			}

			require.NoError(t, raw.Close())
		})
	}
}

// Reading a file that became shorter is an error, whether it ends between frames or inside a sample. The samples
// before its end are read.
func TestShorter(t *testing.T) {
	const frames, channels = 150_000, 8
	for _, c := range []struct {
		name string
		size int64
	}{
		{"at a page", 3 << 20},
		{"inside a page", 3<<20 + 100},
		{"one byte less", header + 4*channels*frames - 1},
		{"all", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFrames(t, channels, frames, 32)
			raw := openFrames(t, path, channels, frames, 32)
			defer raw.Close()
			other := openFrames(t, path, channels, frames, 32)
			defer other.Close()

			all := []int{0, 1, 2, 3, 4, 5, 6, 7}
			dst := make([][]float32, channels)
			few := make([][]float32, channels)
			for ch := range dst {
				dst[ch] = make([]float32, frames)
				few[ch] = make([]float32, 100)
			}

			_, err := raw.Read32(all, 0, few)
			require.NoError(t, err, "the whole file")

			require.NoError(t, os.Truncate(path, c.size))

			_, err = raw.Read32(all, 0, dst)
			ingesttest.WantDataError(t, nil, err, fmt.Sprintf("byte %d: ", max(c.size, header)), "became shorter")

			if c.size > 0 { // the samples before the end of the file
				_, err = raw.Read32(all, 1000, few)
				require.NoError(t, err)
				assert.Equal(t, float32(1099*channels+7), few[7][99])
			}

			_, _, err = stats.Scan(context.Background(), other, ingest.Run{ID: path, Path: path, Row1: -1})
			ingesttest.WantDataError(t, nil, err, "became shorter")
		})
	}
}
