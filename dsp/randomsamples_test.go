package dsp

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/ingest/fault"
)

// For any sizes, the 2k samples are distinct numbers from 0 to n−1, the same for the same seed, and others for another
// seed. Sizes that cannot be drawn are an error.
func TestRandomSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 300).Draw(t, "k")
		n := rapid.IntRange(2*k, 2*k+5000).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		a, b, err := RandomSamples(n, k, seed)
		require.NoError(t, err)
		require.Len(t, a, k)
		require.Len(t, b, k)

		all := slices.Concat(a, b)
		slices.Sort(all)

		require.GreaterOrEqual(t, all[0], 0, "samples %v of %d", all, n)
		require.Less(t, all[2*k-1], n, "samples %v of %d", all, n)
		require.Len(t, slices.Compact(all), 2*k, "samples %v of %d", all, n)

		c, d, _ := RandomSamples(n, k, seed)
		require.Equal(t, c, a, "the same seed gives other samples")
		require.Equal(t, d, b, "the same seed gives other samples")

		if n > 100 && k > 10 {
			e, _, _ := RandomSamples(n, k, seed+1)
			require.False(t, slices.Equal(a, e), "another seed gives the same samples")
		}
	})

	for _, c := range [][2]int{{9, 5}, {10, 0}, {-1, 1}} {
		var e *fault.Error
		_, _, err := RandomSamples(c[0], c[1], 1)
		assert.ErrorAs(t, err, &e)
	}
}

// Expected: each of 10 numbers is drawn at each of the 6 places in a tenth of the draws. χ² over the 60 cells has about
// 54 degrees of freedom, because the counts of each place sum to the number of draws, and is below 99.2 with
// probability 0.9998. The draw of 5 and 5 of 1234 with seed 42 is pinned, because it must never change.
func TestRandomSamplesUniform(t *testing.T) {
	const draws = 20000

	var counts [6][10]float64
	for seed := range uint64(draws) {
		a, b, err := RandomSamples(10, 3, seed)
		require.NoError(t, err)

		for i, v := range append(a, b...) {
			counts[i][v]++
		}
	}

	chi := 0.0
	for _, row := range counts {
		for _, c := range row {
			chi += (c - draws/10) * (c - draws/10) / (draws / 10)
		}
	}

	assert.LessOrEqual(t, chi, 99.2, "χ² = %.1f", chi)

	a, b, _ := RandomSamples(1234, 5, 42)
	assert.Equal(t, pinnedSamples, fmt.Sprint(a, b), "samples")
}

const pinnedSamples = "[1009 415 467 1171 604] [847 1002 908 17 241]"

// From 10 000 samples, two draws of 250 samples are taken, which have no sample in common.
func ExampleRandomSamples() {
	first, second, err := RandomSamples(10000, 250, 7)
	fmt.Println(len(first), len(second), err)
	// Output: 250 250 <nil>
}
