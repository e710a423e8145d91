// Package kernel contains the inner loops of reading files: unpacking channels from
// frames, and the sums for a channel's statistics.
//
// Each loop has a portable version in plain Go and a version for AVX2. Both do the
// same operations in the same order and round every product, so that they give the
// same bits on every machine.
package kernel

import (
	"encoding/binary"
	"math"
)

// EnvVar names the environment variable that forces the portable versions if it is
// "portable" at the start.
const EnvVar = "DOUBLETAKE_KERNELS"

// lanes is the number of separate sums that run side by side.
const lanes = 16

// Unpack8 unpacks the first eight samples of each of n frames into dst, one slice per channel, from index
// first on. src starts with the first frame, and frames are frame bytes apart. A sample has size bytes,
// little-endian: 2 is an int16, 3 an int24, both multiplied by scale, and 4 a float32. Unpack8 only unpacks
// whole groups of eight frames. It returns the number of frames unpacked.
func Unpack8(dst *[8][]float32, first int, src []byte, frame, n, size int, scale float32) int {
	n &^= 7
	if n == 0 {
		return 0
	}

	src = src[:(n-1)*frame+8*size] // the assembly does not check the length of src

	if fast {
		unpackFast(dst, first, src, frame, n, size, scale)
		return n
	}

	for c, samples := range dst {
		samples = samples[first : first+n]

		offset := size * c
		for i := range samples {
			switch b := src[offset:]; size {
			case 2:
				samples[i] = float32(int16(binary.LittleEndian.Uint16(b))) * scale
			case 3:
				samples[i] = float32(int32(uint32(b[2])<<24|uint32(b[1])<<16|uint32(b[0])<<8)>>8) * scale
			default:
				samples[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
			}

			offset += frame
		}
	}

	return n
}

// Description describes samples. If a sample is NaN or infinite, Sum is not finite, and the other fields mean
// nothing.
type Description struct {
	Sum       float64 // sum of the samples, each minus a shift
	Low, High float32 // the least and the greatest sample
	Pair      bool    // two neighbours are equal
	Triple    bool    // three neighbours are equal
}

// Describe describes the samples of x, which is not empty. shift is subtracted from each sample in the sum.
func Describe(x []float32, shift float64) Description {
	var acc [lanes]float64

	n := 0 // samples in whole blocks; the last block also reads the two samples after it
	if len(x) >= lanes+2 {
		n = (len(x) - 2) / lanes * lanes
	}

	d := Description{Low: x[0], High: x[0]}
	if n > 0 && fast {
		d = describeFast(x, n, shift, &acc)
	} else if n > 0 {
		d = describeBlocks(x, n, shift, &acc)
	}

	d.Sum = join(&acc)
	for i, s := range x[n:] {
		d.Sum += float64(s) - shift
		d.Low = min(d.Low, s)
		d.High = max(d.High, s)

		if next := x[n+i+1:]; len(next) > 0 && s == next[0] {
			d.Pair = true
			d.Triple = d.Triple || len(next) > 1 && s == next[1]
		}
	}

	// −0 and 0 are equal. Which of them is found must not depend on the machine.
	if d.Low == 0 {
		d.Low = 0
	}

	if d.High == 0 {
		d.High = 0
	}

	return d
}

// describeBlocks describes x[:n] and adds the samples to acc. n is a multiple of lanes and not 0. It reads
// x[:n+2]. It does not set Sum.
func describeBlocks(x []float32, n int, shift float64, acc *[lanes]float64) Description {
	low := x[0]
	high := x[0]
	pair := false
	triple := false
	for first := 0; first < n; first += lanes {
		v := x[first : first+lanes+2]
		for i := range lanes {
			s := v[i]
			acc[i] += float64(s) - shift
			low = min(low, s)
			high = max(high, s)
			same := s == v[i+1]
			pair = pair || same
			triple = triple || same && s == v[i+2]
		}
	}

	return Description{Low: low, High: high, Pair: pair, Triple: triple}
}

// join returns the sum of the lanes, added pairwise. It overwrites a.
func join(a *[lanes]float64) float64 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			a[i] += a[i+w]
		}
	}

	return a[0]
}

// Squares returns the sum of the squared deviations of the samples from mean.
func Squares(x []float32, mean float64) float64 {
	var acc [lanes]float64

	n := len(x) / lanes * lanes
	if n > 0 && fast {
		squaresFast(x, n, mean, &acc)
	} else if n > 0 {
		squareBlocks(x, n, mean, &acc)
	}

	sum := join(&acc)
	for _, v := range x[n:] {
		d := float64(v) - mean
		sum += float64(d * d)
	}

	return sum
}

// squareBlocks adds the squared deviations of x[:n] from mean to acc. n is a multiple of lanes.
func squareBlocks(x []float32, n int, mean float64, acc *[lanes]float64) {
	for first := 0; first < n; first += lanes {
		v := x[first : first+lanes]
		for i := range lanes {
			d := float64(v[i]) - mean
			acc[i] += float64(d * d)
		}
	}
}
