package train

import (
	"math/bits"
	"math/rand/v2"
)

// Numbers of the streams of random numbers that are derived from one seed. The bytes of a model depend
// on them: never renumber them.
const (
	streamWeights = 1 // initial weights
	streamOrder   = 2 // order of the triplets
	streamDropout = 3
	streamSwap    = 4 // exchange of y1 and y2
	streamSample  = 5 // draws for CovRaw
	streamNodes   = 7 // nodes of a cubature; 6 was used by an earlier version
)

// streamSeed returns the seed of a stream: a mix of the seed and the number of the stream by the
// last step of splitmix64, twice.
func streamSeed(seed, stream uint64) uint64 {
	return mix(mix(seed+0x9E3779B97F4A7C15) + stream*0xD1342543DE82EF95)
}

// mix applies the last step of splitmix64: a bijection that spreads every bit of z.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// newStream returns the random numbers of a stream.
func newStream(seed, stream uint64) *rand.PCG {
	s := streamSeed(seed, stream)
	return rand.NewPCG(s, mix(s+1))
}

// uniform returns a uniform random number of the open interval (0, 1) with 53 bits.
func uniform(p *rand.PCG) float64 { return (float64(p.Uint64()>>11) + 0.5) * 0x1p-53 }

// shuffle puts idx in random order, in place, by the method of Fisher and Yates. Its random numbers, by Lemire's
// multiplication without rejection, have a negligible bias: 2⁻⁴⁴ for a million rows.
func shuffle(p *rand.PCG, idx []int32) {
	for i := len(idx) - 1; i > 0; i-- {
		j, _ := bits.Mul64(p.Uint64(), uint64(i+1))
		idx[i], idx[j] = idx[j], idx[i]
	}
}
