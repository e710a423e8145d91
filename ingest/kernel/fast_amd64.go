package kernel

import (
	"os"

	"golang.org/x/sys/cpu"
)

// fast: the loops of whole blocks are in assembly, which docs/research/asm generates.
var fast = cpu.X86.HasAVX2 && os.Getenv(EnvVar) != "portable"

// unpackFast is unpack of n samples, a multiple of eight and not 0.
func unpackFast(dst *[8][]float32, at int, src []byte, frame, n, size int, scale float32) {
	var to [8]*float32
	for c, d := range dst {
		to[c] = &d[at : at+n][0]
	}

	switch size {
	case 2:
		unpack16AVX2(&to[0], &src[0], frame, n/8, scale)
	case 3:
		unpack24AVX2(&to[0], &src[0], frame, n/8, scale)
	default:
		unpack32AVX2(&to[0], &src[0], frame, n/8, scale)
	}
}

// describeFast is describe of x[:n+2], n not 0.
func describeFast(x []float32, n int, shift float64, acc *[lanes]float64) (low, high float32, pair, triple bool) {
	var lows, highs [8]float32
	equal := describeAVX2(&acc[0], &lows[0], &highs[0], &x[0], n/lanes, shift)

	low, high = lows[0], highs[0]
	for i := range lows {
		low, high = min(low, lows[i]), max(high, highs[i])
	}

	return low, high, equal&0xFF != 0, equal>>8 != 0
}

// squaresFast is squares of x[:n], n not 0.
func squaresFast(x []float32, n int, mean float64, acc *[lanes]float64) {
	squaresAVX2(&acc[0], &x[0], n/lanes, mean)
}
