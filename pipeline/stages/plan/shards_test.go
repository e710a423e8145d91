package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Shards cover the files one after the other, a few times √n of them, and a file that comes
// changes one: the others stay, by definition.
func TestShards(t *testing.T) {
	if got := Shards(make([]string, manyFiles-1)); got != nil {
		t.Errorf("%d shards of few files", len(got))
	}

	names := make([]string, 20000)
	for i := range names {
		names[i] = fmt.Sprintf("data/run_%05d.wav", 2*i)
	}

	contents := func(names []string) map[string]bool {
		all, end := map[string]bool{}, 0
		for _, r := range Shards(names) {
			require.Equal(t, end, r.Begin, "shard %v follows %d", r, end)
			require.Greater(t, r.End, r.Begin, "shard %v follows %d", r, end)

			end = r.End
			all[fmt.Sprint(names[r.Begin:r.End])] = true
			if n := r.End - r.Begin; n > 15*141 { // √20000 = 141; e^-7.5 is the chance of a shard this long
				t.Errorf("a shard of %d files", n)
			}
		}

		require.Equal(t, len(names), end, "end of the last shard")

		return all
	}

	before := contents(names)
	if n := len(before); n < 141/4 || n > 4*141 {
		t.Errorf("%d shards of 20000 files", n)
	}

	for _, i := range []int{0, 7000, 20000} {
		now := contents(slices.Insert(slices.Clone(names), i, fmt.Sprintf("data/run_%05d.wav", 2*i-1)))
		changed := 0
		for shard := range now {
			if !before[shard] {
				changed++
			}
		}

		if changed < 1 || changed > 2 { // two where the new name begins a shard
			t.Errorf("a file at %d changes %d shards", i, changed)
		}
	}
}
