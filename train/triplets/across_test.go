package triplets

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"

	"doubletake/internal/lists"
	"doubletake/internal/must"
)

// Partners as the words say them, of random repeats, occasions and runs.
func TestPartners(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + rng.IntN(9)
		repeats, occasion, run := make([]int, n), make([]int, n), make([]int, n)
		for i := range n {
			repeats[i], occasion[i], run[i] = rng.IntN(2), rng.IntN(3), rng.IntN(3)
		}

		got := partners(repeats, occasion, run)
		for r := range 2 {
			var ring []int
			for turn := range n {
				seen := map[int]int{}
				for i := range n {
					if repeats[i] != r {
						continue
					}

					if seen[occasion[i]]++; seen[occasion[i]] == turn+1 {
						ring = append(ring, i)
					}
				}
			}

			for k, i := range ring {
				others := slices.Concat(ring[k+1:], ring[:k+1]) // the row itself is the last
				want := slices.IndexFunc(others, func(j int) bool { return occasion[j] != occasion[i] && run[j] != run[i] })
				if want < 0 {
					want = slices.IndexFunc(others, func(j int) bool { return run[j] != run[i] })
				}

				must.Never(t, got[i] != others[max(want, 0)], "repeats %v, occasions %v, runs %v: partners %v, row %d wants %d",
					repeats, occasion, run, got, i, others[max(want, 0)])
			}
		}
	}

	// By hand: three rows of one day and one of another; one day alone; a row alone. Each occasion is a run.
	day := []int{0, 0, 0, 1, 0, 0, 1}
	must.Equal(t, partners([]int{0, 0, 0, 0, 1, 1, 2}, day, day), []int{3, 3, 3, 1, 5, 4, 6}, "partners")
}

// Variances between simulated days and within them. Witness: those that the values are drawn with. Runs of several
// conditions have errors of their own.
func TestOccasions(t *testing.T) {
	for _, runs := range []int{1, 2} {
		rng := rand.New(rand.NewPCG(6, 1))
		var y []float64
		var repeats, day, run []string
		for r := range 60 * runs {
			offset := 0.4 * float64(runs-1) * rng.NormFloat64()
			for c := range 40 {
				if (c+r/runs)%3 > 0 { // not every condition on every day
					y, repeats = append(y, float64(c)+offset+0.3*rng.NormFloat64()), append(repeats, strconv.Itoa(c))
					day, run = append(day, strconv.Itoa(r/runs)), append(run, strconv.Itoa(r))
				}
			}
		}

		offsets := lists.Make(60, func(int) float64 { return 0.6 * rng.NormFloat64() })
		for i, d := range day {
			k, _ := strconv.Atoi(d)
			y[i] += offsets[k]
		}

		s := New(make([]Quantity, 0), make([]Quantity, 1), nil, y, slices.Clone(y))
		s.SetRuns(run)
		s.PairAcross(repeats, day)
		o, ok := s.Occasions()
		must.Be(t, ok, true, "ok")
		must.Near(t, o.Rest[0], 0.09+0.16*float64(runs-1), 0.09*o.Rest[0]*float64(runs*runs), "within days")
		must.Near(t, o.Between[0], stat.Variance(offsets, nil), 0.03, "between days")

		o, _ = s.Select(s.RowsOf(Train)[100*runs:]).Occasions()
		must.Be(t, o.N, 57, "occasions of the others")

		_, ok = s.Select([]int{0, 1, 2}).Occasions()
		must.Be(t, ok, false, "of one day")
	}
}

// What is selected has no second outcome of another row, nor have groups that are kept apart: outcomes of the
// first day that are set to 1e6 change nothing that is selected of the others.
func TestSelectAcross(t *testing.T) {
	of := func(monday float64) Set {
		s := New(make([]Quantity, 1), make([]Quantity, 1), []float64{1, 1, 1, 2, 2}, []float64{monday, 11, 12, monday, 21},
			make([]float64, 5))
		s.SetRuns([]string{"Mon", "Tue", "Wed", "Mon", "Tue"})
		s.PairAcross([]string{"1", "1", "1", "2", "2"}, []string{"Mon", "Tue", "Wed", "Mon", "Tue"})

		return s
	}

	s := of(10)
	must.Equal(t, s.Y2, []float64{11, 12, 10, 21, 10}, "second outcomes")

	rest := of(1e6).Select([]int{1, 2, 4})
	must.Equal(t, rest.Y2, []float64{12, 11, 21}, "second outcomes of the others")
	must.Equal(t, rest.Alone, []bool{false, false, true}, "rows alone of the others")

	must.Equal(t, rest.Select([]int{0, 2}).Y2, []float64{11, 21}, "second outcomes of rows alone")

	Apart(&s, []Part{Test, Train, Train, Test, Train})
	must.Equal(t, s.Y2, []float64{10, 12, 11, 10, 21}, "second outcomes of the parts")

	Apart(&s, []float64{0, 1, 2, 0, 1})
	must.Equal(t, s.Y2, s.Y1, "second outcomes of days that are left out")
}
