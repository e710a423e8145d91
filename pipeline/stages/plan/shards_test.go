package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rootOfFiles is the square root of the 20000 files of the tests of shards.
const rootOfFiles = 141

// contents returns the names of the files of each shard as one text. It checks that the shards follow one another,
// cover all files, and are not much longer than √n.
func contents(t *testing.T, names []string) map[string]bool {
	t.Helper()

	all := map[string]bool{}
	end := 0
	for _, shard := range Shards(names) {
		require.Equal(t, end, shard.Begin, "a shard begins where the one before it ends")
		require.Greater(t, shard.End, shard.Begin, "files of a shard")
		// The mean length is between √n and 2√n, so that a shard of 15·√n has a chance of at most e^-7.5.
		assert.LessOrEqual(t, shard.End-shard.Begin, 15*rootOfFiles, "files of a shard")

		end = shard.End
		all[fmt.Sprint(names[shard.Begin:shard.End])] = true
	}

	require.Equal(t, len(names), end, "end of the last shard")

	return all
}

// Few files are not divided. Many files are divided into about √n shards, and a new file changes one of them, or two if
// its name begins a shard.
func TestShards(t *testing.T) {
	assert.Empty(t, Shards(make([]string, manyFiles-1)))

	names := make([]string, 20000)
	for i := range names {
		names[i] = fmt.Sprintf("data/run_%05d.wav", 2*i)
	}

	before := contents(t, names)
	assert.Greater(t, len(before), rootOfFiles/4, "shards")
	assert.Less(t, len(before), rootOfFiles*4, "shards")

	for _, place := range []int{0, 7000, 20000} {
		added := fmt.Sprintf("data/run_%05d.wav", 2*place-1)
		changed := 0
		for shard := range contents(t, slices.Insert(slices.Clone(names), place, added)) {
			if !before[shard] {
				changed++
			}
		}

		assert.Contains(t, []int{1, 2}, changed, "shards that a file at place %d changes", place)
	}
}
