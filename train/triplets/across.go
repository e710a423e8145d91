package triplets

import (
	"cmp"
	"maps"
	"slices"

	"doubletake/internal/lists"
)

// PairAcross makes pairs across occasions: the second outcome of a row is the first one of its partner
// (partners) among the rows of equal repeats. Select makes the pairs anew, so that the second outcome of a row
// never comes from a row that is left out.
func (s *Set) PairAcross(repeats, occasion []string) (partner []int) {
	s.repeats, _ = lists.Index(repeats)
	s.occasion, _ = lists.Index(occasion)

	return s.pair()
}

func (s *Set) pair() (partner []int) {
	partner = partners(s.repeats, s.occasion, s.Run)
	s.Y2 = lists.Rows(s.Y1, s.Out, partner)
	s.Alone = nil

	// Two rows of one occasion differ by less than two of different ones.
	others := func(i int) bool { return s.occasion[partner[i]] != s.occasion[i] }
	for _, isPair := range []func(i int) bool{others, func(i int) bool { return partner[i] != i }} {
		pairs, alone := 0, make([]bool, s.N)
		for i := range alone {
			if alone[i] = !isPair(i); !alone[i] {
				pairs++
			}
		}

		if pairs > 0 {
			if pairs < s.N {
				s.Alone = alone
			}

			break
		}
	}

	return partner
}

// Apart makes no pairs of rows of different groups, where pairs are made across occasions.
func Apart[T comparable](s *Set, group []T) {
	if s.repeats == nil {
		return
	}

	type key struct {
		repeats int
		group   T
	}

	s.repeats, _ = lists.Index(lists.Make(s.N, func(i int) key { return key{s.repeats[i], group[i]} }))
	s.pair()
}

// partners returns the partner of each row among the rows of equal repeats. They form a ring in which each
// occasion has its turn. The partner is the next row of another occasion and another run, else the next of
// another run, else the next: a row alone is its own. run may be nil.
func partners(repeats, occasion, run []int) []int {
	if run == nil {
		run = make([]int, len(repeats))
	}

	type visit struct{ repeats, occasion int }

	rings, turns := map[int][]int{}, map[visit]int{}
	turn, out := make([]int, len(repeats)), make([]int, len(repeats))
	for i, r := range repeats {
		rings[r] = append(rings[r], i)
		turn[i] = turns[visit{r, occasion[i]}]
		turns[visit{r, occasion[i]}]++
	}

	for _, ring := range rings {
		slices.SortStableFunc(ring, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })

		n, ofOthers, ofRuns := len(ring), nextOther(ring, occasion), nextOther(ring, run)
		for k, i := range ring {
			next := k + 1
			if ofRuns[k] < n {
				next = k + ofRuns[k]
			}

			for far := ofOthers[k]; far < n; far++ {
				if j := ring[(k+far)%n]; occasion[j] != occasion[i] && run[j] != run[i] {
					next = k + far
					break
				}
			}

			out[i] = ring[next%n]
		}
	}

	return out
}

// nextOther is how far from each row of a ring the next one with another value is; n where there is none.
func nextOther(ring, value []int) []int {
	n := len(ring)
	out, far := make([]int, n), n
	for k := 2*n - 1; k >= 0; k-- { // twice round: the first round finds what the last rows need
		if far++; value[ring[k%n]] != value[ring[(k+1)%n]] {
			far = 1
		}

		out[k%n] = min(far, n)
	}

	return out
}

// Occasions are what the variance of repeats of different occasions consists of, for each outcome. It comes from the
// moments of the differences D between two occasions at n conditions:
// E ΣD² = 2n(Between + Rest), E (ΣD)² = 2n²Between + 2nRest.
type Occasions struct {
	N             int       // occasions
	Shared        float64   // conditions that two of them share, in the mean
	Freedom       float64   // degrees of Rest
	Between, Rest []float64 // variances; Between is not negative
}

// Occasions returns them of pairs across occasions. ok is false of others, and of too few repeats.
func (s Set) Occasions() (o Occasions, ok bool) {
	type visit struct{ repeats, occasion int }

	rows := map[visit][]int{}
	visits, place := map[int][]visit{}, map[int]int{} // by repeats; of the occasions
	for i, r := range s.repeats {
		if _, known := place[s.occasion[i]]; !known {
			place[s.occasion[i]] = o.N
			o.N++
		}

		v := visit{r, place[s.occasion[i]]}
		if rows[v] == nil {
			visits[r] = append(visits[r], v)
		}

		rows[v] = append(rows[v], i)
	}

	o.Freedom = float64(1 - o.N)
	sum, count := make([]float64, o.N*o.N*s.Out), make([]float64, o.N*o.N)
	square := make([]float64, s.Out)
	mean := func(v visit, j int) (m float64) {
		for _, i := range rows[v] {
			m += s.Y1[i*s.Out+j] / float64(len(rows[v]))
		}

		return m
	}

	for _, r := range slices.Sorted(maps.Keys(visits)) {
		list := visits[r]
		slices.SortFunc(list, func(a, b visit) int { return a.occasion - b.occasion })
		o.Freedom += float64(len(list) - 1)
		for k, a := range list {
			for _, b := range list[k+1:] {
				pair := a.occasion*o.N + b.occasion
				count[pair]++
				for j := range s.Out {
					d := mean(a, j) - mean(b, j)
					sum[pair*s.Out+j] += d
					square[j] += d * d
				}
			}
		}
	}

	n, n2 := 0.0, 0.0
	for _, c := range count {
		n, n2 = n+c, n2+c*c
	}

	if o.Freedom < 1 || n2 <= n {
		return o, false
	}

	o.Shared = n2 / n
	for j := range s.Out {
		squares := 0.0
		for pair := range count {
			squares += sum[pair*s.Out+j] * sum[pair*s.Out+j]
		}

		between := max(0, (squares-square[j])/(2*(n2-n)))
		o.Between, o.Rest = append(o.Between, between), append(o.Rest, max(0, square[j]/(2*n)-between))
	}

	return o, true
}
