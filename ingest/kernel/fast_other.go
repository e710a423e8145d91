//go:build !amd64

package kernel

var fast = false

func unpackFast(*[8][]float32, int, []byte, int, int, int, float32) {}

func describeFast([]float32, int, float64, *[lanes]float64) (low, high float32, pair, triple bool) {
	return
}

func squaresFast([]float32, int, float64, *[lanes]float64) {}
