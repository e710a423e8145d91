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
	"os"
)

// Set is one implementation. Its functions allocate nothing.
type Set struct {
	Name string

	// Unpack8 holds, by the bytes of a sample, how int16, int24 and float32 are
	// unpacked: the first eight of every frame (little-endian, frame bytes apart),
	// integers times scale, to dst, from their sample at on, as many whole groups of
	// eight as n samples hold. It returns how many samples that were.
	Unpack8 [5]unpacker

	// Describe returns, of the samples of x: the sum less shift each, the least
	// and the greatest, and whether any two and any three neighbours are equal.
	// Nothing of it holds if a sample is NaN or infinite; the sum then is not
	// finite either.
	Describe func(x []float32, shift float64) (sum float64, low, high float32, pair, triple bool)

	// Squares returns the sum of the squares of the samples less mean.
	Squares func(x []float32, mean float64) float64
}

// EnvVar names the environment variable that overrides the choice.
const EnvVar = "DOUBLETAKE_KERNELS"

// Best returns the fastest set this machine runs; "portable" in the environment
// variable DOUBLETAKE_KERNELS forces that.
func Best() *Set {
	if fast != nil && os.Getenv(EnvVar) != Portable.Name {
		return fast
	}
	return Portable
}

// Portable is the set in plain Go.
var Portable = &Set{Name: "portable", Unpack8: byBytes(unpack8), Describe: describe, Squares: squares}

type unpacker func(dst *[8][]float32, at int, src []byte, frame, n int, scale float32) int

func byBytes(f func(size int) unpacker) (all [5]unpacker) {
	for _, size := range []int{2, 3, 4} {
		all[size] = f(size)
	}
	return all
}

const lanes = 16

// groupsOf cuts src to n frames of which eight samples of size bytes are taken, n a
// multiple of eight.
func groupsOf(src []byte, frame, n, size int) ([]byte, int) {
	if n &^= 7; n > 0 {
		src = src[:(n-1)*frame+8*size]
	}
	return src, n
}

func unpack8(size int) unpacker {
	return func(dst *[8][]float32, at int, src []byte, frame, n int, scale float32) int {
		src, n = groupsOf(src, frame, n, size)
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
}

// whole is how many samples are described in blocks: each block looks two
// samples further.
func whole(n int) int {
	if n < lanes+2 {
		return 0
	}
	return (n - 2) / lanes * lanes
}

func describe(x []float32, shift float64) (sum float64, low, high float32, pair, triple bool) {
	n := whole(len(x))
	var acc [lanes]float64
	var bits int

	low, high = x[0], x[0]
	for at := 0; at < n; at += lanes {
		v := x[at : at+lanes+2]
		for i := range lanes {
			s := v[i]
			acc[i] += float64(s) - shift
			low, high = min(low, s), max(high, s)

			if s == v[i+1] {
				bits |= 1
				if s == v[i+2] {
					bits |= 2
				}
			}
		}
	}

	return rest(x, n, &acc, low, high, shift, bits)
}

// rest joins the lanes and adds the samples after the whole blocks.
func rest(x []float32, n int, acc *[lanes]float64, low, high float32, shift float64, bits int) (float64, float32,
	float32, bool, bool,
) {
	sum := join(acc)
	for i := n; i < len(x); i++ {
		s := x[i]
		sum += float64(s) - shift
		low, high = min(low, s), max(high, s)

		if i+1 < len(x) && s == x[i+1] {
			bits |= 1
			if i+2 < len(x) && s == x[i+2] {
				bits |= 2
			}
		}
	}

	// Of −0 and 0 neither is less: which one is found must not depend on the set.
	if low == 0 {
		low = 0
	}

	if high == 0 {
		high = 0
	}

	return sum, low, high, bits&1 != 0, bits&2 != 0
}

func join(a *[lanes]float64) float64 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			a[i] += a[i+w]
		}
	}

	return a[0]
}

func squares(x []float32, mean float64) float64 {
	n := len(x) / lanes * lanes

	var acc [lanes]float64
	for at := 0; at < n; at += lanes {
		v := x[at : at+lanes]
		for i := range lanes {
			d := float64(v[i]) - mean
			acc[i] += float64(d * d)
		}
	}

	return squaresRest(x[n:], &acc, mean)
}

func squaresRest(x []float32, acc *[lanes]float64, mean float64) float64 {
	sum := join(acc)
	for _, v := range x {
		d := float64(v) - mean
		sum += float64(d * d)
	}

	return sum
}
