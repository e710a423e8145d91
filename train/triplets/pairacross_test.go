package triplets

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rows of repeats form a ring: the first rows of all occasions, then their second rows, and so on. The partner of a
// row is the next row of the ring on another occasion and of another run; otherwise the next row of another run;
// otherwise the next row. A row without others is its own partner. Expected values: this rule, written out, with
// repeats, occasions and runs that are drawn at random.
func TestPartners(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + rng.IntN(9)
		repeats := make([]int, n)
		occasion := make([]int, n)
		run := make([]int, n)
		for i := range n {
			repeats[i] = rng.IntN(2)
			occasion[i] = rng.IntN(3)
			run[i] = rng.IntN(3)
		}

		got := partners(repeats, occasion, run)
		for r := range 2 {
			ring := ringOf(r, repeats, occasion)
			for k, i := range ring {
				others := slices.Concat(ring[k+1:], ring[:k+1]) // the row itself is the last
				want := slices.IndexFunc(others, func(j int) bool { return occasion[j] != occasion[i] && run[j] != run[i] })
				if want < 0 {
					want = slices.IndexFunc(others, func(j int) bool { return run[j] != run[i] })
				}

				require.Equal(t, others[max(want, 0)], got[i], "partner of row %d of repeats %v, occasions %v and runs %v",
					i, repeats, occasion, run)
			}
		}
	}
}

// ringOf returns the ring of the rows whose repeats have the number r.
func ringOf(r int, repeats, occasion []int) []int {
	var ring []int
	for turn := range repeats {
		rows := map[int]int{} // by occasion: its rows so far
		for i := range repeats {
			if repeats[i] != r {
				continue
			}

			rows[occasion[i]]++
			if rows[occasion[i]] == turn+1 {
				ring = append(ring, i)
			}
		}
	}

	return ring
}

// Expected by hand, with each day a run: partners of three rows of one day and one of another, of two rows of one day,
// and of a row alone.
func TestPartnersByHand(t *testing.T) {
	day := []int{0, 0, 0, 1, 0, 0, 1}
	assert.Equal(t, []int{3, 3, 3, 1, 5, 4, 6}, partners([]int{0, 0, 0, 0, 1, 1, 2}, day, day))
}

// If the runs are not known, each row is a run of its own: rows of one day are partners only if no row of another day
// is. Expected by hand from the rule of TestPartners: the ring is 0, 3, 1, 2, in which the next row of another day is 3
// for rows 0, 1 and 2, and 1 for row 3.
func TestPairAcrossWithoutRuns(t *testing.T) {
	s := New(nil, make([]Quantity, 1), nil, []float64{10, 20, 30, 40}, make([]float64, 4))
	partner := s.PairAcross([]string{"a", "a", "a", "a"}, []string{"Mon", "Mon", "Mon", "Tue"})
	assert.Equal(t, []int{3, 3, 3, 1}, partner)
	assert.Equal(t, []float64{40, 40, 40, 20}, s.Y2, "second outcomes")
}

// Selected rows have no second outcome of a row that is not selected, and rows of different parts are not partners. If
// the outcomes of the first day are 1e6, nothing that is selected from the other days changes. Expected values are
// written by hand.
func TestSelectAcross(t *testing.T) {
	withMonday := func(monday float64) Set {
		s := New(make([]Quantity, 1), make([]Quantity, 1), []float64{1, 1, 1, 2, 2}, []float64{monday, 11, 12, monday, 21},
			make([]float64, 5))
		s.SetRuns([]string{"Mon", "Tue", "Wed", "Mon", "Tue"})
		s.PairAcross([]string{"1", "1", "1", "2", "2"}, []string{"Mon", "Tue", "Wed", "Mon", "Tue"})

		return s
	}

	s := withMonday(10)
	assert.Equal(t, []float64{11, 12, 10, 21, 10}, s.Y2, "second outcomes")

	rest := withMonday(1e6).Select([]int{1, 2, 4})
	assert.Equal(t, []float64{12, 11, 21}, rest.Y2, "second outcomes of the others")
	assert.Equal(t, []bool{false, false, true}, rest.Alone, "rows alone of the others")

	assert.Equal(t, []float64{11, 21}, rest.Select([]int{0, 2}).Y2, "second outcomes of rows alone")

	Apart(&s, []Part{Test, Train, Train, Test, Train})
	assert.Equal(t, []float64{10, 12, 11, 10, 21}, s.Y2, "second outcomes of the parts")

	Apart(&s, []float64{0, 1, 2, 0, 1})
	assert.Equal(t, s.Y1, s.Y2, "second outcomes of days that are left out")
}
