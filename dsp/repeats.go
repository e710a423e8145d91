package dsp

import (
	"fmt"
	"slices"
)

// repeatedMeans takes the mean of a balance's run (docs/method.md#repeats). The
// rotor's harmonics with repeats are in harmonics.go.
type repeatedMeans struct{ s *Settings }

// configure implements configured.
func (c repeatedMeans) configure(s *Settings) Construction { c.s = s; return c }

func (c repeatedMeans) Describe() Description {
	return Description{
		Name: "repeats", Doc: repeatsDoc, Settings: slices.Concat(loadSettings, unsteadyKeys(c.s)), Repeats: true,
	}
}

// repeatsDoc is the Doc of constructions that give one value a run.
const repeatsDoc = "y1 and y2 come from two runs at equal conditions"

func (repeatedMeans) Check(s *Settings, fail Fail) { s.checkLoads(fail) }

func (repeatedMeans) Pairs(r *Run, series []Series) (*Pairs, error) {
	y := make([]float64, len(series))
	for i, s := range series {
		sum := 0.0
		for _, v := range s.Values {
			sum += v
		}

		y[i] = sum / float64(len(s.Values))
	}

	return unsteady(r, series, loadPairs(r, series, loadRow(y, y)), true)
}

// PairRecordings pairs recordings at equal conditions (PairRepeats), each run
// with others only, and returns the recordings without a partner. x holds a row of
// conditions per recording, equal compares two values of condition k, run and
// channel name where the recording comes from. Where two channels of a run have
// equal conditions, recordings pair with the same channel of other runs.
func PairRecordings(x [][]float64, equal func(k int, a, b float64) bool, run, channel []string) (pairs [][2]int,
	alone []int,
) {
	alike := false
	for i := 1; i < len(x); i++ {
		for k := i - 1; k >= 0 && run[k] == run[i] && !alike; k-- {
			pair, _ := PairRepeats([][]float64{x[k], x[i]}, equal)
			alike = len(pair) > 0
		}
	}

	if alike { // the channel is one condition more
		index := map[string]int{}

		rows := make([][]float64, len(x))
		for i, c := range channel {
			if _, ok := index[c]; !ok {
				index[c] = len(index)
			}
			rows[i] = append(append([]float64{}, x[i]...), float64(index[c]))
		}

		given, conditions := equal, len(x[0])
		x, equal = rows, func(k int, a, b float64) bool {
			if k == conditions {
				return a == b
			}
			return given(k, a, b)
		}
	}

	pairs, groups := PairRepeats(x, equal)
	for _, g := range groups {
		if len(g)%2 == 1 {
			alone = append(alone, g[len(g)-1])
		}
	}

	slices.Sort(alone)

	return pairs, alone
}

// PairRepeats groups runs at equal conditions and pairs them (docs/method.md#repeats).
// x holds a row of conditions per run, equal compares two values of condition k;
// two runs are equal if all their conditions are. Runs are taken in order: each
// joins the first group whose every member equals it, so that within a group all
// are equal to one another. A group of r runs gives ⌊r/2⌋ pairs of consecutive
// members. Groups are in the order of their first run. It panics if the rows
// differ in length.
func PairRepeats(x [][]float64, equal func(k int, a, b float64) bool) (pairs [][2]int, groups [][]int) {
	alike := func(a, b []float64) bool {
		for k := range a {
			if !equal(k, a[k], b[k]) {
				return false
			}
		}

		return true
	}

	for run, row := range x {
		if len(row) != len(x[0]) {
			panic(fmt.Sprintf("dsp: run %d has %d conditions, the first %d", run, len(row), len(x[0])))
		}

		joined := false
	search:
		for g, members := range groups {
			for _, m := range members {
				if !alike(row, x[m]) {
					continue search
				}
			}

			groups[g] = append(members, run)
			joined = true
			break
		}

		if !joined {
			groups = append(groups, []int{run})
		}
	}

	for _, g := range groups {
		for i := 0; i+1 < len(g); i += 2 {
			pairs = append(pairs, [2]int{g[i], g[i+1]})
		}
	}

	return pairs, groups
}
