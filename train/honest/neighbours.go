package honest

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// This file finds the runs with which a run is compared before it is called far (farruns.go).

// neighbours returns, for each run, lists of the runs that it is compared with, by the means of their inputs. The last
// list has the nearest runs. Before it, there is a list for each input of which the run has the lowest or the highest
// value. This list has the other runs with the same value, since a process that extrapolates errs at all of them alike.
func neighbours(s triplets.Set) [][][]int {
	x := runMeans(s)
	near := make([][][]int, len(s.Runs)) // by run
	for k := range s.In {
		for _, end := range atEnds(x, k, len(s.Runs)) {
			for _, r := range end {
				near[r] = append(near[r], others(end, r))
			}
		}
	}

	measured := slices.Sorted(maps.Keys(x))
	for _, r := range measured {
		distance := make([]float64, len(s.Runs))
		for _, q := range measured {
			distance[q] = floats.Distance(x[q], x[r], 2)
		}

		nearest := others(measured, r)
		slices.SortStableFunc(nearest, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
		near[r] = append(near[r], nearest[:min(len(nearest), nearRuns)])
	}

	return near
}

// sameValue is the largest difference of equal inputs, in deviations.
const sameValue = 1e-9

// atEnds returns the runs at the lowest and the runs at the highest value of input k. It leaves out an end at which
// more than half of all runs are, as at an input of few values. x are the mean inputs by run, runs is the number of all
// runs.
func atEnds(x map[int][]float64, k, runs int) [][]int {
	low := math.Inf(1)
	high := math.Inf(-1)
	for _, v := range x {
		low = min(low, v[k])
		high = max(high, v[k])
	}

	var ends [][]int
	for _, end := range []float64{low, high} {
		var there []int
		for _, r := range slices.Sorted(maps.Keys(x)) {
			if math.Abs(x[r][k]-end) < sameValue {
				there = append(there, r)
			}
		}

		if 2*len(there) <= runs {
			ends = append(ends, there)
		}
	}

	return ends
}

// others returns the list without the given run.
func others(list []int, run int) []int {
	var rest []int
	for _, r := range list {
		if r != run {
			rest = append(rest, r)
		}
	}

	return rest
}

// runMeans returns the mean inputs of the runs that have rows, by run. Each input is in units of its standard deviation
// over all rows, or in its own unit if it is constant.
func runMeans(s triplets.Set) map[int][]float64 {
	points := s.AtSetPoints()
	count := map[int]float64{}
	mean := map[int][]float64{}
	for i, r := range s.Run {
		if mean[r] == nil {
			mean[r] = make([]float64, s.In)
		}

		count[r]++
		floats.Add(mean[r], points[i*s.In:(i+1)*s.In])
	}

	for k := range s.In {
		std := cmp.Or(stat.PopStdDev(lists.Column(points, s.In, k), nil), 1) // 1 if the input is constant
		for r := range mean {
			mean[r][k] /= count[r] * std
		}
	}

	return mean
}
