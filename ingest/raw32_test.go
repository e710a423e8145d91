package ingest

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// Expected values: the samples the file was made of. Channels are taken eight at
// a time where they lie side by side, singly elsewhere, and blocks end anywhere.
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
		rd, err := openBytes(wavSpec{tag: wavFloat, channels: chans, align: 4 * chans, bits: 32, rate: 1000, data: data, claim: uint32(len(data))}.bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		raw := rd.(*rawReader)
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

// Expected values: the same samples read as float64, where each is looked at;
// counts exactly, moments to rounding.
func TestScanFastAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const chans, n = 9, 3*scanBlock + 100
	x := make([][]float64, chans)
	data := make([]byte, 0, 4*n*chans)
	for c := range x {
		x[c] = make([]float64, n)
	}
	for k := range n {
		for c := range x {
			v := float32(rng.NormFloat64())
			if c%3 == 1 { // many equal neighbours
				v = float32(math.Round(2 * float64(v)))
			}
			if c == 2 && k > 9000 && k < 9005 || c == 5 && k >= scanBlock-2 && k < scanBlock+2 {
				v = 7 // stretches, one over the edge of a block
			}
			x[c][k] = float64(v)
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	rd, err := openBytes(wavSpec{tag: wavFloat, channels: chans, align: 4 * chans, bits: 32, rate: 1000, data: data, claim: uint32(len(data))}.bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Scan(context.Background(), rd, Run{Row1: -1})
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := Scan(context.Background(), newMemory(x...), Run{Row1: -1})
	if err != nil {
		t.Fatal(err)
	}
	for c := range want {
		g, w := got[c], want[c]
		if math.Abs(g.Mean-w.Mean) > 1e-14 || math.Abs(g.Std-w.Std) > 1e-14*w.Std || math.Abs(g.RMS-w.RMS) > 1e-14*w.RMS {
			t.Errorf("channel %d: moments %+v, want %+v", c, g, w)
		}
		g.Mean, g.Std, g.RMS = w.Mean, w.Std, w.RMS
		if g != w {
			t.Errorf("channel %d: %+v, want %+v", c, g, w)
		}
	}
}
