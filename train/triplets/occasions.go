package triplets

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"doubletake/internal/lists"
)

// Occasions contains the parts of the variance of repeats on different occasions, for each outcome.
//
// They come from the moments of the differences D between two occasions at n conditions: E ΣD² = 2n(Between + Rest) and
// E (ΣD)² = 2n²Between + 2nRest. If there are at least as many repeats within occasions as there are occasions, the
// repeats show Rest instead: it then contains the errors of runs, which the conditions of a run share.
type Occasions struct {
	N int // number of occasions
	// Shared is Σn²/Σn over all pairs of occasions, where n is the number of conditions that two occasions share. If the
	// repeats within occasions show Rest, it is the mean number of runs of a condition on one occasion instead.
	Shared  float64
	Freedom float64   // degrees of freedom of Rest
	Between []float64 // variance between occasions; not negative
	Rest    []float64 // variance within occasions
}

// Occasions returns the variances between and within occasions. ok is false if the pairs are not across occasions, or
// if there are too few repeats. Rows of a run are averaged, unless the occasions are the runs.
func (s Set) Occasions() (o Occasions, ok bool) {
	v := s.visits()
	d := v.differences(s.Out)
	o.N = v.occasions
	o.Freedom = float64(len(v.list) - len(v.conditions) - o.N + 1)
	count := floats.Sum(d.count)
	squaredCounts := floats.Dot(d.count, d.count)
	if o.Freedom < 1 || squaredCounts <= count {
		return o, false
	}

	o.Shared = squaredCounts / count
	repeatsWithin := float64(len(v.visitOfRun) - len(v.list))
	if repeatsWithin >= float64(o.N) {
		o.Shared = float64(len(v.visitOfRun)) / float64(len(v.list))
		o.Freedom = repeatsWithin
		o.Rest = v.varianceOfRuns(s.Out, repeatsWithin)
		for j, rest := range o.Rest {
			o.Between = append(o.Between, max(0, (d.squares[j]-rest*d.shares)/(2*count)))
		}

		return o, true
	}

	for j := range s.Out {
		squaredSums := 0.0
		for _, sum := range lists.Column(d.sums, s.Out, j) {
			squaredSums += sum * sum
		}

		between := max(0, (squaredSums-d.squares[j])/(2*(squaredCounts-count)))
		o.Between = append(o.Between, between)
		o.Rest = append(o.Rest, max(0, d.squares[j]/(2*count)-between))
	}

	return o, true
}

// visit is a condition, by the number of its repeats, on one occasion.
type visit struct {
	repeats  int
	occasion int
}

// visits contains the means of a set's outcomes by run, and by visit as the mean over the visit's runs.
type visits struct {
	occasions  int       // number of occasions
	list       []visit   // all visits
	conditions [][]int   // by condition: its visits
	mean       []float64 // visits × outcomes
	runs       []float64 // number of runs of each visit
	visitOfRun []int     // by run: its visit
	runMean    []float64 // runs × outcomes
}

// visits averages the rows of a set by run and by visit. If there are no more runs than occasions, each row counts as a
// run.
func (s Set) visits() *visits {
	type key struct{ repeats, occasion, run int }

	occasion, occasions := lists.Index(s.occasion) // a set from Select may lack some occasions
	v := &visits{occasions: len(occasions)}
	run := s.runs()
	if _, distinct := lists.Index(run); len(distinct) <= v.occasions {
		run = lists.Numbers(len(occasion))
	}

	keys := make([]key, len(occasion))
	for i := range keys {
		keys[i] = key{s.repeats[i], occasion[i], run[i]}
	}

	// A run that measured several conditions counts here as a run of each.
	runIndex, runs := lists.Index(keys)
	v.runMean, _ = means(s.Y1, s.Out, runIndex, len(runs))

	visitsOfRuns := make([]visit, len(runs))
	for i, k := range runs {
		visitsOfRuns[i] = visit{k.repeats, k.occasion}
	}

	v.visitOfRun, v.list = lists.Index(visitsOfRuns)
	v.mean, v.runs = means(v.runMean, s.Out, v.visitOfRun, len(v.list))

	repeats := make([]int, len(v.list))
	for i, one := range v.list {
		repeats[i] = one.repeats
	}

	v.conditions = lists.Alike(repeats)

	return v
}

// differences contains sums over the differences between two occasions at all conditions that they share.
type differences struct {
	count   []float64 // occasions × occasions: number of differences
	sums    []float64 // occasions × occasions × outcomes: sums of differences
	squares []float64 // outcomes: sums of squared differences
	shares  float64   // sum of 1/runs of both visits of each difference
}

// differences sums up the differences between the visits of each condition. It sorts the visits of each condition by
// occasion.
func (v *visits) differences(outcomes int) differences {
	d := differences{
		count: make([]float64, v.occasions*v.occasions), sums: make([]float64, v.occasions*v.occasions*outcomes),
		squares: make([]float64, outcomes),
	}

	for _, members := range v.conditions {
		slices.SortFunc(members, func(a, b int) int { return v.list[a].occasion - v.list[b].occasion })
		for k, a := range members {
			for _, b := range members[k+1:] {
				d.add(v, a, b, outcomes)
			}
		}
	}

	return d
}

// add adds the difference between visits a and b of one condition.
func (d *differences) add(v *visits, a, b, outcomes int) {
	pair := v.list[a].occasion*v.occasions + v.list[b].occasion
	d.count[pair]++
	d.shares += 1/v.runs[a] + 1/v.runs[b]
	for j := range outcomes {
		difference := v.mean[a*outcomes+j] - v.mean[b*outcomes+j]
		d.sums[pair*outcomes+j] += difference
		d.squares[j] += difference * difference
	}
}

// varianceOfRuns returns the variance of runs about the mean of their visit, with the given degrees of freedom.
func (v *visits) varianceOfRuns(outcomes int, degrees float64) []float64 {
	variance := make([]float64, outcomes)
	for j := range variance {
		for i, one := range v.visitOfRun {
			difference := v.runMean[i*outcomes+j] - v.mean[one*outcomes+j]
			variance[j] += difference * difference / degrees
		}
	}

	return variance
}

// means returns the mean of each of n groups of rows, groups × columns, and the number of rows of each group. group has
// the group of each row.
func means(y []float64, columns int, group []int, n int) (mean, count []float64) {
	mean = make([]float64, n*columns)
	count = make([]float64, n)
	for _, g := range group {
		count[g]++
	}

	for i, g := range group {
		floats.AddScaled(mean[g*columns:(g+1)*columns], 1/count[g], y[i*columns:(i+1)*columns])
	}

	return mean, count
}
