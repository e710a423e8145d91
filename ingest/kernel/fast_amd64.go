package kernel

import (
	"os"
	"slices"

	"golang.org/x/sys/cpu"
)

// fast says that the loops over whole blocks run in assembly. The program docs/research/asm generates it.
var fast = cpu.X86.HasAVX2 && os.Getenv(EnvVar) != "portable"

// unpackFast does the work of Unpack8 for n frames. n is a multiple of eight and not 0.
func unpackFast(dst *[8][]float32, first int, src []byte, frame, n, size int, scale float32) {
	var starts [8]*float32
	for c, samples := range dst {
		starts[c] = &samples[first : first+n][0]
	}

	switch size {
	case 2:
		unpack16AVX2(&starts[0], &src[0], frame, n/8, scale)
	case 3:
		unpack24AVX2(&starts[0], &src[0], frame, n/8, scale)
	default:
		unpack32AVX2(&starts[0], &src[0], frame, n/8, scale)
	}
}

// describeFast does the work of describeBlocks in assembly.
func describeFast(x []float32, n int, shift float64, acc *[lanes]float64) Description {
	var lows, highs [8]float32
	equal := describeAVX2(&acc[0], &lows[0], &highs[0], &x[0], n/lanes, shift)

	return Description{
		Low: slices.Min(lows[:]), High: slices.Max(highs[:]), Pair: equal&0xFF != 0, Triple: equal>>8 != 0,
	}
}

// squaresFast adds the squared deviations of x[:n] from mean to acc. n is a multiple of lanes and not 0.
func squaresFast(x []float32, n int, mean float64, acc *[lanes]float64) {
	squaresAVX2(&acc[0], &x[0], n/lanes, mean)
}
