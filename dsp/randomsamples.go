package dsp

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
)

// randomSamples is the Construction whose y1 and y2 are single samples of a balance's run, drawn
// at random (docs/method.md#random-samples).
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

// Draw implements Drawer.
func (randomSamples) Draw(r *Run, n int) (first, second []int, err error) {
	return RandomSamples(n, r.Settings.Samples, r.Seed)
}

func (c randomSamples) Pairs(r *Run, series []Series) (*Pairs, error) {
	first, second, err := c.Draw(r, len(series[0].Values))
	if err != nil {
		return nil, err
	}

	rows := make([]Row, len(first))
	y1 := make([]float64, len(series)) // of one pair; loadRow copies them
	y2 := make([]float64, len(series))
	for k := range rows {
		for i, s := range series {
			y1[i] = s.Values[first[k]]
			y2[i] = s.Values[second[k]]
		}

		rows[k] = loadRow(y1, y2)
	}

	return loadPairs(r, series, rows...), nil
}

// A Drawer is an OfSeries whose pairs are single samples of the run.
type Drawer interface {
	OfSeries
	// Draw returns the numbers of the samples that become y1 and y2 in a run of
	// n samples, one each per pair.
	Draw(r *Run, n int) (first, second []int, err error)
}

// RandomSamples draws 2k distinct sample numbers from 0 … n−1, uniformly without replacement
// (docs/method.md#random-samples). It returns the first k of them and the last k, both in random
// order. The same n, k and seed give the same numbers on every machine and in every version. Each
// run should have a seed of its own. It returns a *fault.Error if k < 1 or n < 2k.
func RandomSamples(n, k int, seed uint64) (first, second []int, err error) {
	if k < 1 {
		return nil, nil, wrong("", "at least 1 sample per draw", strconv.Itoa(k), "raise samples under dsp")
	}

	if n/2 < k {
		return nil, nil, wrong("", fmt.Sprintf("at least %d samples for two outcomes of %d samples each", 2*k, k),
			strconv.Itoa(n), "lower samples under dsp, or record longer")
	}

	// These are the first 2k steps of Fisher and Yates' shuffle of 0 … n−1. moved has only the
	// positions that a step changed, so that memory does not grow with n.
	rng := rand.NewPCG(seed, 0x646f75626c657461) // a stream that nothing else uses
	moved := make(map[int]int, 2*k)
	current := func(i int) int { // returns the number at position i
		if v, ok := moved[i]; ok {
			return v
		}
		return i
	}

	drawn := make([]int, 2*k)
	for i := range drawn {
		j := i + int(below(rng, uint64(n-i)))
		drawn[i] = current(j)
		moved[j] = current(i)
	}

	return drawn[:k:k], drawn[k:], nil
}

// below returns a uniform random number from 0 … n−1 (Lemire's method). It does not use rand.Rand:
// math/rand/v2 guarantees that its sources give the same sequences in future versions, but not that
// its distributions do.
func below(src rand.Source, n uint64) uint64 {
	hi, lo := bits.Mul64(src.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(src.Uint64(), n)
		}
	}

	return hi
}
