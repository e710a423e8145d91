package holdout

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// Draw returns a share of the distinct names, rounded up, in an order that hashes of
// stream and name decide: the same for the same names, whatever their order.
func Draw(stream string, names []string, share float64) map[string]bool {
	hash := func(name string) uint64 {
		h := fnv.New64a()
		h.Write([]byte(stream + "\x00" + name))

		// FNV's high bits hardly feel the last letters; this spreads them.
		z := h.Sum64()
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9

		return z ^ z>>27
	}

	names = slices.Compact(slices.Sorted(slices.Values(names)))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(hash(a), hash(b)) })

	drawn := map[string]bool{}
	for _, n := range names[:int(math.Ceil(share*float64(len(names))))] {
		drawn[n] = true
	}

	return drawn
}
