package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func samples(n int, levels float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 3))

	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(rng.NormFloat64()*levels) / levels)
	}

	return x
}

// inBoth runs a test with the portable versions and with this machine's.
func inBoth(t *testing.T, test func(t *testing.T)) {
	own := fast
	defer func() { fast = own }()

	for _, fast = range []bool{false, own} {
		t.Run(fmt.Sprintf("fast %v", fast), test)
	}
}

// Expected values: the results of the portable versions, to the bit. The other tests check these.
func TestSetsAgree(t *testing.T) {
	type described struct {
		Description
		squares float64
	}

	var first []described

	inBoth(t, func(t *testing.T) {
		i := 0
		for n := 1; n < 300; n++ {
			for _, levels := range []float64{1, 3, 10, 1e6} {
				x := samples(n, levels, uint64(n))
				d := described{Describe(x, 0.25), Squares(x, 0.1)}

				if !fast {
					first = append(first, d)
				}

				require.Equal(t, first[i], d, "%d samples, compared with the portable version", n)

				i++
			}
		}
	})
}

// Expected values: the samples of which the frames were made, for both versions and every size. The last byte of the
// frames is the last byte of their memory, so that a read behind it would show.
func TestUnpack8(t *testing.T) {
	const scale = 1. / 128
	inBoth(t, func(t *testing.T) {
		for _, size := range []int{2, 3, 4} {
			for _, channels := range []int{8, 9, 13, 32} {
				for _, n := range []int{0, 7, 8, 9, 33} {
					x := samples(n*channels, 1e6, uint64(n))
					src := make([]byte, 0, 4*len(x))
					for i, v := range x {
						whole := int32(v * 5000)
						if i%5 == 0 {
							whole = []int32{-1 << (8*size - 1), 1<<(8*size-1) - 1, -1, 0}[i/5%4]
						}

						if size < 4 {
							whole = whole << (32 - 8*size) >> (32 - 8*size)
							x[i] = float32(whole) * scale
						} else {
							whole = int32(math.Float32bits(v))
						}

						src = append(src, binary.LittleEndian.AppendUint32(nil, uint32(whole))[:size]...)
					}

					src = src[:len(src):len(src)]
					for first := range min(channels-7, 2) {
						var got [8][]float32
						for c := range got {
							got[c] = make([]float32, n+5)
						}

						k := Unpack8(&got, 2, src[min(first*size, len(src)):], channels*size, n, size, scale)
						require.Equal(t, n/8*8, k, "frames unpacked of %d", n)

						for c := range got {
							for i := range k {
								want := x[i*channels+first+c]
								if got[c][2+i] != want {
									t.Fatalf("%d bytes, %d channels, channel %d, sample %d: %v, want %v", size, channels, first+c, i,
										got[c][2+i], want)
								}
							}
						}
					}
				}
			}
		}
	})
}

// Expected values: sums of whole numbers, which are exact, and where the
// neighbours were made equal.
func TestDescribe(t *testing.T) {
	inBoth(t, func(t *testing.T) {
		for n := 3; n < 100; n++ {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i)
			}

			want := Description{Sum: float64(n*(n-1)/2 - n), High: float32(n - 1)}
			require.Equal(t, want, Describe(x, 1), "%d samples", n)
			require.Equal(t, float64((n-1)*n*(2*n-1)/6), Squares(x, 0), "sum of the squares of 0 … %d", n-1)

			for at := 0; at+1 < n; at++ {
				y := append([]float32(nil), x...)
				y[at+1] = y[at]
				d := Describe(y, 0)
				require.True(t, d.Pair, "%d samples, two equal from %d on", n, at)
				require.False(t, d.Triple, "%d samples, two equal from %d on", n, at)

				if at+2 < n {
					y[at+2] = y[at]
					d = Describe(y, 0)
					require.True(t, d.Pair, "%d samples, three equal from %d on", n, at)
					require.True(t, d.Triple, "%d samples, three equal from %d on", n, at)
				}

				y[at] = float32(math.NaN())
				require.True(t, math.IsNaN(Describe(y, 0).Sum), "%d samples, NaN at %d: the sum is NaN", n, at)
			}
		}
	})
}
