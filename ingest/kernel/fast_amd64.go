package kernel

import "golang.org/x/sys/cpu"

//go:generate go run doubletake/cmd/asm ingest

var fast = detect()

func detect() *Set {
	if !cpu.X86.HasAVX2 {
		return nil
	}
	return &Set{Name: "avx2", Unpack8: byBytes(unpack8Fast), Describe: describeFast, Squares: squaresFast}
}

func unpack8Fast(size int) unpacker {
	return func(dst *[8][]float32, at int, src []byte, frame, n int, scale float32) int {
		src, n = groupsOf(src, frame, n, size) // the assembly does not check
		if n == 0 {
			return 0
		}

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

		return n
	}
}

func describeFast(x []float32, shift float64) (sum float64, low, high float32, pair, triple bool) {
	n := whole(len(x))
	if n == 0 {
		return describe(x, shift)
	}

	var acc [lanes]float64
	var lows, highs [8]float32
	bits := describeAVX2(&acc[0], &lows[0], &highs[0], &x[0], n/lanes, shift)

	low, high = lows[0], highs[0]
	for i := range lows {
		low, high = min(low, lows[i]), max(high, highs[i])
	}

	equal := 0
	if bits&0xFF != 0 {
		equal |= 1
	}

	if bits>>8 != 0 {
		equal |= 2
	}

	return rest(x, n, &acc, low, high, shift, equal)
}

func squaresFast(x []float32, mean float64) float64 {
	n := len(x) / lanes

	var acc [lanes]float64
	if n > 0 {
		squaresAVX2(&acc[0], &x[0], n, mean)
	}

	return squaresRest(x[n*lanes:], &acc, mean)
}
