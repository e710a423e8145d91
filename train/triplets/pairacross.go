package triplets

import (
	"cmp"
	"slices"

	"doubletake/internal/lists"
)

// PairAcross makes pairs across occasions: the second outcome of a row becomes the first outcome of its partner among
// the rows with the same name in repeats. occasion has the occasion of each row. PairAcross returns the partner of each
// row. Select makes the pairs anew, so that the second outcome of a row never comes from a row that is left out.
func (s *Set) PairAcross(repeats, occasion []string) (partner []int) {
	s.repeats, _ = lists.Index(repeats)
	s.occasion, _ = lists.Index(occasion)

	return s.pair()
}

// pair makes the pairs of the rows and marks the rows that are alone. It returns the partner of each row.
func (s *Set) pair() (partner []int) {
	partner = partners(s.repeats, s.occasion, s.runs())
	s.Y2 = lists.Rows(s.Y1, s.Out, partner)
	s.Alone = nil

	// Two rows of one occasion differ by less than rows of different occasions. They count as pairs only if there are no
	// pairs across occasions.
	alone, pairs := s.rowsAlone(partner, acrossOccasions)
	if pairs == 0 {
		alone, pairs = s.rowsAlone(partner, anyOtherRow)
	}

	if pairs > 0 && pairs < s.N {
		s.Alone = alone
	}

	return partner
}

// runs returns the number of the run of each row. If the runs are not known, each row is a run of its own.
func (s *Set) runs() []int {
	if s.Run == nil {
		return lists.Numbers(s.N)
	}
	return s.Run
}

// pairKind names the partners with which rowsAlone counts a row as a pair.
type pairKind int

const (
	anyOtherRow     pairKind = iota // every partner but the row itself
	acrossOccasions                 // only partners on another occasion
)

// rowsAlone marks the rows whose partner is not of the given kind, and counts the others.
func (s *Set) rowsAlone(partner []int, kind pairKind) (alone []bool, pairs int) {
	alone = make([]bool, s.N)
	for i, p := range partner {
		isSelf := p == i
		isSameOccasion := s.occasion[p] == s.occasion[i]
		if isSelf || kind == acrossOccasions && isSameOccasion {
			alone[i] = true
			continue
		}

		pairs++
	}

	return alone, pairs
}

// Apart makes the pairs anew, if they are made across occasions, so that no pair has rows of different groups.
func Apart[T comparable](s *Set, group []T) {
	if s.repeats == nil {
		return
	}

	type key struct {
		repeats int
		group   T
	}

	keys := make([]key, s.N)
	for i := range keys {
		keys[i] = key{s.repeats[i], group[i]}
	}

	s.repeats, _ = lists.Index(keys)
	s.pair()
}

// partners returns the partner of each row among the rows with equal repeats. These rows form a ring in which the
// occasions take turns. The partner is the next row of another occasion and another run, or otherwise the next row of
// another run, or otherwise the next row. A row without others is its own partner.
func partners(repeats, occasion, run []int) []int {
	partner := make([]int, len(repeats))
	for _, ring := range rings(repeats, occasion) {
		n := len(ring)
		toOtherOccasion := nextOther(ring, occasion)
		toOtherRun := nextOther(ring, run)
		for k, i := range ring {
			next := k + 1
			if toOtherRun[k] < n {
				next = k + toOtherRun[k]
			}

			for distance := toOtherOccasion[k]; distance < n; distance++ {
				if j := ring[(k+distance)%n]; occasion[j] != occasion[i] && run[j] != run[i] {
					next = k + distance
					break
				}
			}

			partner[i] = ring[next%n]
		}
	}

	return partner
}

// rings returns the rings of the rows with equal repeats: the first row of each occasion, then the second row of each
// occasion, and so on.
func rings(repeats, occasion []int) [][]int {
	seen := map[visit]int{}           // number of rows so far
	turn := make([]int, len(repeats)) // by row: number of rows before it with its repeats and its occasion
	for i, r := range repeats {
		own := visit{r, occasion[i]}
		turn[i] = seen[own]
		seen[own]++
	}

	all := lists.Alike(repeats)
	for _, ring := range all {
		slices.SortStableFunc(ring, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })
	}

	return all
}

// nextOther returns the distance of each row of a ring to the next row with another value, and the length of the ring
// if there is none.
func nextOther(ring, value []int) []int {
	n := len(ring)
	distance := make([]int, n)
	far := n
	for k := 2*n - 1; k >= 0; k-- { // twice round, because the last rows need the values of the first ones
		far++
		if value[ring[k%n]] != value[ring[(k+1)%n]] {
			far = 1
		}

		distance[k%n] = min(far, n)
	}

	return distance
}
