package raw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// info is the header of a file of that many channels.
func info(channels int) ingest.Info {
	return ingest.Info{Path: "x", Channels: make([]ingest.Channel, channels)}
}

// Expected values: the samples the file was made of. Adjacent channels are
// decoded eight at a time, others singly; blocks end anywhere.
func TestRead32(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, chans := range []int{1, 7, 8, 13, 20} {
		const n = 3001
		data := make([]byte, 4*n*chans)
		at := func(c, k int) float32 {
			return math.Float32frombits(binary.LittleEndian.Uint32(data[4*(k*chans+c):]))
		}

		for i := range n * chans {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(rng.NormFloat64())))
		}

		raw := New(ingesttest.Source(data), info(chans), Layout{Frames: n, Channels: chans, Kind: F32, Scale: 1})
		if !raw.Exact32() {
			t.Fatal("float32 is not float32")
		}

		all, mixed := []int{}, []int{}
		for c := range chans {
			all = append(all, c)
			mixed = append(mixed, (c*3+1)%chans)
		}

		for _, channels := range [][]int{all, mixed, all[chans/2:]} {
			for _, span := range [][2]int{{0, n}, {5, 1234}, {n - 9, 9}} {
				dst := make([][]float32, len(channels))
				for i := range dst {
					dst[i] = make([]float32, span[1])
				}

				got, err := raw.Read32(channels, int64(span[0]), dst)
				if err != nil || got != span[1] {
					t.Fatalf("%d channels from %d: %d samples, %v", chans, span[0], got, err)
				}

				for i, c := range channels {
					for k, v := range dst[i] {
						if want := at(c, span[0]+k); v != want {
							t.Fatalf("%d channels, channel %d, sample %d: %v, want %v", chans, c, span[0]+k, v, want)
						}
					}
				}
			}
		}
	}
}
