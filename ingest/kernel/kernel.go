// Package kernel holds the inner loops of reading: taking channels out of
// frames, and the sums behind a channel's statistics.
//
// There is a portable version of each in plain Go and one for AVX2. Both do the
// same operations in the same order, every product rounded, and so give the
// same bits on every machine. Files, formats and units are package ingest's.
package kernel

import (
	"encoding/binary"
	"math"
)

// EnvVar names the environment variable that forces the portable versions where it is
// "portable" at the start.
const EnvVar = "DOUBLETAKE_KERNELS"

const lanes = 16

// Unpack8 unpacks the first eight samples of size bytes of every frame (little-endian,
// frame bytes apart): int16 and int24 times scale, or float32. They go to dst, from
// sample at on, as many whole groups of eight as n samples hold. It returns how many
// samples that were.
func Unpack8(dst *[8][]float32, at int, src []byte, frame, n, size int, scale float32) int {
	if n &^= 7; n == 0 {
		return 0
	}

	src = src[:(n-1)*frame+8*size] // the assembly does not check

	if fast {
		unpackFast(dst, at, src, frame, n, size, scale)
		return n
	}

	for c, d := range dst {
		d = d[at : at+n]

		p := size * c
		for i := range d {
			switch b := src[p:]; size {
			case 2:
				d[i] = float32(int16(binary.LittleEndian.Uint16(b))) * scale
			case 3:
				d[i] = float32(int32(uint32(b[2])<<24|uint32(b[1])<<16|uint32(b[0])<<8)>>8) * scale
			default:
				d[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
			}

			p += frame
		}
	}

	return n
}

// Describe returns, of the samples of x: the sum less shift each, the least
// and the greatest, and whether any two and any three neighbours are equal.
// Nothing of it holds if a sample is NaN or infinite; the sum then is not
// finite either.
func Describe(x []float32, shift float64) (sum float64, low, high float32, pair, triple bool) {
	var acc [lanes]float64

	n := 0 // samples in whole blocks, of which each looks two samples further
	if len(x) >= lanes+2 {
		n = (len(x) - 2) / lanes * lanes
	}

	low, high = x[0], x[0]
	if n > 0 && fast {
		low, high, pair, triple = describeFast(x, n, shift, &acc)
	} else {
		for at := 0; at < n; at += lanes {
			v := x[at : at+lanes+2]
			for i := range lanes {
				s := v[i]
				acc[i] += float64(s) - shift
				low, high = min(low, s), max(high, s)
				same := s == v[i+1]
				pair, triple = pair || same, triple || same && s == v[i+2]
			}
		}
	}

	sum = join(&acc)
	for i, s := range x[n:] {
		sum += float64(s) - shift
		low, high = min(low, s), max(high, s)

		if after := x[n+i+1:]; len(after) > 0 && s == after[0] {
			pair, triple = true, triple || len(after) > 1 && s == after[1]
		}
	}

	// Of −0 and 0 neither is less: which one is found must not depend on the machine.
	if low == 0 {
		low = 0
	}

	if high == 0 {
		high = 0
	}

	return sum, low, high, pair, triple
}

func join(a *[lanes]float64) float64 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			a[i] += a[i+w]
		}
	}

	return a[0]
}

// Squares returns the sum of the squares of the samples less mean.
func Squares(x []float32, mean float64) float64 {
	var acc [lanes]float64

	n := len(x) / lanes * lanes
	if n > 0 && fast {
		squaresFast(x, n, mean, &acc)
	} else {
		for at := 0; at < n; at += lanes {
			v := x[at : at+lanes]
			for i := range lanes {
				d := float64(v[i]) - mean
				acc[i] += float64(d * d)
			}
		}
	}

	sum := join(&acc)
	for _, v := range x[n:] {
		d := float64(v) - mean
		sum += float64(d * d)
	}

	return sum
}
