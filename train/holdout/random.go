package holdout

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"doubletake/internal/lists"
)

// Random is the key of a random share of the conditions.
const Random = "random"

// random holds out a share of the distinct conditions of the network: all rows of a
// condition, or none.
type random struct {
	nothing
	share  float64
	split  string // whose name decides the draw
	inputs []string
}

func newRandom(share []float64) (Holdout, error) {
	if len(share) != 1 || !(share[0] > 0 && share[0] < 1) {
		return nil, fmt.Errorf("expected one share of the conditions, above 0 and below 1, found %v", share)
	}

	return random{share: share[0]}, nil
}

func (r random) String() string {
	return fmt.Sprintf("a random share of %g of the conditions, drawn for %s", r.share, r.split)
}

func (r random) Conditions() []string           { return r.inputs }
func (r random) Holds(string, float64) bool     { return true }
func (r random) HoldsLabel(string, string) bool { return true }

func (r random) Held(rows Rows) ([]bool, error) {
	names := make([]string, rows.Rows()) // of the conditions: rpm=3000,blades=2,
	for _, input := range r.inputs {
		v, err := rows.Floats(input)
		if err != nil {
			return nil, err
		}

		for i := range v {
			names[i] += input + "=" + strconv.FormatFloat(v[i], 'g', -1, 64) + ","
		}
	}

	drawn := Draw(r.split+"\x00held out", names, r.share)

	return lists.Each(names, func(n string) bool { return drawn[n] }), nil
}

func (r random) of(split string, inputs []string) Holdout {
	r.split, r.inputs = split, inputs

	return r
}

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
