package holdout

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"doubletake/internal/lists"
)

// Random is the key of a random share of the conditions.
const Random = "random"

// random holds out a share of the distinct conditions of the network. It holds out all rows of a condition or none.
type random struct {
	nothing
	share  float64
	split  string   // name of the split, which decides the draw together with the conditions; set by forSplit
	inputs []string // inputs of the network, whose values are the conditions; set by forSplit
}

// newRandom returns a holdout of a random share of the conditions. share must have one number above 0 and below 1.
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

// Held returns the rows of the drawn conditions. forSplit must have set the inputs: without them all rows are one
// condition, and are held out.
func (r random) Held(rows Rows) ([]bool, error) {
	names := make([]string, rows.Rows()) // names of the conditions, such as "rpm=3000,blades=2,"
	for _, input := range r.inputs {
		v, err := rows.Floats(input)
		if err != nil {
			return nil, err
		}

		for i := range v {
			names[i] += input + "=" + shortest(v[i]+0) + "," // −0 + 0 is 0
		}
	}

	drawn := draw(r.split+"\x00held out", names, r.share)

	held := make([]bool, len(names))
	for i, n := range names {
		held[i] = drawn[n]
	}

	return held, nil
}

func (r random) forSplit(split string, inputs []string) Holdout {
	r.split = split
	r.inputs = inputs

	return r
}

// draw returns a random share of the distinct names, rounded up to a whole number. Hashes of stream and name decide
// which, so that the order of the names does not matter.
func draw(stream string, names []string, share float64) map[string]bool {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(hash(stream, a), hash(stream, b)) })

	drawn := map[string]bool{}
	for _, n := range names[:lists.Share(share, len(names))] {
		drawn[n] = true
	}

	return drawn
}

// hash returns a hash of a name for a stream.
func hash(stream, name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(stream + "\x00" + name))

	// The last letters hardly change the high bits of FNV. A part of the finaliser of splitmix64 spreads their effect.
	z := h.Sum64()
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9

	return z ^ z>>27
}
