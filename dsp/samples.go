package dsp

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"doubletake/ingest/fault"
)

// randomSamples draws single samples of a balance's run
// (docs/method.md#random-samples).
type randomSamples struct{}

func (randomSamples) Describe() Description {
	return Description{
		Name: "random-samples", Doc: "y1 and y2 are samples drawn from one run at random times, none used twice",
		Settings: append([]string{"samples", "seed"}, loadSettings...),
	}
}

func (randomSamples) Check(s *Settings, fail Fail) {
	fail.unless(s.Samples >= 1 && s.Samples <= 1e8, "samples", "expected 1 to 100000000 triplets per run, found %d",
		s.Samples)
	s.checkLoads(fail)
}

func (randomSamples) PairsPerRun(s *Settings) int { return s.Samples }

// Draw returns the numbers of the samples that a run of n gives.
func (randomSamples) Draw(r *Run, n int) (first, second []int, err error) {
	return RandomSamples(n, r.Settings.Samples, r.Seed)
}

func (c randomSamples) Pairs(r *Run, series []Series) (*Pairs, error) {
	first, second, err := c.Draw(r, len(series[0].Values))
	if err != nil {
		return nil, err
	}

	rows := make([]Row, len(first))

	y1, y2 := make([]float64, len(series)), make([]float64, len(series))
	for k := range rows {
		for i, s := range series {
			y1[i], y2[i] = s.Values[first[k]], s.Values[second[k]]
		}
		rows[k] = loadRow(y1, y2)
	}

	return loadPairs(r, series, rows...), nil
}

// A Drawer is an OfSeries whose pairs are single samples of the run.
type Drawer interface {
	OfSeries
	// Draw returns the numbers of the samples that became y1 and y2, of a run of
	// n samples.
	Draw(r *Run, n int) (first, second []int, err error)
}

// RandomSamples draws 2k distinct sample numbers out of 0 … n−1, uniformly
// without replacement: the first k, in random order, are the first draw, the
// others the second (docs/method.md#random-samples). The same n, k and seed give
// the same numbers on every machine and version; the seed should derive from
// the run's id.
func RandomSamples(n, k int, seed uint64) (first, second []int, err error) {
	if k < 1 {
		return nil, nil, &fault.Error{Want: "at least 1 sample per draw", Found: strconv.Itoa(k)}
	}

	if n/2 < k {
		return nil, nil, wrong("", fmt.Sprintf("at least %d samples for two draws of %d without replacement", 2*k, k),
			strconv.Itoa(n), "record longer or draw fewer samples")
	}

	// The first 2k steps of Fisher and Yates' shuffle; only positions that
	// were touched are kept, so that long recordings cost no memory.
	rng := rand.NewPCG(seed, 0x646f75626c657461) // own stream of this function
	moved := make(map[int]int, 4*k)
	at := func(i int) int {
		if v, ok := moved[i]; ok {
			return v
		}
		return i
	}

	drawn := make([]int, 2*k)
	for i := range drawn {
		j := i + int(below(rng, uint64(n-i)))
		drawn[i] = at(j)
		moved[j] = at(i)
	}

	return drawn[:k:k], drawn[k:], nil
}

// below returns a uniform number in 0 … n−1 (Lemire's method). math/rand/v2
// promises its sources' sequences, not its distributions'.
func below(src rand.Source, n uint64) uint64 {
	hi, lo := bits.Mul64(src.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(src.Uint64(), n)
		}
	}

	return hi
}
