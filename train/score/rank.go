package score

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rank is the place of a method in a comparison with the best method.
type Rank struct {
	Method int     // number of the method in the given lists
	Mean   float64 // mean score over rows and seeds
	Above  float64 // difference from the best method's mean; 0 for the best
	SE     float64 // standard error of the difference; 0 for the best, NaN with fewer than two runs
	Margin float64 // half width of the 95 % interval of the difference, by Student's t; NaN with fewer than two runs
	Worse  bool    // Above is larger than Margin; not corrected for the number of methods
	P      float64 // two-sided p-value of the difference, by Student's t; NaN without SE
}

// Ranking sorts methods by a score of which less is better. scores[m][k][i] is the score of method m with seed k at row
// i. All methods have the same rows; run[i] is the run of row i. Ranking leaves out methods without a mean: a score of
// theirs is NaN, or they have no seeds or no rows. It returns nil if no method has a mean.
func Ranking(scores [][][]float64, run []int) []Rank {
	var ranks []Rank
	for m, seeds := range scores {
		if len(seeds) == 0 {
			continue
		}

		r := Rank{Method: m, Margin: math.NaN(), P: math.NaN()}
		for _, rows := range seeds {
			r.Mean += average(rows, nil) / float64(len(seeds))
		}

		if !math.IsNaN(r.Mean) {
			ranks = append(ranks, r)
		}
	}

	if len(ranks) == 0 {
		return nil
	}

	slices.SortStableFunc(ranks, func(a, b Rank) int { return cmp.Compare(a.Mean, b.Mean) })

	best := ranks[0]
	for i := range ranks[1:] {
		r := &ranks[i+1]
		r.Above = r.Mean - best.Mean
		r.test(scores[r.Method], scores[best.Method], run)
	}

	return ranks
}

// test sets the standard error of the difference from the best method and what follows from it. own and best are the
// scores of the method and of the best one by seed and row, which are paired.
//
// The squared standard error is the sum of two parts: the squared standard error of the mean over seeds, clustered by
// run, and the variance between seeds over their number. The degrees of freedom are those of such a sum (Welch,
// Satterthwaite), because two seeds show little of their scatter.
func (r *Rank) test(own, best [][]float64, run []int) {
	runs := numbered(run)
	differences := make([]float64, len(run)) // mean over seeds, by row
	seeds := make([]float64, len(own))       // mean over rows, by seed
	for k, rows := range own {
		for q, v := range rows {
			differences[q] += (v - best[k][q]) / float64(len(own))
			seeds[k] += (v - best[k][q]) / float64(len(rows))
		}
	}

	_, se := ClusteredMean(differences, runs.index)
	ofRuns := se * se
	ofSeeds := 0.0
	n := float64(len(own))
	if len(own) > 1 {
		_, sd := MeanStd(seeds)
		ofSeeds = sd * sd / n
	}

	r.SE = math.Sqrt(ofRuns + ofSeeds)
	if runs.count < 2 {
		return
	}

	r.Margin = 0
	if !(r.SE > 0) {
		return
	}

	parts := ofRuns * ofRuns / float64(runs.count-1)
	if ofSeeds > 0 {
		parts += ofSeeds * ofSeeds / (n - 1)
	}

	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: (ofRuns + ofSeeds) * (ofRuns + ofSeeds) / parts}
	r.Margin = r.SE * student.Quantile(0.975)
	r.Worse = r.Above > r.Margin
	r.P = 2 * student.Survival(math.Abs(r.Above/r.SE))
}

// smallLoss is the largest difference from the best score that counts as small: as it is for NLL and |ln Σe/Σv̂|, and
// relative to the best score for the other criteria.
const smallLoss = 0.1

// Standing compares a score with the best one in a word. It is "worse" if the difference, above, is more than chance.
// It is "as good" if the difference is small even at its upper limit, above + margin, and "undecided" otherwise. key is
// the key of the Criterion.
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

// Holm corrects p-values for their number (Holm 1979): if all hypotheses whose corrected p is at most α are rejected,
// the probability that a true one is among them is at most α. A p of NaN means that there was no test, and stays NaN.
func Holm(p []float64) []float64 {
	corrected := slices.Clone(p)
	var order []int
	for i := range len(p) {
		if !math.IsNaN(p[i]) {
			order = append(order, i)
		}
	}

	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })

	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, float64(len(order)-k)*p[i]))
		corrected[i] = highest
	}

	return corrected
}
