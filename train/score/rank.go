package score

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
)

// Rank is the place of a method in a comparison: its mean score over rows and
// seeds, how much that is above the best one's, with the standard error of the
// difference, and whether it can be told from it.
type Rank struct {
	Method    int // its number in the lists given
	Mean      float64
	Above, SE float64 // 0 of the best; SE is NaN with fewer than two runs
	Margin    float64 // Student's 97.5 % of SE; NaN with fewer than two runs
	Worse     bool    // Above is more than Margin; not corrected for how many are compared
	P         float64 // probability of a difference as large in either direction, by Student's law; NaN without SE
}

// Ranking sorts methods by a score of which less is better; scores[m][k][i] is that
// of method m, seed k, row i, on the same rows, run[i] the row's run. Differences
// are paired: row by row and seed by seed. Their squared standard error is that
// of the mean over seeds, clustered by run, plus the variance between seeds over
// their number, with the degrees of freedom of such a sum (Welch, Satterthwaite): two
// seeds that scatter tell little.
func Ranking(scores [][][]float64, run []int) []Rank {
	var out []Rank

	mean := func(v []float64) float64 { return average(v, nil) }
	for m, seeds := range scores {
		r := Rank{Method: m, Margin: math.NaN(), P: math.NaN()}
		for _, rows := range seeds {
			r.Mean += mean(rows) / float64(len(seeds))
		}

		out = append(out, r)
	}

	slices.SortStableFunc(out, func(a, b Rank) int { return cmp.Compare(a.Mean, b.Mean) })

	if len(out) == 0 || math.IsNaN(out[0].Mean) {
		return nil
	}

	cluster, runs := dense(run)

	best := scores[out[0].Method]
	for i := range out[1:] {
		r := &out[i+1]
		own := scores[r.Method]
		diff, seeds := make([]float64, len(run)), make([]float64, len(own))
		for k, rows := range own {
			for q, v := range rows {
				diff[q] += (v - best[k][q]) / float64(len(own))
				seeds[k] += (v - best[k][q]) / float64(len(rows))
			}
		}

		_, se := ClusteredMean(diff, cluster)
		a, b, k := se*se, 0.0, float64(len(own))
		if len(own) > 1 {
			_, sd := MeanStd(seeds)
			b = sd * sd / k
		}

		r.Above, r.SE = r.Mean-out[0].Mean, math.Sqrt(a+b)
		if runs > 1 {
			r.Margin = 0
		}

		if runs > 1 && r.SE > 0 {
			parts := a * a / float64(runs-1)
			if b > 0 {
				parts += b * b / (k - 1)
			}

			student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: (a + b) * (a + b) / parts}
			r.Margin = r.SE * student.Quantile(0.975)
			r.Worse = r.Above > r.Margin
			r.P = 2 * student.Survival(math.Abs(r.Above/r.SE))
		}
	}

	return out
}

// smallLoss is the difference from the best that is as good: of NLL and |ln Σe/Σv̂| as it is,
// of the other criteria over the best's score.
const smallLoss = 0.1

// Standing compares a score that is above the best one's in a word: "worse" where that is
// more than chance, "as good" where it is small at its upper limit, above + margin, and
// "undecided" else. key is that of the Criterion.
func Standing(key string, best, above, margin float64, worse bool) string {
	small := smallLoss
	if key == "crps" || key == "rmse" {
		small *= best
	}

	switch {
	case worse:
		return "worse"
	case above+margin <= small:
		return "as good"
	}

	return "undecided"
}

// Holm corrects p-values for their number (Holm 1979). Whoever rejects all hypotheses
// whose corrected p is at most α rejects a true one with a probability of at most α.
// NaN are no tests and stay NaN.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	order := lists.Where(len(p), func(i int) bool { return !math.IsNaN(p[i]) })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })

	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, float64(len(order)-k)*p[i]))
		out[i] = highest
	}

	return out
}
