//go:build !amd64

package kernel

// fast is false: there is no assembly for this processor, and the functions below are never called.
var fast = false

func unpackFast(*[8][]float32, int, []byte, int, int, int, float32) {}

func describeFast([]float32, int, float64, *[lanes]float64) Description { return Description{} }

func squaresFast([]float32, int, float64, *[lanes]float64) {}
