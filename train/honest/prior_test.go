package honest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// priorWeights are the weights of the prior of λ that the study compares; an infinite weight is λ = 1.
var priorWeights = []float64{0.5, 1, 2, 4, 8, 16, math.Inf(1)}

// programsWeight is the place of the program's weight in priorWeights.
const programsWeight = 3

// Weights of the prior of λ are compared on four measured sets. Expected: no weight has a smaller score than the
// program's weight of 4, within two standard errors, and the table of docs/research/intervals.md has the numbers.
// Compared with: the measurements.
func TestPriorOfUnits(t *testing.T) {
	longtest.Skip(t, "minutes of processor time")

	sets := []set{turbine(t, true), princeton(t), cyclone(t), propellers(t)}
	gains := make([][]float64, len(priorWeights)) // by weight and set: mean score, less the program's
	for _, s := range sets {
		means := priorScores(t, numbered(s))
		for w := range priorWeights {
			gains[w] = append(gains[w], means[w]-means[programsWeight])
		}
	}

	doc := string(testfile.Read(t, "../../docs/research/intervals.md"))
	for w, weight := range priorWeights {
		mean, standardError := meanAndError(gains[w])
		row := fmt.Sprintf("| %g | %+.3f ± %.3f | %+.3f |", weight, mean, standardError, gains[w])
		assert.True(t, strings.Contains(doc, row), "the page has %q", row)
		assert.GreaterOrEqual(t, mean, -2*standardError, "score with the weight %g, less the program's", weight)
	}
}

// priorScores returns, by weight, the mean score over all draws of units of a set. In a draw, λ is learned from a few
// units, and the others are scored.
func priorScores(t *testing.T, s set) []float64 {
	t.Helper()
	process, err := gp.Fit(t.Context(), s.data, gp.Options{Group: s.groups.Group, GroupInputs: s.groupInputs, Workers: 2})
	require.NoError(t, err)

	sums := make([]float64, len(priorWeights))
	count := 0
	for k, columns := range kindsOfUnits(s.data.In) {
		units := unitsBy(s.data, columns)
		if len(units) < 6 {
			continue
		}

		predictions, err := process.LeaveOutUnits(t.Context(), units)
		require.NoError(t, err)

		for j := range s.data.Out {
			ratios := errorRatios(s.data, units, predictions, j)
			for _, drawn := range []int{3, 5, 10} {
				if drawn >= len(ratios) {
					continue
				}

				random := rand.New(rand.NewPCG(uint64(100*k+j), uint64(drawn)))
				for w, score := range scoresOfDraws(random, ratios, drawn) {
					sums[w] += score
				}

				count++
			}
		}
	}

	require.Positive(t, count, "no kind of unit has six units in %s", s.name)
	for w := range sums {
		sums[w] /= float64(count)
	}

	return sums
}

// kindsOfUnits returns the sets of columns whose values make a unit: all columns, each column, and each two columns.
func kindsOfUnits(inputs int) [][]int {
	var all []int
	for k := range inputs {
		all = append(all, k)
	}

	kinds := [][]int{all}
	for k := range inputs {
		if inputs > 1 {
			kinds = append(kinds, []int{k})
		}

		for l := k + 1; l < inputs && inputs > 2; l++ {
			kinds = append(kinds, []int{k, l})
		}
	}

	return kinds
}

// unitsBy returns the rows of each unit: rows with equal values in the columns.
func unitsBy(d triplets.Set, columns []int) [][]int {
	keys := make([]string, d.N)
	for i := range keys {
		for _, k := range columns {
			keys[i] += fmt.Sprintf("%.9g ", d.X[i*d.In+k])
		}
	}

	return lists.Alike(keys)
}

// errorRatios returns, for each unit, the mean product of the deviations of both outcomes over the mean claim.
func errorRatios(d triplets.Set, units [][]int, predictions []triplets.Prediction, outcome int) []float64 {
	var ratios []float64
	for u, rows := range units {
		squares := 0.0
		claim := 0.0
		for i, row := range rows {
			mean := predictions[u].Mu[i*d.Out+outcome]
			squares += (d.Y1[row*d.Out+outcome] - mean) * (d.Y2[row*d.Out+outcome] - mean)
			claim += predictions[u].Claim[i*d.Out+outcome]
		}

		ratios = append(ratios, max(squares, 0)/claim)
	}

	return ratios
}

// scoresOfDraws draws some units again and again, learns λ from them with each weight, and returns, by weight, the mean
// logarithmic score of the units that were not drawn.
func scoresOfDraws(random *rand.Rand, ratios []float64, drawn int) []float64 {
	const draws = 200
	scores := make([]float64, len(priorWeights))
	for range draws {
		order := random.Perm(len(ratios))
		for w, weight := range priorWeights {
			factor := scaleOf(ratios, order[:drawn], weight)
			for _, u := range order[drawn:] {
				scores[w] += (math.Log(factor) + ratios[u]/factor) / 2 / float64(draws*(len(ratios)-drawn))
			}
		}
	}

	return scores
}

// scaleOf returns λ of the drawn units with a weight of the prior, which is 1.
func scaleOf(ratios []float64, drawn []int, weight float64) float64 {
	if math.IsInf(weight, 1) {
		return 1
	}

	sum := weight
	for _, u := range drawn {
		sum += ratios[u]
	}

	return sum / (weight + float64(len(drawn)))
}

// meanAndError returns the mean and its standard error.
func meanAndError(values []float64) (mean, standardError float64) {
	mean, deviation := stat.MeanStdDev(values, nil)
	return mean, deviation / math.Sqrt(float64(len(values)))
}
