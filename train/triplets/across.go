package triplets

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/floats"

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
// moments of the differences D between two occasions at n conditions: E ΣD² = 2n(Between + Rest),
// E (ΣD)² = 2n²Between + 2nRest. Where there are as many repeats within occasions as occasions, these show Rest: it
// holds the errors of runs, which the conditions of a run share.
type Occasions struct {
	N             int       // occasions
	Shared        float64   // conditions that two of them share, in the mean, or repeats within one
	Freedom       float64   // degrees of Rest
	Between, Rest []float64 // variances; Between is not negative
}

// Occasions returns them of pairs across occasions. ok is false of others, and of too few repeats. Rows of a run
// are averaged, unless the occasions are the runs.
func (s Set) Occasions() (o Occasions, ok bool) {
	type key struct{ repeats, occasion, run int }

	place, occasions := lists.Index(s.occasion)
	o.N = len(occasions)
	run := s.Run
	if _, runs := lists.Index(run); len(runs) <= o.N {
		run = lists.Numbers(len(place))
	}

	ofRun, runs := lists.Index(lists.Make(len(place), func(i int) key { return key{s.repeats[i], place[i], run[i]} }))
	ofVisit, visits := lists.Index(lists.Each(runs, func(k key) key { return key{k.repeats, k.occasion, 0} }))
	y, _ := means(s.Y1, s.Out, ofRun, len(runs))
	mean, count := means(y, s.Out, ofVisit, len(visits))
	conditions := lists.Alike(lists.Each(visits, func(k key) int { return k.repeats }))
	o.Freedom = float64(len(visits) - len(conditions) - o.N + 1)

	sum, n := make([]float64, o.N*o.N*s.Out), make([]float64, o.N*o.N)
	square, shares := make([]float64, s.Out), 0.0
	for _, at := range conditions {
		slices.SortFunc(at, func(a, b int) int { return visits[a].occasion - visits[b].occasion })
		for k, a := range at {
			for _, b := range at[k+1:] {
				pair := visits[a].occasion*o.N + visits[b].occasion
				n[pair]++
				shares += 1/count[a] + 1/count[b]
				for j := range s.Out {
					d := mean[a*s.Out+j] - mean[b*s.Out+j]
					sum[pair*s.Out+j] += d
					square[j] += d * d
				}
			}
		}
	}

	all, all2 := floats.Sum(n), floats.Dot(n, n)
	if o.Freedom < 1 || all2 <= all {
		return o, false
	}

	o.Shared = all2 / all
	within := float64(len(runs) - len(visits))
	repeated := within >= float64(o.N)
	if repeated {
		o.Shared, o.Freedom = float64(len(runs))/float64(len(visits)), within
	}

	for j := range s.Out {
		squares := 0.0
		for _, d := range lists.Column(sum, s.Out, j) {
			squares += d * d
		}

		between := max(0, (squares-square[j])/(2*(all2-all)))
		rest := max(0, square[j]/(2*all)-between)
		if repeated {
			rest = 0
			for i, v := range ofVisit {
				d := y[i*s.Out+j] - mean[v*s.Out+j]
				rest += d * d / within
			}

			between = max(0, (square[j]-rest*shares)/(2*all))
		}

		o.Between, o.Rest = append(o.Between, between), append(o.Rest, rest)
	}

	return o, true
}

// means returns the mean of each of n groups of rows, groups × columns, and how many rows it has.
func means(y []float64, columns int, group []int, n int) (mean, count []float64) {
	mean, count = make([]float64, n*columns), make([]float64, n)
	for _, g := range group {
		count[g]++
	}

	for i, g := range group {
		floats.AddScaled(mean[g*columns:(g+1)*columns], 1/count[g], y[i*columns:(i+1)*columns])
	}

	return mean, count
}
